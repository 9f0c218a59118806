//! Senders' laws as tables, computed by hand from the equations that their headers cite.

mod common;

use common::Flow;
use fadelab_laws::abi;

const LOW: &[u8] = &[1];
const HIGH: &[u8] = &[2];
const OVER: &[u8] = &[3];

#[test]
fn reno_grows_as_rfc_5681_says() {
    // Goal: one step of slow start and of congestion avoidance, for each way of counting.
    let step = |pairs: &[(&str, f64)], cwnd, ssthresh, acked| {
        let mut flow = Flow::new("reno", pairs, cwnd, ssthresh);
        flow.on_ack(&flow.ack(acked))
    };
    assert_eq!(step(&[], 2, 64, 1), 3);
    assert_eq!(step(&[], 2, 64, 2), 3, "RFC 5681 (2): at most one segment per ACK");
    assert_eq!(step(&[("limit_pkts", 2.0)], 2, 64, 2), 4, "RFC 3465 with L = 2");
    assert_eq!(
        step(&[("limit_pkts", 8.0)], 62, 64, 8),
        64,
        "slow start ends at ssthresh"
    );
    assert_eq!(step(&[], 10, 5, 10), 11, "a window's worth of segments adds one");
    assert_eq!(
        step(&[("counting", 1.0)], 10, 5, 10),
        10,
        "one ACK adds a tenth where ACKs count"
    );
}

#[test]
fn reno_keeps_the_fraction_of_its_window() {
    // Goal: 1/cwnd per ACK adds up to one packet in a round trip and a little, and a host's own change resets it.
    let mut flow = Flow::new("reno", &[], 10, 5);
    let windows: Vec<u32> = (0..11).map(|_| flow.on_ack(&flow.ack(1))).collect();
    assert_eq!(windows, [10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 11]);
    flow.control.cwnd_pkts = 4;
    flow.control.ssthresh_pkts = 4;
    assert_eq!(flow.on_ack(&flow.ack(3)), 4, "the old fraction would have made this 5");
}

#[test]
fn reno_stays_where_it_must() {
    // Goal: no growth in recovery, on duplicates, or while the application is the limit.
    let mut flow = Flow::new("reno", &[], 10, 64);
    assert_eq!(flow.on_ack(&flow.ack(0)), 10);
    let mut idle = flow.ack(1);
    idle.flags = 0;
    assert_eq!(flow.on_ack(&idle), 10);
    flow.control.ca_state = abi::CA_RECOVERY;
    assert_eq!(flow.on_ack(&flow.ack(5)), 10);
    flow.control.ca_state = abi::CA_LOSS;
    assert_eq!(flow.on_ack(&flow.ack(5)), 11, "after a timeout it slow-starts");
}

#[test]
fn reno_halves_on_losses_and_once_per_timeout() {
    // Goal: RFC 5681 (4), with its floor of two segments, and ssthresh held while the timer backs off.
    for (cwnd, ssthresh) in [(100, 50), (5, 2), (3, 2), (1, 2)] {
        assert_eq!(Flow::new("reno", &[], cwnd, 999).on_loss(), ssthresh);
        let mut flow = Flow::new("reno", &[], cwnd, 999);
        assert_eq!(flow.on_rto(), ssthresh, "from the window before the host lowered it");
        assert_eq!(flow.on_rto(), ssthresh, "a timeout of the same segment again");
    }
    let mut flow = Flow::new("reno", &[], 100, 999);
    flow.on_rto();
    flow.on_ack(&flow.ack(1));
    flow.control.cwnd_pkts = 20;
    flow.on_ack(&flow.ack(0));
    assert_eq!(flow.on_rto(), 10, "a new timeout after progress");
}

#[test]
fn reno_restarts_from_the_initial_window() {
    // Goal: RFC 5681 section 4.1, after the restart time only, and never upwards.
    let after = |cwnd, idle_us, pairs: &[(&str, f64)]| {
        let mut flow = Flow::new("reno", pairs, 3, 64);
        flow.control.cwnd_pkts = cwnd;
        flow.law
            .on_restart(&mut flow.state, &flow.params, idle_us, idle_us, &mut flow.control);
        flow.control.cwnd_pkts
    };
    assert_eq!(after(50, 1_000_000, &[]), 3);
    assert_eq!(after(50, 999_999, &[]), 50);
    assert_eq!(after(2, 5_000_000, &[]), 2);
    assert_eq!(after(50, 5_000_000, &[("restart_us", 0.0)]), 50);
}

