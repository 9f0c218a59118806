//! The laws of senders in this machine's kernel, between two namespaces.

#[allow(dead_code, reason = "other tests use the rest of it")]
mod common;

use std::collections::BTreeMap;
use std::time::Duration;

use common::tap::Tap;
use common::transfer::{Showed, load, shaped, shaped_both_ways, transfer};
use common::{Pair, is_built_in, possible, report, run, unique};
use fadelab_kernel::Version;
use fadelab_kernel::attach::{Direction, to_device};
use fadelab_kernel::compile;
use fadelab_kernel::device::Device;
use fadelab_kernel::object::load as load_object;
use fadelab_kernel::sender::{LiveFlow, Unit};
use fadelab_laws::abi;
use fadelab_laws::recorded::Recorded;
use fadelab_laws::shadow::{Onlooker, Shadows};

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
    // Whole words: names of other tests may begin with this one.
    let is_known = |name: &str| {
        let known = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").expect("a file");
        known.split_whitespace().any(|word| word == name)
    };
    for law in built_in() {
        for record in [false, true] {
            let unit = Unit {
                record,
                ..unit(law.name())
            };
            let sender = load(&unit, &pair);
            assert!(is_known(&unit.name));
            drop(sender);
            assert!(!is_known(&unit.name));
        }
    }
}

/// Shows the calls of each flow to the law once more, as one that looks on: it has the same memory after each.
fn see_the_same(law: &'static fadelab_laws::Sender, params: &fadelab_laws::Params, calls: &[Recorded]) {
    let onlooker = Onlooker {
        law,
        params: params.clone(),
    };
    let mut flows: BTreeMap<u64, Shadows> = BTreeMap::new();
    for call in calls {
        let shadows = flows
            .entry(call.flow)
            .or_insert_with(|| Shadows::new(std::slice::from_ref(&onlooker)));
        call.show(shadows);
        for (law, state) in shadows.iter() {
            for info in law.watch() {
                let kept = info.raw_of(call.state_after());
                assert_eq!(
                    Some(info.raw(state.words())),
                    kept,
                    "{}.{}: {call:?}",
                    law.name(),
                    info.name
                );
            }
        }
    }
}

