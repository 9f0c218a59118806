//! Tunnels at work: what their ends do to packets.
//!
//! A packet in a tunnel shows routers a header of its own, which tells nothing of the one inside: that lies beside it
//! until the packet leaves ([`Slab::hide`](crate::packet::Slab::hide)).

use fadelab_laws::abi;
use fadelab_path::packet::{FeedbackBytes, Header};
use fadelab_phy::random::{Stream, name_hash};
use fadelab_run::network::NetworkSpec;
use fadelab_run::spec::RunSpec;
use fadelab_run::transport::IpId;
use fadelab_run::tunnel::{Mode, Rekey, RoleFrom, TunnelRecord, TunnelSpec};

use gateway::Gateways;

mod gateway;

/// One direction of a tunnel: twice the tunnel's number, and one more for the way from `to` to `from`.
pub(crate) type WayId = u32;

/// The number of one direction of tunnel number `tunnel`.
pub(crate) fn way_of(tunnel: usize, is_backward: bool) -> WayId {
    2 * tunnel as WayId + WayId::from(is_backward)
}

/// All tunnels of a run.
#[derive(Debug, Default)]
pub(crate) struct Tunnels {
    tunnels: Vec<Tunnel>,
}

#[derive(Debug)]
struct Tunnel {
    spec: TunnelSpec,
    ways: [Way; 2],
    gateways: Gateways,
    counted: Counted,
    /// What had been counted when the measured interval began.
    counted_before: Counted,
}

/// What the end at which packets enter knows of a direction.
#[derive(Debug)]
struct Way {
    /// Of the last packet.
    number: EspNumber,
    ip_id: u16,
    random: Stream,
    /// Of each unit of memory, the bit that the next packet gets.
    written: Vec<bool>,
}

/// What ESP's header says of a packet, and so a router too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EspNumber {
    /// How often the direction's association had been renewed, which decides its index (SPI).
    pub renewals: u32,
    /// Counted from 1 under each association (RFC 4303 section 3.3.3).
    pub sequence: u32,
}

/// Packets.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    entered: u64,
    left: u64,
    dropped: u64,
    no_sa_entering: u64,
    no_sa_leaving: u64,
}

/// A packet at the end of a tunnel.
pub(crate) struct Passing {
    pub now_ns: u64,
    pub way: WayId,
    pub flow: u32,
}

impl Passing {
    /// The end at which packets of this direction enter: 0 is `from`, 1 is `to`.
    fn enters_at(&self) -> usize {
        self.way as usize % 2
    }

    fn leaves_at(&self) -> usize {
        1 - self.enters_at()
    }
}

impl Tunnels {
    pub fn of(spec: &RunSpec) -> Self {
        let tunnels = 0..spec.network.tunnels.len();
        Self {
            tunnels: tunnels.map(|number| Tunnel::new(spec, number)).collect(),
        }
    }

    /// The header with which a packet enters, and what ESP's says. `None`: there is no association, and it is dropped.
    pub fn enter(
        &mut self,
        passing: &Passing,
        inner: &Header,
        feedback: Option<&FeedbackBytes>,
    ) -> Option<(Header, EspNumber)> {
        self.tunnels[passing.way as usize / 2].enter(passing, inner, feedback)
    }

    /// Gives the header `inner` of a packet what `outer` brought, with what ESP's says. Returns whether the packet
    /// leaves; else it is dropped.
    pub fn leave(
        &mut self,
        passing: &Passing,
        outer: (&Header, EspNumber),
        inner: &mut Header,
        feedback: Option<&mut FeedbackBytes>,
    ) -> bool {
        self.tunnels[passing.way as usize / 2].leave(passing, outer, inner, feedback)
    }

    /// Packets are counted anew from now on.
    pub fn forget(&mut self) {
        for tunnel in &mut self.tunnels {
            tunnel.counted_before = tunnel.counted;
        }
    }

    /// What was counted since.
    pub fn record(&self) -> Vec<TunnelRecord> {
        self.tunnels.iter().map(Tunnel::record).collect()
    }

    /// Where the gateway stands whose law has its state at `address`.
    pub fn place_of_state(&self, address: usize) -> Option<&str> {
        self.tunnels
            .iter()
            .find_map(|tunnel| tunnel.gateways.place_of_state(address))
    }
}

impl Tunnel {
    fn new(spec: &RunSpec, number: usize) -> Self {
        let tunnel = &spec.network.tunnels[number];
        Self {
            ways: [false, true].map(|is_backward| Way::new(&name_of(tunnel, is_backward), spec.seed)),
            gateways: Gateways::of(spec, number),
            spec: tunnel.clone(),
            counted: Counted::default(),
            counted_before: Counted::default(),
        }
    }

