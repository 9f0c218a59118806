//! The simulator as a ground.

use fadelab_results::SIM;
use fadelab_run::record::RunRecord;
use fadelab_scenario::plan::{Plan, PlannedRun};
use fadelab_sim::RunError;

use crate::ground::{self, Ground, NoRecord, Refusal};

#[derive(Clone, Copy, Debug, Default)]
pub struct Simulator;

impl Ground for Simulator {
    fn name(&self) -> &'static str {
        SIM
    }

    /// Laws that only a kernel has are refused.
    fn check(&self, plan: &Plan) -> Vec<Refusal> {
        ground::refusals(plan, |run| {
            let error = fadelab_sim::check(&run.spec).err()?;
            Some(("flow.law".to_owned(), format!("`flow.law`: {error}")))
        })
    }

    fn run(&self, run: &PlannedRun, report: &mut dyn FnMut(u64) -> bool) -> Result<RunRecord, NoRecord> {
        fadelab_sim::run(&run.spec, report).map_err(NoRecord::from)
    }
}

impl From<RunError> for NoRecord {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Stopped => Self::Stopped,
            RunError::Law(fault) => Self::Law(fault),
            error => Self::Failed(error.to_string()),
        }
    }
}
