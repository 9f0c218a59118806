//! Links, packets and pending events: all that both ends of a flow need to send.
//!
//! Wires say at once when a packet will be at their far end, and the packet waits for that in a [`Lane`]: one for all
//! wires of a kind, or for one that several routes share, since packets that queue come out later than those of its
//! kind. Other links are asked for their next event each. Lanes and links play for the next event in one tournament,
//! flows and the engine's own in another, which changes less often.
//!
//! A *tail* is a wire into which packets come from one other wire alone, such as the access link behind a bottleneck. It
//! gets them in the order in which that one sends them, so when a packet has a time there it can be sent through the
//! tail too, ahead of its time: one event less per packet. Nobody sees it but a snapshot, which leaves out what has not
//! arrived yet.

use std::collections::BTreeMap;

use fadelab_path::link::{Arrival, Departure, Link};
use fadelab_path::packet::{FeedbackBytes, PacketId, Parcel, Store};
use fadelab_path::violation::{Checked, violated};
use fadelab_path::wire::{Ahead, Passage, Wires};

use crate::lane::Lane;
use crate::packet::{Packet, Slab};
use crate::record::LinkCounters;
use crate::schedule::{Keys, Schedule, SourceId};
use crate::spec::{FlowSpec, LinkId, RunSpec};
use crate::tap::Tap;

/// Hops of the flattened routes: a wire is its number. A tail has this bit besides.
const TAIL: u32 = 1 << 30;

/// What is no wire has this bit.
const NO_WIRE: u32 = 1 << 31;

/// Marks the end of a route.
const ROUTE_END: u32 = u32::MAX;

/// Marks where a route passes the tap. No link has such a number.
const TAP: u32 = u32::MAX - 1;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Network {
    wires: Wires,
    lanes: Vec<Lane>,
    /// Links that are no wires.
    links: Vec<Link>,
    /// Who plays for a link: its lane, or behind all lanes the link itself.
    players: Vec<u32>,
    pub slab: Slab,
    keys: Keys,
    paths: Schedule,
    others: Schedule,
    /// Routes of all flows, one after the other, each closed by `ROUTE_END`.
    hops: Vec<u32>,
    injected_pkts: u64,
    gone_pkts: u64,
    tap: Option<Tap>,
}

impl Network {
    /// The links of `spec`. Besides them there are `others` sources of events, numbered after the links.
    pub fn new(spec: &RunSpec, others: usize) -> Self {
        let has_feedback = |flow: &FlowSpec| {
            flow.sender.is_some_and(|law| law.feedback_bytes() > 0)
                || flow.receiver.is_some_and(|law| law.feedback_bytes() > 0)
        };
        let mut wires = Wires::default();
        for (link, family) in spec.links.iter().zip(families(spec)) {
            wires.add(link, family);
        }
        let kinds = wires.kinds();
        let lanes: Vec<Lane> = kinds.map(|(delay_ns, family)| Lane::new(delay_ns, is_tail(family))).collect();
        let (mut links, mut players) = (Vec::new(), Vec::with_capacity(spec.links.len()));
        for (index, (link, bytes)) in spec.links.iter().zip(largest_packets(spec)).enumerate() {
            players.push(if Wires::is_wire(link) {
                wires.kind(index) as u32
            } else {
                links.push(Link::new(link, spec.seed, bytes));
                (lanes.len() + links.len() - 1) as u32
            });
        }
        let mut network = Self {
            paths: Schedule::new(lanes.len() + links.len()),
            others: Schedule::new(others),
            keys: Keys::new(spec.links.len() + others),
            wires,
            lanes,
            links,
            players,
            slab: Slab::new(spec.flows.iter().any(has_feedback)),
            hops: Vec::new(),
            injected_pkts: 0,
            gone_pkts: 0,
            tap: None,
        };
        for link in 0..spec.links.len() {
            if let Some(due_ns) = network.link(link).map(Link::next_due) {
                network.schedule(link as SourceId, due_ns);
            }
        }
        network
    }

    /// Link number `index`, unless it is a wire.
    fn link(&self, index: usize) -> Option<&Link> {
        let at = (self.players[index] as usize).checked_sub(self.lanes.len())?;
        self.links.get(at)
    }