#[test]
fn reno_counts_its_idleness_and_not_the_time() {
    // Goal: a host tells the law both, and the law restarts by the first, however late it is.
    let mut flow = Flow::new("reno", &[], 3, 64);
    flow.control.cwnd_pkts = 50;
    let mut restart = |idle_us| {
        flow.law
            .on_restart(&mut flow.state, &flow.params, 100_000_000, idle_us, &mut flow.control);
        flow.control.cwnd_pkts
    };
    assert_eq!((restart(999_999), restart(1_000_000)), (50, 3));
}

#[test]
fn an_ack_counts_for_a_window_at_most() {
    // Goal: after a timeout the window is one packet, and the ACK that jumps over what had arrived before adds what one
    // round trip does, for each law that grows by packets; VCP without a bound would add 30 times 30 packets.
    let one_ack = |law, pairs: &[(&str, f64)], acked, code: &[u8]| {
        let mut flow = Flow::new(law, pairs, 1, 1);
        flow.srtt_us = 1_000_000;
        flow.on_feedback(acked, code)
    };
    for (law, pairs, code) in [
        ("reno", &[][..], &[][..]),
        ("bic", &[], &[]),
        ("cubic", &[], &[]),
        ("vcp", &[], HIGH),
        ("vcp", &[("bound", 3.0)], HIGH),
        ("vcp", &[("bound", 3.0)], LOW),
    ] {
        let (one, many) = (one_ack(law, pairs, 1, code), one_ack(law, pairs, 30, code));
        assert_eq!(many, one, "{law} {pairs:?} {code:?}");
    }
}

/// What a loss leaves of 100 packets after ACKs that reported congestion (`1`) or none (`0`), oldest first.
fn after_loss(law: &str, params: &[(&str, f64)], history: &str) -> u32 {
    let mut flow = Flow::new(
        law,
        &[params, &[("loss", if law == "vcp" { 2.0 } else { 1.0 })]].concat(),
        100,
        2,
    );
    flow.control.ca_state = abi::CA_RECOVERY; // Which keeps the window where it is.
    let [congestion, none] = if law == "vcp" {
        [OVER, HIGH]
    } else {
        [&[0x80, 0, 0, 0][..], &[0; 4]]
    };
    for report in history.chars() {
        flow.on_feedback(0, if report == '1' { congestion } else { none });
    }
    flow.on_loss()
}

