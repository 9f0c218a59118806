//! The guest's processor: its time is counted in instructions, of which a virtual second has only so many.

use std::fs;

use fadelab_run::record::ProcessorLoad;

use crate::stage::{Outcome, failed};

/// A processor busier than this within a virtual second may itself have delayed packets.
const BUSY_MAX: f64 = 0.9;

/// Watches that the guest's processor is no bottleneck: the clock counts its instructions.
pub struct Processor {
    idle_ticks: u64,
    last_ns: u64,
    /// When it began to watch, and how long the processor was idle since, ns.
    began_ns: u64,
    idle_ns: u64,
    busy_max: f64,
}

/// `/proc/stat` counts in hundredths of a second.
const PROC_TICK_NS: u64 = 10_000_000;

impl Processor {
    /// Begins to watch, so long after the run began.
    pub fn new(now_ns: u64) -> Outcome<Self> {
        Ok(Self {
            idle_ticks: idle_ticks()?,
            last_ns: now_ns,
            began_ns: now_ns,
            idle_ns: 0,
            busy_max: 0.0,
        })
    }

    /// Fails where it was too busy since the last check.
    pub fn check(&mut self, now_ns: u64) -> Outcome<()> {
        let idle_ticks = idle_ticks()?;
        let idle_ns = (idle_ticks - self.idle_ticks) * PROC_TICK_NS;
        let idle = idle_ns as f64 / (now_ns - self.last_ns) as f64;
        (self.idle_ticks, self.last_ns) = (idle_ticks, now_ns);
        self.idle_ns += idle_ns;
        self.busy_max = self.busy_max.max(1.0 - idle);
        if idle < 1.0 - BUSY_MAX {
            return Err(format!(
                "the guest's processor was {:.0} % busy before {} s, so that it would delay packets itself; lower the \
                 rate, or shorten the path",
                (1.0 - idle) * 100.0,
                now_ns / 1_000_000_000
            ));
        }
        Ok(())
    }

    /// How busy it was up to the last check.
    pub fn load(&self) -> ProcessorLoad {
        // The ticks of a second may come to a little more than that.
        let watched_ns = (self.last_ns - self.began_ns).max(1);
        ProcessorLoad {
            busy_permille: permille(1.0 - self.idle_ns as f64 / watched_ns as f64),
            busy_permille_max: permille(self.busy_max),
        }
    }
}

fn permille(share: f64) -> u32 {
    (1000.0 * share).round().max(0.0) as u32
}

/// Time that the processor was idle: the fourth number of the first line.
fn idle_ticks() -> Outcome<u64> {
    let path = "/proc/stat";
    let text = fs::read_to_string(path).map_err(failed(path))?;
    let idle = text.split_whitespace().nth(4).and_then(|field| field.parse().ok());
    idle.ok_or_else(|| format!("{path} is not understood"))
}
