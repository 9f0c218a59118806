//! Links, packets and pending events: all that both ends of a flow need to send.
//!
//! Wires say at once when a packet will be at their far end, and the packet waits for that in a [`Pipe`]: one for all
//! wires of a kind, or for one that several routes share, since packets that queue come out later than those of its
//! kind. Other links are asked for their next event each.
//!
//! A *tail* is a wire into which packets come from one other wire alone, such as the access link behind a bottleneck.
//! It gets them in the order in which that one sends them, so when a packet has a time there it can be sent through the
//! tail too, ahead of its time: one event less per packet. Nobody sees it but a snapshot, which leaves out what has not
//! arrived yet.
//!
//! How much comes out of a pipe in one event says [`ahead`]; which packets need not wait in one, [`horizon`].

use std::collections::BTreeSet;

use fadelab_path::node::{Departure, Node};
use fadelab_path::packet::{FeedbackBytes, PacketId, Parcel};
use fadelab_path::spec::{LinkSpec, Queues};
use fadelab_path::violation::{Checked, violated};
use fadelab_path::wire::{Passage, Wires};
use fadelab_phy::random::name_hash;
use fadelab_run::flow::FlowSpec;
use fadelab_run::network::LinkId;
use fadelab_run::spec::RunSpec;

use crate::layout::{Layout, kinds};
use crate::packet::{Packet, Slab};
use crate::pipe::Pipe;
use crate::schedule::{Keys, Schedule, SourceId};
use crate::tap::{Place, Tap};
use crate::tunnel::{self, Tunnels};

pub(crate) mod ahead;
pub(crate) mod answers;
mod audit;
pub(crate) mod delays;
mod drops;
mod enter;
#[cfg(feature = "fault-injection")]
mod fault;
pub(crate) mod fetch;
mod gate;
mod horizon;
mod route;
mod turns;

use answers::Answers;
use delays::Counted;
use horizon::Horizon;
use route::{GATE, LOST, NODE, ON_AIR, ROUTE_END, TAIL};
use turns::Turns;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Network {
    wires: Wires,
    /// Of each kind of wires, and behind them of each node.
    pipes: Vec<Pipe>,
    /// Links that are no plain wires.
    nodes: Vec<Node>,
    /// The first pipe that is not of a kind of wires.
    pipes_alone: usize,
    /// The pipe of each link.
    pipe_of: Vec<u32>,
    pub slab: Slab,
    keys: Keys,
    /// When packets come out of pipes, when flows want their event, and when links and the engine's own do. The last
    /// are instants at which somebody may look at a link: nothing is known of it beyond the next of them.
    pipes_due: Schedule,
    flows_due: Schedule,
    turns: Turns,
    looks_due: Schedule,
    /// The first key after the run.
    end_key: u64,
    /// Keys of the engine's own events.
    own_keys: Vec<u64>,
    /// The first key of all at which the engine looks at all links: the next of its own events, or the end.
    looked_at_key: u64,
    /// See [`horizon`].
    horizon: Horizon,
    /// Events that were taken together with others.
    events_more: u64,
    /// Routes of all flows, one after the other, each closed by `ROUTE_END`.
    hops: Vec<u32>,
    injected_pkts: u64,
    gone_pkts: u64,
    /// See [`kinds`].
    of_data_alone: BTreeSet<LinkId>,
    tap: Option<Tap>,
    pub tunnels: Tunnels,
    delays: Counted,
    /// See [`drops`]: by links and groups.
    dropped: Vec<u64>,
    answers: Answers,
    /// See [`fetch`].
    fetched_pkts_min: usize,
}

/// What stands for each flow, and each way through a tunnel, where queues are drawn for flows: its name.
fn flow_keys(spec: &RunSpec) -> Vec<u64> {
    let draws = |link: &LinkSpec| matches!(link.queues, Queues::Fair { .. });
    if !spec.network.links.iter().any(|edge| draws(&edge.link)) {
        return Vec::new();
    }
    let flows = spec.flows.iter().map(|flow| name_hash(&flow.name));
    flows.chain(tunnel::keys(&spec.network)).collect()
}

