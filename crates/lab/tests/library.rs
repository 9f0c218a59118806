//! What the command does, through the library alone: no program is started, and nothing is printed.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use fadelab_lab::explain::{Subject, Which};
use fadelab_lab::packets::Log;
use fadelab_lab::{
    Ground, Job, Kept, NoRecord, Progress, Punctuality, Refusal, Simulator, Stop, Unwatched, Virtual, Watch,
};
use fadelab_results::measure::{Metric, measure, shown_links};
use fadelab_results::{Experiment, Target};
use fadelab_run::record::RunRecord;
use fadelab_scenario::plan::{Plan, PlannedRun};
use tempfile::TempDir;

/// Two laws under two seeds over 2 Mbit/s; the first flow has half a minute.
const SCENARIO: &str = "
    [run]
    duration = '30 s'
    seeds = '1..2'
    [topology.bottleneck]
    rate = '2 Mbit/s'
    delay = '20 ms'
    buffer = '20 pkt'
    [flow]
    law = ['reno', 'vcp']
    start = 'uniform 0 s..1 s'
";

fn plan(sets: &[&str]) -> Plan {
    let options = fadelab_scenario::Options {
        sets: sets.iter().map(|&set| set.to_owned()).collect(),
        ..Default::default()
    };
    fadelab_scenario::parse(SCENARIO.as_bytes(), "two-laws.toml", Path::new(""), &options).unwrap()
}

fn target(folder: &TempDir) -> Target {
    Target::Exact(folder.path().join("result"))
}

fn job<'a>(plan: &'a Plan, target: &'a Target) -> Job<'a> {
    Job {
        plan,
        scenario_path: Path::new("two-laws.toml"),
        target,
        threads: 2,
        threads_alone: 1,
        csv: false,
    }
}

/// Utilisation of the first shown link of each run, in the order of the runs.
fn utilisations(experiment: &Experiment) -> Vec<f64> {
    let of = |run| measure(run, shown_links(run)[0]).get(Metric::Utilisation).unwrap();
    experiment.runs.iter().map(of).collect()
}

#[test]
fn a_sweep_is_run_read_and_explained() {
    // Goal: a scenario in a string becomes a result whose tables give the same figures when they are read again, and a
    // flow of it says why its window moved.
    let (folder, plan) = (TempDir::new().unwrap(), plan(&[]));
    let target = target(&folder);
    let done = job(&plan, &target).run(&[&Simulator], &[], &Unwatched).unwrap();
    let read = fadelab_results::read(&done.folder).unwrap();
    let names: Vec<(&str, &str, u64)> = read
        .runs
        .iter()
        .map(|run| (&*run.ground, &*run.law, run.seed))
        .collect();
    assert_eq!(
        names,
        [
            ("sim", "reno", 1),
            ("sim", "reno", 2),
            ("sim", "vcp", 1),
            ("sim", "vcp", 2)
        ]
    );
    assert_eq!(utilisations(&read), utilisations(&done.experiment));
    assert!(
        utilisations(&read).iter().all(|&used| used > 0.8 && used <= 1.0),
        "{:?}",
        utilisations(&read)
    );

    let which = Which {
        law: Some("vcp".to_owned()),
        seed: Some(2),
        ..Which::default()
    };
    let subject = Subject::of(&done.folder, &which, &|remark| panic!("{remark}")).unwrap();
    assert_eq!((subject.sender.name(), subject.flow, subject.run.seed), ("vcp", 0, 2));
    let changes = subject.around(10_000_000_000).unwrap();
    let asked = changes.until.back().unwrap();
    assert!(asked.time_us <= 10_000_000 && changes.after[0].time_us > 10_000_000);
    assert_ne!(asked.before.cwnd_pkts, asked.after.cwnd_pkts);
    assert!(asked.steps[0].contains("cwnd"), "{:?}", asked.steps);
}

/// Asks for an end when so many runs have ended, and counts what it hears.
#[derive(Default)]
struct Impatient {
    ends_max: usize,
    ended: AtomicUsize,
    spared: AtomicUsize,
}

impl Watch for Impatient {
    fn begin<'a>(&'a self, ground: &str, plan: &'a Plan) -> Box<dyn Progress + 'a> {
        assert_eq!((ground, plan.runs.len()), ("sim", 4));
        Box::new(Heard(self))
    }

    fn is_interrupted(&self) -> bool {
        self.ended.load(Ordering::Relaxed) >= self.ends_max
    }
}

struct Heard<'a>(&'a Impatient);

