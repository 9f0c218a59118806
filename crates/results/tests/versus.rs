//! What laws do to each other: shares, harm and time to a fair share, by hand.

mod common;

use common::pairs::{lab, lab_of, meeting};
use common::{Lab, SECOND};
use fadelab_results::curves::Curves;
use fadelab_results::measure::METRICS;
use fadelab_results::print::{self, Asked, Form, Tables};
use fadelab_results::report::paper::Choice;
use fadelab_results::versus::{Beside, FIGURES};
use fadelab_results::{Summary, combine, table};

fn find<'a>(summary: &'a Summary, law: &str, beside: &str) -> &'a Beside {
    summary
        .versus
        .iter()
        .find(|one| one.law == law && one.beside == beside)
        .unwrap()
}

#[track_caller]
fn close(found: Option<f64>, expected: f64) {
    assert!(
        found.is_some_and(|found| (found - expected).abs() < 1e-9),
        "{found:?}, expected {expected}"
    );
}

#[test]
fn harm_is_what_others_take_of_what_one_has_alone() {
    // Goal: alone 750 packets a second; beside CUBIC Reno has 750 and 675, so harm 0 and 0.1; beside Reno CUBIC has 250
    // and 225, harm 2/3 and 0.7. Beside itself Reno has 750 and 250, a harm of 1/3, CUBIC 600 and 200, 7/15.
    let summary = Summary::of(&lab().experiment());
    assert_eq!(summary.versus.len(), 4);
    let mean = |law, beside, pick: fn(&Beside) -> Option<fadelab_results::interval::Stat>| {
        pick(find(&summary, law, beside)).map(|stat| stat.mean)
    };
    close(mean("reno", "cubic", |one| one.harm), 0.05);
    close(mean("cubic", "reno", |one| one.harm), f64::midpoint(2.0 / 3.0, 0.7));
    close(mean("reno", "reno", |one| one.harm), 1.0 / 3.0);
    close(mean("cubic", "cubic", |one| one.harm), 7.0 / 15.0);
    close(mean("reno", "cubic", |one| one.harm_beyond_itself), 0.05 - 1.0 / 3.0);
    close(
        mean("cubic", "reno", |one| one.harm_beyond_itself),
        f64::midpoint(2.0 / 3.0, 0.7) - 7.0 / 15.0,
    );
    close(mean("reno", "cubic", |one| one.share), 0.75);
    close(mean("cubic", "reno", |one| one.harm_rtt), 0.0);
    let own = find(&summary, "reno", "reno");
    assert_eq!(
        (own.share, own.harm_beyond_itself, own.seeds),
        (None, None, 2),
        "which came first says nothing"
    );
    assert!(own.harm.unwrap().ci95_half_width.is_none(), "both seeds gave the same");
}

#[test]
fn one_seed_says_nothing_of_chance() {
    // Goal: where one seed ran the headline does not say that no law takes more than another takes from itself.
    let mut lab = lab();
    lab.runs.retain(|run| run.seed == 1);
    let experiment = lab.experiment();
    let page = fadelab_results::report::html(&experiment, &Summary::of(&experiment)).unwrap();
    assert!(page.contains("On bottleneck one seed does not tell what laws take from each other by chance."));
}

#[test]
fn sides_that_differ_stay_apart() {
    // Goal: where a law was alone on both sides the two are told by the names of their groups, each against its own.
    let mut lab = Lab::default();
    lab.add("reno", meeting(1, ("first", "reno"), None), |_| 1000);
    lab.add("/reno", meeting(1, ("second", "reno"), None), |_| 400);
    lab.add(
        "reno/reno",
        meeting(1, ("first", "reno"), Some(("second", "reno"))),
        |_| 1000,
    );
    let summary = Summary::of(&lab.experiment());
    let told: Vec<_> = summary
        .versus
        .iter()
        .map(|one| (one.group.as_deref(), one.harm.unwrap().mean))
        .collect();
    assert_eq!(told.len(), 2);
    assert_eq!((told[0].0, told[1].0), (Some("first"), Some("second")));
    close(Some(told[0].1), 0.0);
    close(Some(told[1].1), 1.0 - 250.0 / 300.0);
    let shares: Vec<_> = summary.versus.iter().map(|one| one.share.unwrap().mean).collect();
    close(Some(shares[0]), 0.75);
}

