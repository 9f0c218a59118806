//! A router's law at work: its memory, its timers, the capacity part that feeds it.

use fadelab_laws::{Capacity, Params, RouterInstance, State, abi, guard};
use fadelab_phy::random::{CounterDraw, Stream};

use crate::packet::{FeedbackBytes, Header, PacketId, Store};
use crate::spec::{CapacitySpec, LinkSpec, RouterSpec};

const NS_PER_US: u64 = 1000;

/// A queue at a call of its law.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueueView {
    pub now_ns: u64,
    pub bytes: u64,
    pub pkts: u32,
}

/// What the capacity part is told when an interval closes. Cumulative; the host of the law takes differences.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meter {
    pub offered_bytes: u64,
    pub sent_bytes: u64,
    pub arrived_pkts: u64,
    pub arrived_bytes: u64,
    pub busy_ns: u64,
}

/// When a timer of the law ran last, as far as it is told what came since.
#[derive(Clone, Copy, Debug, Default)]
struct LastRun {
    arrived_pkts: u64,
    arrived_bytes: u64,
    /// The least that waited since then.
    queue_bytes_min: u64,
}

/// What a law did to a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub dropped: bool,
    pub marked: bool,
}

/// What a law did to a packet that passed its queue.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Passage {
    /// At its arrival.
    pub dropped: bool,
    /// At its departure.
    pub dropped_late: bool,
    pub marks: u64,
}

/// What belongs to a packet that the law was shown.
struct Shown<'a> {
    header: &'a mut Header,
    feedback: Option<&'a mut FeedbackBytes>,
}

/// A law, its parameters and its state.
#[derive(Debug)]
pub(crate) struct LawHost {
    law: RouterInstance<'static>,
    capacity: &'static Capacity,
    capacity_params: Params,
    capacity_state: State,
    due_ns: [u64; abi::TIMERS_MAX],
    estimate: abi::Estimate,
    /// What the law is shown; kept, so that a call writes only what changed.
    queue: abi::Queue,
    packet: abi::Packet,
    /// What the law reads and does not read, `ROUTER_*`.
    flags: u32,
    /// The packets it is for, `WIRE_*`.
    wire: u32,
    /// For the start and for timers.
    random: Stream,
    /// For packets: a word per call that wants one, by its number.
    words: CounterDraw,
    words_drawn: u64,
    closed_ns: u64,
    closed: Meter,
    ran: [LastRun; abi::TIMERS_MAX],
    /// Since any timer ran.
    queue_bytes_min: u64,
    /// When the last transmission began.
    last_start_ns: u64,
    limit_bytes: u64,
    configured_bytes_per_s: u64,
}

impl LawHost {
    /// The law of a queue of a link; a passive law (drop-tail) needs none. `queue` names the queue where a link has
    /// several, so that each has random numbers of its own.
    pub fn of(spec: &LinkSpec, seed: u64, packet_bytes: u32, queue: &str) -> Option<Box<Self>> {
        let is_passive = spec.router.law.is_passive();
        (!is_passive).then(|| Box::new(Self::at(spec, seed, packet_bytes, queue)))
    }

    /// The same of any law: a passive one is asked nothing.
    pub fn at(spec: &LinkSpec, seed: u64, packet_bytes: u32, queue: &str) -> Self {
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
        let component = format!("router {}{queue}", spec.name);
        let (random, words) = (Stream::new(seed, &component), CounterDraw::new(seed, &component));
        let place = || format!("link {}{queue}", spec.name);
        guard::in_place(place, || Self::new(&spec.router, random, words, link))
    }

