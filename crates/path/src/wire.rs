//! Wires: links at a constant rate, with one queue and no law, many at a time.
//!
//! Most links of a network are wires: access links that nobody studies, and a bottleneck with drop-tail. Nothing that
//! comes later changes when a packet leaves a wire, so [`Wires::arrive`] says at once when it will be at the far end.
//! Whoever drives the wires keeps the packet until then; a wire keeps only the times of those that wait, for its queue
//! has a length and a limit. A [`Node`](crate::node::Node) of the same spec hands over the same packets at the same
//! instants and counts the same: a test holds the two together.
//!
//! What wires have in common lies in a table of kinds, and their queues lie apart, so that a hop over an idle wire
//! touches a single cache line: with a hundred thousand flows, memory is what a hop costs.
//!
//! A wire may have a channel behind its transmitter: [`Wires::arrive_on_air`] says besides whether a packet is lost
//! there. Wires without one are not asked whether they have.

use std::collections::BTreeMap;
use std::sync::Arc;

use prefetch_index::prefetch_index;

use crate::air::{Air, Counted};
use crate::counters::LinkCounters;
use crate::histogram::Histogram;
use crate::queue::{BYTES, Broken, Limits, Waiting};
use crate::spec::{CapacitySpec, Crossing, LinkSpec};
use crate::transmitter::{CAPACITY, Instant, Rate, unsent_bytes};
use crate::violation::{Checked, violated};

mod air;
#[cfg(feature = "fault-injection")]
mod fault;
mod queue;

pub use air::OnAir;
use queue::{Place, Queue, add_queue};

/// Number of a kind of wires: same rate, same delay, same limits.
pub type KindId = usize;

/// Rate in bits per second, delay in ns, limits of the queue in packets and in bytes, and a word of the driver's.
type Facts = (u64, u64, u32, u64, u64);

/// What wires of a kind have in common.
#[derive(Debug)]
struct Kind {
    line: Line,
    /// Of the only wire of this kind, if it has a channel.
    air: Option<Box<Air>>,
    family: u64,
}

/// A transmitter and what is behind and before it.
#[derive(Debug)]
struct Line {
    rate: Rate,
    delay_ns: u64,
    limits: Limits,
    /// What packets that find the transmitter idle take, by the length of their size in bits: sizes rarely change.
    known: [Taken; 4],
}

/// What a packet takes that finds the transmitter idle. Computed, and checked against the rate, once for each size.
#[derive(Clone, Copy, Debug)]
struct Taken {
    /// On-air bytes.
    bytes: u32,
    /// Time in transmission, with 32 bits behind the point.
    q32: u32,
    ns: u64,
    /// Until it is at the far end.
    due_ns: u64,
}

/// What a hop touches of a wire: a cache line.
#[derive(Debug, Default)]
#[repr(C, align(64))]
struct Wire {
    /// When all that was taken is sent, with 32 bits behind the point.
    free_ns: u64,
    free_q32: u32,
    kind: u32,
    arrived_pkts: u64,
    /// The time since the transmitter last had nothing to do, and what of it was sent: no more than the rate allows.
    busy_start_ns: u64,
    arrived_bytes: u64,
    busy_bytes: u64,
    /// Bytes whose transmission began.
    sent_bytes: u64,
    /// What a new packet must not overtake: packets of the queue, and those that are on their way here.
    before_pkts: u32,
    /// Place of the queue and 1; 0 before the first packet has to wait.
    queue: u32,
}

/// The wires of a network, by the number of the link. See the module's documentation.
#[derive(Debug, Default)]
pub struct Wires {
    kinds: Vec<Kind>,
    known: BTreeMap<Facts, KindId>,
    hot: Vec<Wire>,
    queues: Vec<Queue>,
    names: Vec<Arc<str>>,
}

/// What a wire was told ahead of its time: packets that arrive after a certain instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ahead {
    /// Packets.
    pub pkts: u64,
    pub bytes: u64,
    /// Arrival and bytes of the last one before; zeros, if it is at the far end.
    pub last: (u64, u32),
}

/// When a packet that a wire took is at its far end. Two whole words: a field with padding behind it is written in part
/// and copied as a whole, for which the processor has to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The time.
    pub due_ns: u64,
    /// The wire's kind.
    pub kind: KindId,
}

impl Taken {
    /// Where the time of a packet of `bytes` stands, if it is known: ACKs apart from data, and small data from large.
    #[inline(always)]
    fn place(bytes: u32) -> usize {
        (bytes / 512) as usize % 4
    }

    #[cold]
    fn of(bytes: u32, rate: Rate, delay_ns: u64) -> Self {
        let end = rate.end(Instant::default(), bytes);
        Self {
            bytes,
            q32: end.q32,
            ns: end.ns,
            due_ns: end.ceil_ns() + delay_ns,
        }
    }
}

