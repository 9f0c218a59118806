//! A link that knows when a packet will leave as soon as it arrives, and with what fate.
//!
//! Nothing that comes later changes when a packet leaves a queue that is first in, first out, under a law that drops at
//! arrival alone; the channel's verdict is drawn by time. So the packet is handed over at once, with the time at which
//! it will be at the far end. What happens in between is caught up in the order of time before anything else touches
//! the link, and before anybody looks at a packet that was handed over ([`Transit::settle`]): packets leave the queue,
//! and the law is shown that. Only its timers are events of their own.
//!
//! A [wire](crate::wire) is the shortest form of it, and [`Evented`](crate::evented::Evented) takes an event for each
//! step: tests hold all three together.

use std::sync::Arc;

use fadelab_phy::channel::PacketKind;

use crate::air::{Air, Counted};
use crate::counters::LinkCounters;
use crate::histogram::Histogram;
use crate::packet::{PacketId, Parcel, Store};
use crate::queue::{BYTES, Broken, Drops, Fifo, LIMIT, Limits, Waiting};
use crate::router::{LawHost, Meter, QueueView};
use crate::spec::LinkSpec;
#[cfg(feature = "fault-injection")]
use crate::transit::NodeFault;
use crate::transit::{Arrival, Departure, Transit};
use crate::transmitter::{BusyPeriod, CAPACITY, Served, Transmit};
use crate::violation::{Checked, violated};

/// What a queue under a law has to know of a packet: its number, and where its transmission begins.
type Queued<P> = (PacketId, P);

/// See the module's documentation. Fields that every packet touches stand first.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Planned<T: Transmit> {
    transmitter: T,
    delay_ns: u64,
    limits: Limits,
    arrived_pkts: u64,
    arrived_bytes: u64,
    queue: Fifo<Queued<T::Place>>,
    /// The last transmission that began, and its bytes.
    last: Served<T::Place>,
    last_bytes: u32,
    /// On a link with a channel or a law.
    last_fate: Counted,
    /// Bytes whose transmission began, and the time that takes.
    sent_bytes: u64,
    busy_ns: u64,
    busy: BusyPeriod,
    marked_pkts: u64,
    drops: Drops,
    law: LawHost,
    air: Option<Box<Air>>,
    name: Arc<str>,
}

impl<T: Transmit> Planned<T> {
    /// The link of this spec behind whose queue is `transmitter`. `packet_bytes` is the IP size of a full data packet,
    /// for laws that scale with it.
    pub fn new(spec: &LinkSpec, transmitter: T, seed: u64, packet_bytes: u32) -> Self {
        Self {
            transmitter,
            delay_ns: spec.delay_ns,
            limits: Limits::of(spec.buffer),
            arrived_pkts: 0,
            arrived_bytes: 0,
            queue: Fifo::default(),
            last: Served::default(),
            last_bytes: 0,
            last_fate: Counted::default(),
            sent_bytes: 0,
            busy_ns: 0,
            busy: BusyPeriod::default(),
            marked_pkts: 0,
            drops: Drops::default(),
            law: LawHost::new(spec, seed, packet_bytes, ""),
            air: Air::of(spec, seed).map(Box::new),
            name: Arc::clone(&spec.name),
        }
    }

    /// Counts a packet that takes so many bytes on the air, beside what all take. Returns what it takes.
    #[inline(always)]
    fn count_arrival(&mut self, own_bytes: u32) -> u32 {
        let bytes = own_bytes + self.transmitter.header_bytes();
        self.arrived_pkts += 1;
        self.arrived_bytes += u64::from(bytes);
        bytes
    }

    /// A packet comes to a link with a channel.
    #[inline(never)]
    fn arrive_on_air(
        &mut self,
        now_ns: u64,
        parcel: Parcel,
        kind: PacketKind,
        store: &mut impl Store,
    ) -> Checked<Arrival> {
        let air = self.air.as_mut();
        let own_bytes = air.map_or(0, |air| air.make_ready(kind, parcel.ip_bytes()));
        let bytes = self.count_arrival(own_bytes);
        if self.transmitter.is_free(now_ns) {
            self.pass(now_ns, parcel.id(), bytes, Some(kind), store)
        } else {
            self.join(now_ns, parcel.id(), bytes, Some(kind), store)
        }
    }

