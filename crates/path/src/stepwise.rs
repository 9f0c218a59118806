//! A link that goes step by step: each transmission is decided when it begins.
//!
//! A FIFO link plans the way of a packet when it arrives, see [`crate::link`]. That ends where a packet's departure
//! depends on what comes after it: queues take turns, lost packets are sent again, delays are random. Here the start of
//! each transmission is an event. At that instant a packet is chosen (a repetition first, then what the queues give),
//! transmitted, and judged by the channel; the far end puts packets in order, and an exit delays them at random.
//!
//! A FIFO link without any of this comes out the same, packet by packet, which the tests use.

use std::sync::Arc;

use crate::air::{Air, BusyPeriod};
use crate::counters::LinkCounters;
#[cfg(feature = "fault-injection")]
use crate::link::LinkFault;
use crate::link::{Arrival, Departure};
use crate::packet::{Parcel, Store, kind};
use crate::router::Meter;
use crate::spec::LinkSpec;
use crate::transmitter::{Served, Transmitter};
use crate::violation::{Checked, violated};

mod arq;
mod exit;
mod fair;
mod queue;

use arq::{Flight, Outcome, Repeater};
use exit::Exit;
use queue::{Ledger, Queue, Waiting};

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct StepwiseLink {
    name: Arc<str>,
    delay_ns: u64,
    limit_pkts: u32,
    limit_bytes: u64,
    queue: Queue,
    ledger: Ledger,
    transmitter: Transmitter,
    air: Option<Air>,
    repeater: Repeater,
    exit: Exit,
    /// When the next transmission begins; `u64::MAX`: there is nothing to send.
    start_ns_next: u64,
    /// The last transmission that began.
    last: Option<Transmission>,
    busy: BusyPeriod,
    busy_ns: u64,
    delivered_pkts: u64,
    /// Bytes of all repetitions that began, and the most that was ever left for new packets.
    retransmitted_bytes: u64,
    offered_bytes_new: u64,
}

#[derive(Clone, Copy, Debug)]
struct Transmission {
    served: Served,
    flight: Flight,
    outcome: Outcome,
}

impl StepwiseLink {
    pub fn new(spec: &LinkSpec, seed: u64, packet_bytes: u32) -> Self {
        Self {
            name: Arc::clone(&spec.name),
            delay_ns: spec.delay_ns,
            limit_pkts: spec.buffer.packets.unwrap_or(u32::MAX),
            limit_bytes: spec.buffer.bytes.unwrap_or(u64::MAX),
            queue: Queue::new(spec, seed, packet_bytes),
            ledger: Ledger::default(),
            transmitter: Transmitter::new(&spec.capacity),
            air: Air::of(spec, seed),
            repeater: Repeater::new(spec.layer.arq),
            exit: Exit::new(spec, seed),
            start_ns_next: u64::MAX,
            last: None,
            busy: BusyPeriod::default(),
            busy_ns: 0,
            delivered_pkts: 0,
            retransmitted_bytes: 0,
            offered_bytes_new: 0,
        }
    }

    /// See [`crate::link::Link::holds_state`].
    pub fn holds_state(&self, address: usize) -> bool {
        self.queue.holds_state(address)
    }

    /// When it wants to be serviced next; `u64::MAX`: not before something arrives.
    pub fn next_due(&self) -> u64 {
        let timer_ns = self.queue.next_timer();
        self.start_ns_next
            .min(self.exit.next_due())
            .min(self.ledger.handed_back_ns())
            .min(timer_ns)
    }

    /// Takes a packet, see [`crate::link::Link::arrive`].
    pub fn arrive(&mut self, now_ns: u64, parcel: Parcel, store: &mut impl Store) -> Checked<Arrival> {
        self.catch_up(now_ns, store)?;
        let ip_bytes = u32::from(parcel.ip_bytes());
        let header = store.header(parcel.id());
        let waiting = Waiting {
            arrived_ns: now_ns,
            parcel,
            bytes: self
                .air
                .as_mut()
                .map_or(ip_bytes, |air| air.bytes(kind(header), ip_bytes)),
            is_data: header.is_data(),
            is_marked: false,
        };
        self.ledger.counters.arrived_pkts += 1;
        self.ledger.counters.arrived_bytes += u64::from(waiting.bytes);
        let limits = (self.limit_pkts, self.limit_bytes);
        if !self.queue.arrive(waiting, limits, &mut self.ledger, store) {
            return Ok(Arrival::Dropped);
        }
        self.start_ns_next = self.start_ns_next.min(self.transmitter.next_start(now_ns));
        self.catch_up(now_ns, store)?;
        Ok(Arrival::Taken)
    }