/// Parameters, reports from the oldest to the newest, and whether a loss then counts as congestion.
type HistoryCase<'a> = (&'a [(&'a str, f64)], String, bool);

#[test]
fn the_loss_history_has_two_forms() {
    // Goal: vcp-ton-2010 section IV-D by hand: T reports in a row, or anywhere among the last N; a report that is N
    // ACKs old has left; T above N is never reached. VCP then decreases by beta, XCP halves.
    let every_other = "10".repeat(16);
    let total = ("history_form", 1.0);
    let cases: [HistoryCase<'_>; 12] = [
        (&[], "1".repeat(16), true),
        (&[], format!("{}0", "1".repeat(31)), false),
        (&[], every_other.clone(), false),
        (&[total], every_other.clone(), true),
        (&[total], format!("{every_other}0"), false),
        (&[total], format!("{}{}", "1".repeat(16), "0".repeat(16)), true),
        (&[total], format!("{}{}", "1".repeat(16), "0".repeat(17)), false),
        (
            &[total, ("history_size", 8.0), ("history_acks", 3.0)],
            "10000011".to_owned(),
            true,
        ),
        (
            &[total, ("history_size", 8.0), ("history_acks", 3.0)],
            "100000110".to_owned(),
            false,
        ),
        (&[total, ("history_acks", 32.0)], "1".repeat(32), true),
        (&[total, ("history_size", 15.0)], "1".repeat(32), false),
        (&[("history_size", 15.0)], "1".repeat(32), false),
    ];
    for (params, history, congested) in cases {
        let expected = if congested { [87, 50] } else { [100, 100] };
        let found = ["vcp", "xcp"].map(|law| after_loss(law, params, &history));
        assert_eq!(found, expected, "{params:?} {history}");
    }
}

#[test]
fn cubic_follows_its_curve() {
    // Goal: after a loss at 1000 packets the window is 700 and then RFC 9438's W(t), K = cbrt(300 / 0.4) = 9.0856 s.
    let mut flow = Flow::new("cubic", &[("friendly", 0.0)], 1000, 2);
    flow.control.ssthresh_pkts = 1000;
    assert_eq!(flow.on_loss(), 700);
    flow.control.cwnd_pkts = 700;
    flow.srtt_us = 50_000;
    let k = libm::cbrt(300.0 / 0.4);
    for round in 0..400 {
        flow.now_us = round * 50_000;
        for _ in 0..10 {
            flow.on_ack(&flow.ack(flow.control.cwnd_pkts / 10));
        }
        // An ACK aims one round trip ahead; ten of them close 1 - (9/10)^10 = 65 % of what is missing.
        let t = round as f64 * 0.05;
        let (now, ahead) = (0.4 * (t - k).powi(3) + 1000.0, 0.4 * (t + 0.05 - k).powi(3) + 1000.0);
        let cwnd = f64::from(flow.control.cwnd_pkts);
        assert!(
            (now - 2.0..ahead + 1.0).contains(&cwnd),
            "at {t} s {cwnd}, curve {now} to {ahead}"
        );
    }
}

#[test]
fn cubic_is_at_least_reno() {
    // Goal: W_est of section 4.3 at a short round trip.
    let mut flow = Flow::new("cubic", &[], 100, 2);
    flow.on_loss();
    flow.control = abi::Control {
        cwnd_pkts: 70,
        ssthresh_pkts: 70,
        ..flow.control
    };
    flow.srtt_us = 1000;
    for round in 0..20 {
        flow.now_us = round * 1000;
        for _ in 0..flow.control.cwnd_pkts {
            flow.on_ack(&flow.ack(1));
        }
    }
    // 20 round trips at 3 (1 - 0.7) / (1 + 0.7) = 0.529 packets, while the cubic term has hardly moved.
    assert!(
        flow.control.cwnd_pkts.abs_diff(80) <= 1,
        "got {}",
        flow.control.cwnd_pkts
    );
}

#[test]
fn cubic_converges_fast() {
    // Goal: W_max lowered for a flow that loses ground; K = 0 after a timeout.
    let mut flow = Flow::new("cubic", &[("friendly", 0.0)], 100, 2);
    flow.on_loss();
    flow.control.cwnd_pkts = 80;
    assert_eq!(flow.on_loss(), 56);
    flow.control = abi::Control {
        cwnd_pkts: 56,
        ssthresh_pkts: 56,
        ..flow.control
    };
    flow.srtt_us = 100_000;
    // W_max = 80 * 1.7 / 2 = 68, K = cbrt(12 / 0.4) = 3.107 s: at K the window is back at 68.
    for tenth in 0..=31 {
        flow.now_us = tenth * 100_000;
        for _ in 0..flow.control.cwnd_pkts {
            flow.on_ack(&flow.ack(1));
        }
    }
    assert!(
        flow.control.cwnd_pkts.abs_diff(68) <= 1,
        "got {}",
        flow.control.cwnd_pkts
    );

    assert!(
        flow.on_rto().abs_diff(47) <= 1,
        "a timeout leaves 0.7 of the window before it"
    );
    flow.control = abi::Control {
        cwnd_pkts: 47,
        ssthresh_pkts: 47,
        ca_state: abi::CA_OPEN,
        ..flow.control
    };
    flow.now_us = 10_000_000;
    flow.on_ack(&flow.ack(1));
    flow.now_us += 1_000_000;
    // K = 0 from a window of 47: one second later the curve is at 47.4, and aims at 0.4 * 1.1^3 = 0.53 above.
    for _ in 0..200 {
        flow.on_ack(&flow.ack(1));
    }
    assert_eq!(flow.control.cwnd_pkts, 47);
    flow.now_us += 1_000_000;
    for _ in 0..400 {
        flow.on_ack(&flow.ack(1));
    }
    assert!(
        flow.control.cwnd_pkts.abs_diff(50) <= 1,
        "0.4 * 2.1^3 = 3.7 above 47, got {}",
        flow.control.cwnd_pkts
    );
}

#[test]
fn cubic_rises_at_once_to_a_lowered_maximum() {
    // Goal: W_max of a flow that loses ground is (1 + beta) / 2 of its window (section 4.7), seen halfway to K: a
    // curve that starts flat from the window after the loss is far below it there, and meets it at K.
    let mut flow = Flow::new("cubic", &[("friendly", 0.0)], 100, 2);
    flow.on_loss();
    flow.control.cwnd_pkts = 80;
    flow.on_loss();
    flow.control.cwnd_pkts = 56;
    flow.srtt_us = 100_000;
    for tenth in 0..=15 {
        flow.now_us = tenth * 100_000;
        for _ in 0..flow.control.cwnd_pkts {
            flow.on_ack(&flow.ack(1));
        }
    }
    // W_max = 68, K = 3.107 s: at 1.5 s and a round trip ahead 68 - 0.4 * 1.507^3 = 66.6; from 56 on it would be 57.6.
    assert!(
        flow.control.cwnd_pkts.abs_diff(66) <= 1,
        "got {}",
        flow.control.cwnd_pkts
    );
}
