//! `fadelab show`: the scenario with everything filled in.

use clap::Args;
use fadelab_lab::{Failure, explain, own_law};
use fadelab_scenario::plan::Plan;

use crate::args::ScenarioArgs;
use crate::output;

/// Arguments of `fadelab show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    #[command(flatten)]
    pub scenario: ScenarioArgs,
}

/// Reads the scenario that the arguments name.
///
/// # Errors
/// Whatever is wrong with it.
pub fn plan(args: &ScenarioArgs) -> Result<Plan, Failure> {
    plan_for(args, false)
}

/// The same for the live ground, or for others beside it, where `is_live`.
///
/// # Errors
/// As [`plan`].
pub fn plan_for(args: &ScenarioArgs, is_live: bool) -> Result<Plan, Failure> {
    if explain::is_result(&args.file) {
        let folder = args.file.display();
        return Err(Failure::Invalid(format!(
            "{folder}: this is a result, where a scenario is wanted: fadelab explain, report, diff, table and figure \
             read results, and the scenario that was run is in {folder}/manifest.json"
        )));
    }
    let own_laws = own_law::load(&args.laws, &|remark| output::warn(&[remark]))?;
    let mut sets = args.sets.clone();
    sets.extend(args.seeds.as_ref().map(|seeds| format!("run.seeds={seeds}")));
    let options = fadelab_scenario::Options {
        sets,
        is_live,
        runs_max: args.max_runs,
        own_laws,
        ..fadelab_scenario::Options::default()
    };
    Ok(fadelab_scenario::load(&args.file, &options)?)
}

/// Prints the resolved scenario; it is itself a scenario.
///
/// # Errors
/// An invalid scenario.
pub fn show(args: &ShowArgs) -> Result<(), Failure> {
    let plan = plan(&args.scenario)?;
    output::warn(&plan.warnings);
    let runs = plan.runs.len();
    let swept = if plan.sweep_keys.is_empty() {
        String::new()
    } else {
        format!(" over {}", plan.sweep_keys.join(", "))
    };
    output::print(&format!(
        "# {runs} run{}{swept}\n{}",
        if runs == 1 { "" } else { "s" },
        plan.text
    ))
}
