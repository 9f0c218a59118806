//! A link that goes step by step: each transmission is decided when it begins.
//!
//! Most links plan the way of a packet when it arrives, see [`crate::planned`]. That ends where a departure depends on
//! what comes later: queues take turns or are a law's own, lost packets are sent again, delays are random. Here the
//! start of each transmission is an event. At that instant a packet is chosen (a repetition first, then what the queues
//! give), transmitted, and judged by the channel; the far end puts packets in order, and an exit delays them at random.
//!
//! A link without any of this comes out the same, packet by packet, which the tests use.

use std::sync::Arc;

use fadelab_phy::channel::PacketKind;

use crate::air::Air;
use crate::counters::LinkCounters;
use crate::delays::Delays;
use crate::histogram::Histogram;
use crate::packet::{Parcel, Store};
use crate::queue::{BYTES, LIMIT, Limits};
use crate::router::Meter;
use crate::spec::LinkSpec;
#[cfg(feature = "fault-injection")]
use crate::transit::NodeFault;
use crate::transit::{Arrival, Departure, Transit};
use crate::transmitter::{BusyPeriod, CAPACITY, Served, Transmit};
use crate::violation::{Checked, violated};

mod arq;
mod exit;
mod fair;
mod own;
mod queue;

use arq::{Flight, Outcome, Repeater};
use exit::Exit;
use queue::{Ledger, Queue, Waiting};

