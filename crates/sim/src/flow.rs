//! A flow: an application, the two ends of its transport, and what it counts.

mod beside;
mod download;

use std::rc::Rc;
use std::slice;

use fadelab_laws::abi::{self, Identification};
use fadelab_laws::shadow::Shadows;
use fadelab_path::packet::{Header, PacketId};
use fadelab_path::violation::Checked;
use fadelab_run::app;
use fadelab_run::app::App;
use fadelab_run::app::{Application, Wish};
use fadelab_run::record::{Completion, FlowCounters, Watched};
use fadelab_run::spec::RunSpec;
use prefetch_index::prefetch_index;

use crate::clock::Now;
use crate::ends::Ends;
use crate::network::Network;
use crate::packet::{Packet, flag};
use crate::pipe::Exits;
use crate::schedule::SourceId;
use crate::tcp::client::Client;
use crate::tcp::ids;
use crate::tcp::plan::{Arrivals, Plan};
use crate::tcp::receiver::Receiver;
use crate::tcp::round_trips::RoundTrips;
use crate::tcp::segments::Segments;
use crate::tcp::sender::handshake::{carry, syn};
use crate::tcp::sender::{Identity, Sender};
use beside::Beside;

/// See the module's documentation. Its fields stand in the order in which packets touch them: what an arriving segment
/// needs comes first, in one cache line or two, then what an ACK needs, then the rest.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Flow {
    plan: Rc<Plan>,
    /// When it gets its next event at the latest.
    event_ns: u64,
    id: u32,
    route_back_at: u32,
    /// The wire with which the route back begins.
    entrance_back: u32,
    acks_sent: u16,
    closing: bool,
    receiver: Receiver,
    /// `None` sends datagrams and hears nothing back.
    sender: Option<Sender>,
    app: Application,
    route_at: u32,
    /// The wire with which the route there begins.
    entrance: u32,
    /// First segment of the present connection.
    opened_una: u32,
    beside: Beside,
}

/// Bytes of a cache line.
const LINE_BYTES: usize = 64;
/// Cache lines of a flow, and those that data need of it.
const LINES: usize = size_of::<Flow>() / LINE_BYTES;
const RECEIVER_LINES: usize = 2;
const _: () = assert!(
    std::mem::offset_of!(Flow, sender) <= RECEIVER_LINES * LINE_BYTES && LINES <= 10,
    "a segment that arrives needs two cache lines of a flow, and a flow has ten"
);

impl Flow {
    /// The flows of `spec`, with their routes through `net`. Those of group `k` count in `round_trips[k]`.
    pub fn all(spec: &RunSpec, net: &mut Network, round_trips: &[Rc<RoundTrips>]) -> Vec<Self> {
        let mut plan = None;
        let flows = spec.flows.iter().enumerate().map(|(id, flow)| {
            let group = net.groups().of_flow[id] as usize;
            let shared = Plan::of(flow, &round_trips[group], plan.as_ref());
            plan = Some(Rc::clone(&shared));
            Self::new(id as u32, spec, shared, net)
        });
        flows.collect()
    }

    fn new(id: u32, run: &RunSpec, plan: Rc<Plan>, net: &mut Network) -> Self {
        let (route_at, route_back_at) = net.add_routes(run, id);
        let identity = Identity { flow: id, route_at };
        let spec = &run.flows[id as usize];
        let (word, random) = app::stream(run.seed, &spec.name);
        Self {
            event_ns: u64::MAX,
            id,
            route_back_at,
            entrance_back: net.entrance(route_back_at),
            acks_sent: ids::start(word, true),
            closing: matches!(spec.app, App::Transfer { .. }),
            receiver: Receiver::new(&plan),
            sender: plan.law.map(|law| Sender::new(identity, &plan, law, word)),
            app: Application::new(&spec.app, random),
            route_at,
            entrance: net.entrance(route_at),
            opened_una: 0,
            beside: Beside::of(&plan),
            plan,
        }
    }

