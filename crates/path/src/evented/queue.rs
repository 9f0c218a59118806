//! What waits: one queue under a law, several that take turns, or those that a law has of its own.

use std::collections::VecDeque;

use fadelab_phy::channel::PacketKind;

use super::fair::FairQueue;
use super::own::{Named, OwnQueues};
use crate::counters::LinkCounters;
use crate::packet::{Parcel, Store};
use crate::queue::{Drops, Limits, Waits};
use crate::router::{LawHost, Meter, QueueView};
use crate::spec::{LinkSpec, Queues};

/// A packet that waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub arrived_ns: u64,
    pub parcel: Parcel,
    /// On-air bytes.
    pub bytes: u32,
    pub is_data: bool,
    /// Whether the law marked it.
    pub is_marked: bool,
    pub class: u8,
}

impl Waiting {
    pub fn kind(&self) -> PacketKind {
        if self.is_data {
            PacketKind::Data
        } else {
            PacketKind::Ack
        }
    }
}

/// The link's counters, what waited and what was dropped, and the packets that it dropped after their arrival, to be
/// handed back.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    pub counters: LinkCounters,
    waits: Waits,
    pub drops: Drops,
    dropped: VecDeque<(u64, Parcel)>,
}

impl Ledger {
    /// A packet was dropped at `now_ns` after it had been taken.
    pub fn drop_taken(&mut self, now_ns: u64, waiting: &Waiting, by_law: bool) {
        self.drops.add(waiting.bytes, by_law);
        self.dropped.push_back((now_ns, waiting.parcel));
    }

    /// A packet leaves its queue.
    pub fn count_wait(&mut self, now_ns: u64, waiting: &Waiting) {
        self.waits.add(now_ns - waiting.arrived_ns, waiting.bytes);
    }

    pub fn hand_back(&mut self) -> Option<Parcel> {
        self.dropped.pop_front().map(|(_, parcel)| parcel)
    }

    pub fn handed_back_ns(&self) -> u64 {
        self.dropped.front().map_or(u64::MAX, |&(at_ns, _)| at_ns)
    }

    pub fn handed_back_pkts(&self) -> u64 {
        self.dropped.len() as u64
    }
}

/// A queue and the law that it has to itself.
#[derive(Debug)]
pub(super) struct LawQueue {
    /// ACKs, where they go before data; else nothing.
    ahead: VecDeque<Waiting>,
    packets: VecDeque<Waiting>,
    acks_first: bool,
    bytes: u64,
    law: Box<LawHost>,
}

impl LawQueue {
    pub fn new(law: LawHost, acks_first: bool) -> Self {
        Self {
            ahead: VecDeque::new(),
            packets: VecDeque::new(),
            acks_first,
            bytes: 0,
            law: Box::new(law),
        }
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn pkts(&self) -> u32 {
        (self.ahead.len() + self.packets.len()) as u32
    }

    pub fn packets(&self) -> impl Iterator<Item = &Waiting> {
        self.ahead.iter().chain(&self.packets)
    }

    pub fn holds_state(&self, address: usize) -> bool {
        self.law.holds_state(address)
    }

    pub fn watch(&self, values: &mut Vec<u64>) {
        self.law.watch(values);
    }

    fn view(&self, now_ns: u64) -> QueueView {
        QueueView {
            now_ns,
            bytes: self.bytes,
            pkts: self.pkts(),
        }
    }

    /// A packet that may join unless there is no room or the law drops it. Returns whether it did.
    pub fn arrive(&mut self, mut waiting: Waiting, full: bool, ledger: &mut Ledger, store: &mut impl Store) -> bool {
        let (view, id) = (self.view(waiting.arrived_ns), waiting.parcel.id());
        let fate = self.law.on_enqueue(view, full, id, waiting.bytes, store);
        waiting.is_marked = fate.is_marked();
        if full || fate.is_dropped() {
            ledger.drops.add(waiting.bytes, !full);
            return false;
        }
        self.bytes += u64::from(waiting.bytes);
        if self.acks_first && !waiting.is_data {
            self.ahead.push_back(waiting);
        } else {
            self.packets.push_back(waiting);
        }
        true
    }

    /// The packet that is sent next, after those that the law drops.
    pub fn take(&mut self, now_ns: u64, ledger: &mut Ledger, store: &mut impl Store) -> Option<Waiting> {
        while let Some(mut waiting) = self.remove_oldest() {
            ledger.count_wait(now_ns, &waiting);
            let (view, waited_ns) = (self.view(now_ns), now_ns - waiting.arrived_ns);
            let id = waiting.parcel.id();
            let fate = self.law.on_dequeue(view, waited_ns, id, waiting.bytes, store);
            waiting.is_marked |= fate.is_marked();
            if !fate.is_dropped_late() {
                return Some(waiting);
            }
            ledger.drop_taken(now_ns, &waiting, true);
        }
        None
    }

    /// Takes the packet out whose turn it is, without asking the law.
    pub fn remove_oldest(&mut self) -> Option<Waiting> {
        let waiting = self.ahead.pop_front().or_else(|| self.packets.pop_front())?;
        self.bytes -= u64::from(waiting.bytes);
        Some(waiting)
    }

    /// Drops the oldest packet for want of room and returns it.
    pub fn drop_oldest(&mut self, now_ns: u64, ledger: &mut Ledger) -> Option<Waiting> {
        let waiting = self.remove_oldest()?;
        ledger.count_wait(now_ns, &waiting);
        Some(waiting)
    }
}

/// All that waits at a link.
#[derive(Debug)]
pub(super) enum Queue {
    One(LawQueue),
    Fair(Box<FairQueue>),
    Own(OwnQueues),
}

impl Queue {
    pub fn new(spec: &LinkSpec, seed: u64, packet_bytes: u32) -> Self {
        assert!(
            spec.queues == Queues::One || spec.router.law.queues() == 0,
            "link {}: a law with queues of its own cannot stand in others",
            spec.name
        );
        match spec.queues {
            Queues::One if spec.router.law.queues() > 0 => {
                let law = LawHost::new(spec, seed, packet_bytes, "");
                Self::Own(OwnQueues::new(law, spec.router.law.queues()))
            }
            Queues::One | Queues::AcksFirst => {
                let law = LawHost::new(spec, seed, packet_bytes, "");
                Self::One(LawQueue::new(law, spec.queues == Queues::AcksFirst))
            }
            Queues::Fair { hashed, quantum_bytes } => Self::Fair(Box::new(FairQueue::new(
                spec,
                seed,
                packet_bytes,
                hashed,
                quantum_bytes,
            ))),
        }
    }

