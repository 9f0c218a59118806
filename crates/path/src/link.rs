//! A unidirectional link: a queue with a router's law, a transmitter, a channel and a propagation delay.
//!
//! A FIFO link knows when a packet will leave as soon as it arrives, so one pending event per link is enough: the
//! delivery of the oldest packet. What happens in between (the packet leaves the queue, the law sees it, the channel
//! decides its fate) is caught up in the order of time before anything else touches the link. A law that drops at
//! departure changes the plan of all behind it; for these the start of the next transmission is an event too.

use fadelab_laws::abi;

use crate::air::{Air, BusyPeriod};
use crate::counters::LinkCounters;
use crate::layer::LinkLayer;
use crate::packet::{PacketId, Parcel, Store};
use crate::ring::Ring;
use crate::router::{LawHost, QueueView};
use crate::spec::{CapacitySpec, LinkSpec, Queues, RouterSpec};
use crate::stepwise::StepwiseLink;
use crate::transmitter::{Served, Transmitter};
use crate::violation::{Checked, violated};

#[cfg(feature = "fault-injection")]
mod fault;
mod law;
#[cfg(feature = "fault-injection")]
pub use fault::LinkFault;

/// A packet between its arrival and its delivery.
#[derive(Clone, Copy, Debug, Default)]
struct Transit {
    arrived_ns: u64,
    start_ns: u64,
    deliver_ns: u64,
    /// Where the transmitter stood before this packet, to plan anew when it is dropped.
    mark: u64,
    /// The parcel, field by field: nested, its padding would cost an eighth of the ring.
    id: PacketId,
    tag: u32,
    /// On-air bytes.
    bytes: u32,
    ip_bytes: u16,
    fate: Fate,
}

impl Transit {
    #[inline]
    fn parcel(&self) -> Parcel {
        Parcel {
            id: self.id,
            tag: self.tag,
            ip_bytes: self.ip_bytes,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Fate {
    /// Under way, for all that is known.
    #[default]
    Sound,
    /// Sent, and lost on the air.
    LostOnAir,
    /// Never sent: the law dropped it at its departure. It stays in its place until its turn, to be handed back.
    DroppedByLaw,
}

/// What became of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It is on its way, behind others: what the link wants attention for next has not changed.
    Taken,
    /// It is on its way, and [`Link::next_due`] may have moved to an earlier time.
    TakenFirst,
    /// It was dropped; the packet is the caller's again.
    Dropped,
}

/// What a service brought out of the link. The packet is the caller's again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// Nothing: a timer ran.
    None,
    /// A packet at the far end.
    Delivered(Parcel),
    /// A packet lost on the air or dropped by the law at its departure.
    Lost(Parcel),
}

/// See the module's documentation. Fields that every transit touches stand first and share few cache lines.
#[derive(Debug)]
#[repr(C)]
pub struct Link {
    /// Delivery of the oldest, and start of the first that waits; `u64::MAX`: there is none.
    deliver_ns_next: u64,
    start_ns_next: u64,
    law: Option<Box<LawHost>>,
    air: Option<Box<Air>>,
    /// Oldest first; the first `started` of them have left the queue.
    transits: Ring<Transit>,
    started: usize,
    delay_ns: u64,
    delivered_pkts: u64,
    dropped_held_pkts: u64,
    queue_bytes: u64,
    busy: BusyPeriod,
    /// Neither law nor channel looks at its packets.
    is_wire: bool,
    drops_at_dequeue: bool,
    limit_pkts: u32,
    limit_bytes: u64,
    transmitter: Transmitter,
    /// Time in transmission, for the capacity part of a law.
    busy_ns: u64,
    counters: LinkCounters,
    name: String,
    /// For what cannot be planned at arrival; then nothing else here is in use.
    stepwise: Option<Box<StepwiseLink>>,
}

impl Link {
    /// Whether the state at `address` belongs to a law of this link or to its capacity part.
    pub fn holds_state(&self, address: usize) -> bool {
        self.law.as_ref().is_some_and(|law| law.holds_state(address))
            || self.stepwise.as_ref().is_some_and(|link| link.holds_state(address))
    }

