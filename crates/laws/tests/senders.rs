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
fn vcp_multiplies_at_low_load() {
    // Goal: (1 + xi)^x - 1 per packet for each clamp, without bounds; 100,000 packets make the gain visible.
    let gains = [
        (0.0, 200_000, 6_250),
        (0.0, 400_000, 12_890),
        (0.0, 500_000, 16_365),
        (0.0, 2_000_000, 16_365),
        (1.0, 2_000_000, 83_353),
        (1.0, 4_000_000, 100_000),
        (2.0, 1_000_000, 35_408),
        (2.0, 1_600_000, 62_417),
        (2.0, 4_000_000, 236_184),
        (0.0, 10_000, 303),
    ];
    for (clamp, srtt_us, gain) in gains {
        let mut flow = Flow::new("vcp", &[("mi_clamp", clamp), ("bound", 3.0)], 100_000, 2);
        flow.srtt_us = srtt_us;
        // Two ACKs, because one counts at most 65,535 packets; the second half completes 100,000.
        flow.on_feedback(50_000, LOW);
        let grown = flow.on_feedback(50_000, LOW) - 100_000;
        assert!(
            grown.abs_diff(gain) <= 1,
            "clamp {clamp}, srtt {srtt_us} us: {grown} for {gain}"
        );
    }
}

#[test]
fn vcp_adds_at_high_load() {
    // Goal: alpha_s w per round trip, by the code's scale (t_d = 100 ms) and by the paper's (t_d = 200 ms, square),
    // without bounds.
    let steps = [
        (&[][..], 10_000, 20),
        (&[], 20_000, 40),
        (&[], 100_000, 1_000),
        (&[], 200_000, 4_000),
        (&[], 400_000, 16_000),
        (&[], 500_000, 25_000),
        (&[], 1_000_000, 30_000),
        (&[], 2_000_000, 40_000),
        (&[("td_us", 200_000.0), ("ai_scaling", 1.0)], 200_000, 1_000),
        (&[("td_us", 200_000.0), ("ai_scaling", 1.0)], 1_000_000, 25_000),
        (&[("td_us", 200_000.0), ("ai_scaling", 1.0)], 2_000_000, 100_000),
        (&[("ai_scaling", 2.0)], 2_000_000, 1_000),
        (&[("ai_scaling", 2.0), ("alpha", 3.0)], 50_000, 3_000),
        (&[("weight", 2.5)], 100_000, 2_500),
        (&[("alpha", 0.5)], 100_000, 500),
    ];
    for (pairs, srtt_us, thousandths) in steps {
        // 50 windows of a million packets, in ACKs of 500 so that none adds more than 2^16 packets times cwnd.
        let mut flow = Flow::new("vcp", &[pairs, &[("bound", 3.0)]].concat(), 1_000_000, 2);
        flow.srtt_us = srtt_us;
        for _ in 0..100_000 {
            flow.on_feedback(500, HIGH);
        }
        let grown = f64::from(flow.control.cwnd_pkts - 1_000_000);
        let expected = 50.0 * f64::from(thousandths) / 1000.0;
        assert!(
            (grown - expected).abs() <= 1.0 + expected * 0.003,
            "{pairs:?} {srtt_us} us: {grown} for {expected}"
        );
    }
}