    /// See [`crate::link::Link::service`].
    pub fn service(&mut self, due_ns: u64, store: &mut impl Store) -> Checked<Departure> {
        self.catch_up(due_ns, store)?;
        if let Some(parcel) = self.ledger.hand_back() {
            return Ok(Departure::Lost(parcel));
        }
        if let Some(leaving) = self.exit.leave(due_ns) {
            self.delivered_pkts += 1;
            self.ledger.counters.reordered_pkts += u64::from(leaving.is_reordered);
            if leaving.at_ns != due_ns || due_ns < leaving.flight.waiting.arrived_ns + self.delay_ns {
                return self.broken("nothing leaves before its delay, and nothing late", due_ns, &leaving);
            }
            self.check_conservation(due_ns)?;
            let parcel = leaving.flight.waiting.parcel;
            return Ok(if leaving.is_lost {
                Departure::Lost(parcel)
            } else {
                Departure::Delivered(parcel)
            });
        }
        if self.queue.next_timer() <= due_ns {
            self.run_timers(due_ns);
        }
        Ok(Departure::None)
    }

    /// See [`crate::link::Link::snapshot`].
    pub fn snapshot(&mut self, now_ns: u64, store: &mut impl Store) -> Checked<LinkCounters> {
        self.catch_up(now_ns, store)?;
        let mut counters = self.ledger.counters;
        self.queue.add_integrals(now_ns, &mut counters);
        if let Some(last) = self.last.filter(|last| last.served.end_ns > now_ns) {
            counters.sent_bytes -= last.unsent_bytes(&self.transmitter, now_ns);
            last.take_out(self.has_channel(), &mut counters);
        }
        counters.offered_bytes = self.transmitter.offered_bytes(now_ns);
        counters.queue_bytes = self.queue.bytes();
        counters.queue_pkts = self.queue.pkts();
        Ok(counters)
    }

    /// Packets it holds, those included that it dropped and has not handed back yet.
    pub fn held_pkts(&self) -> u64 {
        self.kept_pkts() + self.ledger.handed_back_pkts()
    }

    fn has_channel(&self) -> bool {
        self.air.as_ref().is_some_and(Air::has_channel)
    }

    fn kept_pkts(&self) -> u64 {
        u64::from(self.queue.pkts()) + self.repeater.held_pkts() + self.exit.held_pkts()
    }

    /// Begins every transmission that is due by `now_ns`.
    fn catch_up(&mut self, now_ns: u64, store: &mut impl Store) -> Checked<()> {
        while self.start_ns_next <= now_ns {
            let start_ns = self.start_ns_next;
            if self.queue.pkts() > self.limit_pkts || self.queue.bytes() > self.limit_bytes {
                return self.broken("a queue stays within its limit", start_ns, &self.queue.pkts());
            }
            let flight = match self.repeater.take(start_ns) {
                Some(repeated) => Some(repeated),
                None => self
                    .queue
                    .take(start_ns, &mut self.ledger, store)
                    .map(|waiting| self.repeater.number(waiting)),
            };
            if let Some(flight) = flight {
                self.transmit(start_ns, flight)?;
            }
            let ready_ns = if self.queue.pkts() > 0 {
                // All of them came before: each arrival is preceded by the starts that are due by then.
                self.transmitter.ready_for(start_ns)
            } else {
                self.repeater.ready_ns()
            };
            self.start_ns_next = match ready_ns {
                u64::MAX => u64::MAX,
                ready_ns => self.transmitter.next_start(ready_ns),
            };
        }
        Ok(())
    }

    /// A packet goes on the air, and the channel decides what becomes of it.
    fn transmit(&mut self, now_ns: u64, flight: Flight) -> Checked<()> {
        let waiting = flight.waiting;
        let ready_ns = self.transmitter.ready_for(now_ns);
        let served = self.transmitter.serve(ready_ns, waiting.bytes);
        if served.start_ns != now_ns {
            return self.broken("a transmission begins when it was due", now_ns, &served);
        }
        self.busy.add(served.start_ns, served.end_ns, waiting.bytes);
        self.busy_ns += served.end_ns - served.start_ns;
        if !self
            .transmitter
            .can_send(self.busy.start_ns, served.end_ns, self.busy.bytes)
        {
            return self.broken("a link never exceeds its capacity", now_ns, &waiting.bytes);
        }
        let (kind, ip_bytes) = (waiting.kind(), u32::from(waiting.parcel.ip_bytes()));
        let air = self.air.as_mut();
        let is_lost = air.and_then(|air| air.loses(now_ns, kind, ip_bytes)) == Some(true);
        let transmission = Transmission {
            served,
            flight,
            outcome: self.repeater.outcome(&flight, is_lost),
        };
        transmission.count(self.has_channel(), &mut self.ledger.counters);
        self.retransmitted_bytes += u64::from(waiting.bytes) * u64::from(flight.is_repetition());
        self.last = Some(transmission);
        // A repetition without delay follows at once, where the transmitter's clock is a fraction ahead of the end.
        let retry_ns = match self.repeater.retry_ns() {
            0 => self.transmitter.next_start(now_ns),
            retry_ns => served.end_ns + retry_ns,
        };
        let arrives_ns = served.end_ns + self.delay_ns;
        self.repeater
            .conclude(flight, transmission.outcome, arrives_ns, retry_ns, &mut self.exit);
        Ok(())
    }

