//! The laws of tests/laws: parts of the interface that no registered protocol uses yet.

mod common;

use common::{Flow, Hop, PACKET_BYTES, data};
use fadelab_laws::{State, abi};

#[test]
fn pacing_passes_through_and_survives_recovery() {
    // Goal: a law that paces and owns recovery decides rate and window in every state.
    let mut flow = Flow::new("paced", &[("rate_Bps", 250_000.0), ("window_pkts", 50.0)], 2, 64);
    assert_eq!((flow.control.pacing_Bps, flow.control.cwnd_pkts), (250_000, 50));
    assert_eq!(flow.law.flags(), abi::SENDER_OWNS_RECOVERY | abi::SENDER_PACED);
    flow.control = abi::Control {
        cwnd_pkts: 7,
        ca_state: abi::CA_RECOVERY,
        ..Default::default()
    };
    assert_eq!(flow.on_ack(&flow.ack(1)), 50);
    assert_eq!(flow.control.pacing_Bps, 250_000);
    flow.on_rto();
    assert_eq!(flow.control.cwnd_pkts, 50);
}

#[test]
fn receiver_timestamps_give_the_rate() {
    // Goal: 1040 bytes every 10 ms of the receiver's clock are 104 kB/s, however the ACKs were bunched on their way,
    // and also when the clock wraps; the window settles at rate times round trip.
    for first in [0u32, u32::MAX - 50] {
        let mut flow = Flow::new("ts_rate", &[], 4, 64);
        flow.srtt_us = 100_000;
        for number in 0..400u32 {
            let mut ack = flow.ack(1);
            // Pairs of ACKs arrive together; what they say of the receiver's time is undisturbed.
            ack.now_us = u64::from(number / 2) * 20_000;
            ack.ts_val = first.wrapping_add(number * 10);
            flow.on_ack(&ack);
        }
        // 104 kB/s * 100 ms / 1040 bytes = 10 packets, rounded down.
        assert!(
            (9..=10).contains(&flow.control.ssthresh_pkts),
            "{}",
            flow.control.ssthresh_pkts
        );
    }
    let mut coarse = Flow::new("ts_rate", &[("peer_tick_us", 10_000.0)], 4, 64);
    coarse.srtt_us = 100_000;
    for number in 0..400 {
        let ack = abi::Ack {
            ts_val: number,
            ..coarse.ack(1)
        };
        coarse.on_ack(&ack);
    }
    assert!(
        (9..=10).contains(&coarse.control.ssthresh_pkts),
        "the tick is a parameter: the peer does not tell it"
    );
}

/// Code points that two packets carry through routers: the half of role 0, then that of role 1.
fn carried(hops: &[&Hop]) -> [u8; 2] {
    [0, 1].map(|role| {
        let mut packet = abi::Packet {
            role,
            ..data(abi::WIRE_RCP, 0, PACKET_BYTES)
        };
        for hop in hops {
            (*hop).clone().dequeue(&mut packet);
        }
        packet.ecn
    })
}

/// A pair router after an interval at `percent` of 250 kB/s.
fn loaded(percent: u32) -> Hop {
    let mut hop = Hop::new(
        "pair",
        &[],
        &abi::Link {
            capacity_Bps: 250_000,
            ..Default::default()
        },
    );
    hop.enqueue(&mut data(abi::WIRE_NONE, 0, 500 * percent));
    hop.timer(0, 200_000);
    hop
}

#[test]
fn pair_code_survives_two_packets_and_two_routers() {
    // Goal: each level's halves, the maximum of each half over two routers, and its property: never below the true
    // maximum, at most three levels above, exact where the most significant halves agree.
    let levels = [0, 12, 22, 35, 45, 55, 65, 75, 82, 87, 92, 97, 102, 107, 112, 130];
    for (level, percent) in levels.into_iter().enumerate() {
        assert_eq!(
            carried(&[&loaded(percent)]),
            [level as u8 >> 2, level as u8 & 3],
            "{percent} %"
        );
    }
    for a in 0..16 {
        for b in 0..16 {
            let [most, least] = carried(&[&loaded(levels[a]), &loaded(levels[b])]).map(usize::from);
            let (joined, largest) = (most << 2 | least, a.max(b));
            assert!((largest..=largest + 3).contains(&joined), "{a} and {b} give {joined}");
            assert!(
                a >> 2 != b >> 2 || joined == largest,
                "{a} and {b} agree in their first half"
            );
        }
    }
}