impl Progress for Heard<'_> {
    fn end(&self, _run: usize) {
        self.0.ended.fetch_add(1, Ordering::Relaxed);
    }

    fn spare(&self, _run: usize) {
        self.0.spared.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn an_interrupted_sweep_is_taken_up() {
    // Goal: whoever watches stops a sweep after a run; the next one runs the others only, and the result is that of a
    // sweep that nobody stopped, with nothing left beside it; another ground takes none of its runs.
    let (folder, plan) = (TempDir::new().unwrap(), plan(&[]));
    let target = target(&folder);
    let kept = [Kept::of(&plan, &Simulator, &target, false).unwrap()];
    let impatient = Impatient {
        ends_max: 1,
        ..Impatient::default()
    };
    let stop = job(&plan, &target).run(&[&Simulator], &kept, &impatient).unwrap_err();
    assert!(matches!(stop, Stop::Interrupted), "{stop}");
    let found = kept[0].found();
    assert!((1..4).contains(&found), "{found}");
    assert_eq!(Kept::of(&plan, &Picky, &target, false).unwrap().found(), 0);
    let patient = Impatient {
        ends_max: usize::MAX,
        ..Impatient::default()
    };
    let done = job(&plan, &target).run(&[&Simulator], &kept, &patient).unwrap();
    let counts = [&patient.spared, &patient.ended].map(|count| count.load(Ordering::Relaxed));
    assert_eq!(counts, [found, 4 - found]);
    let whole = fadelab_lab::sweep(&Simulator, &plan, 1, None, &Unwatched).unwrap();
    for (run, same) in done.experiment.runs.iter().zip(&whole.runs) {
        assert_eq!(format!("{:?}", run.record), format!("{:?}", same.record));
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// A ground of somebody else's: it refuses one law and runs the others as the simulator does.
struct Picky;

impl Ground for Picky {
    fn name(&self) -> &'static str {
        "picky"
    }

    fn check(&self, plan: &Plan) -> Vec<Refusal> {
        let refused = plan.runs.iter().find(|run| run.law_label == "vcp");
        let refusal = |run: &PlannedRun| Refusal {
            law: run.law_label.clone(),
            key: "flow.law".to_owned(),
            message: "`flow.law`: not here".to_owned(),
        };
        refused.into_iter().map(refusal).collect()
    }

    fn run(&self, run: &PlannedRun, report: &mut dyn FnMut(u64) -> bool) -> Result<RunRecord, NoRecord> {
        Simulator.run(run, report)
    }
}

#[test]
fn any_ground_will_do() {
    // Goal: a ground is one trait: a result of two has the runs of both and their distance, which is none where one
    // does what the other does.
    let (folder, plan) = (TempDir::new().unwrap(), plan(&["flow.law=reno", "run.seeds=1"]));
    let target = target(&folder);
    let done = job(&plan, &target).run(&[&Simulator, &Picky], &[], &Unwatched).unwrap();
    let grounds: Vec<&str> = done.experiment.runs.iter().map(|run| &*run.ground).collect();
    assert_eq!(grounds, ["sim", "picky"]);
    let [a, b] = utilisations(&done.experiment)[..] else {
        panic!("there are two runs");
    };
    assert_eq!(a.to_bits(), b.to_bits());
    assert!(!done.summary.distances.is_empty());
}

/// A ground whose emulator drops a packet where a law is VCP.
struct Disturbed;

impl Ground for Disturbed {
    fn name(&self) -> &'static str {
        "disturbed"
    }

    fn check(&self, _plan: &Plan) -> Vec<Refusal> {
        Vec::new()
    }

    fn run(&self, run: &PlannedRun, report: &mut dyn FnMut(u64) -> bool) -> Result<RunRecord, NoRecord> {
        let mut record = Simulator.run(run, report)?;
        record.punctuality = Some(Punctuality {
            undecided_drops_pkts: u64::from(run.law_label == "vcp"),
            ..Punctuality::default()
        });
        Ok(record)
    }
}

#[test]
fn a_disturbed_run_is_not_kept() {
    // Goal: of four runs, of which two were disturbed, the other two are kept: who sweeps again wants these anew.
    let (folder, plan) = (TempDir::new().unwrap(), plan(&[]));
    let kept = Kept::of(&plan, &Disturbed, &target(&folder), false).unwrap();
    let swept = fadelab_lab::sweep(&Disturbed, &plan, 1, Some(&kept), &Unwatched).unwrap();
    assert_eq!((swept.runs.len(), kept.found()), (4, 2));
}

/// A ground whose runs disturb each other. It counts how many there are at once, and waits for so many.
struct Sensitive {
    expected_n: usize,
    now_and_most: Mutex<(usize, usize)>,
    another: Condvar,
}

impl Ground for Sensitive {
    fn name(&self) -> &'static str {
        "sensitive"
    }

    fn check(&self, _plan: &Plan) -> Vec<Refusal> {
        Vec::new()
    }

    fn run(&self, run: &PlannedRun, report: &mut dyn FnMut(u64) -> bool) -> Result<RunRecord, NoRecord> {
        let mut counts = self.now_and_most.lock().unwrap();
        *counts = (counts.0 + 1, counts.1.max(counts.0 + 1));
        self.another.notify_all();
        let patience = Duration::from_secs(30);
        let is_short_of = |counts: &mut (usize, usize)| counts.1 < self.expected_n;
        drop(self.another.wait_timeout_while(counts, patience, is_short_of).unwrap());
        let record = Simulator.run(run, report);
        self.now_and_most.lock().unwrap().0 -= 1;
        record
    }

    fn is_alone(&self) -> bool {
        true
    }
}