#[test]
fn vcp_decreases_once_per_interval_and_round_trip() {
    // Goal: the machine of PROTOCOLS 1.2: a decrease, t_rho of freezing, a round trip in which overload adds.
    let mut flow = Flow::new("vcp", &[("bound", 3.0)], 1000, 2);
    flow.srtt_us = 195_000;
    // At 195 ms additive increase is 3.8 packets a round trip, which an ACK of a whole window adds at once; each ACK
    // here is of 1000 packets, of which a window's worth counts.
    let steps = [
        (0, OVER, 875, "decrease by an eighth"),
        (100, OVER, 875, "frozen"),
        (150, HIGH, 879, "high load still adds"),
        (199, OVER, 879, "frozen to the last millisecond"),
        (
            200,
            OVER,
            883,
            "overload adds for a round trip, whose 195 ms are rounded up to 200",
        ),
        (399, OVER, 887, "and adds"),
        (400, OVER, 776, "then the next decrease"),
        (450, LOW, 822, "low load multiplies, frozen or not"),
    ];
    for (now_ms, code, cwnd, what) in steps {
        flow.now_us = now_ms * 1000;
        let got = flow.on_feedback(1000, code);
        assert!(
            got.abs_diff(cwnd) <= 1,
            "at {now_ms} ms {what}: {cwnd} expected, got {got}"
        );
    }
    let mut smallest = Flow::new("vcp", &[], 1, 2);
    assert_eq!(smallest.on_feedback(1, OVER), 1);
}

/// L and M as their definition has them, in floating point: a power and a line between their values at powers of ten.
fn bounds(window: f64) -> (f64, f64) {
    const L: [f64; 8] = [0.1, 0.06, 0.04, 0.02, 0.01, 0.006, 0.004, 0.002];
    const M: [f64; 8] = [1.0, 0.5, 0.2, 0.1, 0.064, 0.044, 0.032, 0.024];
    let decade = (libm::log10(window) as usize).min(7);
    let next = (decade + 1).min(7);
    let digits = window / libm::pow(10.0, decade as f64) * 10.0;
    let digits = if window < 100.0 {
        digits.round()
    } else {
        digits.floor().min(100.0)
    };
    let at = libm::log10(digits / 10.0);
    (
        L[decade] * libm::pow(L[next] / L[decade], at),
        M[decade] + (M[next] - M[decade]) * at,
    )
}

