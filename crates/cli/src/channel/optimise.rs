//! `fadelab channel --optimise goodput`: the code rates of data and of ACKs that give a law the most goodput on a link.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use fadelab_phy::channel::PacketKind;
use fadelab_scenario::plan::{Plan, PlannedRun};
use fadelab_sim::RunError;
use indicatif::{ProgressBar, ProgressStyle};
use rayon::prelude::*;

use crate::channel::search::{Pair, search};
use crate::channel::{ChannelArgs, invalid, snrs, surface};
use crate::{Failure, interrupt, output};

/// The link of the VCP paper's figure 3, on which it chose its code rates.
const SATELLITE: &str = include_str!("../../../../scenarios/satellite.toml");

/// Runs the search and prints the surface, the best pair and the papers'.
///
/// # Errors
/// An invalid scenario or channel, a failed run, an interrupt.
pub fn optimise(args: &ChannelArgs) -> Result<(), Failure> {
    let law = args.law.as_deref().unwrap_or_default();
    let problem = Problem {
        args,
        sets: sets(args, law)?,
    };
    let plan = problem.plan(super::search::PAPER)?;
    output::warn(&plan.warnings);
    let interrupted = interrupt::flag();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(args.jobs.map_or(0, std::num::NonZero::get))
        .build();
    let pool = pool.map_err(|error| Failure::Failed(format!("cannot start threads: {error}")))?;
    let bar = ProgressBar::new(0);
    let style = ProgressStyle::with_template("{msg} {wide_bar:.cyan/dim} {pos}/{len} runs so far").expect("fixed");
    bar.set_style(style.progress_chars("━╸─"));
    bar.set_message(format!("{law}: pairs of code rates"));
    let found = search(&mut |pairs| pool.install(|| problem.evaluate(pairs, &bar, interrupted)));
    bar.finish_and_clear();
    let found = found?;
    let heading = format!("Goodput of {law}, {}, {} seeds", plan.title, plan.runs.len());
    let per = |pair: Pair| problem.plan(pair).ok().and_then(|plan| packet_errors(&plan.runs[0]));
    output::print(&surface::text(&heading, &found, &per))
}

/// What is given: the scenario and what the command line changes in it.
struct Problem<'a> {
    args: &'a ChannelArgs,
    sets: Vec<String>,
}

impl Problem<'_> {
    /// The runs of one pair: one per seed.
    fn plan(&self, (data, ack): Pair) -> Result<Plan, Failure> {
        let mut options = fadelab_scenario::Options {
            sets: self.sets.clone(),
            ..Default::default()
        };
        options
            .sets
            .push(format!("channel.code.data={}", f64::from(data) / 1e3));
        options.sets.push(format!("channel.code.ack={}", f64::from(ack) / 1e3));
        let plan = match &self.args.scenario {
            Some(file) => fadelab_scenario::load(file, &options)?,
            None => fadelab_scenario::parse(SATELLITE.as_bytes(), "satellite.toml", Path::new(""), &options)?,
        };
        if let Some(key) = plan.sweep_keys.iter().find(|key| *key != "run.seeds") {
            let hint = format!("the best pair is that of one link; give one value, for example --set {key}=VALUE");
            return Err(Failure::Invalid(format!("the scenario sweeps over {key}: {hint}")));
        }
        Ok(plan)
    }

    /// Goodput of each pair under each seed, in bit/s.
    fn evaluate(&self, pairs: &[Pair], bar: &ProgressBar, stop: &AtomicBool) -> Result<Vec<Vec<f64>>, Failure> {
        let plans: Vec<Plan> = pairs.iter().map(|&pair| self.plan(pair)).collect::<Result<_, _>>()?;
        let runs: Vec<(Pair, &PlannedRun)> = pairs
            .iter()
            .zip(&plans)
            .flat_map(|(&pair, plan)| plan.runs.iter().map(move |run| (pair, run)))
            .collect();
        bar.inc_length(runs.len() as u64);
        let run = |&(pair, run): &(Pair, &PlannedRun)| {
            let found = goodput_bps(run, stop);
            bar.inc(1);
            found.map_err(|error| match error {
                RunError::Stopped => Failure::Interrupted("interrupted; nothing was found yet".to_owned()),
                error => Failure::Failed(format!("code rates {pair:?} thousandths, seed {}: {error}", run.seed)),
            })
        };
        // The first failure in the order of the runs counts, whatever thread met one first.
        let outcomes: Vec<Result<f64, Failure>> = runs.par_iter().map(run).collect();
        let values: Vec<f64> = outcomes.into_iter().collect::<Result<_, _>>()?;
        let mut rest = values.as_slice();
        let split = |plan: &Plan| {
            let (of_pair, others) = rest.split_at(plan.runs.len());
            rest = others;
            of_pair.to_vec()
        };
        Ok(plans.iter().map(split).collect())
    }
}

