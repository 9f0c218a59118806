//! Lists in scenarios: runs, their order and the names of their points.

#[path = "plan/mod.rs"]
mod text;

use fadelab_scenario::plan::Plan;
use text::plan_with;

fn plan(text: &str) -> Plan {
    plan_with(text, &[])
}

#[test]
fn a_list_of_one_value_is_a_sweep_of_one_point() {
    // Goal: what is narrowed to one value of a sweep keeps the name of its point, and without a list there is none;
    // laws have a place of their own.
    let narrowed = |count: &str, law: &str| {
        let bottleneck = "[topology.bottleneck]\nrate = \"1 Mbit/s\"\ndelay = \"10 ms\"\n";
        let plan = plan(&format!("[flow]\nlaw = {law}\ncount = {count}\n{bottleneck}"));
        (plan.sweep_keys, plan.runs[0].point.clone())
    };
    let point = ("flow.count".to_owned(), "2".to_owned());
    assert_eq!(narrowed("[2]", "\"reno\""), (vec![point.0.clone()], vec![point]));
    assert_eq!(narrowed("2", "[\"reno\"]"), (vec![], vec![]));
}

#[test]
fn a_list_of_one_value_that_nothing_reads_names_no_point() {
    // Goal: a key without effect is in neither the resolved text nor the points, so that the text gives the same plan.
    let one = plan(
        "[flow]\nlaw = \"reno\"\n[topology.bottleneck]\nrate = \"1 Mbit/s\"\ndelay = \"10 ms\"\n\
         [channel.unused]\nmodel = \"random\"\nloss_data = [0.01]\n",
    );
    assert_eq!(one.runs[0].point, []);
    assert_eq!(one.sweep_keys, <[String; 0]>::default());
    let again = plan(&one.text);
    assert_eq!((again.text, &again.runs[0].point), (one.text, &one.runs[0].point));
}

#[test]
fn lists_are_sweeps() {
    // Goal: every list multiplies the runs, the first key outermost and seeds innermost, wherever the lists stand.
    let text = "[flow]\nlaw = \"reno\"\ncount = [1, 2]\n[run]\nseeds = [5, 9]\n\
                [topology.bottleneck]\nrate = [\"1 Mbit/s\", \"2 Mbit/s\"]\ndelay = \"10 ms\"\n";
    let plan = plan(text);
    assert_eq!(plan.sweep_keys, ["topology.bottleneck.rate", "flow.count", "run.seeds"]);
    let rows: Vec<String> = plan
        .runs
        .iter()
        .map(|run| format!("{} {} {}", run.point[0].1, run.point[1].1, run.seed))
        .collect();
    let expected = [
        "1 Mbit/s 1 5",
        "1 Mbit/s 1 9",
        "1 Mbit/s 2 5",
        "1 Mbit/s 2 9",
        "2 Mbit/s 1 5",
    ];
    assert_eq!(rows[..5], expected);
    assert_eq!(rows.len(), 8);
    assert_eq!(plan.runs[2].point[1].0, "flow.count");
    assert_eq!(plan.runs[2].spec.flows.len(), 2);
}
