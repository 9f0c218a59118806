//! VCP's sender and receiver as tables, computed by hand from the equations that the header cites.

mod common;

use common::{Flow, feedback};
use fadelab_laws::abi;

const LOW: &[u8] = &[1];
const HIGH: &[u8] = &[2];
const OVER: &[u8] = &[3];

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
            let tolerance = if expected >= alone {
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
    // Goal: its timers round up from a remainder of 2 ms on. Update intervals of 101 and 102 ms, as rounded to whole
    // ones, after the first decrease, then a round trip of 100 ms.
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
    // Goal: a round trip is as many ticks as the clock made meanwhile, and srtt the whole part of their mean: 392 ms
    // are 390 or 400, and 392 on average. The pacing of two packets tells srtt.
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
        let expected = 1_040_000_u64.checked_div(interval_ms).unwrap_or(0);
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
fn vcp_is_reno_where_no_router_confirms() {
    // Goal: the code that a sender begins with says low load. Where no router saw it, it comes back as it left, and the
    // window grows as that of the law `reno` does; an overload that nobody confirmed is no reason to decrease.
    for code in [LOW, HIGH, OVER] {
        let [mut vcp, mut reno] = ["vcp", "reno"].map(|law| Flow::new(law, &[], 2, 16));
        (vcp.srtt_us, reno.srtt_us) = (50_000, 50_000);
        for ack_n in 0..300 {
            let mut ack = vcp.ack(1);
            ack.feedback = feedback(code);
            ack.feedback.confirmed = 0;
            assert_eq!(vcp.on_ack(&ack), reno.on_ack(&ack), "{code:?}, ACK {ack_n}");
        }
    }
}

#[test]
fn vcp_receiver_passes_a_routers_word_on() {
    // Goal: an echo is confirmed where a router saw the newest packet, and only there.
    let law = fadelab_laws::receiver("vcp").expect("registered");
    let mut state = law.new_state();
    for confirmed in [1, 0, 1] {
        let mut data = abi::Data {
            ecn: 1,
            ..Default::default()
        };
        data.feedback.confirmed = confirmed;
        law.on_data(&mut state, &data);
        let mut fill = abi::Fill::default();
        law.fill_ack(&mut state, &mut fill);
        assert_eq!(fill.feedback.confirmed, confirmed);
    }
}