    /// All that came before begins by now, so the packet is sent as it comes.
    #[inline(always)]
    fn pass(
        &mut self,
        now_ns: u64,
        id: PacketId,
        bytes: u32,
        on_air: Option<PacketKind>,
        store: &mut impl Store,
    ) -> Checked<Arrival> {
        self.settle(now_ns, store)?;
        if u64::from(bytes) > self.limits.bytes {
            self.refuse(now_ns, id, bytes, store);
            return Ok(Arrival::Dropped);
        }
        let passage = self.law.on_passage(now_ns, id, bytes, store);
        if passage.is_dropped() {
            self.drops.add(bytes, true);
            return Ok(Arrival::Dropped);
        }
        let served = self.transmitter.serve(now_ns, bytes);
        let fate = self.decide(served.start_ns, bytes, on_air, passage.is_marked());
        self.begin(served, bytes, fate);
        if passage.is_dropped_late() {
            return self.broken((AT_DEQUEUE, now_ns));
        }
        Ok(self.leaves(served.end_ns, fate))
    }

    /// A packet for which there is no room. The law sees it come.
    #[cold]
    fn refuse(&mut self, now_ns: u64, id: PacketId, bytes: u32, store: &mut impl Store) {
        self.law.on_enqueue(self.view(now_ns), true, id, bytes, store);
        self.drops.add(bytes, false);
    }

    /// The fate of a packet of so many bytes whose transmission begins at `start_ns`.
    #[inline(always)]
    fn decide(&mut self, start_ns: u64, bytes: u32, on_air: Option<PacketKind>, is_marked: bool) -> Counted {
        let fate = match (on_air, &mut self.air) {
            (Some(kind), Some(air)) => {
                let fate = air.decide(start_ns, kind);
                air.lost_bytes += u64::from(bytes) * u64::from(fate.is_lost);
                fate
            }
            _ => Counted::default(),
        };
        Counted { is_marked, ..fate }
    }

    #[inline(always)]
    fn leaves(&self, end_ns: u64, fate: Counted) -> Arrival {
        let due_ns = end_ns + self.delay_ns;
        if fate.is_lost {
            Arrival::Lost { due_ns }
        } else {
            Arrival::Leaves { due_ns }
        }
    }

    /// A packet comes while others are sent.
    #[inline(never)]
    fn queue_up(&mut self, now_ns: u64, id: PacketId, bytes: u32, store: &mut impl Store) -> Checked<Arrival> {
        self.join(now_ns, id, bytes, None, store)
    }

    #[inline(always)]
    fn join(
        &mut self,
        now_ns: u64,
        id: PacketId,
        bytes: u32,
        on_air: Option<PacketKind>,
        store: &mut impl Store,
    ) -> Checked<Arrival> {
        self.begin_until(now_ns, store)?;
        if !self.limits.admit(self.queue.pkts(), self.queue.bytes(), bytes) {
            self.refuse(now_ns, id, bytes, store);
            return Ok(Arrival::Dropped);
        }
        let verdict = self.law.on_enqueue(self.view(now_ns), false, id, bytes, store);
        if verdict.is_dropped() {
            self.drops.add(bytes, true);
            return Ok(Arrival::Dropped);
        }
        let Served {
            start_ns,
            end_ns,
            place,
        } = self.transmitter.serve(now_ns, bytes);
        let fate = self.decide(start_ns, bytes, on_air, verdict.is_marked());
        self.queue.push(Waiting {
            arrived_ns: now_ns,
            start_ns,
            end_ns,
            bytes,
            fate,
            more: (id, place),
        });
        if self.arrived_bytes != self.sent_bytes + self.drops.bytes + self.queue.bytes() {
            return self.broken((BYTES, now_ns));
        }
        Ok(self.leaves(end_ns, fate))
    }

