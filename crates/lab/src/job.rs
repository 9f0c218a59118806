//! A plan from its runs to the folder of its result.

use std::path::{Path, PathBuf};
use std::time::Instant;

use cpu_time::ProcessTime;
use fadelab_path::punctuality::Punctuality;
use fadelab_results::distance::Distance;
use fadelab_results::{Experiment, Host, Origin, Provenance, Run, Sharing, Summary, Target};
use fadelab_run::record::ProcessorLoad;
use fadelab_scenario::plan::Plan;
use fadelab_testbed::live;

use crate::{Failure, Ground, Kept, Stop, Watch, own_law, refuse, sweep};

/// A plan, and where its result goes.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// What is run.
    pub plan: &'a Plan,
    /// The scenario's file as its user named it; empty if there is none.
    pub scenario_path: &'a Path,
    /// Where the result goes; [`Target::check`] says beforehand whether it can.
    pub target: &'a Target,
    /// Runs at the same time.
    pub threads: usize,
    /// The same on a ground whose runs disturb each other ([`Ground::is_alone`]): 1, unless more were asked for.
    pub threads_alone: usize,
    /// Whether the tables are written as CSV too.
    pub csv: bool,
}

/// What came of it.
#[derive(Debug)]
pub struct Done {
    /// The runs, those of the first ground first.
    pub experiment: Experiment,
    /// Every figure that a person reads.
    pub summary: Summary,
    /// Times, machine and guest.
    pub provenance: Provenance,
    /// Runs whose emulator was not the link that it was said to be, and why.
    pub disturbed: Vec<String>,
    /// Folder of the result.
    pub folder: PathBuf,
}

impl Done {
    /// How long all runs last together, in s of their own time.
    pub fn virtual_s(&self) -> u64 {
        let runs = self.experiment.runs.iter();
        runs.map(|run| run.spec.duration_ns / 1_000_000_000).sum()
    }

    /// Whether more seeds would say if some distance between grounds is within its bound.
    pub fn asks_for_seeds(&self) -> bool {
        let mut distances = self.summary.distances.iter();
        distances.any(Distance::asks_for_seeds)
    }

    /// How punctual the least punctual emulator was, in real time; `None`: none was needed.
    pub fn punctuality(&self) -> Option<Punctuality> {
        let live = self.experiment.runs.iter().filter(|run| run.ground == live::LIVE);
        let all = live.filter_map(|run| run.record.punctuality);
        all.max_by_key(|punctuality| punctuality.late_ns_p99)
    }

    /// How busy the busiest guest's processor was; `None`: there was no guest.
    pub fn processor(&self) -> Option<ProcessorLoad> {
        let all = self.experiment.runs.iter().filter_map(|run| run.record.processor);
        all.max_by_key(|load| load.busy_permille_max)
    }
}

/// Makes grounds ready for a plan. What can be known to be in the way is known before the first of them begins, which
/// may take minutes.
///
/// # Errors
/// A target that is taken, what one of the grounds cannot run, or what this machine lacks.
pub fn prepare(
    plan: &Plan,
    target: &Target,
    grounds: &mut [&mut dyn Ground],
    tell: &dyn Fn(&str),
) -> Result<(), Failure> {
    target.check().map_err(Failure::invalid)?;
    for ground in &*grounds {
        refuse(&**ground, plan)?;
    }
    grounds.iter_mut().try_for_each(|ground| ground.prepare(plan, tell))
}

impl Job<'_> {
    /// Runs the plan on each ground, which must be prepared, and writes one result of all. Runs of each are taken from
    /// its place in `kept`, which may be empty, and kept there until the result is written, or longer where more seeds
    /// would say how far the grounds are apart ([`Done::asks_for_seeds`]): those need not run these again.
    ///
    /// # Errors
    /// See [`Stop`].
    pub fn run(&self, grounds: &[&dyn Ground], kept: &[Kept], watch: &dyn Watch) -> Result<Done, Stop> {
        let (wall, cpu) = (Instant::now(), ProcessTime::now());
        let (mut runs, mut idle_s) = (Vec::new(), 0.0);
        for (place, &ground) in grounds.iter().enumerate() {
            let threads = [self.threads, self.threads_alone][usize::from(ground.is_alone())];
            let swept = sweep(ground, self.plan, threads, kept.get(place), watch)?;
            idle_s += swept.workers_idle_s;
            runs.extend(swept.runs);
        }
        let sharing = Sharing {
            cpu_time_s: cpu.elapsed().as_secs_f64(),
            idle_s,
        };
        let guest = grounds.iter().find_map(|ground| ground.guest());
        let provenance = Provenance {
            origin: Origin::of_process(),
            wall_time_s: wall.elapsed().as_secs_f64(),
            threads: self.threads,
            // Guests are processes of their own, whose time this one does not know.
            sharing: guest.is_none().then_some(sharing),
            host: Host::read(),
            guest,
        };
        let disturbed = disturbed(&runs);
        let mut experiment = Experiment {
            scenario_path: self.scenario_path.display().to_string(),
            ..experiment(self.plan, runs)
        };
        experiment.warnings.extend_from_slice(&disturbed);
        let summary = Summary::of(&experiment);
        let folder = fadelab_results::write(self.target, &experiment, &summary, &provenance, self.csv)?;
        let done = Done {
            experiment,
            summary,
            provenance,
            disturbed,
            folder,
        };
        if !done.asks_for_seeds() {
            kept.iter().for_each(Kept::remove);
        }
        Ok(done)
    }
}

/// Each run whose emulator was not punctual, and why.
fn disturbed(runs: &[Run]) -> Vec<String> {
    let why = |run: &Run| {
        let why = run.record.punctuality.as_ref()?.disturbance()?;
        Some(format!(
            "{}, seed {} on the {} ground was disturbed: {why}",
            run.law, run.seed, run.ground
        ))
    };
    runs.iter().filter_map(why).collect()
}

/// What results keep of a plan, with its runs, without claims.
pub fn experiment(plan: &Plan, runs: Vec<Run>) -> Experiment {
    let (own_laws, sources) = own_law::kept();
    Experiment {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        title: plan.title.clone(),
        about: plan.about.clone(),
        scenario: plan.text.clone(),
        warnings: plan.warnings.clone(),
        sources,
        own_laws,
        runs,
        ..Experiment::default()
    }
}

/// A warning for whoever compares the simulator with a kernel, which has the transport that it has: the simulator
/// should imitate that one. Empty where it does.
pub fn foreign_preset(plan: &Plan) -> Vec<String> {
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
