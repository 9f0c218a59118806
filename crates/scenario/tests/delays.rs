//! Flows of a row of links with a round trip of their own.

use std::path::Path;

use fadelab_scenario::plan::Plan;
use fadelab_scenario::{Options, parse};

const LINK: &str = "[run]\nduration = '60 s'\n[topology.bottleneck]\nrate = '10 Mbit/s'\ndelay = '20 ms'\n\
                    buffer = '1 BDP'\n[flow]\nlaw = 'reno'\n";

fn read(text: &str) -> Result<Plan, String> {
    parse(text.as_bytes(), "s.toml", Path::new(""), &Options::default()).map_err(|refusal| refusal.to_string())
}

/// Group and round trip of propagation of each flow in milliseconds.
fn round_trips(plan: &Plan) -> Vec<(&str, u64)> {
    let spec = &plan.runs[0].spec;
    let delay = |&link: &u32| spec.network.links[link as usize].delay_ns;
    let flows = spec.flows.iter();
    flows
        .map(|flow| {
            (
                &*flow.group,
                flow.route.iter().chain(&flow.route_back).map(delay).sum::<u64>() / 1_000_000,
            )
        })
        .collect()
}

#[test]
fn a_group_has_its_own_round_trip() {
    // Goal: of flows over one link of 20 ms those without the key have 2 x 20 + 4 x 8 ms, and those with 30 ms at their
    // access links 2 x 20 + 4 x 30; the buffer is a product of the longest, and the resolved scenario says it again.
    let plan = read(&format!("{LINK}[flow.near]\ncount = 2\n[flow.far]\ndelay = '30 ms'\n")).unwrap();
    assert_eq!(round_trips(&plan), [("near", 72), ("near", 72), ("far", 160)]);
    // 10 Mbit/s x 160 ms / 8 / 1500 B
    assert_eq!(plan.runs[0].spec.network.links[0].buffer.packets, Some(133));
    assert_eq!(round_trips(&read(&plan.text).unwrap()), round_trips(&plan));
}

#[test]
fn a_delay_can_be_swept() {
    // Goal: unequal round trips are a sweep like any other key.
    let plan = read(&format!("{LINK}[flow.near]\n[flow.far]\ndelay = ['8 ms', '88 ms']\n")).unwrap();
    assert_eq!(plan.runs.len(), 2);
    assert_eq!(plan.runs[1].point, [("flow.far.delay".to_owned(), "88 ms".to_owned())]);
}

#[test]
fn a_delay_that_nothing_has_is_refused() {
    // Goal: in a graph flows have no access links, and flows that share hosts share these links: one line says so.
    let graph = "[topology]\nnodes = ['a', 'b']\n[link.ab]\nfrom = 'a'\nto = 'b'\nrate = '1 Mbit/s'\n\
                 delay = '1 ms'\n[flow]\nlaw = 'reno'\nfrom = 'a'\nto = 'b'\ndelay = '1 ms'\n";
    let refused = read(&format!("[run]\nduration = '1 s'\n{graph}")).unwrap_err();
    assert!(
        refused.contains("delay") && refused.contains("a row of links"),
        "{refused}"
    );
    let shared = LINK.replace("[topology.bottleneck]", "[topology]\npairs = 2\n[topology.bottleneck]");
    let refused = read(&format!("{shared}[flow.far]\ndelay = '30 ms'\n")).unwrap_err();
    assert!(
        refused.contains("flow.far.delay") && refused.contains("topology.pairs"),
        "{refused}"
    );
}
