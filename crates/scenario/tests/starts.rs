//! When flows start of which the scenario does not say it.

use std::path::Path;

use fadelab_run::app::{App, Span};
use fadelab_scenario::plan::Plan;
use fadelab_scenario::{Options, parse};

const LINK: &str = "[run]\nduration = '60 s'\n[topology.bottleneck]\nrate = '10 Mbit/s'\ndelay = '20 ms'\n";

fn plan(text: &str) -> Plan {
    parse(text.as_bytes(), "s.toml", Path::new(""), &Options::default()).unwrap()
}

/// Group and latest start of each flow in milliseconds; 0 is at once.
fn latest_ms(plan: &Plan) -> Vec<(String, u64)> {
    let of = |app: &App| match *app {
        App::Greedy {
            start: Span::Uniform { min_ns: 0, max_ns },
        } => max_ns,
        App::Greedy {
            start: Span::Fixed { ns },
        } => ns,
        ref other => panic!("{other:?}"),
    };
    let flows = plan.runs[0].spec.flows.iter();
    flows
        .map(|flow| (flow.group.clone(), of(&flow.app) / 1_000_000))
        .collect()
}

fn starts(flows: &str) -> Vec<(String, u64)> {
    latest_ms(&plan(&format!("{LINK}{flows}")))
}

fn named(expected: &[(&str, u64)]) -> Vec<(String, u64)> {
    expected.iter().map(|&(name, ms)| (name.to_owned(), ms)).collect()
}

#[test]
fn greedy_flows_on_one_link_start_within_a_round_trip() {
    // Goal: two greedy flows of one group, or of two, begin at random within 2 x 20 ms + 4 x 8 ms; one alone at once,
    // and so do flows that cross the link in opposite directions; what is written is kept.
    let both = named(&[("flow", 72), ("flow", 72)]);
    assert_eq!(starts("[flow]\nlaw = 'reno'\ncount = 2\n"), both);
    assert_eq!(starts("[flow]\nlaw = 'reno'\n"), named(&[("flow", 0)]));
    let mixture = "[flow.c]\nlaw = 'cubic'\n[flow.v]\nlaw = 'vcp'\n";
    assert_eq!(starts(mixture), named(&[("c", 72), ("v", 72)]));
    let opposite = "[flow]\nlaw = 'reno'\ndirection = 'both'\n";
    assert_eq!(starts(opposite), named(&[("flow", 0), ("flow.back", 0)]));
    let written = "[flow]\nlaw = 'reno'\n[flow.a]\nstart = '3 s'\n[flow.b]\n";
    assert_eq!(starts(written), named(&[("a", 3_000), ("b", 0)]));
    assert_eq!(
        starts("[flow]\nlaw = 'reno'\ncount = 2\nstart = '0 s'\n"),
        named(&[("flow", 0), ("flow", 0)])
    );
}

#[test]
fn only_greedy_flows_count() {
    // Goal: a call beside a greedy flow, or a transfer, leaves both at once: they keep step with nothing.
    let text = "[flow]\nlaw = 'reno'\n[flow.a]\n[flow.b]\napp = 'transfer'\nsize = '1 MB'\n";
    let plan = plan(&format!("{LINK}{text}"));
    let at_once = Span::Fixed { ns: 0 };
    assert_eq!(plan.runs[0].spec.flows[0].app, App::Greedy { start: at_once });
    assert_eq!(
        plan.runs[0].spec.flows[1].app,
        App::Transfer {
            start: at_once,
            bytes: 1_000_000
        }
    );
}

#[test]
fn hops_of_a_parking_lot_count_for_themselves() {
    // Goal: of flows on different hops none shares a link; a long one beside them does with each, over its own longer
    // round trip.
    let lot = "[run]\nduration = '60 s'\n[topology]\npreset = 'parking-lot'\nhops = ['4 Mbit/s', '2 Mbit/s']\n\
               [topology.hop]\ndelay = '10 ms'\n[flow]\nlaw = 'reno'\n";
    let apart = format!("{lot}[flow.a]\npath = 'each'\n");
    assert_eq!(latest_ms(&plan(&apart)), named(&[("a.hop1", 0), ("a.hop2", 0)]));
    let beside = format!("{apart}[flow.long]\n");
    assert_eq!(
        latest_ms(&plan(&beside)),
        named(&[("a.hop1", 52), ("a.hop2", 52), ("long", 72)])
    );
}

#[test]
fn routes_of_a_graph_share_links_by_direction() {
    // Goal: in a graph two flows from different nodes that meet on one link start at random, each within the delays of
    // its own route; one that comes towards them does not.
    let graph = "[run]\nduration = '60 s'\n[flow]\nlaw = 'reno'\nto = 'd'\n[flow.a]\nfrom = 'a'\n[flow.b]\nfrom = 'b'\n\
                 [flow.d]\nfrom = 'd'\nto = 'a'\n";
    let link = |from: &str, to: &str, ms: u32| {
        format!("[link.{from}{to}]\nfrom = '{from}'\nto = '{to}'\nrate = '1 Mbit/s'\ndelay = '{ms} ms'\n")
    };
    let links = [link("a", "c", 1), link("b", "c", 2), link("c", "d", 10)].concat();
    let plan = plan(&format!("{graph}{links}"));
    assert_eq!(latest_ms(&plan), named(&[("a", 22), ("b", 24), ("d", 0)]));
}

#[test]
fn what_was_filled_in_is_written_out() {
    // Goal: the resolved scenario says when flows start, and read again it is the same plan; where the round trip is
    // swept each point has its own.
    let text = "[flow]\nlaw = 'reno'\ncount = 2\n";
    let first = plan(&format!("{LINK}{text}"));
    assert!(first.text.contains("start = \"uniform 0 s..72 ms\""), "{}", first.text);
    assert_eq!(latest_ms(&plan(&first.text)), latest_ms(&first));
    let swept = plan(&format!("{LINK}{text}").replace("'20 ms'", "['20 ms', '50 ms']"));
    let again = plan(&swept.text);
    let ends = |plan: &Plan| -> Vec<App> { plan.runs.iter().map(|run| run.spec.flows[0].app).collect() };
    assert_eq!(ends(&again), ends(&swept));
    assert_ne!(ends(&swept)[0], ends(&swept)[1]);
}
