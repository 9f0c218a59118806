//! `fadelab check`: everything that `run` would refuse or warn of, and what would be run.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use fadelab_lab::amount::{Amount, Network};
use fadelab_lab::{Failure, Ground as _, Live, Refusal, Simulator, Virtual};
use fadelab_scenario::plan::Plan;
use fadelab_scenario::unit::{Duration, Scalar};
use fadelab_testbed::host_laws;

use crate::args::ScenarioArgs;
use crate::compare::Ground;
use crate::{output, show};

/// Arguments of `fadelab check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// More scenario files
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    more: Vec<PathBuf>,
    /// Where it is to run: `virtual` also tells what a kernel has no counterpart for
    #[arg(long, value_enum, default_value = "sim")]
    on: Ground,
}

/// Reads every scenario and says what it amounts to.
///
/// # Errors
/// What is wrong with the scenarios, one line for each that is not good.
pub fn check(args: &CheckArgs) -> Result<(), Failure> {
    if args.on != Ground::Sim {
        host_laws::register();
    }
    let mut wrong = Vec::new();
    for file in [&args.scenario.file].into_iter().chain(&args.more) {
        let scenario = ScenarioArgs {
            file: file.clone(),
            ..args.scenario.clone()
        };
        match show::plan_for(&scenario, args.on == Ground::Live) {
            Ok(plan) => {
                let refused = refusals(args.on, &plan);
                if refused.is_empty() {
                    output::print_told(&format!("{}: good\n{}", file.display(), amount(&Amount::of(&plan))))?;
                    output::warn(&plan.warnings);
                }
                wrong.extend(refused.iter().map(|why| format!("{}: {why}", file.display())));
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

/// What a ground does not run of a plan that is good.
fn refusals(on: Ground, plan: &Plan) -> Vec<Refusal> {
    match on {
        Ground::Sim => Simulator.check(plan),
        Ground::Virtual => Virtual::refusals(plan),
        Ground::Live => Live::refusals(plan),
    }
}

/// What would be run, in a few lines.
fn amount(amount: &Amount) -> String {
    let mut text = String::new();
    let swept = match amount.sweep_keys.as_slice() {
        [] => String::new(),
        keys => format!(" over {}", keys.join(", ")),
    };
    let (runs, virtual_s) = (plural(amount.runs, "run"), amount.virtual_s);
    let _ = writeln!(text, "  {runs}{swept}, {virtual_s} virtual s in all");
    let _ = writeln!(text, "  laws: {}", amount.laws.join(", "));
    if let Some(first) = &amount.first {
        text.push_str(&network(first));
    }
    let _ = writeln!(
        text,
        "  {} samples of flows and links in the time series",
        amount.samples
    );
    text
}

/// The network of the first run: its flows, the links that results show, the shortest and the longest round trip.
fn network(network: &Network) -> String {
    let (links, flows) = (plural(network.links, "link"), plural(network.flows, "flow"));
    let plain = |ns: u64| Duration(ns).shown().trim_matches('"').to_owned();
    let rtt = match (network.rtt_ns_min, network.rtt_ns_max) {
        (min, max) if min == max => plain(min),
        (min, max) => format!("{} to {}", plain(min), plain(max)),
    };
    format!(
        "  first run: {flows} over {links}, shown: {}; round-trip propagation delay {rtt}\n",
        listed(&network.shown)
    )
}

/// The first few of many names.
fn listed(names: &[String]) -> String {
    const FEW: usize = 8;
    match names.len().checked_sub(FEW) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..FEW].join(", ")),
    }
}

fn plural(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