impl Wire {
    #[inline]
    fn is_idle(&self, now_ns: u64) -> bool {
        self.free_ns + u64::from(self.free_q32 != 0) <= now_ns
    }

    /// Whether a packet need not even look whether one is before it.
    #[inline]
    fn takes_at_once(&self, now_ns: u64) -> bool {
        self.before_pkts == 0 && self.is_idle(now_ns)
    }

    /// Straight into the transmitter: a busy period begins.
    #[inline(always)]
    fn pass(&mut self, line: &mut Line, now_ns: u64, bytes: u32) -> Result<Passage, Broken> {
        let known = &mut line.known[Taken::place(bytes)];
        if known.bytes != bytes {
            *known = Taken::of(bytes, line.rate, line.delay_ns);
            if !line.rate.can_send(0, known.due_ns - line.delay_ns, u64::from(bytes)) {
                return Err((CAPACITY, now_ns));
            }
        }
        Ok(self.pass_known(known, now_ns))
    }

    /// The same with a packet whose time is known.
    #[inline(always)]
    fn pass_known(&mut self, known: &Taken, now_ns: u64) -> Passage {
        let bytes = u64::from(known.bytes);
        self.arrived_pkts += 1;
        self.arrived_bytes += bytes;
        self.sent_bytes += bytes;
        (self.free_ns, self.free_q32) = (now_ns + known.ns, known.q32);
        (self.busy_start_ns, self.busy_bytes) = (now_ns, bytes);
        Passage {
            due_ns: now_ns + known.due_ns,
            kind: self.kind as KindId,
        }
    }

    /// Its queue, which it gets when it needs one.
    #[inline(always)]
    fn queue_of<'a>(&mut self, queues: &'a mut Vec<Queue>) -> &'a mut Queue {
        if self.queue == 0 {
            self.queue = add_queue(queues);
        }
        &mut queues[self.queue as usize - 1]
    }
}

impl Wires {
    /// Whether a link of this spec is a wire.
    pub fn is_wire(spec: &LinkSpec) -> bool {
        matches!(spec.capacity, CapacitySpec::Constant { .. })
            && spec.router.law.is_passive()
            && spec.crossing() == Crossing::Planned
    }

    /// Adds link number [`Self::len`] of a run under `seed`. One that is no wire only takes the number. Wires of
    /// different `family` are of different kinds.
    pub fn add(&mut self, spec: &LinkSpec, seed: u64, family: u64) {
        let rate_bps = match spec.capacity {
            CapacitySpec::Constant { rate_bps } if Self::is_wire(spec) => rate_bps,
            _ => {
                self.hot.push(Wire::default());
                return self.names.push(Arc::clone(&spec.name));
            }
        };
        let limits = Limits::of(spec.buffer);
        let line = || Line {
            rate: Rate::new(rate_bps),
            delay_ns: spec.delay_ns,
            limits,
            known: [Taken::of(0, Rate::new(rate_bps), spec.delay_ns); 4],
        };
        let facts = (rate_bps, spec.delay_ns, limits.pkts, limits.bytes, family);
        let air = Air::of(spec, seed).map(Box::new);
        let shared = self.known.get(&facts).copied().filter(|_| air.is_none());
        let kind = shared.unwrap_or_else(|| {
            if air.is_none() {
                self.known.insert(facts, self.kinds.len());
            }
            self.kinds.push(Kind {
                line: line(),
                air,
                family,
            });
            self.kinds.len() - 1
        });
        self.hot.push(Wire {
            kind: kind as u32,
            ..Wire::default()
        });
        self.names.push(Arc::clone(&spec.name));
    }

    /// Counts from now on how long packets wait at wire `index`, apart for so many classes.
    pub fn count_delays(&mut self, index: usize, classes: usize) {
        self.queue(index).waiting.count_delays(classes);
    }

    /// Forgets how long packets waited at wire `index` that had left its queue at the last snapshot.
    pub fn forget_delays(&mut self, index: usize) {
        self.queue(index).waiting.forget_delays();
    }

    /// How long packets waited that had left its queue at the last snapshot, by class, in ns. Those that did not wait
    /// are missing where there is one class.
    pub fn delays(&mut self, index: usize) -> Vec<Histogram> {
        self.queue(index).waiting.delays()
    }

    #[inline]
    fn queue(&mut self, index: usize) -> &mut Queue {
        self.hot[index].queue_of(&mut self.queues)
    }

    /// How many links were added.
    pub fn len(&self) -> usize {
        self.hot.len()
    }

    /// Whether none was.
    pub fn is_empty(&self) -> bool {
        self.hot.is_empty()
    }

