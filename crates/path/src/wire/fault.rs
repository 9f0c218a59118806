//! Ways to break the invariants of a wire, built only for the tests that show that a broken one stops a run.

use super::Wires;
use crate::link::LinkFault;

impl Wires {
    /// Breaks an invariant of wire `index`. Returns whether there was something to break: packets that wait. What
    /// becomes of a packet behind the transmitter is not the wire's to break.
    pub fn break_invariant(&mut self, index: usize, fault: LinkFault) -> bool {
        let wire = &mut self.hot[index];
        if wire.before_pkts < 2 || wire.queue == 0 {
            return false;
        }
        match fault {
            LinkFault::Early | LinkFault::Vanishes => return false,
            LinkFault::LosesBytes => self.queues[wire.queue as usize - 1].bytes -= 1,
            LinkFault::Overlaps => wire.busy_bytes += 100 * 1500,
            LinkFault::Overfills => self.kinds[wire.kind as usize].line.limit_pkts = 0,
        }
        true
    }
}
