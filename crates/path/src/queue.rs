//! What waits before a transmitter: its limit, how long things waited, what was dropped, and the queue itself where
//! departures are planned.

use crate::air::Counted;
use crate::counters::LinkCounters;
use crate::delays::Delays;
use crate::histogram::Histogram;
use crate::ring::Ring;
use crate::spec::Buffer;

/// An invariant that is broken, and since when.
pub(crate) type Broken = (&'static str, u64);

pub(crate) const LIMIT: &str = "a queue stays within its limit";
pub(crate) const BYTES: &str = "bytes are conserved at a node";

/// How much may wait, the packet in transmission excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    pub bytes: u64,
    pub pkts: u32,
}

impl Limits {
    pub fn of(buffer: Buffer) -> Self {
        Self {
            bytes: buffer.bytes.unwrap_or(u64::MAX),
            pkts: buffer.packets.unwrap_or(u32::MAX),
        }
    }

    /// Whether a packet of `more_bytes` may join so many that wait.
    #[inline(always)]
    pub fn admit(&self, pkts: u32, bytes: u64, more_bytes: u32) -> bool {
        pkts < self.pkts && bytes + u64::from(more_bytes) <= self.bytes
    }

    /// Whether so many may wait.
    #[inline(always)]
    pub fn hold(&self, pkts: u32, bytes: u64) -> bool {
        pkts <= self.pkts && bytes <= self.bytes
    }
}

/// Integrals over time of the bytes and of the packets that waited.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waits {
    byte_ns: u128,
    pkt_ns: u128,
}

impl Waits {
    /// A packet waited, or has so far.
    #[inline(always)]
    pub fn add(&mut self, waited_ns: u64, bytes: u32) {
        self.byte_ns += u128::from(waited_ns) * u128::from(bytes);
        self.pkt_ns += u128::from(waited_ns);
    }

    pub fn tell(&self, counters: &mut LinkCounters) {
        (counters.queue_byte_ns, counters.queue_pkt_ns) = (self.byte_ns, self.pkt_ns);
    }
}

/// Waits of packets of one size, so that few products are needed: sizes seldom change.
#[derive(Default)]
struct Alike {
    waited_ns: u64,
    bytes: u32,
}

impl Alike {
    /// Adds a wait. What came before is added to `waits` if it was of another size.
    #[inline(always)]
    fn add(&mut self, waited_ns: u64, bytes: u32, waits: &mut Waits) {
        if bytes != self.bytes {
            self.close(waits);
            self.bytes = bytes;
        }
        self.waited_ns += waited_ns;
    }

    fn close(&mut self, waits: &mut Waits) {
        waits.add(std::mem::take(&mut self.waited_ns), self.bytes);
    }
}

/// What was dropped: by the law, or for want of room.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Drops {
    full_pkts: u64,
    law_pkts: u64,
    pub bytes: u64,
}

impl Drops {
    pub fn add(&mut self, bytes: u32, by_law: bool) {
        self.full_pkts += u64::from(!by_law);
        self.law_pkts += u64::from(by_law);
        self.bytes += u64::from(bytes);
    }

    pub fn pkts(&self) -> u64 {
        self.full_pkts + self.law_pkts
    }

    pub fn tell(&self, counters: &mut LinkCounters) {
        counters.dropped_full_pkts = self.full_pkts;
        counters.dropped_law_pkts = self.law_pkts;
        counters.dropped_bytes = self.bytes;
    }
}

/// A packet that waits for a transmission whose time is known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waiting<X> {
    pub arrived_ns: u64,
    pub start_ns: u64,
    pub end_ns: u64,
    /// On-air bytes.
    pub bytes: u32,
    /// On a link with a channel, or with a law.
    pub fate: Counted,
    /// What else its link has to know of it.
    pub more: X,
}

impl<X> Waiting<X> {
    #[inline(always)]
    fn waited_ns(&self) -> u64 {
        self.start_ns - self.arrived_ns
    }
}

/// First in, first out.
#[derive(Debug)]
pub(crate) struct Fifo<X> {
    /// Start of the first that waits; `u64::MAX`: nobody does.
    start_ns_next: u64,
    bytes: u64,
    /// Oldest first.
    waiting: Ring<Waiting<X>>,
    waits: Waits,
    delays: Delays,
}

impl<X: Copy + Default> Default for Fifo<X> {
    fn default() -> Self {
        Self {
            start_ns_next: u64::MAX,
            bytes: 0,
            waiting: Ring::default(),
            waits: Waits::default(),
            delays: Delays::default(),
        }
    }
}

