//! Keys that mean something beside another choice than the scenario's.

use std::path::Path;

use fadelab_scenario::plan::Plan;
use fadelab_scenario::{Options, Refusal, parse};

const GOOD: &str = r#"
[run]
duration = "10 s"
seeds = "1..2"

[topology.bottleneck]
rate = "2 Mbit/s"
delay = "50 ms"

[flow]
law = "reno"
count = 2
"#;

fn plan(text: &str, sets: &[&str]) -> Result<Plan, Refusal> {
    let options = Options {
        sets: sets.iter().map(|set| (*set).to_owned()).collect(),
        ..Options::default()
    };
    parse(text.as_bytes(), "s.toml", Path::new(""), &options)
}

fn assert_has(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "`{part}` is missing in: {message}");
    }
    assert!(!message.contains('\n'), "more than one line: {message}");
}

#[test]
fn keys_of_another_choice_are_refused() {
    // Goal: a key that means something to another application, another shape of network or a link without a trace is
    // refused with what it belongs to and what to do, and taken where that choice is made at some point of a sweep.
    let said = |sets: &[&str]| plan(GOOD, sets).map(drop).unwrap_err().to_string();
    for (key, parts) in [
        (
            "flow.stop=3 s",
            [
                "`flow.stop` = \"3 s\"",
                "where app is \"greedy\": it belongs to app = \"cbr\"",
            ],
        ),
        ("flow.rate=1 Mbit/s", ["`flow.rate`", "app = \"cbr\""]),
        ("flow.size=1 MB", ["`flow.size`", "app = \"transfer\""]),
        ("flow.on=3 s", ["`flow.on`", "app = \"sessions\""]),
        ("flow.from=a", ["`flow.from`", "a graph"]),
        ("topology.hops=['1 Mbit/s']", ["`topology.hops`", "parking-lot"]),
        (
            "topology.nodes=['a', 'b']",
            ["`topology.nodes`", "leave out topology.preset"],
        ),
    ] {
        assert_has(&said(&[key]), &parts);
        assert_has(&said(&[key]), &["has no effect in this scenario"]);
    }
    assert_has(
        &said(&["flow.app=sessions", "flow.on=3 s", "flow.size=1 MB"]),
        &[
            "`flow.size` = \"1 MB\"",
            "where app is \"sessions\": it belongs to app = \"transfer\"",
        ],
    );
    let in_file = GOOD.replace("count = 2", "count = 2\nrate = \"1 Mbit/s\"");
    let message = plan(&in_file, &[]).map(drop).unwrap_err().to_string();
    assert_has(
        &message,
        &[
            "s.toml:",
            "`flow.rate` = \"1 Mbit/s\"",
            "leave it out, or choose that application",
        ],
    );
    assert!(plan(GOOD, &["flow.app=['greedy', 'transfer']", "flow.size=1 MB"]).is_ok());
    // What `--set` lays over a file leaves a key of the file without effect, which nobody can take out: a warning.
    let transfer = GOOD.replace("count = 2", "count = 2\napp = \"transfer\"\nsize = \"1 MB\"");
    let laid_over = plan(&transfer, &["flow.app=greedy"]).expect("good");
    assert_has(&laid_over.warnings.join("\n"), &["`flow.size` has no effect"]);
    let trace = format!(
        "trace = '{}/../../scenarios/traces/generated-lte.down'",
        env!("CARGO_MANIFEST_DIR")
    );
    let both = GOOD.replace("rate = \"2 Mbit/s\"", &format!("rate = \"2 Mbit/s\"\n{trace}"));
    let both = plan(&both, &[]).map(drop).unwrap_err().to_string();
    assert_has(
        &both,
        &[
            "`topology.bottleneck.rate` = \"2 Mbit/s\"",
            "where trace is ",
            "give one of the two",
        ],
    );
}
