//! Several laws with feedback at once: each socket's option is that of its own law, whatever else is loaded.

#[allow(dead_code, reason = "other tests use the rest of it")]
mod common;

use std::fs;
use std::path::Path;

use common::tap::Seen;
use common::transfer::{Showed, load, shaped_both_ways, transfer_under};
use common::{Pair, possible, unique};
use fadelab_kernel::Version;
use fadelab_kernel::sender::{Sender, Unit};
use fadelab_laws::recorded::Receipt;
use fadelab_laws::{abi, guard, own};

/// The test law `pair`, whose wire no other law has, as a user brings it: a copy of that name, with its receiver.
fn pair_law() -> &'static str {
    static ONCE: std::sync::OnceLock<&str> = std::sync::OnceLock::new();
    ONCE.get_or_init(|| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/laws/pair.h");
        let text = fs::read_to_string(path).expect("a test law");
        let text = text
            .replace("pair_sender", "halves_sender")
            .replace("pair_receiver", "halves_receiver");
        let text = text
            .replace("pair_router", "halves_router")
            .replace("\"pair\"", "\"halves\"");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("halves.h");
        fs::write(&path, text).expect("room");
        own::load(&path).unwrap_or_else(|error| panic!("{error}"));
        "halves"
    })
}

fn unit(law: &str) -> Unit<'static> {
    let law = fadelab_laws::sender(law).expect("registered");
    let name = unique(&format!("{}_", &law.name()[..3]));
    Unit {
        name: name[name.len().saturating_sub(15)..].to_owned(),
        record: true,
        ..Unit::new(law, Version::running().expect("Linux"))
    }
}

fn hosts() -> Pair {
    let pair = Pair::new();
    shaped_both_ways(&pair, 60_000);
    pair.one_segment();
    pair
}

/// The wire of a law's packets.
fn wire(unit: &Unit<'_>) -> u8 {
    unit.law.wire() as u8
}

/// A second of a flow both of whose ends choose a law: its packets have that law's option alone, it is heard, and every
/// call comes to the same natively, of the receiver too.
fn demand_own(showed: &Showed, unit: &Unit<'_>, case: &str) {
    let receiver = unit.receiver.expect("each of these laws has one");
    // A law at fault ends the test without a word of its own.
    let different = guard::catch(|| {
        let call = showed.calls.iter().find(|call| !call.agrees(unit.law, &unit.params));
        let receipt = showed.receipts.iter().find(|receipt| !receipt.agrees(receiver));
        (call, receipt)
    });
    let different = different.unwrap_or_else(|fault| panic!("{case}: {fault}"));
    assert!(matches!(different, (None, None)), "{case}: {different:?}");
    let heard = showed.flows.iter().filter(|flow| !flow.feedback.is_empty()).count();
    assert!(heard > 0, "{case}: nobody was heard: {:?}", showed.flows);
    let seen = &showed.seen[&5201];
    assert!(
        seen.wires.get(&wire(unit)).is_some_and(|n| *n > 100),
        "{case}: {seen:?}"
    );
    for (port, seen) in &showed.seen {
        let others = seen.wires.keys().filter(|seen| **seen != wire(unit)).count();
        assert_eq!(others, 0, "{case}, to port {port}: {seen:?}");
        let packets = seen.data.iter().chain(&seen.acks).sum::<u64>() - seen.plain;
        let options: u64 = seen.wires.values().sum();
        assert_eq!(
            options, packets,
            "{case}, to port {port}, one option a packet: {seen:?}"
        );
    }
}

#[test]
fn each_pair_of_laws_keeps_apart() {
    // Goal: with any two laws with options loaded, one after the other, a flow under the first and one under the second
    // carry the option of their own law alone, in data and in ACKs, and hear of it, over both versions of IP; so with a
    // user's law that has a wire of its own.
    if !possible(&["ip", "tc", "iperf3"]) {
        return;
    }
    let laws = ["vcp", "xcp", pair_law()];
    for first in laws {
        for second in laws.into_iter().filter(|law| *law != first) {
            let pair = hosts();
            let units = [unit(first), unit(second)];
            let loaded: Vec<Sender> = units.iter().map(|unit| load(unit, &pair)).collect();
            for ((sender, unit), address) in loaded.iter().zip(&units).zip(["10.77.0.2", "fd77::2"]) {
                let arguments = format!("-c {address} -C {}", unit.name);
                let showed = transfer_under(sender, unit, &pair, &arguments, |_| {});
                demand_own(
                    &showed,
                    unit,
                    &format!("{first} before {second}, under {}", unit.law.name()),
                );
            }
        }
    }
}

