//! What good scenarios amount to: networks, sweeps, defaults, and a resolved form that says the same.

#[path = "plan/mod.rs"]
mod text;

use std::path::{Path, PathBuf};

use fadelab_path::spec::{Buffer, CapacitySpec};
use fadelab_run::app::{App, Span};
use fadelab_run::spec::RunSpec;
use fadelab_scenario::plan::Plan;
use fadelab_scenario::{Options, load, parse};
use proptest::prelude::*;
use text::plan_with;

fn plan(text: &str) -> Plan {
    plan_with(text, &[])
}

fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

fn shipped(name: &str) -> Plan {
    load(&scenarios().join(name), &Options::default()).unwrap_or_else(|refusal| panic!("{refusal}"))
}

/// A plan as text, to compare two of them: everything but the resolved form's place for relative traces.
fn said(plan: &Plan) -> String {
    format!(
        "{} {} {:?} {:?} {:?}",
        plan.title, plan.about, plan.sweep_keys, plan.warnings, plan.runs
    )
}

fn names(spec: &RunSpec, route: &[u32]) -> Vec<String> {
    let name = |link: &u32| spec.network.links[*link as usize].name.to_string();
    route.iter().map(name).collect()
}

const PLAIN: &str = "[topology.bottleneck]\nrate = \"2 Mbit/s\"\ndelay = \"500 ms\"\n[flow]\nlaw = \"reno\"\n";

#[test]
fn every_shipped_scenario_is_good_and_resolves() {
    // Goal: each file in scenarios/ gives a plan without warnings, and its resolved form gives the same plan.
    let mut count = 0;
    for entry in std::fs::read_dir(scenarios()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        count += 1;
        let name = path.display().to_string();
        let plan = load(&path, &Options::default()).unwrap_or_else(|refusal| panic!("{refusal}"));
        assert_eq!(plan.warnings, Vec::<String>::new(), "{name}");
        assert!(
            std::fs::read_to_string(&path).unwrap().starts_with("# Shows "),
            "{name} says what it shows"
        );
        let again = parse(plan.text.as_bytes(), &name, path.parent().unwrap(), &Options::default());
        let again = again.unwrap_or_else(|refusal| panic!("{refusal}\n{}", plan.text));
        assert!(
            said(&again) == said(&plan),
            "{name} resolves to another plan:\n{}",
            plan.text
        );
        assert_eq!(again.text, plan.text, "{name}");
    }
    assert!(count >= 7, "{count} scenarios");
}

#[test]
fn the_satellite_scenario_is_figure_3() {
    // Goal: laws, seeds, links, channel and flows are those of figure 3 of the VCP paper.
    let plan = shipped("satellite.toml");
    assert_eq!(plan.runs.len(), 30);
    assert_eq!(plan.sweep_keys, ["flow.law", "run.seeds"]);
    let laws: Vec<_> = plan
        .runs
        .iter()
        .step_by(10)
        .map(|run| (run.law_label.as_str(), run.law_order))
        .collect();
    assert_eq!(laws, [("vcp", 0), ("xcp", 1), ("reno+rem", 2)]);
    for ((index, run), seed) in plan.runs.iter().enumerate().zip((1..=10).cycle()) {
        assert_eq!((run.index as usize, run.seed, run.spec.seed), (index, seed, seed));
        assert_eq!(run.point, []);
        let spec = &run.spec;
        assert_eq!((spec.duration_ns, spec.warmup_ns), (1_000_000_000_000, 10_000_000_000));
        let link = &spec.network.links[0];
        assert_eq!((link.name.as_ref(), link.delay_ns), ("bottleneck", 500_000_000));
        assert!(matches!(link.capacity, CapacitySpec::Constant { rate_bps: 2_000_000 }));
        // 2 Mbit/s times 1.032 s over 8 x 1118 bytes on the air is 230.8.
        assert_eq!(
            link.buffer,
            Buffer {
                packets: Some(231),
                bytes: None
            }
        );
        assert_eq!(link.channel, spec.network.links[1].channel);
        assert!(
            spec.network.links[2..]
                .iter()
                .all(|access| access.channel.is_none() && !access.shown)
        );
        assert_eq!(spec.flows.len(), 10);
        for flow in &spec.flows {
            assert_eq!(
                flow.app,
                App::Greedy {
                    start: Span::Uniform {
                        min_ns: 0,
                        max_ns: 10_000_000_000
                    }
                }
            );
            assert_eq!(flow.transport.packet_bytes, 1_040);
            assert_eq!(flow.transport.ecn, run.law_label == "reno+rem");
        }
        let router = link.router.law.name();
        assert_eq!(
            router,
            if run.law_label == "reno+rem" {
                "rem"
            } else {
                run.law_label.as_str()
            }
        );
    }
}