    /// Asks for the memory that its next packet needs, before it comes: an ACK, or data, or whatever of both.
    #[inline]
    pub fn fetch(&self, next: Exits) {
        let words = slice::from_ref(&self.event_ns);
        let lines = if next.acks { LINES } else { RECEIVER_LINES };
        for line in 0..lines {
            prefetch_index(words, line * (LINE_BYTES / size_of::<u64>()));
        }
    }

    /// Asks for what [`Self::fetch`] could not know of, when that has come.
    #[inline]
    pub fn fetch_behind(&self, next: Exits, net: &Network) {
        if next.data {
            net.fetch_entrance(self.route_back_at, self.entrance_back);
        }
        if next.acks {
            net.fetch_entrance(self.route_at, self.entrance);
            if let Some(sender) = &self.sender {
                sender.fetch();
            }
        }
    }

    /// When it wants its next event, which it then counts on.
    pub fn next_event_ns(&mut self) -> u64 {
        let sender_ns = self.sender.as_ref().map_or(u64::MAX, Sender::next_due);
        let client_ns = self.beside.client().map_or(u64::MAX, Client::due_ns);
        let own_ns = self.app.due_ns().min(self.receiver.ack_due_ns());
        self.event_ns = sender_ns.min(client_ns).min(own_ns);
        self.event_ns
    }

    /// Whether a transfer or session waits for its end: the receiver of a session begins anew with its sender, so what
    /// comes to it until then has to come in its turn.
    #[inline]
    pub fn is_closing(&self) -> bool {
        self.closing
    }

    /// Wants an event at `due_ns`, unless there is one before.
    #[inline]
    fn want_event(&mut self, due_ns: u64, net: &mut Network) {
        if due_ns < self.event_ns {
            self.event_ns = due_ns;
            net.schedule_flow_by(self.id as usize, due_ns);
        }
    }

    /// Its event, which is `source`'s: the application first, then the delayed ACK, then the sender's timers. A session
    /// that is closed after all of it was acknowledged is added to `ends`.
    pub fn on_event(&mut self, now_ns: u64, source: SourceId, net: &mut Network, ends: &mut Ends) -> Checked<()> {
        let now = Now::at(now_ns);
        while self.app.due_ns() <= now_ns {
            let wish = self.app.wish(&self.plan.app, now_ns, self.plan.mss_bytes);
            self.fulfil(wish, now, net)?;
            if wish == Wish::Close {
                self.complete(now_ns, source, ends);
            }
        }
        if self.receiver.ack_due_ns() <= now_ns {
            self.send_late_ack(now, net)?;
        }
        if let Some(client) = self.beside.client_mut().filter(|client| client.due_ns() <= now_ns) {
            let packet = client.on_timer(now, self.id, &self.plan);
            net.inject(now.ns, packet, self.route_back_at, None)?;
        }
        match &mut self.sender {
            Some(sender) if sender.next_due() <= now_ns => sender.on_timer(now, &self.plan, net),
            _ => Ok(()),
        }
    }

    fn fulfil(&mut self, wish: Wish, now: Now, net: &mut Network) -> Checked<()> {
        let plan = &*self.plan;
        if let Some(client) = self.beside.client_mut() {
            self.receiver.restart(now, plan);
            let syn = client.open(now, self.id, plan, self.receiver.nxt());
            return net.inject(now.ns, syn, self.route_back_at, None);
        }
        let Some(sender) = &mut self.sender else {
            return if wish == Wish::Segment {
                self.send_datagram(now, net)
            } else {
                Ok(())
            };
        };
        match wish {
            Wish::Open(bytes) => {
                sender.connect(now, plan);
                self.receiver.restart(now, plan);
                self.opened_una = sender.board().una();
                let mut last_ip_bytes = None;
                let written = match bytes {
                    None => u32::MAX,
                    Some(0) => self.opened_una,
                    Some(bytes) => {
                        let segments = Segments::of_bytes(bytes, plan.mss_bytes);
                        last_ip_bytes = Some((plan.tcp.packet_bytes - segments.short_by_bytes) as u16);
                        self.opened_una.saturating_add(segments.count)
                    }
                };
                sender.write(written, last_ip_bytes);
                if plan.tcp.handshake && bytes != Some(0) {
                    return sender.greet(now, plan, net);
                }
            }
            Wish::Segment => {
                sender.write(sender.written() + 1, None);
            }
            Wish::Close => {
                sender.close();
                self.closing = matches!(plan.app, App::Sessions { .. });
            }
        }
        sender.send(now, plan, net)
    }

