//! Values that laws declare as worth watching, from a header to the table of a result.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use fadelab_lab::{Job, Simulator, Unwatched};
use fadelab_results::watch::series;
use fadelab_results::{Experiment, Target};
use tempfile::TempDir;

/// A law of every role whose values follow from what its host counts, in fields of every size, at odd places.
const GAUGE: &str = include_str!("watch/gauge.h");

/// Two groups with laws of their own over one link.
const SCENARIO: &str = "
    [run]
    duration = '10 s'
    [topology.bottleneck]
    rate = '2 Mbit/s'
    delay = '20 ms'
    buffer = '20 pkt'
    [router]
    capacity = 'gauge'
    [flow]
    law = 'gauge+gauge'
    start = '0 s'
    [flow.mine]
    [flow.other]
    law = 'cubic'
    [flow.constant]
    law = 'udp'
    app = 'cbr'
    rate = '100 kbit/s'
";

/// Makes a law of a user known.
fn own(name: &str, text: &str) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join(name).with_extension("h");
    fs::write(&path, text).unwrap();
    fadelab_laws::own::load(&path).unwrap();
}

fn run(text: &str, sets: &[&str], folder: &Path) -> Experiment {
    let options = fadelab_scenario::Options {
        sets: sets.iter().map(|&set| set.to_owned()).collect(),
        ..Default::default()
    };
    let plan = fadelab_scenario::parse(text.as_bytes(), "watch.toml", Path::new(""), &options);
    let plan = plan.unwrap_or_else(|refusal| panic!("{refusal}"));
    let job = Job {
        plan: &plan,
        scenario_path: Path::new("watch.toml"),
        target: &Target::Exact(folder.to_owned()),
        threads: 1,
        threads_alone: 1,
        csv: true,
    };
    let done = job.run(&[&Simulator], &[], &Unwatched).unwrap();
    let read = fadelab_results::read(&done.folder).unwrap();
    let (was, is) = (&done.experiment.runs[0].record.series, &read.runs[0].record.series);
    assert!(was.time_ns.is_empty() || is == was, "what is read is what was written");
    read
}

/// The values of a flow or link in the unit, sample by sample, by role and name.
fn values(read: &Experiment, who: &str) -> BTreeMap<String, Vec<f64>> {
    let mut all = BTreeMap::new();
    for series in series(&read.runs[0]).filter(|series| series.who == who) {
        for (place, (declared, value)) in series.values.iter().enumerate() {
            let shown = series.raw(place).map(|raw| value.shown(raw)).collect();
            all.insert(format!("{}.{}", declared.role, value.name), shown);
        }
    }
    all
}

#[test]
fn an_own_law_is_watched_in_every_role() {
    // Goal: what a law in one file declares is in the table as the law had it: each size and sign, of a sender, a
    // router and a capacity part, though a guard lies around their states, beside another law and a flow without one.
    own("gauge", GAUGE);
    let folder = TempDir::new().unwrap();
    let read = run(SCENARIO, &[], &folder.path().join("result"));
    let (record, mine) = (&read.runs[0].record, values(&read, "mine.1"));
    let samples = record.series.time_ns.len();
    assert_eq!(samples, 11, "each second");
    assert_eq!(
        mine.keys().collect::<Vec<_>>(),
        [
            "sender.below",
            "sender.down_Bps",
            "sender.has_acked",
            "sender.seen_pkts",
            "sender.window_pkts"
        ]
    );
    let acks: Vec<f64> = mine["sender.seen_pkts"]
        .iter()
        .map(|thousands| thousands * 1000.0)
        .collect();
    assert!(
        acks[0] == 0.0 && acks.windows(2).all(|pair| pair[0] < pair[1]),
        "{acks:?}"
    );
    let down: Vec<f64> = acks.iter().map(|acks| -acks).collect();
    assert_eq!(mine["sender.down_Bps"], down);
    assert_eq!(mine["sender.below"][..2], [0.0, -0.75]);
    assert_eq!(mine["sender.has_acked"][..2], [0.0, 1.0]);
    assert_eq!(mine["sender.window_pkts"][1..2], [2.0]);

    let link = values(&read, "bottleneck");
    let arrived: Vec<f64> = record.series.links[0]
        .iter()
        .map(|link| link.arrived_pkts as f64 / 1000.0)
        .collect();
    assert_eq!(
        link["router.seen_pkts"], arrived,
        "the law saw each packet, its values are of the same instants"
    );
    let intervals: Vec<f64> = (0..11).map(|second| f64::from(second) / 100.0).collect();
    assert!(
        link["capacity.seen_pkts"]
            .iter()
            .zip(&intervals)
            .all(|(is, due)| (is - due).abs() <= 0.0011)
    );
    assert_eq!(link.len(), 10);

    assert!(
        values(&read, "other.1").contains_key("sender.k_us"),
        "cubic declares others"
    );
    assert!(values(&read, "constant.1").is_empty(), "no law, no values");
}

