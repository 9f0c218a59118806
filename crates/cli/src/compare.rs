//! `fadelab compare`: one scenario on several grounds, laid over each other, and how far they are apart.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Instant;

use clap::{Args, ValueEnum};
use fadelab_results::distance::{self, Agreement};
use fadelab_results::{Experiment, Host, Provenance, SIM, Summary};
use fadelab_scenario::plan::Plan;
use fadelab_sim::record::RunRecord;
use fadelab_testbed::Image;

use crate::args::{ScenarioArgs, threads};
use crate::sweep::{Failed, simulate};
use crate::testbed::{self, GuestArgs};
use crate::{Failure, output, own_law, run, show};

/// Arguments of `fadelab compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// Grounds to run it on, at least two; distances are from the first
    #[arg(long, value_enum, value_delimiter = ',', default_value = "sim,virtual")]
    pub on: Vec<Ground>,
    #[command(flatten)]
    pub guest: GuestArgs,
    /// Folder for the result, which must be empty or not exist [default: results/NAME-001, numbered on]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Threads, and guests at the same time [default: one per core]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub jobs: Option<NonZeroUsize>,
    /// End with status 1 if a distance is beyond its bound
    #[arg(long)]
    pub exit_code: bool,
    /// Write the tables as CSV too, into the folder csv of the result
    #[arg(long)]
    pub csv: bool,
    /// Print only errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// Where a scenario can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Ground {
    /// The simulator
    Sim,
    /// A Debian kernel in virtual time, under QEMU
    Virtual,
}

impl Ground {
    const fn name(self) -> &'static str {
        match self {
            Self::Sim => SIM,
            Self::Virtual => fadelab_testbed::GROUND,
        }
    }
}

/// Runs a scenario on each ground and writes one result.
///
/// # Errors
/// Grounds that cannot be compared, an invalid scenario, a run that fails, a result that cannot be written, or, if
/// asked for, a distance beyond its bound.
pub fn compare(args: &CompareArgs) -> Result<(), Failure> {
    check_grounds(&args.on)?;
    let plan = show::plan(&args.scenario)?;
    let target = run::target(&args.scenario, args.out.as_deref());
    target.check().map_err(|error| Failure::Invalid(error.to_string()))?;
    // What has no counterpart should be known before the first ground has run.
    let image = args
        .on
        .contains(&Ground::Virtual)
        .then(|| testbed::check(&plan).and_then(|()| testbed::image(&args.guest)))
        .transpose()?;
    if !args.quiet {
        output::warn(&plan.warnings);
        output::warn(&foreign_preset(&plan));
    }
    let wall = Instant::now();
    let threads = args
        .jobs
        .map_or_else(run::cores, NonZeroUsize::get)
        .min(plan.runs.len());
    let mut experiment = run::experiment(&plan, Vec::new());
    for &ground in &args.on {
        if !args.quiet {
            output::note(&[format!("on {} ...", ground.name())]);
        }
        let records = records(args, ground, &plan, image.as_ref(), threads)?;
        let mut runs = run::experiment(&plan, records).runs;
        for run in &mut runs {
            ground.name().clone_into(&mut run.ground);
        }
        experiment.runs.extend(runs);
    }
    experiment.scenario_path = args.scenario.file.display().to_string();
    let wall_s = wall.elapsed().as_secs_f64();
    let summary = Summary::of(&experiment);
    let provenance = Provenance {
        wall_time_s: wall_s,
        threads,
        sharing: None,
        host: Host::read(),
        guest: image.as_ref().map(testbed::provenance_of),
    };
    let folder = fadelab_results::write(&target, &experiment, &summary, &provenance, args.csv)?;
    if !args.quiet {
        let kernel = image
            .as_ref()
            .map_or_else(String::new, |image| format!(", {}", image.package()));
        let speed = speed(&experiment, wall_s, &kernel);
        let text = run::text(&summary, &speed, &folder);
        output::print(&format!("{text}\n{}", apart(&summary)))?;
    }
    let beyond = summary
        .distances
        .iter()
        .any(|distance| distance.agreement() == Agreement::Beyond);
    if args.exit_code && beyond {
        return Err(Failure::Failed(distance::in_words(&summary.distances)));
    }
    Ok(())
}

fn check_grounds(on: &[Ground]) -> Result<(), Failure> {
    let is_twice = (1..on.len()).any(|place| on[..place].contains(&on[place]));
    if on.len() >= 2 && !is_twice {
        return Ok(());
    }
    let given: Vec<&str> = on.iter().map(|ground| ground.name()).collect();
    let known: Vec<&str> = Ground::value_variants().iter().map(|ground| ground.name()).collect();
    Err(Failure::Invalid(format!(
        "--on {}: two grounds or more are compared, each once; known are {}; fadelab run and \
         fadelab testbed run are for one",
        given.join(","),
        known.join(", ")
    )))
}

/// A kernel has the transport that it has: the simulator should imitate that one.
fn foreign_preset(plan: &Plan) -> Vec<String> {
    let scenario: toml::Table = plan.text.parse().unwrap_or_default();
    let preset = scenario
        .get("transport")
        .and_then(|transport| transport.get("preset")?.as_str());
    let foreign = preset.filter(|&preset| preset != "linux");
    foreign
        .map(|preset| {
            format!(
                "transport.preset is \"{preset}\": the simulator imitates another transport than a kernel has, \
                 whose preset is \"linux\""
            )
        })
        .into_iter()
        .collect()
}

fn records(
    args: &CompareArgs,
    ground: Ground,
    plan: &Plan,
    image: Option<&Image>,
    threads: usize,
) -> Result<Vec<RunRecord>, Failure> {
    if let (Ground::Virtual, Some(image)) = (ground, image) {
        return testbed::records(plan, image, threads, None, args.quiet);
    }
    let swept = simulate(plan, threads, args.quiet, None).map_err(|stop| {
        stop.failure(None, |index, failed| {
            let message = match failed {
                Failed::Law(fault) => own_law::keep(fault, &run::target(&args.scenario, args.out.as_deref())),
                Failed::Engine(message) => message.clone(),
            };
            run::failed_run(&args.scenario, plan, index, &message)
        })
    })?;
    Ok(swept.records)
}

fn speed(experiment: &Experiment, wall_s: f64, kernel: &str) -> String {
    let virtual_s: u64 = experiment
        .runs
        .iter()
        .map(|run| run.spec.duration_ns / 1_000_000_000)
        .sum();
    let runs = experiment.runs.len();
    format!("{runs} runs, {virtual_s} virtual s in {wall_s:.1} s{kernel}")
}

/// The table of distances, and what it comes to.
fn apart(summary: &Summary) -> String {
    if summary.distances.is_empty() {
        return "The grounds share no law, point and seed with a figure: there is no distance.\n".to_owned();
    }
    format!(
        "{}\n{}\n{}\n",
        console::style("How far the grounds are apart").bold(),
        distance::terminal(&summary.distances),
        distance::in_words(&summary.distances)
    )
}
