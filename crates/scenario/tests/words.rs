//! What a plan says in words: what it shows, and its warnings.

mod plan;

use fadelab_scenario::plan::Plan;
use plan::plan_with;

const NETWORK: &str =
    "[topology]\npreset = \"dumbbell\"\n[topology.bottleneck]\nrate = \"10 Mbit/s\"\ndelay = \"5 ms\"\n";

#[test]
fn what_a_scenario_shows_says_what_was_changed() {
    // Goal: a text about two laws does not stand over results of others without a word: changes by --set follow it,
    // unless the text itself was given anew; the resolved scenario keeps the author's.
    let text = format!("about = \"Reno by itself.\"\n{NETWORK}[flow]\nlaw = \"reno\"\n");
    let changed = plan_with(&text, &["flow.law=cubic", "flow.count=2"]);
    assert_eq!(
        changed.about,
        "Reno by itself. Changed for these runs: flow.law, flow.count."
    );
    assert!(!changed.text.contains("Changed for"), "{}", changed.text);
    assert_eq!(plan_with(&text, &[]).about, "Reno by itself.");
    assert_eq!(plan_with(&text, &["flow.law=cubic", "about=CUBIC."]).about, "CUBIC.");
}

#[test]
fn a_law_without_its_router_is_told_what_to_write() {
    // Goal: whoever follows the warning has the router: in a dumbbell by the first group's law, in a graph by the
    // link's.
    let warned = |plan: &Plan| {
        plan.warnings
            .iter()
            .find(|text| text.contains("works only with"))
            .cloned()
    };
    let mixed = |first: &str| format!("{NETWORK}[flow.a]\nlaw = \"{first}\"\n[flow.b]\nlaw = \"vcp\"\n");
    let warning = warned(&plan_with(&mixed("cubic"), &[])).expect("a warning");
    assert!(warning.contains("give that the law `NAME+vcp`"), "{warning}");
    assert_eq!(warned(&plan_with(&mixed("cubic+vcp"), &[])), None);

    let graph = |router: &str| {
        format!(
            "[topology]\nnodes = [\"a\", \"b\"]\n[link.wire]\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mbit/s\"\ndelay = \
             \"1 ms\"\n{router}[flow]\nlaw = \"vcp+droptail\"\nfrom = \"a\"\nto = \"b\"\n"
        )
    };
    let warning = warned(&plan_with(&graph(""), &[])).expect("a warning");
    assert!(warning.contains("give a link of it `router = \"vcp\"`"), "{warning}");
    assert_eq!(warned(&plan_with(&graph("router = \"vcp\"\n"), &[])), None);
}
