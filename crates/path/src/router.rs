//! A router's law at work: its memory, its timers, the capacity part that feeds it.

use fadelab_laws::{Params, Router, State, abi, guard};
use fadelab_phy::random::Stream;

use crate::packet::{FeedbackBytes, PacketId, Store};
use crate::spec::{CapacitySpec, LinkSpec, RouterSpec};

const NS_PER_US: u64 = 1000;

/// What the link tells the law at each call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueueView {
    pub now_ns: u64,
    pub queue_bytes: u64,
    pub queue_pkts: u32,
    pub full: bool,
    pub wait_ns: u64,
}

/// What the capacity part is told when an interval closes. Cumulative; the host of the law takes differences.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meter {
    pub offered_bytes: u64,
    pub sent_bytes: u64,
    pub arrived_bytes: u64,
    pub busy_ns: u64,
}

/// What a law did to a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub dropped: bool,
    pub marked: bool,
}

/// A law, its parameters and its state.
#[derive(Debug)]
pub(crate) struct LawHost {
    spec: RouterSpec,
    state: State,
    capacity_state: State,
    due_ns: [u64; abi::TIMERS_MAX],
    estimate: abi::Estimate,
    /// What the law is shown; kept, so that a call writes only what changed.
    queue: abi::Queue,
    packet: abi::Packet,
    wants_random: bool,
    reads_feedback: bool,
    random: Stream,
    closed_ns: u64,
    closed: Meter,
    queue_bytes_min: u64,
    limit_bytes: u64,
    configured_bytes_per_s: u64,
}

impl LawHost {
    /// The law of a queue of a link; a passive law (drop-tail) needs none. `queue` names the queue where a link has
    /// several, so that each has random numbers of its own.
    pub fn of(spec: &LinkSpec, seed: u64, packet_bytes: u32, queue: &str) -> Option<Box<Self>> {
        if spec.router.law.is_passive() {
            return None;
        }
        let capacity_bytes_per_s = match spec.capacity {
            CapacitySpec::Constant { rate_bps } => rate_bps / 8,
            CapacitySpec::Trace(_) => 0,
        };
        let link = abi::Link {
            capacity_Bps: capacity_bytes_per_s,
            delay_us: spec.delay_ns / NS_PER_US,
            limit_bytes: spec.buffer.bytes.unwrap_or(0),
            limit_pkts: spec.buffer.packets.unwrap_or(0),
            packet_bytes: spec.air_bytes(packet_bytes),
            ..abi::Link::default()
        };
        let random = Stream::new(seed, &format!("router {}{queue}", spec.name));
        let place = || format!("link {}{queue}", spec.name);
        Some(guard::in_place(place, || {
            Box::new(Self::new(&spec.router, random, link))
        }))
    }

    fn new(spec: &RouterSpec, mut random: Stream, mut link: abi::Link) -> Self {
        link.random = random.next_u64() as u32;
        let mut state = spec.law.new_state();
        let mut capacity_state = spec.capacity.new_state();
        spec.capacity.init(&mut capacity_state, &spec.capacity_params, &link);
        let mut due_us = [abi::TIMER_OFF; abi::TIMERS_MAX];
        spec.law.init(&mut state, &spec.params, &link, &mut due_us);
        let mut host = Self {
            spec: spec.clone(),
            state,
            capacity_state,
            due_ns: due_us.map(to_ns),
            estimate: abi::Estimate::default(),
            queue: abi::Queue::default(),
            packet: abi::Packet::default(),
            wants_random: spec.law.flags() & abi::ROUTER_RANDOM != 0,
            reads_feedback: spec.law.flags() & abi::ROUTER_FEEDBACK != 0,
            random,
            closed_ns: 0,
            closed: Meter::default(),
            queue_bytes_min: 0,
            limit_bytes: link.limit_bytes,
            configured_bytes_per_s: link.capacity_Bps,
        };
        host.estimate.capacity_Bps = link.capacity_Bps;
        host.note_estimate();
        host
    }

    /// Whether the state at `address` is the law's or its capacity part's.
    pub fn holds_state(&self, address: usize) -> bool {
        [self.state.address(), self.capacity_state.address()].contains(&address)
    }

    /// Whether the law looks at departures.
    #[inline]
    pub fn has_on_dequeue(&self) -> bool {
        self.spec.law.has_on_dequeue()
    }

    /// When the next timer is due.
    pub fn next_due(&self) -> u64 {
        self.due_ns.into_iter().fold(u64::MAX, u64::min)
    }

    /// Runs the timers that are due at `view.now_ns`, in order of their number.
    pub fn run_timers(&mut self, view: QueueView, meter: Meter) {
        for timer in 0..abi::TIMERS_MAX {
            if self.due_ns[timer] > view.now_ns {
                continue;
            }
            if timer as u32 == self.spec.law.control_timer() {
                self.close_interval(view, meter);
            }
            self.view(view, true);
            let due_us = self
                .spec
                .law
                .on_timer(&mut self.state, &self.spec.params, timer as u32, &self.queue);
            // A law that asks for the past is run again at the next microsecond, not for ever at this one.
            self.due_ns[timer] = to_ns(due_us).max(view.now_ns + NS_PER_US);
        }
    }

