//! `fadelab run`: a scenario from its file to a folder of results and a table.

use std::path::{Path, PathBuf};
use std::time::Instant;

use cpu_time::ProcessTime;
use fadelab_results::{Experiment, Host, Provenance, Run, SIM, Sharing, Specs, Summary, Target, table};
use fadelab_scenario::plan::Plan;
use fadelab_sim::record::RunRecord;

use crate::args::{RunArgs, ScenarioArgs};
use crate::kept::{self, Kept};
use crate::sweep::{Failed, simulate};
use crate::{Failure, output, own_law, pcap, shell, show};

/// Runs a scenario and writes its result.
///
/// # Errors
/// An invalid scenario, an occupied folder, a failed run, an interrupt, or a result that cannot be written.
pub fn run(args: &RunArgs) -> Result<(), Failure> {
    let plan = show::plan(&args.scenario)?;
    let log = pcap::Log::asked(args.pcap.as_deref(), &plan)?;
    let target = target(&args.scenario, args.out.as_deref());
    // A result that could not be written should be known before the runs, not after them.
    target.check().map_err(|error| Failure::Invalid(error.to_string()))?;
    let kept = Kept::of(&plan, &target, args.fresh)?;
    if !args.quiet {
        output::warn(&plan.warnings);
        output::note(&kept.as_ref().map_or_else(Vec::new, Kept::greeting));
    }
    let threads = args
        .jobs
        .map_or_else(cores, std::num::NonZero::get)
        .min(plan.runs.len());
    let (wall, cpu) = (Instant::now(), ProcessTime::now());
    let swept = simulate(&plan, threads, args.quiet, kept.as_ref()).map_err(|stop| {
        stop.failure(kept.as_ref(), |index, failed| {
            let message = match failed {
                Failed::Law(fault) => own_law::keep(fault, &target),
                Failed::Engine(message) => message.clone(),
            };
            failed_run(&args.scenario, &plan, index, &message)
        })
    })?;
    let (wall_s, cpu_s) = (wall.elapsed().as_secs_f64(), cpu.elapsed().as_secs_f64());

    let mut experiment = experiment(&plan, swept.records);
    experiment.scenario_path = args.scenario.file.display().to_string();
    let summary = Summary::of(&experiment);
    let provenance = Provenance {
        guest: None,
        wall_time_s: wall_s,
        threads,
        sharing: Some(Sharing {
            cpu_time_s: cpu_s,
            idle_s: swept.workers_idle_s,
        }),
        host: Host::read(),
    };
    let folder = fadelab_results::write(&target, &experiment, &summary, &provenance, args.csv)
        .map_err(|error| kept::not_written(&error, kept.as_ref()))?;
    let taken_n = kept.as_ref().map_or(0, Kept::taken);
    if let Some(kept) = kept {
        kept.remove();
    }
    if let Some(log) = &log {
        log.write(&plan, &folder, threads)?;
    }
    if args.quiet {
        return Ok(());
    }
    let speed = speed(&experiment, taken_n, threads, wall_s, cpu_s);
    output::print(&text(&summary, &speed, &folder)).map_err(|failure| match failure {
        Failure::Failed(message) => {
            Failure::Failed(format!("{message}; the result is complete in {}", folder.display()))
        }
        other => other,
    })
}

/// What a person reads after the runs. Where no terminal bounds the width, the table has all its columns.
pub fn text(summary: &Summary, speed: &str, folder: &Path) -> String {
    let width = console::Term::stdout()
        .size_checked()
        .map(|(_, columns)| usize::from(columns));
    format!(
        "{}\n\n{}\n{speed}\n{}\n",
        console::style(&summary.title).bold(),
        table::terminal(summary, width, console::colors_enabled()),
        folder.join("report.html").display()
    )
}

/// Cores of this machine.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Where the result of a scenario goes.
pub fn target(args: &ScenarioArgs, out: Option<&Path>) -> Target {
    if let Some(folder) = out {
        return Target::Exact(folder.to_owned());
    }
    let stem = args.file.file_stem().unwrap_or_default().to_string_lossy();
    // A result that `ls` does not show would be taken for lost.
    let name = stem.trim_start_matches('.');
    Target::Numbered {
        parent: PathBuf::from("results"),
        name: if name.is_empty() { "scenario" } else { name }.to_owned(),
    }
}