    /// Packet `id` of this flow reached the end of its route, link `source`, and is no more from here on. A transfer or
    /// session that it completes is added to `ends`.
    #[inline(always)]
    pub fn on_packet(
        &mut self,
        now_ns: u64,
        source: SourceId,
        id: PacketId,
        net: &mut Network,
        ends: &mut Ends,
    ) -> Checked<()> {
        let now = Now::at(now_ns);
        if net.slab.get(id).header.is_data() {
            return self.on_data(now, source, id, net, ends);
        }
        let Some(sender) = &mut self.sender else {
            net.discard(id);
            return Ok(());
        };
        sender.on_ack(now, &self.plan, id, net)?;
        if let Some(rtt_us) = sender.take_rtt_us() {
            self.plan.round_trips.add(rtt_us);
        }
        let mut due_ns = sender.next_due();
        if self.closing && self.complete(now_ns, source, ends) {
            due_ns = due_ns.min(self.app.due_ns());
        }
        self.want_event(due_ns, net);
        Ok(())
    }

    /// A data packet, for which nothing of the sender is looked at.
    #[inline(always)]
    fn on_data(&mut self, now: Now, source: SourceId, id: PacketId, net: &mut Network, ends: &mut Ends) -> Checked<()> {
        match self.plan.arrivals {
            Arrivals::Plain => self.answer_data::<false>(now, id, net),
            Arrivals::ForLaw => self.answer_data::<true>(now, id, net),
            Arrivals::Download => self.on_download(now, source, id, net, ends),
            Arrivals::Datagrams => {
                if let Some(datagrams) = self.beside.datagrams_mut() {
                    datagrams.received += 1;
                }
                net.discard(id);
                Ok(())
            }
        }
    }

    #[inline(always)]
    fn answer_data<const HAS_LAW: bool>(&mut self, now: Now, id: PacketId, net: &mut Network) -> Checked<()> {
        let (packet, feedback) = (net.slab.get(id), net.slab.feedback_of(id));
        let answers = self.receiver.on_data::<HAS_LAW>(now, packet, feedback, &self.plan);
        net.discard(id);
        if answers {
            return self.send_ack::<HAS_LAW>(now, 0, net);
        }
        self.want_event(self.receiver.ack_due_ns(), net);
        Ok(())
    }

    /// Notes the end of the transfer or session, if it ends now: it writes no more, and all that it wrote is
    /// acknowledged. Returns whether it does.
    fn complete(&mut self, now_ns: u64, source: SourceId, ends: &mut Ends) -> bool {
        let Some(sender) = self.sender.as_ref().filter(|sender| sender.is_finished()) else {
            return false;
        };
        if !self.closing {
            return false;
        }
        self.closing = false;
        self.app.finished(&self.plan.app, now_ns);
        let segments = u64::from(sender.board().una() - self.opened_una);
        let completion = Completion {
            flow: self.id,
            start_ns: self.app.start_ns(),
            end_ns: now_ns,
            bytes: segments * u64::from(self.plan.mss_bytes) - u64::from(Segments::of(&self.plan).short_by_bytes),
        };
        ends.add(source, completion);
        true
    }

    #[inline(always)]
    fn send_ack<const HAS_LAW: bool>(&mut self, now: Now, tcp_flags: u8, net: &mut Network) -> Checked<()> {
        let mut fill = abi::Fill::default();
        let (flow, counted) = (self.id, self.acks_sent);
        let chance = || u64::from(flow) << 16 | u64::from(counted);
        let id = ids::of(self.plan.tcp.ip_id, counted, abi::WIRE_NONE as u8, chance);
        let mut ack = self.receiver.ack::<HAS_LAW>(now, &self.plan, flow, id, &mut fill);
        ack.tcp_flags |= tcp_flags;
        self.acks_sent = counted.wrapping_add(1);
        let feedback = (ack.header.feedback_len > 0).then_some(&fill.feedback.bytes);
        net.inject(now.ns, ack, self.route_back_at, feedback)
    }