    /// Builds a link. `packet_bytes` is the IP size of a full data packet, for laws that scale with it.
    pub fn new(spec: &LinkSpec, seed: u64, packet_bytes: u32) -> Self {
        if spec.goes_step_by_step() {
            return Self::step_by_step(spec, seed, packet_bytes);
        }
        let law = LawHost::of(spec, seed, packet_bytes, "");
        Self {
            name: spec.name.clone(),
            is_wire: law.is_none() && spec.channel.is_none() && matches!(spec.capacity, CapacitySpec::Constant { .. }),
            transmitter: Transmitter::new(&spec.capacity),
            delay_ns: spec.delay_ns,
            limit_pkts: spec.buffer.packets.unwrap_or(u32::MAX),
            limit_bytes: spec.buffer.bytes.unwrap_or(u64::MAX),
            law,
            drops_at_dequeue: spec.router.law.flags() & abi::ROUTER_DROPS_AT_DEQUEUE != 0,
            air: Air::of(spec, seed).map(Box::new),
            stepwise: None,
            transits: Ring::default(),
            started: 0,
            deliver_ns_next: u64::MAX,
            start_ns_next: u64::MAX,
            queue_bytes: 0,
            busy: BusyPeriod::default(),
            busy_ns: 0,
            delivered_pkts: 0,
            dropped_held_pkts: 0,
            counters: LinkCounters::default(),
        }
    }

