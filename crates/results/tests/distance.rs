//! Grounds laid over each other: what is told apart, and how far they are apart by hand.

mod common;

use common::{Lab, spec};
use fadelab_results::distance::{self, Agreement, Distance};
use fadelab_results::{Experiment, Summary, combine, report};
use fadelab_run::record::Series;

/// Law `steady` with 900 and `other` with 500 packets a second in the simulator, `steady` with `virtual_pkts` in a
/// kernel, whose transfers take twice as long.
fn two_grounds(virtual_pkts: u64) -> Experiment {
    let mut lab = Lab::default();
    for seed in 1..=2 {
        lab.add("steady", spec(seed, 60), |_| 900);
        lab.add("other", spec(seed, 60), |_| 500);
        lab.add("steady", spec(seed, 60), |_| virtual_pkts);
        let run = lab.runs.last_mut().unwrap();
        "virtual".clone_into(&mut run.ground);
        for completion in &mut run.record.completions {
            completion.end_ns += completion.end_ns - completion.start_ns;
        }
    }
    lab.experiment()
}

fn find<'a>(summary: &'a Summary, figure: &str) -> &'a Distance {
    summary
        .distances
        .iter()
        .find(|distance| distance.figure == figure)
        .unwrap()
}

#[test]
fn a_law_keeps_its_colour_on_every_ground() {
    // Goal: a law on two grounds is two lines of one colour and different kinds; laws on one ground stay as they were.
    let summary = Summary::of(&two_grounds(900));
    assert_eq!(summary.laws, ["steady (sim)", "steady (virtual)", "other (sim)"]);
    let looks: Vec<usize> = summary.contenders.iter().map(|contender| contender.look).collect();
    assert_eq!(
        (looks[0] % 8, looks[0] / 8, looks[1] / 8),
        (looks[1] % 8, 0, 1),
        "{looks:?}"
    );
    assert!(!looks[..2].contains(&looks[2]), "{looks:?}");
    let pairs = summary.differences.iter().filter(|d| d.metric == "utilisation");
    let pairs: Vec<(&str, &str)> = pairs.map(|d| (d.law.as_str(), d.minus.as_str())).collect();
    assert_eq!(
        pairs,
        [("steady (sim)", "steady (virtual)"), ("steady (sim)", "other (sim)")]
    );
    let one = Summary::of(&common::two_laws().experiment());
    assert_eq!(one.laws, ["steady", "swinging"]);
    assert!(one.grounds.is_empty() && one.distances.is_empty());
}

#[test]
fn distances_equal_the_hand_computed_ones() {
    // Goal: 900 and 860 of 1000 packets are 4.4 % apart, which is within 5 %; the two transfers that ended in the
    // measured interval took 10 s and 20 s, and twice that in the kernel, which is beyond 10 %.
    let summary = Summary::of(&two_grounds(860));
    let utilisation = find(&summary, "utilisation");
    assert_eq!((utilisation.first, utilisation.second), (90.0, 86.0));
    assert!((utilisation.relative.unwrap() + 40.0 / 900.0).abs() < 1e-12);
    assert_eq!(utilisation.agreement, Agreement::Within);
    let time = find(&summary, "completion time, mean");
    assert_eq!((time.first, time.relative), (15.0, Some((time.second - 15.0) / 15.0)));
    assert_eq!(time.agreement, Agreement::Beyond);
    assert_eq!(find(&summary, "queue, mean").agreement, Agreement::Within);
    let beyond = find(&Summary::of(&two_grounds(850)), "utilisation").agreement;
    assert_eq!(beyond, Agreement::Beyond, "50 of 900 are 5.6 %");
}

#[test]
fn what_only_one_ground_has_gives_no_distance() {
    // Goal: a law or a seed that the other ground lacks is left out, and means are over common seeds.
    let mut experiment = two_grounds(860);
    assert!(
        Summary::of(&experiment)
            .distances
            .iter()
            .all(|distance| distance.law == "steady")
    );
    experiment.runs.retain(|run| run.ground == "sim" || run.seed == 1);
    experiment.runs[3].record.links_end[0].sent_bytes -= 20_000_000;
    let summary = Summary::of(&experiment);
    assert!((find(&summary, "utilisation").first - 90.0).abs() < 1e-9);
}

