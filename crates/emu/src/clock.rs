//! The clock of the machine, and how late what depends on it was.

use std::time::Duration;

use fadelab_path::histogram::Counts;
use nix::time::{ClockId, clock_gettime};

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

    /// So late half of them were done, 99 of 100, 999 of 1000 and the last.
    pub fn quantiles_ns(&self) -> [u64; 4] {
        let histogram = self.counts.histogram();
        let at = |part| histogram.quantile(part, 1000).unwrap_or(0.0) as u64;
        [at(500), at(990), at(999), self.ns_max]
    }

    pub fn max_ns(&self) -> u64 {
        self.ns_max
    }
}
