//! A wire with a law at its queue.
//!
//! A law changes nothing of what makes a wire one: a packet that it lets in leaves at a time that is known, so it is
//! handed over at once. The law is shown arrivals as they come; departures that are due, in their order, before
//! anything else touches the wire and before anybody looks at a packet that was handed over ([`LawWire::settle`]). Only
//! its timers are events of their own. A [`Link`](crate::link::Link) of the same spec does the same: a test holds the
//! two together. There are few of them and they are busy, so each has all its own in one place.

use std::sync::Arc;

use super::air::{OnAir, WireAir};
use super::{BYTES, CAPACITY, LIMIT};
use crate::air::Fate;
use crate::counters::LinkCounters;
use crate::packet::{PacketId, Parcel, Store};
use crate::ring::Ring;
use crate::router::{LawHost, Meter, QueueView};
use crate::spec::{CapacitySpec, LinkSpec};
use crate::transmitter::{Instant, Rate};
use crate::violation::{Checked, violated};

/// A packet that waits for its transmission.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    arrived_ns: u64,
    start_ns: u64,
    end_ns: u64,
    /// On-air bytes.
    bytes: u32,
    id: PacketId,
    /// On a wire with a channel.
    fate: Fate,
}

/// See the module's documentation. Fields that every packet touches stand first.
#[derive(Debug)]
#[repr(C)]
pub struct LawWire {
    /// Start of the first that waits; `u64::MAX`: nobody does.
    start_ns_next: u64,
    /// When all that was taken is sent.
    free: Instant,
    rate: Rate,
    delay_ns: u64,
    limit_bytes: u64,
    queue_bytes: u64,
    limit_pkts: u32,
    /// Bytes of the last transmission that began.
    last_bytes: u32,
    arrived_pkts: u64,
    last_start_ns: u64,
    arrived_bytes: u64,
    last_end_ns: u64,
    /// Bytes whose transmission began, and the time that takes.
    sent_bytes: u64,
    busy_ns: u64,
    /// The time since the transmitter last had nothing to do, and what of it was sent: no more than the rate allows.
    period_start_ns: u64,
    period_bytes: u64,
    /// Oldest first.
    waiting: Ring<Waiting>,
    marked_pkts: u64,
    dropped_full_pkts: u64,
    dropped_law_pkts: u64,
    dropped_bytes: u64,
    byte_ns: u128,
    pkt_ns: u128,
    law: LawHost,
    /// Fate of the last packet whose transmission began, on a wire with a channel.
    last_fate: Fate,
    /// Whether the law marked that packet.
    last_is_marked: bool,
    air: Option<Box<WireAir>>,
    name: Arc<str>,
}

