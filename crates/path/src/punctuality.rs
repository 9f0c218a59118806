//! How punctual whoever drove links in real time was.

use serde::{Deserialize, Serialize};

/// Packets that leave later than that, one in a hundred, were disturbed by the machine.
pub const P99_NS_MAX: u64 = 1_000_000;

/// An emulator that looked so late was stopped: what came meanwhile came later than it did.
pub const LOOK_NS_MAX: u64 = 100_000_000;

/// How punctual an emulator of links was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Punctuality {
    /// Half of the packets left no later than that after they were due.
    pub late_ns_p50: u64,
    /// 99 of 100.
    pub late_ns_p99: u64,
    /// 999 of 1000.
    pub late_ns_p999: u64,
    pub late_ns_max: u64,
    /// How late it was looked for packets, at worst.
    pub look_late_ns_max: u64,
    /// Packets that found no room at a device: no model decided that.
    pub undecided_drops_pkts: u64,
}

impl Punctuality {
    /// Why the emulator was not the link that it was said to be; `None`: it was.
    pub fn disturbance(&self) -> Option<String> {
        let mut why = Vec::new();
        if self.late_ns_p99 > P99_NS_MAX {
            let [late_ms, most_ms] = [self.late_ns_p99, P99_NS_MAX].map(|ns| ns as f64 / 1e6);
            why.push(format!(
                "one packet in a hundred left {late_ms:.1} ms late or more, at most {most_ms} ms are well"
            ));
        }
        if self.look_late_ns_max > LOOK_NS_MAX {
            let stopped_s = self.look_late_ns_max as f64 / 1e9;
            why.push(format!("the emulator stood still for {stopped_s:.1} s"));
        }
        if self.undecided_drops_pkts > 0 {
            why.push(format!(
                "{} packets were dropped that no model dropped",
                self.undecided_drops_pkts
            ));
        }
        (!why.is_empty()).then(|| why.join("; "))
    }
}