const NAMED: &str = "a law names queues that it has, and sends from one that holds a packet";

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Evented<T: Transmit> {
    name: Arc<str>,
    delay_ns: u64,
    limits: Limits,
    queue: Queue,
    ledger: Ledger,
    /// Of the packets that were sent.
    delays: Delays,
    /// Class of what arrives at this moment.
    class: u8,
    transmitter: T,
    air: Option<Air>,
    repeater: Repeater,
    exit: Exit,
    /// When the next transmission begins; `u64::MAX`: there is nothing to send.
    start_ns_next: u64,
    /// The last transmission that began.
    last: Option<Transmission<T::Place>>,
    busy: BusyPeriod,
    busy_ns: u64,
    delivered_pkts: u64,
    /// Bytes of all repetitions that began, and the most that was ever left for new packets.
    retransmitted_bytes: u64,
    offered_bytes_new: u64,
    /// Bytes of transmissions that the far end gets.
    received_bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Transmission<P> {
    served: Served<P>,
    flight: Flight,
    outcome: Outcome,
}

impl<T: Transmit> Evented<T> {
    /// See [`crate::planned::Planned::new`].
    pub fn new(spec: &LinkSpec, transmitter: T, seed: u64, packet_bytes: u32) -> Self {
        Self {
            name: Arc::clone(&spec.name),
            delay_ns: spec.delay_ns,
            limits: Limits::of(spec.buffer),
            queue: Queue::new(spec, seed, packet_bytes),
            ledger: Ledger::default(),
            delays: Delays::default(),
            class: 0,
            transmitter,
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
            received_bytes: 0,
        }
    }

    fn has_channel(&self) -> bool {
        self.air.is_some()
    }

    fn kept_pkts(&self) -> u64 {
        u64::from(self.queue.pkts()) + self.repeater.held_pkts() + self.exit.held_pkts()
    }

    /// Begins every transmission that is due by `now_ns`.
    fn catch_up(&mut self, now_ns: u64, store: &mut impl Store) -> Checked<()> {
        while self.start_ns_next <= now_ns {
            let start_ns = self.start_ns_next;
            if !self.limits.hold(self.queue.pkts(), self.queue.bytes()) {
                return self.broken(LIMIT, start_ns, &self.queue.pkts());
            }
            let flight = match self.repeater.take(start_ns) {
                Some(repeated) => Some(repeated),
                None => match self.queue.take(start_ns, &mut self.ledger, store) {
                    Ok(waiting) => waiting.map(|waiting| {
                        self.delays.add(start_ns - waiting.arrived_ns, waiting.class);
                        self.repeater.number(waiting)
                    }),
                    Err(wrong) => return self.broken(NAMED, start_ns, &wrong),
                },
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
            return self.broken(CAPACITY, now_ns, &waiting.bytes);
        }
        let (kind, ip_bytes) = (waiting.kind(), waiting.parcel.ip_bytes());
        let is_lost = self.air.as_mut().is_some_and(|air| air.loses(now_ns, kind, ip_bytes));
        let transmission = Transmission {
            served,
            flight,
            outcome: self.repeater.outcome(&flight, is_lost),
        };
        transmission.count(self.has_channel(), &mut self.ledger.counters);
        self.retransmitted_bytes += u64::from(waiting.bytes) * u64::from(flight.is_repetition());
        self.received_bytes += u64::from(waiting.bytes) * u64::from(transmission.outcome == Outcome::Sound);
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
            received_bytes: self.received_bytes,
        };
        self.queue.run_timers(now_ns, meter);
    }

    /// Packets and bytes in = out + dropped + kept, see [`crate::planned`].
    fn check_conservation(&self, now_ns: u64) -> Checked<()> {
        let c = &self.ledger.counters;
        let kept = self.kept_pkts();
        if c.arrived_pkts != self.delivered_pkts + self.ledger.drops.pkts() + kept {
            return self.broken("packets are conserved at a node", now_ns, &kept);
        }
        let sent_bytes = c.sent_bytes - self.retransmitted_bytes;
        if c.arrived_bytes != sent_bytes + self.ledger.drops.bytes + self.queue.bytes() {
            return self.broken(BYTES, now_ns, &self.queue.bytes());
        }
        Ok(())
    }

    /// Off the hot path: says what the link looked like.
    #[cold]
    fn broken<R>(&self, invariant: &'static str, now_ns: u64, what: &dyn std::fmt::Debug) -> Checked<R> {
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
}

impl<T: Transmit> Transit for Evented<T> {
    fn name(&self) -> &str {
        &self.name
    }

    fn arrive(&mut self, now_ns: u64, parcel: Parcel, kind: PacketKind, store: &mut impl Store) -> Checked<Arrival> {
        self.catch_up(now_ns, store)?;
        let own_bytes = match &mut self.air {
            Some(air) => air.make_ready(kind, parcel.ip_bytes()),
            None => u32::from(parcel.ip_bytes()),
        };
        let waiting = Waiting {
            arrived_ns: now_ns,
            parcel,
            bytes: own_bytes + self.transmitter.header_bytes(),
            is_data: kind == PacketKind::Data,
            is_marked: false,
            class: self.class,
        };
        self.ledger.counters.arrived_pkts += 1;
        self.ledger.counters.arrived_bytes += u64::from(waiting.bytes);
        match self.queue.arrive(waiting, self.limits, &mut self.ledger, store) {
            Ok(true) => {}
            Ok(false) => return Ok(Arrival::Dropped),
            Err(wrong) => return self.broken(NAMED, now_ns, &(wrong, store.header(parcel.id()))),
        }
        self.start_ns_next = self.start_ns_next.min(self.transmitter.next_start(now_ns));
        self.catch_up(now_ns, store)?;
        Ok(Arrival::Taken)
    }

    fn next_due(&self) -> u64 {
        self.start_ns_next
            .min(self.exit.next_due())
            .min(self.ledger.handed_back_ns())
            .min(self.queue.next_timer())
    }

    fn service(&mut self, due_ns: u64, store: &mut impl Store) -> Checked<Departure> {
        self.catch_up(due_ns, store)?;
        if let Some(parcel) = self.ledger.hand_back() {
            return Ok(Departure::Dropped(parcel));
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

    /// What leaves does so in an event, after all that its law has to see.
    fn settle(&mut self, _now_ns: u64, _store: &mut impl Store) -> Checked<()> {
        Ok(())
    }

    fn snapshot(&mut self, now_ns: u64, store: &mut impl Store) -> Checked<LinkCounters> {
        self.catch_up(now_ns, store)?;
        let mut counters = self.ledger.counters;
        self.queue.tell(now_ns, &self.ledger, &mut counters);
        if let Some(last) = self.last.filter(|last| last.served.end_ns > now_ns) {
            counters.sent_bytes -= last.unsent_bytes(&self.transmitter, now_ns);
            last.take_out(self.has_channel(), &mut counters);
        }
        counters.offered_bytes = self.transmitter.offered_bytes(now_ns);
        Ok(counters)
    }

    fn count_delays(&mut self, classes: usize) {
        self.delays.begin(classes);
    }

    fn arrive_of_class(
        &mut self,
        now_ns: u64,
        parcel: Parcel,
        class: u8,
        kind: PacketKind,
        store: &mut impl Store,
    ) -> Checked<Arrival> {
        self.class = class;
        let arrival = self.arrive(now_ns, parcel, kind, store);
        self.class = 0;
        arrival
    }

    fn forget_delays(&mut self) {
        self.delays.forget();
    }

    fn delays(&mut self) -> Vec<Histogram> {
        self.delays.histograms()
    }

    /// Those included that it dropped and has not handed back yet.
    fn held_pkts(&self) -> u64 {
        self.kept_pkts() + self.ledger.handed_back_pkts()
    }

    fn prepare(&mut self, kind: PacketKind, ip_bytes: u16) {
        if let Some(air) = &mut self.air {
            air.prepare(kind, ip_bytes);
        }
    }

    fn prepare_all(&mut self, ip_bytes_max: u16) {
        if let Some(air) = &mut self.air {
            air.prepare_all(ip_bytes_max);
        }
    }

    fn free_ns(&self) -> u64 {
        0
    }

    fn sees_departures(&self) -> bool {
        false
    }

    fn holds_state(&self, address: usize) -> bool {
        self.queue.holds_state(address)
    }

    fn watch(&self, values: &mut Vec<u64>) {
        self.queue.watch(values);
    }

    #[cfg(feature = "fault-injection")]
    fn break_invariant(&mut self, fault: NodeFault) -> bool {
        if self.queue.pkts() == 0 {
            return false;
        }
        match fault {
            NodeFault::Early => return self.exit.hurry(self.delay_ns / 2),
            NodeFault::Vanishes => self.delivered_pkts += 1,
            NodeFault::LosesBytes => self.ledger.counters.arrived_bytes += 1,
            NodeFault::Overlaps => self.busy.bytes += 1 << 20,
            NodeFault::Overfills => self.limits.pkts = 0,
        }
        true
    }
}

impl<P: Copy> Transmission<P> {
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

    fn unsent_bytes(&self, transmitter: &impl Transmit<Place = P>, now_ns: u64) -> u64 {
        transmitter.unsent_bytes(self.served, self.flight.waiting.bytes, now_ns)
    }

    fn unsent_repetition(&self, transmitter: &impl Transmit<Place = P>, now_ns: u64) -> u64 {
        if self.flight.is_repetition() {
            self.unsent_bytes(transmitter, now_ns)
        } else {
            0
        }
    }
}
