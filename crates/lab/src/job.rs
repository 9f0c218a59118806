//! A plan from its runs to the folder of its result.

use std::path::{Path, PathBuf};
use std::time::Instant;

use cpu_time::ProcessTime;
use fadelab_results::{Experiment, Host, Provenance, Run, Sharing, Specs, Summary, Target};
use fadelab_scenario::plan::{Plan, PlannedRun};
use fadelab_sim::record::RunRecord;

use crate::{Ground, Kept, Stop, Watch, own_law, sweep};

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
    /// Folder of the result.
    pub folder: PathBuf,
}

impl Job<'_> {
    /// Runs the plan on each ground, which must be prepared, and writes one result of all. Runs are taken from `kept`
    /// and kept there until the result is written; it is meant for one ground.
    ///
    /// # Errors
    /// See [`Stop`].
    pub fn run(&self, grounds: &[&dyn Ground], kept: Option<&Kept>, watch: &dyn Watch) -> Result<Done, Stop> {
        let (wall, cpu) = (Instant::now(), ProcessTime::now());
        let (mut runs, mut idle_s) = (Vec::new(), 0.0);
        for &ground in grounds {
            let swept = sweep(ground, self.plan, self.threads, kept, watch)?;
            idle_s += swept.workers_idle_s;
            runs.extend(self::runs(self.plan, ground.name(), swept.records));
        }
        let sharing = Sharing {
            cpu_time_s: cpu.elapsed().as_secs_f64(),
            idle_s,
        };
        let guest = grounds.iter().find_map(|ground| ground.guest());
        let provenance = Provenance {
            wall_time_s: wall.elapsed().as_secs_f64(),
            threads: self.threads,
            // Guests are processes of their own, whose time this one does not know.
            sharing: guest.is_none().then_some(sharing),
            host: Host::read(),
            guest,
        };
        let experiment = Experiment {
            scenario_path: self.scenario_path.display().to_string(),
            ..experiment(self.plan, runs)
        };
        let summary = Summary::of(&experiment);
        let folder = fadelab_results::write(self.target, &experiment, &summary, &provenance, self.csv)?;
        if let Some(kept) = kept {
            kept.remove();
        }
        Ok(Done {
            experiment,
            summary,
            provenance,
            folder,
        })
    }
}

/// The runs of a plan on the ground of this name, beside what came out.
pub fn runs(plan: &Plan, ground: &str, records: Vec<RunRecord>) -> Vec<Run> {
    let mut specs = Specs::default();
    let run = |(run, record): (&PlannedRun, RunRecord)| Run {
        ground: ground.to_owned(),
        law: run.law_label.clone(),
        point: run.point.clone(),
        seed: run.seed,
        spec: specs.of(&run.spec),
        record,
    };
    plan.runs.iter().zip(records).map(run).collect()
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

/// A warning for whoever compares the simulator with a kernel, which has the transport that it has: the simulator should
/// imitate that one. Empty where it does.
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
