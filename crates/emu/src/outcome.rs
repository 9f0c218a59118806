//! What there is to say of an emulator when it ends.

use fadelab_path::counters::LinkCounters;
use fadelab_path::punctuality::Punctuality;
use serde::{Deserialize, Serialize};

use crate::clock::Quantiles;
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
    /// How late packets left.
    pub late: Quantiles,
    /// How late it looked for packets, at worst.
    pub look_late_ns_max: u64,
    /// Processor time that it took.
    pub cpu_ns: u64,
    /// Whether it ran with a real-time priority to its end.
    pub has_priority: bool,
}

impl Outcome {
    /// Why the emulator was not the link that it was said to be; `None`: it was.
    pub fn disturbance(&self) -> Option<String> {
        let punctuality = Punctuality {
            late_ns_p50: self.late.p50_ns,
            late_ns_p99: self.late.p99_ns,
            late_ns_p999: self.late.p999_ns,
            late_ns_max: self.late.max_ns,
            look_late_ns_max: self.look_late_ns_max,
            undecided_drops_pkts: self.ways.iter().map(|way| way.undecided_drops_pkts).sum(),
        };
        punctuality.disturbance()
    }
}
