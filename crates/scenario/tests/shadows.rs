//! `flow.shadow`: laws that look on.

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

/// Group of a flow, and who looks on.
type Told = (String, Vec<&'static str>);

/// The flows of each run, law by law.
fn told(plan: &Plan) -> Vec<(String, Vec<Told>)> {
    let flow = |flow: &fadelab_run::flow::FlowSpec| {
        let names = flow.onlookers.iter().map(|one| one.law.name()).collect();
        (flow.group.clone(), names)
    };
    let run = |run: &fadelab_scenario::plan::PlannedRun| {
        let flows = run.spec.flows.iter().map(flow).collect();
        (run.law_label.clone(), flows)
    };
    plan.runs.iter().map(run).collect()
}

#[test]
fn a_list_of_laws_is_no_sweep_and_leaves_out_the_law_that_decides() {
    // Goal: under each law of a sweep the others look on, in their order, with the parameters of their tables.
    let text = "[flow]\nlaw = ['westwood', 'reno']\nshadow = ['jersey', 'westwood']\n[law.jersey]\nrtt = 'least'\n";
    let plan = read(text).unwrap();
    let of = |law: &str, names: &[&'static str]| (law.to_owned(), vec![("flow".to_owned(), names.to_vec())]);
    assert_eq!(
        told(&plan),
        [of("westwood", &["jersey"]), of("reno", &["jersey", "westwood"])]
    );
    let jersey = fadelab_laws::sender("jersey").unwrap();
    let expected = jersey.params_from(&[("rtt", 1.0)]).unwrap();
    assert_eq!(plan.runs[0].spec.flows[0].onlookers[0].params, expected);
}

#[test]
fn groups_have_their_own_or_those_of_all() {
    // Goal: a group without the key has those of [flow]; an empty list is none.
    let text = "[flow]\nlaw = 'reno'\nshadow = ['westwood']\n[flow.a]\n[flow.b]\nshadow = []\n[flow.c]\nlaw = 'cubic'\n\
                shadow = ['veno', 'jersey']\n";
    let plan = read(text).unwrap();
    let group = |name: &str, names: &[&'static str]| (name.to_owned(), names.to_vec());
    let expected = [
        group("a", &["westwood"]),
        group("b", &[]),
        group("c", &["veno", "jersey"]),
    ];
    assert_eq!(told(&plan)[0].1, expected);
}

#[test]
fn laws_that_cannot_look_on_are_refused() {
    // Goal: each refusal names the key, what is wrong and what to do instead.
    for (text, parts) in [
        (
            "law = 'reno'\nshadow = ['jersy']",
            &["flow.shadow", "`jersy`", "`jersey`?"][..],
        ),
        (
            "law = 'reno'\nshadow = 'jersey'",
            &["flow.shadow", "name senders in a list"],
        ),
        ("law = 'reno'\nshadow = ['vcp']", &["flow.shadow", "`vcp`", "feedback"]),
        ("law = 'reno'\nshadow = ['udp']", &["flow.shadow", "`udp`", "no ACKs"]),
        (
            "law = 'reno'\nshadow = ['veno', 'veno']",
            &["flow.shadow", "`veno` stands twice"],
        ),
        (
            "law = 'udp'\napp = 'cbr'\nrate = '1 Mbit/s'\nshadow = ['veno']",
            &["flow.shadow", "`udp` gets no ACKs"],
        ),
    ] {
        let refusal = read(&format!("[flow]\n{text}\n")).map(drop).unwrap_err().to_string();
        for part in parts {
            assert!(refusal.contains(part), "{text}: `{part}` in {refusal}");
        }
    }
}