#[test]
fn a_bandwidth_delay_product_is_rounded() {
    // Goal: 2 Mbit/s times 1.032 s over 8 x 1156 bytes on the air is 223.2, half of it 111.6, and never nothing.
    let packets = |set: &str| {
        let options = Options {
            sets: vec![set.to_owned()],
            ..Options::default()
        };
        load(&scenarios().join("satellite-fading.toml"), &options).unwrap().runs[0]
            .spec
            .network
            .links[0]
            .buffer
            .packets
    };
    assert_eq!(packets("topology.bottleneck.buffer=1 BDP"), Some(223));
    assert_eq!(packets("topology.bottleneck.buffer=0.5 BDP"), Some(112));
    assert_eq!(packets("topology.bottleneck.buffer=0.001 BDP"), Some(1));
}

#[test]
fn a_dumbbell_has_a_pair_of_hosts_per_flow() {
    // Goal: routes go host, bottleneck, host and back on the other side, both ways, with own access links.
    let plan = plan_with(PLAIN, &["flow.count=2", "flow.direction=both"]);
    let spec = &plan.runs[0].spec;
    assert_eq!(spec.network.links.len(), 2 + 4 * 4);
    let flow = &spec.flows[1];
    assert_eq!((flow.name.as_ref(), flow.group.as_str()), ("flow.2", "flow"));
    assert_eq!(names(spec, &flow.route), ["left.2.up", "bottleneck", "right.2.down"]);
    assert_eq!(
        names(spec, &flow.route_back),
        ["right.2.up", "bottleneck.back", "left.2.down"]
    );
    let back = &spec.flows[2];
    assert_eq!((back.name.as_ref(), back.group.as_str()), ("flow.back.1", "flow.back"));
    assert_eq!(
        names(spec, &back.route),
        ["right.3.up", "bottleneck.back", "left.3.down"]
    );
    assert_eq!(
        names(spec, &back.route_back),
        ["left.3.up", "bottleneck", "right.3.down"]
    );
}

#[test]
fn results_show_the_hops_that_carry_data() {
    // Goal: the link back is shown only where data goes back; access links never are.
    let shown = |sets: &[&str]| -> Vec<String> {
        let links = plan_with(PLAIN, sets).runs.remove(0).spec.network.links;
        links
            .into_iter()
            .filter(|link| link.shown)
            .map(|link| link.name.to_string())
            .collect()
    };
    assert_eq!(shown(&[]), ["bottleneck"]);
    assert_eq!(shown(&["flow.direction=backward"]), ["bottleneck.back"]);
    assert_eq!(shown(&["flow.direction=both"]), ["bottleneck", "bottleneck.back"]);
}

#[test]
fn flows_share_pairs_in_turn() {
    // Goal: with fewer pairs than flows, flow 3 of 2 pairs uses the first pair again.
    let plan = plan_with(PLAIN, &["flow.count=3", "topology.pairs=2"]);
    let spec = &plan.runs[0].spec;
    assert_eq!(spec.network.links.len(), 2 + 4 * 2);
    assert_eq!(
        names(spec, &spec.flows[2].route),
        ["left.1.up", "bottleneck", "right.1.down"]
    );
}