impl LawWire {
    /// The wire of this spec, unless it has no law or is no wire. `packet_bytes` is the IP size of a full data packet,
    /// for laws that scale with it.
    pub fn of(spec: &LinkSpec, seed: u64, packet_bytes: u32) -> Option<Self> {
        let CapacitySpec::Constant { rate_bps } = spec.capacity else {
            return None;
        };
        if spec.goes_step_by_step() {
            return None;
        }
        Some(Self {
            start_ns_next: u64::MAX,
            free: Instant::default(),
            rate: Rate::new(rate_bps),
            delay_ns: spec.delay_ns,
            limit_bytes: spec.buffer.bytes.unwrap_or(u64::MAX),
            queue_bytes: 0,
            limit_pkts: spec.buffer.packets.unwrap_or(u32::MAX),
            last_bytes: 0,
            last_start_ns: 0,
            last_end_ns: 0,
            arrived_pkts: 0,
            arrived_bytes: 0,
            sent_bytes: 0,
            busy_ns: 0,
            period_start_ns: 0,
            period_bytes: 0,
            waiting: Ring::default(),
            marked_pkts: 0,
            dropped_full_pkts: 0,
            dropped_law_pkts: 0,
            dropped_bytes: 0,
            byte_ns: 0,
            pkt_ns: 0,
            law: *LawHost::of(spec, seed, packet_bytes, "")?,
            last_fate: Fate::default(),
            last_is_marked: false,
            air: WireAir::of(spec, seed).map(Box::new),
            name: Arc::clone(&spec.name),
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the law looks at departures, so that packets have to be settled before they are looked at.
    pub fn sees_departures(&self) -> bool {
        self.law.has_on_dequeue()
    }

    /// Whether there is a channel behind the transmitter.
    pub fn is_on_air(&self) -> bool {
        self.air.is_some()
    }

    /// Whether the state at `address` belongs to the law or to its capacity part.
    pub fn holds_state(&self, address: usize) -> bool {
        self.law.holds_state(address)
    }

    /// When the law wants its timers run; `u64::MAX`: never.
    pub fn next_due(&self) -> u64 {
        self.law.next_due()
    }

    /// Takes a packet at `now_ns` and returns when it is at the far end; `None`: it is dropped.
    ///
    /// # Errors
    /// An invariant of the wire is broken.
    #[inline(always)]
    pub fn arrive(&mut self, now_ns: u64, mut parcel: Parcel, store: &mut impl Store) -> Checked<Option<u64>> {
        self.take(now_ns, &mut parcel, None, store)
    }

    /// As [`Self::arrive`], at a wire with a channel.
    ///
    /// # Errors
    /// An invariant of the wire is broken.
    #[inline(always)]
    pub fn arrive_on_air(
        &mut self,
        now_ns: u64,
        parcel: &mut Parcel,
        on_air: OnAir,
        store: &mut impl Store,
    ) -> Checked<Option<u64>> {
        self.take(now_ns, parcel, Some(on_air), store)
    }

    #[inline(always)]
    fn take(
        &mut self,
        now_ns: u64,
        parcel: &mut Parcel,
        on_air: Option<OnAir>,
        store: &mut impl Store,
    ) -> Checked<Option<u64>> {
        let bytes = match (on_air, &mut self.air) {
            (Some(on_air), Some(air)) => air.make_ready(on_air.kind, parcel.ip_bytes()),
            _ => u32::from(parcel.ip_bytes()),
        };
        self.arrived_pkts += 1;
        self.arrived_bytes += u64::from(bytes);
        if self.free.ns > now_ns {
            return match on_air {
                None => self.queue_up(now_ns, *parcel, store),
                Some(_) => self.join(now_ns, parcel, bytes, on_air, store),
            };
        }
        // All that came before begins by now, so it is sent as it comes.
        self.settle(now_ns, store)?;
        if u64::from(bytes) > self.limit_bytes {
            self.refuse(now_ns, parcel.id(), bytes, store);
            return Ok(None);
        }
        let fate = self.law.on_passage(now_ns, parcel.id(), bytes, store);
        if fate.dropped {
            self.count_drop(bytes, false);
            return Ok(None);
        }
        if now_ns > self.free.ns {
            self.free = Instant { ns: now_ns, q32: 0 };
            (self.period_start_ns, self.period_bytes) = (now_ns, 0);
        }
        if on_air.is_some() {
            self.last_fate = self.decide(now_ns, parcel, on_air);
        }
        let end = self.rate.end(self.free, bytes);
        self.free = end;
        self.begin(now_ns, end.ceil_ns(), bytes, fate.marks > 0);
        if fate.dropped_late {
            return self.broken(AT_DEQUEUE, now_ns);
        }
        Ok(Some(end.ceil_ns() + self.delay_ns))
    }

    /// A packet for which there is no room. The law sees it come.
    #[cold]
    fn refuse(&mut self, now_ns: u64, id: PacketId, bytes: u32, store: &mut impl Store) {
        self.law.on_enqueue(self.view(now_ns), true, id, bytes, store);
        self.count_drop(bytes, true);
    }

    /// The fate of a packet whose transmission begins at `start_ns`.
    #[inline(always)]
    fn decide(&mut self, start_ns: u64, parcel: &mut Parcel, on_air: Option<OnAir>) -> Fate {
        match (on_air, &mut self.air) {
            (Some(on_air), Some(air)) => air.decide(start_ns, parcel, on_air),
            _ => Fate::default(),
        }
    }

    /// A packet comes while others are sent.
    #[inline(never)]
    fn queue_up(&mut self, now_ns: u64, mut parcel: Parcel, store: &mut impl Store) -> Checked<Option<u64>> {
        let bytes = u32::from(parcel.ip_bytes());
        self.join(now_ns, &mut parcel, bytes, None, store)
    }

    #[inline(always)]
    fn join(
        &mut self,
        now_ns: u64,
        parcel: &mut Parcel,
        bytes: u32,
        on_air: Option<OnAir>,
        store: &mut impl Store,
    ) -> Checked<Option<u64>> {
        self.begin_until(now_ns, store)?;
        let full =
            self.waiting.len() >= self.limit_pkts as usize || self.queue_bytes + u64::from(bytes) > self.limit_bytes;
        if full {
            self.refuse(now_ns, parcel.id(), bytes, store);
            return Ok(None);
        }
        let verdict = self.law.on_enqueue(self.view(now_ns), false, parcel.id(), bytes, store);
        if verdict.dropped {
            self.count_drop(bytes, false);
            return Ok(None);
        }
        let start_ns = self.free.ns;
        self.free = self.rate.end(self.free, bytes);
        let end_ns = self.free.ceil_ns();
        let fate = Fate {
            is_marked: verdict.marked,
            ..self.decide(start_ns, parcel, on_air)
        };
        self.waiting.push(Waiting {
            arrived_ns: now_ns,
            start_ns,
            end_ns,
            bytes,
            id: parcel.id(),
            fate,
        });
        self.start_ns_next = self.start_ns_next.min(start_ns);
        self.queue_bytes += u64::from(bytes);
        if self.arrived_bytes != self.sent_bytes + self.dropped_bytes + self.queue_bytes {
            return self.broken(BYTES, now_ns);
        }
        Ok(Some(end_ns + self.delay_ns))
    }

    /// Lets every packet whose transmission began by `now_ns` leave the queue, and shows it to the law. To be called
    /// before a packet that the wire handed over is looked at.
    ///
    /// # Errors
    /// An invariant of the wire is broken.
    #[inline(always)]
    pub fn settle(&mut self, now_ns: u64, store: &mut impl Store) -> Checked<()> {
        if self.start_ns_next <= now_ns {
            self.start_until(now_ns, store)
        } else {
            Ok(())
        }
    }

    #[inline(never)]
    fn start_until(&mut self, now_ns: u64, store: &mut impl Store) -> Checked<()> {
        self.begin_until(now_ns, store)
    }

    /// Inlined where packets come while others are sent: nearly always one of these has begun in the meantime.
    #[inline(always)]
    fn begin_until(&mut self, now_ns: u64, store: &mut impl Store) -> Checked<()> {
        while self.start_ns_next <= now_ns
            && let Some(&first) = self.waiting.front()
        {
            if self.waiting.len() > self.limit_pkts as usize || self.queue_bytes > self.limit_bytes {
                return self.broken(LIMIT, first.start_ns);
            }
            let waited_ns = first.start_ns - first.arrived_ns;
            self.byte_ns += u128::from(waited_ns) * u128::from(first.bytes);
            self.pkt_ns += u128::from(waited_ns);
            self.waiting.remove_front();
            self.start_ns_next = self.waiting.front().map_or(u64::MAX, |next| next.start_ns);
            self.queue_bytes -= u64::from(first.bytes);
            let view = self.view(first.start_ns);
            let verdict = self.law.on_dequeue(view, waited_ns, first.id, first.bytes, store);
            if self.air.is_some() {
                self.last_fate = first.fate;
            }
            let is_marked = first.fate.is_marked | verdict.marked;
            self.begin(first.start_ns, first.end_ns, first.bytes, is_marked);
            if verdict.dropped {
                return self.broken(AT_DEQUEUE, first.start_ns);
            }
            if !self
                .rate
                .can_send(self.period_start_ns, first.end_ns, self.period_bytes)
            {
                return self.broken(CAPACITY, first.start_ns);
            }
        }
        Ok(())
    }

    /// A transmission begins.
    #[inline(always)]
    fn begin(&mut self, start_ns: u64, end_ns: u64, bytes: u32, is_marked: bool) {
        (self.last_start_ns, self.last_end_ns, self.last_bytes) = (start_ns, end_ns, bytes);
        self.last_is_marked = is_marked;
        self.marked_pkts += u64::from(is_marked);
        self.sent_bytes += u64::from(bytes);
        self.period_bytes += u64::from(bytes);
        self.busy_ns += end_ns - start_ns;
    }

    #[cold]
    fn count_drop(&mut self, bytes: u32, full: bool) {
        self.dropped_full_pkts += u64::from(full);
        self.dropped_law_pkts += u64::from(!full);
        self.dropped_bytes += u64::from(bytes);
    }

    #[inline(always)]
    fn view(&self, now_ns: u64) -> QueueView {
        QueueView {
            now_ns,
            bytes: self.queue_bytes,
            pkts: self.waiting.len() as u32,
        }
    }

    /// Runs the timers of the law that are due at `now_ns`.
    ///
    /// # Errors
    /// An invariant of the wire is broken.
    #[inline(never)]
    pub fn run_timers(&mut self, now_ns: u64, store: &mut impl Store) -> Checked<()> {
        self.settle(now_ns, store)?;
        // What was begun but is not yet on the air by now counts as busy time of the next interval.
        let unsent_ns = self.last_end_ns.saturating_sub(now_ns);
        let meter = Meter {
            offered_bytes: self.rate.offered_bytes(now_ns),
            sent_bytes: self.sent_bytes,
            arrived_pkts: self.arrived_pkts,
            arrived_bytes: self.arrived_bytes,
            busy_ns: self.busy_ns - unsent_ns,
        };
        self.law.run_timers(self.view(now_ns), meter);
        Ok(())
    }

    /// Counters as they stand at `now_ns`.
    ///
    /// # Errors
    /// An invariant of the wire is broken.
    pub fn snapshot(&mut self, now_ns: u64, store: &mut impl Store) -> Checked<LinkCounters> {
        self.settle(now_ns, store)?;
        let gone_pkts = self.dropped_full_pkts + self.dropped_law_pkts + self.waiting.len() as u64;
        let mut counters = LinkCounters {
            arrived_pkts: self.arrived_pkts,
            arrived_bytes: self.arrived_bytes,
            sent_pkts: self.arrived_pkts - gone_pkts,
            sent_bytes: self.sent_bytes,
            offered_bytes: self.rate.offered_bytes(now_ns),
            dropped_full_pkts: self.dropped_full_pkts,
            dropped_law_pkts: self.dropped_law_pkts,
            dropped_bytes: self.dropped_bytes,
            marked_pkts: self.marked_pkts,
            queue_byte_ns: self.byte_ns,
            queue_pkt_ns: self.pkt_ns,
            queue_bytes: self.queue_bytes,
            queue_pkts: self.waiting.len() as u32,
            ..LinkCounters::default()
        };
        let mut waiting_bytes = 0;
        for waiting in self.waiting.iter_from(0) {
            let so_far_ns = u128::from(now_ns - waiting.arrived_ns);
            counters.queue_byte_ns += so_far_ns * u128::from(waiting.bytes);
            counters.queue_pkt_ns += so_far_ns;
            waiting_bytes += u64::from(waiting.bytes);
        }
        let held_bytes = self.dropped_bytes + waiting_bytes;
        if self.queue_bytes != waiting_bytes || self.arrived_bytes != self.sent_bytes + held_bytes {
            return self.broken(BYTES, now_ns);
        }
        if self.last_end_ns > now_ns {
            // Here a packet counts as sent from its beginning on, in results when it was.
            let (start_ns, end_ns) = (self.last_start_ns, self.last_end_ns);
            counters.sent_bytes -= Rate::unsent_bytes(start_ns, end_ns, self.last_bytes, now_ns);
            counters.sent_pkts -= 1;
            counters.marked_pkts -= u64::from(self.last_is_marked);
        }
        if let Some(air) = &self.air {
            let waiting = self.waiting.iter_from(0).map(|waiting| waiting.fate);
            let in_transmission = (self.last_end_ns > now_ns).then_some(self.last_fate);
            air.add_to(&mut counters, waiting.chain(in_transmission));
        }
        Ok(counters)
    }

    /// Off the hot path: says what the wire looked like.
    #[cold]
    #[inline(never)]
    fn broken<T>(&self, invariant: &'static str, now_ns: u64) -> Checked<T> {
        violated(invariant, &self.name, now_ns, format!("{self:?}"))
    }
}

#[cfg(feature = "fault-injection")]
impl LawWire {
    /// Breaks an invariant. Returns whether there was something to break: packets that wait.
    pub fn break_invariant(&mut self, fault: crate::link::LinkFault) -> bool {
        use crate::link::LinkFault;
        if self.waiting.len() < 2 {
            return false;
        }
        match fault {
            LinkFault::Early | LinkFault::Vanishes => return false,
            LinkFault::LosesBytes => self.queue_bytes -= 1,
            LinkFault::Overlaps => self.period_bytes += 100 * u64::from(self.last_bytes),
            LinkFault::Overfills => self.limit_pkts = 0,
        }
        true
    }
}

const AT_DEQUEUE: &str = "a law drops at departure only if it says so";
