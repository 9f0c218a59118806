//! What a preset of the transport chooses beyond its own section.

use std::path::Path;

use fadelab_run::transport::{RtoVariance, RttSamples};
use fadelab_scenario::plan::Plan;
use fadelab_scenario::{Options, parse};

const PLAIN: &str = "[topology.bottleneck]\nrate = \"2 Mbit/s\"\ndelay = \"500 ms\"\n[flow]\nlaw = \"reno\"\n";

fn plan_with(sets: &[&str]) -> Plan {
    let options = Options {
        sets: sets.iter().map(ToString::to_string).collect(),
        ..Options::default()
    };
    parse(PLAIN.as_bytes(), "s.toml", Path::new(""), &options).unwrap()
}

#[test]
fn the_ns2_preset_chooses_for_laws() {
    // Goal: the preset makes the laws that have these parameters count ACKs and halve exactly, and times one segment a
    // round trip; what the scenario says of a law goes before it, and no other preset does any of it.
    let said = |sets: &[&str]| {
        let plan = plan_with(sets);
        let flow = &plan.runs[0].spec.flows[0];
        let value = |name: &str| {
            let infos = flow.sender.expect("a law").params();
            let index = infos.iter().position(|info| info.name == name)?;
            flow.params.values().get(index).copied()
        };
        let again = parse(plan.text.as_bytes(), "s.toml", Path::new(""), &Options::default()).unwrap();
        assert_eq!(again.text, plan.text);
        (value("counting"), value("halving"), flow.transport.rtt_samples)
    };
    let (ack, round, ns2) = (RttSamples::PerAck, RttSamples::PerRoundTrip, "transport.preset=ns2");
    assert_eq!(said(&[ns2, "flow.law=reno"]), (Some(1), Some(1), round));
    assert_eq!(said(&[ns2, "flow.law=xcp"]), (None, Some(1), round));
    assert_eq!(said(&[ns2, "flow.law=cubic"]), (None, None, round));
    let own = [
        ns2,
        "flow.law=reno",
        "law.reno.counting=segments",
        "transport.rtt_samples=per ack",
    ];
    assert_eq!(said(&own), (Some(0), Some(1), ack));
    for (other, samples) in [("rfc", ack), ("linux", RttSamples::PerSack)] {
        let other = format!("transport.preset={other}");
        assert_eq!(said(&[&other, "flow.law=reno"]), (Some(0), Some(0), samples), "{other}");
    }
    let text = plan_with(&[ns2, "flow.law=reno"]).text;
    for line in [
        "counting = \"acks\"",
        "halving = \"exact\"",
        "rtt_samples = \"per round trip\"",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn linux_varies_its_timeout_by_round_trips_without_sack_alone() {
    // Goal: the variance of Linux's timeout comes with the preset where the scenario takes SACK away, wherever that is
    // written, and with SACK where the scenario asks for it; other presets have that of RFC 6298.
    let of = |sets: &[&str]| {
        let plan = plan_with(sets);
        let again = parse(plan.text.as_bytes(), "s.toml", Path::new(""), &Options::default()).unwrap();
        let [one, other] = [plan, again].map(|plan| plan.runs[0].spec.flows[0].transport.rto_variance);
        assert_eq!(one, other, "its own text says the same");
        one
    };
    let (linux, newreno) = ("transport.preset=linux", "transport.recovery=newreno");
    assert_eq!(of(&[linux]), RtoVariance::Sample);
    assert_eq!(of(&[linux, newreno]), RtoVariance::RoundTrip);
    assert_eq!(of(&["transport.preset=rfc", newreno]), RtoVariance::Sample);
    assert_eq!(
        of(&[linux, "transport.rto_variance=round trip"]),
        RtoVariance::RoundTrip
    );
}