fn drawn(lab: &Lab, name: &str, state: Choice) -> Option<String> {
    Some(common::drawn(lab, name, state)?.svg)
}

#[test]
fn panels_of_two_sides_say_which_they_are() {
    // Goal: where the sides differ there is a matrix for each, so each panel has its group and how many flows it has.
    let mut lab = Lab::default();
    for (law, first, second) in [
        ("reno", ("first", "reno"), None),
        ("/reno", ("second", "reno"), None),
        ("reno/reno", ("first", "reno"), Some(("second", "reno"))),
    ] {
        lab.add(law, meeting(1, first, second), |_| 1000);
    }
    let svg = drawn(&lab, "versus", Choice::default()).unwrap();
    for (part, n) in [
        (">Harm (%)<", 2),
        (">group first, 1 flow<", 4),
        (">group second, 1 flow<", 4),
        (">beside\u{a0}1<", 8),
    ] {
        assert_eq!(svg.matches(part).count(), n, "{part}");
    }
    let alike = drawn(&common::pairs::lab(), "versus", Choice::default()).unwrap();
    assert!(!alike.contains("group "), "sides that are alike have no names");
}

#[test]
fn several_points_are_several_rows_of_panels() {
    // Goal: what a sweep asks for at once stands under each other, each panel with its point; one point is not named.
    let lab = lab_of(&["1 BDP", "2 BDP"]);
    let both = Choice {
        points: vec![0, 1],
        ..Choice::default()
    };
    let svg = drawn(&lab, "versus", both).unwrap();
    for (part, n) in [(">Harm (%)<", 2), (">buffer = 1 BDP<", 4), (">buffer = 2 BDP<", 4)] {
        assert_eq!(svg.matches(part).count(), n, "{part}");
    }
    let one = drawn(&lab, "versus", Choice::default()).unwrap();
    assert!(one.matches(">Harm (%)<").count() == 1 && !one.contains("buffer ="));
}

#[test]
fn a_sweep_draws_what_laws_do_to_each_other() {
    // Goal: each figure of pairs is drawn over a swept number, a line for each law beside another that has it; a law
    // that is hidden takes its pair along, and a difference to a law means nothing here.
    let lab = lab_of(&["1 BDP", "2 BDP", "4 BDP"]);
    let of = |name: &str| METRICS.len() + FIGURES.iter().position(|(known, _)| *known == name).unwrap();
    let asked = |name: &str| {
        let metric = of(name);
        Choice {
            metric,
            ..Choice::default()
        }
    };
    let harm = drawn(&lab, "sweep", asked("harm")).unwrap();
    for part in [
        "Harm (%)",
        ">buffer (BDP)<",
        ">cubic beside reno<",
        ">reno beside reno<",
    ] {
        assert!(harm.contains(part), "{part}");
    }
    let share = drawn(&lab, "sweep", asked("share")).unwrap();
    assert!(share.contains(">cubic beside reno<") && !share.contains(">reno beside reno<"));
    for name in ["harm_rtt", "harm_beyond_itself"] {
        let svg = drawn(&lab, "sweep", asked(name)).unwrap();
        assert!(!svg.contains("NaN") && !svg.contains("undefined"), "{name}");
    }
    let difference = Choice {
        difference: true,
        ..asked("harm")
    };
    assert_eq!(drawn(&lab, "sweep", difference), None);
    let without = common::two_laws();
    assert_eq!(drawn(&without, "sweep", asked("harm")), None);
}

