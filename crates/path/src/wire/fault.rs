//! Ways to break the invariants of a wire, built only for the tests that show that a broken one stops a run.

use super::Wires;
use crate::transit::NodeFault;

impl Wires {
    /// Breaks an invariant of wire `index`. Returns whether there was something to break: packets that wait. What
    /// becomes of a packet behind the transmitter is not the wire's to break.
    pub fn break_invariant(&mut self, index: usize, fault: NodeFault) -> bool {
        let wire = &mut self.hot[index];
        if wire.before_pkts < 2 || wire.queue == 0 {
            return false;
        }
        match fault {
            NodeFault::Early | NodeFault::Vanishes => return false,
            NodeFault::LosesBytes => self.queues[wire.queue as usize - 1].waiting.lose_byte(),
            NodeFault::Overlaps => wire.busy_bytes += 100 * 1500,
            NodeFault::Overfills => self.kinds[wire.kind as usize].line.limits.pkts = 0,
        }
        true
    }
}
