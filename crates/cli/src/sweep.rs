//! Runs all runs of a plan on all cores; results come in the plan's order, whatever thread did which.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use fadelab_laws::guard::Fault;
use fadelab_scenario::plan::{Plan, PlannedRun};
use fadelab_sim::RunError;
use fadelab_sim::record::RunRecord;

use crate::kept::{self, Kept};
use crate::progress::Progress;
use crate::workers::{self, Shared};
use crate::{Failure, interrupt};

/// Why a sweep gave no records.
pub enum Stop {
    /// A run failed: its position in the plan and what happened.
    Run(usize, Failed),
    /// A finished run could not be kept.
    NotKept(fadelab_results::Error),
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

impl Stop {
    /// What a person is told: `name` says of a run which one it is.
    pub fn failure(self, kept: Option<&Kept>, name: impl FnOnce(usize, &Failed) -> String) -> Failure {
        match self {
            Self::Interrupted => Failure::Interrupted(format!("interrupted; {}", kept::left(kept))),
            Self::NotKept(error) => kept::not_written(&error, kept),
            Self::Run(index, failed) => Failure::Failed(format!("{}\n{}", name(index, &failed), kept::left(kept))),
        }
    }
}

/// The records of a plan's runs, in its order.
pub struct Swept {
    /// See [`RunRecord`].
    pub records: Vec<RunRecord>,
    /// See [`Shared`].
    pub workers_idle_s: f64,
}

/// Runs the plan on `threads` threads, under a progress bar unless `quiet`. Runs that `kept` has are not run again, and
/// it gets each of the others when it ends.
///
/// # Errors
/// See [`Stop`].
pub fn simulate(plan: &Plan, threads: usize, quiet: bool, kept: Option<&Kept>) -> Result<Swept, Stop> {
    let progress = Progress::new(plan.runs.iter().map(|run| run.spec.duration_ns), quiet);
    let swept = sweep(plan, threads, interrupt::flag(), &progress, kept);
    progress.finish();
    swept
}

/// The failure reported is that of the first run in the plan that fails, so that it does not depend on threads: a
/// failure stops only the runs after it.
fn sweep(
    plan: &Plan,
    threads: usize,
    interrupted: &AtomicBool,
    progress: &Progress,
    kept: Option<&Kept>,
) -> Result<Swept, Stop> {
    let first_failed = AtomicUsize::new(usize::MAX);
    let not_kept = Mutex::new(None);
    let work = |index: usize| {
        let run = &plan.runs[index];
        let go_on = || !interrupted.load(Ordering::Relaxed) && first_failed.load(Ordering::Relaxed) > index;
        if !go_on() {
            return Err(None);
        }
        if let Some(record) = kept.and_then(|kept| kept.take(index)) {
            progress.spare(run.spec.duration_ns);
            return Ok(record);
        }
        let mut share = progress.of_run();
        let outcome = guarded(run, |time_ns| {
            share.reach(time_ns);
            go_on()
        });
        match (&outcome, kept) {
            (Err(Some(_)), _) => drop(first_failed.fetch_min(index, Ordering::Relaxed)),
            (Ok(record), Some(kept)) => {
                if let Err(error) = kept.keep(index, record) {
                    first_failed.store(0, Ordering::Relaxed);
                    not_kept.lock().expect("no thread panics with it").get_or_insert(error);
                    return Err(None);
                }
            }
            _ => {}
        }
        if outcome.is_ok() {
            share.end(run.spec.duration_ns);
        }
        outcome
    };
    let order = workers::longest_first(&plan.runs.iter().map(cost).collect::<Vec<_>>());
    let shared = workers::share(&order, threads, work).map_err(|error| Stop::Run(0, Failed::Engine(error)))?;
    let Shared { outcomes, idle_s } = shared;
    if interrupted.load(Ordering::Relaxed) {
        return Err(Stop::Interrupted);
    }
    if let Some(error) = not_kept.into_inner().expect("no thread panics with it") {
        return Err(Stop::NotKept(error));
    }
    let mut records = Vec::with_capacity(outcomes.len());
    for (index, outcome) in outcomes.into_iter().enumerate() {
        match outcome {
            Ok(record) => records.push(record),
            Err(Some(message)) => return Err(Stop::Run(index, message)),
            Err(None) => return Err(Stop::Interrupted),
        }
    }
    Ok(Swept {
        records,
        workers_idle_s: idle_s,
    })
}

/// How long a run takes beside others: by the bytes that its shown links can carry.
fn cost(run: &PlannedRun) -> u128 {
    let shown = run.spec.links.iter().filter(|link| link.shown);
    let rate_bps: u128 = shown.map(|link| u128::from(link.capacity.rate_bps_mean())).sum();
    u128::from(run.spec.duration_ns) * rate_bps
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