#[test]
fn sides_that_differ_have_a_panel_each_over_a_sweep() {
    // Goal: a law harmed on one side is not drawn as if it were the same law on the other; one entry in the legend.
    let mut lab = Lab::default();
    for buffer in ["1 BDP", "2 BDP"] {
        for (law, first, second) in [
            ("reno", ("first", "reno"), None),
            ("/reno", ("second", "reno"), None),
            ("reno/reno", ("first", "reno"), Some(("second", "reno"))),
        ] {
            lab.add(law, meeting(1, first, second), |_| 1000);
            let run = lab.runs.last_mut().expect("one was added");
            run.point = vec![("some.buffer".to_owned(), buffer.to_owned())];
        }
    }
    let asked = Choice {
        metric: METRICS.len() + 1,
        ..Choice::default()
    };
    let svg = drawn(&lab, "sweep", asked).unwrap();
    for (part, n) in [(">first<", 1), (">second<", 1), (">reno beside reno<", 1)] {
        assert_eq!(svg.matches(part).count(), n, "{part}");
    }
    // Alone one side has as much as beside the other, and that one a sixth more: both panels reach so far, and only one
    // has a line at 0.
    let heights = |line: &str| -> Vec<f64> {
        let points = line.split(['M', 'L']).filter(|point| !point.is_empty());
        points
            .filter_map(|point| point.split(' ').nth(1)?.parse().ok())
            .collect()
    };
    let paths = svg.split(" d=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let lines: Vec<Vec<f64>> = paths.map(heights).filter(|heights| heights.len() == 2).collect();
    let level: Vec<f64> = lines
        .iter()
        .filter(|line| (line[0] - line[1]).abs() < 0.01)
        .map(|line| line[0])
        .collect();
    assert!(level.iter().any(|height| (height - level[0]).abs() > 1.0), "{level:?}");
}

#[test]
fn one_matrix_may_be_asked_for() {
    // Goal: a paper that shows harm alone has a figure and a table of harm alone.
    let lab = lab();
    let summary = Summary::of(&lab.experiment());
    let asked = Asked {
        metric: Some("harm_rtt".to_owned()),
        ..Asked::default()
    };
    let links = ["bottleneck".to_owned()];
    let latex = print::tables(&summary, &links, &[Tables::Versus], Form::Latex, &asked).unwrap();
    assert_eq!(latex.matches("\\begin{tabular}").count(), 1);
    assert!(latex.contains("Harm to round trips"), "{latex}");
    let harm = Choice {
        metric: METRICS.len() + 1,
        ..Choice::default()
    };
    let svg = drawn(&lab, "versus", harm).unwrap();
    assert!(svg.contains(">Harm (%)<") && !svg.contains(">Share (%)<"));
}

#[test]
fn there_is_no_harm_without_a_run_alone() {
    // Goal: a mixture by itself, or beside runs under other seeds or with another law alone, has no matrix.
    for others in [None, Some((2, "cubic")), Some((1, "vcp"))] {
        let mut lab = Lab::default();
        lab.add(
            "reno/cubic",
            meeting(1, ("first", "reno"), Some(("second", "cubic"))),
            |_| 1000,
        );
        if let Some((seed, law)) = others {
            lab.add(law, meeting(seed, ("first", law), None), |_| 1000);
        }
        let summary = Summary::of(&lab.experiment());
        assert!(summary.versus.is_empty(), "{others:?}");
        assert!(!table::terminal(&summary, None, false).contains("harm"));
    }
}

/// A run of two groups with one flow each in which from `since_s` on both get the same, and nothing of it before.
fn converging(since_s: u64, until_s: u64) -> Option<f64> {
    let mut lab = Lab::default();
    lab.add(
        "reno/cubic",
        meeting(1, ("first", "reno"), Some(("second", "cubic"))),
        |_| 1000,
    );
    let run = &mut lab.runs[0];
    run.record.completions.clear();
    let series = &mut run.record.series;
    let mut got = [0, 0];
    for (place, at_ns) in series.time_ns.iter().enumerate() {
        let second = at_ns / SECOND;
        if place > 0 {
            let is_fair = (since_s + 1..=until_s).contains(&second);
            let more = if is_fair { [560, 440] } else { [650, 350] };
            got = [got[0] + more[0], got[1] + more[1]];
        }
        for (samples, got) in series.flows.iter_mut().zip(got) {
            samples[place].delivered_bytes = got;
        }
    }
    let summary = Summary::of(&lab.experiment());
    let first = summary
        .shares
        .iter()
        .find(|share| share.link == "bottleneck" && share.group == "first")
        .unwrap();
    first.stat("convergence_s").map(|stat| stat.mean)
}

#[test]
fn convergence_is_five_seconds_within_a_quarter_of_the_fair_share() {
    // Goal: 56 % of the link is within a quarter of a half and 65 % is not; five seconds of it count from their first,
    // four do not, and a run in which it never comes has no time.
    assert_eq!(converging(12, 60), Some(12.0));
    assert_eq!(converging(0, 60), Some(0.0));
    assert_eq!(converging(20, 25), Some(20.0));
    assert_eq!(converging(20, 24), None);
    assert_eq!(converging(60, 60), None);
}

#[test]
fn the_page_draws_the_flows_of_both_sides() {
    // Goal: where laws run alone and in pairs, both flows of a pair have curves, with the looks of their laws, and a
    // law alone has the first and a gap all along in place of the second.
    let curves = Curves::of(&lab().experiment());
    let panel = &curves.panels[0];
    assert_eq!(panel.flows, ["first.1", "second.1"]);
    let of = |law: usize| panel.laws.iter().find(|curves| curves.law == law).expect("it has runs");
    let known = |law: usize| -> Vec<bool> {
        let numbers = of(law).share_mbps.values();
        numbers[..2].iter().map(Option::is_some).collect()
    };
    // The laws are in the order of the runs: reno, reno/reno, reno/cubic, cubic, cubic/cubic.
    assert_eq!(
        [0, 1, 2, 3].map(known),
        [[true, false], [true; 2], [true; 2], [true, false]]
    );
    let senders = of(2).senders.iter().map(|sender| sender.law.as_str());
    assert_eq!(senders.collect::<Vec<_>>(), ["reno", "cubic"]);
    assert_eq!(of(2).flow_senders, [0, 1]);
    assert!(of(1).senders.is_empty());
}

#[test]
fn two_results_of_pairs_share_a_page() {
    // Goal: a result in which laws run alone and in pairs, so with other flows each, fits on a page with another of its
    // kind.
    let part = |name: &str| (name.to_owned(), lab().experiment());
    let both = combine(vec![part("a"), part("b")]).unwrap();
    assert_eq!(both.runs.len(), 2 * lab().runs.len());
}

#[test]
fn matrices_are_printed_drawn_and_written() {
    // Goal: terminal, Markdown, CSV, figure and page have the same figures; who is harmed more than by itself beyond
    // the noise has a star; without room the intervals go, not the figures.
    let mut lab = lab();
    // Under three seeds more the difference is beyond noise.
    for seed in 3..=6 {
        for mut run in lab.runs.iter().filter(|run| run.seed == 2).cloned().collect::<Vec<_>>() {
            run.seed = seed;
            lab.runs.push(run);
        }
    }
    let experiment = lab.experiment();
    let summary = Summary::of(&experiment);
    let text = table::terminal(&summary, None, false);
    let harm = text.split_once("harm to the law in the row").unwrap().1;
    let row = harm.lines().find(|line| line.starts_with("cubic")).unwrap();
    assert!(row.contains("69.4 ± 1.4 *") && row.ends_with("46.7"), "{row}");
    let narrow = table::terminal(&summary, Some(20), false);
    let harm = narrow.split_once("harm to the law in the row").unwrap().1;
    assert!(
        harm.lines()
            .any(|line| line.starts_with("cubic") && line.contains("69.4 *")),
        "{narrow}"
    );
    let links = ["bottleneck".to_owned()];
    let markdown = print::tables(&summary, &links, &[Tables::Versus], Form::Markdown, &Asked::default()).unwrap();
    assert!(
        markdown.contains("| cubic | 69.4 ± 1.4 \\* | 46.7 |") || markdown.contains("| cubic | 69.4 ± 1.4 * | 46.7 |"),
        "{markdown}"
    );
    let latex = print::tables(&summary, &links, &[Tables::Versus], Form::Latex, &Asked::default()).unwrap();
    for part in [
        "\\multicolumn{2}{c}{Harm (\\%), beside} \\\\\n\\cmidrule(l){2-3}\nlaw & reno & cubic \\\\\n\\midrule\n",
        "cubic & 69.4 $\\pm$ 1.4 * & 46.7 \\\\",
    ] {
        assert!(latex.contains(part), "{part} in {latex}");
    }
    let csv = print::tables(&summary, &links, &[Tables::Versus], Form::Csv, &Asked::default()).unwrap();
    let heading = csv.lines().next().unwrap();
    assert!(
        heading.starts_with("link,ground,group,law,flows,beside,beside_flows,runs,converged,convergence_s median (s),"),
        "{heading}"
    );
    assert_eq!(csv.lines().count(), 5);
    let svg = drawn(&lab, "versus", Choice::default()).unwrap();
    assert!(svg.contains(">69.4*<") && svg.contains(">± 1.4<"), "{svg}");
    let page = fadelab_results::report::html(&experiment, &summary).unwrap();
    let said = "On bottleneck reno takes 69.4\u{a0}% of the goodput that cubic has alone, cubic itself 46.7\u{a0}%.";
    assert!(page.contains(said), "{said}");
}
