//! Ways to break the invariants of the network, built only for the tests that show that a broken one stops a run.

use fadelab_path::node::NodeFault;

use super::Network;
use crate::schedule::SourceId;

impl Network {
    /// Breaks an invariant of link `index`. Returns whether there was something to break.
    pub fn break_link(&mut self, index: usize, fault: NodeFault) -> bool {
        let at = self.alone_at(index);
        if let Some(at) = at
            && self.nodes[at].held_pkts() > 0
        {
            return self.nodes[at].break_invariant(fault);
        }
        match fault {
            NodeFault::Early => self.pipes.iter_mut().any(|pipe| pipe.hasten(pipe.delay_ns())),
            NodeFault::Vanishes => {
                self.pipes[self.pipe_of[index] as usize].miscount();
                true
            }
            _ => match at {
                Some(at) => self.nodes[at].break_invariant(fault),
                None => self.wires.break_invariant(index, fault),
            },
        }
    }

    /// Gives link `index` an event at `due_ns`, which may be in the past.
    pub fn disturb(&mut self, index: usize, due_ns: u64) {
        let key = self.keys.key(due_ns, index as SourceId);
        self.pipes_due.set(self.pipe_of[index] as usize, key);
    }

    /// Loses a packet without counting it, to show that [`Self::check_conservation`] sees it.
    pub fn lose_count(&mut self) {
        self.gone_pkts += 1;
    }
}