#[test]
fn values_belong_to_runs_that_record_and_to_links_with_one_queue() {
    // Goal: to declare values moves nothing else in a run, a run without a series has none, nor have queues that take
    // turns, and a result from before there were values is read without them.
    let bare = GAUGE.replace("gauge", "bared").replace("GAUGE", "BARED");
    let bare: String = bare
        .lines()
        .filter(|line| !line.contains("LAW_WATCH_LIST"))
        .map(|l| l.to_owned() + "\n")
        .collect();
    own("gauge", GAUGE);
    own("bared", &bare);
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    let of_run = |read: &Experiment| {
        let mut record = read.runs[0].record.clone();
        record.series.links_watched.clear();
        record.series.flows_watched.clear();
        record
    };
    let watched = run(SCENARIO, &[], &at("watched"));
    let other = run(&SCENARIO.replace("gauge", "bared"), &[], &at("bared"));
    assert_eq!(of_run(&watched), of_run(&other));
    assert!(values(&other, "mine.1").is_empty());
    assert!(!values(&other, "other.1").is_empty());

    let silent = run(SCENARIO, &["run.record=false"], &at("silent"));
    assert_eq!(series(&silent.runs[0]).count(), 0);
    assert!(
        !fs::read_to_string(at("silent").join("setup.json"))
            .unwrap()
            .contains("watched")
    );
    assert_eq!(
        fs::read_to_string(at("silent").join("csv/watch.csv"))
            .unwrap()
            .lines()
            .count(),
        1
    );
    assert_eq!(silent.runs[0].record.flows_end, watched.runs[0].record.flows_end);

    let divided = run(
        SCENARIO,
        &["router.queues=4", "flow.law=gauge+red", "router.capacity=auto"],
        &at("divided"),
    );
    assert!(values(&divided, "bottleneck").is_empty() && !values(&divided, "mine.1").is_empty());

    fs::remove_file(at("watched").join("watch.parquet")).unwrap();
    let old = fadelab_results::read(&at("watched")).unwrap();
    assert_eq!((series(&old.runs[0]).count(), of_run(&old)), (0, of_run(&watched)));
}

#[test]
fn built_in_laws_tell_what_their_papers_call_by_name() {
    // Goal: values are those of their own run and in their unit: VCP's load factor is 1 where the link is full and
    // its code says so, and the window with its fraction is within a packet of the one that the host has.
    let text = SCENARIO
        .replace("'gauge'", "'auto'")
        .replace("gauge+gauge", "vcp")
        .replace("'cubic'", "'vcp'");
    let folder = TempDir::new().unwrap();
    let read = run(
        &text,
        &["run.duration=30 s", "topology.bottleneck.buffer=400 pkt"],
        &folder.path().join("result"),
    );
    let (record, mine) = (&read.runs[0].record.series, values(&read, "mine.1"));
    for (counters, window) in record.flows[0].iter().zip(&mine["sender.window"]).skip(1) {
        assert!(
            (0.0..1.0).contains(&(window - f64::from(counters.cwnd_pkts))),
            "{window}: {counters:?}"
        );
    }
    let link = values(&read, "bottleneck");
    for (load, code) in link["router.load_factor"].iter().zip(&link["router.code"]) {
        let due = 1 + u8::from(*load >= 0.79) + u8::from(*load >= 0.99);
        assert!((code - f64::from(due)).abs() < 0.5, "{code} at a load of {load}");
    }
    let mean = link["router.load_factor"].iter().skip(10).sum::<f64>() / 21.0;
    assert!((0.7..1.3).contains(&mean), "{mean}");
}