    fn close_interval(&mut self, view: QueueView, meter: Meter) {
        let interval_ns = view.now_ns - self.closed_ns;
        let busy_ns = (meter.busy_ns - self.closed.busy_ns).min(interval_ns);
        let interval = abi::Interval {
            now_us: view.now_ns / NS_PER_US,
            interval_us: interval_ns / NS_PER_US,
            offered_bytes: meter.offered_bytes - self.closed.offered_bytes,
            sent_bytes: meter.sent_bytes - self.closed.sent_bytes,
            arrived_bytes: meter.arrived_bytes - self.closed.arrived_bytes,
            busy_us: busy_ns / NS_PER_US,
            idle_us: (interval_ns - busy_ns) / NS_PER_US,
            queue_bytes: view.queue_bytes,
            queue_bytes_min: self.queue_bytes_min,
            limit_bytes: self.limit_bytes,
            configured_Bps: self.configured_bytes_per_s,
            ..abi::Interval::default()
        };
        let part = self.spec.capacity;
        part.estimate(
            &mut self.capacity_state,
            &self.spec.capacity_params,
            &interval,
            &mut self.estimate,
        );
        (self.closed_ns, self.closed, self.queue_bytes_min) = (view.now_ns, meter, view.queue_bytes);
        self.note_estimate();
    }

    /// An arrival, before the limit of the queue is applied.
    #[inline(always)]
    pub fn on_enqueue(&mut self, view: QueueView, id: PacketId, air_bytes: u32, store: &mut impl Store) -> Verdict {
        self.queue_bytes_min = self.queue_bytes_min.min(view.queue_bytes);
        if !self.spec.law.has_on_enqueue() {
            return Verdict::default();
        }
        self.view(view, false);
        self.on_packet(id, air_bytes, store, |law, state, params, packet, queue| {
            law.on_enqueue(state, params, packet, queue)
        })
    }

    /// A departure from the queue into the transmitter.
    #[inline(always)]
    pub fn on_dequeue(&mut self, view: QueueView, id: PacketId, air_bytes: u32, store: &mut impl Store) -> Verdict {
        self.queue_bytes_min = self.queue_bytes_min.min(view.queue_bytes);
        if !self.spec.law.has_on_dequeue() {
            return Verdict::default();
        }
        self.view(view, false);
        self.on_packet(id, air_bytes, store, |law, state, params, packet, queue| {
            law.on_dequeue(state, params, packet, queue)
        })
    }

    /// Copies the packet into the interface's form, calls the law, copies back what the law may change.
    #[inline(always)]
    fn on_packet(
        &mut self,
        id: PacketId,
        air_bytes: u32,
        store: &mut impl Store,
        call: impl FnOnce(&'static Router, &mut State, &Params, &mut abi::Packet, &abi::Queue) -> u32,
    ) -> Verdict {
        let header = store.header(id);
        let (ecn, with_feedback) = (header.ecn, header.feedback_len > 0 && self.reads_feedback);
        let packet = &mut self.packet;
        packet.flags = u32::from(header.flags);
        packet.ip_bytes = u32::from(header.ip_bytes);
        packet.air_bytes = air_bytes;
        packet.ip_id = header.ip_id;
        (packet.ecn, packet.outer_ecn) = (header.ecn, header.outer_ecn);
        packet.role = (header.ip_id & 1) as u8;
        packet.wire = header.wire;
        packet.feedback_len = header.feedback_len;
        packet.feedback = if with_feedback {
            *store.feedback(id)
        } else {
            FeedbackBytes::default()
        };
        let verdict = call(self.spec.law, &mut self.state, &self.spec.params, packet, &self.queue);
        if with_feedback {
            *store.feedback(id) = packet.feedback;
        }
        let header = store.header(id);
        (header.ecn, header.outer_ecn) = (packet.ecn, packet.outer_ecn);
        Verdict {
            dropped: verdict == abi::DROP,
            marked: packet.ecn != ecn,
        }
    }

    /// Writes down what the law is told of its queue. The capacity part's estimate stands there since the last
    /// interval.
    #[inline(always)]
    fn view(&mut self, view: QueueView, timer: bool) {
        let wants_random = timer || self.wants_random;
        let queue = &mut self.queue;
        queue.random = if wants_random { self.random.next_u64() as u32 } else { 0 };
        queue.now_us = view.now_ns / NS_PER_US;
        queue.queue_bytes = view.queue_bytes;
        queue.queue_pkts = view.queue_pkts;
        queue.full = u32::from(view.full);
        queue.wait_us = view.wait_ns / NS_PER_US;
    }

    /// Writes down the capacity part's estimate.
    fn note_estimate(&mut self) {
        self.queue.spare_Bps = self.estimate.spare_Bps;
        self.queue.capacity_Bps = self.estimate.capacity_Bps;
        self.queue.queue_control_bytes = self.estimate.queue_control_bytes;
        self.queue.has_queue_control = self.estimate.has_queue_control;
    }
}

fn to_ns(due_us: u64) -> u64 {
    if due_us == abi::TIMER_OFF {
        u64::MAX
    } else {
        due_us.saturating_mul(NS_PER_US)
    }
}