#[test]
fn runs_that_disturb_each_other_are_made_one_by_one_unless_asked() {
    // Goal: on such a ground one run is made after the other, whatever threads there are for others, and as many at
    // once as were asked for.
    for asked in [1, 2] {
        let (folder, plan) = (TempDir::new().unwrap(), plan(&[]));
        let target = target(&folder);
        let ground = Sensitive {
            expected_n: asked,
            now_and_most: Mutex::default(),
            another: Condvar::new(),
        };
        let job = Job {
            threads_alone: asked,
            ..job(&plan, &target)
        };
        job.run(&[&ground], &[], &Unwatched).unwrap();
        assert_eq!(*ground.now_and_most.lock().unwrap(), (0, asked));
    }
}

/// A ground that panics where a law is VCP.
struct Nervous;

impl Ground for Nervous {
    fn name(&self) -> &'static str {
        "nervous"
    }

    fn check(&self, _plan: &Plan) -> Vec<Refusal> {
        Vec::new()
    }

    fn run(&self, run: &PlannedRun, report: &mut dyn FnMut(u64) -> bool) -> Result<RunRecord, NoRecord> {
        assert_ne!(run.law_label, "vcp", "no {}", run.law_label);
        Simulator.run(run, report)
    }
}

#[test]
fn a_panic_on_any_ground_is_the_failure_of_its_run() {
    // Goal: a run that panics ends the sweep with its place and its words, whatever the ground; the runs before it are
    // kept.
    let (folder, plan) = (TempDir::new().unwrap(), plan(&[]));
    let target = target(&folder);
    let kept = [Kept::of(&plan, &Nervous, &target, false).unwrap()];
    let stop = job(&plan, &target).run(&[&Nervous], &kept, &Unwatched).unwrap_err();
    let Stop::Run {
        ground: "nervous",
        index: 2,
        why: NoRecord::Failed(why),
    } = stop
    else {
        panic!("{stop}");
    };
    assert!(why.contains("it panicked") && why.contains("no vcp"), "{why}");
    assert_eq!(kept[0].found(), 2);
}

#[test]
fn what_a_ground_cannot_run_is_refused_by_its_key() {
    // Goal: refusals come before the first run, name law and key, and stand once for each law however many seeds.
    let both = plan(&[]);
    assert!(Simulator.check(&both).is_empty());
    let [refusal] = &Picky.check(&both)[..] else {
        panic!("one is refused");
    };
    assert_eq!(refusal.to_string(), "law vcp: `flow.law`: not here");
    assert!(fadelab_lab::refuse(&Picky, &both).is_err());
    let guests = Virtual::new("6.1", "fadelab".into(), false);
    fadelab_testbed::host_laws::register();
    let of_linux = plan(&["flow.law=linux:reno", "topology.bottleneck.rate=1 Mbit/s"]);
    assert!(guests.check(&of_linux).is_empty());
    let [refusal] = &Simulator.check(&of_linux)[..] else {
        panic!("both seeds are refused for one reason");
    };
    assert_eq!((refusal.law.as_str(), refusal.key.as_str()), ("linux:reno", "flow.law"));
    assert!(guests.check(&both).is_empty());
    let refusals = guests.check(&plan(&["topology.bottleneck.rate=10 Gbit/s", "run.duration=1 s"]));
    assert_eq!(refusals.len(), 2, "{refusals:?}");
    assert!(
        refusals.iter().all(|refusal| refusal.message.contains(&refusal.key)),
        "{refusals:?}"
    );
}

#[test]
fn packets_are_logged_beside_the_result() {
    // Goal: one log a run, of the flow that is named, in the folder of the result.
    let (folder, plan) = (TempDir::new().unwrap(), plan(&["run.duration=2 s"]));
    let log = Log::of(&["1".to_owned()], &plan).unwrap();
    log.write(&plan, folder.path(), 2, &Unwatched).unwrap();
    let names = std::fs::read_dir(folder.path().join("packets")).unwrap().flatten();
    let mut names: Vec<String> = names
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names.len(), 4);
    assert_eq!(names[0], "run0-reno-seed1-flow.1.pcapng");
    assert!(
        Log::of(&["9".to_owned()], &plan)
            .unwrap_err()
            .to_string()
            .contains("no such flow")
    );
}
