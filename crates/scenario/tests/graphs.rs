//! Networks of nodes and links: what they amount to, and what is wrong with them.

use std::path::Path;

use fadelab_path::spec::CapacitySpec;
use fadelab_run::spec::RunSpec;
use fadelab_scenario::plan::Plan;
use fadelab_scenario::{Options, Refusal, parse};

fn parsed(text: &str, sets: &[&str]) -> Result<Plan, Refusal> {
    let sets = sets.iter().map(|set| (*set).to_owned()).collect();
    let options = Options {
        sets,
        ..Options::default()
    };
    parse(text.as_bytes(), "s.toml", Path::new(""), &options)
}

fn plan_with(text: &str, sets: &[&str]) -> Plan {
    parsed(text, sets).unwrap_or_else(|refusal| panic!("{refusal}\n{text}"))
}

fn plan(text: &str) -> Plan {
    plan_with(text, &[])
}

/// A plan as text, to compare two of them.
fn said(plan: &Plan) -> String {
    format!(
        "{} {:?} {:?} {:?}",
        plan.title, plan.sweep_keys, plan.warnings, plan.runs
    )
}

fn names(spec: &RunSpec, route: &[u32]) -> Vec<String> {
    route
        .iter()
        .map(|link| spec.network.links[*link as usize].name.to_string())
        .collect()
}

fn assert_has(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "`{part}` is missing in: {message}");
    }
    assert!(!message.contains('\n'), "more than one line: {message}");
}

const GRAPH: &str = r#"
[topology]
nodes = ["server", "router", "phone", "spare"]
[link.wire]
from = "server"
to = "router"
rate = "10 Mbit/s"
delay = "5 ms"
router = "red"
[link.air]
from = "router"
to = "phone"
rate = "2 Mbit/s"
rate_back = "100 kbit/s"
delay = "20 ms"
channel = "cell"
[link.side]
from = "spare"
to = "router"
rate = "1 Mbit/s"
delay = "1 ms"
channel = false
show = false
[channel]
antennas = "2x2"
snr = "30 dB"
code = {data = 0.9, ack = 0.5}
[channel.cell]
model = "random"
loss_data = 0.01
[flow]
law = "reno"
[flow.down]
from = "server"
to = "phone"
count = 2
[flow.up]
from = "phone"
to = "spare"
direction = "both"
"#;

#[test]
fn a_graph_is_what_its_tables_say() {
    // Goal: each link has its own rate, channel and router, flows of one node share its link, and tables show the links
    // that carry data unless they say otherwise.
    let plan = plan_with(GRAPH, &["run.seeds=1..2"]);
    assert_eq!(plan.warnings, Vec::<String>::new());
    let spec = &plan.runs[0].spec;
    let links: Vec<(&str, bool, &str)> = spec
        .network
        .links
        .iter()
        .map(|link| (link.name.as_ref(), link.shown, link.router.law.name()))
        .collect();
    let expected = [
        ("wire", true, "red"),
        ("wire.back", false, "red"),
        ("air", true, "droptail"),
        ("air.back", true, "droptail"),
        ("side", false, "droptail"),
        ("side.back", false, "droptail"),
    ];
    assert_eq!(links, expected);
    let models: Vec<String> = spec
        .network
        .links
        .iter()
        .map(|link| format!("{:?}", link.channel))
        .collect();
    assert!(
        models[0].contains("GilbertElliott") && models[2].contains("Random"),
        "{models:?}"
    );
    assert_eq!(
        (models[1] == models[0], models[3] == models[2], models[4].as_str()),
        (true, true, "None")
    );
    assert!(matches!(
        spec.network.links[3].capacity,
        CapacitySpec::Constant { rate_bps: 100_000 }
    ));
    let routes: Vec<String> = spec
        .flows
        .iter()
        .map(|flow| {
            format!(
                "{}: {} / {}",
                flow.name,
                names(spec, &flow.route).join(" "),
                names(spec, &flow.route_back).join(" ")
            )
        })
        .collect();
    let expected = [
        "down.1: wire air / air.back wire.back",
        "down.2: wire air / air.back wire.back",
        "up.1: air.back side.back / side air",
        "up.back.1: side air / air.back side.back",
    ];
    assert_eq!(routes, expected);
    // 2 Mbit/s times twice 25 ms over 8 x 1500 bytes is 8.3.
    assert_eq!(spec.network.links[2].buffer.packets, Some(8));
}

#[test]
fn a_graph_can_be_swept_and_resolves() {
    // Goal: --set and lists work on every key of links, and the resolved form of a graph is the same graph.
    let sets = [
        "link.air.rate=[\"1 Mbit/s\", \"2 Mbit/s\"]",
        "channel.cell.loss_data=[0.01, 0.02]",
        "link.wire.delay=9 ms",
    ];
    let first = plan_with(GRAPH, &sets);
    assert_eq!(first.sweep_keys, ["link.air.rate", "channel.cell.loss_data"]);
    assert_eq!(first.runs[0].spec.network.links[0].delay_ns, 9_000_000);
    let again = plan(&first.text);
    assert!(said(&again) == said(&first), "{}", first.text);
    assert_eq!(again.text, first.text);
}

