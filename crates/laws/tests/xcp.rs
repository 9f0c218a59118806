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

/// A grant of half the largest number that 32 bits hold, which no honest router gives.
const HUGE: [u8; 4] = (i32::MAX / 2).to_be_bytes();

/// A round trip of a window of ACKs, each with this grant; returns the window.
fn round(flow: &mut Flow, grant: &[u8]) -> u32 {
    flow.now_us += u64::from(flow.srtt_us);
    for _ in 0..flow.control.cwnd_pkts {
        flow.on_feedback(1, grant);
    }
    flow.control.cwnd_pkts
}

#[test]
fn xcp_is_reno_where_no_router_confirms() {
    // Goal: a request that comes back as it left, a grant that nobody confirmed or that is old, and no feedback at all
    // each leave a window that grows as that of the law `reno` does, in slow start and behind it.
    type Change = fn(&mut abi::Feedback);
    let cases: [Change; 4] = [
        |feedback| feedback.confirmed = 0,
        |feedback| *feedback = abi::Feedback::default(),
        |feedback| (feedback.present, feedback.confirmed) = (0, 0),
        |feedback| (feedback.present, feedback.age_us) = (0, 1_000_001),
    ];
    for (case, change) in cases.iter().enumerate() {
        let [mut xcp, mut reno] = ["xcp", "reno"].map(|law| Flow::new(law, &[], 2, 16));
        (xcp.srtt_us, reno.srtt_us) = (100_000, 100_000);
        for ack_n in 0..300 {
            let mut ack = xcp.ack(1);
            ack.feedback = feedback(&HUGE);
            change(&mut ack.feedback);
            let window = xcp.on_ack(&ack);
            assert_eq!(window, reno.on_ack(&ack), "case {case}, ACK {ack_n}");
        }
        assert!(xcp.control.cwnd_pkts > 20, "{}", xcp.control.cwnd_pkts);
    }
}

#[test]
fn feedback_counts_for_four_round_trips() {
    // Goal: an ACK that found no room for its feedback is no reason to turn to Reno, however long the round trip.
    for (srtt_us, age_us, grows) in [
        (100_000, 1_000_000, false),
        (600_000, 2_400_000, false),
        (600_000, 2_400_001, true),
    ] {
        let mut flow = Flow::new("xcp", &[], 8, 64);
        flow.srtt_us = srtt_us;
        let mut ack = flow.ack(1);
        ack.feedback = feedback(&HUGE);
        (ack.feedback.present, ack.feedback.age_us) = (0, age_us);
        assert_eq!(flow.on_ack(&ack) > 8, grows, "{srtt_us} {age_us}");
    }
}

#[test]
fn a_grant_leads_to_twice_what_is_delivered_and_ten_more() {
    // Goal: whatever a router grants, or somebody who forges it, a window that delivers n packets in a round trip ends
    // at 2 n + 10, and one that was larger stays; `grants = "all"` takes what comes.
    let mut flow = Flow::new("xcp", &[], 8, 64);
    flow.srtt_us = 100_000;
    assert_eq!(
        flow.on_feedback(1, &HUGE),
        12,
        "the first ACK ends a round trip, in which it delivered one"
    );
    // Within a round trip of 100 ms each ACK delivers one more; then the round before counts as long as it is more.
    for delivered in 1..=50 {
        assert_eq!(flow.on_feedback(1, &HUGE), 2 * delivered + 10);
    }
    flow.now_us = 100_000;
    assert_eq!(flow.on_feedback(1, &HUGE), 2 * 51 + 10);
    flow.control.cwnd_pkts = 500;
    assert_eq!(flow.on_feedback(1, &HUGE), 500);
    let mut flow = Flow::new("xcp", &[("grants", 1.0)], 8, 64);
    flow.srtt_us = 100_000;
    assert!(flow.on_feedback(1, &HUGE) > 100_000);
}

#[test]
fn a_grant_leads_to_no_more_than_the_receiver_takes() {
    // Goal: whatever is granted, the window ends at the receiver's where that is told; one that was larger stays.
    for (rwnd_pkts, most_pkts) in [(0, 12), (11, 11), (12, 12), (9, 9), (5, 8)] {
        let mut flow = Flow::new("xcp", &[], 8, 64);
        flow.srtt_us = 100_000;
        let mut ack = flow.ack(1);
        (ack.feedback, ack.rwnd_pkts) = (feedback(&HUGE), rwnd_pkts);
        assert_eq!(flow.on_ack(&ack), most_pkts, "{rwnd_pkts}");
    }
}

