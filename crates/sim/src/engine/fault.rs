//! Ways to break each invariant, to show that a broken one stops a run. Built only for the tests.

use fadelab_path::node::NodeFault;
use fadelab_run::record::RunRecord;
use fadelab_run::spec::RunSpec;

use super::{Engine, RunError};

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A fault inside link 0.
    Link(NodeFault),
    /// An event comes before the one that was just processed.
    TimeGoesBack,
    /// The count of what a sender has in flight is off by one.
    Miscount,
    /// A receiver acknowledges what was never sent.
    AcknowledgesTheFuture,
    /// A packet vanishes from the count of the whole.
    LosesCount,
}

/// A fault and when it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Just before the first event from this time on.
    pub at_ns: u64,
    /// What goes wrong.
    pub kind: FaultKind,
}

/// As [`crate::run`], with a fault on the way.
///
/// # Errors
/// As [`crate::run`]: it is the point.
pub fn run_with_fault(spec: &RunSpec, fault: Fault) -> Result<RunRecord, RunError> {
    super::run_to_end(Engine::with_fault(spec, fault), |_| true)
}

/// Lets the fault happen when its time has come.
pub(crate) fn inject(engine: &mut Engine<'_>) {
    let Some(fault) = engine.fault.filter(|fault| fault.at_ns <= engine.now_ns) else {
        return;
    };
    engine.fault = None;
    match fault.kind {
        FaultKind::Link(fault) => {
            // The link must hold something that can go wrong; if it does not, the fault waits.
            if !engine.net.break_link(0, fault) {
                engine.fault = Some(Fault {
                    at_ns: engine.now_ns + 1,
                    kind: FaultKind::Link(fault),
                });
            }
        }
        FaultKind::TimeGoesBack => engine.net.disturb(0, engine.now_ns - 1),
        FaultKind::Miscount => {
            if let Some(sender) = engine.flows[0].sender_mut() {
                sender.board_mut().miscount();
            }
        }
        FaultKind::AcknowledgesTheFuture => engine.flows[0].receiver_mut().acknowledge_the_future(),
        FaultKind::LosesCount => engine.net.lose_count(),
    }
}