#[test]
fn the_percentile_is_of_means_weighted_by_their_samples() {
    // Goal: of 50 measured seconds with 4 RTT samples of 100 ms each, 2 per flow, one has 18 more of 300 ms: 18 of 218
    // samples lie above, so that the 95th percentile is the mean of that second; with 6 more it is 100 ms again.
    for (more, expected) in [(18, (200_000 + 18 * 300_000) / 20), (6, 100_000)] {
        let mut experiment = two_grounds(900);
        for samples in &mut experiment.runs[0].record.series.flows[..1] {
            for sample in &mut samples[41..] {
                sample.rtt_samples += more;
                sample.rtt_us_sum += more * 300_000;
            }
        }
        experiment.runs.retain(|run| run.seed == 1);
        let summary = Summary::of(&experiment);
        let found = find(&summary, "RTT, p95 of means over samples").first;
        assert!((found - f64::from(expected as u32) / 1e3).abs() < 1e-9, "{more}");
    }
}

#[test]
fn runs_without_samples_have_the_other_distances() {
    // Goal: where runs keep no series (`run.record = false`) the percentile, which comes of it, is left out, and all
    // else is compared.
    let mut experiment = two_grounds(860);
    let all = Summary::of(&experiment).distances.len();
    for run in &mut experiment.runs {
        run.record.series = Series::default();
    }
    let distances = Summary::of(&experiment).distances;
    assert_eq!(distances.len() + 1, all);
    assert!(distances.iter().all(|distance| !distance.figure.starts_with("RTT")));
}

#[test]
fn the_table_and_the_page_name_what_is_beyond() {
    // Goal: terminal and page have the distances, in words too, with the beyond ones marked; one ground has no section.
    let experiment = two_grounds(860);
    let summary = Summary::of(&experiment);
    let text = distance::terminal(&summary.distances, None);
    let line = |name: &str| {
        text.lines()
            .find(|line| line.contains(name))
            .unwrap()
            .split_whitespace()
            .collect::<Vec<_>>()
    };
    assert_eq!(
        line("utilisation")[1..],
        ["utilisation", "%", "90.00", "86.00", "-4.4", "%", "5", "%", "within"]
    );
    assert_eq!(line("completion").last(), Some(&"BEYOND"));
    let words = distance::in_words(&summary.distances);
    assert!(
        words.starts_with("4 of 6 distances are within their bounds; beyond: completion time, mean of steady over")
    );
    let page = report::html(&experiment, &summary).unwrap();
    assert!(page.contains("Between sim and virtual: 4 of 6 distances are within their bounds; beyond: completion"));
    assert!(page.contains("How far the grounds are apart") && page.contains("Run on sim and virtual by fadelab"));
    let one = common::two_laws().experiment();
    assert!(
        !report::html(&one, &Summary::of(&one))
            .unwrap()
            .contains("How far the grounds are apart")
    );
}

#[test]
fn results_of_two_grounds_combine_into_a_comparison() {
    // Goal: a law of a simulated and a law of a deployed result stand side by side under their grounds.
    let split = |ground: &str| {
        let mut part = two_grounds(860);
        part.runs.retain(|run| run.ground == ground);
        (ground.to_owned(), part)
    };
    let summary = Summary::of(&combine(vec![split("sim"), split("virtual")]).unwrap());
    assert_eq!(summary.laws, ["steady (sim)", "steady (virtual)", "other (sim)"]);
    assert!(!summary.distances.is_empty());
}