impl Network {
    /// The links of `spec`. Sources of events are numbered: links, flows, then `own` of the engine's.
    pub fn new(spec: &RunSpec, own: usize) -> Self {
        let has_feedback = |flow: &FlowSpec| {
            flow.sender.is_some_and(|law| law.feedback_bytes() > 0)
                || flow.receiver.is_some_and(|law| law.feedback_bytes() > 0)
        };
        let delays = Counted::of(spec);
        let layout = Layout::of(spec, |link| delays.are_apart(link));
        let keys = Keys::new(spec.network.links.len() + spec.flows.len() + own);
        let mut network = Self {
            pipes_due: Schedule::new(layout.pipes.len()),
            flows_due: Schedule::new(spec.flows.len()),
            turns: Turns::of(spec),
            looks_due: Schedule::new(layout.nodes.len() + own),
            end_key: keys.key(spec.duration_ns.saturating_add(1), 0),
            own_keys: vec![u64::MAX; own],
            looked_at_key: 0,
            horizon: Horizon::none(),
            events_more: 0,
            keys,
            wires: layout.wires,
            pipes_alone: layout.pipes.len() - layout.nodes.len(),
            pipes: layout.pipes,
            nodes: layout.nodes,
            pipe_of: layout.pipe_of,
            slab: Slab::new(
                spec.flows.len(),
                spec.flows.iter().any(has_feedback),
                !spec.network.tunnels.is_empty(),
                flow_keys(spec),
            ),
            tunnels: Tunnels::of(spec),
            hops: vec![LOST],
            injected_pkts: 0,
            gone_pkts: 0,
            of_data_alone: kinds::of_data_alone(spec),
            tap: None,
            dropped: Self::no_drops(&delays),
            answers: Answers::of(spec, delays.groups_n()),
            delays,
            fetched_pkts_min: Self::fetched_pkts_min(spec.flows.len()),
        };
        network.count_delays();
        for source in 0..spec.network.links.len() as SourceId {
            if let Some(at) = network.alone_at(source as usize) {
                network.schedule_node(at, source);
            }
        }
        network
    }

    /// Where link number `index` stands among the nodes, each of which has a pipe of its own.
    #[inline]
    fn alone_at(&self, index: usize) -> Option<usize> {
        (self.pipe_of[index] as usize).checked_sub(self.pipes_alone)
    }

    /// Moves the event of a node.
    #[inline]
    fn schedule_node(&mut self, at: usize, source: SourceId) {
        self.looks_due.set(at, self.keys.key(self.nodes[at].next_due(), source));
    }

    /// Shows flows and links to `tap`, which sees packets in the order of time. To be called before routes are added.
    pub fn set_tap(&mut self, tap: Tap) {
        let keep_order = if tap.has_links() {
            Pipe::keep_order_everywhere
        } else {
            Pipe::keep_order
        };
        self.pipes.iter_mut().for_each(keep_order);
        self.tap = Some(tap);
    }

    /// The next event: its key, time and source.
    #[inline]
    pub fn next_event(&self) -> (u64, u64, SourceId) {
        let hosts_key = self.pipes_due.next_key().min(self.flows_due.next_key());
        let key = hosts_key.min(self.looks_due.next_key());
        let (time_ns, source) = self.keys.split(key);
        (key, time_ns, source)
    }

    /// Events that came with others, and were not told by [`Self::next_event`].
    pub fn events_more(&self) -> u64 {
        self.events_more
    }

    /// The last instant that the schedule can name.
    pub fn time_ns_max(&self) -> u64 {
        self.keys.time_ns_max()
    }

    /// Moves the event of flow `flow` to `due_ns`.
    #[inline]
    pub fn schedule_flow(&mut self, flow: usize, due_ns: u64) {
        let key = self.key_of_flow(flow, due_ns);
        self.flows_due.set(flow, key);
    }

    /// Sees to it that flow `flow` gets an event at `due_ns` at the latest. An earlier one stays: it finds nothing to
    /// do, and spares moving a timer that every ACK puts off.
    #[inline]
    pub fn schedule_flow_by(&mut self, flow: usize, due_ns: u64) {
        let key = self.key_of_flow(flow, due_ns);
        self.flows_due.advance(flow, key);
    }

    #[inline]
    fn key_of_flow(&self, flow: usize, due_ns: u64) -> u64 {
        let turn = self.turns.of_flow(flow);
        self.keys.key(due_ns, (self.pipe_of.len() + turn) as SourceId)
    }

    /// The flow whose event is that of the source `turn` places behind the links.
    #[inline]
    pub fn flow_at(&self, turn: usize) -> usize {
        self.turns.flow_at(turn)
    }

