//! A place where scenarios run.

use std::fmt;

use fadelab_laws::guard::Fault;
use fadelab_results::Guest;
use fadelab_run::record::RunRecord;
use fadelab_scenario::plan::{Plan, PlannedRun};
use fadelab_testbed::{Error, Place};

use crate::Failure;

/// A place where scenarios run. Runs of one plan run side by side, each on a thread of its own.
pub trait Ground: Sync {
    /// Its name, as in the column `ground` of results.
    fn name(&self) -> &'static str;

    /// What of a plan it cannot run: one refusal for each law and reason, in the plan's order; empty where it runs all.
    fn check(&self, plan: &Plan) -> Vec<Refusal>;

    /// Makes ready what the runs of a plan need, after [`Self::check`] found nothing; `tell` is told what takes long.
    ///
    /// # Errors
    /// What this machine lacks.
    fn prepare(&mut self, _plan: &Plan, _tell: &dyn Fn(&str)) -> Result<(), Failure> {
        Ok(())
    }

    /// Runs one run to its end. `report` is told the virtual time, in ns, now and then, and says whether to go on. A
    /// panic is caught by whoever runs a plan, and is the failure of that run.
    ///
    /// # Errors
    /// See [`NoRecord`].
    fn run(&self, run: &PlannedRun, report: &mut dyn FnMut(u64) -> bool) -> Result<RunRecord, NoRecord>;

    /// Whether its runs disturb each other, so that one is made after the other unless more are asked for.
    fn is_alone(&self) -> bool {
        false
    }

    /// The guest in which runs run, where it is prepared and they do not run in this process.
    fn guest(&self) -> Option<Guest> {
        None
    }
}

/// What a ground does not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Label of the law whose runs it refuses.
    pub law: String,
    /// Key of the scenario that asks for what the ground has not.
    pub key: String,
    /// Why, and what there is instead; the key is in it.
    pub message: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "law {}: {}", self.law, self.message)
    }
}

/// Each refusal of a plan's runs once, where `one` gives key and message of a run's first.
pub(crate) fn refusals(plan: &Plan, one: impl Fn(&PlannedRun) -> Option<(String, String)>) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    for run in &plan.runs {
        let Some((key, message)) = one(run) else { continue };
        let refusal = Refusal {
            law: run.law_label.clone(),
            key,
            message,
        };
        if !refusals.contains(&refusal) {
            refusals.push(refusal);
        }
    }
    refusals
}

/// What of a plan has no counterpart in a kernel.
pub(crate) fn refusals_of_kernel(plan: &Plan, place: &Place) -> Vec<Refusal> {
    refusals(plan, |run| {
        let error = fadelab_testbed::check(&run.spec, place).err()?;
        let key = match &error {
            Error::NoCounterpart { key, .. } => key.clone(),
            _ => String::new(),
        };
        Some((key, error.to_string()))
    })
}

/// Refuses a plan of which a ground refuses some run.
///
/// # Errors
/// The first refusal.
pub fn refuse(ground: &dyn Ground, plan: &Plan) -> Result<(), Failure> {
    ground
        .check(plan)
        .first()
        .map_or(Ok(()), |refusal| Err(Failure::invalid(refusal)))
}

/// Why a run gave no record.
#[derive(Debug, thiserror::Error)]
pub enum NoRecord {
    /// Whoever watches it asked for its end.
    #[error("the run was stopped")]
    Stopped,
    /// A law is at fault.
    #[error("{0}")]
    Law(Box<Fault>),
    /// The scenario or what was asked for is at fault, and nothing was run.
    #[error("{0}")]
    Refused(String),
    /// Anything else, in words.
    #[error("{0}")]
    Failed(String),
}