#[test]
fn a_parking_lot_has_long_and_local_flows() {
    // Goal: routes of the parking lot cross the hops that each group names, and starts differ by group.
    let plan = shipped("parking-lot.toml");
    let spec = &plan.runs[0].spec;
    assert_eq!(spec.flows.len(), 30 + 4 * 60);
    let route = |group: &str| {
        let flow = spec.flows.iter().find(|flow| flow.group == group).unwrap();
        let hops: Vec<String> = names(spec, &flow.route)
            .into_iter()
            .filter(|name| name.starts_with("hop"))
            .collect();
        (hops.join(" "), flow.app)
    };
    assert_eq!(route("long").0, "hop.1 hop.2 hop.3 hop.4");
    assert_eq!(route("local3").0, "hop.3");
    let App::Greedy {
        start: Span::Uniform { min_ns, .. },
    } = route("local3").1
    else {
        panic!("{:?}", route("local3"))
    };
    assert_eq!(min_ns, 1_000_000_000_000);
    assert!(matches!(
        spec.network.links[4].capacity,
        CapacitySpec::Constant { rate_bps: 2_000_000 }
    ));
    // 4 Mbit/s times twice 1.01 s over 8 x 1156 bytes on the air is 873.7.
    assert_eq!(spec.network.links[0].buffer.packets, Some(874));
}

#[test]
fn set_overrides_what_the_file_says() {
    // Goal: --set replaces a value and a sweep, and the resolved scenario shows it.
    let plan = plan_with(
        PLAIN,
        &["run.seeds=3..5", "topology.bottleneck.delay=20 ms", "flow.count=[1, 4]"],
    );
    let seeds: Vec<u64> = plan.runs.iter().map(|run| run.seed).collect();
    assert_eq!(seeds, [3, 4, 5, 3, 4, 5]);
    assert_eq!(plan.runs[0].spec.network.links[0].delay_ns, 20_000_000);
    assert!(
        plan.text.contains("seeds = \"3..5\"") && plan.text.contains("count = [1, 4]"),
        "{}",
        plan.text
    );
}

#[test]
fn derived_defaults_follow_a_sweep() {
    // Goal: what is twice or one of something stays so along a sweep, in the runs and in the resolved form.
    let sets = [
        "topology.bottleneck.rate=[\"1 Mbit/s\", \"8 Mbit/s\"]",
        "transport.preset=[\"rfc\", \"ns2\"]",
    ];
    let plan = plan_with(PLAIN, &sets);
    assert!(plan.text.contains("rate = \"2 x bottleneck\""), "{}", plan.text);
    assert!(plan.text.contains("# packet differs from run to run"), "{}", plan.text);
    let access_bps = |run: usize| match plan.runs[run].spec.network.links[2].capacity {
        CapacitySpec::Constant { rate_bps } => rate_bps,
        CapacitySpec::Changing(_) | CapacitySpec::Trace(_) => panic!("an access link"),
    };
    assert_eq!((access_bps(0), access_bps(2)), (2_000_000, 16_000_000));
    let again = parse(plan.text.as_bytes(), "s.toml", Path::new(""), &Options::default()).unwrap();
    assert!(said(&again) == said(&plan), "{}", plan.text);
}

#[test]
fn traces_are_measured_and_read_beside_the_scenario() {
    // Goal: a trace is found beside its scenario, a path given by --set where the user stands, and its capacity
    // measured.
    let plan = shipped("lte.toml");
    let link = &plan.runs[0].spec.network.links[0];
    assert!(matches!(&link.capacity, CapacitySpec::Trace(trace) if trace.opportunities_ms.len() > 1_000));
    assert_eq!(link.router.capacity.name(), "measured");
    assert_eq!(plan.runs[0].spec.network.links[1].router.capacity.name(), "configured");
    let here = scenarios().join("traces/generated-lte.down");
    let set = format!("topology.bottleneck.trace={}", here.display());
    let options = Options {
        sets: vec![set],
        ..Options::default()
    };
    let other = load(&scenarios().join("lte.toml"), &options).unwrap();
    assert_eq!(format!("{:?}", other.runs), format!("{:?}", plan.runs));
    // One that does not come with the program.
    let (folder, name) = (std::env::temp_dir(), format!("fadelab-{}-own.down", std::process::id()));
    std::fs::write(folder.join(&name), "1\n2\n").unwrap();
    let text = PLAIN.replace("rate = \"2 Mbit/s\"", &format!("trace = '{name}'"));
    let own = parse(text.as_bytes(), "s.toml", &folder, &Options::default());
    std::fs::remove_file(folder.join(&name)).unwrap();
    let own = own.unwrap_or_else(|refusal| panic!("{refusal}"));
    let capacity = &own.runs[0].spec.network.links[0].capacity;
    assert!(matches!(capacity, CapacitySpec::Trace(trace) if trace.opportunities_ms == [1, 2]));
}