    /// Shows flows to `tap`. To be called before the routes of those flows are added.
    pub fn set_tap(&mut self, tap: Tap) {
        self.tap = Some(tap);
    }

    /// Appends the routes of a flow's data and of its ACKs, and returns where they begin. The tap sees data before the
    /// first link and ACKs after the last one.
    pub fn add_routes(&mut self, flow: u32, route: &[LinkId], route_back: &[LinkId]) -> (u32, u32) {
        let tap = if self.tap.as_ref().is_some_and(|tap| tap.shows(flow)) {
            &[TAP][..]
        } else {
            &[]
        };
        let data_at = self.add_hops(&[tap, route]);
        (data_at, self.add_hops(&[route_back, tap]))
    }

    fn add_hops(&mut self, pieces: &[&[LinkId]]) -> u32 {
        let start = self.hops.len() as u32;
        for &link in pieces.iter().copied().flatten() {
            let lane = self.players.get(link as usize).and_then(|&player| self.lanes.get(player as usize));
            self.hops.push(match lane {
                None => link | NO_WIRE,
                Some(lane) if lane.is_ahead() => link | TAIL,
                Some(_) => link,
            });
        }
        self.hops.push(ROUTE_END);
        start
    }

    /// The next event: its time and source.
    #[inline]
    pub fn next_event(&self) -> (u64, SourceId) {
        self.keys.split(self.paths.next_key().min(self.others.next_key()))
    }

    /// The last instant that the schedule can name.
    pub fn time_ns_max(&self) -> u64 {
        self.keys.time_ns_max()
    }

    /// Moves the event of `source` to `due_ns`.
    #[inline]
    pub fn schedule(&mut self, source: SourceId, due_ns: u64) {
        let key = self.keys.key(due_ns, source);
        match self.players.get(source as usize) {
            Some(&player) => self.paths.set(player as usize, key),
            None => self.others.set(source as usize - self.players.len(), key),
        }
    }

    /// Sees to it that flow `flow` gets an event at `due_ns` at the latest. An earlier one stays: it finds nothing to
    /// do, and spares moving a timer that every ACK puts off.
    #[inline]
    pub fn schedule_flow_by(&mut self, flow: usize, due_ns: u64) {
        let key = self.keys.key(due_ns, (self.players.len() + flow) as SourceId);
        self.others.advance(flow, key);
    }

    /// Lets a packet into the network at the beginning of its route, which has at least one link. Inlined, so that the
    /// packet is written where it stays, field by field.
    #[inline(always)]
    pub fn inject(
        &mut self,
        now_ns: u64,
        packet: Packet,
        route_at: u32,
        feedback: Option<&FeedbackBytes>,
    ) -> Checked<()> {
        let ip_bytes = packet.header.ip_bytes;
        let id = self.slab.add(packet);
        if let Some(bytes) = feedback {
            *self.slab.feedback(id) = *bytes;
        }
        self.enter(now_ns, id, route_at, ip_bytes)
    }

    #[inline(never)]
    fn enter(&mut self, now_ns: u64, id: PacketId, tag: u32, ip_bytes: u16) -> Checked<()> {
        self.injected_pkts += 1;
        self.forward(now_ns, Parcel { id, tag, ip_bytes }).map(|_| ())
    }

    /// The event of a link: at most one packet comes out of it and goes on. Returns it when it is at its end; it is
    /// then the caller's to [`Self::discard`].
    #[inline(always)]
    pub fn service(&mut self, now_ns: u64, link: usize) -> Checked<Option<PacketId>> {
        let player = self.players[link] as usize;
        let Some(lane) = self.lanes.get_mut(player) else {
            return self.service_link(now_ns, link, player);
        };
        let (arrived_ns, parcel) = lane.pop();
        let early = now_ns < arrived_ns + lane.delay_ns();
        self.paths.set(player, lane.next_key());
        if early {
            return self.broken_early(now_ns, link, arrived_ns);
        }
        self.forward(now_ns, parcel)
    }