#[test]
fn every_call_comes_to_the_same_window_natively() {
    // Goal: the kernel runs what is simulated: each recorded call of each law, with losses, gives the same window,
    // state and request when the same header is called natively, and each of its receiver the same echo and state. A
    // law that only looks on at these calls has the same memory.
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
        let showed = transfer(&unit, &pair, "-c 10.77.0.2 -n 2M");
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
        see_the_same(law, &unit.params, &showed.calls);
        let acks = showed.calls.iter().filter(|call| call.name() == "on_ack").count();
        assert!(acks > 300, "{}: two megabytes have more than {acks} ACKs", law.name());
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
fn a_law_is_shown_whether_both_ends_agreed_to_ecn() {
    // Goal: a law whose marks the kernel answers sees the codepoint that its data have: that of ECN where both ends
    // agreed, none where either end refused; and the kernel goes on to set it by itself.
    if !possible(&["ip", "tc", "iperf3"]) {
        return;
    }
    for (law, ours, theirs) in [
        ("reno", 1, 1),
        ("new_jersey", 1, 2),
        ("new_jersey", 1, 0),
        ("new_jersey", 2, 1),
    ] {
        let pair = Pair::new();
        shaped(&pair, 60_000);
        for (host, mode) in [(&pair.sender, ours), (&pair.receiver, theirs)] {
            run(&format!("ip netns exec {host} sysctl -qw net.ipv4.tcp_ecn={mode}"));
        }
        let unit = Unit {
            record: true,
            ..unit(law)
        };
        let showed = transfer(&unit, &pair, "-c 10.77.0.2 -n 2M");
        let is_agreed = ours == 1 && theirs != 0;
        let expected = if is_agreed { abi::ECN_ECT0 } else { abi::ECN_NOT_ECT };
        let what = format!("{law}, tcp_ecn {ours} and {theirs}");
        let acks: Vec<&Recorded> = showed.calls.iter().filter(|call| call.name() == "on_ack").collect();
        assert!(acks.len() > 300, "{what}: {}", acks.len());
        assert!(acks.iter().all(|call| call.before.ecn == expected), "{what}");
        assert!(
            showed.calls.iter().all(|call| call.agrees(unit.law, &unit.params)),
            "{what}"
        );
        let data = showed.seen[&5201].data;
        assert_eq!(data[abi::ECN_ECT0 as usize] > 100, is_agreed, "{what}: {data:?}");
    }
}

/// Marked data packets of the transfer, and data packets in all.
fn marked(showed: &Showed) -> (u64, u64) {
    let data = &showed.seen[&5201].data;
    (data[1..].iter().sum(), data.iter().sum())
}

#[test]
fn what_may_be_fragmented_stays_unmarked() {
    // Goal: where the host lets its packets be cut (ip_no_pmtu_disc) data carry the option and no mark; over IPv6,
    // where nobody on the way cuts, they carry both.
    if !possible(&["ip", "tc", "iperf3"]) {
        return;
    }
    let pair = Pair::new();
    shaped(&pair, 60_000);
    run(&format!(
        "ip netns exec {} sysctl -qw net.ipv4.ip_no_pmtu_disc=1",
        pair.sender
    ));
    for (address, is_marked) in [("10.77.0.2", false), ("fd77::2", true)] {
        let unit = Unit {
            record: true,
            ..unit("vcp")
        };
        let showed = transfer(&unit, &pair, &format!("-c {address}"));
        let ((marked_n, data_n), options_n) = (marked(&showed), showed.seen[&5201].options[&8]);
        assert!(data_n > 100 && options_n > 100, "{address}: {data_n} {options_n}");
        assert_eq!(marked_n > 0, is_marked, "{address}: {marked_n} of {data_n}");
    }
}

/// Sends all that leaves by a device out of the one with this number.
const ELSEWHERE: &str = r#"
#include "host.h"
char elsewhere_license[] SEC("license") = "Dual BSD/GPL";
static long (*const bpf_redirect)(u32 ifindex, u64 flags) = (void *)23;
SEC("tc") int elsewhere(struct __sk_buff *skb)
{
	return (int)bpf_redirect(IFINDEX, 0);
}
"#;

#[test]
fn what_is_larger_than_its_device_stays_unmarked() {
    // Goal: packets, and segments of super-packets, that are larger than the device takes at which they would be marked
    // leave unmarked, as they do where a route by another device made them; once it takes them they are marked.
    if !possible(&["ip", "tc", "iperf3"]) {
        return;
    }
    let pair = Pair::new();
    let (host, wire) = (&pair.sender, pair.device(&pair.sender));
    let (index, _) = wire.look().expect("it is there");
    let of_peer = run(&format!("ip -n {} -brief link show wire", pair.receiver));
    let address = of_peer.split_whitespace().nth(2).expect("an address");
    run(&format!("ip -n {host} link add aside type veth peer name far"));
    run(&format!("ip -n {host} link set aside up"));
    run(&format!("ip -n {host} link set far up"));
    run(&format!("ip -n {host} route add 10.77.0.2/32 dev aside src 10.77.0.1"));
    run(&format!("ip -n {host} neigh add 10.77.0.2 lladdr {address} dev aside"));
    let defines = [("IFINDEX", index.to_string())];
    let text = compile::Text {
        name: "elsewhere.bpf.c",
        text: ELSEWHERE,
        defines: defines.to_vec(),
    };
    let object = text.object().expect("it compiles");
    let object = load_object(&object, |_| Ok(())).expect("it loads");
    let aside = Device {
        name: "aside".to_owned(),
        ..wire
    };
    let program = object.progs().next().expect("one program");
    let _attached = to_device(&program, &aside, Direction::Egress).expect("the device is there");
    for is_single in [false, true] {
        if is_single {
            pair.one_segment();
            run(&format!("ip -n {host} link set aside gso_max_segs 1"));
        }
        for (mtu, is_marked) in [(1000, false), (1500, true)] {
            run(&format!("ip -n {host} link set wire mtu {mtu}"));
            let unit = Unit {
                record: true,
                ..unit("vcp")
            };
            // 10 MB in the second that a transfer lasts: more than a hundred super-packets, however large they are.
            let (marked_n, data_n) = marked(&transfer(&unit, &pair, "-c 10.77.0.2 --bitrate 80M"));
            // What is short, as the last of a block may be, is marked all the same.
            let what = format!("{marked_n} of {data_n} with {mtu}, one segment {is_single}");
            assert!(data_n > 100, "{what}");
            assert!(
                if is_marked {
                    marked_n * 2 > data_n
                } else {
                    marked_n * 2 < data_n
                },
                "{what}"
            );
        }
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
        shaped_both_ways(&pair, 60_000);
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
