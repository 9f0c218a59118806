//! `[run]`: how long, how often, and what is recorded.

use crate::error::Refusal;
use crate::reader::Reader;
use crate::seeds::Seeds;
use crate::unit::{Duration, Switch, positive};

/// `[run]`.
pub struct Run {
    /// End of each run.
    pub duration_ns: u64,
    /// Totals count from here on.
    pub warmup_ns: u64,
    /// At least one.
    pub seeds: Vec<u64>,
    /// Distance between samples; `None` records no series.
    pub record_interval_ns: Option<u64>,
}

/// Most samples of a time series, so that a slip of a unit does not fill the memory.
const SAMPLES_MAX: u64 = 1_000_000;

/// Reads the section.
pub fn read(reader: &mut Reader<'_>) -> Result<Run, Refusal> {
    let duration_ns = reader.map("run.duration", Some(Duration(60_000_000_000)), "", |time| {
        positive(time.0, "the duration of a run")
    })?;
    let warmup_ns = reader.or("run.warmup", Duration(0))?.0;
    if warmup_ns >= duration_ns {
        return Err(reader.refuse("run.warmup", "the warm-up must end before run.duration"));
    }
    if warmup_ns > duration_ns / 2 {
        reader
            .warnings
            .push("run.warmup takes more than half of run.duration".to_owned());
    }
    let seeds = reader.or("run.seeds", Seeds(vec![1]))?.0;
    let record = reader.or("run.record", Switch(Some(Duration(1_000_000_000))))?.0;
    if record.is_some_and(|interval| interval.0 > duration_ns) {
        let warning = "run.record is longer than run.duration: time series stay empty, false says so".to_owned();
        reader.warnings.push(warning);
    }
    let record_interval_ns = match record {
        Some(Duration(0)) => return Err(reader.refuse("run.record", "the interval must be greater than zero")),
        Some(Duration(interval_ns)) if duration_ns / interval_ns > SAMPLES_MAX => {
            let message = format!("a run would have more than {SAMPLES_MAX} samples: take a longer interval");
            return Err(reader.refuse("run.record", &message));
        }
        record => record.map(|interval| interval.0),
    };
    Ok(Run {
        duration_ns,
        warmup_ns,
        seeds,
        record_interval_ns,
    })
}
