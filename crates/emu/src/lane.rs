//! One way of a link that real packets take, without a clock: what comes in at which instant alone decides what goes
//! out, when, and with which marks. So whatever drives it, and however late, a recording of the arrivals comes to the
//! same.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use fadelab_laws::Codec;
use fadelab_path::counters::LinkCounters;
use fadelab_path::node::{Arrival, Departure, Node};
use fadelab_path::packet::{FeedbackBytes, Header, PacketId, Parcel, Store};
use fadelab_path::spec::{LinkSpec, Queues};
use fadelab_path::violation::Checked;
use fadelab_phy::channel::PacketKind;
use serde::{Deserialize, Serialize};

use crate::packet::Shown;

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Fate {
    /// It is at the far end.
    Delivered,
    /// It was lost on the air.
    Lost,
    /// The queue had no room for it, or the law dropped it, at its arrival or when it left the queue.
    Dropped,
}

impl Fate {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Lost => "lost",
            Self::Dropped => "dropped",
        }
    }
}

/// A packet that leaves the lane.
#[derive(Debug)]
pub struct Left<'a> {
    /// Packets that came before it.
    pub number: u64,
    pub came_ns: u64,
    /// When it is at the far end; of a dropped one, when it came.
    pub due_ns: u64,
    pub fate: Fate,
    /// With all marks in it.
    pub bytes: &'a [u8],
}

/// From what a lane is made: whoever has it can make the same one again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LaneSpec {
    pub link: LinkSpec,
    /// Of its random streams, which the link's name tells apart.
    pub seed: u64,
    /// IP bytes of a full packet, with which laws scale.
    pub packet_bytes: u16,
    /// What is known of packets before they come: their kinds and sizes. `None`: nothing.
    pub sizes: Option<Vec<(PacketKind, u16)>>,
}

impl LaneSpec {
    /// A lane in which nothing has arrived yet. What its channel has to know of packets is computed here, so that none
    /// waits for it: for all sizes, which takes some seconds at most and may make them coarser, unless they are known.
    pub fn lane(&self) -> Lane {
        let mut node = Node::new(&self.link, self.seed, self.packet_bytes.into());
        match &self.sizes {
            None => node.prepare_all(self.packet_bytes),
            Some(sizes) => {
                for &(kind, ip_bytes) in sizes {
                    node.prepare(kind, ip_bytes);
                }
            }
        }
        Lane::of_node(node, &self.link)
    }
}

/// See the module's documentation.
#[derive(Debug)]
pub struct Lane {
    node: Node,
    sees_departures: bool,
    packets: Packets,
    /// Packets that the node has handed over: when they are due, their number, and where they are kept.
    under_way: BinaryHeap<Reverse<(u64, u64, PacketId, Fate)>>,
    now_ns: u64,
    arrived_n: u64,
}

impl Lane {
    fn of_node(node: Node, spec: &LinkSpec) -> Self {
        Self {
            sees_departures: node.sees_departures(),
            node,
            packets: Packets::new(
                Codec::on_wire(spec.router.law.wire()),
                matches!(spec.queues, Queues::Fair { .. }),
            ),
            under_way: BinaryHeap::new(),
            now_ns: 0,
            arrived_n: 0,
        }
    }

    pub fn name(&self) -> &str {
        self.node.name()
    }