    #[inline(never)]
    fn service_link(&mut self, now_ns: u64, link: usize, player: usize) -> Checked<Option<PacketId>> {
        let at = player - self.lanes.len();
        let departure = self.links[at].service(now_ns, &mut self.slab)?;
        let key = self.keys.key(self.links[at].next_due(), link as SourceId);
        self.paths.set(player, key);
        match departure {
            Departure::None => Ok(None),
            Departure::Delivered(parcel) => self.forward(now_ns, parcel),
            Departure::Lost(parcel) => {
                self.discard(parcel.id);
                Ok(None)
            }
        }
    }

    /// Sends a packet on to where its tag says in the flattened routes. Returns it when it is at its end.
    #[inline(always)]
    fn forward(&mut self, now_ns: u64, mut parcel: Parcel) -> Checked<Option<PacketId>> {
        let hop = self.hops[parcel.tag as usize];
        if hop >= TAIL {
            return self.forward_elsewhere(now_ns, hop, parcel);
        }
        parcel.tag += 1;
        let passage = self.wires.arrive(hop as usize, now_ns, parcel.ip_bytes)?;
        self.pass_on(now_ns, hop, passage, parcel)
    }

    /// A wire took a packet, or not. Through a tail it goes on ahead of its time.
    #[inline(always)]
    fn pass_on(
        &mut self,
        now_ns: u64,
        mut wire: u32,
        passage: Option<Passage>,
        mut parcel: Parcel,
    ) -> Checked<Option<PacketId>> {
        let Some(mut passage) = passage else {
            self.discard(parcel.id);
            return Ok(None);
        };
        let mut arrived_ns = now_ns;
        let hop = self.hops[parcel.tag as usize];
        if hop & (TAIL | NO_WIRE) == TAIL
            && let tail = hop & !TAIL
            && let Some(next) = self.wires.arrive_ahead(tail as usize, passage.due_ns, parcel.ip_bytes)?
        {
            (arrived_ns, passage, wire) = (passage.due_ns, next, tail);
            parcel.tag += 1;
        }
        let key = self.keys.key(passage.due_ns, wire);
        if self.lanes[passage.kind].push(key, arrived_ns, parcel) {
            self.paths.advance(passage.kind, key);
        }
        Ok(None)
    }

    /// The next place on the route is no wire, or a tail to which the packet could not go ahead of its time.
    #[inline(always)]
    fn forward_elsewhere(&mut self, now_ns: u64, hop: u32, mut parcel: Parcel) -> Checked<Option<PacketId>> {
        if hop == ROUTE_END {
            return Ok(Some(parcel.id));
        }
        parcel.tag += 1;
        if hop == TAP {
            return self.pass_tap(now_ns, parcel);
        }
        if hop & NO_WIRE == 0 {
            return self.enter_tail(now_ns, hop & !TAIL, parcel);
        }
        self.enter_link(now_ns, (hop & !NO_WIRE) as usize, parcel)
    }

    #[inline(never)]
    fn enter_tail(&mut self, now_ns: u64, tail: u32, parcel: Parcel) -> Checked<Option<PacketId>> {
        let passage = self.wires.arrive_late(tail as usize, now_ns, parcel.ip_bytes)?;
        self.pass_on(now_ns, tail, passage, parcel)
    }

    #[inline(never)]
    fn enter_link(&mut self, now_ns: u64, link: usize, parcel: Parcel) -> Checked<Option<PacketId>> {
        let player = self.players[link] as usize;
        let at = player - self.lanes.len();
        match self.links[at].arrive(now_ns, parcel, &mut self.slab)? {
            Arrival::Taken => {}
            Arrival::TakenFirst => {
                let key = self.keys.key(self.links[at].next_due(), link as SourceId);
                self.paths.advance(player, key);
            }
            Arrival::Dropped => self.discard(parcel.id),
        }
        Ok(None)
    }

    /// The tap stands at either end of a route: a link follows, or the end.
    #[cold]
    fn pass_tap(&mut self, now_ns: u64, parcel: Parcel) -> Checked<Option<PacketId>> {
        self.show(now_ns, parcel.id);
        self.forward(now_ns, parcel)
    }