#[test]
fn pair_receiver_and_sender_join_the_halves() {
    // Goal: nothing happens before both halves are known; then low load multiplies, high adds, overload decreases.
    let law = fadelab_laws::receiver("pair").expect("registered");
    let mut state = law.new_state();
    let mut echo = |role, ecn| {
        law.on_data(
            &mut state,
            &abi::Data {
                role,
                ecn,
                ..Default::default()
            },
        );
        let mut fill = abi::Fill::default();
        law.fill_ack(&mut state, &mut fill);
        fill.feedback
    };
    let mut flow = Flow::new("pair", &[], 160, 2);
    flow.srtt_us = 100_000;
    let mut step = |feedback: abi::Feedback| {
        let ack = abi::Ack {
            feedback,
            ..flow.ack(160)
        };
        flow.on_ack(&ack)
    };
    assert_eq!(step(echo(0, 1)), 160, "half a code is no code");
    assert_eq!(step(echo(1, 3)), 170, "level 7, 80 %: a sixteenth more");
    assert_eq!(
        step(echo(0, 2)),
        170,
        "level 11, below 100 %: 160 of 170 packets add less than one"
    );
    assert_eq!(step(echo(1, 0)), 171, "level 8: one packet a round trip");
    assert!(step(echo(0, 3)).abs_diff(150) <= 1, "level 12: an eighth less");
    assert!(step(echo(0, 3)).abs_diff(150) <= 1, "once per round trip");
}

#[test]
fn large_state_counts_round_trips() {
    // Goal: more state than a socket has, filled and read back; round trips are counted by delivered packets.
    let mut flow = Flow::new("rounds", &[], 10, 64);
    assert!(flow.law.state_bytes() > abi::STATE_BYTES_MAX);
    assert!(flow.law.flags() & abi::SENDER_SOCKET_STORAGE != 0);
    let mut delivered = 0u64;
    let mut round = |flow: &mut Flow, pkts: u64| {
        let ack = abi::Ack {
            rate_interval_us: 1000,
            rate_prior_delivered_pkts: delivered,
            delivered_total_pkts: delivered + pkts,
            ..flow.ack(pkts as u32)
        };
        delivered += pkts;
        flow.on_ack(&ack)
    };
    assert_eq!(round(&mut flow, 20), 40);
    assert_eq!(round(&mut flow, 35), 70);
    for _ in 0..31 {
        assert_eq!(round(&mut flow, 5), 70, "the best of 32 rounds counts");
    }
    assert_eq!(round(&mut flow, 5), 10, "and then is forgotten");
}

#[test]
fn only_laws_with_large_state_need_socket_storage() {
    // Goal: the flag and the size say the same, so that a kernel host can rely on either.
    for law in fadelab_laws::senders() {
        let large = law.state_bytes() > abi::STATE_BYTES_MAX;
        assert_eq!(large, law.flags() & abi::SENDER_SOCKET_STORAGE != 0, "{}", law.name());
    }
    assert!(fadelab_laws::router("droptail").expect("registered").is_passive());
    assert!(!fadelab_laws::router("red").expect("registered").is_passive());
}

#[test]
fn memory_is_whole_words() {
    // Goal: a state is zeroed and has room for all that a law asks for, also where that is no whole number of words.
    for bytes in [0, 1, 7, 8, 9, 96, 97] {
        let state = State::new(bytes);
        let room = bytes as usize..bytes as usize + 8;
        assert!(room.contains(&state.bytes()), "{} for {bytes}", state.bytes());
        assert!(state.words().iter().all(|&word| word == 0));
    }
}

#[test]
#[should_panic(expected = "the state belongs to another law")]
fn memory_of_another_law_is_refused() {
    // Goal: a law never writes beyond the memory that it is given.
    let mut flow = Flow::new("cubic", &[], 10, 64);
    flow.state = fadelab_laws::sender("reno").expect("registered").new_state();
    flow.on_rto();
}

#[test]
#[should_panic(expected = "the parameters belong to another law")]
fn parameters_of_another_law_are_refused() {
    // Goal: a law never reads beyond the parameters that it is given.
    let mut flow = Flow::new("cubic", &[], 10, 64);
    flow.params = fadelab_laws::sender("reno").expect("registered").default_params();
    flow.on_rto();
}
