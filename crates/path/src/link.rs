//! A unidirectional link: a queue with a router's law, a transmitter, a channel and a propagation delay.
//!
//! A FIFO link knows when a packet will leave as soon as it arrives, and with what fate, so it hands the packet over at
//! once: [`Arrival::Leaves`] says when it will be at the far end, and whoever drives the link keeps it until then. What
//! happens in between (the packet leaves the queue, the law sees it) is caught up in the order of time before anything
//! else touches the link; [`Link::settle`] does so before the packet is looked at. Only the timers of the law are
//! events. Where packets that come later decide when a packet leaves, or a law drops at departure, the link goes step
//! by step and has an event for each step.

use std::sync::Arc;

use crate::air::{Air, BusyPeriod, Fate};
use crate::counters::LinkCounters;
use crate::layer::LinkLayer;
use crate::packet::{PacketId, Parcel, Store, kind};
use crate::ring::Ring;
use crate::router::{LawHost, QueueView};
use crate::spec::{LinkSpec, Queues};
use crate::stepwise::StepwiseLink;
use crate::transmitter::{Served, Transmitter};
use crate::violation::{Checked, violated};

#[cfg(feature = "fault-injection")]
mod fault;
mod law;
#[cfg(feature = "fault-injection")]
pub use fault::LinkFault;

/// A packet between its arrival and the beginning of its transmission.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    arrived_ns: u64,
    served: Served,
    id: PacketId,
    /// On-air bytes.
    bytes: u32,
    /// On a link with a channel.
    fate: Fate,
}

/// What became of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It will be at the far end at `due_ns`, whatever comes after it, and is the caller's again from then on.
    Leaves {
        /// When.
        due_ns: u64,
        /// Whether it is lost on the air: then it does not arrive.
        is_lost: bool,
    },
    /// It is on its way, and comes out of a service; [`Link::next_due`] may have moved to an earlier time.
    Taken,
    /// It was dropped, and nothing else happened; the packet is the caller's again.
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

/// See the module's documentation. Fields that every packet touches stand first and share few cache lines.
#[derive(Debug)]
#[repr(C)]
pub struct Link {
    /// Start of the first that waits; `u64::MAX`: nobody does.
    start_ns_next: u64,
    law: Option<Box<LawHost>>,
    air: Option<Box<Air>>,
    has_channel: bool,
    /// Oldest first.
    waiting: Ring<Waiting>,
    queue_bytes: u64,
    delay_ns: u64,
    limit_bytes: u64,
    limit_pkts: u32,
    busy: BusyPeriod,
    transmitter: Transmitter,
    /// The last one that left the queue.
    last: Waiting,
    /// Time in transmission, for the capacity part of a law.
    busy_ns: u64,
    counters: LinkCounters,
    name: Arc<str>,
    /// For what cannot be planned at arrival; then nothing else here is in use.
    stepwise: Option<Box<StepwiseLink>>,
}

