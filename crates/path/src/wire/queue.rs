//! The queue of a wire.

use super::{BYTES, CAPACITY, KindId, LIMIT, Line, Passage, Wire};
use crate::air::Fate;
use crate::counters::LinkCounters;
use crate::ring::Ring;
use crate::transmitter::Instant;

/// A packet that waits for its transmission.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Waiting {
    pub arrived_ns: u64,
    pub start_ns: u64,
    pub end_ns: u64,
    /// On-air bytes.
    pub bytes: u32,
    /// On a wire with a channel.
    pub fate: Fate,
}

/// What is broken, and since when.
pub(super) type Broken = (&'static str, u64);

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
    /// Oldest first.
    pub waiting: Ring<Waiting>,
    pub bytes: u64,
    /// The last one that left the queue.
    pub last: Waiting,
    /// Packets that were to come ahead of time and could not.
    pub held_back_pkts: u32,
    pub dropped_pkts: u64,
    pub dropped_bytes: u64,
    pub byte_ns: u128,
    pub pkt_ns: u128,
}

impl Queue {
    /// Lets every packet whose transmission began by `now_ns` leave for the transmitter.
    #[inline(always)]
    pub fn catch_up(&mut self, wire: &mut Wire, line: &Line, now_ns: u64) -> Result<(), Broken> {
        while let Some(first) = self.waiting.front()
            && first.start_ns <= now_ns
        {
            if self.waiting.len() > line.limit_pkts as usize || self.bytes > line.limit_bytes {
                return Err((LIMIT, first.start_ns));
            }
            let (waited_ns, bytes) = (first.start_ns - first.arrived_ns, u64::from(first.bytes));
            self.byte_ns += u128::from(waited_ns) * u128::from(bytes);
            self.pkt_ns += u128::from(waited_ns);
            self.last = *first;
            self.waiting.remove_front();
            self.bytes -= bytes;
            wire.before_pkts -= 1;
            wire.sent_bytes += bytes;
            wire.busy_bytes += bytes;
            if !line
                .rate
                .can_send(wire.busy_start_ns, self.last.end_ns, wire.busy_bytes)
            {
                return Err((CAPACITY, self.last.start_ns));
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
        let bytes = u64::from(bytes);
        wire.arrived_pkts += 1;
        wire.arrived_bytes += bytes;
        if self.waiting.len() < line.limit_pkts as usize && self.bytes + bytes <= line.limit_bytes {
            return Ok(Place::Queue);
        }
        self.dropped_pkts += 1;
        self.dropped_bytes += bytes;
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
        fate: Fate,
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
        });
        self.bytes += u64::from(bytes);
        wire.before_pkts += 1;
        let passage = Passage {
            due_ns: end.ceil_ns() + line.delay_ns,
            kind: wire.kind as KindId,
        };
        if wire.arrived_bytes != wire.sent_bytes + self.dropped_bytes + self.bytes {
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

    /// Fates of those that wait.
    pub fn fates(&self) -> impl Iterator<Item = Fate> {
        self.waiting.iter_from(0).map(|waiting| waiting.fate)
    }

    /// Adds what is the queue's of the counters at `now_ns`. Returns how many packets will not have been sent.
    pub fn add_to(&self, counters: &mut LinkCounters, now_ns: u64) -> u64 {
        counters.dropped_full_pkts = self.dropped_pkts;
        counters.dropped_bytes = self.dropped_bytes;
        (counters.queue_bytes, counters.queue_pkts) = (self.bytes, self.waiting.len() as u32);
        (counters.queue_byte_ns, counters.queue_pkt_ns) = (self.byte_ns, self.pkt_ns);
        for waiting in self.waiting.iter_from(0) {
            let so_far_ns = u128::from(now_ns - waiting.arrived_ns);
            counters.queue_byte_ns += so_far_ns * u128::from(waiting.bytes);
            counters.queue_pkt_ns += so_far_ns;
        }
        self.dropped_pkts + self.waiting.len() as u64
    }
}

/// Adds a queue and returns its place and 1.
#[cold]
#[inline(never)]
pub(super) fn add_queue(queues: &mut Vec<Queue>) -> u32 {
    queues.push(Queue::default());
    queues.len() as u32
}