    #[inline(never)]
    fn start_until(&mut self, now_ns: u64, store: &mut impl Store) -> Checked<()> {
        self.begin_until(now_ns, store)
    }

    /// Inlined where packets come while others are sent: nearly always one of these has begun in the meantime.
    #[inline(always)]
    fn begin_until(&mut self, now_ns: u64, store: &mut impl Store) -> Checked<()> {
        while self.queue.has_begun(now_ns)
            && let Some(&first) = self.queue.first()
        {
            if !self.queue.leave(&first, &self.limits) {
                return self.broken((LIMIT, first.start_ns));
            }
            let (view, (id, place)) = (self.view(first.start_ns), first.more);
            let (mut fate, waited_ns) = (first.fate, first.start_ns - first.arrived_ns);
            let verdict = self.law.on_dequeue(view, waited_ns, id, first.bytes, store);
            fate.is_marked |= verdict.is_marked();
            let (start_ns, end_ns) = (first.start_ns, first.end_ns);
            let served = Served {
                start_ns,
                end_ns,
                place,
            };
            self.begin(served, first.bytes, fate);
            if verdict.is_dropped_late() {
                return self.broken((AT_DEQUEUE, start_ns));
            }
            if !self.transmitter.can_send(self.busy.start_ns, end_ns, self.busy.bytes) {
                return self.broken((CAPACITY, start_ns));
            }
        }
        Ok(())
    }

    /// A transmission begins.
    #[inline(always)]
    fn begin(&mut self, served: Served<T::Place>, bytes: u32, fate: Counted) {
        (self.last, self.last_bytes, self.last_fate) = (served, bytes, fate);
        self.marked_pkts += u64::from(fate.is_marked);
        self.sent_bytes += u64::from(bytes);
        self.busy.add(served.start_ns, served.end_ns, bytes);
        self.busy_ns += served.end_ns - served.start_ns;
    }

    #[inline(always)]
    fn view(&self, now_ns: u64) -> QueueView {
        QueueView {
            now_ns,
            bytes: self.queue.bytes(),
            pkts: self.queue.pkts(),
        }
    }

    #[inline(never)]
    fn run_timers(&mut self, now_ns: u64) {
        // What was begun but is not yet on the air by now counts as busy time of the next interval.
        let unsent_ns = self.last.end_ns.saturating_sub(now_ns);
        let meter = Meter {
            offered_bytes: self.transmitter.offered_bytes(now_ns),
            sent_bytes: self.sent_bytes,
            arrived_pkts: self.arrived_pkts,
            arrived_bytes: self.arrived_bytes,
            busy_ns: self.busy_ns - unsent_ns,
            received_bytes: self.sent_bytes - self.lost_bytes(),
        };
        self.law.run_timers(self.view(now_ns), meter);
    }

    /// Bytes of transmissions that began and are lost on the air.
    fn lost_bytes(&self) -> u64 {
        let decided = self.air.as_ref().map_or(0, |air| air.lost_bytes);
        let waiting = || self.queue.packets().filter(|waiting| waiting.fate.is_lost);
        let unsent = || waiting().map(|waiting| u64::from(waiting.bytes)).sum();
        // Without losses there are none among those that wait.
        decided - if decided > 0 { unsent() } else { 0 }
    }

    /// Off the hot path: says what the link looked like.
    #[cold]
    #[inline(never)]
    fn broken<R>(&self, (invariant, now_ns): Broken) -> Checked<R> {
        violated(invariant, &self.name, now_ns, format!("{self:?}"))
    }
}

impl<T: Transmit> Transit for Planned<T> {
    fn name(&self) -> &str {
        &self.name
    }

    #[inline(always)]
    fn arrive(&mut self, now_ns: u64, parcel: Parcel, kind: PacketKind, store: &mut impl Store) -> Checked<Arrival> {
        if self.air.is_some() {
            return self.arrive_on_air(now_ns, parcel, kind, store);
        }
        let bytes = self.count_arrival(u32::from(parcel.ip_bytes()));
        if self.transmitter.is_free(now_ns) {
            self.pass(now_ns, parcel.id(), bytes, None, store)
        } else {
            self.queue_up(now_ns, parcel.id(), bytes, store)
        }
    }