    /// A link that hands everything on to [`StepwiseLink`] and keeps nothing but the time of its next event. What it
    /// does not hold is never found here, so that other links spend little on asking.
    fn step_by_step(spec: &LinkSpec, seed: u64, packet_bytes: u32) -> Self {
        let plain = LinkSpec {
            channel: None,
            queues: Queues::One,
            layer: LinkLayer::default(),
            router: RouterSpec {
                law: fadelab_laws::router("droptail").expect("drop-tail is registered"),
                ..spec.router.clone()
            },
            ..spec.clone()
        };
        let stepwise = StepwiseLink::new(spec, seed, packet_bytes);
        Self {
            deliver_ns_next: stepwise.next_due(),
            is_wire: false,
            stepwise: Some(Box::new(stepwise)),
            ..Self::new(&plain, seed, packet_bytes)
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// When it wants to be serviced next; `u64::MAX`: not before something arrives.
    #[inline]
    pub fn next_due(&self) -> u64 {
        let Some(law) = &self.law else {
            return self.deliver_ns_next;
        };
        let start_ns = if self.drops_at_dequeue {
            self.start_ns_next
        } else {
            u64::MAX
        };
        self.deliver_ns_next.min(law.next_due()).min(start_ns)
    }

    /// Takes a packet at `now_ns`.
    ///
    /// # Errors
    /// An invariant of the link is broken.
    #[inline(always)]
    pub fn arrive(&mut self, now_ns: u64, parcel: Parcel, store: &mut impl Store) -> Checked<Arrival> {
        self.catch_up(now_ns, store)?;
        if self.is_wire && self.start_ns_next == u64::MAX && self.transmitter.is_idle(now_ns) {
            return self.pass(now_ns, parcel);
        }
        self.queue_up(now_ns, parcel, store)
    }

    /// A packet goes straight into the transmitter of a wire: there is no queue for it to find full, and nobody to be
    /// shown it.
    #[inline(always)]
    fn pass(&mut self, now_ns: u64, parcel: Parcel) -> Checked<Arrival> {
        let bytes = u32::from(parcel.ip_bytes);
        self.counters.arrived_pkts += 1;
        self.counters.arrived_bytes += u64::from(bytes);
        let first = self.transits.len() == 0;
        let transit = self.plan(now_ns, parcel, bytes);
        self.started += 1;
        self.transmit(transit.start_ns, transit.deliver_ns - self.delay_ns, bytes)?;
        Ok(if first { Arrival::TakenFirst } else { Arrival::Taken })
    }

    /// A packet joins the queue, if law and limit let it.
    #[inline(never)]
    fn queue_up(&mut self, now_ns: u64, parcel: Parcel, store: &mut impl Store) -> Checked<Arrival> {
        if let Some(stepwise) = &mut self.stepwise {
            let arrival = stepwise.arrive(now_ns, parcel, store)?;
            self.deliver_ns_next = stepwise.next_due();
            return Ok(arrival);
        }
        let ip_bytes = u32::from(parcel.ip_bytes);
        let bytes = match &mut self.air {
            None => ip_bytes,
            Some(air) => air.bytes(store.header(parcel.id).kind(), ip_bytes),
        };
        self.counters.arrived_pkts += 1;
        self.counters.arrived_bytes += u64::from(bytes);
        let full = self.queue_pkts() >= self.limit_pkts || self.queue_bytes + u64::from(bytes) > self.limit_bytes;
        let refused = self.law.is_some() && self.law_refuses(now_ns, parcel.id, bytes, full, store);
        if full || refused {
            self.counters.dropped_full_pkts += u64::from(full);
            self.counters.dropped_law_pkts += u64::from(!full);
            self.counters.dropped_bytes += u64::from(bytes);
            return Ok(Arrival::Dropped);
        }
        let first = self.transits.len() == 0 || self.drops_at_dequeue;
        let transit = self.plan(now_ns, parcel, bytes);
        self.start_ns_next = self.start_ns_next.min(transit.start_ns);
        self.queue_bytes += u64::from(bytes);
        self.catch_up(now_ns, store)?;
        Ok(if first { Arrival::TakenFirst } else { Arrival::Taken })
    }

    /// Hands a packet to the transmitter and the propagation behind it: when it leaves is known from now on.
    #[inline(always)]
    fn plan(&mut self, now_ns: u64, parcel: Parcel, bytes: u32) -> Transit {
        let served = self.transmitter.serve(now_ns, bytes);
        let transit = Transit {
            arrived_ns: now_ns,
            start_ns: served.start_ns,
            deliver_ns: served.end_ns + self.delay_ns,
            mark: served.mark,
            id: parcel.id,
            tag: parcel.tag,
            bytes,
            ip_bytes: parcel.ip_bytes,
            fate: Fate::Sound,
        };
        self.deliver_ns_next = self.deliver_ns_next.min(transit.deliver_ns);
        self.transits.push(transit);
        transit
    }

    /// Gives the link the attention it asked for at `due_ns`. Call again while [`Self::next_due`] is still `due_ns`.
    ///
    /// # Errors
    /// An invariant of the link is broken.
    #[inline]
    pub fn service(&mut self, due_ns: u64, store: &mut impl Store) -> Checked<Departure> {
        self.catch_up(due_ns, store)?;
        if self.deliver_ns_next <= due_ns {
            return self.deliver(due_ns, store);
        }
        if let Some(law) = &self.law
            && law.next_due() <= due_ns
        {
            self.run_timers(due_ns);
        }
        Ok(Departure::None)
    }

    /// Counters as they stand at `now_ns`.
    ///
    /// # Errors
    /// An invariant of the link is broken.
    pub fn snapshot(&mut self, now_ns: u64, store: &mut impl Store) -> Checked<LinkCounters> {
        if let Some(stepwise) = &mut self.stepwise {
            return stepwise.snapshot(now_ns, store);
        }
        self.catch_up(now_ns, store)?;
        let mut counters = self.counters;
        for waiting in self.transits.iter_from(self.started) {
            let so_far_ns = u128::from(now_ns - waiting.arrived_ns);
            counters.queue_byte_ns += so_far_ns * u128::from(waiting.bytes);
            counters.queue_pkt_ns += so_far_ns;
        }
        self.without_unsent(now_ns, &mut counters, store);
        counters.offered_bytes = self.transmitter.offered_bytes(now_ns);
        counters.queue_bytes = self.queue_bytes;
        counters.queue_pkts = self.queue_pkts();
        Ok(counters)
    }

    /// Takes out what is still in the transmitter: within the link a packet counts as sent from its beginning on, in
    /// results when it was.
    fn without_unsent(&self, now_ns: u64, counters: &mut LinkCounters, store: &mut impl Store) {
        let Some(last) = self.started.checked_sub(1).and_then(|index| self.transits.get(index)) else {
            return;
        };
        let end_ns = last.deliver_ns - self.delay_ns;
        if end_ns <= now_ns || last.fate == Fate::DroppedByLaw {
            return;
        }
        let (start_ns, mark) = (last.start_ns, last.mark);
        let served = Served { start_ns, end_ns, mark };
        counters.sent_bytes -= self.transmitter.unsent_bytes(served, last.bytes, now_ns);
        counters.sent_pkts -= 1;
        if self.air.as_ref().is_some_and(|air| air.has_channel()) {
            let (lost, data) = (
                u64::from(last.fate == Fate::LostOnAir),
                u64::from(store.header(last.id).is_data()),
            );
            counters.lost_air_pkts -= lost;
            counters.sent_data_pkts -= data;
            counters.lost_air_data_pkts -= data * lost;
        }
    }

    /// Packets the link holds, waiting, in transmission or in flight.
    pub fn held_pkts(&self) -> u64 {
        let stepwise = self.stepwise.as_ref().map_or(0, |stepwise| stepwise.held_pkts());
        self.transits.len() as u64 + stepwise
    }

    #[inline]
    fn queue_pkts(&self) -> u32 {
        (self.transits.len() - self.started) as u32
    }

    #[inline]
    fn view(&self, now_ns: u64) -> QueueView {
        QueueView {
            now_ns,
            queue_bytes: self.queue_bytes,
            queue_pkts: self.queue_pkts(),
            full: false,
            wait_ns: 0,
        }
    }

    #[inline(always)]
    fn deliver(&mut self, now_ns: u64, store: &mut impl Store) -> Checked<Departure> {
        let Some(transit) = self.transits.front() else {
            return self.step(now_ns, store);
        };
        let (parcel, fate) = (transit.parcel(), transit.fate);
        let early = transit.deliver_ns != now_ns || now_ns < transit.arrived_ns + self.delay_ns;
        if early || self.started == 0 {
            let transit = *transit;
            return self.broken("nothing leaves before its delay, and nothing late", now_ns, &transit);
        }
        self.transits.remove_front();
        self.started -= 1;
        self.delivered_pkts += 1;
        self.deliver_ns_next = self.transits.front().map_or(u64::MAX, |next| next.deliver_ns);
        if fate == Fate::DroppedByLaw {
            self.delivered_pkts -= 1;
            self.dropped_held_pkts -= 1;
        }
        self.check_conservation(now_ns)?;
        Ok(if fate == Fate::Sound {
            Departure::Delivered(parcel)
        } else {
            Departure::Lost(parcel)
        })
    }

    /// A link without transits goes step by step, or has nothing to do.
    #[inline(never)]
    fn step(&mut self, now_ns: u64, store: &mut impl Store) -> Checked<Departure> {
        let Some(stepwise) = &mut self.stepwise else {
            return Ok(Departure::None);
        };
        let departure = stepwise.service(now_ns, store);
        self.deliver_ns_next = stepwise.next_due();
        departure
    }

    /// Off the hot path: says what the link looked like.
    #[cold]
    #[inline(never)]
    fn broken<T>(&self, invariant: &'static str, now_ns: u64, what: &dyn std::fmt::Debug) -> Checked<T> {
        let (held, delivered, waiting) = (self.held_pkts(), self.delivered_pkts, self.queue_bytes);
        let detail = format!(
            "{what:?}; held {held} pkts, delivered {delivered} pkts, waiting {waiting} B, delay {} ns, {:?}, {:?}",
            self.delay_ns, self.busy, self.counters
        );
        violated(invariant, &self.name, now_ns, detail)
    }

    /// Packets in = out + dropped + held. Two independent counts: of events, and of what is in the ring.
    #[inline(always)]
    fn check_conservation(&self, now_ns: u64) -> Checked<()> {
        let c = &self.counters;
        let held = self.transits.len() as u64 - self.dropped_held_pkts;
        if c.arrived_pkts != self.delivered_pkts + c.dropped_full_pkts + c.dropped_law_pkts + held {
            return self.broken("packets are conserved at a node", now_ns, &held);
        }
        if c.arrived_bytes != c.sent_bytes + c.dropped_bytes + self.queue_bytes {
            return self.broken("bytes are conserved at a node", now_ns, &self.queue_bytes);
        }
        Ok(())
    }

    /// Lets every packet whose transmission began by `now_ns` leave the queue.
    #[inline(always)]
    fn catch_up(&mut self, now_ns: u64, store: &mut impl Store) -> Checked<()> {
        if self.start_ns_next <= now_ns {
            self.start_until(now_ns, store)
        } else {
            Ok(())
        }
    }

    #[inline(never)]
    fn start_until(&mut self, now_ns: u64, store: &mut impl Store) -> Checked<()> {
        while self.start_ns_next <= now_ns {
            let Some(&transit) = self.transits.get(self.started) else {
                break;
            };
            if transit.arrived_ns < transit.start_ns {
                self.leave_queue(&transit)?;
            }
            self.started += 1;
            self.start_ns_next = self.transits.get(self.started).map_or(u64::MAX, |next| next.start_ns);
            self.queue_bytes -= u64::from(transit.bytes);
            if self.law.is_some() && self.law_drops(&transit, store)? {
                continue;
            }
            let end_ns = transit.deliver_ns - self.delay_ns;
            self.busy_ns += end_ns - transit.start_ns;
            self.transmit(transit.start_ns, end_ns, transit.bytes)?;
            if self.air.is_some() {
                self.meet_channel(&transit, store);
            }
        }
        Ok(())
    }

    /// A packet that had to wait leaves the queue, in which it is still counted.
    #[inline(always)]
    fn leave_queue(&mut self, transit: &Transit) -> Checked<()> {
        if self.queue_pkts() > self.limit_pkts || self.queue_bytes > self.limit_bytes {
            return self.broken("a queue stays within its limit", transit.start_ns, transit);
        }
        let waited_ns = u128::from(transit.start_ns - transit.arrived_ns);
        self.counters.queue_byte_ns += waited_ns * u128::from(transit.bytes);
        self.counters.queue_pkt_ns += waited_ns;
        Ok(())
    }

    #[inline(always)]
    fn transmit(&mut self, start_ns: u64, end_ns: u64, bytes: u32) -> Checked<()> {
        self.counters.sent_pkts += 1;
        self.counters.sent_bytes += u64::from(bytes);
        self.busy.add(start_ns, end_ns, bytes);
        if self.transmitter.can_send(self.busy.start_ns, end_ns, self.busy.bytes) {
            return Ok(());
        }
        self.broken("a link never exceeds its capacity", start_ns, &bytes)
    }

    #[inline(never)]
    fn meet_channel(&mut self, transit: &Transit, store: &mut impl Store) {
        let Some(air) = &mut self.air else { return };
        let header = store.header(transit.id);
        let Some(lost) = air.loses(transit.start_ns, header.kind(), u32::from(header.ip_bytes)) else {
            return;
        };
        let data = u64::from(header.is_data());
        self.counters.sent_data_pkts += data;
        self.counters.lost_air_pkts += u64::from(lost);
        self.counters.lost_air_data_pkts += data * u64::from(lost);
        if lost && let Some(transit) = self.transits.get_mut(self.started - 1) {
            transit.fate = Fate::LostOnAir;
        }
    }
}