    /// Propagation delay of each kind, in ns, and its family.
    pub fn kinds(&self) -> impl Iterator<Item = (u64, u64)> {
        self.kinds.iter().map(|kind| (kind.line.delay_ns, kind.family))
    }

    /// The kind of wire `index`.
    pub fn kind(&self, index: usize) -> KindId {
        self.hot[index].kind as KindId
    }

    /// How long a packet of `ip_bytes` or more is on a wire of `kind` at least, in ns.
    pub fn least_ns(&self, kind: KindId, ip_bytes: u32) -> u64 {
        let line = &self.kinds[kind].line;
        Taken::of(ip_bytes, line.rate, line.delay_ns).due_ns
    }

    /// The name of wire `index`.
    pub fn name(&self, index: usize) -> &str {
        &self.names[index]
    }

    /// Asks for the memory of wire `index`, which need not be one, before it is needed.
    #[inline]
    pub fn fetch(&self, index: usize) {
        prefetch_index(&self.hot, index);
    }

    /// When wire `index` has sent all that it took; 0 of what is no wire.
    #[inline]
    pub fn free_ns(&self, index: usize) -> u64 {
        self.hot[index].free_ns
    }

    /// Wire `index` takes a packet of `ip_bytes` that nothing holds up, as most are. `None`: nothing happened, and
    /// [`Self::arrive`] or [`Self::arrive_ahead`] has to see to it.
    #[inline(always)]
    pub fn pass_at_once(&mut self, index: usize, now_ns: u64, ip_bytes: u16) -> Option<Passage> {
        let (wire, bytes) = (&mut self.hot[index], u32::from(ip_bytes));
        let known = &self.kinds[wire.kind as usize].line.known[Taken::place(bytes)];
        let passes = wire.takes_at_once(now_ns) && known.bytes == bytes;
        passes.then(|| wire.pass_known(known, now_ns))
    }

    /// Wire `index` takes a packet of `ip_bytes` at `now_ns`, or drops it: `None`.
    ///
    /// # Errors
    /// An invariant of the wire is broken.
    #[inline(always)]
    pub fn arrive(&mut self, index: usize, now_ns: u64, ip_bytes: u16) -> Checked<Option<Passage>> {
        if self.hot[index].takes_at_once(now_ns) {
            self.pass(index, now_ns, u32::from(ip_bytes)).map(Some)
        } else {
            self.queue_up(index, now_ns, u32::from(ip_bytes))
        }
    }

    /// As [`Self::arrive`], before its time: the packet will come at `due_ns`, and whatever comes to this wire comes in
    /// the order of these calls. `None`: it would have to wait, which no snapshot before `due_ns` must see; it, and all
    /// behind it, have to [`Self::arrive_late`] then.
    ///
    /// # Errors
    /// An invariant of the wire is broken.
    #[inline(always)]
    pub fn arrive_ahead(&mut self, index: usize, due_ns: u64, ip_bytes: u16) -> Checked<Option<Passage>> {
        if self.hot[index].takes_at_once(due_ns) {
            return self.pass(index, due_ns, u32::from(ip_bytes)).map(Some);
        }
        self.hold_back(index);
        Ok(None)
    }

    /// A packet arrives that [`Self::arrive_ahead`] did not take.
    ///
    /// # Errors
    /// An invariant of the wire is broken.
    #[inline(never)]
    pub fn arrive_late(&mut self, index: usize, now_ns: u64, ip_bytes: u16) -> Checked<Option<Passage>> {
        self.hot[index].before_pkts -= 1;
        self.hot[index].queue_of(&mut self.queues).held_back_pkts -= 1;
        self.queue_up(index, now_ns, u32::from(ip_bytes))
    }

    #[inline(never)]
    fn hold_back(&mut self, index: usize) {
        let wire = &mut self.hot[index];
        wire.before_pkts += 1;
        wire.queue_of(&mut self.queues).held_back_pkts += 1;
    }

    #[inline(always)]
    fn pass(&mut self, index: usize, now_ns: u64, bytes: u32) -> Checked<Passage> {
        let wire = &mut self.hot[index];
        let passage = wire.pass(&mut self.kinds[wire.kind as usize].line, now_ns, bytes);
        self.checked(index, passage)
    }

    /// A packet comes to a wire that is busy, or was when it was last looked at.
    #[inline(always)]
    fn queue_up(&mut self, index: usize, now_ns: u64, bytes: u32) -> Checked<Option<Passage>> {
        let wire = &mut self.hot[index];
        let line = &mut self.kinds[wire.kind as usize].line;
        let queue = wire.queue_of(&mut self.queues);
        let passage = match queue.place(wire, line, now_ns, bytes) {
            Ok(Place::Transmitter) => wire.pass(line, now_ns, bytes).map(Some),
            Ok(Place::Queue) => queue.join(wire, line, now_ns, bytes, Counted::default()).map(Some),
            Ok(Place::None) => Ok(None),
            Err(broken) => Err(broken),
        };
        self.checked(index, passage)
    }