impl<X: Copy + Default> Fifo<X> {
    #[inline(always)]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    #[inline(always)]
    pub fn pkts(&self) -> u32 {
        self.waiting.len() as u32
    }

    /// Whether the transmission of the first that waits began by `now_ns`.
    #[inline(always)]
    pub fn has_begun(&self, now_ns: u64) -> bool {
        self.start_ns_next <= now_ns
    }

    #[inline(always)]
    pub fn push(&mut self, waiting: Waiting<X>) {
        self.start_ns_next = self.start_ns_next.min(waiting.start_ns);
        self.bytes += u64::from(waiting.bytes);
        if self.waiting.is_full() {
            self.make_room();
        }
        self.waiting.push(waiting);
    }

    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        self.count_waits();
        self.waiting.make_room();
    }

    /// Counts the waits of those that left since this was done last. Many at a time: one by one they would take from
    /// the way of each packet the registers that it needs.
    fn count_waits(&mut self) {
        let mut alike = Alike::default();
        for piece in self.waiting.left() {
            let waited = piece.iter().map(|left| {
                let waited_ns = left.waited_ns();
                alike.add(waited_ns, left.bytes, &mut self.waits);
                (waited_ns, left.fate.class)
            });
            self.delays.add_all(waited);
        }
        alike.close(&mut self.waits);
        self.waiting.forget_left();
    }

    /// Who leaves next.
    #[inline(always)]
    pub fn first(&self) -> Option<&Waiting<X>> {
        self.waiting.front()
    }

    /// The first leaves, whose transmission has begun. Returns whether the queue kept within its limit until then.
    #[inline(always)]
    pub fn leave(&mut self, first: &Waiting<X>, limits: &Limits) -> bool {
        let kept = limits.hold(self.pkts(), self.bytes);
        self.waiting.remove_front();
        self.start_ns_next = self.waiting.front().map_or(u64::MAX, |next| next.start_ns);
        self.bytes -= u64::from(first.bytes);
        kept
    }

    /// Counts how long packets wait from now on, apart for so many classes.
    pub fn count_delays(&mut self, classes: usize) {
        self.delays.begin(classes);
    }

    /// A packet of this class went on without a wait.
    pub fn pass(&mut self, class: u8) {
        self.delays.pass(class);
    }

    /// How many have ever joined.
    pub fn queued(&self) -> usize {
        self.waiting.pushed()
    }

    /// The last packet that was taken is of this class. It joined if there were `queued` before it and are more now.
    pub fn tell_class(&mut self, queued: usize, class: u8) {
        if self.queued() == queued {
            self.pass(class);
        } else if let Some(newest) = self.waiting.newest() {
            newest.fate.class = class;
        }
    }

    /// Forgets how long those waited that have left.
    pub fn forget_delays(&mut self) {
        self.count_waits();
        self.delays.forget();
    }

    /// How long those waited that have left, by class.
    pub fn delays(&mut self) -> Vec<Histogram> {
        self.count_waits();
        self.delays.histograms()
    }

    /// The last one that left.
    #[inline]
    pub fn last(&self) -> Option<&Waiting<X>> {
        self.waiting.last_left()
    }

    /// Those that wait.
    pub fn packets(&self) -> impl Iterator<Item = &Waiting<X>> {
        self.waiting.iter()
    }

    /// Tells what waits at `now_ns`, and what has waited until then.
    ///
    /// # Errors
    /// The bytes that wait are not those that are counted.
    pub fn tell(&self, now_ns: u64, counters: &mut LinkCounters) -> Result<(), Broken> {
        let (mut waits, mut bytes) = (self.waits, 0);
        for left in self.waiting.left().into_iter().flatten() {
            waits.add(left.waited_ns(), left.bytes);
        }
        for waiting in self.waiting.iter() {
            waits.add(now_ns - waiting.arrived_ns, waiting.bytes);
            bytes += u64::from(waiting.bytes);
        }
        waits.tell(counters);
        (counters.queue_bytes, counters.queue_pkts) = (self.bytes, self.pkts());
        if bytes == self.bytes {
            Ok(())
        } else {
            Err((BYTES, now_ns))
        }
    }

    /// Loses a byte from the count of what waits.
    #[cfg(feature = "fault-injection")]
    pub fn lose_byte(&mut self) {
        self.bytes -= 1;
    }
}
