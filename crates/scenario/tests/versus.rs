//! `[versus]`: which runs it makes of several laws.

use std::path::Path;

use fadelab_scenario::plan::Plan;
use fadelab_scenario::{Options, Refusal, parse};

const NETWORK: &str = "[run]\nduration = '1 s'\n[topology.bottleneck]\nrate = '1 Mbit/s'\ndelay = '1 ms'\n";

fn read(text: &str) -> Result<Plan, Refusal> {
    parse(
        format!("{NETWORK}{text}").as_bytes(),
        "s.toml",
        Path::new(""),
        &Options::default(),
    )
}

/// Name of a group, its law, and how many flows it has.
type Told = (String, String, usize);

/// Label, router and groups of each run.
fn told(plan: &Plan) -> Vec<(String, String, Vec<Told>)> {
    let run = |run: &fadelab_scenario::plan::PlannedRun| {
        let flows = &run.spec.flows;
        let mut groups: Vec<Told> = Vec::new();
        for flow in flows {
            let (group, law) = (flow.group.clone(), flow.sender.unwrap().name().to_owned());
            match groups.iter_mut().find(|(name, ..)| *name == group) {
                Some((.., n)) => *n += 1,
                None => groups.push((group, law, 1)),
            }
        }
        let links = &run.spec.network.links;
        let router = links
            .iter()
            .find(|link| link.name.as_ref() == "bottleneck")
            .unwrap()
            .router
            .law
            .name();
        (run.law_label.clone(), router.to_owned(), groups)
    };
    plan.runs.iter().map(run).collect()
}

fn labels(plan: &Plan) -> Vec<&str> {
    plan.runs.iter().map(|run| run.law_label.as_str()).collect()
}

fn group(name: &str, law: &str, n: usize) -> Told {
    (name.to_owned(), law.to_owned(), n)
}

#[test]
fn each_law_runs_alone_beside_itself_and_beside_the_others() {
    // Goal: where the sides are alike a pair runs once; the router is the one that a law of the pair needs.
    let plan = read("[versus]\nlaws = ['cubic', 'vcp']\n[flow]\ncount = 2\n").unwrap();
    let expected = [
        ("cubic", "droptail", vec![group("first", "cubic", 2)]),
        (
            "cubic/cubic",
            "droptail",
            vec![group("first", "cubic", 2), group("second", "cubic", 2)],
        ),
        (
            "cubic/vcp",
            "vcp",
            vec![group("first", "cubic", 2), group("second", "vcp", 2)],
        ),
        ("vcp", "vcp", vec![group("first", "vcp", 2)]),
        (
            "vcp/vcp",
            "vcp",
            vec![group("first", "vcp", 2), group("second", "vcp", 2)],
        ),
    ];
    let expected = expected.map(|(label, router, groups)| (label.to_owned(), router.to_owned(), groups));
    assert_eq!(told(&plan), expected);
    assert!(
        plan.runs.iter().all(|run| run.point.is_empty()),
        "laws are no coordinate of a point"
    );
    assert_eq!(
        plan.runs.iter().map(|run| run.law_order).collect::<Vec<_>>(),
        [0, 1, 2, 3, 4]
    );
}

#[test]
fn sides_that_differ_run_both_ways() {
    // Goal: with one flow beside four it matters which law is which, alone too; a swept side differs from the other.
    let all = [
        "cubic",
        "/cubic",
        "cubic/cubic",
        "cubic/vcp",
        "vcp",
        "/vcp",
        "vcp/cubic",
        "vcp/vcp",
    ];
    let plan = read("[versus]\nlaws = ['cubic', 'vcp']\n[flow.second]\ncount = 4\n").unwrap();
    assert_eq!(labels(&plan), all);
    assert_eq!(told(&plan)[1].2, [group("second", "cubic", 4)]);
    assert_eq!(
        told(&plan)[6].2,
        [group("first", "vcp", 1), group("second", "cubic", 4)]
    );
    let red = read("[versus]\nlaws = ['cubic']\nrouter = 'red'\n[flow.second]\ncount = 4\n").unwrap();
    let routers: Vec<_> = told(&red)
        .into_iter()
        .map(|(label, router, _)| (label, router))
        .collect();
    let of_red = ["cubic", "/cubic", "cubic/cubic"].map(|label| (label.to_owned(), "red".to_owned()));
    assert_eq!(routers, of_red, "whoever is alone is alone at the same router");
    let alike = read("[versus]\nlaws = ['cubic']\n[flow.first]\ncount = 3\n[flow.second]\ncount = 3\n").unwrap();
    assert_eq!(labels(&alike), ["cubic", "cubic/cubic"]);
    let lists = "[flow.first]\ncount = [1, 2]\n[flow.second]\ncount = [1, 2]\n";
    let swept = read(&format!("[versus]\nlaws = ['cubic']\n{lists}")).unwrap();
    assert_eq!(
        swept.runs.len(),
        3 * 4,
        "each pair of numbers, with each law alone on either side"
    );
}

