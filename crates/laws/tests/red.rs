//! RED as a table, computed by hand from the equations that its header cites.

mod common;

use common::{Hop, data};
use fadelab_laws::abi;

/// 2 Mbit/s.
fn link() -> abi::Link {
    abi::Link {
        capacity_Bps: 250_000,
        limit_bytes: 60_000,
        packet_bytes: 1000,
        ..Default::default()
    }
}

/// Thresholds at 5 and 15 packets, the queue itself as the average, packets as the unit.
const RED: &[(&str, f64)] = &[
    ("min_pkts", 5.0),
    ("max_pkts", 15.0),
    ("q_w", 1.0),
    ("bytes", 0.0),
    ("mean_bytes", 1000.0),
];

/// A RED router that has seen `arrivals` packets at a queue of `queue_pkts`, none of them chosen.
fn red_after(more: &[(&str, f64)], arrivals: u32, queue_pkts: u32) -> Hop {
    let mut hop = Hop::new("red", &[RED, more].concat(), &link());
    hop.queue.queue_pkts = queue_pkts;
    hop.queue.random = u32::MAX;
    for _ in 0..arrivals {
        hop.enqueue(&mut data(abi::WIRE_NONE, 2, 1000));
    }
    hop
}

/// Probability that the next arrival is marked, and that it is dropped.
fn red_probabilities(hop: &Hop, ecn: u32) -> (f64, f64) {
    let marked = hop.probability(|hop| {
        let mut packet = data(abi::WIRE_NONE, ecn, 1000);
        hop.enqueue(&mut packet) == abi::PASS && u32::from(packet.ecn) != ecn
    });
    (
        marked,
        hop.probability(|hop| hop.enqueue(&mut data(abi::WIRE_NONE, ecn, 1000)) == abi::DROP),
    )
}

#[test]
fn red_chooses_by_the_average_queue() {
    // Goal: p_b between the thresholds, p_a with and without wait, gentle above, marks and drops where each belongs.
    let free = &[("wait", 0.0)][..];
    for (more, arrivals, queue_pkts, ecn, marked, dropped) in [
        (free, 50, 4, 2, 0.0, 0.0),
        (free, 0, 10, 2, 0.0, 0.0),
        (free, 1, 10, 2, 0.05 / (1.0 - 0.1), 0.0),
        (free, 1, 10, 0, 0.0, 0.05 / (1.0 - 0.1)),
        (&[("wait", 0.0), ("ecn", 0.0)], 1, 10, 2, 0.0, 0.05 / (1.0 - 0.1)),
        (free, 8, 10, 2, 0.05 / (1.0 - 0.45), 0.0),
        (free, 18, 10, 2, 1.0, 0.0),
        (&[], 18, 10, 2, 0.0, 0.0),
        (&[], 20, 10, 2, 0.05 / (2.0 - 1.05), 0.0),
        (&[], 29, 10, 2, 0.05 / (2.0 - 1.5), 0.0),
        (&[], 38, 10, 2, 1.0, 0.0),
        // Gentle: p_b = 0.1 + 0.9 (20 - 15) / 15 = 0.4, above mark_p.
        (&[], 2, 20, 2, 0.0, 0.4 / (2.0 - 1.2)),
        (&[("use_mark_p", 0.0)], 2, 20, 2, 0.4 / (2.0 - 1.2), 0.0),
        (&[("gentle", 0.0)], 0, 15, 2, 0.0, 1.0),
        (&[], 0, 30, 2, 0.0, 1.0),
    ] {
        let (got_marked, got_dropped) = red_probabilities(&red_after(more, arrivals, queue_pkts), ecn);
        let close = (got_marked - marked).abs() < 1e-6 && (got_dropped - dropped).abs() < 1e-6;
        assert!(
            close,
            "{more:?} after {arrivals} at {queue_pkts}: {got_marked} {got_dropped} for {marked} {dropped}"
        );
    }
}

#[test]
fn red_counts_what_it_drops_right_away() {
    // Goal: arrivals beyond the thresholds are arrivals since the last mark, so that the next one is the likelier.
    let mut hop = red_after(&[("wait", 0.0)], 1, 10);
    hop.queue.queue_pkts = 30;
    for _ in 0..5 {
        assert_eq!(hop.enqueue(&mut data(abi::WIRE_NONE, 2, 1000)), abi::DROP);
    }
    hop.queue.queue_pkts = 10;
    let (marked, _) = red_probabilities(&hop, 2);
    assert!((marked - 0.05 / (1.0 - 7.0 * 0.05)).abs() < 1e-6, "{marked}");
}

#[test]
fn red_settings_are_those_of_ns2() {
    // Goal: automatic thresholds and weight, thirds of the buffer, the decay of the average while the link is idle.
    let settings = |pairs: &[(&str, f64)], delay_us| {
        let hop = Hop::new(
            "red",
            pairs,
            &abi::Link {
                capacity_Bps: 1_250_000,
                delay_us,
                ..link()
            },
        );
        (hop.watched("min"), hop.watched("max"), hop.watched("q_w"))
    };
    // 2500 packets of 500 bytes per second: min = 0.005 * 2500 / 2 = 6.25 packets.
    let (min, max, weight) = settings(&[], 10_000);
    assert!((min - 3125.0).abs() < 0.1 && (max - 9375.0).abs() < 0.2, "{min} {max}");
    assert!(
        (weight - (1.0 - libm::exp(-1.0 / 2500.0))).abs() < 1e-9,
        "R = 0.1 s: {weight}"
    );
    let (_, _, weight) = settings(&[], 99_600);
    assert!(
        (weight - (1.0 - libm::exp(-1.0 / 7500.0))).abs() < 1e-9,
        "R = 3 (99.6 + 0.4) ms: {weight}"
    );
    let (min, max, _) = settings(&[("thresholds", 1.0), ("q_w", 0.002)], 0);
    assert!(
        (min - 20_000.0).abs() < 0.1 && (max - 40_000.0).abs() < 0.1,
        "thirds of 60,000 bytes: {min} {max}"
    );

    let mut hop = Hop::new(
        "red",
        &[("q_w", 0.002)],
        &abi::Link {
            capacity_Bps: 1_250_000,
            ..link()
        },
    );
    hop.queue.queue_bytes = 2000;
    for _ in 0..1000 {
        hop.enqueue(&mut data(abi::WIRE_NONE, 2, 500));
    }
    let average = |hop: &Hop| hop.watched("average");
    let full = 2000.0 * (1.0 - libm::pow(0.998, 1000.0));
    assert!((average(&hop) - full).abs() < 0.1, "{} for {full}", average(&hop));
    // The last packet leaves at once and takes 400 us; then 100 packets could have left.
    hop.queue.queue_bytes = 0;
    hop.dequeue(&mut data(abi::WIRE_NONE, 2, 500));
    hop.queue.now_us = 40_400;
    hop.enqueue(&mut data(abi::WIRE_NONE, 2, 500));
    let idle = full * libm::pow(0.998, 101.0);
    assert!((average(&hop) - idle).abs() < 0.1, "{} for {idle}", average(&hop));
}
