//! `fadelab testbed`: scenarios inside a Linux kernel, with results like those of the simulator.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use clap::{Args, Subcommand, ValueEnum};
use fadelab_results::{Guest, Host, Provenance, Summary};
use fadelab_scenario::plan::Plan;
use fadelab_sim::record::RunRecord;
use fadelab_testbed::image::Kernel;
use fadelab_testbed::{Error, Image, host_laws};

use crate::args::{ScenarioArgs, threads};
use crate::progress::Progress;
use crate::workers::{self, Shared};
use crate::{Failure, interrupt, output, run, show};

/// Arguments of `fadelab testbed`.
#[derive(Debug, Subcommand)]
pub enum TestbedCommand {
    /// Run a scenario inside a Linux kernel: the same file, the same kind of result
    Run(TestbedRunArgs),
    /// Make the image of a kernel from Debian's packages now, which `run` does when it is missing
    Image(ImageArgs),
    /// What the guest runs
    #[command(hide = true)]
    Guest,
}

/// Arguments of `fadelab testbed run`.
#[derive(Debug, Args)]
pub struct TestbedRunArgs {
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// Where to run it
    #[arg(long, value_enum, default_value = "virtual")]
    pub ground: Ground,
    #[command(flatten)]
    pub guest: GuestArgs,
    /// Folder for the result, which must be empty or not exist [default: results/NAME-001, numbered on]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Guests at the same time [default: one per core]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub jobs: Option<NonZeroUsize>,
    /// Write each call of the law into FILE, for fadelab replay; the scenario must amount to one run
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Write the tables as CSV too, into the folder csv of the result
    #[arg(long)]
    pub csv: bool,
    /// Print only errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// Where a scenario runs.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Ground {
    /// A Debian kernel in virtual time, under QEMU; needs no root and gives the same bytes each time
    Virtual,
}

/// Which guest.
#[derive(Clone, Debug, Args)]
pub struct GuestArgs {
    /// Kernel of the guest: 6.1 or 6.12
    #[arg(long, value_name = "SERIES", default_value = "6.1")]
    pub kernel: String,
    /// Let iperf3 carry the flows that always have data, in place of fadelab's own sockets
    #[arg(long)]
    pub iperf3: bool,
}

/// Arguments of `fadelab testbed image`.
#[derive(Debug, Args)]
pub struct ImageArgs {
    #[command(flatten)]
    pub guest: GuestArgs,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        if error.is_invalid_input() {
            Self::Invalid(error.to_string())
        } else {
            Self::Failed(error.to_string())
        }
    }
}

/// Does what the arguments say.
///
/// # Errors
/// See [`run_scenario`] and [`image`].
pub fn testbed(command: &TestbedCommand) -> Result<(), Failure> {
    match command {
        TestbedCommand::Run(args) => run_scenario(args),
        TestbedCommand::Image(args) => {
            let image = image(&args.guest)?;
            output::print(&format!("{}: {}\n", image.package(), image.folder().display()))
        }
        TestbedCommand::Guest => fadelab_testbed::guest::main(),
    }
}

/// The image of a kernel, with this program in it.
///
/// # Errors
/// An unknown kernel, or an image that cannot be made.
pub fn image(args: &GuestArgs) -> Result<Image, Failure> {
    let kernel = Kernel::of(&args.kernel)?;
    let program = std::env::current_exe().map_err(|error| Failure::Failed(format!("cannot find myself: {error}")))?;
    Ok(Image::prepare(&kernel, &program, args.iperf3, |step| {
        output::note(&[format!("{step} ...")]);
    })?)
}

/// What a result says of its guest.
pub fn provenance_of(image: &Image) -> Guest {
    Guest {
        kernel: image.package().to_owned(),
        greedy: if image.has_iperf3() { "iperf3" } else { "sockets" },
    }
}

