//! `[run]`: how long, how often, and what is recorded.

use crate::error::Refusal;
use crate::key::{Absent::Is, Declared, keys};
use crate::reader::Reader;
use crate::seeds::Seeds;
use crate::unit::{Duration, Switch, positive};

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

keys! {
    KEYS;
    DURATION: Duration = Declared::new("duration", Is("\"60 s\""), "virtual time from start to end")
        .checked(|time| positive(time.0, "the duration of a run").map(Duration));
    WARMUP: Duration =
        Declared::new("warmup", Is("\"0 s\""), "totals count from here on; shorter than `duration`");
    SEEDS: Seeds = Declared::new(
        "seeds",
        Is("1"),
        "a number, a range `\"1..10\"` (both ends count) or a list; each seed is a run",
    );
    RECORD: Switch<Duration> =
        Declared::new("record", Is("\"1 s\""), "distance between samples of the time series; `false` records none")
        .checked(|record| match record {
            Switch(Some(Duration(0))) => Err("the interval must be greater than zero".to_owned()),
            record => Ok(record),
        });
}

/// Reads the section.
pub fn read(reader: &mut Reader<'_>) -> Result<Run, Refusal> {
    let duration_ns = reader.take("run", &DURATION)?.0;
    let warmup_ns = reader.take("run", &WARMUP)?.0;
    if warmup_ns >= duration_ns {
        return Err(reader.refuse("run.warmup", "the warm-up must end before run.duration"));
    }
    if warmup_ns > duration_ns / 2 {
        reader
            .warnings
            .push("run.warmup takes more than half of run.duration".to_owned());
    }
    let seeds = reader.take("run", &SEEDS)?.0;
    let record_interval_ns = reader.take("run", &RECORD)?.0.map(|interval| interval.0);
    if record_interval_ns.is_some_and(|interval_ns| interval_ns > duration_ns) {
        let warning = "run.record is longer than run.duration: time series stay empty, false says so".to_owned();
        reader.warnings.push(warning);
    }
    if record_interval_ns.is_some_and(|interval_ns| duration_ns / interval_ns > SAMPLES_MAX) {
        let message = format!("a run would have more than {SAMPLES_MAX} samples: take a longer interval");
        return Err(reader.refuse("run.record", &message));
    }
    Ok(Run {
        duration_ns,
        warmup_ns,
        seeds,
        record_interval_ns,
    })
}