    pub fn bytes(&self) -> u64 {
        match self {
            Self::One(queue) => queue.bytes(),
            Self::Fair(fair) => fair.bytes(),
            Self::Own(own) => own.bytes(),
        }
    }

    pub fn pkts(&self) -> u32 {
        match self {
            Self::One(queue) => queue.pkts(),
            Self::Fair(fair) => fair.pkts(),
            Self::Own(own) => own.pkts(),
        }
    }

    /// An arrival. Returns whether it was taken; what was dropped to make room for it stands in the ledger.
    pub fn arrive(
        &mut self,
        waiting: Waiting,
        limits: Limits,
        ledger: &mut Ledger,
        store: &mut impl Store,
    ) -> Named<bool> {
        let full = |pkts, bytes| !limits.admit(pkts, bytes, waiting.bytes);
        match self {
            Self::One(queue) => Ok(queue.arrive(waiting, full(queue.pkts(), queue.bytes()), ledger, store)),
            Self::Fair(fair) => Ok(fair.arrive(waiting, limits, ledger, store)),
            Self::Own(own) => own.arrive(waiting, full(own.pkts(), own.bytes()), ledger, store),
        }
    }

    /// The packet that is sent next.
    pub fn take(&mut self, now_ns: u64, ledger: &mut Ledger, store: &mut impl Store) -> Named<Option<Waiting>> {
        match self {
            Self::One(queue) => Ok(queue.take(now_ns, ledger, store)),
            Self::Fair(fair) => Ok(fair.take(now_ns, ledger, store)),
            Self::Own(own) => own.take(now_ns, ledger, store),
        }
    }

    /// Tells what waits at `now_ns`, and what became of the rest.
    pub fn tell(&self, now_ns: u64, ledger: &Ledger, counters: &mut LinkCounters) {
        let mut waits = ledger.waits;
        let mut add = |waiting: &Waiting| waits.add(now_ns - waiting.arrived_ns, waiting.bytes);
        match self {
            Self::One(queue) => queue.packets().for_each(&mut add),
            Self::Fair(fair) => fair.packets().for_each(&mut add),
            Self::Own(own) => own.packets().for_each(&mut add),
        }
        waits.tell(counters);
        ledger.drops.tell(counters);
        (counters.queue_bytes, counters.queue_pkts) = (self.bytes(), self.pkts());
    }

    pub fn holds_state(&self, address: usize) -> bool {
        match self {
            Self::One(queue) => queue.holds_state(address),
            Self::Fair(fair) => fair.holds_state(address),
            Self::Own(own) => own.holds_state(address),
        }
    }

    /// Which of the laws of fair queues would be meant nobody could say.
    pub fn watch(&self, values: &mut Vec<u64>) {
        if let Self::One(queue) = self {
            queue.watch(values);
        }
    }

    /// When a timer of the law is due. The laws of fair queues have none.
    pub fn next_timer(&self) -> u64 {
        match self {
            Self::One(queue) => queue.law.next_due(),
            Self::Own(own) => own.next_timer(),
            Self::Fair(_) => u64::MAX,
        }
    }

    pub fn run_timers(&mut self, now_ns: u64, meter: Meter) {
        match self {
            Self::One(queue) => queue.law.run_timers(queue.view(now_ns), meter),
            Self::Own(own) => own.run_timers(now_ns, meter),
            Self::Fair(_) => {}
        }
    }
}