    fn run_timers(&mut self, now_ns: u64) {
        // What was begun but is not yet on the air by now counts as busy time of the next interval.
        let unsent_ns = self.busy.end_ns.saturating_sub(now_ns);
        // A link layer knows what it needs for repetitions: the rest is what it offers.
        let unsent_bytes = self
            .last
            .map_or(0, |last| last.unsent_repetition(&self.transmitter, now_ns));
        let repeated_bytes = self.retransmitted_bytes - unsent_bytes;
        let offered_bytes = self.transmitter.offered_bytes(now_ns) - repeated_bytes;
        self.offered_bytes_new = self.offered_bytes_new.max(offered_bytes);
        let meter = Meter {
            offered_bytes: self.offered_bytes_new,
            sent_bytes: self.ledger.counters.sent_bytes - self.retransmitted_bytes,
            arrived_pkts: self.ledger.counters.arrived_pkts,
            arrived_bytes: self.ledger.counters.arrived_bytes,
            busy_ns: self.busy_ns - unsent_ns,
        };
        self.queue.run_timers(now_ns, meter);
    }

    /// Packets and bytes in = out + dropped + kept, see [`crate::link::Link`].
    fn check_conservation(&self, now_ns: u64) -> Checked<()> {
        let c = &self.ledger.counters;
        let kept = self.kept_pkts();
        if c.arrived_pkts != self.delivered_pkts + c.dropped_full_pkts + c.dropped_law_pkts + kept {
            return self.broken("packets are conserved at a node", now_ns, &kept);
        }
        let sent_bytes = c.sent_bytes - self.retransmitted_bytes;
        if c.arrived_bytes != sent_bytes + c.dropped_bytes + self.queue.bytes() {
            return self.broken("bytes are conserved at a node", now_ns, &self.queue.bytes());
        }
        Ok(())
    }

    /// Off the hot path: says what the link looked like.
    #[cold]
    fn broken<T>(&self, invariant: &'static str, now_ns: u64, what: &dyn std::fmt::Debug) -> Checked<T> {
        let detail = format!(
            "{what:?}; kept {} pkts, delivered {} pkts, delay {} ns, {:?}, {:?}",
            self.kept_pkts(),
            self.delivered_pkts,
            self.delay_ns,
            self.busy,
            self.ledger.counters
        );
        violated(invariant, &self.name, now_ns, detail)
    }

    /// Breaks an invariant, see [`crate::link::Link::break_invariant`].
    #[cfg(feature = "fault-injection")]
    pub fn break_invariant(&mut self, fault: LinkFault) -> bool {
        if self.queue.pkts() == 0 {
            return false;
        }
        match fault {
            LinkFault::Early => return self.exit.hurry(self.delay_ns / 2),
            LinkFault::Vanishes => self.delivered_pkts += 1,
            LinkFault::LosesBytes => self.ledger.counters.arrived_bytes += 1,
            LinkFault::Overlaps => self.busy.bytes += 1 << 20,
            LinkFault::Overfills => self.limit_pkts = 0,
        }
        true
    }
}

impl Transmission {
    /// Counts it, as if it had ended.
    fn count(&self, has_channel: bool, counters: &mut LinkCounters) {
        let (first, data) = (
            u64::from(!self.flight.is_repetition()),
            u64::from(self.flight.waiting.is_data && has_channel),
        );
        let lost = u64::from(self.outcome == Outcome::Lost);
        counters.sent_bytes += u64::from(self.flight.waiting.bytes);
        counters.sent_pkts += first;
        counters.retransmitted_pkts += 1 - first;
        counters.marked_pkts += first * u64::from(self.flight.waiting.is_marked);
        // With its last try, so that what was lost for good is among them whichever interval is looked at.
        counters.sent_data_pkts += u64::from(self.outcome != Outcome::Repeated) * data;
        counters.lost_air_pkts += lost;
        counters.lost_air_data_pkts += lost * data;
        counters.recovered_pkts += (1 - first) * u64::from(self.outcome == Outcome::Sound);
    }

    /// Takes out all but its bytes, before its end: in results, a packet counts as sent when it was.
    fn take_out(&self, has_channel: bool, counters: &mut LinkCounters) {
        let mut own = LinkCounters::default();
        self.count(has_channel, &mut own);
        counters.sent_pkts -= own.sent_pkts;
        counters.retransmitted_pkts -= own.retransmitted_pkts;
        counters.marked_pkts -= own.marked_pkts;
        counters.sent_data_pkts -= own.sent_data_pkts;
        counters.lost_air_pkts -= own.lost_air_pkts;
        counters.lost_air_data_pkts -= own.lost_air_data_pkts;
        counters.recovered_pkts -= own.recovered_pkts;
    }

    fn unsent_bytes(&self, transmitter: &Transmitter, now_ns: u64) -> u64 {
        transmitter.unsent_bytes(self.served, self.flight.waiting.bytes, now_ns)
    }

    fn unsent_repetition(&self, transmitter: &Transmitter, now_ns: u64) -> u64 {
        if self.flight.is_repetition() {
            self.unsent_bytes(transmitter, now_ns)
        } else {
            0
        }
    }
}