/// Utilisations of a law in the simulator and in a kernel, seed by seed, in packets of the possible 1000.
fn utilisation(pairs: &[(u64, u64)]) -> Distance {
    let mut lab = Lab::default();
    for (seed, &(simulated, measured)) in (1..).zip(pairs) {
        lab.add("steady", spec(seed, 60), |_| simulated);
        lab.add("steady", spec(seed, 60), |_| measured);
        "virtual".clone_into(&mut lab.runs.last_mut().unwrap().ground);
    }
    find(&Summary::of(&lab.experiment()), "utilisation").clone()
}

#[test]
fn a_distance_is_judged_by_its_interval() {
    // Goal: within the 5 % or beyond is said of whole intervals; with the bound inside it is undecided, and so is one
    // seed, however near. Mean differences are paired: grounds that swing alike by half are 1 % apart.
    let agreement = |pairs: &[(u64, u64)]| utilisation(pairs).agreement;
    assert_eq!(agreement(&[(900, 905), (900, 895), (900, 903)]), Agreement::Within);
    assert_eq!(agreement(&[(900, 790), (900, 800), (900, 810)]), Agreement::Beyond);
    assert_eq!(agreement(&[(900, 700), (900, 990), (900, 800)]), Agreement::Undecided);
    assert_eq!(agreement(&[(900, 760), (900, 1000), (900, 960)]), Agreement::Undecided);
    assert_eq!(agreement(&[(900, 900)]), Agreement::Undecided);
    assert_eq!(agreement(&[(900, 900), (900, 900)]), Agreement::Within);
    assert_eq!(agreement(&[(900, 700), (900, 700)]), Agreement::Beyond);
    assert_eq!(agreement(&[(400, 404), (800, 808), (600, 606)]), Agreement::Within);
}

#[test]
fn an_undecided_distance_says_what_would_decide() {
    // Goal: differences of 0 and 6 points have a mean of 3 and a deviation of 4.243; to the bound of 5 % of 90 it is
    // 1.5. With 34 seeds the half-width falls below that: 2.035 x 4.243 / sqrt(34) = 1.481; with 33 it is 1.504.
    let undecided = utilisation(&[(900, 900), (900, 960)]);
    assert_eq!(undecided.agreement, Agreement::Undecided);
    assert_eq!(undecided.seeds_to_decide(), Some(34));
    let words = distance::in_words(&[undecided]);
    assert!(
        words.contains("undecided: utilisation of steady over bottleneck (34 seeds would decide)"),
        "{words}"
    );
    let one = utilisation(&[(900, 900)]);
    assert_eq!(one.seeds_to_decide(), None);
    let words = distance::in_words(&[one.clone(), one]);
    assert!(
        words.ends_with("; undecided: 2, for one seed does not tell how far seeds scatter: take several."),
        "{words}"
    );
    assert_eq!(
        utilisation(&[(900, 900), (900, 901)]).seeds_to_decide(),
        None,
        "it is decided"
    );
}

#[test]
fn groups_that_share_a_link_are_compared_each() {
    // Goal: a mixture that uses the link alike on both grounds and splits it otherwise is told, group by group.
    let mut lab = Lab::default();
    for seed in 1..=2 {
        for ground in ["sim", "virtual"] {
            let mut mixed = spec(seed, 60);
            mixed.flows[1] = common::flow("other.1", "other", 0);
            lab.add("reno", mixed, |_| 900);
            let run = lab.runs.last_mut().unwrap();
            ground.clone_into(&mut run.ground);
            if ground == "virtual" {
                run.record.flows_end.swap(0, 1);
                run.record.flows_warmup.swap(0, 1);
            }
        }
    }
    let summary = Summary::of(&lab.experiment());
    let shares = summary.distances.iter().filter(|distance| distance.figure == "share");
    let told: Vec<_> = shares
        .map(|share| (share.group.as_deref().unwrap(), share.agreement))
        .collect();
    assert_eq!(told, [("down", Agreement::Beyond), ("other", Agreement::Beyond)]);
    assert!(distance::in_words(&summary.distances).contains("share of down in reno over bottleneck"));
    assert!(distance::terminal(&summary.distances, None).contains("5 points"));
}
