//! The clock of the machine, and how late what depends on it was.

use std::time::Duration;

use fadelab_path::histogram::Counts;
use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// Time since an emulator began, which goes on whatever the date does.
#[derive(Clone, Copy, Debug)]
pub struct Clock(u64);

impl Clock {
    pub fn start() -> Self {
        Self(monotonic_ns())
    }

    /// One that stands at zero until an instant of the monotonic clock.
    pub fn from_monotonic(at_ns: u64) -> Self {
        Self(at_ns)
    }

    /// Ns since then.
    pub fn now_ns(&self) -> u64 {
        monotonic_ns().saturating_sub(self.0)
    }
}

fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("each kernel has it");
    Duration::from(now).as_nanos() as u64
}

/// How late things were done, in ns: packets that left, and looks for those that came.
#[derive(Debug, Default)]
pub struct Lateness {
    counts: Counts,
    ns_max: u64,
}

impl Lateness {
    pub fn add(&mut self, late_ns: u64) {
        self.counts.add(late_ns);
        self.ns_max = self.ns_max.max(late_ns);
    }

    /// What there is to say of it.
    pub fn quantiles(&self) -> Quantiles {
        let histogram = self.counts.histogram();
        let at = |part| histogram.quantile(part, 1000).unwrap_or(0.0) as u64;
        Quantiles {
            p50_ns: at(500),
            p99_ns: at(990),
            p999_ns: at(999),
            max_ns: self.ns_max,
        }
    }
}

/// Lateness of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quantiles {
    pub p50_ns: u64,
    pub p99_ns: u64,
    pub p999_ns: u64,
    pub max_ns: u64,
}
