//! Fair queues, ARQ, jitter and reordering as scenarios name them.

use std::path::Path;

use fadelab_path::layer::{Arq, DelayLaw, Jitter, Reorder};
use fadelab_path::spec::{LinkSpec, Queues};
use fadelab_scenario::plan::Plan;
use fadelab_scenario::{Options, Refusal, parse};

const MS: u64 = 1_000_000;

const NETWORK: &str = "[run]\nseeds = \"1..2\"\n[topology.bottleneck]\nrate = \"20 Mbit/s\"\ndelay = \"10 ms\"\n";

fn read(rest: &str) -> Result<Plan, Refusal> {
    let text = format!("{NETWORK}{rest}");
    parse(text.as_bytes(), "s.toml", Path::new(""), &Options::default())
}

fn plan(rest: &str) -> Plan {
    read(rest).unwrap_or_else(|refusal| panic!("{refusal}\n{rest}"))
}

/// The bottleneck of the first run.
fn bottleneck(rest: &str) -> LinkSpec {
    plan(rest).runs[0].spec.network.links[0].link.clone()
}

fn refused(rest: &str) -> String {
    read(rest).map(drop).expect_err(rest).to_string()
}

const RENO: &str = "[flow]\nlaw = \"reno\"\n";

#[test]
fn a_router_named_fq_stands_in_fair_queues() {
    // Goal: fq_codel is CoDel in 1024 queues with a quantum of 1514 bytes on the hops and nowhere else; the key divides
    // any other law's queue; both survive the resolved form.
    let fair = |hashed, quantum_bytes| Queues::Fair { hashed, quantum_bytes };
    let cases = [
        ("[flow]\nlaw = \"reno+fq_codel\"\n", "codel", fair(Some(1024), 1514)),
        ("[flow]\nlaw = \"reno+codel\"\n", "codel", Queues::One),
        (
            "[router]\nqueues = \"per flow\"\nquantum = \"300 B\"\n[flow]\nlaw = \"reno+red\"\n",
            "red",
            fair(None, 300),
        ),
        (
            "[router]\nqueues = 8\n[flow]\nlaw = \"cubic\"\n",
            "droptail",
            fair(Some(8), 1514),
        ),
        (
            "[router]\nqueues = \"per flow\"\n[flow]\nlaw = \"reno+fq_codel\"\n",
            "codel",
            fair(None, 1514),
        ),
    ];
    for (rest, law, queues) in cases {
        let plan = plan(rest);
        let links = &plan.runs[0].spec.network.links;
        assert_eq!((links[0].router.law.name(), links[0].queues), (law, queues), "{rest}");
        assert_eq!(links[1].queues, queues, "the way back");
        assert!(links[2..].iter().all(|access| access.queues == Queues::One));
        assert_eq!(plan.warnings, Vec::<String>::new());
        let again = parse(plan.text.as_bytes(), "s.toml", Path::new(""), &Options::default()).expect("resolved");
        assert_eq!(format!("{:?}", again.runs), format!("{:?}", plan.runs), "{}", plan.text);
    }
    let graph = "topology.nodes = ['a', 'b', 'c']\n\
                 link.x = {from = 'a', to = 'b', rate = '1 Mbit/s', delay = '1 ms', router = 'fq_droptail'}\n\
                 link.y = {from = 'b', to = 'c', rate = '1 Mbit/s', delay = '1 ms'}\n\
                 flow = {law = 'reno', from = 'a', to = 'c'}\n";
    let graph = parse(graph.as_bytes(), "s.toml", Path::new(""), &Options::default()).expect("a graph");
    let queues: Vec<Queues> = graph.runs[0]
        .spec
        .network
        .links
        .iter()
        .map(|link| link.queues)
        .collect();
    assert_eq!(
        queues,
        [fair(Some(1024), 1514), fair(Some(1024), 1514), Queues::One, Queues::One]
    );
}

#[test]
fn codel_marks_where_the_sender_asks() {
    // Goal: ECN is on by itself with CoDel, alone and in fair queues, as with RED and REM.
    for (law, ecn) in [
        ("reno", false),
        ("reno+codel", true),
        ("reno+fq_codel", true),
        ("reno+fq_droptail", false),
    ] {
        let plan = plan(&format!("[flow]\nlaw = \"{law}\"\n"));
        assert_eq!(plan.runs[0].spec.flows[0].transport.ecn, ecn, "{law}");
    }
}

