//! Scenarios in which the rate of a link changes.

use std::path::Path;

use fadelab_lab::{Ground as _, Simulator};
use fadelab_path::counters::LinkCounters;
use fadelab_scenario::{Options, Refusal, parse, plan::Plan};

const NETWORK: &str = r#"
[run]
duration = "40 s"
warmup = "0 s"
record = "1 s"

[topology.bottleneck]
rate = "10 Mbit/s"
delay = "50 ms"
buffer = "400 pkt"
"#;

fn read(rest: &str) -> Result<Plan, Refusal> {
    let text = format!("{NETWORK}{rest}");
    parse(text.as_bytes(), "s.toml", Path::new(""), &Options::default())
}

fn refused(rest: &str) -> String {
    read(rest).map(drop).expect_err(rest).to_string()
}

/// Samples of the bottleneck, each second from 0 on.
fn bottleneck(rest: &str) -> Vec<LinkCounters> {
    let plan = read(rest).unwrap_or_else(|refusal| panic!("{refusal}\n{rest}"));
    let record = Simulator.run(&plan.runs[0], &mut |_| true).expect("it runs");
    record.series.links[0].clone()
}

const HALVED: &str = "rate_changes = \"20 s: 5 Mbit/s\"\n";

#[test]
fn a_link_offers_what_its_rate_is() {
    // Goal: until the change 10 Mbit/s are offered, from then on 5, to the byte; CUBIC fills both halves.
    let samples = bottleneck(&format!("{HALVED}[flow]\nlaw = \"cubic\"\n"));
    let offered = |second: usize| samples[second].offered_bytes;
    assert_eq!(offered(20), 25_000_000);
    assert_eq!(offered(40), 37_500_000);
    let used = samples[40].sent_bytes - samples[20].sent_bytes;
    assert!(used > 12_200_000 && used <= 12_500_000, "{used} B of 12.5 MB");
}

#[test]
fn what_a_router_is_told_decides_what_it_makes_of_a_change() {
    // Goal: VCP's router that is told the rate as it changes keeps its queue short when the link halves. One that is
    // told the old rate thinks that it has twice what it has, and the queue fills; the measured capacity needs to be
    // told nothing. What is told from the beginning on decides from the beginning on.
    let queue = |router: &str| {
        let samples = bottleneck(&format!("{HALVED}[router]\n{router}[flow]\nlaw = \"vcp\"\ncount = 4\n"));
        let bytes = |second: usize| samples[second].queue_byte_ns;
        [(5, 20), (30, 40)].map(|(from, to)| (bytes(to) - bytes(from)) as f64 / (to - from) as f64 / 1e9)
    };
    let [before, after] = queue("");
    assert!(before < 20e3 && after < 20e3, "{before} B, then {after} B");
    let [before, after] = queue("told = \"the first rate\"\n");
    assert!(before < 20e3 && after > 100e3, "{before} B, then {after} B");
    let [_, after] = queue("capacity = \"measured\"\n");
    assert!(after < 50e3, "{after} B");
    let [before, _] = queue("told = \"20 Mbit/s\"\n");
    assert!(before > 100e3, "{before} B");
}

#[test]
fn changes_that_cannot_be_are_refused() {
    // Goal: instants that do not ascend, a rate of nothing, a change without a rate, changes beside a trace, and losses
    // that hang on how long a packet takes are refused where they stand, with what is allowed.
    let flow = "[flow]\nlaw = \"cubic\"\n";
    for (changes, told) in [
        ("20 s: 5 Mbit/s, 10 s: 1 Mbit/s", "instants ascend"),
        ("0 s: 5 Mbit/s", "instants ascend"),
        ("5 s: 0 bit/s", "rate"),
        ("5 s", "20 s: 5 Mbit/s, 40 s: 10 Mbit/s"),
        ("5 s: fast", "Mbit/s"),
    ] {
        let why = refused(&format!("rate_changes = \"{changes}\"\n{flow}"));
        assert!(
            why.contains("topology.bottleneck.rate_changes") && why.contains(told),
            "{why}"
        );
    }
    let radio = "[channel]\nmodel = \"packet-scale\"\ngood = \"1 s\"\nbad = \"1 s\"\nbit_error_good = 0.0\n\
                 bit_error_bad = 1e-5\n";
    let why = refused(&format!("{HALVED}{radio}{flow}"));
    assert!(why.contains("rate_changes") && why.contains("packet-scale"), "{why}");
    // Written out in full it reads back as the same.
    let plan = read(&format!("{HALVED}{flow}")).expect("a plan");
    assert!(plan.text.contains("rate_changes = \"20 s: 5 Mbit/s\""), "{}", plan.text);
}