impl Link {
    /// Whether a link of this spec hands its packets over when they arrive.
    pub fn plans_ahead(spec: &LinkSpec) -> bool {
        !spec.goes_step_by_step()
    }

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
        Self {
            start_ns_next: u64::MAX,
            law: LawHost::of(spec, seed, packet_bytes, ""),
            air: Air::of(spec, seed).map(Box::new),
            has_channel: spec.channel.is_some(),
            waiting: Ring::default(),
            queue_bytes: 0,
            delay_ns: spec.delay_ns,
            limit_bytes: spec.buffer.bytes.unwrap_or(u64::MAX),
            limit_pkts: spec.buffer.packets.unwrap_or(u32::MAX),
            busy: BusyPeriod::default(),
            transmitter: Transmitter::new(&spec.capacity),
            last: Waiting::default(),
            busy_ns: 0,
            counters: LinkCounters::default(),
            name: Arc::clone(&spec.name),
            stepwise: None,
        }
    }

    /// A link that hands everything on to [`StepwiseLink`].
    fn step_by_step(spec: &LinkSpec, seed: u64, packet_bytes: u32) -> Self {
        let mut plain = spec.clone();
        (plain.channel, plain.queues, plain.layer) = (None, Queues::One, LinkLayer::default());
        plain.router.law = fadelab_laws::router("droptail").expect("drop-tail is registered");
        Self {
            stepwise: Some(Box::new(StepwiseLink::new(spec, seed, packet_bytes))),
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
        match &self.stepwise {
            Some(stepwise) => stepwise.next_due(),
            None => self.law.as_ref().map_or(u64::MAX, |law| law.next_due()),
        }
    }

    /// Takes a packet at `now_ns`: it joins the queue, if law and limit let it.
    ///
    /// # Errors
    /// An invariant of the link is broken.
    #[inline]
    pub fn arrive(&mut self, now_ns: u64, parcel: Parcel, store: &mut impl Store) -> Checked<Arrival> {
        if let Some(stepwise) = &mut self.stepwise {
            return stepwise.arrive(now_ns, parcel, store);
        }
        self.settle(now_ns, store)?;
        let ip_bytes = u32::from(parcel.ip_bytes());
        let bytes = match &mut self.air {
            None => ip_bytes,
            Some(air) => air.bytes(kind(store.header(parcel.id())), ip_bytes),
        };
        self.counters.arrived_pkts += 1;
        self.counters.arrived_bytes += u64::from(bytes);
        let full = self.queue_pkts() >= self.limit_pkts || self.queue_bytes + u64::from(bytes) > self.limit_bytes;
        let verdict = self.show_arrival(now_ns, parcel.id(), bytes, full, store);
        if verdict.dropped || full {
            self.counters.dropped_full_pkts += u64::from(full);
            self.counters.dropped_law_pkts += u64::from(!full);
            self.counters.dropped_bytes += u64::from(bytes);
            return Ok(Arrival::Dropped);
        }
        self.plan(now_ns, parcel, bytes, verdict.marked, store)
    }

    /// Hands a packet to the transmitter, the channel and the propagation behind it: when it leaves, and whether, is
    /// known from now on.
    #[inline(always)]
    fn plan(
        &mut self,
        now_ns: u64,
        parcel: Parcel,
        bytes: u32,
        is_marked: bool,
        store: &mut impl Store,
    ) -> Checked<Arrival> {
        let served = self.transmitter.serve(now_ns, bytes);
        let fate = match &mut self.air {
            None => Fate {
                is_marked,
                ..Fate::default()
            },
            Some(air) => {
                let header = store.header(parcel.id());
                let lost = air.loses(served.start_ns, kind(header), header.ip_bytes);
                Fate {
                    is_data: header.is_data(),
                    is_lost: lost.unwrap_or(false),
                    is_marked,
                }
            }
        };
        let entry = Waiting {
            arrived_ns: now_ns,
            served,
            id: parcel.id(),
            bytes,
            fate,
        };
        if served.start_ns <= now_ns {
            // All that came before began before: straight into the transmitter.
            self.begin(&entry, store)?;
        } else {
            self.start_ns_next = self.start_ns_next.min(served.start_ns);
            self.queue_bytes += u64::from(bytes);
            self.waiting.push(entry);
        }
        self.check_conservation(now_ns)?;
        Ok(Arrival::Leaves {
            due_ns: served.end_ns + self.delay_ns,
            is_lost: fate.is_lost,
        })
    }

    /// Gives the link the attention it asked for at `due_ns`. Call again while [`Self::next_due`] is still `due_ns`.
    ///
    /// # Errors
    /// An invariant of the link is broken.
    pub fn service(&mut self, due_ns: u64, store: &mut impl Store) -> Checked<Departure> {
        if let Some(stepwise) = &mut self.stepwise {
            return stepwise.service(due_ns, store);
        }
        self.settle(due_ns, store)?;
        if let Some(law) = &self.law
            && law.next_due() <= due_ns
        {
            self.run_timers(due_ns);
        }
        Ok(Departure::None)
    }

    /// Lets every packet whose transmission began by `now_ns` leave the queue. To be called before a packet that the
    /// link handed over is looked at.
    ///
    /// # Errors
    /// An invariant of the link is broken.
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
        while let Some(&first) = self.waiting.front()
            && first.served.start_ns <= now_ns
        {
            self.leave_queue(&first)?;
            self.begin(&first, store)?;
        }
        self.start_ns_next = self.waiting.front().map_or(u64::MAX, |next| next.served.start_ns);
        Ok(())
    }

    /// A packet that had to wait leaves the queue, in which it is still counted.
    #[inline(always)]
    fn leave_queue(&mut self, first: &Waiting) -> Checked<()> {
        if self.queue_pkts() > self.limit_pkts || self.queue_bytes > self.limit_bytes {
            return self.broken("a queue stays within its limit", first.served.start_ns, first);
        }
        let waited_ns = first.served.start_ns - first.arrived_ns;
        self.counters.queue_byte_ns += u128::from(waited_ns) * u128::from(first.bytes);
        self.counters.queue_pkt_ns += u128::from(waited_ns);
        self.waiting.remove_front();
        self.queue_bytes -= u64::from(first.bytes);
        Ok(())
    }

    /// The transmission of a packet begins.
    #[inline(always)]
    fn begin(&mut self, first: &Waiting, store: &mut impl Store) -> Checked<()> {
        self.last = *first;
        if self.law.is_some() {
            self.last.fate.is_marked |= self.show_departure(first, store)?;
            self.counters.marked_pkts += u64::from(self.last.fate.is_marked);
            self.busy_ns += first.served.end_ns - first.served.start_ns;
        }
        self.counters.sent_pkts += 1;
        self.counters.sent_bytes += u64::from(first.bytes);
        if self.has_channel {
            let (data, lost) = (u64::from(first.fate.is_data), u64::from(first.fate.is_lost));
            self.counters.sent_data_pkts += data;
            self.counters.lost_air_pkts += lost;
            self.counters.lost_air_data_pkts += data & lost;
        }
        self.busy.add(first.served.start_ns, first.served.end_ns, first.bytes);
        let busy = &self.busy;
        if self
            .transmitter
            .can_send(busy.start_ns, first.served.end_ns, busy.bytes)
        {
            return Ok(());
        }
        self.broken("a link never exceeds its capacity", first.served.start_ns, first)
    }

    /// Counters as they stand at `now_ns`.
    ///
    /// # Errors
    /// An invariant of the link is broken.
    pub fn snapshot(&mut self, now_ns: u64, store: &mut impl Store) -> Checked<LinkCounters> {
        if let Some(stepwise) = &mut self.stepwise {
            return stepwise.snapshot(now_ns, store);
        }
        self.settle(now_ns, store)?;
        self.check_conservation(now_ns)?;
        let mut counters = self.counters;
        for waiting in self.waiting.iter_from(0) {
            let so_far_ns = u128::from(now_ns - waiting.arrived_ns);
            counters.queue_byte_ns += so_far_ns * u128::from(waiting.bytes);
            counters.queue_pkt_ns += so_far_ns;
        }
        let last = &self.last;
        let is_unsent = last.served.end_ns > now_ns;
        counters.sent_bytes -= self.transmitter.unsent_bytes(last.served, last.bytes, now_ns);
        counters.sent_pkts -= u64::from(is_unsent);
        counters.marked_pkts -= u64::from(is_unsent && last.fate.is_marked);
        if is_unsent && self.has_channel {
            let (data, lost) = (u64::from(last.fate.is_data), u64::from(last.fate.is_lost));
            counters.sent_data_pkts -= data;
            counters.lost_air_pkts -= lost;
            counters.lost_air_data_pkts -= data * lost;
        }
        counters.offered_bytes = self.transmitter.offered_bytes(now_ns);
        counters.queue_bytes = self.queue_bytes;
        counters.queue_pkts = self.queue_pkts();
        Ok(counters)
    }

    /// Packets that will come out of a service. What was handed over is not among them.
    pub fn held_pkts(&self) -> u64 {
        self.stepwise.as_ref().map_or(0, |stepwise| stepwise.held_pkts())
    }

    #[inline]
    fn queue_pkts(&self) -> u32 {
        self.waiting.len() as u32
    }

    #[inline]
    fn view(&self, now_ns: u64) -> QueueView {
        QueueView {
            now_ns,
            bytes: self.queue_bytes,
            pkts: self.queue_pkts(),
        }
    }

    /// Off the hot path: says what the link looked like.
    #[cold]
    #[inline(never)]
    fn broken<T>(&self, invariant: &'static str, now_ns: u64, what: &dyn std::fmt::Debug) -> Checked<T> {
        let (pkts, bytes) = (self.queue_pkts(), self.queue_bytes);
        let detail = format!(
            "{what:?}; waiting {pkts} pkts, {bytes} B, delay {} ns, {:?}, {:?}",
            self.delay_ns, self.busy, self.counters
        );
        violated(invariant, &self.name, now_ns, detail)
    }

    /// Packets in = sent + dropped + waiting. Two independent counts: of events, and of what is in the ring.
    #[inline(always)]
    fn check_conservation(&self, now_ns: u64) -> Checked<()> {
        let c = &self.counters;
        let waiting = self.waiting.len() as u64;
        if c.arrived_pkts != c.sent_pkts + c.dropped_full_pkts + c.dropped_law_pkts + waiting {
            return self.broken("packets are conserved at a node", now_ns, &waiting);
        }
        if c.arrived_bytes != c.sent_bytes + c.dropped_bytes + self.queue_bytes {
            return self.broken("bytes are conserved at a node", now_ns, &self.queue_bytes);
        }
        Ok(())
    }
}
