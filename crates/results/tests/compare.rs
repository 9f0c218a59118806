//! Two results beside each other, and several as one.

mod common;

use common::{Lab, spec, trace_spec, two_laws};
use fadelab_results::compare::{Change, Comparison, Moved, table};
use fadelab_results::{Claim, Experiment, Source, Summary, Verdict, combine};

/// One law over three seeds whose loads are given.
fn loads(loads: [u64; 3]) -> Summary {
    let mut lab = Lab::default();
    for (seed, load) in (1..).zip(loads) {
        lab.add("steady", spec(seed, 60), move |_| load);
    }
    Summary::of(&lab.experiment())
}

fn utilisation(comparison: &Comparison) -> &Change {
    let mut changes = comparison.changes.iter();
    changes.find(|change| change.figure == "utilisation").unwrap()
}

#[test]
fn differences_are_taken_seed_by_seed() {
    // Goal: loads far apart from seed to seed that all rise a little moved, though their means overlap widely. By hand:
    // differences 0.001, 0.002, 0.003, deviation 0.001, half width 4.303 * 0.001 / sqrt(3).
    let (first, second) = (loads([100, 500, 900]), loads([101, 502, 903]));
    let comparison = Comparison::of(&first, &second);
    let change = utilisation(&comparison);
    let close = |got: f64, expected: f64| assert!((got - expected).abs() < 1e-12, "{got} {expected}");
    close(change.first, 0.5);
    close(change.second, 0.502);
    close(change.difference.mean, 0.002);
    close(
        change.difference.ci95_half_width.unwrap(),
        4.303 * 0.001 / 3.0f64.sqrt(),
    );
    assert_eq!(change.moved(), Moved::WithinNoise);
    let second = loads([110, 512, 911]);
    let comparison = Comparison::of(&first, &second);
    assert_eq!(utilisation(&comparison).moved(), Moved::BeyondNoise);
    assert!(!comparison.is_same());
}

#[test]
fn equal_results_are_equal() {
    // Goal: a result beside itself has every figure in common, and none of them moved.
    let summary = Summary::of(&two_laws().experiment());
    let comparison = Comparison::of(&summary, &summary);
    assert_eq!(comparison.count(Moved::Not), comparison.changes.len());
    assert!(comparison.changes.len() > 20 && comparison.is_same());
}

#[test]
fn what_only_one_result_has_is_said() {
    // Goal: a law, a seed and a figure that one result lacks are named, and make the results differ.
    let first = two_laws();
    let mut second = Lab::default();
    second.add("steady", spec(1, 60), |_| 900);
    second.add("new", spec(1, 60), |_| 900);
    second.runs[0].record.series = fadelab_run::record::Series::default();
    let comparison = Comparison::of(&Summary::of(&first.experiment()), &Summary::of(&second.experiment()));
    assert_eq!(
        comparison.only_first,
        [
            "steady at bottleneck: seeds 2, 3",
            "steady at bottleneck: utilisation_sd",
            "steady at bottleneck: utilisation_min",
            "steady at bottleneck: utilisation_max",
            "swinging at bottleneck",
        ]
    );
    assert_eq!(comparison.only_second, ["new at bottleneck"]);
    assert_eq!(comparison.count(Moved::Not), comparison.changes.len());
    assert!(!comparison.is_same());
}

#[test]
fn one_seed_cannot_tell_noise() {
    // Goal: with one seed in common a difference is shown as that of one seed, not as one that moved.
    let result = |load: u64| {
        let mut lab = Lab::default();
        lab.add("steady", spec(1, 60), move |_| load);
        Summary::of(&lab.experiment())
    };
    let comparison = Comparison::of(&result(900), &result(800));
    assert_eq!(utilisation(&comparison).moved(), Moved::OneSeed);
    let text = table(&[utilisation(&comparison)], "old", "new", None);
    let row: Vec<&str> = text.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(
        row,
        [
            "bottleneck",
            "steady",
            "utilisation",
            "%",
            "90.0",
            "80.0",
            "-10.0",
            "one",
            "seed"
        ]
    );
    assert!(text.starts_with("link"), "{text}");
}

fn part(name: &str, experiment: Experiment) -> (String, Experiment) {
    (name.to_owned(), experiment)
}