/// Runs a scenario and writes its result.
///
/// # Errors
/// A scenario that is invalid or has no counterpart, a guest that fails, an interrupt, or a result that cannot be
/// written.
fn run_scenario(args: &TestbedRunArgs) -> Result<(), Failure> {
    host_laws::register();
    let plan = show::plan(&args.scenario)?;
    let target = run::target(&args.scenario, args.out.as_deref());
    target.check().map_err(|error| Failure::Invalid(error.to_string()))?;
    check(&plan)?;
    if args.record.is_some() && plan.runs.len() > 1 {
        return Err(Failure::Invalid(format!(
            "--record: the scenario amounts to {} runs; choose one with --set flow.law=vcp --seeds 1",
            plan.runs.len()
        )));
    }
    if !args.quiet {
        output::warn(&plan.warnings);
    }
    let image = image(&args.guest)?;
    let jobs = args
        .jobs
        .map_or_else(run::cores, NonZeroUsize::get)
        .min(plan.runs.len());
    let wall = Instant::now();
    let records = records(&plan, &image, jobs, args.record.as_deref(), args.quiet)?;
    let wall_s = wall.elapsed().as_secs_f64();
    let mut experiment = run::experiment(&plan, records);
    for run in &mut experiment.runs {
        fadelab_testbed::GROUND.clone_into(&mut run.ground);
    }
    experiment.scenario_path = args.scenario.file.display().to_string();
    let summary = Summary::of(&experiment);
    let provenance = Provenance {
        wall_time_s: wall_s,
        threads: jobs,
        sharing: None,
        host: Host::read(),
        guest: Some(provenance_of(&image)),
    };
    let folder = fadelab_results::write(&target, &experiment, &summary, &provenance, args.csv)?;
    if args.quiet {
        return Ok(());
    }
    let virtual_s: u64 = plan.runs.iter().map(|run| run.spec.duration_ns / 1_000_000_000).sum();
    let speed = format!(
        "{} in {}: {virtual_s} virtual s in {wall_s:.1} s",
        if plan.runs.len() == 1 {
            "1 run".to_owned()
        } else {
            format!("{} runs", plan.runs.len())
        },
        image.package()
    );
    output::print(&run::text(&summary, &speed, &folder))
}

/// Refuses a plan of which some run has no counterpart, before the first one begins.
///
/// # Errors
/// The first such run.
pub fn check(plan: &Plan) -> Result<(), Failure> {
    for run in &plan.runs {
        fadelab_testbed::check(&run.spec)
            .map_err(|error| Failure::Invalid(format!("law {}: {error}", run.law_label)))?;
    }
    Ok(())
}

/// Runs a plan in guests, `jobs` at a time, and gives the records in its order. The calls of its law go into the file
/// `calls`, if one is named.
///
/// # Errors
/// The first run of the plan that failed, or an interrupt.
pub fn records(
    plan: &Plan,
    image: &Image,
    jobs: usize,
    calls: Option<&Path>,
    quiet: bool,
) -> Result<Vec<RunRecord>, Failure> {
    let interrupted: &AtomicBool = interrupt::flag();
    let progress = Progress::new(plan.runs.iter().map(|run| run.spec.duration_ns), quiet);
    let first_failed = AtomicUsize::new(usize::MAX);
    let work = |index: usize| {
        let run = &plan.runs[index];
        let go_on = || !interrupted.load(Ordering::Relaxed) && first_failed.load(Ordering::Relaxed) > index;
        if !go_on() {
            return Err(Error::Stopped);
        }
        let mut share = progress.of_run();
        let report = |time_ns| {
            share.reach(time_ns);
            go_on()
        };
        let outcome = match calls {
            Some(calls) => fadelab_testbed::run_recorded(&run.spec, image, calls, report),
            None => fadelab_testbed::run(&run.spec, image, report),
        };
        match &outcome {
            Ok(_) => share.end(run.spec.duration_ns),
            Err(Error::Stopped) => {}
            Err(_) => drop(first_failed.fetch_min(index, Ordering::Relaxed)),
        }
        outcome
    };
    let order: Vec<usize> = (0..plan.runs.len()).collect();
    let shared = workers::share(&order, jobs, work).map_err(Failure::Failed)?;
    progress.finish();
    let Shared { outcomes, .. } = shared;
    if interrupted.load(Ordering::Relaxed) {
        return Err(Failure::Interrupted("interrupted; nothing was written".to_owned()));
    }
    let named = outcomes.into_iter().zip(&plan.runs).map(|(outcome, run)| {
        outcome.map_err(|error| match error {
            error if error.is_invalid_input() => Failure::from(error),
            error => Failure::Failed(format!("law {}, seed {}: {error}", run.law_label, run.seed)),
        })
    });
    // A run that was stopped comes after the one that failed and stopped it.
    named.collect()
}
