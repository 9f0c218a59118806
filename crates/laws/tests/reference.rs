//! Routers' laws against floating-point references, written from the published pseudo-code and not from the headers.

mod common;

use common::{Hop, data};
use fadelab_laws::abi;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..Default::default()
    }
}

/// The XCP router of draft-falk-xcp-spec-03 in floating point; rates in bytes per second, times in seconds.
#[derive(Default)]
struct XcpReference {
    input_bytes: f64,
    sum_x: f64,
    sum_rttx: f64,
    residue_pos: f64,
    residue_neg: f64,
    cp: f64,
    cn: f64,
    avg_rtt: f64,
}

impl XcpReference {
    fn arrival(&mut self, size: f64, rtt: f64, x: f64) {
        self.input_bytes += size;
        self.sum_x += x;
        self.sum_rttx += x * rtt.min(1.0);
    }

    fn interval(&mut self, te: f64, capacity: f64, queue: f64) {
        self.avg_rtt = if self.sum_x > 0.0 {
            self.sum_rttx / self.sum_x
        } else {
            0.05
        };
        let input = self.input_bytes / te;
        let feedback = 0.4 * (capacity - input) - 0.226 * queue / self.avg_rtt;
        let shuffled = (0.1 * input - feedback.abs()).max(0.0);
        self.residue_pos = feedback.max(0.0) + shuffled;
        self.residue_neg = (-feedback).max(0.0) + shuffled;
        self.cp = if self.sum_x > 0.0 {
            self.residue_pos / self.sum_x
        } else {
            0.0
        };
        self.cn = if self.input_bytes > 0.0 {
            self.residue_neg / self.input_bytes
        } else {
            0.0
        };
        (self.input_bytes, self.sum_x, self.sum_rttx) = (0.0, 0.0, 0.0);
    }

    fn departure(&mut self, size: f64, x: f64, delta: f64) -> f64 {
        let mut pos = self.residue_pos.min(self.cp * x);
        let mut neg = self.residue_neg.min(self.cn * size);
        let feedback = pos - neg;
        let granted = if delta >= feedback {
            feedback
        } else {
            neg = self.residue_neg.min(neg + (feedback - delta));
            pos = delta + neg;
            delta
        };
        self.residue_pos = (self.residue_pos - pos).max(0.0);
        self.residue_neg = (self.residue_neg - neg).max(0.0);
        if self.residue_pos == 0.0 {
            self.cp = 0.0;
        }
        if self.residue_neg == 0.0 {
            self.cn = 0.0;
        }
        granted
    }
}

/// Flows on a link: round trip in seconds, share of the load.
fn flows() -> impl Strategy<Value = Vec<(f64, f64)>> {
    prop::collection::vec(((0.01f64.ln()..2f64.ln()).prop_map(libm::exp), 0.05..1.0f64), 1..12)
}

fn xcp_packet(rtt: f64, x: f64, delta: i32, air_bytes: u32) -> abi::Packet {
    let mut packet = abi::Packet {
        feedback_len: 12,
        ..data(abi::WIRE_XCP, 0, air_bytes)
    };
    let q28 = |seconds: f64| ((seconds * 268_435_456.0).round() as u32).to_be_bytes();
    packet.feedback[..4].copy_from_slice(&q28(rtt));
    packet.feedback[4..8].copy_from_slice(&q28(x));
    packet.feedback[8..12].copy_from_slice(&delta.to_be_bytes());
    packet
}

