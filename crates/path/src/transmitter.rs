//! When a transmitter takes a packet and when it is done with it, and the capacity that no link may exceed.

use std::fmt::Debug;
use std::sync::Arc;

use crate::rates::Rates;
use crate::trace::Trace;

/// What serves packets in order. Times are decided when a packet is handed over: nothing overtakes on a FIFO link.
pub(crate) trait Transmit: Debug {
    /// Where in its capacity a transmission began, where its time does not say that.
    type Place: Copy + Debug + Default;

    /// Bytes that each packet has here beside its own.
    fn header_bytes(&self) -> u32;

    /// Whether a packet that comes at `now_ns` is sent at once: all that came before began by then.
    fn is_free(&self, now_ns: u64) -> bool;

    /// When [`Self::serve`] would begin with a packet that is ready at `ready_ns`.
    fn next_start(&self, ready_ns: u64) -> u64;

    /// The latest instant at which a packet may have come that is sent at `start_ns`: what waits at an opportunity has
    /// been there as long as its rules demand.
    fn ready_for(&self, start_ns: u64) -> u64;

    /// Takes a packet that is ready at `ready_ns`, after all that were taken before.
    fn serve(&mut self, ready_ns: u64, bytes: u32) -> Served<Self::Place>;

    /// Whether `bytes` can be sent in the busy period from `start_ns` to `end_ns`. Computed from the rate or the
    /// trace itself, not from the times that [`Self::serve`] gave: it is there to check them.
    fn can_send(&self, start_ns: u64, end_ns: u64, bytes: u64) -> bool;

    /// Bytes of a transmission that are still to come at `now_ns`: of a trace, those of opportunities to come; at a
    /// constant rate, in proportion to the time, rounded up.
    fn unsent_bytes(&self, served: Served<Self::Place>, bytes: u32, now_ns: u64) -> u64;

    /// On-air bytes that could have been sent until `now_ns`.
    fn offered_bytes(&self, now_ns: u64) -> u64;
}

/// A constant rate, and when it is free.
#[derive(Debug)]
pub(crate) struct ConstantRate {
    rate: Rate,
    free: Instant,
}

/// So many bits a second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    rate_bps: u64,
    ns_per_byte_q32: u64,
}

/// A time to 2^-32 ns, so that small packets on fast links do not round away capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Instant {
    pub ns: u64,
    pub q32: u32,
}

/// A rate that changes, and what of its work is taken.
#[derive(Debug)]
pub(crate) struct ChangingRate {
    rates: Arc<Rates>,
    taken: u128,
}

/// A position, in bytes, in the sequence of delivery opportunities.
#[derive(Debug)]
pub(crate) struct TraceRate {
    trace: Arc<Trace>,
    position: u64,
}

/// First and last instant of a transmission, and its place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Served<P> {
    pub start_ns: u64,
    pub end_ns: u64,
    pub place: P,
}

/// See [`Transmit::unsent_bytes`], at a constant rate.
pub(crate) fn unsent_bytes(start_ns: u64, end_ns: u64, bytes: u32, now_ns: u64) -> u64 {
    if end_ns <= now_ns {
        return 0;
    }
    let unsent = u128::from(bytes) * u128::from(end_ns - now_ns);
    unsent.div_ceil(u128::from(end_ns - start_ns)) as u64
}

impl Instant {
    /// The first whole nanosecond that is not before it.
    #[inline]
    pub fn ceil_ns(self) -> u64 {
        self.ns + u64::from(self.q32 != 0)
    }
}

impl Rate {
    pub fn new(rate_bps: u64) -> Self {
        Self {
            rate_bps,
            // Rounded up: the link must never be faster than it says.
            ns_per_byte_q32: ((8_000_000_000u128 << 32).div_ceil(u128::from(rate_bps))) as u64,
        }
    }

    /// When a transmission of `bytes` that begins at `start` is over.
    #[inline]
    pub fn end(self, start: Instant, bytes: u32) -> Instant {
        let took = u128::from(bytes) * u128::from(self.ns_per_byte_q32) + u128::from(start.q32);
        Instant {
            ns: start.ns + (took >> 32) as u64,
            q32: took as u32,
        }
    }

    /// See [`Transmit::can_send`].
    #[inline]
    pub fn can_send(self, start_ns: u64, end_ns: u64, bytes: u64) -> bool {
        u128::from(bytes) * 8_000_000_000 <= u128::from(end_ns - start_ns) * u128::from(self.rate_bps)
    }

    /// See [`Transmit::offered_bytes`].
    pub fn offered_bytes(self, now_ns: u64) -> u64 {
        (u128::from(now_ns) * u128::from(self.rate_bps) / 8_000_000_000) as u64
    }
}

impl ConstantRate {
    pub fn new(rate_bps: u64) -> Self {
        Self {
            rate: Rate::new(rate_bps),
            free: Instant::default(),
        }
    }
}

impl Transmit for ConstantRate {
    type Place = ();

    #[inline(always)]
    fn header_bytes(&self) -> u32 {
        0
    }

    #[inline(always)]
    fn is_free(&self, now_ns: u64) -> bool {
        self.free.ns <= now_ns
    }

    fn next_start(&self, ready_ns: u64) -> u64 {
        self.free.ns.max(ready_ns)
    }

    fn ready_for(&self, start_ns: u64) -> u64 {
        start_ns
    }

    #[inline(always)]
    fn serve(&mut self, ready_ns: u64, bytes: u32) -> Served<()> {
        if ready_ns > self.free.ns {
            self.free = Instant { ns: ready_ns, q32: 0 };
        }
        let start_ns = self.free.ns;
        self.free = self.rate.end(self.free, bytes);
        Served {
            start_ns,
            end_ns: self.free.ceil_ns(),
            place: (),
        }
    }

