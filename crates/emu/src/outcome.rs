//! What there is to say of an emulator when it ends.

use fadelab_path::counters::LinkCounters;
use serde::{Deserialize, Serialize};

use crate::clock::Quantiles;
use crate::emulator::Tally;

/// Packets that leave later than that, one in a hundred, were disturbed by the machine.
pub const P99_NS_MAX: u64 = 1_000_000;

/// An emulator that looked so late was stopped: what came meanwhile came later than it did.
pub const LOOK_NS_MAX: u64 = 100_000_000;

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
        let undecided_pkts: u64 = self.ways.iter().map(|way| way.undecided_drops_pkts).sum();
        let mut why = Vec::new();
        if self.late.p99_ns > P99_NS_MAX {
            let [late_ms, most_ms] = [self.late.p99_ns, P99_NS_MAX].map(|ns| ns as f64 / 1e6);
            why.push(format!(
                "one packet in a hundred left {late_ms:.1} ms late or more, at most {most_ms} ms are well"
            ));
        }
        if self.look_late_ns_max > LOOK_NS_MAX {
            let stopped_s = self.look_late_ns_max as f64 / 1e9;
            why.push(format!("the emulator stood still for {stopped_s:.1} s"));
        }
        if undecided_pkts > 0 {
            why.push(format!("{undecided_pkts} packets were dropped that no model dropped"));
        }
        (!why.is_empty()).then(|| why.join("; "))
    }
}