    #[cold]
    #[inline(never)]
    fn broken_early<T>(&self, now_ns: u64, link: usize, arrived_ns: u64) -> Checked<T> {
        let invariant = "nothing leaves before its delay, and nothing late";
        let detail = format!("a packet that came at {arrived_ns} ns");
        violated(invariant, self.wires.name(link), now_ns, detail)
    }

    #[cold]
    fn show(&mut self, now_ns: u64, id: PacketId) {
        let packet = *self.slab.get(id);
        let feedback = (packet.header.feedback_len > 0).then(|| *self.slab.feedback(id));
        if let Some(tap) = &mut self.tap {
            tap.show(now_ns, &packet, feedback.as_ref());
        }
    }

    /// The packet is no more.
    #[inline]
    pub fn discard(&mut self, id: PacketId) {
        self.gone_pkts += 1;
        self.slab.remove(id);
    }

    /// Packets injected = delivered + dropped + alive, lanes and links hold all that are alive, and what came into a
    /// lane is what left it and what is there.
    pub fn check_conservation(&self, now_ns: u64) -> Checked<()> {
        if let Some(kind) = self.lanes.iter().position(|lane| !lane.is_conserved()) {
            let wire = self.players.iter().position(|&player| player as usize == kind);
            let place = self.wires.name(wire.unwrap_or(0));
            let detail = format!("behind the transmitters of its kind: {:?}", self.lanes[kind]);
            return violated("packets are conserved at a node", place, now_ns, detail);
        }
        let in_lanes: u64 = self.lanes.iter().map(Lane::held_pkts).sum();
        let in_links: u64 = self.links.iter().map(Link::held_pkts).sum();
        let (held, alive) = (in_lanes + in_links, self.slab.alive());
        if self.injected_pkts != self.gone_pkts + alive || held != alive {
            let detail = format!(
                "injected {}, gone {}, alive {alive}, held by links {held}",
                self.injected_pkts, self.gone_pkts
            );
            return violated("packets are conserved in the whole", "network", now_ns, detail);
        }
        Ok(())
    }

    /// Counters of `links`, wires or not, as they stand at `now_ns`.
    pub fn snapshot(&mut self, links: &[LinkId], now_ns: u64) -> Checked<Vec<LinkCounters>> {
        let is_ahead = |&link: &LinkId| self.lanes.get(self.players[link as usize] as usize).is_some_and(Lane::is_ahead);
        let ahead = if links.iter().any(is_ahead) {
            self.ahead(now_ns)
        } else {
            BTreeMap::new()
        };
        let counters = links.iter().map(|&link| {
            let player = self.players[link as usize] as usize;
            match player.checked_sub(self.lanes.len()) {
                Some(at) => self.links[at].snapshot(now_ns, &mut self.slab),
                None => self
                    .wires
                    .snapshot(link as usize, now_ns, ahead.get(&link).copied().unwrap_or_default()),
            }
        });
        counters.collect()
    }

    /// What has been sent through tails ahead of `now_ns`.
    fn ahead(&self, now_ns: u64) -> BTreeMap<LinkId, Ahead> {
        let mut ahead = BTreeMap::<LinkId, Ahead>::new();
        for entry in self.lanes.iter().filter(|lane| lane.is_ahead()).flat_map(Lane::entries) {
            let of_wire = ahead.entry(self.keys.split(entry.key).1).or_default();
            if entry.arrived_ns > now_ns {
                of_wire.pkts += 1;
                of_wire.bytes += u64::from(entry.parcel.ip_bytes);
            } else {
                of_wire.last = of_wire.last.max((entry.arrived_ns, u32::from(entry.parcel.ip_bytes)));
            }
        }
        ahead
    }

    /// The link whose law, or its capacity part, has its state at `address`.
    pub fn holder_of_state(&self, address: usize) -> Option<usize> {
        let mut links = 0..self.players.len();
        links.find(|&index| self.link(index).is_some_and(|link| link.holds_state(address)))
    }

