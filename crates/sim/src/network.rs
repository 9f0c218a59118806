//! Links, packets and pending events: all that both ends of a flow need to send.

use fadelab_path::link::{Arrival, Departure, Link};
use fadelab_path::packet::{FeedbackBytes, PacketId};
use fadelab_path::violation::{Checked, violated};

use crate::heap::{EventHeap, SourceId};
use crate::packet::{Packet, Slab};
use crate::spec::{FlowSpec, LinkId, RunSpec};

/// Marks the end of a route in the flattened list of hops.
const ROUTE_END: LinkId = LinkId::MAX;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Network {
    pub links: Vec<Link>,
    pub slab: Slab,
    heap: EventHeap,
    /// Per source: when its pending event is due. An entry of the heap that disagrees is left over.
    scheduled_ns: Vec<u64>,
    /// Routes of all flows, one after the other, each closed by `ROUTE_END`.
    hops: Vec<LinkId>,
    injected_pkts: u64,
    gone_pkts: u64,
}

/// A packet that reached the far end of its route.
pub(crate) type Reached = Option<(Packet, Option<FeedbackBytes>)>;

impl Network {
    pub fn new(spec: &RunSpec, sources: usize) -> Self {
        let packet_bytes = spec.flows.iter().map(|flow| flow.transport.packet_bytes).max().unwrap_or(1500);
        let has_feedback = |flow: &FlowSpec| {
            flow.sender.is_some_and(|law| law.feedback_bytes() > 0)
                || flow.receiver.is_some_and(|law| law.feedback_bytes() > 0)
        };
        let mut network = Self {
            links: spec.links.iter().map(|link| Link::new(link, spec.seed, packet_bytes)).collect(),
            slab: Slab::new(spec.flows.iter().any(has_feedback)),
            heap: EventHeap::default(),
            scheduled_ns: vec![u64::MAX; sources],
            hops: Vec::new(),
            injected_pkts: 0,
            gone_pkts: 0,
        };
        for link in 0..network.links.len() {
            network.reschedule(link);
        }
        network
    }

    /// Appends a route and returns where it begins.
    pub fn add_route(&mut self, route: &[LinkId]) -> u32 {
        let start = self.hops.len() as u32;
        self.hops.extend_from_slice(route);
        self.hops.push(ROUTE_END);
        start
    }

    /// The next event: its time and source. Entries that are left over are skipped.
    #[inline]
    pub fn next_event(&mut self) -> Option<(u64, SourceId)> {
        loop {
            let (time_ns, source) = self.heap.pop()?;
            let scheduled_ns = &mut self.scheduled_ns[source as usize];
            if *scheduled_ns == time_ns {
                *scheduled_ns = u64::MAX;
                return Some((time_ns, source));
            }
        }
    }

    /// Sees to it that `source` gets an event at `due_ns` at the latest. An earlier one stays: it finds nothing to do.
    #[inline]
    pub fn schedule(&mut self, source: SourceId, due_ns: u64) {
        let scheduled_ns = &mut self.scheduled_ns[source as usize];
        if due_ns < *scheduled_ns {
            *scheduled_ns = due_ns;
            self.heap.push(due_ns, source);
        }
    }

    #[inline]
    fn reschedule(&mut self, link: usize) {
        let due_ns = self.links[link].next_due();
        self.schedule(link as SourceId, due_ns);
    }

    /// Lets a packet into the network at the beginning of its route.
    #[inline]
    pub fn inject(&mut self, now_ns: u64, packet: Packet, feedback: Option<&FeedbackBytes>) -> Checked<()> {
        self.injected_pkts += 1;
        let id = self.slab.add(packet);
        if let Some(bytes) = feedback {
            *fadelab_path::packet::Store::feedback(&mut self.slab, id) = *bytes;
        }
        self.forward(now_ns, id).map(|_| ())
    }

    /// The event of a link: at most one packet comes out of it and goes on. Returns it when it is at its end.
    #[inline]
    pub fn service(&mut self, now_ns: u64, link: usize) -> Checked<Reached> {
        let departure = self.links[link].service(now_ns, &mut self.slab)?;
        self.reschedule(link);
        match departure {
            Departure::None => Ok(None),
            Departure::Delivered(id) => self.forward(now_ns, id),
            Departure::Lost(id) => {
                self.discard(id);
                Ok(None)
            }
        }
    }

    #[inline]
    fn forward(&mut self, now_ns: u64, id: PacketId) -> Checked<Reached> {
        let packet = self.slab.get_mut(id);
        let link = self.hops[packet.route_at as usize];
        if link == ROUTE_END {
            let packet = *packet;
            let feedback = (packet.header.feedback_len > 0)
                .then(|| *fadelab_path::packet::Store::feedback(&mut self.slab, id));
            self.discard(id);
            return Ok(Some((packet, feedback)));
        }
        packet.route_at += 1;
        match self.links[link as usize].arrive(now_ns, id, &mut self.slab)? {
            Arrival::Taken => self.reschedule(link as usize),
            Arrival::Dropped => self.discard(id),
        }
        Ok(None)
    }

    #[inline]
    fn discard(&mut self, id: PacketId) {
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