#[test]
fn vcp_bounds_its_increase_by_the_window() {
    // Goal: what a packet adds is the smaller of the law's own increase and the release's table, at the nodes, between
    // them and beyond the last; each bound can be left out by itself.
    for cwnd in [
        1, 2, 5, 9, 10, 25, 99, 100, 248, 1000, 7500, 20_000, 150_000, 3_000_000, 40_000_000,
    ] {
        let (additive, multiplicative) = bounds(f64::from(cwnd));
        // Many packets where one is below what a float tells apart; they leave the first two digits as they are.
        let step = |pairs: &[(&str, f64)], code| {
            let mut flow = Flow::new("vcp", pairs, cwnd, 2);
            flow.srtt_us = 1_000_000;
            let acks = if cwnd < 100_000 { 1 } else { 500 };
            let before = flow.window();
            for _ in 0..acks {
                flow.on_feedback(1, code);
            }
            (flow.window() - before) / f64::from(acks)
        };
        let near = |found: f64, expected: f64| (found - expected).abs() <= 1e-4 * expected + 2e-9;
        let alone = 30.0 / f64::from(cwnd);
        for (bound, expected) in [
            (0.0, alone.min(additive)),
            (1.0, alone.min(additive)),
            (2.0, alone),
            (3.0, alone),
        ] {
            let found = step(&[("bound", bound)], HIGH);
            // A window that is not bounded moves while it grows.
            let tolerance = if expected == alone {
                0.06 * alone
            } else {
                1e-4 * expected
            };
            assert!(
                (found - expected).abs() <= tolerance + 2e-9,
                "bound {bound}, window {cwnd}: {found} for {expected}"
            );
        }
        let growth = |xi: f64| libm::pow(1.0 + xi, 2.5) - 1.0;
        for (bound, xi) in [
            (0.0, multiplicative.min(0.0625)),
            (1.0, 0.0625),
            (2.0, multiplicative.min(0.0625)),
        ] {
            let found = step(&[("bound", bound)], LOW);
            assert!(
                near(found, growth(xi)),
                "bound {bound}, window {cwnd}: {found} for {}",
                growth(xi)
            );
        }
        let wide = step(&[("kappa", 0.5)], LOW);
        let expected = growth(multiplicative.min(0.125));
        assert!(near(wide, expected), "kappa 1/2, window {cwnd}: {wide} for {expected}");
    }
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

#[test]
fn vcp_counts_acks_where_it_shall() {
    // Goal: the release adds once for an ACK, whatever it covers.
    let mut flow = Flow::new("vcp", &[("counting", 1.0)], 100, 2);
    let before = flow.window();
    flow.on_feedback(2, HIGH);
    let one = flow.window() - before;
    let mut flow = Flow::new("vcp", &[], 100, 2);
    flow.on_feedback(2, HIGH);
    let two = flow.window() - before;
    assert!((two - 2.0 * one).abs() < 1e-8, "{two} packets, and {one}");
}

#[test]
fn vcp_keeps_the_time_of_the_release() {
    // Goal: its timers round up from a remainder of 2 ms on. Update intervals of 101 and 102 ms, as rounded to whole ones,
    // after the first decrease, then a round trip of 100 ms.
    for (trho_us, interval_ms) in [(101_400.0, 100), (101_500.0, 110), (102_000.0, 110)] {
        let mut flow = Flow::new("vcp", &[("ticks", 1.0), ("trho_us", trho_us)], 1000, 2);
        flow.srtt_us = 100_000;
        assert_eq!(flow.on_feedback(1, OVER), 875);
        for (now_ms, decreases) in [
            (interval_ms - 1, false),
            (interval_ms + 99, false),
            (interval_ms + 100, true),
        ] {
            let cwnd = flow.control.cwnd_pkts;
            flow.now_us = now_ms * 1000;
            let decreased = flow.on_feedback(1, OVER) < cwnd;
            assert_eq!(decreased, decreases, "t_rho {trho_us} us, {now_ms} ms");
        }
    }
}

#[test]
fn vcp_sees_round_trips_in_ticks_as_the_release_does() {
    // Goal: a round trip is so often as the clock ticked meanwhile, and srtt the whole part of their mean: 392 ms are 390
    // or 400, and 392 on average. The pacing of two packets tells srtt.
    let mut flow = Flow::new("vcp", &[("ticks", 1.0)], 2, 2);
    flow.srtt_us = 392_000;
    let seen_ms: Vec<f64> = (0..10_000)
        .map(|k| {
            flow.now_us = 1_000_000 + k * 7_300;
            flow.on_feedback(0, HIGH);
            2.0 * f64::from(common::PACKET_BYTES) * 1e3 / flow.control.pacing_Bps as f64
        })
        .collect();
    assert!(
        seen_ms
            .iter()
            .all(|ms| (ms - 390.0).abs() < 0.1 || (ms - 400.0).abs() < 0.1),
        "{:?}",
        &seen_ms[..50]
    );
    let mean_ms = seen_ms.iter().sum::<f64>() / seen_ms.len() as f64;
    assert!((mean_ms - 392.0).abs() < 0.5, "{mean_ms}");
}

#[test]
fn vcp_paces_as_the_release_does() {
    // Goal: no pacing of a window of one packet, and intervals in whole ms, rounded down to ticks of 10 ms.
    for (cwnd, srtt_us, interval_ms) in [
        (1, 1_100_000, 0),
        (2, 1_099_999, 550),
        (2, 1_000_000, 500),
        (4, 1_100_000, 270),
        (8, 1_100_000, 130),
    ] {
        let mut flow = Flow::new("vcp", &[("pacing", 2.0)], cwnd, 2);
        flow.srtt_us = srtt_us;
        flow.on_feedback(0, LOW);
        let expected = if interval_ms == 0 { 0 } else { 1_040_000 / interval_ms };
        assert_eq!(flow.control.pacing_Bps, expected, "cwnd {cwnd}, srtt {srtt_us} us");
    }
}

#[test]
fn vcp_paces_small_windows_over_long_round_trips() {
    // Goal: one packet per srtt / 2^ceil(log2 cwnd) where that exceeds 100 ms, else no pacing.
    for (cwnd, srtt_us, pacing) in [
        (1, 1_100_000, 1040.0 / 1.1),
        (4, 1_100_000, 4160.0 / 1.1),
        (5, 1_100_000, 8320.0 / 1.1),
        (9, 1_100_000, 0.0),
        (2, 200_000, 0.0),
        (1, 200_000, 5200.0),
        (64, 6_500_000, 64.0 * 1040.0 / 6.5),
        (65, 60_000_000, 0.0),
    ] {
        let mut flow = Flow::new("vcp", &[], cwnd, 2);
        flow.srtt_us = srtt_us;
        flow.on_feedback(0, LOW);
        assert_eq!(flow.control.pacing_Bps, pacing as u64, "cwnd {cwnd}, srtt {srtt_us} us");
    }
    let mut flow = Flow::new("vcp", &[("pacing", 0.0)], 4, 2);
    flow.srtt_us = 1_100_000;
    flow.on_feedback(0, LOW);
    assert_eq!(flow.control.pacing_Bps, 0);
}

#[test]
fn vcp_answers_losses_as_chosen() {
    // Goal: half, an eighth less, or by the history of overload codes; a timeout halves always.
    assert_eq!(Flow::new("vcp", &[], 100, 2).on_loss(), 50);
    assert_eq!(Flow::new("vcp", &[("loss", 1.0)], 100, 2).on_loss(), 87);
    let mut flow = Flow::new("vcp", &[("loss", 2.0)], 100, 2);
    assert_eq!(flow.on_loss(), 100, "no congestion was reported: an error");
    for _ in 0..16 {
        assert_eq!(flow.on_loss(), 100, "fewer than 16 overload codes");
        flow.on_feedback(0, OVER);
    }
    assert_eq!(flow.on_loss(), 87, "16 overload codes in a row");
    flow.on_feedback(0, HIGH);
    assert_eq!(flow.on_loss(), 100);
    assert_eq!(flow.on_rto(), 50);
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
fn vcp_without_codes_is_reno() {
    // Goal: without feedback, or with cleared bits, there is no multiplicative increase; in recovery nothing moves.
    for bytes in [&[][..], &[0]] {
        let mut flow = Flow::new("vcp", &[], 100, 2);
        flow.srtt_us = 200_000;
        assert_eq!(flow.on_feedback(100, bytes), 101);
    }
    let mut flow = Flow::new("vcp", &[], 100, 2);
    flow.control.ca_state = abi::CA_RECOVERY;
    for code in [LOW, HIGH, OVER] {
        assert_eq!(flow.on_feedback(100, code), 100);
    }
    assert_eq!(flow.control.ecn, abi::ECN_ECT1, "data packets leave with low load");
}

#[test]
fn vcp_receiver_echoes_the_worst_code() {
    // Goal: the code of the packet, or the highest since the last ACK that had room for it.
    let law = fadelab_laws::receiver("vcp").expect("registered");
    let mut state = law.new_state();
    law.init(&mut state, 0);
    let mut echo = |codes: &[u32], written| {
        for &ecn in codes {
            law.on_data(
                &mut state,
                &abi::Data {
                    ecn,
                    ..Default::default()
                },
            );
        }
        let mut fill = abi::Fill::default();
        law.fill_ack(&mut state, &mut fill);
        law.ack_written(&mut state, written);
        assert_eq!((fill.feedback.len, fill.feedback.present), (1, 1));
        fill.feedback.bytes[0]
    };
    assert_eq!(echo(&[2], true), 2);
    assert_eq!(echo(&[1], true), 1);
    assert_eq!(echo(&[3, 1], false), 3);
    assert_eq!(echo(&[2], true), 3, "the overload found no room before");
    assert_eq!(echo(&[1], true), 1);
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