    /// Lets every packet whose transmission began by `now_ns` leave the queue.
    fn catch_up(&mut self, index: usize, now_ns: u64) -> Checked<()> {
        let wire = &mut self.hot[index];
        let Some(queue) = (wire.queue as usize).checked_sub(1) else {
            return Ok(());
        };
        let caught_up = self.queues[queue].catch_up(wire, &self.kinds[wire.kind as usize].line, now_ns);
        self.checked(index, caught_up)
    }

    /// Counters of wire `index` as they stand at `now_ns`. `ahead` is what has arrived ahead of its time.
    ///
    /// # Errors
    /// An invariant of the wire is broken.
    pub fn snapshot(&mut self, index: usize, now_ns: u64, ahead: Ahead) -> Checked<LinkCounters> {
        self.catch_up(index, now_ns)?;
        let wire = &self.hot[index];
        let queue = (wire.queue as usize).checked_sub(1).map(|queue| &self.queues[queue]);
        let rate = self.kinds[wire.kind as usize].line.rate;
        let mut counters = LinkCounters {
            arrived_pkts: wire.arrived_pkts - ahead.pkts,
            arrived_bytes: wire.arrived_bytes - ahead.bytes,
            sent_bytes: wire.sent_bytes - ahead.bytes,
            offered_bytes: rate.offered_bytes(now_ns),
            ..LinkCounters::default()
        };
        let mut gone_pkts = 0;
        if let Some(queue) = queue {
            gone_pkts = self.checked(index, queue.tell(now_ns, &mut counters))?;
            if wire.before_pkts != counters.queue_pkts + queue.held_back_pkts {
                return self.broken("packets are conserved at a node", index, now_ns);
            }
        }
        if counters.arrived_bytes != counters.sent_bytes + counters.dropped_bytes + counters.queue_bytes {
            return self.broken(BYTES, index, now_ns);
        }
        counters.sent_pkts = counters.arrived_pkts - gone_pkts;
        let last = self.last_begun(wire, queue, now_ns, ahead);
        if last.end_ns > now_ns {
            // Within a wire a packet counts as sent from its beginning on, in results when it was.
            counters.sent_bytes -= unsent_bytes(last.start_ns, last.end_ns, last.bytes, now_ns);
            counters.sent_pkts -= 1;
        }
        if let Some(air) = self.air_of(wire) {
            let waiting = queue
                .into_iter()
                .flat_map(|queue| queue.waiting.packets().map(|waiting| waiting.fate));
            air.tell(
                &mut counters,
                waiting.chain((last.end_ns > now_ns).then_some(last.fate)),
            );
        }
        Ok(counters)
    }

    /// The last transmission that began by `now_ns`. A busy period begins with a packet that did not wait, and nothing
    /// that comes ahead of its time waits.
    fn last_begun(&self, wire: &Wire, queue: Option<&Queue>, now_ns: u64, ahead: Ahead) -> Waiting<()> {
        let began_in_period = |last: &&Waiting<()>| last.end_ns > wire.busy_start_ns.min(now_ns);
        let left = queue.and_then(|queue| queue.waiting.last());
        if let Some(last) = left.filter(began_in_period) {
            return *last;
        }
        let (start_ns, bytes) = if ahead.pkts == 0 {
            (wire.busy_start_ns, wire.busy_bytes as u32)
        } else {
            ahead.last
        };
        let start = Instant { ns: start_ns, q32: 0 };
        Waiting {
            arrived_ns: start_ns,
            start_ns,
            end_ns: self.kinds[wire.kind as usize].line.rate.end(start, bytes).ceil_ns(),
            bytes,
            fate: self.air_of(wire).map_or(Counted::default(), |air| air.passed),
            more: (),
        }
    }

    /// Names the wire of what is broken.
    #[inline(always)]
    fn checked<T>(&self, index: usize, result: Result<T, Broken>) -> Checked<T> {
        result.or_else(|(invariant, at_ns)| self.broken(invariant, index, at_ns))
    }

    /// Off the hot path: says what the wire looked like.
    #[cold]
    #[inline(never)]
    fn broken<T>(&self, invariant: &'static str, index: usize, now_ns: u64) -> Checked<T> {
        let wire = &self.hot[index];
        let queue = (wire.queue as usize).checked_sub(1).map(|queue| &self.queues[queue]);
        let detail = format!("{wire:?}, {:?}, {queue:?}", self.kinds[wire.kind as usize]);
        violated(invariant, self.name(index), now_ns, detail)
    }
}
