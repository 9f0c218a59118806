//! Links, packets and pending events: all that both ends of a flow need to send.

use fadelab_path::link::{Arrival, Departure, Link};
use fadelab_path::packet::{FeedbackBytes, PacketId, Parcel, Store};
use fadelab_path::violation::{Checked, violated};

use crate::packet::{Packet, Slab};
use crate::schedule::{Schedule, SourceId};
use crate::spec::{FlowSpec, LinkId, RunSpec};
use crate::tap::Tap;

/// Marks the end of a route in the flattened list of hops.
const ROUTE_END: LinkId = LinkId::MAX;

/// Marks where a route passes the tap. No link has such a number.
const TAP: LinkId = LinkId::MAX - 1;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Network {
    pub links: Vec<Link>,
    pub slab: Slab,
    schedule: Schedule,
    /// Routes of all flows, one after the other, each closed by `ROUTE_END`.
    hops: Vec<LinkId>,
    injected_pkts: u64,
    gone_pkts: u64,
    tap: Option<Tap>,
}

impl Network {
    pub fn new(spec: &RunSpec, sources: usize) -> Self {
        let has_feedback = |flow: &FlowSpec| {
            flow.sender.is_some_and(|law| law.feedback_bytes() > 0)
                || flow.receiver.is_some_and(|law| law.feedback_bytes() > 0)
        };
        let packet_bytes = largest_packets(spec);
        let links = spec.links.iter().zip(packet_bytes);
        let mut network = Self {
            links: links.map(|(link, bytes)| Link::new(link, spec.seed, bytes)).collect(),
            slab: Slab::new(spec.flows.iter().any(has_feedback)),
            schedule: Schedule::new(sources),
            hops: Vec::new(),
            injected_pkts: 0,
            gone_pkts: 0,
            tap: None,
        };
        for link in 0..network.links.len() {
            network.reschedule(link);
        }
        network
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
        self.hops.extend(pieces.iter().copied().flatten());
        self.hops.push(ROUTE_END);
        start
    }

    /// The next event: its time and source.
    #[inline]
    pub fn next_event(&self) -> (u64, SourceId) {
        self.schedule.next()
    }

    /// The last instant that the schedule can name.
    pub fn time_ns_max(&self) -> u64 {
        self.schedule.time_ns_max()
    }

    /// Moves the event of `source` to `due_ns`.
    #[inline]
    pub fn schedule(&mut self, source: SourceId, due_ns: u64) {
        self.schedule.set(source, due_ns);
    }

    /// Sees to it that `source` gets an event at `due_ns` at the latest. An earlier one stays: it finds nothing to do,
    /// and spares moving a timer that every ACK puts off.
    #[inline]
    pub fn schedule_by(&mut self, source: SourceId, due_ns: u64) {
        self.schedule.advance(source, due_ns);
    }

    #[inline]
    fn reschedule(&mut self, link: usize) {
        let due_ns = self.links[link].next_due();
        self.schedule_by(link as SourceId, due_ns);
    }

    /// Lets a packet into the network at the beginning of its route, which has at least one link.
    #[inline]
    pub fn inject(
        &mut self,
        now_ns: u64,
        packet: Packet,
        route_at: u32,
        feedback: Option<&FeedbackBytes>,
    ) -> Checked<()> {
        self.injected_pkts += 1;
        let ip_bytes = packet.header.ip_bytes;
        let id = self.slab.add(packet);
        if let Some(bytes) = feedback {
            *self.slab.feedback(id) = *bytes;
        }
        self.forward(
            now_ns,
            Parcel {
                id,
                tag: route_at,
                ip_bytes,
            },
        )
        .map(|_| ())
    }

    /// The event of a link: at most one packet comes out of it and goes on. Returns it when it is at its end; it is
    /// then the caller's to [`Self::discard`].
    #[inline(always)]
    pub fn service(&mut self, now_ns: u64, link: usize) -> Checked<Option<PacketId>> {
        let departure = self.links[link].service(now_ns, &mut self.slab)?;
        let due_ns = self.links[link].next_due();
        self.schedule(link as SourceId, due_ns);
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
        let mut link = self.hops[parcel.tag as usize];
        if link >= TAP {
            // One comparison for both marks, so that a run without a tap pays for it at ends of routes only.
            if link == TAP {
                self.show(now_ns, parcel.id);
                parcel.tag += 1;
                link = self.hops[parcel.tag as usize];
            }
            if link == ROUTE_END {
                return Ok(Some(parcel.id));
            }
        }
        parcel.tag += 1;
        match self.links[link as usize].arrive(now_ns, parcel, &mut self.slab)? {
            Arrival::Taken => {}
            Arrival::TakenFirst => self.reschedule(link as usize),
            Arrival::Dropped => self.discard(parcel.id),
        }
        Ok(None)
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

    /// Packets injected = delivered + dropped + alive, and the links hold all that are alive.
    pub fn check_conservation(&self, now_ns: u64) -> Checked<()> {
        let held: u64 = self.links.iter().map(Link::held_pkts).sum();
        let alive = self.slab.alive();
        if self.injected_pkts != self.gone_pkts + alive || held != alive {
            let detail = format!(
                "injected {}, gone {}, alive {alive}, held by links {held}",
                self.injected_pkts, self.gone_pkts
            );
            return violated("packets are conserved in the whole", "network", now_ns, detail);
        }
        Ok(())
    }

    /// Loses a packet without counting it, to show that [`Self::check_conservation`] sees it.
    #[cfg(feature = "fault-injection")]
    pub fn lose_count(&mut self) {
        self.gone_pkts += 1;
    }
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