#[test]
fn what_means_nothing_in_fair_queues_is_refused() {
    // Goal: laws that divide the rate of a link, and a contradiction between name and key, are refused with what would
    // do; so are a quantum and a number out of range, and unknown names.
    for (rest, says) in [
        (
            "[router]\nqueues = \"per flow\"\n[flow]\nlaw = \"vcp\"\n",
            "fair queues take droptail, red",
        ),
        (
            "[flow]\nlaw = \"xcp+fq_xcp\"\n",
            "router xcp measures and divides the rate of the whole link",
        ),
        (
            "[router]\nqueues = 4\n[flow]\nlaw = \"reno+rem\"\n",
            "router.queues = 4: router rem",
        ),
        (
            "[router]\nqueues = \"one\"\n[flow]\nlaw = \"reno+fq_codel\"\n",
            "the router `codel`",
        ),
        (
            "[router]\nqueues = 0\n[flow]\nlaw = \"reno\"\n",
            "\"per flow\", or a number of hashed queues from 1 to 65536",
        ),
        (
            "[router]\nqueues = 2\nquantum = \"63 B\"\n[flow]\nlaw = \"reno\"\n",
            "allowed is \"64 B\" to \"1 MB\"",
        ),
        ("[flow]\nlaw = \"reno+fq_codle\"\n", "unknown router `fq_codle`"),
        ("[flow]\nlaw = \"reno+fq_codle\"\n", "did you mean `codel`"),
    ] {
        let message = refused(rest);
        assert!(message.contains(says), "{rest}: {message}");
    }
}

#[test]
fn presets_and_values_of_the_link_layer() {
    // Goal: presets give the values of their sources, each may be overridden, values alone do too, one try is no ARQ,
    // and all survive the resolved form. The way back has the same, access links have nothing.
    let arq = |tries_max, retry_ms, in_order| {
        Some(Arq {
            tries_max,
            retry_ns: retry_ms * MS,
            in_order,
        })
    };
    let lossy = "[channel]\nmodel = \"random\"\nloss_data = 0.1\n";
    for (keys, expected) in [
        ("preset = \"lte-harq\"", arq(Some(5), 7, true)),
        ("preset = \"lte-rlc-am\"", arq(Some(5), 45, true)),
        ("preset = \"wifi\"", arq(Some(7), 0, true)),
        ("preset = \"wifi\"\ntries = 4\nin_order = false", arq(Some(4), 0, false)),
        ("tries = \"unlimited\"\nretry = \"30 ms\"", arq(None, 30, true)),
        ("preset = \"lte-harq\"\ntries = 1", None),
    ] {
        let plan = plan(&format!("{lossy}[channel.arq]\n{keys}\n{RENO}"));
        assert_eq!(plan.warnings, Vec::<String>::new(), "{keys}");
        let links = &plan.runs[0].spec.network.links;
        assert_eq!(
            (links[0].layer.arq, links[1].layer.arq, links[2].layer.arq),
            (expected, expected, None),
            "{keys}"
        );
        let again = parse(plan.text.as_bytes(), "s.toml", Path::new(""), &Options::default()).expect("resolved");
        assert_eq!(format!("{:?}", again.runs), format!("{:?}", plan.runs), "{}", plan.text);
    }
}

#[test]
fn presets_and_values_of_jitter_and_reordering() {
    // Goal: as for ARQ; and neither needs a channel.
    let uniform = |max_ms| DelayLaw::Uniform {
        min_ns: 0,
        max_ns: max_ms * MS,
    };
    let normal = DelayLaw::Normal {
        mean_ns: 5 * MS,
        sd_ns: 2 * MS,
    };
    for (keys, delay, in_order) in [
        ("preset = \"lte-uplink\"", uniform(10), true),
        ("preset = \"nr-tdd\"\nin_order = false", uniform(5), false),
        ("delay = \"normal 5 ms +- 2 ms\"", normal, true),
        (
            "delay = \"exponential 3 ms\"",
            DelayLaw::Exponential { mean_ns: 3 * MS },
            true,
        ),
    ] {
        let link = bottleneck(&format!("[channel.jitter]\n{keys}\n{RENO}"));
        assert!(link.channel.is_none(), "jitter alone is no channel");
        assert_eq!(link.layer.jitter, Some(Jitter { delay, in_order }), "{keys}");
    }
    for (keys, probability, delay_ms, gap_pkts) in [
        ("preset = \"internet\"", 0.003, 20, Some(1)),
        ("probability = 0.02\ndelay = \"4 ms\"", 0.02, 4, None),
        (
            "probability = 0.02\ndelay = \"4 ms\"\ngap = \"3 pkt\"",
            0.02,
            4,
            Some(3),
        ),
    ] {
        let found = bottleneck(&format!("[channel.reorder]\n{keys}\n{RENO}")).layer.reorder;
        let delay_ns = delay_ms * MS;
        let expected = Reorder {
            probability,
            delay_ns,
            gap_pkts,
        };
        assert_eq!(found, Some(expected), "{keys}");
    }
}