    /// Moves event `own` of the engine, which is source `source`, to `due_ns`.
    pub fn schedule_own(&mut self, own: usize, source: SourceId, due_ns: u64) {
        let key = self.keys.key(due_ns, source);
        self.looks_due.set(self.nodes.len() + own, key);
        self.own_keys[own] = key;
        self.looked_at_key = self.own_keys.iter().fold(self.end_key, |least, &key| least.min(key));
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
        let ip_bytes = packet.header.ip_bytes as u16;
        let id = self.slab.add(packet);
        if let Some(bytes) = feedback {
            *self.slab.feedback(id) = *bytes;
        }
        self.enter(now_ns, id, route_at, ip_bytes)
    }

    /// When all has left that the first link of a route took; 0 where nobody can tell yet.
    #[inline(always)]
    pub fn departs_ns(&self, route_at: u32) -> u64 {
        match self.hops[route_at as usize] {
            wire if wire < TAIL => self.wires.free_ns(wire as usize),
            _ => self.departs_elsewhere_ns(route_at),
        }
    }

    /// The same where the first link is no plain wire, or is behind a tap or the end of a tunnel.
    #[inline(never)]
    fn departs_elsewhere_ns(&self, route_at: u32) -> u64 {
        let first = self.hops[route_at as usize..].iter().find(|&&hop| hop < GATE);
        let Some(&hop) = first else { return 0 };
        let link = route::link_of(hop) as usize;
        match (self.pipe_of[link] as usize).checked_sub(self.pipes_alone) {
            Some(node) => self.nodes[node].free_ns(),
            None => self.wires.free_ns(link),
        }
    }

    #[inline(always)]
    fn enter(&mut self, now_ns: u64, id: PacketId, tag: u32, ip_bytes: u16) -> Checked<()> {
        self.injected_pkts += 1;
        let mut parcel = Parcel::new(id, tag, ip_bytes);
        let hop = self.hops[tag as usize];
        if hop >= TAIL {
            return self.forward_elsewhere(now_ns, hop, parcel);
        }
        parcel.step();
        match self.wires.pass_at_once(hop as usize, now_ns, ip_bytes) {
            Some(passage) => self.go_in(now_ns, hop, passage, parcel),
            None => self.queue_up(now_ns, hop, parcel),
        }
    }

    /// A link's own event: at most one packet comes out of it. Returns it when it is at its end; it is then the
    /// caller's to [`Self::discard`].
    #[inline(never)]
    pub fn service_link(&mut self, now_ns: u64, link: usize) -> Checked<Option<PacketId>> {
        let Some(at) = self.alone_at(link) else {
            return self.broken_early(now_ns, link, now_ns);
        };
        let departure = self.nodes[at].service(now_ns, &mut self.slab)?;
        self.schedule_node(at, link as SourceId);
        match departure {
            Departure::None => Ok(None),
            Departure::Delivered(parcel) => self.come_out(now_ns, parcel),
            Departure::Lost(parcel) => {
                self.discard(parcel.id());
                Ok(None)
            }
            Departure::Dropped(parcel) => {
                self.drop_at(link as u32, parcel.id());
                Ok(None)
            }
        }
    }

    /// As [`Self::forward`], where there is most often a law: what the run is about.
    #[inline(always)]
    fn forward_to_law(&mut self, now_ns: u64, mut parcel: Parcel) -> Checked<()> {
        let hop = self.hops[parcel.tag() as usize];
        if !(NODE..GATE).contains(&hop) {
            return self.forward(now_ns, parcel);
        }
        parcel.step();
        if hop < ON_AIR {
            self.enter_node(now_ns, hop, parcel)
        } else {
            self.enter_air(now_ns, hop, parcel)
        }
    }

    /// As [`Self::forward`], where most packets are at the end of their way.
    #[inline(never)]
    fn forward_elsewhere_alone(&mut self, now_ns: u64, parcel: Parcel) -> Checked<()> {
        self.forward(now_ns, parcel)
    }