    fn enter(
        &mut self,
        passing: &Passing,
        inner: &Header,
        feedback: Option<&FeedbackBytes>,
    ) -> Option<(Header, EspNumber)> {
        let (spec, end) = (&self.spec, passing.enters_at());
        if spec.rekey.is_some_and(|rekey| rekey.is_gap(passing.now_ns)) {
            self.counted.no_sa_entering += 1;
            return None;
        }
        let way = &mut self.ways[end];
        self.counted.entered += 1;
        let renewals = spec.rekey.map_or(0, |rekey| rekey.renewals(passing.now_ns));
        way.number = way.number.next(renewals);
        let mut ip_id = match spec.mode {
            Mode::Tunnel => way.next_id(spec.ip_id),
            Mode::Transport => inner.ip_id,
        };
        if spec.role == RoleFrom::Written && spec.gateways[end].is_some() {
            ip_id = ip_id & !1 | u16::from(way.next_written(spec.memory.unit(passing.flow)));
        }
        let role = match spec.role {
            RoleFrom::Sequence => way.number.sequence & 1,
            RoleFrom::Id | RoleFrom::Written => u32::from(ip_id) & 1,
        };
        let told = if spec.told_wire.is_some() { abi::PACKET_DATA } else { 0 };
        let mut outer = Header {
            flags: abi::PACKET_TUNNELLED | told,
            ip_bytes: spec.encapsulated_bytes(inner.ip_bytes),
            ip_id,
            outer_ecn: spec.outer_ecn(end, inner.ecn),
            role: role as u8,
            wire: spec.told_wire.unwrap_or(abi::WIRE_NONE as u8),
            ..Header::default()
        };
        self.gateways.encapsulate(passing, inner, feedback, &mut outer);
        Some((outer, way.number))
    }

    fn leave(
        &mut self,
        passing: &Passing,
        (outer, number): (&Header, EspNumber),
        inner: &mut Header,
        feedback: Option<&mut FeedbackBytes>,
    ) -> bool {
        if !number.is_taken(self.spec.rekey, passing.now_ns) {
            self.counted.no_sa_leaving += 1;
            return false;
        }
        let entered_ecn = inner.ecn;
        let Some(ecn) = self.spec.inner_ecn(passing.leaves_at(), entered_ecn, outer.outer_ecn) else {
            self.counted.dropped += 1;
            return false;
        };
        self.counted.left += 1;
        (inner.ecn, inner.outer_ecn) = (ecn, ecn);
        // Routers could not confirm that they saw the packet, since that bit is encrypted. Where no gateway's law can,
        // who told them of it vouches for them.
        if self.spec.mode == Mode::Transport && self.spec.told_wire == Some(inner.wire) {
            inner.confirmed = 1;
        }
        self.gateways
            .decapsulate(passing, (outer, entered_ecn), inner, feedback);
        true
    }

    fn record(&self) -> TunnelRecord {
        let (counted, before) = (&self.counted, &self.counted_before);
        TunnelRecord {
            name: self.spec.name.to_string(),
            entered_pkts: counted.entered - before.entered,
            left_pkts: counted.left - before.left,
            dropped_pkts: counted.dropped - before.dropped,
            no_sa_entering_pkts: counted.no_sa_entering - before.no_sa_entering,
            no_sa_leaving_pkts: counted.no_sa_leaving - before.no_sa_leaving,
        }
    }
}

impl EspNumber {
    /// That of the next packet.
    fn next(self, renewals: u32) -> Self {
        let before = if renewals == self.renewals { self.sequence } else { 0 };
        Self {
            renewals,
            sequence: before.wrapping_add(1),
        }
    }

    /// Whether the end at which it leaves has its association then. Where a successor is there in time the one before
    /// stays for what is under way; one that has expired is gone at both ends.
    fn is_taken(self, rekey: Option<Rekey>, now_ns: u64) -> bool {
        let Some(rekey) = rekey.filter(|rekey| rekey.gap_ns > 0) else {
            return true;
        };
        !rekey.is_gap(now_ns) && self.renewals == rekey.renewals(now_ns)
    }
}

impl Way {
    fn new(name: &str, seed: u64) -> Self {
        let mut random = Stream::new(seed, name);
        Self {
            number: EspNumber::default(),
            ip_id: random.next_u64() as u16,
            random,
            written: Vec::new(),
        }
    }

    fn next_id(&mut self, rule: IpId) -> u16 {
        match rule {
            IpId::Counting => {
                self.ip_id = self.ip_id.wrapping_add(1);
                self.ip_id
            }
            IpId::Random => self.random.next_u64() as u16,
            IpId::Zero => 0,
        }
    }

    /// The bit of the next packet of a unit of memory: by turns, from 0 on.
    fn next_written(&mut self, unit: usize) -> bool {
        if self.written.len() <= unit {
            self.written.resize(unit + 1, false);
        }
        let next = &mut self.written[unit];
        *next = !*next;
        !*next
    }
}

/// The name of a direction, for what is drawn at random.
fn name_of(tunnel: &TunnelSpec, is_backward: bool) -> String {
    let back = if is_backward { " back" } else { "" };
    format!("tunnel {}{back}", tunnel.name)
}

/// What stands for each direction of each tunnel where queues are drawn for flows.
pub(crate) fn keys(network: &NetworkSpec) -> impl Iterator<Item = u64> {
    let ways = |tunnel| [false, true].map(|is_backward| name_hash(&name_of(tunnel, is_backward)));
    network.tunnels.iter().flat_map(ways)
}