    fn new(spec: &RouterSpec, mut random: Stream, words: CounterDraw, mut link: abi::Link) -> Self {
        link.random = random.next_u64() as u32;
        let mut law = RouterInstance::new(spec.law, spec.params.clone());
        let mut capacity_state = spec.capacity.new_state();
        spec.capacity.init(&mut capacity_state, &spec.capacity_params, &link);
        let mut due_us = [abi::TIMER_OFF; abi::TIMERS_MAX];
        law.init(&link, &mut due_us);
        let mut host = Self {
            law,
            capacity: spec.capacity,
            capacity_params: spec.capacity_params.clone(),
            capacity_state,
            due_ns: due_us.map(to_ns),
            estimate: abi::Estimate::default(),
            queue: abi::Queue::default(),
            packet: abi::Packet::default(),
            flags: spec.law.flags(),
            wire: spec.law.wire(),
            random,
            words,
            words_drawn: 0,
            closed_ns: 0,
            closed: Meter::default(),
            ran: [LastRun::default(); abi::TIMERS_MAX],
            queue_bytes_min: 0,
            last_start_ns: 0,
            limit_bytes: link.limit_bytes,
            configured_bytes_per_s: link.capacity_Bps,
        };
        host.estimate.capacity_Bps = link.capacity_Bps;
        host.note_estimate();
        host
    }

    /// Whether the state at `address` is the law's or its capacity part's.
    pub fn holds_state(&self, address: usize) -> bool {
        [self.law.state().address(), self.capacity_state.address()].contains(&address)
    }

    /// Whether the law looks at departures.
    #[inline]
    pub fn has_on_dequeue(&self) -> bool {
        self.law.law().has_on_dequeue()
    }

    /// When the next timer is due.
    pub fn next_due(&self) -> u64 {
        self.due_ns.into_iter().fold(u64::MAX, u64::min)
    }

    /// Runs the timers that are due at `queue.now_ns`, in order of their number.
    pub fn run_timers(&mut self, queue: QueueView, meter: Meter) {
        let queue_bytes_min = std::mem::replace(&mut self.queue_bytes_min, queue.bytes);
        for ran in &mut self.ran {
            ran.queue_bytes_min = ran.queue_bytes_min.min(queue_bytes_min);
        }
        for timer in 0..abi::TIMERS_MAX {
            if self.due_ns[timer] > queue.now_ns {
                continue;
            }
            if timer as u32 == self.law.law().control_timer() {
                self.close_interval(queue, meter, self.ran[timer].queue_bytes_min);
            }
            self.look(queue, false, 0);
            self.look_back(timer, queue, meter);
            self.queue.random = self.random.next_u64() as u32;
            let due_us = self.law.on_timer(timer as u32, &self.queue);
            // A law that asks for the past is run again at the next microsecond, not for ever at this one.
            self.due_ns[timer] = to_ns(due_us).max(queue.now_ns + NS_PER_US);
        }
        // With packets the law is shown none of this, and a random word only where it asks for it.
        self.queue.random = 0;
        (
            self.queue.arrived_pkts,
            self.queue.arrived_bytes,
            self.queue.queue_bytes_min,
        ) = (0, 0, 0);
    }

    /// Writes down what happened since the timer ran last.
    fn look_back(&mut self, timer: usize, queue: QueueView, meter: Meter) {
        let ran = &mut self.ran[timer];
        self.queue.arrived_pkts = meter.arrived_pkts - ran.arrived_pkts;
        self.queue.arrived_bytes = meter.arrived_bytes - ran.arrived_bytes;
        self.queue.queue_bytes_min = ran.queue_bytes_min;
        *ran = LastRun {
            arrived_pkts: meter.arrived_pkts,
            arrived_bytes: meter.arrived_bytes,
            queue_bytes_min: queue.bytes,
        };
    }

