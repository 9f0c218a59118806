//! Queues that a router's law has of its own: it says which one an arrival joins and which one sends next. Each is
//! first in, first out; they share the link's limit.

use std::collections::VecDeque;

use super::queue::{Ledger, Waiting};
use crate::packet::Store;
use crate::router::{LawHost, Meter, OwnQueue, QueueView};

/// A law named a queue that it does not have, or one from which nothing can leave.
#[derive(Debug)]
pub(super) struct WrongQueue {
    /// What the law did: `classify` or `pick`.
    #[allow(dead_code, reason = "the message of a broken invariant shows it")]
    pub function: &'static str,
    /// The queue that it named.
    #[allow(dead_code, reason = "as above")]
    pub index: u32,
    /// What the queues held.
    #[allow(dead_code, reason = "as above")]
    pub queues: Vec<OwnQueue>,
}

/// What may go wrong where a law names queues.
pub(super) type Named<T> = Result<T, Box<WrongQueue>>;

#[derive(Debug, Default)]
struct Line {
    packets: VecDeque<Waiting>,
    bytes: u64,
}

impl Line {
    fn told(&self, now_ns: u64) -> OwnQueue {
        OwnQueue {
            bytes: self.bytes,
            pkts: self.packets.len() as u32,
            wait_ns: self.packets.front().map_or(0, |head| now_ns - head.arrived_ns),
        }
    }
}

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct OwnQueues {
    lines: Vec<Line>,
    bytes: u64,
    pkts: u32,
    law: Box<LawHost>,
}

impl OwnQueues {
    /// Queues of a law that has `count` of its own.
    pub fn new(law: LawHost, count: u32) -> Self {
        Self {
            lines: (0..count).map(|_| Line::default()).collect(),
            bytes: 0,
            pkts: 0,
            law: Box::new(law),
        }
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn pkts(&self) -> u32 {
        self.pkts
    }

    pub fn packets(&self) -> impl Iterator<Item = &Waiting> {
        self.lines.iter().flat_map(|line| &line.packets)
    }

    pub fn holds_state(&self, address: usize) -> bool {
        self.law.holds_state(address)
    }

    pub fn next_timer(&self) -> u64 {
        self.law.next_due()
    }

    fn view(&self, now_ns: u64) -> QueueView {
        QueueView {
            now_ns,
            bytes: self.bytes,
            pkts: self.pkts,
        }
    }

    /// Shows the law what waits in each queue now.
    fn show(&mut self, now_ns: u64) {
        for (index, line) in self.lines.iter().enumerate() {
            self.law.show_own_queue(index, line.told(now_ns));
        }
    }

    #[cold]
    fn wrong<T>(&self, function: &'static str, index: u32, now_ns: u64) -> Named<T> {
        Err(Box::new(WrongQueue {
            function,
            index,
            queues: self.lines.iter().map(|line| line.told(now_ns)).collect(),
        }))
    }

    /// A packet that joins the queue that the law names, unless there is no room or the law drops it. Returns whether
    /// it did.
    pub fn arrive(
        &mut self,
        mut waiting: Waiting,
        full: bool,
        ledger: &mut Ledger,
        store: &mut impl Store,
    ) -> Named<bool> {
        let (now_ns, id) = (waiting.arrived_ns, waiting.parcel.id());
        self.show(now_ns);
        let view = self.view(now_ns);
        let index = self.law.classify(view, full, id, waiting.bytes, store);
        if index as usize >= self.lines.len() {
            return self.wrong("classify", index, now_ns);
        }
        let fate = self.law.on_enqueue(view, full, id, waiting.bytes, store);
        waiting.is_marked = fate.is_marked();
        if full || fate.is_dropped() {
            ledger.drops.add(waiting.bytes, !full);
            return Ok(false);
        }
        let line = &mut self.lines[index as usize];
        line.bytes += u64::from(waiting.bytes);
        line.packets.push_back(waiting);
        self.bytes += u64::from(waiting.bytes);
        self.pkts += 1;
        Ok(true)
    }

    /// The packet that is sent next: the head of the queue that the law picks, after those that it drops there.
    pub fn take(&mut self, now_ns: u64, ledger: &mut Ledger, store: &mut impl Store) -> Named<Option<Waiting>> {
        while self.pkts > 0 {
            self.show(now_ns);
            let index = self.law.pick(self.view(now_ns));
            let line = self.lines.get_mut(index as usize);
            let Some((line, mut waiting)) = line.and_then(|line| line.packets.pop_front().map(|head| (line, head)))
            else {
                return self.wrong("pick", index, now_ns);
            };
            line.bytes -= u64::from(waiting.bytes);
            self.bytes -= u64::from(waiting.bytes);
            self.pkts -= 1;
            ledger.count_wait(now_ns, &waiting);
            // As one queue is shown without the packet that leaves it, so is each of them.
            self.show(now_ns);
            let (view, waited_ns, id) = (self.view(now_ns), now_ns - waiting.arrived_ns, waiting.parcel.id());
            let fate = self.law.on_dequeue(view, waited_ns, id, waiting.bytes, store);
            waiting.is_marked |= fate.is_marked();
            if !fate.is_dropped_late() {
                return Ok(Some(waiting));
            }
            ledger.drop_taken(now_ns, &waiting, true);
        }
        Ok(None)
    }

    pub fn run_timers(&mut self, now_ns: u64, meter: Meter) {
        self.show(now_ns);
        self.law.run_timers(self.view(now_ns), meter);
    }
}