#[test]
fn results_combine_under_names_that_tell_them_apart() {
    // Goal: a law that both have stands twice with the name of its result, others keep their names; nothing is lost.
    let mut second = Lab::default();
    for seed in 2..=3 {
        second.add("steady", spec(seed, 60), |_| 500);
        second.add("new", spec(seed, 60), |_| 700);
    }
    second.claims.push(Claim {
        id: "a".to_owned(),
        published: String::new(),
        measured: String::new(),
        verdict: Verdict::Differs,
        why: String::new(),
    });
    let second = Experiment {
        version: "0.0.1-test".to_owned(),
        warnings: vec!["beware".to_owned()],
        sources: vec![Source {
            file: "new.h".to_owned(),
            text: String::new(),
        }],
        ..second.experiment()
    };
    let combined = combine(vec![part("old", two_laws().experiment()), part("mine", second)]).unwrap();
    let summary = Summary::of(&combined);
    assert_eq!(summary.laws, ["steady (old)", "swinging", "steady (mine)", "new"]);
    assert_eq!(combined.version, "0.0.0-test and 0.0.1-test");
    assert_eq!(combined.warnings, ["mine: beware"]);
    assert_eq!(
        (combined.runs.len(), combined.claims.len(), combined.sources.len()),
        (10, 1, 1)
    );
    assert!(combined.scenario.starts_with("# old\n") && combined.scenario.contains("\n# mine\n"));
    let pairs = summary.differences.iter();
    let mut pairs = pairs.filter(|d| (d.law.as_str(), d.minus.as_str()) == ("steady (old)", "steady (mine)"));
    assert_eq!(pairs.next().unwrap().difference.n, 2);
    assert!(
        fadelab_results::report::html(&combined, &summary)
            .unwrap()
            .contains("steady (mine)")
    );
}

#[test]
fn results_that_cannot_be_compared_are_refused() {
    // Goal: another link, another flow, another measured interval and another sweep are refused with the reason.
    let result = |change: fn(&mut fadelab_run::spec::RunSpec)| {
        let (mut lab, mut spec) = (Lab::default(), spec(1, 60));
        change(&mut spec);
        lab.add("steady", spec, |_| 900);
        lab.experiment()
    };
    let swept = {
        let mut lab = Lab::default();
        lab.add_at("steady", vec![("snr".into(), "5 dB".into())], trace_spec(1, 60), |_| {
            900
        });
        lab.experiment()
    };
    let cases = [
        (
            result(|spec| spec.network.links[0].delay_ns = 2),
            "the link bottleneck (8000000 bit/s constant, 1 ns",
        ),
        (
            result(|spec| {
                spec.network.join(0, 1, common::link("spare", false, None));
            }),
            "where one has the link none, the other has spare",
        ),
        (
            result(|spec| spec.flows[1].route = vec![1]),
            "the flow down.1 (over bottleneck), the other",
        ),
        (
            result(|spec| spec.warmup_ns = 0),
            "one is measured from 10 s to 60 s, the other from 0 s to 60 s",
        ),
        (swept, "they share no point of a sweep (\"\" and \"snr=5 dB\")"),
    ];
    for (other, reason) in cases {
        let error = combine(vec![part("a", two_laws().experiment()), part("b", other)]).unwrap_err();
        assert!(
            error.starts_with("a and b do not fit on one page: ") && error.contains(reason),
            "{error}"
        );
    }
}

#[test]
fn groups_that_share_a_link_are_compared_each() {
    // Goal: a result in which two groups swapped what they got of a link, which carries as much as before, is not the
    // same, and the table says whose share moved; a group that has another name stands in one of them only.
    let mixture = |name: &str, is_swapped: bool| {
        let mut lab = Lab::default();
        for seed in 1..=3 {
            let mut mixed = spec(seed, 60);
            mixed.flows[1] = common::flow("other.1", name, 0);
            lab.add("reno", mixed, |_| 890 + seed);
            let record = &mut lab.runs.last_mut().unwrap().record;
            if is_swapped {
                record.flows_end.swap(0, 1);
                record.flows_warmup.swap(0, 1);
            }
        }
        Summary::of(&lab.experiment())
    };
    let comparison = Comparison::of(&mixture("other", false), &mixture("other", true));
    let moved: Vec<&Change> = comparison
        .changes
        .iter()
        .filter(|change| change.moved() != Moved::Not)
        .collect();
    let share = moved
        .iter()
        .find(|change| change.figure == "share" && change.group.as_deref() == Some("down"));
    assert!((share.unwrap().difference.mean + 0.5).abs() < 0.01, "{share:?}");
    assert!(moved.iter().all(|change| change.group.is_some()) && !comparison.is_same());
    let text = table(&moved, "a", "b", None);
    assert!(
        text.lines()
            .any(|line| line.contains("reno: down") && line.contains("share")),
        "{text}"
    );
    let renamed = Comparison::of(&mixture("other", false), &mixture("another", false));
    assert_eq!(renamed.only_first, ["reno at bottleneck: group other"]);
    assert_eq!(renamed.only_second, ["reno at bottleneck: group another"]);
}
