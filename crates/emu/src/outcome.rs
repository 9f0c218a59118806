//! What there is to say of an emulator when it ends.

use fadelab_path::counters::LinkCounters;
use fadelab_path::punctuality::Punctuality;
use serde::{Deserialize, Serialize};

use crate::emulator::Tally;

/// One way of a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WayOutcome {
    pub name: String,
    pub tally: Tally,
    pub counters: LinkCounters,
    /// Packets that found no room at a device, before or behind the link: no model decided that.
    pub undecided_drops_pkts: u64,
}

/// See the module's documentation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub duration_ns: u64,
    pub ways: Vec<WayOutcome>,
    pub punctuality: Punctuality,
    /// Processor time that it took.
    pub cpu_ns: u64,
    /// Whether it ran with a real-time priority to its end.
    pub has_priority: bool,
}
