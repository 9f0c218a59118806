//! XCP's sender and receiver, step by step against their equations.

mod common;

use common::{Flow, feedback};
use fadelab_laws::abi;

#[test]
fn xcp_sender_tells_its_round_trip_and_applies_feedback_once() {
    // Goal: header fields with 28 fractional bits, cwnd += feedback * srtt / size, floor 1, repeats ignored.
    let mut flow = Flow::new("xcp", &[], 8, 64);
    let mut send = abi::Send {
        srtt_us: 0,
        ..Default::default()
    };
    flow.law
        .on_send(&mut flow.state, &flow.params, &mut send, &mut flow.control);
    assert_eq!(
        send.feedback.bytes[..12],
        [0; 12],
        "no round trip yet: nothing can be asked for"
    );
    send.srtt_us = 100_000;
    flow.law
        .on_send(&mut flow.state, &flow.params, &mut send, &mut flow.control);
    let field = |at: usize| u32::from_be_bytes(send.feedback.bytes[at..at + 4].try_into().expect("four bytes"));
    assert_eq!((field(0), field(4), field(8)), (26_843_546, 3_355_443, 0x7fff_ffff));
    assert_eq!((send.feedback.len, send.feedback.present), (12, 1));

    flow.srtt_us = 100_000;
    let plus_two = 20_800i32.to_be_bytes();
    assert_eq!(flow.on_feedback(1, &plus_two), 10);
    let mut repeated = flow.ack(1);
    repeated.feedback = feedback(&plus_two);
    repeated.feedback.present = 0;
    assert_eq!(flow.on_ack(&repeated), 10);
    assert_eq!(flow.on_feedback(1, &(-10_400i32).to_be_bytes()), 9);
    assert_eq!(flow.on_feedback(1, &i32::MIN.to_be_bytes()), 1);
    flow.control.ca_state = abi::CA_RECOVERY;
    assert_eq!(flow.on_feedback(1, &plus_two), 1);
}

#[test]
fn xcp_tells_the_distance_of_the_packets_that_leave() {
    // Goal: a window of 2.9 packets lets two leave in a round trip, so X is half of it, and the X of one add up to it.
    let mut flow = Flow::new("xcp", &[], 2, 64);
    flow.srtt_us = 100_000;
    assert_eq!(flow.on_feedback(1, &9_360i32.to_be_bytes()), 2, "0.9 packets more");
    let mut send = abi::Send {
        srtt_us: 100_000,
        ..Default::default()
    };
    flow.law
        .on_send(&mut flow.state, &flow.params, &mut send, &mut flow.control);
    let x_q28 = u32::from_be_bytes(send.feedback.bytes[4..8].try_into().expect("four bytes"));
    assert_eq!(x_q28, 26_843_546 / 2);
}

#[test]
fn xcp_hears_duplicates_unless_it_is_told_not_to() {
    // Goal: feedback = "new", as in ns-2, passes over ACKs that acknowledge nothing new; by default all count.
    let plus_two = 20_800i32.to_be_bytes();
    for (choice, duplicate, new) in [(0.0, 10, 12), (1.0, 8, 10)] {
        let mut flow = Flow::new("xcp", &[("feedback", choice)], 8, 64);
        flow.srtt_us = 100_000;
        assert_eq!(flow.on_feedback(0, &plus_two), duplicate);
        assert_eq!(flow.on_feedback(1, &plus_two), new);
    }
}

#[test]
fn xcp_adds_up_small_feedback() {
    // Goal: fractions of a packet are kept; 10,000 times 10.4 B/s at 10 ms is one packet.
    let mut flow = Flow::new("xcp", &[], 5, 64);
    flow.srtt_us = 10_000;
    for _ in 0..10_400 {
        flow.on_feedback(1, &10i32.to_be_bytes());
    }
    assert_eq!(
        flow.control.cwnd_pkts, 5,
        "10,400 times 10 B/s is one packet but for rounding"
    );
    flow.on_feedback(1, &10i32.to_be_bytes());
    assert_eq!(flow.control.cwnd_pkts, 6);
}

#[test]
fn xcp_receiver_sums_until_an_ack_carries_it() {
    // Goal: the sum of deltas is preserved: not written, it stays; beyond 32 bits, the rest follows.
    let law = fadelab_laws::receiver("xcp").expect("registered");
    let mut state = law.new_state();
    let mut exchange = |deltas: &[i32], written| {
        for delta in deltas {
            let mut bytes = [0; 12];
            bytes[8..].copy_from_slice(&delta.to_be_bytes());
            law.on_data(
                &mut state,
                &abi::Data {
                    feedback: feedback(&bytes),
                    ..Default::default()
                },
            );
        }
        let mut fill = abi::Fill::default();
        law.fill_ack(&mut state, &mut fill);
        law.ack_written(&mut state, written);
        i32::from_be_bytes(fill.feedback.bytes[..4].try_into().expect("four bytes"))
    };
    assert_eq!(exchange(&[5, -7, 100], true), 98);
    assert_eq!(exchange(&[3], false), 3);
    assert_eq!(exchange(&[4], true), 7);
    assert_eq!(exchange(&[i32::MAX, 10], true), i32::MAX);
    assert_eq!(exchange(&[], true), 10);
    assert_eq!(exchange(&[], true), 0);
}