#[test]
fn odd_graphs_are_warned_of() {
    // Goal: nodes without links, links without flows and a law whose router stands on no link are pointed out.
    let warned = |sets: &[&str], part: &str| {
        let warnings = plan_with(GRAPH, sets).warnings;
        assert!(
            warnings.iter().any(|warning| warning.contains(part)),
            "`{part}` is missing in {warnings:?}"
        );
    };
    warned(
        &["topology.nodes=[\"server\", \"router\", \"phone\", \"spare\", \"moon\"]"],
        "node `moon`",
    );
    warned(
        &["flow.up.from=server", "flow.up.to=phone"],
        "no flow crosses link `side`",
    );
    warned(&["flow.law=vcp+droptail"], "works only with router `vcp`");
    warned(&["channel.odd.snr=3 dB"], "`channel.odd.snr` has no effect");
    assert!(
        !plan_with(GRAPH, &["flow.law=vcp+droptail", "link.air.router=vcp"])
            .warnings
            .iter()
            .any(|w| w.contains("works only"))
    );
}

const SMALL: &str = r#"
[run]
seeds = "1..2"

[topology]
nodes = ["server", "router", "phone"]

[link.wire]
from = "server"
to = "router"
rate = "10 Mbit/s"
delay = "5 ms"

[link.air]
from = "router"
to = "phone"
rate = "2 Mbit/s"
delay = "20 ms"
channel = "cell"

[channel.cell]
model = "random"
loss_data = 0.01

[flow]
law = "reno"
from = "server"
to = "phone"
"#;

/// What `SMALL` is refused with once `line` is replaced by `other`.
fn refused(line: &str, other: &str) -> String {
    assert!(SMALL.contains(line), "{line} is not in the scenario");
    let text = SMALL.replacen(line, other, 1);
    parsed(&text, &[]).map(drop).expect_err(other).to_string()
}

/// A line, what replaces it, and what the refusal must say.
type Case<'a> = (&'a str, &'a str, &'a [&'a str]);

fn assert_refused(cases: &[Case]) {
    parsed(SMALL, &[]).unwrap();
    for (line, other, parts) in cases {
        assert_has(&refused(line, other), parts);
    }
}

#[test]
fn nodes_are_checked() {
    // Goal: a graph names its nodes, each once, and every end of a link is one of them.
    let (list, to) = (r#"nodes = ["server", "router", "phone"]"#, r#"to = "router""#);
    assert_refused(&[
        (list, r#"preset = "graph""#, &["`topology.nodes` is missing"]),
        (list, r#"nodes = ["server"]"#, &["topology.nodes", "2 to 1000"]),
        (list, r#"nodes = ["a", "a"]"#, &["`a` stands twice"]),
        (list, r#"nodes = ["a", "b c"]"#, &["`b c` cannot be a name"]),
        (list, r#"nodes = ["a", 7]"#, &["topology.nodes = 7", "a string"]),
        (
            to,
            r#"to = "ruoter""#,
            &[
                "s.toml:10: link.wire.to = \"ruoter\"",
                "server, router or phone",
                "did you mean `router`?",
            ],
        ),
    ]);
}

#[test]
fn links_are_checked() {
    // Goal: a link joins two nodes that no other joins, under a name, with a channel and a router that exist.
    let (from, to) = (r#"from = "server""#, r#"to = "router""#);
    let (far, air) = ("to = \"phone\"\nrate", r#"channel = "cell""#);
    assert_refused(&[
        (from, "", &["`link.wire.from` is missing", "server, router or phone"]),
        (to, r#"to = "server""#, &["link.wire.to", "ends where it begins"]),
        (
            far,
            "to = \"server\"\nrate",
            &["link.air.to", "link `wire` joins the same nodes already"],
        ),
        (
            air,
            r#"channel = "sell""#,
            &["link.air.channel", "no [channel.sell]", "did you mean `cell`?"],
        ),
        (
            air,
            r#"router = "rde""#,
            &["link.air.router", "unknown router `rde`", "did you mean `red`?"],
        ),
        (
            "loss_data = 0.01",
            "loss_data = 1.01",
            &["channel.cell.loss_data = 1.01", "0 to 1"],
        ),
        (
            "loss_data",
            "los_data",
            &["channel.cell.los_data", "did you mean `loss_data`?"],
        ),
        (
            r#"rate = "2 Mbit/s""#,
            r#"rate = "0 bit/s""#,
            &["link.air.rate", "greater than zero"],
        ),
        ("[link.wire]", r#"[link."a b"]"#, &["`a b` cannot be a name here"]),
    ]);
}

#[test]
fn routes_are_checked() {
    // Goal: a flow runs between two nodes that links connect both ways, over stops that exist.
    let law = r#"law = "reno""#;
    let from = "law = \"reno\"\nfrom = \"server\"";
    let wire = "[link.wire]\nfrom = \"server\"\nto = \"router\"";
    assert_refused(&[
        (from, law, &["`flow.from` is missing"]),
        (
            from,
            "law = \"reno\"\nfrom = \"sever\"",
            &["flow.from = \"sever\"", "`server`?"],
        ),
        (
            from,
            "law = \"reno\"\nfrom = \"phone\"",
            &["flow.to", "ends where it begins"],
        ),
        (law, "law = \"reno\"\nvia = [\"moon\"]", &["flow.via", "no node `moon`"]),
        (
            law,
            "law = \"reno\"\nvia = [\"router\", \"server\"]",
            &["flow.to", "cross link `wire` twice"],
        ),
        (
            wire,
            &format!("{wire}\nduplex = false"),
            &["flow.to", "no route from node `phone` to node `server`"],
        ),
    ]);
    let apart = SMALL.replace("nodes = [", r#"nodes = ["a", "b", "#);
    let apart = apart.replace(wire, "[link.wire]\nfrom = \"a\"\nto = \"b\"");
    let refusal = parsed(&apart, &[]).map(drop).unwrap_err().to_string();
    assert_has(&refusal, &["no route from node `server` to node `phone`"]);
}
