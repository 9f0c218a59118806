//! `fadelab compare`: one scenario on several grounds, laid over each other, and how far they are apart.

use clap::{Args, ValueEnum};
use fadelab_lab::{Done, Failure, Job, Kept, Live, Simulator};
use fadelab_results::SIM;
use fadelab_results::distance::{self, Agreement, Distance};

use crate::args::{ResultArgs, ScenarioArgs};
use crate::progress::Terminal;
use crate::testbed::{self, GuestArgs};
use crate::{kept, output, run, show};

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
    #[command(flatten)]
    pub result: ResultArgs,
    /// End with status 1 if a distance is beyond its bound, and with 3 if more seeds are needed to say whether one is
    #[arg(long)]
    pub exit_code: bool,
}

/// Where a scenario can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Ground {
    /// The simulator
    Sim,
    /// A Debian kernel in virtual time, under QEMU
    Virtual,
    /// This machine's own kernel in real time, over emulated links
    Live,
}

impl Ground {
    const fn name(self) -> &'static str {
        match self {
            Self::Sim => SIM,
            Self::Virtual => fadelab_testbed::GROUND,
            Self::Live => fadelab_testbed::live::LIVE,
        }
    }

    /// As a paper's ledger names it.
    pub const fn of_claims(self) -> fadelab_claims::Ground {
        match self {
            Self::Sim => fadelab_claims::Ground::Sim,
            Self::Virtual => fadelab_claims::Ground::Virtual,
            Self::Live => fadelab_claims::Ground::Live,
        }
    }

    /// The ground, with the kernel or the settings of one that `guest` names.
    ///
    /// # Errors
    /// When this program cannot be found.
    pub fn made(self, guest: &GuestArgs) -> Result<Box<dyn fadelab_lab::Ground>, Failure> {
        Ok(match self {
            Self::Sim => Box::new(Simulator),
            Self::Virtual => Box::new(testbed::ground(guest)?),
            Self::Live => Box::new(Live {
                iperf3: guest.iperf3,
                sysctls: guest.sysctls.clone(),
                ..Live::default()
            }),
        })
    }
}

/// Runs a scenario on each ground and writes one result.
///
/// # Errors
/// Grounds that cannot be compared, an invalid scenario, a run that fails, a result that cannot be written, or, if
/// asked for, a distance that is not shown to be within its bound.
pub fn compare(args: &CompareArgs) -> Result<(), Failure> {
    check_grounds(&args.on)?;
    let plan = show::plan_for(&args.scenario, args.on.contains(&Ground::Live))?;
    let target = run::target(&args.scenario, args.result.out.as_deref());
    let mut grounds = args
        .on
        .iter()
        .map(|ground| ground.made(&args.guest))
        .collect::<Result<Vec<_>, _>>()?;
    let mut unprepared: Vec<&mut dyn fadelab_lab::Ground> =
        grounds.iter_mut().map(|ground| &mut **ground as _).collect();
    fadelab_lab::prepare(&plan, &target, &mut unprepared, &testbed::step)?;
    if !args.result.quiet {
        output::warn(&plan.warnings);
        output::warn(&fadelab_lab::foreign_preset(&plan));
    }
    let grounds: Vec<&dyn fadelab_lab::Ground> = grounds.iter().map(AsRef::as_ref).collect();
    let kept: Vec<Kept> = (grounds.iter())
        .map(|&ground| Kept::of(&plan, ground, &target, args.result.fresh))
        .collect::<Result<_, _>>()?;
    if !args.result.quiet {
        output::note(&kept::greeting(&kept));
    }
    let job = Job {
        plan: &plan,
        scenario_path: &args.scenario.file,
        target: &target,
        threads: run::threads(args.result.jobs, &plan),
        threads_alone: run::threads_alone(args.result.jobs),
        csv: args.result.csv,
    };
    let done = job
        .run(&grounds, &kept, &Terminal::naming_grounds(args.result.quiet))
        .map_err(|stop| run::failure(stop, &args.scenario, &job, &kept))?;
    output::warn(&done.disturbed);
    let distances = &done.summary.distances;
    if !args.result.quiet {
        let text = run::text(&done.summary, &speed(&done, kept::taken(&kept)), &done.folder);
        let kept = kept::for_more_seeds(&kept, args.result.out.as_deref());
        output::print_told(&format!("{text}\n{}{kept}", apart(distances)))?;
    }
    let any = |agreement: Agreement| distances.iter().any(|distance| distance.agreement == agreement);
    match args.exit_code {
        true if !done.disturbed.is_empty() => Err(Failure::Failed(done.disturbed.join("\n       "))),
        true if any(Agreement::Beyond) => Err(Failure::Failed(distance::in_words(distances))),
        true if any(Agreement::Undecided) => Err(Failure::Undecided(distance::in_words(distances))),
        _ => Ok(()),
    }
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

/// How long it took; of runs that an earlier comparison had finished, `taken_n`, the time is not known.
fn speed(done: &Done, taken_n: usize) -> String {
    let guest = done.provenance.guest.as_ref();
    let kernel = guest.map_or_else(String::new, |guest| format!(", {}", guest.kernel));
    let (runs, virtual_s, wall_s) = (
        done.experiment.runs.len(),
        done.virtual_s(),
        done.provenance.wall_time_s,
    );
    let taken = kept::told(taken_n);
    format!("{runs} runs, {virtual_s} virtual s in {wall_s:.1} s{kernel}{taken}")
}

/// The table of distances, and what it comes to.
fn apart(distances: &[Distance]) -> String {
    if distances.is_empty() {
        return "The grounds share no law, point and seed with a figure: there is no distance.\n".to_owned();
    }
    format!(
        "{}\n{}\n{}\n",
        console::style("How far the grounds are apart").bold(),
        distance::terminal(distances, output::width()),
        distance::in_words(distances)
    )
}
