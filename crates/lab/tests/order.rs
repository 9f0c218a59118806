//! What it means in which order the groups of a scenario are written, and whether there is one more: nothing.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use fadelab_scenario::{Options, parse};
use fadelab_sim::run;

/// What each flow and each shown link came to under one seed, and when its transfers and sessions began and ended.
type Said = BTreeMap<String, String>;

fn said(text: &str, seed: u64) -> Said {
    let sets = vec![format!("run.seeds={seed}"), "run.record=false".to_owned()];
    let options = Options {
        sets,
        ..Options::default()
    };
    let plan = parse(text.as_bytes(), "s.toml", Path::new(""), &options);
    let plan = plan.unwrap_or_else(|refusal| panic!("{refusal}\n{text}"));
    let spec = &plan.runs[0].spec;
    let record = run(spec, |_| true).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut said = Said::new();
    for (flow, counters) in spec.flows.iter().zip(&record.flows_end) {
        said.insert(flow.name.to_string(), format!("{counters:?}"));
    }
    for (id, counters) in record.link_ids.iter().zip(&record.links_end) {
        let link = &spec.network.links[*id as usize];
        said.insert(link.name.to_string(), format!("{:?} {counters:?}", link.buffer));
    }
    for ended in &record.completions {
        let entry = said.get_mut(&*spec.flows[ended.flow as usize].name);
        let entry = entry.expect("a flow that has counters");
        let _ = write!(entry, " {} to {}", ended.start_ns, ended.end_ns);
    }
    said
}

/// All orders of three.
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

/// A network, and groups that share it: in no order of the alphabet, with other round trips where they can have them;
/// two that begin at one instant at one node, where the order of flows alone decides.
fn networks() -> Vec<(&'static str, String, [&'static str; 3])> {
    let dumbbell = |law: &str| {
        format!(
            "[run]\nduration = '20 s'\n[topology.bottleneck]\nrate = '5 Mbit/s'\ndelay = '20 ms'\nbuffer = '0.5 BDP'\n\
             [channel]\nmodel = 'random'\nloss_data = 0.002\n[flow]\nlaw = '{law}'\ncount = 3\n"
        )
    };
    let groups = [
        "[flow.web]\napp = 'sessions'\non = 'exponential 1 s'\noff = 'exponential 1 s'\nstart = 'exponential 1 s'\n",
        "[flow.bulk]\ndirection = 'both'\n",
        "[flow.file]\napp = 'transfer'\nsize = '300 kB'\nstart = 'uniform 0 s..9 s'\n",
    ];
    let graph = "[run]\nduration = '20 s'\n[topology]\nnodes = ['a', 'b', 'c', 'd']\n\
                 [link.ab]\nfrom = 'a'\nto = 'b'\nrate = '9 Mbit/s'\ndelay = '5 ms'\n\
                 [link.bc]\nfrom = 'b'\nto = 'c'\nrate = '5 Mbit/s'\ndelay = '10 ms'\n\
                 [link.cd]\nfrom = 'c'\nto = 'd'\nrate = '9 Mbit/s'\ndelay = '30 ms'\n\
                 [flow]\nlaw = 'cubic'\ncount = 2\n";
    let routes = [
        "[flow.z]\nfrom = 'a'\nto = 'c'\nstart = '0 s'\n",
        "[flow.m]\nfrom = 'a'\nto = 'd'\nstart = '0 s'\n",
        "[flow.a]\nfrom = 'c'\nto = 'a'\nstart = 'uniform 0 s..1 s'\n",
    ];
    vec![
        ("ties", dumbbell("reno"), groups),
        (
            "hashed queues",
            dumbbell("reno+fq_codel") + "[router]\nqueues = 4\n",
            groups,
        ),
        (
            "own queues",
            dumbbell("cubic+fq_red") + "[router]\nqueues = 'per flow'\n",
            groups,
        ),
        ("round trips", graph.to_owned(), routes),
    ]
}

#[test]
fn groups_may_stand_in_any_order() {
    // Goal: whichever way the groups of a scenario are written, each flow by its name and each link comes to the same,
    // at ties, in hashed queues and with buffers in bandwidth-delay products too.
    for (what, network, groups) in networks() {
        let written = |order: &[usize; 3]| network.clone() + &order.map(|group| groups[group]).concat();
        let first = said(&written(&ORDERS[0]), 7);
        assert!(first.len() > 6, "{what}: {first:?}");
        for order in &ORDERS[1..] {
            let other = said(&written(order), 7);
            for (name, counters) in &first {
                assert_eq!(other.get(name), Some(counters), "{what}: {name} in the order {order:?}");
            }
            assert_eq!(first.len(), other.len(), "{what}");
        }
        assert_ne!(first, said(&written(&ORDERS[0]), 8), "{what}: the seed has no effect");
    }
}

#[test]
fn another_group_leaves_the_others_alone() {
    // Goal: a group that comes first by name and in the file, on links of its own with a longer round trip, changes no
    // counter of the others; one that shares their link changes none of their start times, and neither does the law.
    let (what, network, groups) = networks().pop().expect("the graph");
    let lone = "[flow.0]\nfrom = 'e'\nto = 'f'\nstart = 'exponential 1 s'\ncount = 3\n";
    let links = "[link.ef]\nfrom = 'e'\nto = 'f'\nrate = '3 Mbit/s'\ndelay = '100 ms'\n";
    let wide = network.replace("'d']", "'d', 'e', 'f']");
    let (flows, nets) = wide.split_at(wide.find("[flow]").expect("a section"));
    let before = said(&(network.clone() + &groups.concat()), 3);
    let after = said(&format!("{flows}{links}{nets}{lone}{}", groups.concat()), 3);
    for (name, counters) in &before {
        assert_eq!(after.get(name), Some(counters), "{what}: {name}");
    }
    assert_eq!(after.len(), before.len() + 3 + 1);

    let starts = |more: &str, law: &str| {
        let sets = vec![format!("flow.law={law}")];
        let options = Options {
            sets,
            ..Options::default()
        };
        let (_, network, groups) = networks().remove(0);
        let text = network + more + groups[2];
        let plan = parse(text.as_bytes(), "s.toml", Path::new(""), &options).expect("a good scenario");
        let spec = &plan.runs[0].spec;
        let record = run(spec, |_| true).expect("a sound run");
        let starts = record
            .completions
            .iter()
            .map(|ended| (spec.flows[ended.flow as usize].name.to_string(), ended.start_ns));
        starts
            .filter(|(name, _)| name.starts_with("file"))
            .collect::<BTreeMap<_, _>>()
    };
    let alone = starts("", "reno");
    assert_eq!(alone.len(), 3);
    assert_eq!(alone, starts("[flow.a]\nstart = 'uniform 0 s..1 s'\n", "reno"));
    assert_eq!(alone, starts("", "cubic"));
}
