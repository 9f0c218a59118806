//! Runs all runs of a plan on all cores; results come in the plan's order, whatever thread did which.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use fadelab_laws::guard::Fault;
use fadelab_scenario::plan::{Plan, PlannedRun};
use fadelab_sim::RunError;
use fadelab_sim::record::RunRecord;
use rayon::prelude::*;

use crate::progress::Progress;

/// Why a sweep gave no records.
pub enum Stop {
    /// A run failed: its position in the plan and what happened.
    Run(usize, Failed),
    /// Ctrl-C.
    Interrupted,
}

/// What happened to a run that failed.
pub enum Failed {
    /// A law is at fault.
    Law(Box<Fault>),
    /// Anything else, in words.
    Engine(String),
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Law(fault) => fault.fmt(f),
            Self::Engine(message) => f.write_str(message),
        }
    }
}

/// Runs the plan on `jobs` threads.
///
/// The failure reported is that of the first run in the plan that fails, so that it does not depend on threads: a
/// failure stops only the runs after it.
///
/// # Errors
/// A failed run or an interrupt.
pub fn sweep(plan: &Plan, jobs: usize, interrupted: &AtomicBool, progress: &Progress) -> Result<Vec<RunRecord>, Stop> {
    let first_failed = AtomicUsize::new(usize::MAX);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build();
    let pool = pool.map_err(|error| Stop::Run(0, Failed::Engine(format!("cannot start {jobs} threads: {error}"))))?;
    let run = |(index, run): (usize, &PlannedRun)| {
        let mut share = progress.of_run();
        let go_on = || !interrupted.load(Ordering::Relaxed) && first_failed.load(Ordering::Relaxed) > index;
        let report = |time_ns| {
            share.reach(time_ns);
            go_on()
        };
        if !go_on() {
            return Err(None);
        }
        let outcome = guarded(run, report);
        if matches!(outcome, Err(Some(_))) {
            first_failed.fetch_min(index, Ordering::Relaxed);
        } else {
            share.reach(run.spec.duration_ns);
        }
        outcome
    };
    let outcomes: Vec<_> = pool.install(|| plan.runs.par_iter().enumerate().map(run).collect());
    if interrupted.load(Ordering::Relaxed) {
        return Err(Stop::Interrupted);
    }
    let mut records = Vec::with_capacity(outcomes.len());
    for (index, outcome) in outcomes.into_iter().enumerate() {
        match outcome {
            Ok(record) => records.push(record),
            Err(Some(failed)) => return Err(Stop::Run(index, failed)),
            Err(None) => return Err(Stop::Interrupted),
        }
    }
    Ok(records)
}

/// One run; a panic of the engine or of a law is a failure with its message. `Err(None)` is a stop that was asked for.
fn guarded(run: &PlannedRun, report: impl FnMut(u64) -> bool) -> Result<RunRecord, Option<Failed>> {
    match catch_unwind(AssertUnwindSafe(|| fadelab_sim::run(&run.spec, report))) {
        Ok(Ok(record)) => Ok(record),
        Ok(Err(RunError::Stopped)) => Err(None),
        Ok(Err(RunError::Law(fault))) => Err(Some(Failed::Law(fault))),
        Ok(Err(error)) => Err(Some(Failed::Engine(error.to_string()))),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("no message");
            Err(Some(Failed::Engine(format!("the engine panicked: {text}"))))
        }
    }
}
