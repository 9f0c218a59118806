//! What waits before a transmitter: its limit, how long things waited, what was dropped, and the queue itself where
//! departures are planned.

use crate::air::Counted;
use crate::counters::LinkCounters;
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

/// First in, first out.
#[derive(Debug)]
pub(crate) struct Fifo<X> {
    /// Start of the first that waits; `u64::MAX`: nobody does.
    start_ns_next: u64,
    bytes: u64,
    /// Oldest first.
    waiting: Ring<Waiting<X>>,
    waits: Waits,
}

impl<X: Copy + Default> Default for Fifo<X> {
    fn default() -> Self {
        Self {
            start_ns_next: u64::MAX,
            bytes: 0,
            waiting: Ring::default(),
            waits: Waits::default(),
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
        self.waiting.push(waiting);
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
        self.waits.add(first.start_ns - first.arrived_ns, first.bytes);
        self.waiting.remove_front();
        self.start_ns_next = self.waiting.front().map_or(u64::MAX, |next| next.start_ns);
        self.bytes -= u64::from(first.bytes);
        kept
    }

    /// Those that wait.
    pub fn packets(&self) -> impl Iterator<Item = &Waiting<X>> {
        self.waiting.iter_from(0)
    }

    /// Tells what waits at `now_ns`, and what has waited until then.
    ///
    /// # Errors
    /// The bytes that wait are not those that are counted.
    pub fn tell(&self, now_ns: u64, counters: &mut LinkCounters) -> Result<(), Broken> {
        let (mut waits, mut bytes) = (self.waits, 0);
        for waiting in self.waiting.iter_from(0) {
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