    /// Sends a packet on to where its tag says in the flattened routes: to a link.
    #[inline(always)]
    fn forward(&mut self, now_ns: u64, mut parcel: Parcel) -> Checked<()> {
        let hop = self.hops[parcel.tag() as usize];
        if hop >= TAIL {
            return self.forward_elsewhere(now_ns, hop, parcel);
        }
        parcel.step();
        match self.wires.pass_at_once(hop as usize, now_ns, parcel.ip_bytes()) {
            Some(passage) => self.go_ahead(now_ns, hop, passage, parcel),
            None => self.queue_up(now_ns, hop, parcel),
        }
    }

    /// A packet comes to a wire that is busy, or to which it is new.
    #[inline(never)]
    fn queue_up(&mut self, now_ns: u64, wire: u32, parcel: Parcel) -> Checked<()> {
        if let Some(passage) = self.wires.arrive(wire as usize, now_ns, parcel.ip_bytes())? {
            return self.go_in_behind(now_ns, wire, passage, parcel);
        }
        self.drop_at(wire, parcel.id());
        Ok(())
    }

    /// A wire took a packet, or not.
    #[inline(always)]
    fn pass_on(&mut self, now_ns: u64, wire: u32, passage: Option<Passage>, parcel: Parcel) -> Checked<()> {
        if let Some(passage) = passage {
            return self.go_ahead(now_ns, wire, passage, parcel);
        }
        self.drop_at(wire, parcel.id());
        Ok(())
    }

    /// A packet has its time at the end of a link. Through a tail behind it it goes on, ahead of its time; then it
    /// waits in its pipe.
    #[inline(always)]
    fn go_ahead(
        &mut self,
        mut arrived_ns: u64,
        mut link: u32,
        mut passage: Passage,
        mut parcel: Parcel,
    ) -> Checked<()> {
        let hop = self.hops[parcel.tag() as usize];
        if hop & ON_AIR == TAIL {
            let tail = hop & !TAIL;
            let Some(next) = self
                .wires
                .pass_at_once(tail as usize, passage.due_ns, parcel.ip_bytes())
            else {
                return self.hold_back(arrived_ns, link, passage, parcel, tail);
            };
            (arrived_ns, passage, link) = (passage.due_ns, next, tail);
            parcel.step();
        }
        self.wait(arrived_ns, link, passage, parcel);
        Ok(())
    }

    /// A packet comes to a tail that is busy, or to which it is new.
    #[inline(never)]
    fn hold_back(
        &mut self,
        arrived_ns: u64,
        link: u32,
        passage: Passage,
        mut parcel: Parcel,
        tail: u32,
    ) -> Checked<()> {
        let wires = &mut self.wires;
        if let Some(next) = wires.arrive_ahead(tail as usize, passage.due_ns, parcel.ip_bytes())? {
            parcel.step();
            self.wait(passage.due_ns, tail, next, parcel);
        } else {
            self.wait(arrived_ns, link, passage, parcel);
        }
        Ok(())
    }

    /// A packet waits in its pipe until it is at the far end of `link`.
    #[inline(always)]
    fn wait(&mut self, arrived_ns: u64, link: u32, passage: Passage, parcel: Parcel) {
        let key = self.keys.key(passage.due_ns, link);
        if self.pipes[passage.kind].push(key, arrived_ns, parcel) {
            self.pipes_due.advance(passage.kind, key);
        }
    }

    #[cold]
    #[inline(never)]
    fn broken_early<T>(&self, now_ns: u64, link: usize, arrived_ns: u64) -> Checked<T> {
        let invariant = "nothing leaves before its delay, and nothing late";
        let detail = format!("a packet that came at {arrived_ns} ns");
        violated(invariant, self.wires.name(link), now_ns, detail)
    }

    #[cold]
    fn show_at_host(&mut self, now_ns: u64, id: PacketId) {
        let feedback = self.slab.feedback_of(id).copied();
        if let Some(tap) = &mut self.tap {
            tap.show_at_host(now_ns, self.slab.get_mut(id), feedback.as_ref());
        }
    }

    #[cold]
    fn show_at_link(&mut self, now_ns: u64, link: LinkId, id: PacketId) {
        let (packet, hidden) = (self.slab.get(id), self.slab.hidden(id));
        let feedback = self.slab.feedback_inside(id);
        if let Some(tap) = &mut self.tap {
            tap.show(Place::Link(link), now_ns, packet, hidden, feedback);
        }
    }

    /// The packet is no more.
    #[inline]
    pub fn discard(&mut self, id: PacketId) {
        self.gone_pkts += 1;
        self.slab.remove(id);
    }
}
