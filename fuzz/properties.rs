//! What must hold whatever a user gives. Each function takes an input of one kind and panics where it does not hold;
//! the fuzzers of this folder and the tests of `crates/scenario` share them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fadelab_path::spec::CapacitySpec;
use fadelab_path::trace::{Trace, TraceRules};
use fadelab_run::app::{App, Span};
use fadelab_run::spec::RunSpec;
use fadelab_scenario::plan::Plan;
use fadelab_scenario::{Options, Refusal, parse, ready_made, trace as reader};
use fadelab_sim::{RunError, run};

/// Runs that a sweep may have: more take long without showing anything else.
const RUNS_MAX: usize = 40;

/// Memory that they may take: with the limit of users a mistake in it would be found by the system first.
const MEMORY_BYTES_MAX: u64 = 200_000_000;

/// Longest message; `Refusal` cuts what it repeats.
const MESSAGE_CHARS_MAX: usize = 2_100;

/// The file that the input stands for.
const FILE: &str = "some.toml";

/// A scenario gets a plan that holds together, or a refusal that a person can read.
pub fn scenario(bytes: &[u8]) {
    planned(bytes, Vec::new());
}

/// The first line names a ready-made scenario, the others are arguments of `--set`.
pub fn set(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines();
    let name = lines.next().unwrap_or_default();
    let ready = ready_made::all().find(|ready| ready.name == name);
    let ready = ready.unwrap_or_else(|| ready_made::find(Path::new("satellite")).expect("it is there"));
    // One seed unless the input says otherwise: more would only repeat.
    let sets: Vec<String> = ["run.seeds=1"].into_iter().chain(lines).map(str::to_owned).collect();
    planned(ready.text.as_bytes(), sets);
}

/// A trace is read and repeats as its type promises, or is refused in a line.
pub fn trace(bytes: &[u8]) {
    match reader::read(bytes) {
        Ok(trace) => repeats(&trace),
        Err(why) => {
            assert!(why.starts_with(':'), "{why}");
            readable(why.trim_start_matches(':'), &String::from_utf8_lossy(bytes));
        }
    }
}

fn planned(bytes: &[u8], sets: Vec<String>) {
    let options = Options {
        sets,
        runs_max: RUNS_MAX,
        memory_bytes_max: MEMORY_BYTES_MAX,
        ..Options::default()
    };
    match parse(bytes, FILE, &folder(), &options) {
        Ok(plan) => holds_together(&plan),
        Err(refusal) => explains(&refusal, &String::from_utf8_lossy(bytes), &options.sets),
    }
}

/// The folder that paths of traces are relative to.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|folder| folder.join("scenarios"))
        .find(|folder| folder.is_dir())
        .expect("the tree has scenarios")
}

/// A refusal names a place in what was given, on one line of bounded length.
fn explains(refusal: &Refusal, text: &str, sets: &[String]) {
    let is_of_set = refusal.place.starts_with("--set ") && !sets.is_empty();
    assert!(is_of_set || refusal.place.starts_with(FILE), "no place: {refusal}");
    readable(&refusal.message, &format!("{text}\n{}", sets.join("\n")));
    assert!(!refusal.to_string().contains('\n'), "{refusal}");
}

/// A message for people: one line, not empty, not too long, and without what only a programmer would write, unless it
/// repeats what was given.
fn readable(message: &str, given: &str) {
    assert!(!message.trim().is_empty(), "an empty message");
    assert!(message.chars().count() <= MESSAGE_CHARS_MAX, "{message}");
    assert!(!message.contains('\n'), "{message}");
    for jargon in ["Some(", "None", "Err(", "Ok(", "IntError", "FloatError", "unwrap"] {
        assert!(!message.contains(jargon) || given.contains(jargon), "{message}");
    }
}

/// A plan has runs in its order, reads back from its own text as the same plan, and its runs can be begun.
fn holds_together(plan: &Plan) {
    assert!(!plan.runs.is_empty() && plan.runs.len() <= RUNS_MAX);
    assert!(plan.runs.iter().enumerate().all(|(at, run)| run.index as usize == at));
    let options = Options {
        runs_max: RUNS_MAX,
        memory_bytes_max: MEMORY_BYTES_MAX,
        ..Options::default()
    };
    let again = parse(plan.text.as_bytes(), FILE, &folder(), &options);
    let again = again.unwrap_or_else(|refusal| panic!("its own text is refused: {refusal}\n{}", plan.text));
    assert_eq!(again.text, plan.text);
    assert_eq!(again.runs.len(), plan.runs.len());
    let ends = [0, plan.runs.len() - 1];
    for at in &ends[..plan.runs.len().min(2)] {
        let (one, other) = (&plan.runs[*at], &again.runs[*at]);
        assert_eq!((one.seed, &one.law_label), (other.seed, &other.law_label));
        assert_eq!(format!("{:?}", one.point), format!("{:?}", other.point));
        if is_small(&one.spec) {
            assert_eq!(format!("{:?}", one.spec), format!("{:?}", other.spec), "{}", plan.text);
            begin(&one.spec);
        }
    }
}