#[test]
fn the_rules_of_a_trace_are_chosen_by_link() {
    // Goal: both traces of a link follow its rules, either rule is found again in a sweep, and a buffer in
    // bandwidth-delay products counts packets with the header that they have there.
    let trace = scenarios().join("traces/generated-lte.down");
    let text = format!(
        "[topology.bottleneck]\ntrace = '{0}'\ntrace_back = '{0}'\ntrace_rules = ['plain', 'exact-mahimahi']\n\
         delay = '50 ms'\nbuffer = '100 BDP'\n[flow]\nlaw = 'reno'\n",
        trace.display()
    );
    let plan = plan(&text);
    let links = |run: usize| &plan.runs[run].spec.network.links[..2];
    let headers = |run| {
        links(run)
            .iter()
            .map(|link| link.capacity.header_bytes())
            .collect::<Vec<_>>()
    };
    assert_eq!((headers(0), headers(1)), (vec![0, 0], vec![4, 4]));
    let buffers = [0, 1].map(|run| f64::from(links(run)[0].buffer.packets.unwrap()));
    assert!((buffers[0] / buffers[1] - 1504.0 / 1500.0).abs() < 1e-3, "{buffers:?}");
    assert!(
        plan.text.contains("trace_rules = [\"plain\", \"exact-mahimahi\"]"),
        "{}",
        plan.text
    );
}

#[test]
fn applications_are_read() {
    // Goal: each application takes its own keys, groups override the defaults, and cbr beside a law is UDP.
    let text = "[topology.bottleneck]\nrate = \"2 Mbit/s\"\ndelay = \"5 ms\"\n[flow]\nlaw = \"reno\"\nstart = \"1 s\"\n\
        [flow.bulk]\napp = \"transfer\"\nsize = \"1 MB\"\n\
        [flow.voice]\napp = \"cbr\"\nrate = \"64 kbit/s\"\ncount = 2\nstart = \"0 s\"\n\
        [flow.web]\napp = \"sessions\"\non = \"exponential 2 s\"\noff = \"uniform 1 s..2 s\"\n";
    let plan = plan(text);
    let flows = &plan.runs[0].spec.flows;
    let groups: Vec<&str> = flows.iter().map(|flow| flow.group.as_str()).collect();
    assert_eq!(groups, ["bulk", "voice", "voice", "web"]);
    let second = Span::Fixed { ns: 1_000_000_000 };
    assert_eq!(
        flows[0].app,
        App::Transfer {
            start: second,
            bytes: 1_000_000
        }
    );
    let voice = App::Cbr {
        start: Span::Fixed { ns: 0 },
        stop_ns: 60_000_000_000,
        rate_bps: 64_000,
    };
    assert_eq!(flows[1].app, voice);
    assert!(flows[1].sender.is_none() && flows[0].sender.is_some());
    let off = Some(Span::Uniform {
        min_ns: 1_000_000_000,
        max_ns: 2_000_000_000,
    });
    let on = Span::Exponential { mean_ns: 2_000_000_000 };
    assert_eq!(flows[3].app, App::Sessions { start: second, on, off });
}

#[test]
fn groups_keep_their_order() {
    // Goal: groups stay in the order in which they are written, one without keys included, also once resolved.
    let first = plan(&format!(
        "{PLAIN}count = [1, 2]\n[flow.b]\n[flow.a]\ncount = 3\n[flow.c]\n"
    ));
    let groups: Vec<&str> = first.runs[1]
        .spec
        .flows
        .iter()
        .map(|flow| flow.group.as_str())
        .collect();
    assert_eq!(groups, ["b", "b", "a", "a", "a", "c", "c"]);
    let again = plan(&first.text);
    assert!(said(&again) == said(&first), "{}", first.text);
}

