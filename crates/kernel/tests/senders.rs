//! The laws of senders in this machine's kernel, between two namespaces.

#[allow(dead_code, reason = "other tests use the rest of it")]
mod common;

use std::collections::BTreeMap;
use std::time::Duration;

use common::tap::Tap;
use common::transfer::{load, shaped, transfer};
use common::{Pair, is_built_in, possible, report, unique};
use fadelab_kernel::Version;
use fadelab_kernel::sender::{LiveFlow, Unit};
use fadelab_laws::recorded::Recorded;

fn built_in() -> impl Iterator<Item = &'static fadelab_laws::Sender> {
    fadelab_laws::senders()
        .iter()
        .filter(|law| is_built_in("sender", law.name()))
}

fn unit(law: &str) -> Unit<'static> {
    let law = fadelab_laws::sender(law).expect("registered");
    let name = unique(&format!("{}_", &law.name()[..3]));
    Unit {
        name: name[name.len().saturating_sub(15)..].to_owned(),
        ..Unit::new(law, Version::running().expect("Linux"))
    }
}

#[test]
fn every_sender_passes_the_verifier_with_its_host() {
    // Goal: each registered law is taken by this kernel with all that a host adds to it, recorded or not, and its
    // congestion control is gone with it.
    if !possible(&["ip"]) {
        return;
    }
    let pair = Pair::new();
    let known = || std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").expect("a file");
    for law in built_in() {
        for record in [false, true] {
            let unit = Unit {
                record,
                ..unit(law.name())
            };
            let sender = load(&unit, &pair);
            assert!(known().contains(&unit.name));
            drop(sender);
            assert!(!known().contains(&unit.name));
        }
    }
}

#[test]
fn every_call_comes_to_the_same_window_natively() {
    // Goal: the kernel runs what is simulated: each recorded call of each law, with losses, gives the same window,
    // state and request when the same header is called natively, and each of its receiver the same echo and state.
    if !possible(&["ip", "tc", "iperf3"]) {
        return;
    }
    for law in built_in() {
        let pair = Pair::new();
        shaped(&pair, 30_000);
        pair.one_segment();
        let unit = Unit {
            record: true,
            ..unit(law.name())
        };
        let showed = transfer(&unit, &pair, "-c 10.77.0.2");
        let different: Vec<&Recorded> = showed
            .calls
            .iter()
            .filter(|call| !call.agrees(unit.law, &unit.params))
            .collect();
        assert!(
            different.is_empty(),
            "{}: {} differ, the first: {:?}",
            law.name(),
            different.len(),
            different[0]
        );
        let acks = showed.calls.iter().filter(|call| call.name() == "on_ack").count();
        assert!(
            acks > 300,
            "{}: a second of 20 Mbit/s has more than {acks} ACKs",
            law.name()
        );
        let receipts = showed.receipts.len();
        report(&format!(
            "{}: {} calls, {acks} ACKs, {receipts} calls of the receiver",
            law.name(),
            showed.calls.len()
        ));
        let Some(receiver) = unit.receiver else {
            assert_eq!(receipts, 0, "{}", law.name());
            continue;
        };
        let different = showed.receipts.iter().find(|receipt| !receipt.agrees(receiver));
        assert!(
            different.is_none(),
            "{}: the first that differs: {different:?}",
            law.name()
        );
        assert!(receipts > 1000, "{}: {receipts}", law.name());
    }
}

#[test]
fn feedback_comes_back_over_both_versions_of_ip() {
    // Goal: data packets carry the law's option and, with VCP, its code; the echo reaches the law; ACKs stay unmarked.
    if !possible(&["ip", "tc", "iperf3"]) {
        return;
    }
    for (law, bytes, address) in [
        ("vcp", 8, "10.77.0.2"),
        ("vcp", 8, "fd77::2"),
        ("xcp", 12, "10.77.0.2"),
        ("xcp", 12, "fd77::2"),
    ] {
        let pair = Pair::new();
        shaped(&pair, 60_000);
        pair.one_segment();
        let unit = Unit {
            record: true,
            ..unit(law)
        };
        let showed = transfer(&unit, &pair, &format!("-c {address}"));
        let flow = showed.flows.iter().max_by_key(|flow| flow.time_us).expect("a flow");
        assert!(!flow.feedback.is_empty(), "{law} over {address}: {flow:?}");
        let seen = &showed.seen[&5201];
        assert!(seen.options[&bytes] > 100, "{law} over {address}: {seen:?}");
        assert_eq!(seen.acks[1..], [0; 3], "{law} over {address}: ACKs are marked");
        let marked: u64 = seen.data[1..].iter().sum();
        // The control connection of iperf3 is not under the law.
        assert_eq!(marked > 100, law == "vcp", "{law} over {address}: {seen:?}");
    }
}

#[test]
fn both_directions_carry_their_own_feedback() {
    // Goal: with traffic both ways each end is sender and receiver, and each sender hears of its own direction.
    if !possible(&["ip", "tc", "iperf3"]) {
        return;
    }
    for law in ["vcp", "xcp"] {
        let pair = Pair::new();
        shaped(&pair, 60_000);
        pair.one_segment();
        let unit = Unit {
            record: true,
            ..unit(law)
        };
        let showed = transfer(&unit, &pair, "-c 10.77.0.2 --bidir");
        let heard: Vec<&LiveFlow> = showed.flows.iter().filter(|flow| !flow.feedback.is_empty()).collect();
        let from = |host: &str| heard.iter().any(|flow| flow.local.to_string().contains(host));
        assert!(from("10.77.0.1:") && from("10.77.0.2"), "{law}: {:?}", showed.flows);
    }
}

#[test]
fn others_are_never_touched() {
    // Goal: with VCP and XCP loaded, a flow under another control has no option of ours and leaves unmarked.
    if !possible(&["ip", "iperf3"]) {
        return;
    }
    let pair = Pair::new();
    let _laws = [load(&unit("vcp"), &pair), load(&unit("xcp"), &pair)];
    let tap = Tap::new(&pair.device(&pair.sender));
    let _server = pair.start(&pair.receiver, "iperf3 -s -1");
    std::thread::sleep(Duration::from_millis(300));
    pair.output(&pair.sender, "iperf3 -c 10.77.0.2 -t 1 -C reno");
    for (port, seen) in tap.seen() {
        assert_eq!(seen.options, BTreeMap::new(), "port {port}");
        assert_eq!(
            (&seen.data[1..], &seen.acks[1..]),
            (&[0; 3][..], &[0; 3][..]),
            "port {port}"
        );
        assert!(seen.plain > 0);
    }
}