#[test]
fn one_law_under_two_names_answers_once() {
    // Goal: a law that is loaded twice is one option on each packet, which its own flow fills in whichever was loaded
    // first: with traffic both ways both ends are heard, under the first name and under the second.
    if !possible(&["ip", "tc", "iperf3"]) {
        return;
    }
    for law in ["vcp", "xcp", "dcp_ew", pair_law()] {
        let pair = hosts();
        let units = [unit(law), unit(law)];
        let loaded: Vec<Sender> = units.iter().map(|unit| load(unit, &pair)).collect();
        for (sender, unit) in loaded.iter().zip(&units) {
            for ways in ["", "--bidir"] {
                let arguments = format!("-c 10.77.0.2 {ways} -C {}", unit.name);
                let showed = transfer_under(sender, unit, &pair, &arguments, |_| {});
                let case = format!("{law} as {}, {ways}", unit.name);
                demand_own(&showed, unit, &case);
                let heard = |host: &str| {
                    let mut flows = showed.flows.iter().filter(|flow| flow.local.to_string().contains(host));
                    flows.any(|flow| !flow.feedback.is_empty())
                };
                assert!(heard("10.77.0.1:"), "{case}: {:?}", showed.flows);
                // The kernel takes one option of a kind: were the other's there first, ours would never be.
                let mut written = showed.receipts.iter().filter_map(Receipt::was_written).peekable();
                assert!(
                    written.peek().is_none() || written.any(|is| is),
                    "{case}: the other one answers"
                );
                assert!(ways.is_empty() || heard("10.77.0.2"), "{case}: {:?}", showed.flows);
            }
        }
    }
}

/// Makes a congestion control the default of a host.
fn default(pair: &Pair, host: &str, name: &str) {
    pair.output(host, &format!("sysctl -qw net.ipv4.tcp_congestion_control={name}"));
}

#[test]
fn ends_under_different_laws_hear_of_their_own() {
    // Goal: one end sends under VCP and the other under XCP, with traffic both ways: each hears of its own direction,
    // VCP's data are marked though XCP's option may stand behind its own, and that in both orders of loading.
    if !possible(&["ip", "tc", "iperf3", "sysctl"]) {
        return;
    }
    for order in [["vcp", "xcp"], ["xcp", "vcp"]] {
        let pair = hosts();
        let units = order.map(unit);
        let loaded: Vec<Sender> = units.iter().map(|unit| load(unit, &pair)).collect();
        let place = |law: &str| order.iter().position(|known| *known == law).expect("one of them");
        let (vcp, xcp) = (place("vcp"), place("xcp"));
        default(&pair, &pair.sender, &units[vcp].name);
        default(&pair, &pair.receiver, &units[xcp].name);
        let mut answered = false;
        let live = loaded[xcp]
            .object()
            .maps()
            .find(|map| libbpf_rs::MapCore::name(map) == "live");
        let live = live.expect("each law has it");
        let showed = transfer_under(&loaded[vcp], &units[vcp], &pair, "-c 10.77.0.2 --bidir", |_| {
            let flows = fadelab_kernel::sender::flows(&live).expect("root");
            let of_receiver = flows.iter().filter(|flow| flow.local.to_string().contains("10.77.0.2"));
            answered |= of_receiver.into_iter().any(|flow| !flow.feedback.is_empty());
        });
        let heard = showed.flows.iter().filter(|flow| !flow.feedback.is_empty()).count();
        assert!(heard > 0, "{order:?}: {:?}", showed.flows);
        assert!(answered, "{order:?}: nobody under XCP was heard");
        let seen = &showed.seen[&5201];
        let marked: u64 = seen.data[1..].iter().sum();
        assert!(marked > 100, "{order:?}: {seen:?}");
        let wires: Vec<u8> = seen.wires.keys().copied().collect();
        assert_eq!(wires, [abi::WIRE_VCP as u8, abi::WIRE_XCP as u8], "{order:?}: {seen:?}");
    }
}

#[test]
fn a_socket_that_changes_its_law_changes_its_option() {
    // Goal: where a law is a host's default, the socket of a server begins under it and may be set to another by its
    // program: its ACKs carry the option of the second alone.
    if !possible(&["ip", "tc", "iperf3", "sysctl"]) {
        return;
    }
    for [default_law, chosen] in [["vcp", "xcp"], ["xcp", "vcp"]] {
        let pair = hosts();
        let units = [unit(default_law), unit(chosen)];
        let loaded: Vec<Sender> = units.iter().map(|unit| load(unit, &pair)).collect();
        default(&pair, &pair.receiver, &units[0].name);
        let arguments = format!("-c 10.77.0.2 --bidir -C {}", units[1].name);
        let showed = transfer_under(&loaded[1], &units[1], &pair, &arguments, |_| {});
        let wires = units.each_ref().map(wire);
        // To the client: its data of the other way, and ACKs. The connection on which iperf3 talks of a transfer stays
        // under the default, and what a socket sent before it was set to the other law has the first one's option.
        let is_changed = |seen: &Seen| seen.wires.get(&wires[1]).is_some_and(|n| *n > 100);
        let changed: Vec<&Seen> = showed
            .seen
            .iter()
            .filter(|(port, _)| **port != 5201)
            .map(|(_, seen)| seen)
            .collect();
        let changed: Vec<&Seen> = changed.into_iter().filter(|seen| is_changed(seen)).collect();
        assert!(!changed.is_empty(), "{default_law}, then {chosen}: {:?}", showed.seen);
        for seen in changed {
            let before = seen.wires.get(&wires[0]).copied().unwrap_or(0);
            assert!(before <= 4, "{default_law}, then {chosen}: {seen:?}");
        }
    }
}