    /// Breaks an invariant of link `index`. Returns whether there was something to break.
    #[cfg(feature = "fault-injection")]
    pub fn break_link(&mut self, index: usize, fault: fadelab_path::link::LinkFault) -> bool {
        use fadelab_path::link::LinkFault;
        let player = self.players[index] as usize;
        if let Some(at) = player.checked_sub(self.lanes.len()) {
            return self.links[at].break_invariant(fault);
        }
        let lane = &mut self.lanes[player];
        match fault {
            LinkFault::Early => self.lanes.iter_mut().any(|lane| lane.hasten(lane.delay_ns())),
            LinkFault::Vanishes => {
                lane.miscount();
                true
            }
            _ => self.wires.break_invariant(index, fault),
        }
    }

    /// Loses a packet without counting it, to show that [`Self::check_conservation`] sees it.
    #[cfg(feature = "fault-injection")]
    pub fn lose_count(&mut self) {
        self.gone_pkts += 1;
    }
}

/// Wires of a family and of the same kind share a lane: those over which packets pass without a queue, and those that
/// are tails of the same wire. One that several links feed, or that is the slowest of a route, has a lane for itself.
fn families(spec: &RunSpec) -> Vec<u64> {
    let (feeders, rate) = (feeders(spec), |link: LinkId| {
        spec.links[link as usize].capacity.rate_bps_mean()
    });
    let mut is_slowest = vec![false; spec.links.len()];
    for route in spec.flows.iter().flat_map(|flow| [&flow.route, &flow.route_back]) {
        let least = route.iter().map(|&link| rate(link)).min();
        let slowest = route.iter().filter(|&&link| Some(rate(link)) == least);
        slowest.for_each(|&link| is_slowest[link as usize] = true);
    }
    let family = |link: LinkId| match (tail_of(link, spec, &feeders), feeders[link as usize]) {
        (Some(before), _) => 2 * u64::from(before) + 1,
        (None, Feeder::Route | Feeder::One(_)) if !is_slowest[link as usize] => 0,
        _ => 2 * u64::from(link) + 2,
    };
    (0..spec.links.len() as LinkId).map(family).collect()
}

/// The wire of which `link` is a tail, if it is one. A tail has none itself: a packet is ahead of its time on one wire
/// at most. One that is slower than what feeds it would have to hold packets back all the time.
fn tail_of(link: LinkId, spec: &RunSpec, feeders: &[Feeder]) -> Option<LinkId> {
    let Feeder::One(before) = feeders[link as usize] else {
        return None;
    };
    let [feeder, tail] = [before, link].map(|index| &spec.links[index as usize]);
    let is_faster = feeder.capacity.rate_bps_mean() <= tail.capacity.rate_bps_mean();
    (is_faster && Wires::is_wire(feeder) && tail_of(before, spec, feeders).is_none()).then_some(before)
}

/// Whether wires of a family are tails.
fn is_tail(family: u64) -> bool {
    family % 2 == 1
}

/// From where packets come into a link.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Feeder {
    /// From nowhere, for all that is known.
    None,
    /// On one route, of which it is the first link.
    Route,
    /// Out of this link alone, on one route or more.
    One(LinkId),
    /// Otherwise.
    Several,
}

fn feeders(spec: &RunSpec) -> Vec<Feeder> {
    let mut feeders = vec![Feeder::None; spec.links.len()];
    for route in spec.flows.iter().flat_map(|flow| [&flow.route, &flow.route_back]) {
        let mut before = Feeder::Route;
        for &link in route {
            let feeder: &mut Feeder = &mut feeders[link as usize];
            let is_same = *feeder == before && before != Feeder::Route;
            *feeder = if *feeder == Feeder::None || is_same {
                before
            } else {
                Feeder::Several
            };
            before = Feeder::One(link);
        }
    }
    feeders
}

/// IP bytes of a full data packet on each link: the largest of the flows that send data over it, else of all.
fn largest_packets(spec: &RunSpec) -> Vec<u32> {
    let bytes = |flow: &FlowSpec| flow.transport.packet_bytes;
    let largest = spec.flows.iter().map(bytes).max().unwrap_or(1500);
    let mut packet_bytes = vec![0; spec.links.len()];
    for flow in &spec.flows {
        for &link in &flow.route {
            let known: &mut u32 = &mut packet_bytes[link as usize];
            *known = bytes(flow).max(*known);
        }
    }
    packet_bytes
        .into_iter()
        .map(|bytes| if bytes == 0 { largest } else { bytes })
        .collect()
}
