//! `fadelab channel --optimise goodput`: the code rates of data and of ACKs that give a law the most goodput on a link.

use std::path::Path;

use fadelab_lab::code_rates::{self, PAPER, Pair};
use fadelab_lab::{Failure, Progress, Simulator, Watch};
use fadelab_scenario::plan::Plan;
use indicatif::{ProgressBar, ProgressStyle};

use crate::channel::{ChannelArgs, invalid, snrs, surface};
use crate::progress::Terminal;
use crate::{output, run};

/// The link of the VCP paper's figure 3, on which it chose its code rates.
const SATELLITE: &str = include_str!("../../../../scenarios/satellite.toml");

/// Runs the search and prints the surface, the best pair and the papers'.
///
/// # Errors
/// An invalid scenario or channel, a failed run, an interrupt.
pub fn optimise(args: &ChannelArgs) -> Result<(), Failure> {
    let law = args.law.as_deref().unwrap_or_default();
    let sets = sets(args, law)?;
    let plan_of = |pair| plan(args, &sets, pair);
    let plan = plan_of(PAPER)?;
    output::warn(&plan.warnings);
    let threads = args.jobs.map_or_else(run::cores, std::num::NonZero::get);
    let found = code_rates::search(&plan_of, &Simulator, threads, &Counter::new(law))?;
    let heading = format!("Goodput of {law}, {}, {} seeds", plan.title, plan.runs.len());
    let per = |pair: Pair| {
        plan_of(pair)
            .ok()
            .and_then(|plan| code_rates::packet_errors(&plan.runs[0]))
    };
    output::print_told(&surface::text(&heading, &found, &per))
}

/// The runs of one pair: one per seed.
fn plan(args: &ChannelArgs, sets: &[String], (data, ack): Pair) -> Result<Plan, Failure> {
    let mut options = fadelab_scenario::Options {
        sets: sets.to_vec(),
        ..Default::default()
    };
    options
        .sets
        .push(format!("channel.code.data={}", f64::from(data) / 1e3));
    options.sets.push(format!("channel.code.ack={}", f64::from(ack) / 1e3));
    let plan = match &args.scenario {
        Some(file) => fadelab_scenario::load(file, &options)?,
        None => fadelab_scenario::parse(SATELLITE.as_bytes(), "satellite.toml", Path::new(""), &options)?,
    };
    if let Some(key) = plan.sweep_keys.iter().find(|key| *key != "run.seeds") {
        let hint = format!("the best pair is that of one link; give one value, for example --set {key}=VALUE");
        return Err(Failure::Invalid(format!("the scenario sweeps over {key}: {hint}")));
    }
    Ok(plan)
}

/// Counts the runs of all sweeps of a search in one bar; nobody knows how many there will be.
struct Counter {
    terminal: Terminal,
    drawn: ProgressBar,
}

impl Counter {
    fn new(law: &str) -> Self {
        let drawn = ProgressBar::new(0);
        let style = ProgressStyle::with_template("{msg} {wide_bar:.cyan/dim} {pos}/{len} runs so far").expect("fixed");
        drawn.set_style(style.progress_chars("━╸─"));
        drawn.set_message(format!("{law}: pairs of code rates"));
        Self {
            terminal: Terminal::new(false),
            drawn,
        }
    }
}

impl Watch for Counter {
    fn begin<'a>(&'a self, _ground: &str, plan: &'a Plan) -> Box<dyn Progress + 'a> {
        self.drawn.inc_length(plan.runs.len() as u64);
        Box::new(Counted(&self.drawn))
    }

    fn is_interrupted(&self) -> bool {
        self.terminal.is_interrupted()
    }
}

struct Counted<'a>(&'a ProgressBar);

impl Progress for Counted<'_> {
    fn end(&self, _run: usize) {
        self.0.inc(1);
    }
}

/// A bar that has served is taken away.
impl Drop for Counter {
    fn drop(&mut self) {
        self.drawn.finish_and_clear();
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