    /// The ACK that was delayed, or the answer to a SYN.
    #[inline(never)]
    fn send_late_ack(&mut self, now: Now, net: &mut Network) -> Checked<()> {
        let Some(syn_ts_us) = self.receiver.take_syn() else {
            return self.send_ack::<true>(now, flag::DELAYED, net);
        };
        let mut answer = syn(now, self.id, Some(syn_ts_us));
        let mut fill = abi::Fill::default();
        let carries = self.receiver.answer_syn(now, &self.plan, &mut fill);
        if carries {
            carry(&mut answer, &self.plan, 0, &fill.feedback);
        }
        let feedback = carries.then_some(&fill.feedback.bytes);
        net.inject(now.ns, answer, self.route_back_at, feedback)
    }

    fn send_datagram(&mut self, now: Now, net: &mut Network) -> Checked<()> {
        let Some(datagrams) = self.beside.datagrams_mut() else {
            return Ok(());
        };
        let ip_id = datagrams.sent as u16;
        let id = Identification::by_id(ip_id);
        let header = Header::new(abi::PACKET_DATA, self.plan.tcp.packet_bytes, id, 0, 0, 0, 0);
        datagrams.sent += 1;
        let packet = Packet {
            header,
            flow: self.id,
            ..Packet::default()
        };
        net.inject(now.ns, packet, self.route_at, None)
    }

    /// Where the states of the law's sender and receiver lie.
    pub fn state_addresses(&self) -> [Option<usize>; 2] {
        let sender = self.sender.as_ref().map(|sender| sender.state().address());
        [sender, self.receiver.state_address()]
    }

    /// Adds what its law and those that look on declare as worth watching.
    pub fn watch(&self, values: &mut Watched) {
        if let (Some(law), Some(sender)) = (self.plan.law, &self.sender) {
            let state = sender.state().words();
            values.extend(law.watch().iter().map(|info| info.raw(state)));
            for (law, state) in sender.shadows().into_iter().flat_map(Shadows::iter) {
                values.extend(law.watch().iter().map(|info| info.raw(state.words())));
            }
        }
    }

    /// What it has counted so far.
    pub fn snapshot(&self) -> FlowCounters {
        let mss_bytes = u64::from(self.plan.mss_bytes);
        let Some(sender) = &self.sender else {
            let (sent_pkts, received) = match &self.beside {
                Beside::Datagrams(datagrams) => (datagrams.sent, datagrams.received),
                _ => (0, 0),
            };
            return FlowCounters {
                sent_pkts,
                delivered_bytes: received * mss_bytes,
                ..FlowCounters::default()
            };
        };
        let counters = sender.counters();
        // Segments that are shorter than the others, of what came.
        let shorter = match self.beside.client() {
            Some(client) => client.ended,
            None => u64::from(self.receiver.nxt() > 0 && self.receiver.nxt() == sender.written()),
        };
        let short_by_bytes = shorter * u64::from(Segments::of(&self.plan).short_by_bytes);
        FlowCounters {
            sent_pkts: counters.sent_pkts,
            retransmitted_pkts: counters.retransmitted_pkts.into(),
            delivered_bytes: u64::from(self.receiver.nxt()) * mss_bytes - short_by_bytes,
            timeouts: counters.timeouts.into(),
            recoveries: counters.recoveries.into(),
            ecn_reductions: counters.ecn_reductions.into(),
            rtt_samples: counters.rtt_samples,
            rtt_us_sum: counters.rtt_us_sum,
            cwnd_pkts: sender.window_pkts(),
            ssthresh_pkts: sender.control().ssthresh_pkts,
            srtt_us: sender.srtt_us(),
            in_flight_pkts: sender.board().in_flight_pkts(),
        }
    }

    #[cfg(feature = "fault-injection")]
    pub fn receiver_mut(&mut self) -> &mut Receiver {
        &mut self.receiver
    }

    #[cfg(feature = "fault-injection")]
    pub fn sender_mut(&mut self) -> Option<&mut Sender> {
        self.sender.as_mut()
    }
}