/// Names the run that failed and the command that runs it alone.
pub fn failed_run(args: &ScenarioArgs, plan: &Plan, index: usize, message: &str) -> String {
    let run = &plan.runs[index];
    let mut sets = args.sets.clone();
    // Where laws are swept, the swept key that is no coordinate of the point is the one that names the law.
    let is_law = |key: &&String| key.starts_with("flow.") && key.rsplit('.').next() == Some("law");
    let law_key = plan
        .sweep_keys
        .iter()
        .filter(is_law)
        .find(|key| run.point.iter().all(|(other, _)| other != *key));
    sets.extend(law_key.map(|key| format!("{key}={}", run.law_label)));
    sets.extend(run.point.iter().map(|(key, value)| format!("{key}={value}")));
    let sets: Vec<String> = sets
        .iter()
        .map(|set| format!(" --set {}", shell::quoted(set)))
        .collect();
    let laws = own_law::used(&args.laws, &run.spec);
    let laws: Vec<String> = laws
        .map(|path| format!(" --law {}", shell::quoted(&path.display().to_string())))
        .collect();
    let file = shell::quoted(&args.file.display().to_string());
    format!(
        "law {}, seed {}: {message}\nthis runs it alone:\n  fadelab run {file}{}{} --seeds {}",
        run.law_label,
        run.seed,
        laws.concat(),
        sets.concat(),
        run.seed
    )
}

/// The runs of a plan beside what came out, without claims.
pub fn experiment(plan: &Plan, records: Vec<RunRecord>) -> Experiment {
    let mut specs = Specs::default();
    let (own_laws, sources) = own_law::kept();
    let runs = plan.runs.iter().zip(records).map(|(run, record)| Run {
        ground: SIM.to_owned(),
        law: run.law_label.clone(),
        point: run.point.clone(),
        seed: run.seed,
        spec: specs.of(&run.spec),
        record,
    });
    Experiment {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        title: plan.title.clone(),
        about: plan.about.clone(),
        scenario: plan.text.clone(),
        warnings: plan.warnings.clone(),
        sources,
        own_laws,
        runs: runs.collect(),
        ..Experiment::default()
    }
}

/// How fast it went. A packet counts once on each link that results show. Of runs that an earlier sweep had finished,
/// `taken_n`, the time is not known.
fn speed(experiment: &Experiment, taken_n: usize, threads: usize, wall_s: f64, cpu_s: f64) -> String {
    let runs = &experiment.runs;
    let virtual_s: u64 = runs.iter().map(|run| run.spec.duration_ns / 1_000_000_000).sum();
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let done = format!(
        "{} run{}, {virtual_s} virtual s in {wall_s:.2} s on {threads} thread{}",
        runs.len(),
        plural(runs.len()),
        plural(threads)
    );
    if taken_n > 0 {
        return format!("{done}, {taken_n} of them taken from before");
    }
    let shown = |run: &Run| -> u64 { run.record.links_end.iter().map(|link| link.sent_pkts).sum() };
    let packets: u64 = runs.iter().map(shown).sum();
    format!(
        "{done}, {:.2} M packets per CPU second",
        packets as f64 / cpu_s.max(1e-9) / 1e6
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_run_says_how_to_replay_it() {
        // Goal: the command printed runs that one run: its law, its point and its seed, and nothing else.
        let text = "[topology.bottleneck]\nrate = '1 Mbit/s'\ndelay = ['1 ms', '2 ms']\n\
                    [flow]\nlaw = ['reno', 'vcp']\n[run]\nseeds = '4..5'\n";
        let read = |sets: Vec<String>| {
            let options = fadelab_scenario::Options {
                sets,
                ..Default::default()
            };
            fadelab_scenario::parse(text.as_bytes(), "x.toml", std::path::Path::new(""), &options).unwrap()
        };
        let args = ScenarioArgs {
            file: "x.toml".into(),
            sets: vec!["flow.count=2".into()],
            laws: Vec::new(),
            seeds: None,
            max_runs: 9,
        };
        let plan = read(args.sets.clone());
        let message = failed_run(&args, &plan, 7, "time went back");
        assert!(message.starts_with("law vcp, seed 5: time went back\n"), "{message}");
        let command = "fadelab run x.toml --set flow.count=2 --set flow.law=vcp \
                       --set 'topology.bottleneck.delay=2 ms' --seeds 5";
        assert!(message.ends_with(command), "{message}");
        let sets = [
            "flow.count=2",
            "flow.law=vcp",
            "topology.bottleneck.delay=2 ms",
            "run.seeds=5",
        ];
        let alone = read(sets.map(str::to_owned).to_vec());
        assert_eq!(alone.runs.len(), 1);
        assert_eq!(format!("{:?}", alone.runs[0].spec), format!("{:?}", plan.runs[7].spec));
    }
}