#[test]
fn laws_that_need_different_routers_do_not_meet() {
    // Goal: the pair is left out and named, unless the scenario names a router for all; that can be swept.
    let plan = read("[versus]\nlaws = ['vcp', 'xcp']\n").unwrap();
    assert_eq!(labels(&plan), ["vcp", "vcp/vcp", "xcp", "xcp/xcp"]);
    let warning = "vcp/xcp is left out: its laws need different routers, vcp and xcp";
    assert!(plan.warnings.iter().any(|told| told == warning), "{:?}", plan.warnings);
    let plan = read("[versus]\nlaws = ['vcp', 'xcp']\nrouter = ['droptail', 'xcp']\n").unwrap();
    let routers: Vec<_> = told(&plan)
        .into_iter()
        .map(|(label, router, _)| format!("{label} {router}"))
        .collect();
    assert_eq!(routers[4..6], ["vcp/xcp droptail", "vcp/xcp xcp"], "{routers:?}");
    assert_eq!(plan.runs.len(), 10);
    assert_eq!(
        plan.runs[0].point,
        [("versus.router".to_owned(), "droptail".to_owned())]
    );
}

#[test]
fn what_is_resolved_reads_back_to_the_same_runs() {
    // Goal: the resolved scenario of every form of [versus] is one, and gives the same plan and text.
    for text in [
        "[versus]\nlaws = ['cubic', 'vcp']\n[flow]\ncount = 2\n",
        "[versus]\nlaws = ['cubic', 'vcp']\nrouter = ['red', 'droptail']\n[flow.second]\ncount = [1, 4]\n",
        "[versus]\nlaws = ['cubic', 'vcp']\nonly = 'cubic/vcp'\n[flow.first]\nstart = '0.1 s'\n",
    ] {
        let plan = read(text).unwrap();
        let again = parse(plan.text.as_bytes(), "again.toml", Path::new(""), &Options::default()).unwrap();
        assert_eq!(again.text, plan.text);
        assert_eq!(told(&again), told(&plan));
        assert_eq!(again.sweep_keys, plan.sweep_keys);
    }
}

#[test]
fn one_pairing_can_be_run_by_itself() {
    // Goal: `only` is the label of a run, and a wrong one is told those that there are.
    let only = |label: &str| read(&format!("[versus]\nlaws = ['cubic', 'vcp']\nonly = '{label}'\n"));
    for label in ["cubic", "cubic/vcp", "vcp/vcp"] {
        assert_eq!(labels(&only(label).unwrap()), [label]);
    }
    // What a run that fails is told to be run alone with.
    for run in read("[versus]\nlaws = ['cubic', 'vcp']\n").unwrap().runs {
        assert_eq!((&*run.law_key, &run.law_value), ("versus.only", &run.law_label));
    }
    let refused = only("vcp/cubic").unwrap_err().to_string();
    assert!(
        refused.contains("allowed is cubic, cubic/cubic, cubic/vcp, vcp or vcp/vcp"),
        "{refused}"
    );
}

