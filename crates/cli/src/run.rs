//! `fadelab run`: a scenario from its file to a folder of results and a table.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Args;
use fadelab_lab::packets::Log;
use fadelab_lab::{Done, Failure, Job, Kept, NoRecord, Simulator, Stop, own_law};
use fadelab_laws::guard::Fault;
use fadelab_results::{Run, SIM, Summary, Target, table};
use fadelab_scenario::plan::Plan;

use crate::args::{ResultArgs, ScenarioArgs};
use crate::progress::Terminal;
use crate::{kept, output, shell, show};

/// Arguments of `fadelab run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    #[command(flatten)]
    pub result: ResultArgs,
    /// Log packets, for Wireshark (packets/*.pcapng): of a flow, by name or number, at its sender's host, or of a link,
    /// by name, what arrives over it; repeatable
    #[arg(long, value_name = "FLOW|LINK")]
    pub pcap: Vec<String>,
}

/// Runs a scenario and writes its result.
///
/// # Errors
/// An invalid scenario, an occupied folder, a failed run, an interrupt, or a result that cannot be written.
pub fn run(args: &RunArgs) -> Result<(), Failure> {
    let plan = show::plan(&args.scenario)?;
    let log = Some(&args.pcap).filter(|names| !names.is_empty());
    let log = log.map(|names| Log::of(names, &plan)).transpose()?;
    if let Some(log) = &log {
        log.check_simulated(&plan)?;
    }
    let target = target(&args.scenario, args.result.out.as_deref());
    // A result that could not be written should be known before the runs, not after them.
    target.check().map_err(Failure::invalid)?;
    let kept = [Kept::of(&plan, &Simulator, &target, args.result.fresh)?];
    if !args.result.quiet {
        output::warn(&plan.warnings);
        output::note(&kept::greeting(&kept));
    }
    let job = Job {
        plan: &plan,
        scenario_path: &args.scenario.file,
        target: &target,
        threads: threads(args.result.jobs, &plan),
        threads_alone: threads_alone(args.result.jobs),
        csv: args.result.csv,
    };
    let terminal = Terminal::new(args.result.quiet);
    let done = job
        .run(&[&Simulator], &kept, &terminal)
        .map_err(|stop| failure(stop, &args.scenario, &job, &kept))?;
    if let Some(log) = &log {
        log.write(&plan, &done.folder, job.threads, &terminal)?;
    }
    if args.result.quiet {
        return Ok(());
    }
    let speed = speed(&done, kept::taken(&kept));
    output::print_told(&text(&done.summary, &speed, &done.folder)).map_err(|failure| match failure {
        Failure::Failed(message) => Failure::Failed(format!(
            "{message}; the result is complete in {}",
            done.folder.display()
        )),
        other => other,
    })
}

/// What a person reads after the runs. Where no terminal bounds the width, the table has all its columns.
pub fn text(summary: &Summary, speed: &str, folder: &Path) -> String {
    format!(
        "{}\n\n{}\n{speed}\n{}\n",
        console::style(&summary.title).bold(),
        table::terminal(summary, output::width(), console::colors_enabled()),
        folder.join("report.html").display()
    )
}

/// How many runs of a plan run at the same time: as many as are asked for, or one per core of this machine.
pub fn threads(jobs: Option<NonZeroUsize>, plan: &Plan) -> usize {
    jobs.map_or_else(cores, NonZeroUsize::get).min(plan.runs.len())
}

/// Runs at the same time where they disturb each other, as in real time.
pub fn threads_alone(jobs: Option<NonZeroUsize>) -> usize {
    jobs.map_or(1, NonZeroUsize::get)
}

/// Cores of this machine.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
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
fn failed_run(args: &ScenarioArgs, plan: &Plan, index: usize, message: &str) -> String {
    let run = &plan.runs[index];
    let mut sets = args.sets.clone();
    let is_swept = plan.runs.iter().any(|other| other.law_value != run.law_value);
    sets.extend(is_swept.then(|| format!("{}={}", run.law_key, run.law_value)));
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

/// What a person is told of a job that gave no result. Runs of the simulator can be run alone.
pub fn failure(stop: Stop, args: &ScenarioArgs, job: &Job, kept: &[Kept]) -> Failure {
    match stop {
        Stop::Run {
            why: NoRecord::Refused(message),
            ..
        } => Failure::Invalid(message),
        Stop::Run { ground, .. } if ground != SIM => kept::failure(stop, kept, |index, why| {
            let run = &job.plan.runs[index];
            format!("law {}, seed {}: {why}", run.law_label, run.seed)
        }),
        stop => kept::failure(stop, kept, |index, why| {
            let message = match why {
                NoRecord::Law(fault) => at_fault(fault, job.target),
                why => why.to_string(),
            };
            failed_run(args, job.plan, index, &message)
        }),
    }
}

/// Keeps the call at fault and says what happened.
fn at_fault(fault: &Fault, target: &Target) -> String {
    let (path, written) = own_law::keep(fault, target);
    match written {
        Ok(()) => {
            let file = shell::quoted(&path.display().to_string());
            format!("{fault}\nthe call is kept; this makes it again:\n  fadelab replay {file}")
        }
        Err(error) => format!("{fault}\nthe call could not be kept in {}: {error}", path.display()),
    }
}

/// How fast it went. A packet counts once on each link that results show. Of runs that an earlier sweep had finished,
/// `taken_n`, the time is not known.
fn speed(done: &Done, taken_n: usize) -> String {
    let (runs, provenance) = (&done.experiment.runs, &done.provenance);
    let virtual_s = done.virtual_s();
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let (wall_s, threads) = (provenance.wall_time_s, provenance.threads);
    let text = format!(
        "{} run{}, {virtual_s} virtual s in {wall_s:.2} s on {threads} thread{}",
        runs.len(),
        plural(runs.len()),
        plural(threads)
    );
    if taken_n > 0 {
        return text + &kept::told(taken_n);
    }
    let shown = |run: &Run| -> u64 { run.record.links_end.iter().map(|link| link.sent_pkts).sum() };
    let packets: u64 = runs.iter().map(shown).sum();
    let cpu_s = provenance.sharing.map_or(0.0, |sharing| sharing.cpu_time_s);
    format!(
        "{text}, {:.2} M packets per CPU second",
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
