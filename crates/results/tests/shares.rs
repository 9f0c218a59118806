//! Who got what of a link that several groups of flows share.

mod common;

use std::sync::Arc;

use common::{Lab, SECOND, flow, provenance, spec, two_laws};
use fadelab_results::print::{self, Asked, Form, Tables};
use fadelab_results::report::paper::{Choice, Drawn};
use fadelab_results::{Summary, Target, table, write};
use fadelab_run::flow::FlowSpec;
use fadelab_run::spec::RunSpec;

/// The network of [`spec`] in which the second flow is of another group, with another law.
fn mixed(seed: u64) -> RunSpec {
    let mut spec = spec(seed, 60);
    let cubic = fadelab_laws::sender("cubic").unwrap();
    let mut other: FlowSpec = flow("other.1", "other", 0);
    let kind = Arc::make_mut(&mut other.kind);
    (kind.sender, kind.params) = (Some(cubic), cubic.default_params());
    spec.flows[1] = other;
    spec
}

fn mixture() -> Lab {
    let mut lab = Lab::default();
    for seed in 1..=3 {
        lab.add("reno/cubic", mixed(seed), |_| 900 - 10 * (seed - 1));
    }
    lab
}

#[test]
fn each_group_has_its_part_by_hand() {
    // Goal: of 900, 890 and 880 packets a second the first flow gets three quarters (rounded down) of 960 B each and
    // the second one quarter; windows are a tenth of that; each group says whose law it has.
    let summary = Summary::of(&mixture().experiment());
    let shares: Vec<_> = summary
        .shares
        .iter()
        .filter(|share| share.link == "bottleneck")
        .collect();
    let names: Vec<_> = shares
        .iter()
        .map(|share| (&*share.group, &*share.sender, share.flows))
        .collect();
    assert_eq!(names, [("down", "reno", 1), ("other", "cubic", 1)]);
    let [down, other] = [(3, [675, 667, 660]), (1, [225, 222, 220])].map(|(_, pkts)| {
        let pkts: [f64; 3] = pkts.map(f64::from);
        pkts
    });
    for (share, pkts) in shares.iter().zip([down, other]) {
        let mean = |of: &dyn Fn(usize) -> f64| (0..3).map(of).sum::<f64>() / 3.0;
        let close = |name: &str, expected: f64| {
            let found = share.stat(name).unwrap().mean;
            assert!(
                (found - expected).abs() < 1e-9 * expected,
                "{name} of {}: {found}, {expected}",
                share.group
            );
        };
        close("goodput_bps", mean(&|seed| pkts[seed] * 960.0 * 8.0));
        close("share", mean(&|seed| pkts[seed] / (down[seed] + other[seed])));
        close("cwnd_pkts_mean", mean(&|seed| (pkts[seed] / 10.0).floor()));
        assert_eq!(share.stat("jain"), None, "a flow by itself shares with nobody");
        close("rtt_ms_mean", 100.0);
    }
    let whole: f64 = shares.iter().map(|share| share.stat("share").unwrap().mean).sum();
    assert!((whole - 1.0).abs() < 1e-12);
    // Completions: one of the first flow and one of the second end after the warm-up of 10 s.
    for (share, completion_s) in shares.iter().zip([10.0, 20.0]) {
        assert!((share.stat("completion_s_mean").unwrap().mean - completion_s).abs() < 1e-9);
    }
}

#[test]
fn a_group_that_has_the_link_to_itself_shares_nothing() {
    // Goal: tables of runs with one group of flows stay as they are.
    let summary = Summary::of(&two_laws().experiment());
    assert!(summary.shares.is_empty());
    assert!(!table::terminal(&summary, None, false).contains("by group of flows"));
}