#[test]
fn what_is_rarely_meant_is_warned_of() {
    // Goal: one seed, a long warm-up, a late start, a law without its router and keys without effect are pointed out.
    let warned = |sets: &[&str], part: &str| {
        let warnings = plan_with(PLAIN, sets).warnings;
        assert!(
            warnings.iter().any(|warning| warning.contains(part)),
            "`{part}` is missing in {warnings:?}"
        );
    };
    assert_eq!(plan_with(PLAIN, &["run.seeds=1..2"]).warnings, Vec::<String>::new());
    warned(&[], "one seed only");
    warned(&["run.warmup=40 s"], "more than half");
    warned(&["flow.start=70 s"], "the run ends at");
    warned(&["flow.law=vcp+droptail"], "works only with router `vcp`");
    let rules = "topology.bottleneck.trace_rules";
    warned(&[&format!("{rules}=exact-mahimahi")], "trace_rules` has no effect");
}

#[test]
fn parameters_of_laws_have_units() {
    // Goal: a parameter is given in its own unit, reaches the law as its integer, and stands in the resolved form.
    let plan = plan_with(PLAIN, &["law.reno.limit_pkts=2 pkt", "law.reno.restart_us=500 ms"]);
    let flow = &plan.runs[0].spec.flows[0];
    let infos = flow.sender.unwrap().params();
    let value = |name: &str| flow.params.values()[infos.iter().position(|info| info.name == name).unwrap()];
    assert_eq!((value("limit_pkts"), value("restart_us")), (2, 500_000));
    assert!(plan.text.contains("restart_us = \"500 ms\""), "{}", plan.text);
}

/// One line of a scenario for each key that the property test varies.
fn lines() -> impl Strategy<Value = Vec<String>> {
    let pick = |options: &'static [&'static str]| proptest::option::of(proptest::sample::select(options));
    let parts = (
        pick(&[
            "run.duration = '0.5 s'",
            "run.duration = '90 s'",
            "run.duration = ['1 s', '2 s']",
        ]),
        pick(&["run.seeds = [3, 9]", "run.seeds = '4..6'", "run.record = false"]),
        pick(&[
            "flow.count = 3",
            "flow.count = [1, 2]",
            "flow.direction = ['both', 'backward']",
        ]),
        pick(&[
            "flow.start = 'uniform 0 s..10 ms'",
            "flow.start = ['1 ms', 'exponential 2 ms']",
        ]),
        pick(&[
            "topology.bottleneck.buffer = ['1 BDP', '0.25 BDP']",
            "topology.bottleneck.buffer = '64 kB'",
        ]),
        pick(&[
            "topology.access.rate = '3.5 x bottleneck'",
            "topology.access.rate = ['5 Mbit/s', '1 Gbit/s']",
        ]),
        pick(&[
            "channel.snr = ['5 dB', '7.5 dB']",
            "channel = {snr = '30 dB', code = {data = 0.93, ack = 0.5}}",
        ]),
        pick(&[
            "transport.preset = ['ns2', 'linux']",
            "transport = {packet = '1040 B', delayed_ack = false}",
        ]),
        pick(&["law.reno.counting = 'acks'", "law.reno.limit_pkts = ['1 pkt', '2 pkt']"]),
        pick(&["flow.law = ['reno', 'reno+droptail']", "title = 'a \"title\"'"]),
    );
    parts.prop_map(|p| {
        let all = [p.0, p.1, p.2, p.3, p.4, p.5, p.6, p.7, p.8, p.9];
        all.into_iter().flatten().map(str::to_owned).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_resolved_scenario_is_the_scenario(lines in lines().prop_shuffle()) {
        // Goal: whatever is set, in whatever order, the resolved form parses back to the same plan and to itself.
        let mut text = lines.join("\n");
        if !text.contains("flow.law") {
            text += "\nflow.law = 'reno'";
        }
        text += "\ntopology.bottleneck.rate = '2 Mbit/s'\ntopology.bottleneck.delay = '50 ms'\n";
        let first = plan(&text);
        let again = plan(&first.text);
        prop_assert_eq!(said(&again), said(&first));
        prop_assert_eq!(again.text, first.text);
    }
}