    fn close_interval(&mut self, queue: QueueView, meter: Meter, queue_bytes_min: u64) {
        let interval_ns = queue.now_ns - self.closed_ns;
        let busy_ns = (meter.busy_ns - self.closed.busy_ns).min(interval_ns);
        let interval = abi::Interval {
            now_us: queue.now_ns / NS_PER_US,
            interval_us: interval_ns / NS_PER_US,
            offered_bytes: meter.offered_bytes - self.closed.offered_bytes,
            sent_bytes: meter.sent_bytes - self.closed.sent_bytes,
            arrived_bytes: meter.arrived_bytes - self.closed.arrived_bytes,
            busy_us: busy_ns / NS_PER_US,
            idle_us: (interval_ns - busy_ns) / NS_PER_US,
            queue_bytes: queue.bytes,
            queue_bytes_min,
            limit_bytes: self.limit_bytes,
            configured_Bps: self.configured_bytes_per_s,
            ..abi::Interval::default()
        };
        let (state, params) = (&mut self.capacity_state, &self.capacity_params);
        self.capacity.estimate(state, params, &interval, &mut self.estimate);
        (self.closed_ns, self.closed) = (queue.now_ns, meter);
        self.note_estimate();
    }

    /// An arrival, before the limit of the queue is applied: `full` says what that will do.
    #[inline(always)]
    pub fn on_enqueue(
        &mut self,
        queue: QueueView,
        full: bool,
        id: PacketId,
        air_bytes: u32,
        store: &mut impl Store,
    ) -> Verdict {
        self.queue_bytes_min = self.queue_bytes_min.min(queue.bytes);
        if !self.law.law().has_on_enqueue() {
            return Verdict::default();
        }
        let passage = self.meet::<true, false>(queue, full, 0, id, air_bytes, store);
        Verdict {
            dropped: passage.dropped,
            marked: passage.marks > 0,
        }
    }

    /// A departure from the queue into the transmitter, after `waited_ns`.
    #[inline(always)]
    pub fn on_dequeue(
        &mut self,
        queue: QueueView,
        waited_ns: u64,
        id: PacketId,
        air_bytes: u32,
        store: &mut impl Store,
    ) -> Verdict {
        self.queue_bytes_min = self.queue_bytes_min.min(queue.bytes);
        let mut verdict = Verdict::default();
        if self.law.law().has_on_dequeue() {
            let passage = self.meet::<false, true>(queue, false, waited_ns, id, air_bytes, store);
            verdict.dropped = passage.dropped_late;
            verdict.marked = passage.marks > 0;
        }
        if !verdict.dropped {
            self.note_start(queue.now_ns, air_bytes);
        }
        verdict
    }

    /// An arrival at an empty queue that has room and, unless that is its end, its departure at the same instant.
    #[inline(always)]
    pub fn on_passage(&mut self, now_ns: u64, id: PacketId, air_bytes: u32, store: &mut impl Store) -> Passage {
        self.queue_bytes_min = 0;
        let empty = QueueView {
            now_ns,
            ..QueueView::default()
        };
        let passage = self.meet::<true, true>(empty, false, 0, id, air_bytes, store);
        if !passage.dropped {
            self.note_start(now_ns, air_bytes);
        }
        passage
    }

    /// A transmission begins.
    #[inline(always)]
    fn note_start(&mut self, now_ns: u64, air_bytes: u32) {
        self.last_start_ns = now_ns;
        self.queue.last_bytes = air_bytes;
    }

    /// The law meets a packet that arrives, leaves, or both.
    #[inline(always)]
    fn meet<const ARRIVES: bool, const LEAVES: bool>(
        &mut self,
        queue: QueueView,
        full: bool,
        waited_ns: u64,
        id: PacketId,
        air_bytes: u32,
        store: &mut impl Store,
    ) -> Passage {
        if !self.concerns(store.header(id)) {
            return Passage::default();
        }
        if !self.says(abi::ROUTER_BLIND) {
            self.look(queue, full, waited_ns);
            if ARRIVES {
                self.queue.last_start_us = self.last_start_ns / NS_PER_US;
            }
        }
        if self.says(abi::ROUTER_FEEDBACK) {
            self.meet_shown::<ARRIVES, LEAVES, true>(id, air_bytes, store)
        } else {
            self.meet_shown::<ARRIVES, LEAVES, false>(id, air_bytes, store)
        }
    }