#[test]
fn table_page_and_file_name_each_law() {
    // Goal: two laws in one run are told apart wherever a person or a program reads, also where the terminal is narrow.
    let experiment = mixture().experiment();
    let summary = Summary::of(&experiment);
    for width in [None, Some(60), Some(80)] {
        let text = table::terminal(&summary, width, false);
        let shares: Vec<&str> = text.split_once("by group of flows").unwrap().1.lines().collect();
        assert!(shares[3].starts_with("down ") && shares[3].contains(" reno "), "{text}");
        assert!(
            shares[4].starts_with("other") && shares[4].contains(" cubic "),
            "{text}"
        );
        let widest = shares[1..].iter().map(|line| line.chars().count()).max().unwrap();
        assert!(width.is_none_or(|width| widest <= width), "{text}");
        assert!(
            ["goodput", "window", "resent"]
                .iter()
                .all(|heading| text.contains(heading)),
            "{text}"
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let target = Target::Exact(folder.path().join("result"));
    let written = write(&target, &experiment, &summary, &provenance(), true).unwrap();
    let read = |file: &str| std::fs::read_to_string(written.join(file)).unwrap();
    let groups = read("csv/groups.csv");
    let rows: Vec<&str> = groups.lines().filter(|line| line.contains("bottleneck")).collect();
    assert_eq!(rows.len(), 6, "{groups}");
    assert!(
        rows[0].contains("bottleneck,down,reno,1") && rows[1].contains("bottleneck,other,cubic,1"),
        "{groups}"
    );
    assert!(read("csv/flow_totals.csv").contains("other.1,other,cubic,"));
    assert!(read("report.html").contains("Of what it delivered reno\u{a0}75.0\u{a0}% and cubic\u{a0}25.0\u{a0}%."));
    assert_eq!(experiment.runs[0].spec.duration_ns, 60 * SECOND);
}

fn drawn(lab: &Lab, name: &str, state: Choice) -> Drawn {
    common::drawn(lab, name, state).expect("it has something to show")
}

#[test]
fn means_of_flows_are_of_each_law() {
    // Goal: two laws that share a link are two lines over time, each with its label, and not one that no flow has.
    let mean = Choice {
        flows: Some("mean"),
        ..Choice::default()
    };
    let svg = drawn(&mixture(), "goodput", mean.clone()).svg;
    assert!(
        svg.contains(">reno<") && svg.contains(">cubic<") && !svg.contains(">reno/cubic<"),
        "{svg}"
    );
    // Of two seeds the band is the range, and says so.
    let mut two = mixture();
    two.runs.retain(|run| run.seed < 3);
    let interval = Choice {
        interval: Some(true),
        ..mean
    };
    assert!(
        drawn(&two, "goodput", interval.clone())
            .note
            .ends_with("band: lowest to highest")
    );
    assert!(
        drawn(&mixture(), "goodput", interval)
            .note
            .ends_with("band: 95 % interval of the mean")
    );
}

#[test]
fn a_column_that_is_asked_for_has_its_interval() {
    // Goal: of groups, Jain's index and round trips by name come with what the seeds say of them; a table of one law
    // has no column that tells laws apart, nor one of groups that their laws tell apart.
    let summary = Summary::of(&mixture().experiment());
    let asked = Asked {
        columns: vec!["window".to_owned(), "share".to_owned()],
        laws: vec!["reno/cubic".to_owned()],
        ..Asked::default()
    };
    let links = ["bottleneck".to_owned()];
    let table = print::tables(&summary, &links, &[Tables::Groups], Form::Markdown, &asked).unwrap();
    assert!(table.contains("| sender | window (pkt) | share (%) |"), "{table}");
    let row = table.lines().find(|line| line.starts_with("| reno |")).unwrap();
    assert_eq!(row.matches(" ± ").count(), 2, "{table}");
}

#[test]
fn distributions_tell_the_groups_apart() {
    // Goal: where two laws share a link their queueing delays and round trips are two lines, with the names and colours
    // of their laws; a law that has it alone has one, under its name.
    let drawn = |lab: &Lab, name: &str| drawn(lab, name, Choice::default());
    for name in ["wait-distribution", "rtt-distribution"] {
        let shared = drawn(&mixture(), name);
        assert!(
            shared.svg.contains(">reno (down)<") && shared.svg.contains(">cubic (other)<"),
            "{name}"
        );
        // A hundred of each group under each of three seeds.
        assert!(
            shared.note.ends_with("300 reno (down), 300 cubic (other)"),
            "{}",
            shared.note
        );
        let alone = drawn(&two_laws(), name).svg;
        assert!(alone.contains(">steady<") && alone.contains(">swinging<"), "{name}");
    }
}