#[test]
fn a_link_has_the_layer_of_its_channel() {
    // Goal: in a graph, links take ARQ from the channel that they name, and a wire has none.
    let text = "topology.nodes = ['a', 'b', 'c', 'd']\n\
                flow = {law = 'reno', from = 'a', to = 'd'}\n\
                link.x = {from = 'a', to = 'b', rate = '1 Mbit/s', delay = '1 ms', channel = true}\n\
                link.y = {from = 'b', to = 'c', rate = '1 Mbit/s', delay = '1 ms', channel = 'sat'}\n\
                link.z = {from = 'c', to = 'd', rate = '1 Mbit/s', delay = '1 ms', channel = false}\n\
                [channel]\nmodel = 'random'\nloss_data = 0.1\narq.preset = 'wifi'\n\
                [channel.sat]\nmodel = 'random'\nloss_data = 0.2\narq = {tries = 2, retry = '500 ms'}\n";
    let plan =
        parse(text.as_bytes(), "s.toml", Path::new(""), &Options::default()).unwrap_or_else(|why| panic!("{why}"));
    let links = &plan.runs[0].spec.network.links;
    let retries: Vec<_> = [0, 2, 4]
        .map(|link: usize| links[link].layer.arq.map(|arq| arq.retry_ns))
        .into();
    assert_eq!(retries, [Some(0), Some(500 * MS), None]);
}

#[test]
fn mistakes_in_the_link_layer_are_answered() {
    // Goal: missing and impossible values are refused with the key and what is allowed; ARQ without losses is warned
    // of.
    for (keys, says) in [
        ("[channel.arq]\n", "`channel.arq.tries` is missing"),
        ("[channel.arq]\ntries = 3\n", "`channel.arq.retry` is missing"),
        (
            "[channel.arq]\ntries = 0\nretry = \"1 ms\"\n",
            "a number of tries from 1 to 1000 is needed, or \"unlimited\"",
        ),
        (
            "[channel.arq]\npreset = \"lte\"\n",
            "allowed is none, lte-harq, lte-rlc-am or wifi",
        ),
        ("[channel.arq]\ntreis = 3\n", "unknown key `channel.arq.treis`"),
        ("[channel.jitter]\n", "`channel.jitter.delay` is missing"),
        (
            "[channel.jitter]\ndelay = \"5 ms\"\n",
            "a random delay is written as \"uniform 0 ms..8 ms\"",
        ),
        (
            "[channel.jitter]\ndelay = \"uniform 8 ms..0 ms\"\n",
            "an upper end that is not below its lower end",
        ),
        ("[channel.jitter]\ndelay = \"normal 5 ms\"\n", "\"normal 5 ms +- 2 ms\""),
        ("[channel.jitter]\ndelay = \"exponential 2000 s\"\n", "up to 1000 s"),
        (
            "[channel.reorder]\nprobability = 1.5\ndelay = \"1 ms\"\n",
            "a probability, 0 to 1",
        ),
        (
            "[channel.reorder]\nprobability = 0.1\ndelay = \"1 ms\"\ngap = \"0 pkt\"\n",
            "at least \"1 pkt\"",
        ),
    ] {
        let message = refused(&format!("{keys}{RENO}"));
        assert!(message.contains(says), "{keys}: {message}");
    }
    let warned = plan(&format!("[channel.arq]\npreset = \"wifi\"\n{RENO}")).warnings;
    assert!(
        warned.len() == 1 && warned[0].contains("[channel.arq] has nothing to repeat"),
        "{warned:?}"
    );
}