    #[inline(always)]
    fn next_due(&self) -> u64 {
        self.law.next_due()
    }

    fn service(&mut self, due_ns: u64, store: &mut impl Store) -> Checked<Departure> {
        self.settle(due_ns, store)?;
        if self.next_due() <= due_ns {
            self.run_timers(due_ns);
        }
        Ok(Departure::None)
    }

    #[inline(always)]
    fn settle(&mut self, now_ns: u64, store: &mut impl Store) -> Checked<()> {
        if self.queue.has_begun(now_ns) {
            self.start_until(now_ns, store)
        } else {
            Ok(())
        }
    }

    fn snapshot(&mut self, now_ns: u64, store: &mut impl Store) -> Checked<LinkCounters> {
        self.settle(now_ns, store)?;
        let mut counters = LinkCounters {
            arrived_pkts: self.arrived_pkts,
            arrived_bytes: self.arrived_bytes,
            sent_pkts: self.arrived_pkts - self.drops.pkts() - u64::from(self.queue.pkts()),
            sent_bytes: self.sent_bytes,
            offered_bytes: self.transmitter.offered_bytes(now_ns),
            marked_pkts: self.marked_pkts,
            ..LinkCounters::default()
        };
        self.drops.tell(&mut counters);
        if let Err(broken) = self.queue.tell(now_ns, &mut counters) {
            return self.broken(broken);
        }
        if counters.arrived_bytes != counters.sent_bytes + counters.dropped_bytes + counters.queue_bytes {
            return self.broken((BYTES, now_ns));
        }
        let is_unsent = self.last.end_ns > now_ns;
        if is_unsent {
            // Here a packet counts as sent from its beginning on, in results when it was.
            counters.sent_bytes -= self.transmitter.unsent_bytes(self.last, self.last_bytes, now_ns);
            counters.sent_pkts -= 1;
            counters.marked_pkts -= u64::from(self.last_fate.is_marked);
        }
        if let Some(air) = &self.air {
            air.tell(
                &mut counters,
                self.queue
                    .packets()
                    .map(|waiting| waiting.fate)
                    .chain(is_unsent.then_some(self.last_fate)),
            );
        }
        Ok(counters)
    }

    fn count_delays(&mut self, classes: usize) {
        self.queue.count_delays(classes);
    }

    fn arrive_of_class(
        &mut self,
        now_ns: u64,
        parcel: Parcel,
        class: u8,
        kind: PacketKind,
        store: &mut impl Store,
    ) -> Checked<Arrival> {
        let queued = self.queue.queued();
        let arrival = self.arrive(now_ns, parcel, kind, store)?;
        if arrival != Arrival::Dropped {
            self.queue.tell_class(queued, class);
        }
        Ok(arrival)
    }

    fn forget_delays(&mut self) {
        self.queue.forget_delays();
    }

    fn delays(&mut self) -> Vec<Histogram> {
        self.queue.delays()
    }

    fn held_pkts(&self) -> u64 {
        0
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
        self.transmitter.next_start(0)
    }

    fn sees_departures(&self) -> bool {
        self.law.has_on_dequeue()
    }

    fn holds_state(&self, address: usize) -> bool {
        self.law.holds_state(address)
    }

    fn watch(&self, values: &mut Vec<u64>) {
        self.law.watch(values);
    }

    #[cfg(feature = "fault-injection")]
    fn break_invariant(&mut self, fault: NodeFault) -> bool {
        if self.queue.pkts() < 2 {
            return false;
        }
        match fault {
            NodeFault::Early | NodeFault::Vanishes => return false,
            NodeFault::LosesBytes => self.queue.lose_byte(),
            NodeFault::Overlaps => self.busy.bytes += 100 * u64::from(self.last_bytes),
            NodeFault::Overfills => self.limits.pkts = 0,
        }
        true
    }
}

const AT_DEQUEUE: &str = "a law drops at departure only if it says so";