#[test]
fn grants_that_lead_to_losses_give_way_to_reno() {
    // Goal: behind a loss a window grows by a packet a round trip for 32 round trips, whatever is granted; behind a
    // loss that follows the grants after these for 64, and so on up to 2048; a loss within them adds nothing; so many
    // round trips without a loss take one step back; a router that takes back more than it gives in a round trip is
    // believed at once, and its negative feedback always.
    let mut flow = Flow::new("xcp", &[], 100, 2);
    flow.srtt_us = 100_000;
    let rounds_of_reno = |flow: &mut Flow| {
        (flow.control.cwnd_pkts, flow.control.ssthresh_pkts) = (100, 50);
        // The first ACK ends the round trip of the loss, which counts.
        let mut rounds = 1;
        while round(flow, &HUGE) <= 100 + rounds {
            rounds += 1;
        }
        rounds
    };
    flow.on_loss();
    round(&mut flow, &HUGE);
    flow.on_rto();
    flow.control.ca_state = abi::CA_OPEN;
    for rounds in [32, 64, 128, 256, 512, 1024, 2048, 2048] {
        assert_eq!(
            rounds_of_reno(&mut flow),
            rounds,
            "of two losses at first the second was Reno's"
        );
        flow.on_loss();
    }
    rounds_of_reno(&mut flow);
    for _ in 0..2050 {
        flow.control.cwnd_pkts = 1;
        round(&mut flow, &[0; 4]);
    }
    flow.on_loss();
    assert_eq!(rounds_of_reno(&mut flow), 2048, "one step back, and one up");
    flow.on_loss();
    round(&mut flow, &[0; 4]);
    flow.control.cwnd_pkts = 100;
    assert_eq!(flow.on_feedback(1, &(-10_400i32).to_be_bytes()), 99);
    round(&mut flow, &[0; 4]);
    flow.on_loss();
    assert_eq!(rounds_of_reno(&mut flow), 32, "as if there had been no loss before");
}

/// Grants of a router that wants the flow to have `share_pkts`, one in a round trip, until it has; tells how many.
fn steer(flow: &mut Flow, share_pkts: f64) -> u32 {
    for rounds in 1..100 {
        let missing_pkts = share_pkts - flow.window();
        let feedback_bytes_per_s = missing_pkts * f64::from(common::PACKET_BYTES) / (f64::from(flow.srtt_us) / 1e6);
        flow.on_feedback(1, &(feedback_bytes_per_s.round() as i32).to_be_bytes());
        round(flow, &[0; 4]);
        if (flow.window() - share_pkts).abs() < 0.01 {
            return rounds;
        }
    }
    panic!(
        "an honest router does not bring {} packets to {share_pkts}",
        flow.window()
    );
}

#[test]
fn forged_grants_are_forgotten_with_the_next_honest_ones() {
    // Goal: whatever forged grants said, and for how long, an honest router takes a window that they raised back with
    // its next grant, and raises one that they lowered within the bound for grants; from there windows, losses and what
    // follows from them are those of a flow that never heard a forged word.
    const SHARE_PKTS: u32 = 40;
    type Forged = fn(u32) -> i32;
    let forgeries: [(Forged, u32); 4] = [
        (|_| i32::MAX, 1),
        (|_| i32::MIN, 3),
        (|word| if word % 2 == 0 { i32::MAX } else { i32::MIN }, 3),
        (|word| word.wrapping_mul(2_654_435_761).cast_signed(), 3),
    ];
    for (case, (forged, rounds_max)) in forgeries.iter().enumerate() {
        let [mut deceived, mut spared] = [(); 2].map(|()| {
            let mut flow = Flow::new("xcp", &[], SHARE_PKTS, 64);
            flow.srtt_us = 100_000;
            steer(&mut flow, SHARE_PKTS.into());
            flow
        });
        for word in 0..500 {
            deceived.now_us += 10_000;
            deceived.on_feedback(1, &forged(word).to_be_bytes());
        }
        let rounds = steer(&mut deceived, SHARE_PKTS.into());
        assert!(rounds <= *rounds_max, "case {case}: {rounds} round trips");
        // The loss history has 32 ACKs; the round trip in which the steering ended is over with the first of these.
        for _ in 0..40 {
            round(&mut deceived, &[0; 4]);
        }
        spared.now_us = deceived.now_us;
        for _ in 0..40 {
            round(&mut spared, &[0; 4]);
        }
        for step in 0..200i32 {
            let grant = ((step * 7919 % 41 - 20) * 5_200).to_be_bytes();
            let mut windows = [&mut deceived, &mut spared].map(|flow| {
                if step % 67 == 66 {
                    flow.on_loss();
                }
                round(flow, &grant);
                flow.window()
            });
            windows.sort_by(f64::total_cmp);
            assert!(windows[1] - windows[0] < 0.05, "case {case}, step {step}: {windows:?}");
        }
    }
}

#[test]
fn xcp_receiver_keeps_a_request_that_no_router_saw() {
    // Goal: deltas of packets without a router's word are the sender's own and add nothing; the ACK says so, and what
    // was granted before waits for one that may carry it.
    let law = fadelab_laws::receiver("xcp").expect("registered");
    let mut state = law.new_state();
    let mut exchange = |delta: i32, confirmed| {
        let mut bytes = [0; 12];
        bytes[8..].copy_from_slice(&delta.to_be_bytes());
        let data = abi::Data {
            feedback: abi::Feedback {
                confirmed,
                ..feedback(&bytes)
            },
            ..Default::default()
        };
        law.on_data(&mut state, &data);
        let mut fill = abi::Fill::default();
        law.fill_ack(&mut state, &mut fill);
        law.ack_written(&mut state, confirmed == 0);
        let sum = i32::from_be_bytes(fill.feedback.bytes[..4].try_into().expect("four bytes"));
        (sum, fill.feedback.confirmed)
    };
    assert_eq!(exchange(i32::MAX, 0), (0, 0));
    assert_eq!(exchange(5, 1), (5, 1), "which finds no room");
    assert_eq!(exchange(i32::MAX, 0), (0, 0));
    assert_eq!(exchange(7, 1), (12, 1));
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
