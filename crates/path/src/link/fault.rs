//! Ways to break the invariants of a link, built only for the tests that show that a broken one stops a run.

use super::Link;

/// What can go wrong inside a link, for the tests that show that it stops a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkFault {
    /// A packet arrives at the far end before its propagation is over.
    Early,
    /// A packet vanishes from the link without being counted.
    Vanishes,
    /// Bytes vanish from the count of what waits.
    LosesBytes,
    /// Two packets are transmitted at once.
    Overlaps,
    /// More packets wait than the buffer holds.
    Overfills,
}

impl Link {
    /// Breaks an invariant. Returns whether there was something to break: packets that wait. What was handed over is
    /// not the link's to hasten.
    pub fn break_invariant(&mut self, fault: LinkFault) -> bool {
        if let Some(stepwise) = &mut self.stepwise {
            return stepwise.break_invariant(fault);
        }
        if self.queue_pkts() < 2 {
            return false;
        }
        match fault {
            LinkFault::Early => return false,
            LinkFault::Vanishes => self.counters.sent_pkts += 1,
            LinkFault::LosesBytes => self.queue_bytes -= 1,
            LinkFault::Overlaps => self.busy.bytes += 100 * u64::from(self.last.bytes),
            LinkFault::Overfills => self.limit_pkts = 0,
        }
        true
    }
}
