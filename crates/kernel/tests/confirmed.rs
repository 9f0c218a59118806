//! Feedback counts in a kernel where a router of the law saw the data, and nowhere else.

#[allow(dead_code, reason = "other tests use the rest of it")]
mod common;

use common::router::compiled_here;
use common::transfer::{Showed, shaped, transfer};
use common::{Pair, possible, unique};
use fadelab_kernel::Version;
use fadelab_kernel::router::{Options, Router};
use fadelab_kernel::sender::Unit;
use fadelab_laws::abi;
use fadelab_laws::recorded::Recorded;

/// A second of a built-in law over a queue at 20 Mbit/s.
fn second_of(law: &str, pair: &Pair) -> Showed {
    let law = fadelab_laws::sender(law).expect("registered");
    let name = unique("kc");
    let unit = Unit {
        name: name[name.len().saturating_sub(15)..].to_owned(),
        record: true,
        ..Unit::new(law, Version::running().expect("Linux"))
    };
    transfer(&unit, pair, "-c 10.77.0.2")
}

/// The ACKs that brought feedback, with the window before and after the law saw them.
fn heard(showed: &Showed) -> Vec<(abi::Ack, u32, u32)> {
    let acks = showed.calls.iter().filter(|call| call.name() == "on_ack");
    let heard = acks.filter_map(|call: &Recorded| Some((call.ack()?, call.before.cwnd_pkts, call.after.cwnd_pkts)));
    heard.filter(|(ack, ..)| ack.feedback.present == 1).collect()
}

#[test]
fn a_law_without_its_router_is_reno_and_says_so() {
    // Goal: over a plain queue that overflows, each ACK's feedback is told as nobody's word, no ACK adds more than a
    // packet to the window (XCP's own request, taken for a grant, would add thousands), and the view knows it.
    if !possible(&["ip", "tc", "iperf3", "clang"]) {
        return;
    }
    for law in ["vcp", "xcp"] {
        let pair = Pair::new();
        shaped(&pair, 60_000);
        pair.one_segment();
        let showed = second_of(law, &pair);
        let heard = heard(&showed);
        assert!(heard.len() > 300, "{law}: {}", heard.len());
        for (ack, before, after) in &heard {
            assert_eq!(ack.feedback.confirmed, 0, "{law}: {ack:?}");
            assert!(*after <= before + 1, "{law}: {before} to {after} by {ack:?}");
        }
        let with_feedback = showed.flows.iter().filter(|flow| !flow.feedback.is_empty());
        assert!(with_feedback.clone().count() > 0, "{law}");
        for flow in with_feedback {
            assert!(!flow.is_confirmed, "{law}: {flow:?}");
        }
    }
}

/// Whether in a second of a law behind its router, whose word every ACK brings, one added more than a packet.
fn is_granted(law: &str, pair: &Pair, joined: bool) -> bool {
    let showed = second_of(law, pair);
    let heard = heard(&showed);
    assert!(heard.len() > 100, "{law}, joined: {joined}: {}", heard.len());
    for (ack, ..) in &heard {
        assert_eq!(ack.feedback.confirmed, 1, "{law}, joined: {joined}: {ack:?}");
    }
    let is_known = showed.flows.iter().any(|flow| flow.is_confirmed);
    assert!(is_known, "{law}: {:?}", showed.flows);
    heard.iter().any(|(_, before, after)| *after > before + 1)
}

#[test]
fn a_router_of_the_law_gives_its_word() {
    // Goal: behind a router of the law every ACK says that one saw the data, with segments joined and one by one, over
    // IPv4; and XCP's window grows by what is granted, more than a packet an ACK.
    if !possible(&["ip", "tc", "iperf3", "clang"]) {
        return;
    }
    for (law, joined) in [("vcp", false), ("vcp", true), ("xcp", false)] {
        let pair = Pair::new();
        if !joined {
            pair.one_segment();
        }
        let options = Options {
            device: pair.device(&pair.sender),
            law: law.to_owned(),
            capacity_bytes_per_s: 2_500_000,
            limit_bytes: 250_000,
            shaped: true,
            air_header_bytes: None,
            packet_bytes: None,
            tunnels: Vec::new(),
            closed: None,
        };
        let _router = Router::load(&compiled_here(law), options).expect("a router");
        // On a busy machine ACKs of a second may come so closely that each brings a small part of what is granted.
        let seconds = if law == "xcp" { 3 } else { 1 };
        let granted = (0..seconds).any(|_| is_granted(law, &pair, joined));
        assert!(law != "xcp" || granted, "XCP's window grows as granted");
    }
}