    /// Takes a packet at `now_ns`, which is no earlier than any instant before; what was due until then goes to `sink`.
    ///
    /// # Errors
    /// An invariant of the node is broken.
    pub fn arrive(&mut self, now_ns: u64, bytes: &[u8], sink: &mut impl FnMut(&Left<'_>)) -> Checked<()> {
        self.serve(now_ns, sink)?;
        let number = self.arrived_n;
        self.arrived_n += 1;
        let id = self.packets.take(number, now_ns, bytes);
        let held = &self.packets.held[id as usize];
        let (kind, parcel) = (held.shown.kind(), Parcel::new(id, 0, bytes.len() as u16));
        match self.node.arrive(now_ns, parcel, kind, &mut self.packets)? {
            Arrival::Taken => {}
            Arrival::Dropped => self.packets.leave(id, now_ns, Fate::Dropped, sink),
            Arrival::Leaves { due_ns } => self.under_way.push(Reverse((due_ns, number, id, Fate::Delivered))),
            Arrival::Lost { due_ns } => self.under_way.push(Reverse((due_ns, number, id, Fate::Lost))),
        }
        Ok(())
    }

    /// When something happens next: a packet leaves, or the law has a timer. `u64::MAX`: not before something comes.
    pub fn next_due(&self) -> u64 {
        let leaves_ns = self.under_way.peek().map_or(u64::MAX, |Reverse(first)| first.0);
        leaves_ns.min(self.node.next_due())
    }

    /// Does all that is due until `until_ns`; what leaves goes to `sink`, in the order of time.
    ///
    /// # Errors
    /// An invariant of the node is broken.
    pub fn serve(&mut self, until_ns: u64, sink: &mut impl FnMut(&Left<'_>)) -> Checked<()> {
        loop {
            let due_ns = self.next_due();
            if due_ns > until_ns {
                break;
            }
            self.now_ns = due_ns;
            if self.node.next_due() == due_ns {
                match self.node.service(due_ns, &mut self.packets)? {
                    Departure::None => {}
                    Departure::Delivered(parcel) => self.packets.leave(parcel.id(), due_ns, Fate::Delivered, sink),
                    Departure::Lost(parcel) => self.packets.leave(parcel.id(), due_ns, Fate::Lost, sink),
                    Departure::Dropped(parcel) => self.packets.leave(parcel.id(), due_ns, Fate::Dropped, sink),
                }
            } else if let Some(Reverse((due_ns, _, id, fate))) = self.under_way.pop() {
                // The law has seen it leave the queue before anybody reads what it wrote.
                if self.sees_departures {
                    self.node.settle(due_ns, &mut self.packets)?;
                }
                self.packets.leave(id, due_ns, fate, sink);
            }
        }
        self.now_ns = self.now_ns.max(until_ns);
        Ok(())
    }

    /// The last instant at which something came or all was served.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Packets that came so far.
    pub fn arrived_pkts(&self) -> u64 {
        self.arrived_n
    }

    /// Packets that are in it.
    pub fn held_pkts(&self) -> u64 {
        (self.packets.held.len() - self.packets.free.len()) as u64
    }

    /// What its laws have to show: the router's values to watch, then those of its capacity part.
    pub fn watch(&self) -> Vec<u64> {
        let mut values = Vec::new();
        self.node.watch(&mut values);
        values
    }

    /// Counters as they stand at `now_ns`, until which all has been served.
    ///
    /// # Errors
    /// An invariant of the node is broken.
    pub fn counters(&mut self, now_ns: u64) -> Checked<LinkCounters> {
        self.node.snapshot(now_ns, &mut self.packets)
    }
}

/// A packet that is under way.
#[derive(Debug, Default)]
struct Held {
    number: u64,
    came_ns: u64,
    bytes: Vec<u8>,
    /// As it came, and as routers left it.
    before: Shown,
    shown: Shown,
    flow: u32,
    flow_key: u64,
}

/// Packets by number; places are used again.
#[derive(Debug)]
struct Packets {
    codec: Codec,
    held: Vec<Held>,
    free: Vec<PacketId>,
    /// Whether the link treats flows apart; else all packets are of one.
    has_flows: bool,
    /// Numbers of flows.
    flows: HashMap<u64, u32>,
}

impl Packets {
    fn new(codec: Codec, has_flows: bool) -> Self {
        Self {
            codec,
            has_flows,
            held: Vec::new(),
            free: Vec::new(),
            flows: HashMap::new(),
        }
    }

    fn take(&mut self, number: u64, came_ns: u64, bytes: &[u8]) -> PacketId {
        let id = self.free.pop().unwrap_or_else(|| {
            self.held.push(Held::default());
            (self.held.len() - 1) as PacketId
        });
        let shown = Shown::of(bytes, &self.codec);
        let (mut flow_key, mut flow) = (0, 0);
        if self.has_flows {
            flow_key = shown.flow_key(bytes);
            let flows_n = self.flows.len() as u32;
            flow = *self.flows.entry(flow_key).or_insert(flows_n);
        }
        let held = &mut self.held[id as usize];
        held.bytes.clear();
        held.bytes.extend_from_slice(bytes);
        (held.number, held.came_ns) = (number, came_ns);
        (held.before, held.shown) = (shown, shown);
        (held.flow_key, held.flow) = (flow_key, flow);
        id
    }

    fn leave(&mut self, id: PacketId, due_ns: u64, fate: Fate, sink: &mut impl FnMut(&Left<'_>)) {
        let held = &mut self.held[id as usize];
        held.shown.write(&held.before, &mut held.bytes, &self.codec);
        sink(&Left {
            number: held.number,
            came_ns: held.came_ns,
            due_ns,
            fate,
            bytes: &held.bytes,
        });
        self.free.push(id);
    }
}

impl Store for Packets {
    fn header(&mut self, id: PacketId) -> &mut Header {
        &mut self.held[id as usize].shown.header
    }

    fn flow(&self, id: PacketId) -> u32 {
        self.held[id as usize].flow
    }

    fn flow_key(&self, id: PacketId) -> u64 {
        self.held[id as usize].flow_key
    }

    fn header_and_feedback(&mut self, id: PacketId) -> (&mut Header, Option<&mut FeedbackBytes>) {
        let Shown { header, feedback, .. } = &mut self.held[id as usize].shown;
        let feedback = (header.feedback_len > 0).then_some(feedback);
        (header, feedback)
    }
}
