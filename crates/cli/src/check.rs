//! `fadelab check`: everything that `run` would refuse or warn of, and what would be run.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use fadelab_lab::Failure;
use fadelab_run::spec::RunSpec;
use fadelab_scenario::plan::Plan;
use fadelab_scenario::unit::{Duration, Scalar};

use crate::args::ScenarioArgs;
use crate::{output, show};

/// Arguments of `fadelab check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// More scenario files
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    more: Vec<PathBuf>,
}

/// Reads every scenario and says what it amounts to.
///
/// # Errors
/// What is wrong with the scenarios, one line for each that is not good.
pub fn check(args: &CheckArgs) -> Result<(), Failure> {
    let mut wrong = Vec::new();
    for file in [&args.scenario.file].into_iter().chain(&args.more) {
        let scenario = ScenarioArgs {
            file: file.clone(),
            ..args.scenario.clone()
        };
        match show::plan(&scenario) {
            Ok(plan) => {
                output::print(&format!("{}: good\n{}", file.display(), amount(&plan)))?;
                output::warn(&plan.warnings);
            }
            Err(Failure::Invalid(message)) => wrong.push(message),
            Err(other) => return Err(other),
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Failure::Invalid(wrong.join("\n       ")))
}

/// What would be run, in a few lines.
fn amount(plan: &Plan) -> String {
    let mut text = String::new();
    let ns: u128 = plan.runs.iter().map(|run| u128::from(run.spec.duration_ns)).sum();
    let swept = match plan.sweep_keys.as_slice() {
        [] => String::new(),
        keys => format!(" over {}", keys.join(", ")),
    };
    let count = plan.runs.len();
    let (runs, virtual_s) = (plural(count, "run"), ns / 1_000_000_000);
    let _ = writeln!(text, "  {runs}{swept}, {virtual_s} virtual s in all");
    let mut laws: Vec<(u32, &str)> = plan
        .runs
        .iter()
        .map(|run| (run.law_order, run.law_label.as_str()))
        .collect();
    laws.sort_unstable();
    laws.dedup();
    let laws: Vec<&str> = laws.into_iter().map(|(_, label)| label).collect();
    let _ = writeln!(text, "  laws: {}", laws.join(", "));
    if let Some(first) = plan.runs.first() {
        text.push_str(&network(&first.spec));
    }
    let samples: u128 = plan.runs.iter().map(|run| samples(&run.spec)).sum();
    let _ = writeln!(text, "  {samples} samples of flows and links in the time series");
    text
}

/// The network of the first run: its flows, the links that results show, the shortest and the longest round trip.
fn network(spec: &RunSpec) -> String {
    let shown: Vec<&str> = spec
        .network
        .links
        .iter()
        .filter(|link| link.shown)
        .map(|link| link.name.as_ref())
        .collect();
    let (links, flows) = (
        plural(spec.network.links.len(), "link"),
        plural(spec.flows.len(), "flow"),
    );
    let rtt_ns = |flow: &fadelab_run::flow::FlowSpec| -> u64 {
        let route = flow.route.iter().chain(&flow.route_back);
        route.map(|link| spec.network.links[*link as usize].delay_ns).sum()
    };
    let (min, max) = (
        spec.flows.iter().map(rtt_ns).min().unwrap_or(0),
        spec.flows.iter().map(rtt_ns).max().unwrap_or(0),
    );
    let plain = |ns: u64| Duration(ns).shown().trim_matches('"').to_owned();
    let rtt = if min == max {
        plain(min)
    } else {
        format!("{} to {}", plain(min), plain(max))
    };
    format!(
        "  first run: {flows} over {links}, shown: {}; round-trip propagation delay {rtt}\n",
        listed(&shown)
    )
}

/// The first few of many names.
fn listed(names: &[&str]) -> String {
    const FEW: usize = 8;
    match names.len().checked_sub(FEW) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..FEW].join(", ")),
    }
}

/// Rows of the time series that a run leaves.
fn samples(spec: &RunSpec) -> u128 {
    let Some(interval_ns) = spec.record_interval_ns else {
        return 0;
    };
    let links = spec.network.links.iter().filter(|link| link.shown).count();
    u128::from(spec.duration_ns / interval_ns) * (links + spec.flows.len()) as u128
}

fn plural(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
