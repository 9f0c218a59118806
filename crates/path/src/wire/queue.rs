//! The queue of a wire.

use super::{KindId, Line, Passage, Wire};
use crate::air::Counted;
use crate::counters::LinkCounters;
use crate::queue::{BYTES, Broken, Drops, Fifo, LIMIT, Waiting};
use crate::transmitter::{CAPACITY, Instant};

/// What becomes of a packet that comes to a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// It goes straight into the transmitter.
    Transmitter,
    /// It has to wait.
    Queue,
    /// There is no room for it.
    None,
}

/// The queue of a wire on which packets wait now and then.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pub waiting: Fifo<()>,
    /// Packets that were to come ahead of time and could not.
    pub held_back_pkts: u32,
    pub drops: Drops,
}

impl Queue {
    /// Lets every packet whose transmission began by `now_ns` leave for the transmitter.
    #[inline(always)]
    pub fn catch_up(&mut self, wire: &mut Wire, line: &Line, now_ns: u64) -> Result<(), Broken> {
        while self.waiting.has_begun(now_ns)
            && let Some(&first) = self.waiting.first()
        {
            if !self.waiting.leave(&first, &line.limits) {
                return Err((LIMIT, first.start_ns));
            }
            wire.before_pkts -= 1;
            wire.sent_bytes += u64::from(first.bytes);
            wire.busy_bytes += u64::from(first.bytes);
            if !line.rate.can_send(wire.busy_start_ns, first.end_ns, wire.busy_bytes) {
                return Err((CAPACITY, first.start_ns));
            }
        }
        Ok(())
    }

    /// Where a packet goes that comes at `now_ns`. One for which there is no room is counted.
    #[inline(always)]
    pub fn place(&mut self, wire: &mut Wire, line: &Line, now_ns: u64, bytes: u32) -> Result<Place, Broken> {
        self.catch_up(wire, line, now_ns)?;
        if wire.is_idle(now_ns) {
            return Ok(Place::Transmitter);
        }
        wire.arrived_pkts += 1;
        wire.arrived_bytes += u64::from(bytes);
        if line.limits.admit(self.waiting.pkts(), self.waiting.bytes(), bytes) {
            return Ok(Place::Queue);
        }
        self.drops.add(bytes, false);
        Ok(Place::None)
    }

    /// Adds a packet that has its place here. Its transmission begins when the wire is free.
    #[inline(always)]
    pub fn join(
        &mut self,
        wire: &mut Wire,
        line: &Line,
        now_ns: u64,
        bytes: u32,
        fate: Counted,
    ) -> Result<Passage, Broken> {
        let start = Instant {
            ns: wire.free_ns,
            q32: wire.free_q32,
        };
        let end = line.rate.end(start, bytes);
        (wire.free_ns, wire.free_q32) = (end.ns, end.q32);
        self.waiting.push(Waiting {
            arrived_ns: now_ns,
            start_ns: start.ns,
            end_ns: end.ceil_ns(),
            bytes,
            fate,
            more: (),
        });
        wire.before_pkts += 1;
        let passage = Passage {
            due_ns: end.ceil_ns() + line.delay_ns,
            kind: wire.kind as KindId,
        };
        if wire.arrived_bytes != wire.sent_bytes + self.drops.bytes + self.waiting.bytes() {
            return Err((BYTES, now_ns));
        }
        if start.ns <= now_ns {
            // It begins within this very nanosecond.
            self.catch_up_again(wire, line, now_ns)?;
        }
        Ok(passage)
    }

    #[cold]
    #[inline(never)]
    fn catch_up_again(&mut self, wire: &mut Wire, line: &Line, now_ns: u64) -> Result<(), Broken> {
        self.catch_up(wire, line, now_ns)
    }

    /// Tells what is the queue's of the counters at `now_ns`. Returns how many packets will not have been sent.
    pub fn tell(&self, now_ns: u64, counters: &mut LinkCounters) -> Result<u64, Broken> {
        self.drops.tell(counters);
        self.waiting.tell(now_ns, counters)?;
        Ok(self.drops.pkts() + u64::from(self.waiting.pkts()))
    }
}

/// Adds a queue and returns its place and 1.
#[cold]
#[inline(never)]
pub(super) fn add_queue(queues: &mut Vec<Queue>) -> u32 {
    queues.push(Queue::default());
    queues.len() as u32
}
