//! Laws beside each other, as the simulator runs them.

use std::path::Path;

use fadelab_lab::{Simulator, Unwatched, experiment, sweep};
use fadelab_results::Summary;
use fadelab_results::interval::Judged;
use fadelab_results::versus::Beside;

fn summary(text: &str, sets: &[&str]) -> Summary {
    let options = fadelab_scenario::Options {
        sets: sets.iter().map(|&set| set.to_owned()).collect(),
        ..Default::default()
    };
    let plan = fadelab_scenario::parse(text.as_bytes(), "versus.toml", Path::new(""), &options).unwrap();
    let swept = sweep(&Simulator, &plan, 2, None, &Unwatched).unwrap();
    Summary::of(&experiment(&plan, swept.runs))
}

const SHARED: &str = "
    [run]
    duration = '60 s'
    warmup = '10 s'
    seeds = '1..6'
    [topology.bottleneck]
    rate = '20 Mbit/s'
    delay = '50 ms'
    [versus]
    laws = ['reno', 'cubic']
    [flow]
    count = 2
";

#[track_caller]
fn found<'a>(summary: &'a Summary, group: Option<&str>, law: &str, beside: &str) -> &'a Beside {
    let is_it = |one: &&Beside| {
        (one.group.as_deref(), &*one.law, &*one.beside, &*one.link) == (group, law, beside, "bottleneck")
    };
    summary.versus.iter().find(is_it).unwrap()
}

#[test]
fn cubic_harms_reno_more_than_reno_does() {
    // Goal: the pair that everybody knows. Over a long link CUBIC takes more than its half from Reno, beyond the noise
    // and more than as many Reno flows take; Reno takes less from CUBIC than CUBIC takes from itself.
    let summary = summary(SHARED, &[]);
    let reno = found(&summary, None, "reno", "cubic");
    let cubic = found(&summary, None, "cubic", "reno");
    assert_eq!(reno.harm_beyond_itself.unwrap().judged(), Judged::More, "{reno:?}");
    assert_eq!(cubic.harm_beyond_itself.unwrap().judged(), Judged::Less, "{cubic:?}");
    let [of_reno, of_cubic] = [reno, cubic].map(|one| one.share.unwrap().mean);
    assert!(
        (of_reno + of_cubic - 1.0).abs() < 1e-12 && of_cubic > 0.55,
        "{of_reno} {of_cubic}"
    );
    for law in ["reno", "cubic"] {
        let half = found(&summary, None, law, law).harm.unwrap().mean;
        assert!(
            (half - 0.5).abs() < 0.02,
            "{law} takes half from itself on a full link: {half}"
        );
    }
}

#[test]
fn one_flow_beside_four_of_its_kind_has_a_fifth() {
    // Goal: numbers of flows that differ give an entry for each side; a fair law takes four fifths from one flow and
    // one fifth from four, and those that come later have their share after a time that is theirs, not the run's.
    let sets = [
        "versus.laws=[\"vcp\"]",
        "flow.first.count=1",
        "flow.second.count=4",
        "flow.second.start=5 s",
        "topology.bottleneck.delay=20 ms",
        "run.warmup=30 s",
    ];
    let summary = summary(SHARED, &sets);
    let first = found(&summary, Some("first"), "vcp", "vcp");
    let second = found(&summary, Some("second"), "vcp", "vcp");
    assert_eq!(
        (first.flows, first.beside_flows, second.flows, second.beside_flows),
        (1, 4, 4, 1)
    );
    let mean = |stat: Option<fadelab_results::interval::Stat>| stat.unwrap().mean;
    assert!(
        (mean(first.share) - 0.2).abs() < 0.02 && (mean(second.share) - 0.8).abs() < 0.02,
        "{first:?}"
    );
    assert!(
        (mean(first.harm) - 0.8).abs() < 0.04 && (mean(second.harm) - 0.2).abs() < 0.04,
        "{second:?}"
    );
    let median = |beside: &Beside| beside.convergence.median_s.unwrap();
    let (early, late) = (median(first), median(second));
    assert!(early > 0.0 && early < 55.0 && late > 0.0, "{early} {late}");
}

#[test]
fn a_shorter_round_trip_is_a_side_of_its_own() {
    // Goal: two flows of one law whose delays differ are told apart by their side, and the nearer one gets more.
    let sets = [
        "versus.laws=[\"reno\"]",
        "flow.first.delay=1 ms",
        "flow.second.delay=40 ms",
        "topology.bottleneck.delay=10 ms",
        "run.seeds=1..3",
    ];
    let summary = summary(SHARED, &sets);
    let near = found(&summary, Some("first"), "reno", "reno");
    assert!(near.share.unwrap().mean > 0.6, "{near:?}");
}