/// What the command line says as overrides of the scenario; the channel of the scenario stays where nothing is said.
fn sets(args: &ChannelArgs, law: &str) -> Result<Vec<String>, Failure> {
    let mut sets = args.sets.clone();
    sets.push("run.record=false".to_owned());
    sets.push(format!("flow.law={law}"));
    sets.extend(args.seeds.as_ref().map(|seeds| format!("run.seeds={seeds}")));
    match args.antennas.as_slice() {
        [] => {}
        [antennas] => sets.push(format!("channel.antennas={antennas}")),
        several => return Err(invalid("antennas", &several.join(","), "one pair with --optimise")),
    }
    if let Some(given) = &args.snr {
        match snrs(args, 1.0)?.as_slice() {
            [snr_db] => sets.push(format!("channel.snr={snr_db} dB")),
            _ => return Err(invalid("snr", given, "one value with --optimise")),
        }
    }
    for (given, option) in [
        (!args.code_rate.is_empty(), "--code-rate"),
        (args.ack, "--ack"),
        (args.size.is_some(), "--size"),
        (args.step.is_some(), "--step"),
    ] {
        if given {
            return Err(Failure::Invalid(format!(
                "{option}: has no meaning with --optimise, which looks at all rates"
            )));
        }
    }
    sets.extend(args.bad_below.map(|below| format!("channel.snr_bad=snr - {below} dB")));
    sets.extend(
        args.modulation
            .as_ref()
            .map(|name| format!("channel.modulation={name}")),
    );
    sets.extend(args.burst_good.map(|bits| format!("channel.burst_good={bits} bit")));
    sets.extend(args.burst_bad.map(|bits| format!("channel.burst_bad={bits} bit")));
    sets.push(format!("channel.code.mode={}", args.mode));
    Ok(sets)
}

/// Payload that all applications got in the measured interval, in bit/s.
fn goodput_bps(run: &PlannedRun, stop: &AtomicBool) -> Result<f64, RunError> {
    let record = fadelab_sim::run(&run.spec, |_| !stop.load(Ordering::Relaxed))?;
    let flows = record.flows_end.iter().zip(&record.flows_warmup);
    let bytes: u64 = flows
        .map(|(end, warmup)| end.delivered_bytes - warmup.delivered_bytes)
        .sum();
    Ok(bytes as f64 * 8e9 / (run.spec.duration_ns - run.spec.warmup_ns) as f64)
}

/// Exact packet errors of the first fading link, of a full data packet and of an ACK of its first flow.
fn packet_errors(run: &PlannedRun) -> Option<[f64; 2]> {
    let channel = run.spec.links.iter().find_map(|link| link.channel.as_ref())?;
    let transport = run.spec.flows.first()?.transport;
    Some([
        channel.packet_error(PacketKind::Data, transport.packet_bytes),
        channel.packet_error(PacketKind::Ack, transport.ack_bytes),
    ])
}
