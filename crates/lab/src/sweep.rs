//! Runs all runs of a plan on all cores; results come in the plan's order, whatever thread did which.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use fadelab_results::{Run, Specs};
use fadelab_run::record::RunRecord;
use fadelab_scenario::plan::{Plan, PlannedRun};

use crate::workers::{self, Shared};
use crate::{Ground, Kept, NoRecord, Watch};

/// Why a sweep gave no result.
#[derive(Debug, thiserror::Error)]
pub enum Stop {
    /// A run failed.
    #[error("run {index} on the ground {ground}: {why}")]
    Run {
        /// Name of the ground.
        ground: &'static str,
        /// Its place in the plan, from 0.
        index: usize,
        /// Never [`NoRecord::Stopped`].
        why: NoRecord,
    },
    /// The system gives no threads.
    #[error("{0}")]
    NoThreads(String),
    /// A finished run could not be kept, or the result not be written.
    #[error(transparent)]
    NotWritten(#[from] fadelab_results::Error),
    /// Somebody asked for an end.
    #[error("interrupted")]
    Interrupted,
}

/// The runs of a plan, in its order, beside what came out.
#[derive(Debug)]
pub struct Swept {
    /// See [`Run`].
    pub runs: Vec<Run>,
    /// See [`Shared`].
    pub workers_idle_s: f64,
}

/// Runs the plan on a ground that is prepared, on `threads` threads. Runs that `kept` has are not run again, and it
/// gets each of the others when it ends, but for those that were disturbed.
///
/// The failure that is reported is that of the first run in the plan that fails, so that it does not depend on threads:
/// a failure stops only the runs after it.
///
/// # Errors
/// See [`Stop`].
pub fn sweep(
    ground: &dyn Ground,
    plan: &Plan,
    threads: usize,
    kept: Option<&Kept>,
    watch: &dyn Watch,
) -> Result<Swept, Stop> {
    let progress = watch.begin(ground.name(), plan);
    let first_failed = AtomicUsize::new(usize::MAX);
    let not_kept = Mutex::new(None);
    let work = |index: usize| {
        let go_on = || !watch.is_interrupted() && first_failed.load(Ordering::Relaxed) > index;
        if !go_on() {
            return Err(NoRecord::Stopped);
        }
        if let Some(record) = kept.and_then(|kept| kept.take(index)) {
            progress.spare(index);
            return Ok(record);
        }
        let mut report = |time_ns| {
            progress.reach(index, time_ns);
            go_on()
        };
        let outcome = workers::caught(|| ground.run(&plan.runs[index], &mut report))
            .unwrap_or_else(|panic| Err(NoRecord::Failed(panic)));
        match (&outcome, kept) {
            (Err(NoRecord::Stopped), _) => {}
            (Err(_), _) => drop(first_failed.fetch_min(index, Ordering::Relaxed)),
            (Ok(record), Some(kept)) if !is_disturbed(record) => {
                if let Err(error) = kept.keep(index, record) {
                    first_failed.store(0, Ordering::Relaxed);
                    not_kept.lock().expect("no thread panics with it").get_or_insert(error);
                    return Err(NoRecord::Stopped);
                }
            }
            _ => {}
        }
        if outcome.is_ok() {
            progress.end(index);
        }
        outcome
    };
    let order = workers::longest_first(&plan.runs.iter().map(cost).collect::<Vec<_>>());
    let Shared { outcomes, idle_s } = workers::share(&order, threads, work).map_err(Stop::NoThreads)?;
    if watch.is_interrupted() {
        return Err(Stop::Interrupted);
    }
    if let Some(error) = not_kept.into_inner().expect("no thread panics with it") {
        return Err(error.into());
    }
    Ok(Swept {
        runs: gathered(plan, ground.name(), outcomes)?,
        workers_idle_s: idle_s,
    })
}

/// Whether the run's emulator was not the link that it was said to be: whoever runs it again wants another one.
fn is_disturbed(record: &RunRecord) -> bool {
    let punctuality = record.punctuality.as_ref();
    punctuality.is_some_and(|punctuality| punctuality.disturbance().is_some())
}

/// The runs, or the first failure of one.
fn gathered(plan: &Plan, ground: &'static str, outcomes: Vec<Result<RunRecord, NoRecord>>) -> Result<Vec<Run>, Stop> {
    let mut specs = Specs::default();
    let run = |(index, outcome): (usize, Result<RunRecord, NoRecord>)| {
        let run = &plan.runs[index];
        let record = outcome.map_err(|why| match why {
            NoRecord::Stopped => Stop::Interrupted,
            why => Stop::Run { ground, index, why },
        })?;
        Ok(Run {
            ground: ground.to_owned(),
            law: run.law_label.clone(),
            point: run.point.clone(),
            seed: run.seed,
            spec: specs.of(&run.spec),
            record,
        })
    };
    // A run that was stopped comes after the one that failed and stopped it.
    outcomes.into_iter().enumerate().map(run).collect()
}

/// How long a run takes beside others: by the bytes that its shown links can carry.
fn cost(run: &PlannedRun) -> u128 {
    let shown = run.spec.network.links.iter().filter(|link| link.shown);
    let rate_bps: u128 = shown.map(|link| u128::from(link.capacity.rate_bps_mean())).sum();
    u128::from(run.spec.duration_ns) * rate_bps
}