proptest! {
    #![proptest_config(config(64))]

    #[test]
    fn xcp_is_within_one_percent_of_the_pseudo_code(
        capacity in (8e3f64.ln()..1.25e9f64.ln()).prop_map(libm::exp),
        flows in flows(),
        loads in prop::collection::vec((0.2..1.5f64, 0.0..0.5f64), 3),
        limited in prop::collection::vec(0..50u32, 0..3),
    ) {
        // Goal: from 64 kbit/s to 10 Gbit/s and 10 ms to 2 s, each packet's feedback is within 1 % of its positive and
        // negative parts (and the rounding of one byte per second), and the sum over an interval within 1 % too.
        let link = abi::Link { capacity_Bps: capacity as u64, ..Default::default() };
        let mut hop = Hop::new("xcp", &[], &link);
        let mut reference = XcpReference::default();
        let shares: f64 = flows.iter().map(|flow| flow.1).sum();
        let (mut now_us, mut compared) = (0, 0);
        for (interval, (load, queued)) in loads.into_iter().enumerate() {
            // Packets of 1040 bytes in proportion to the shares, in as long as the load takes to send them.
            let count = ((capacity * 0.05 / 1040.0) as u64).clamp(20, 4000);
            let te_us = (count as f64 * 1040.0 / (capacity * load) * 1e6).ceil();
            let input_rate = count as f64 * 1040.0 / te_us * 1e6;
            let (mut sum, mut sum_reference, mut scale) = (0.0, 0.0, 0.0);
            let first = (reference.residue_pos, reference.residue_neg);
            let mut due: Vec<f64> = vec![0.0; flows.len()];
            for number in 0..count {
                // The flow that is furthest behind sends: a weighted round robin.
                let next = (0..flows.len()).min_by(|&a, &b| due[a].total_cmp(&due[b])).expect("a flow");
                let (rtt, share) = flows[next];
                due[next] += 1.0 / share;
                let rate = capacity * load * share / shares;
                let cwnd = (rate * rtt / 1040.0).max(1.0);
                let x = (rtt / cwnd).min(15.9);
                let delta = if limited.contains(&((number % 50) as u32)) { (rate / 1000.0) as i32 } else { i32::MAX };
                let mut packet = xcp_packet(rtt, x, delta, 1040);
                hop.enqueue(&mut packet);
                reference.arrival(1040.0, rtt, x);
                let pos = reference.residue_pos.min(reference.cp * x);
                let parts = pos + reference.residue_neg.min(reference.cn * 1040.0);
                hop.dequeue(&mut packet);
                let expected = reference.departure(1040.0, x, f64::from(delta));
                let got = f64::from(i32::from_be_bytes(packet.feedback[8..12].try_into().expect("four bytes")));
                // The last packets of an interval share what rounding left of the residues: they are judged by the sum.
                let used_up = |left: f64, first: f64| first > 0.0 && left <= 0.02 * first;
                let nearly_empty = used_up(reference.residue_pos, first.0) || used_up(reference.residue_neg, first.1);
                compared += u32::from(interval > 0 && !nearly_empty);
                if interval > 0 && !nearly_empty {
                    prop_assert!((got - expected).abs() <= 0.01 * parts + 1.5, "packet {number}: {got} for {expected}");
                }
                scale += parts;
                sum += got;
                sum_reference += expected;
            }
            prop_assert!((sum - sum_reference).abs() <= 0.01 * scale + 2.0, "{sum} for {sum_reference} of {scale}");
            let queue_bytes = (capacity * 0.05 * queued) as u64;
            hop.queue.spare_Bps = (capacity - input_rate) as i64;
            hop.queue.queue_bytes = queue_bytes;
            // Two queue timers make the present queue the smallest of an interval.
            hop.timer(1, now_us);
            hop.timer(1, now_us);
            now_us += te_us as u64;
            let next_us = hop.timer(0, now_us) - now_us;
            reference.interval(te_us / 1e6, capacity, queue_bytes as f64);
            let mean_us = (reference.avg_rtt * 1e6).max(1000.0);
            prop_assert!((next_us as f64 - mean_us).abs() <= 0.01 * mean_us, "{next_us} us for {mean_us} us");
        }
        prop_assert!(compared > 0, "packets were compared one by one");
    }
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn vcp_codes_are_those_of_the_equation(
        capacity_bytes in (8e3f64.ln()..1.25e10f64.ln()).prop_map(|log| libm::exp(log) as u64),
        intervals in prop::collection::vec((0.5..1.2f64, prop::collection::vec(0.0..0.3f64, 20)), 1..6),
    ) {
        // Goal: over any capacity and any queue the code is that of rho in floating point, except within 10^-4 of a
        // threshold.
        let mut hop = Hop::new("vcp", &[], &abi::Link { capacity_Bps: capacity_bytes, ..Default::default() });
        let capacity = capacity_bytes as f64;
        let mut smooth = 0.0;
        for (number, (load, queues)) in intervals.iter().enumerate() {
            let arrived = (load * capacity * 0.2) as u64;
            let (whole, rest) = (arrived / 4_000_000_000, arrived % 4_000_000_000);
            for size in (0..whole).map(|_| 4_000_000_000).chain([rest]) {
                hop.enqueue(&mut data(abi::WIRE_NONE, 0, size as u32));
            }
            let mut sum = 0.0;
            for queue in queues {
                hop.queue.queue_bytes = (queue * capacity * 0.2) as u64;
                sum += hop.queue.queue_bytes as f64;
                hop.timer(0, number as u64 * 200_000 + 1);
            }
            hop.timer(1, (number as u64 + 1) * 200_000);
            smooth = 0.75 * smooth + 0.25 * sum / 20.0;
            let rho = (arrived as f64 + 0.5 * smooth) / (0.98 * capacity * 0.2);
            if (rho - 0.79).abs() < 1e-4 || (rho - 0.99).abs() < 1e-4 {
                continue;
            }
            let percent = (100.0 * rho + 1.0).floor();
            let expected = if percent < 80.0 { 1 } else if percent < 100.0 { 2 } else { 3 };
            let mut packet = data(abi::WIRE_VCP, 1, 1040);
            hop.dequeue(&mut packet);
            prop_assert_eq!(packet.ecn, expected, "rho = {}", rho);
        }
    }

    #[test]
    fn rem_prices_are_those_of_the_equation(
        capacity in (8e3f64.ln()..1.25e9f64.ln()).prop_map(|log| libm::exp(log) as u64),
        updates in prop::collection::vec((0..200u32, 0..2000u32), 1..60),
        inw in 0.1..1.0f64,
        phi in 1.0005..1.5f64,
    ) {
        // Goal: the marking probability follows ns-2's update in floating point within 10^-4.
        let inw = (inw * 1000.0).round() / 1000.0;
        let phi = (phi * 10_000.0).round() / 10_000.0;
        let link = abi::Link { capacity_Bps: capacity, ..Default::default() };
        let mut hop = Hop::new("rem", &[("inw", inw), ("phi", phi)], &link);
        let (mut price, mut rate) = (0.0f64, 0.0);
        for (number, (arrivals, queue_pkts)) in updates.into_iter().enumerate() {
            for _ in 0..arrivals {
                hop.enqueue(&mut data(abi::WIRE_NONE, 2, 1000));
            }
            hop.queue.queue_pkts = queue_pkts;
            hop.timer(0, (number as u64 + 1) * 2000);
            rate = (1.0 - inw) * rate + inw * f64::from(arrivals);
            let carried = 0.002 * capacity as f64 / 1000.0;
            price = (price + 0.001 * (rate + 0.1 * (f64::from(queue_pkts) - 20.0) - carried)).max(0.0);
        }
        let expected = 1.0 - libm::pow(phi, -price);
        let got = hop.probability(|hop| {
            let mut packet = data(abi::WIRE_NONE, 2, 1000);
            hop.dequeue(&mut packet);
            packet.ecn == 3
        });
        prop_assert!((got - expected).abs() < 1e-4, "{got} for {expected}");
    }
}

#[test]
fn xcp_fractions_of_a_byte_add_up() {
    // Goal: where a packet's share is below one byte per second, what packets carry still adds up to what there is to
    // give: 6 B/s for a hundred packets without a shuffle (divergence 2 of the header).
    let link = abi::Link {
        capacity_Bps: 250_000,
        ..Default::default()
    };
    let mut hop = Hop::new("xcp", &[("shuffle", 0.0)], &link);
    for _ in 0..100 {
        hop.enqueue(&mut xcp_packet(0.1, 0.001, i32::MAX, 1000));
    }
    hop.queue.spare_Bps = 15;
    hop.timer(0, 100_000);
    let mut sum = 0;
    for _ in 0..100 {
        let mut packet = xcp_packet(0.1, 0.001, i32::MAX, 1000);
        hop.dequeue(&mut packet);
        sum += i32::from_be_bytes(packet.feedback[8..12].try_into().expect("four bytes"));
    }
    // A fraction may still be on its way.
    assert!((5..=6).contains(&sum), "{sum} B/s");
}