    #[inline(always)]
    fn can_send(&self, start_ns: u64, end_ns: u64, bytes: u64) -> bool {
        self.rate.can_send(start_ns, end_ns, bytes)
    }

    fn unsent_bytes(&self, served: Served<()>, bytes: u32, now_ns: u64) -> u64 {
        unsent_bytes(served.start_ns, served.end_ns, bytes, now_ns)
    }

    fn offered_bytes(&self, now_ns: u64) -> u64 {
        self.rate.offered_bytes(now_ns)
    }
}

impl ChangingRate {
    pub fn new(rates: &Arc<Rates>) -> Self {
        Self {
            rates: Arc::clone(rates),
            taken: 0,
        }
    }

    /// The first nanosecond at which so much can have been sent.
    fn end_ns(&self, work: u128) -> u64 {
        let before_ns = self.rates.time_ns(work);
        before_ns + u64::from(self.rates.work(before_ns) < work)
    }
}

impl Transmit for ChangingRate {
    /// The work before it.
    type Place = u128;

    fn header_bytes(&self) -> u32 {
        0
    }

    fn is_free(&self, now_ns: u64) -> bool {
        self.rates.time_ns(self.taken) <= now_ns
    }

    fn next_start(&self, ready_ns: u64) -> u64 {
        self.rates.time_ns(self.taken).max(ready_ns)
    }

    fn ready_for(&self, start_ns: u64) -> u64 {
        start_ns
    }

    fn serve(&mut self, ready_ns: u64, bytes: u32) -> Served<u128> {
        // What could have been sent while nobody waited is lost.
        let place = self.taken.max(self.rates.work(ready_ns));
        let start_ns = self.rates.time_ns(place);
        self.taken = place + Rates::work_of(bytes.into());
        Served {
            start_ns,
            end_ns: self.end_ns(self.taken),
            place,
        }
    }

    fn can_send(&self, start_ns: u64, end_ns: u64, bytes: u64) -> bool {
        Rates::work_of(bytes) <= self.rates.work(end_ns) - self.rates.work(start_ns)
    }

    fn unsent_bytes(&self, served: Served<u128>, bytes: u32, now_ns: u64) -> u64 {
        let all = Rates::work_of(bytes.into());
        let unsent = (served.place + all).saturating_sub(self.rates.work(now_ns));
        // Rounded up, as what is not sent whole is not sent.
        Rates::bytes_of(unsent.min(all) + Rates::work_of(1) - 1)
    }

    fn offered_bytes(&self, now_ns: u64) -> u64 {
        self.rates.offered_bytes(now_ns)
    }
}

impl TraceRate {
    pub fn new(trace: &Arc<Trace>) -> Self {
        Self {
            trace: Arc::clone(trace),
            position: 0,
        }
    }

    fn bytes_each(&self) -> u64 {
        u64::from(self.trace.opportunity_bytes)
    }

    /// Where a packet that is ready at `ready_ns` begins. Opportunities that came while nobody was waiting are lost, so
    /// is the rest of a partly used one.
    fn next_position(&self, ready_ns: u64) -> u64 {
        let each = self.bytes_each();
        let from_ns = ready_ns + self.trace.rules.notice_ns();
        if self.trace.time_ns(self.position / each) < from_ns {
            self.trace.index_from(from_ns) * each
        } else {
            self.position
        }
    }
}

impl Transmit for TraceRate {
    /// The first byte in the sequence of opportunities.
    type Place = u64;

    fn header_bytes(&self) -> u32 {
        self.trace.rules.header_bytes()
    }

    fn is_free(&self, now_ns: u64) -> bool {
        self.next_start(now_ns) <= now_ns
    }

    fn next_start(&self, ready_ns: u64) -> u64 {
        self.trace.time_ns(self.next_position(ready_ns) / self.bytes_each())
    }

    fn ready_for(&self, start_ns: u64) -> u64 {
        start_ns.saturating_sub(self.trace.rules.notice_ns())
    }

    fn serve(&mut self, ready_ns: u64, bytes: u32) -> Served<u64> {
        let each = self.bytes_each();
        let from = self.next_position(ready_ns);
        self.position = from + u64::from(bytes);
        let (first, last) = (from / each, (self.position - 1) / each);
        Served {
            start_ns: self.trace.time_ns(first),
            end_ns: self.trace.time_ns(last),
            place: from,
        }
    }

    fn can_send(&self, start_ns: u64, end_ns: u64, bytes: u64) -> bool {
        let before = self.trace.index_from(start_ns) * self.bytes_each();
        bytes <= self.trace.offered_bytes(end_ns) - before
    }

    fn unsent_bytes(&self, served: Served<u64>, bytes: u32, now_ns: u64) -> u64 {
        let last = served.place + u64::from(bytes);
        last.saturating_sub(self.trace.offered_bytes(now_ns))
            .min(u64::from(bytes))
    }

    fn offered_bytes(&self, now_ns: u64) -> u64 {
        self.trace.offered_bytes(now_ns)
    }
}

/// The time since the transmitter last had nothing to do: over it, no more may be sent than its capacity.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BusyPeriod {
    pub start_ns: u64,
    pub end_ns: u64,
    pub bytes: u64,
}

pub(crate) const CAPACITY: &str = "a link never exceeds its capacity";

impl BusyPeriod {
    /// Adds a transmission.
    #[inline(always)]
    pub fn add(&mut self, start_ns: u64, end_ns: u64, bytes: u32) {
        if start_ns > self.end_ns {
            *self = Self {
                start_ns,
                end_ns: start_ns,
                bytes: 0,
            };
        }
        self.end_ns = end_ns;
        self.bytes += u64::from(bytes);
    }
}