    /// As [`Self::meet`]; `FEEDBACK`: the law is shown what the packet carries, which others make no room for.
    #[inline(always)]
    fn meet_shown<const ARRIVES: bool, const LEAVES: bool, const FEEDBACK: bool>(
        &mut self,
        id: PacketId,
        air_bytes: u32,
        store: &mut impl Store,
    ) -> Passage {
        let shown = self.show::<FEEDBACK>(id, air_bytes, store);
        let passage = self.call::<ARRIVES, LEAVES>();
        self.take_back(shown);
        passage
    }

    #[inline(always)]
    fn call<const ARRIVES: bool, const LEAVES: bool>(&mut self) -> Passage {
        let mut fate = Passage::default();
        if ARRIVES && self.law.law().has_on_enqueue() {
            let verdict = self.call_on_enqueue();
            if verdict.dropped {
                fate.dropped = true;
                return fate;
            }
            fate.marks = u64::from(verdict.marked);
        }
        if LEAVES && self.law.law().has_on_dequeue() {
            let verdict = self.call_on_dequeue();
            fate.dropped_late = verdict.dropped;
            fate.marks += u64::from(verdict.marked);
        }
        fate
    }

    #[inline(always)]
    fn call_on_enqueue(&mut self) -> Verdict {
        if self.says(abi::ROUTER_RANDOM) {
            self.draw();
        }
        let ecn = self.packet.ecn;
        let verdict = self.law.on_enqueue(&mut self.packet, &self.queue);
        self.verdict(verdict, ecn)
    }

    #[inline(always)]
    fn call_on_dequeue(&mut self) -> Verdict {
        if self.says(abi::ROUTER_RANDOM_AT_DEQUEUE) {
            self.draw();
        }
        let ecn = self.packet.ecn;
        let verdict = self.law.on_dequeue(&mut self.packet, &self.queue);
        self.verdict(verdict, ecn)
    }

    #[inline(always)]
    fn verdict(&self, verdict: u32, ecn_before: u8) -> Verdict {
        Verdict {
            dropped: verdict == abi::DROP,
            marked: self.packet.ecn != ecn_before,
        }
    }

    /// Writes down what the law is shown of a packet; `FEEDBACK`: its feedback, too.
    #[inline(always)]
    fn show<'a, const FEEDBACK: bool>(&mut self, id: PacketId, air_bytes: u32, store: &'a mut impl Store) -> Shown<'a> {
        let (header, feedback) = if FEEDBACK {
            store.header_and_feedback(id)
        } else {
            (store.header(id), None)
        };
        self.packet.show(header, air_bytes);
        if FEEDBACK {
            self.packet.feedback = feedback.as_deref().copied().unwrap_or_default();
        }
        Shown { header, feedback }
    }

    /// Takes over what the law changed of a packet.
    #[inline(always)]
    fn take_back(&self, shown: Shown) {
        // Whether it changed or not: to ask takes longer.
        (shown.header.ecn, shown.header.outer_ecn) = (self.packet.ecn, self.packet.outer_ecn);
        if let Some(feedback) = shown.feedback {
            *feedback = self.packet.feedback;
        }
    }

    /// Whether the law does anything with the packet.
    #[inline(always)]
    fn concerns(&self, header: &Header) -> bool {
        self.wire == abi::WIRE_NONE || (u32::from(header.wire) == self.wire && header.is_data())
    }

    /// Whether the law's table has a flag.
    #[inline(always)]
    fn says(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    /// Draws the random word of a call for a packet.
    #[inline(always)]
    fn draw(&mut self) {
        self.queue.random = (self.words.at(self.words_drawn) >> 32) as u32;
        self.words_drawn += 1;
    }

    /// Writes down what the law is told of its queue. The capacity part's estimate stands there since the last
    /// interval.
    #[inline(always)]
    fn look(&mut self, view: QueueView, full: bool, waited_ns: u64) {
        let queue = &mut self.queue;
        queue.now_us = view.now_ns / NS_PER_US;
        queue.queue_bytes = view.bytes;
        queue.queue_pkts = view.pkts;
        queue.full = u32::from(full);
        queue.wait_us = waited_ns / NS_PER_US;
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