/// Whether a network is small enough to be simulated thousands of times.
fn is_small(spec: &RunSpec) -> bool {
    spec.flows.len() <= 40 && spec.network.links.len() <= 200
}

/// Simulates the first packets of a run: no panic, no broken invariant, no law at fault.
fn begin(spec: &RunSpec) {
    let mut spec = spec.clone();
    let of_link = |capacity: &CapacitySpec| capacity.rate_bps_mean();
    let of_flow = |app: &App| {
        if let App::Cbr { rate_bps, .. } = app {
            *rate_bps
        } else {
            0
        }
    };
    let links = spec.network.links.iter().map(|link| of_link(&link.capacity));
    let rate_bps = links.chain(spec.flows.iter().map(|flow| of_flow(&flow.app))).max();
    // As many bits as a few hundred full packets have, at most a second: timers of a microsecond are allowed.
    let bits: u128 = 4_000_000;
    let time_ns = (bits * 1_000_000_000 / u128::from(rate_bps.unwrap_or(0).max(1))) as u64;
    spec.duration_ns = spec.duration_ns.min(time_ns.clamp(1, 1_000_000_000));
    spec.warmup_ns = spec.warmup_ns.min(spec.duration_ns / 2);
    spec.record_interval_ns = spec.record_interval_ns.map(|ns| ns.max(spec.duration_ns / 100 + 1));
    for flow in &mut spec.flows {
        // What starts after this short time would show nothing.
        let (App::Greedy { start }
        | App::Transfer { start, .. }
        | App::Sessions { start, .. }
        | App::Http { start, .. }
        | App::Cbr { start, .. }) = &mut flow.app;
        *start = Span::Fixed { ns: 0 };
    }
    match run(&spec, |_| true) {
        Ok(_) | Err(RunError::TooLong { .. }) => {}
        Err(error) => panic!("{error}"),
    }
}

/// Times ascend, the index is their inverse, and bytes offered follow, near the beginning and after the longest run.
fn repeats(trace: &Trace) {
    let count = trace.opportunities_ms.len() as u64;
    let _ = trace.rate_bps_mean();
    let indices = [0, 1, count - 1, count, count + 1, 2 * count, 7 * count + 3];
    assert!(
        indices
            .windows(2)
            .all(|pair| pair[0] > pair[1] || trace.time_ns(pair[0]) <= trace.time_ns(pair[1]))
    );
    let run_ns_max = 1_000_000_000 * 1_000_000_000;
    let times = indices.map(|index| trace.time_ns(index));
    for time_ns in times.into_iter().chain([0, 1, 999_999, 1_000_000_000, run_ns_max]) {
        if time_ns > run_ns_max {
            continue;
        }
        let index = trace.index_from(time_ns);
        assert!(
            trace.time_ns(index) >= time_ns,
            "opportunity {index} comes before {time_ns} ns"
        );
        assert!(
            index == 0 || trace.time_ns(index - 1) < time_ns,
            "{index} is not the first from {time_ns} ns on"
        );
        assert!(trace.offered_bytes(time_ns) >= index * u64::from(trace.opportunity_bytes));
    }
    carries(trace);
}

/// A link over the trace takes packets that have to wait for it, whatever the law and the rules.
fn carries(trace: &Trace) {
    let law = ["reno", "xcp", "vcp", "cubic+codel"][trace.opportunities_ms.len() % 4];
    let text = format!(
        "[topology.bottleneck]\nrate = '1 Mbit/s'\ndelay = '1 ms'\nbuffer = '500 pkt'\n\
         [transport]\ninitial_window = '200 pkt'\n[router]\ncapacity = 'measured'\n[flow]\nlaw = '{law}'\n"
    );
    let plan = parse(text.as_bytes(), FILE, Path::new(""), &Options::default()).expect("a scenario");
    let mut spec = plan.runs[0].spec.clone();
    for rules in [TraceRules::Plain, TraceRules::ExactMahimahi] {
        let trace = Trace { rules, ..trace.clone() };
        spec.network.links[0].capacity = CapacitySpec::Trace(Arc::new(trace));
        begin(&spec);
    }
}