#[test]
fn a_law_that_a_user_brought_is_one_more() {
    // Goal: --law adds to the laws of [versus] unless they name it; what is no sender is told where it would be used.
    let options = |own: &str| Options {
        own_laws: vec![own.to_owned()],
        ..Options::default()
    };
    let text = format!("{NETWORK}[versus]\nlaws = ['cubic']\n");
    let plan = |own: &str| parse(text.as_bytes(), "s.toml", Path::new(""), &options(own)).unwrap();
    assert_eq!(
        labels(&plan("reno")),
        ["cubic", "cubic/cubic", "cubic/reno", "reno", "reno/reno"]
    );
    assert_eq!(labels(&plan("cubic")), ["cubic", "cubic/cubic"]);
    let hint = "nothing uses the law codel of --law: --set versus.router=codel would";
    assert!(
        plan("codel").warnings.iter().any(|warning| warning == hint),
        "{:?}",
        plan("codel").warnings
    );
}

#[test]
fn what_cannot_be_is_refused_with_its_place() {
    // Goal: one line with place, key, what was given and what is allowed, for each way to get it wrong.
    for (text, expected) in [
        ("[versus]\n", "s.toml:6: `versus.laws` is missing: name senders"),
        ("[versus]\nlaws = []\n", "s.toml:7: versus.laws = []: name senders"),
        (
            "[versus]\nlaws = 'cubic'\n",
            "s.toml:7: versus.laws = \"cubic\": name senders",
        ),
        ("[versus]\nlaws = ['cubik']\n", "unknown law `cubik`"),
        (
            "[versus]\nlaws = ['udp']\n",
            "`udp` has no congestion control, name a law",
        ),
        (
            "[versus]\nlaws = ['cubic+red']\n",
            "name the sender here, and it in versus.router",
        ),
        ("[versus]\nlaws = ['cubic', 'cubic']\n", "`cubic` stands twice"),
        (
            "[versus]\nlaws = ['cubic']\nrouter = 'rde'\n",
            "s.toml:8: versus.router = \"rde\": unknown router `rde`",
        ),
        (
            "[versus]\nlaws = ['cubic']\n[flow]\nlaw = 'vcp'\n",
            "s.toml:9: flow.law beside [versus]: leave it out",
        ),
        (
            "[versus]\nlaws = ['cubic']\n[flow.first]\nlaw = 'vcp'\n",
            "flow.first.law beside [versus]: leave it out",
        ),
        (
            "[versus]\nlaws = ['cubic']\n[flow.web]\ncount = 1\n",
            "its groups are [flow.first] or [flow.second]",
        ),
    ] {
        let refused = read(text).unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}\nfor {text}");
    }
}

#[test]
fn figures_that_compare_different_things_are_warned_of() {
    // Goal: a buffer in bandwidth-delay products that differs between the runs that harm compares is named with both
    // sizes, and a side that starts behind the warm-up with both times; equal delays, a buffer in packets and starts
    // within the warm-up are no reason.
    let warned = |more: &str| {
        let laws = "[versus]\nlaws = ['cubic', 'reno']\n";
        let mut warnings = read(&format!("{laws}{more}")).unwrap().warnings;
        warnings.retain(|warning| warning.contains("harm"));
        warnings
    };
    assert_eq!(warned("[flow]\ncount = 2\n"), [""; 0]);
    let [buffer] = &warned("[flow.second]\ndelay = '10 ms'\n")[..] else {
        panic!("one warning")
    };
    let sizes = "link `bottleneck` is 3 packets in some runs and 4 in others";
    assert!(
        buffer.contains(sizes) && buffer.contains("give it in packets"),
        "{buffer}"
    );
    let fixed = "[topology.bottleneck]\nrate = '1 Mbit/s'\ndelay = '1 ms'\nbuffer = '20 pkt'\n";
    let text =
        format!("[run]\nduration = '1 s'\n{fixed}[versus]\nlaws = ['cubic', 'reno']\n[flow.second]\ndelay = '10 ms'\n");
    let plan = parse(text.as_bytes(), "s.toml", Path::new(""), &Options::default()).unwrap();
    assert!(
        !plan.warnings.iter().any(|warning| warning.contains("harm")),
        "{:?}",
        plan.warnings
    );
    let [late] = &warned("[flow.second]\nstart = '500 ms'\n")[..] else {
        panic!("one warning")
    };
    assert!(late.contains("starts at 0.5 s, behind the warm-up of 0"), "{late}");
}
