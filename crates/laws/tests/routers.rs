//! Routers' laws and capacity parts as tables, computed by hand from the equations that their headers cite.

mod common;

use common::{Hop, data};
use fadelab_laws::abi;

/// 2 Mbit/s.
const CAPACITY_BPS: u64 = 250_000;

fn link() -> abi::Link {
    abi::Link {
        capacity_Bps: CAPACITY_BPS,
        limit_bytes: 60_000,
        packet_bytes: 1000,
        ..Default::default()
    }
}

/// A VCP router after one interval in which `arrived` bytes came and the queue stood at `queue_bytes`.
fn vcp_after(pairs: &[(&str, f64)], arrived: u32, queue_bytes: u64) -> Hop {
    let mut hop = Hop::new("vcp", pairs, &link());
    assert_eq!(hop.due_us[..2], [10_000, 200_000]);
    hop.enqueue(&mut data(abi::WIRE_NONE, 0, arrived));
    hop.queue.queue_bytes = queue_bytes;
    for sample in 1..=20 {
        assert_eq!(hop.timer(0, sample * 10_000), (sample + 1) * 10_000);
    }
    assert_eq!(hop.timer(1, 200_000), 400_000);
    hop
}

/// What a hop makes of a VCP data packet that arrives with `ecn`.
fn vcp_code(hop: &Hop, ecn: u32) -> u8 {
    let mut packet = data(abi::WIRE_VCP, ecn, 1040);
    assert_eq!(hop.clone().dequeue(&mut packet), abi::PASS);
    packet.ecn
}

#[test]
fn vcp_router_codes_the_load() {
    // Goal: rho = (lambda + kappa_q q) / (gamma C t_rho); gamma C t_rho is 49,000 bytes. Each threshold to the byte.
    let up = &[][..];
    let exact = &[("rounding", 1.0)][..];
    for (pairs, arrived, queue_bytes, code) in [
        (up, 0, 0, 1),
        (up, 38_709, 0, 1),
        (up, 38_710, 0, 2),
        (up, 48_509, 0, 2),
        (up, 48_510, 0, 3),
        (exact, 39_199, 0, 1),
        (exact, 39_200, 0, 2),
        (exact, 48_999, 0, 2),
        (exact, 49_000, 0, 3),
        // A queue of 10,000 bytes: a quarter of it after one interval, half of that as load.
        (up, 37_459, 10_000, 1),
        (up, 37_460, 10_000, 2),
        (&[("kappa_q", 0.0)][..], 38_709, 10_000, 1),
        (&[("queue_weight", 1.0)][..], 33_709, 10_000, 1),
        (&[("queue_weight", 1.0)][..], 33_710, 10_000, 2),
        (&[("gamma", 0.95)][..], 37_524, 0, 1),
        (&[("gamma", 0.95)][..], 37_525, 0, 2),
        // The table gives 0.94 from 0.66 to 6.6 Mbit/s.
        (&[("target", 1.0)][..], 37_129, 0, 1),
        (&[("target", 1.0)][..], 37_130, 0, 2),
        // The release starts at a target of 0.95.
        (&[("target", 2.0)][..], 37_524, 0, 1),
        (&[("target", 2.0)][..], 37_525, 0, 2),
        // Its queue is a sixteenth of the mean, half of which is load: 312 bytes of 10,000.
        (&[("queue_filter", 1.0)][..], 38_397, 10_000, 1),
        (&[("queue_filter", 1.0)][..], 38_398, 10_000, 2),
    ] {
        let hop = vcp_after(pairs, arrived, queue_bytes);
        assert_eq!(
            vcp_code(&hop, 1),
            code,
            "{pairs:?}: {arrived} bytes arrived, {queue_bytes} waiting"
        );
    }
}

/// The least load, in bytes that arrive in one interval, which a VCP router at `capacity_Bps` calls high.
fn vcp_high_bytes(pairs: &[(&str, f64)], capacity_bps: u64, earlier: &[u64]) -> u64 {
    let link = abi::Link {
        capacity_Bps: capacity_bps,
        ..link()
    };
    let mut hop = Hop::new("vcp", pairs, &link);
    let interval = |hop: &mut Hop, number: usize, bytes: u64| {
        hop.arrived[1] = (1, bytes);
        hop.timer(1, 200_000 * (number as u64 + 1));
    };
    for (number, bytes) in earlier.iter().enumerate() {
        interval(&mut hop, number, *bytes);
    }
    let (mut low, mut high) = (0, capacity_bps);
    while high - low > 1 {
        let (mut trial, middle) = (hop.clone(), u64::midpoint(low, high));
        interval(&mut trial, earlier.len(), middle);
        *if vcp_code(&trial, 1) == 1 { &mut low } else { &mut high } = middle;
    }
    high
}

#[test]
fn vcp_router_has_the_targets_of_the_code() {
    // Goal: the table's rows begin at 0.66 of a power of ten of bit/s, from 1 kbit/s to 1 Tbit/s.
    for (bit_s, gamma) in [
        (8e3, 0.89),
        (6.5e3, 0.85),
        (6.7e3, 0.89),
        (6.7e4, 0.92),
        (6.5e5, 0.92),
        (6.7e5, 0.94),
        (5e6, 0.94),
        (54e6, 0.96),
        (65e6, 0.96),
        (67e6, 0.975),
        (1e9, 0.985),
        (1e10, 0.99),
        (1e11, 0.992),
        (1e12, 0.993),
    ] {
        let capacity_bps = (bit_s / 8.0) as u64;
        let found = vcp_high_bytes(&[("target", 1.0)], capacity_bps, &[]);
        let expected = 0.79 * gamma * 0.2 * capacity_bps as f64;
        assert!(
            (found as f64 - expected).abs() < 2.0 + 1e-9 * expected,
            "{bit_s} bit/s: {found} for {expected}"
        );
    }
}

#[test]
fn vcp_router_moves_its_target_as_the_release_does() {
    // Goal: from 0.95, a step after ten intervals towards the goal of the capacity's row, 0.94 by 0.005 at 2 Mbit/s;
    // the mean of ten decides, and 0.999 and 0.1 are the ends.
    let moving = &[("target", 2.0)][..];
    let target =
        |earlier: &[u64]| vcp_high_bytes(moving, CAPACITY_BPS, earlier) as f64 / (0.79 * 0.2 * CAPACITY_BPS as f64);
    let (below, above) = (46_000, 48_000); // 0.92 and 0.96 of what 2 Mbit/s carry in 200 ms
    let near = |found: f64, expected: f64| assert!((found - expected).abs() < 3e-5, "{found} for {expected}");
    near(target(&[above; 9]), 0.95);
    near(target(&[above; 10]), 0.945);
    near(target(&[below; 10]), 0.955);
    near(target(&[[above + 10; 5], [below; 5]].concat()), 0.945);
    near(target(&[[above - 10; 5], [below; 5]].concat()), 0.955);
    near(target(&[[above + 4; 5], [below; 5]].concat()), 0.95);
    near(target(&[below; 200]), 0.999);
    near(target(&[above; 2000]), 0.1);
}

#[test]
fn vcp_router_keeps_the_worse_code_and_marks_only_its_own() {
    // Goal: max(packet, router), on VCP data packets alone, and on the outer header of a tunnel.
    let hop = vcp_after(&[], 45_000, 0);
    assert_eq!([1, 2, 3].map(|ecn| vcp_code(&hop, ecn)), [2, 2, 3]);
    assert_eq!(vcp_code(&hop, 0), 0, "00 is no VCP packet");
    let marked = |mut packet: abi::Packet| {
        hop.clone().dequeue(&mut packet);
        (packet.ecn, packet.outer_ecn)
    };
    assert_eq!(marked(data(abi::WIRE_NONE, 1, 1040)), (1, 1));
    assert_eq!(marked(data(abi::WIRE_XCP, 1, 1040)), (1, 1));
    assert_eq!(
        marked(abi::Packet {
            flags: 0,
            ..data(abi::WIRE_VCP, 1, 40)
        }),
        (1, 1),
        "an ACK"
    );
    let tunnelled = abi::PACKET_DATA | abi::PACKET_TUNNELLED;
    assert_eq!(
        marked(abi::Packet {
            flags: tunnelled,
            ..data(abi::WIRE_VCP, 1, 1040)
        }),
        (1, 2)
    );
}

#[test]
fn vcp_router_knows_a_link_that_carries_nothing() {
    // Goal: without capacity whatever is there is overload, and with nothing there the code stays.
    let mut hop = vcp_after(&[], 45_000, 0);
    hop.queue.capacity_Bps = 0;
    hop.timer(1, 400_000);
    assert_eq!(vcp_code(&hop, 1), 2, "nothing came");
    hop.enqueue(&mut data(abi::WIRE_NONE, 0, 40));
    hop.timer(1, 600_000);
    assert_eq!(vcp_code(&hop, 1), 3);
    hop.queue.capacity_Bps = CAPACITY_BPS;
    hop.timer(1, 800_000);
    assert_eq!(vcp_code(&hop, 1), 1, "one interval later all is as before");
}

/// A REM router whose price was updated `updates` times with the same arrivals and queue; C is 10 packets per update.
fn rem_after(pairs: &[(&str, f64)], updates: u64, arrivals: u32, queue_pkts: u32) -> Hop {
    let mut hop = Hop::new(
        "rem",
        pairs,
        &abi::Link {
            capacity_Bps: 5_000_000,
            ..link()
        },
    );
    hop.queue.queue_pkts = queue_pkts;
    for update in 1..=updates {
        for _ in 0..arrivals {
            hop.enqueue(&mut data(abi::WIRE_NONE, 2, 1000));
        }
        hop.timer(0, update * 2000);
    }
    hop
}

fn rem_probability(hop: &Hop) -> f64 {
    hop.probability(|hop| {
        let mut packet = data(abi::WIRE_NONE, 2, 1000);
        hop.dequeue(&mut packet);
        packet.ecn == 3
    })
}

#[test]
fn rem_marks_by_its_price() {
    // Goal: p <- p + gamma (x + alpha (b - 20) - c), marks with 1 - phi^-p; p = 10.05 marks 1 %.
    for (pairs, updates, arrivals, queue_pkts, price) in [
        (&[][..], 1, 10, 20, 0.0),
        (&[], 100, 12, 20, 0.2),
        (&[], 100, 10, 120, 1.0),
        (&[], 100, 8, 60, 0.2),
        (&[], 100, 8, 30, 0.0),
        (&[], 1000, 20, 20, 10.0),
        (&[("gamma", 0.01), ("alpha", 0.5)], 10, 15, 40, 1.5),
    ] {
        let phi: f64 = 1.001;
        let expected = 1.0 - libm::pow(phi, -price);
        let got = rem_probability(&rem_after(pairs, updates, arrivals, queue_pkts));
        assert!(
            (got - expected).abs() < 1e-7,
            "{pairs:?} {arrivals} {queue_pkts}: {got} for {expected}"
        );
    }
    let hop = rem_after(&[("phi", 5.0)], 100, 10, 120);
    assert!((rem_probability(&hop) - 0.8).abs() < 1e-4, "1 - 1/5");
}

#[test]
fn rem_marks_only_what_understands_it() {
    // Goal: packets that are not ECN-capable pass; the price falls again when the load does.
    let mut hop = rem_after(&[("phi", 100.0)], 1000, 100, 200);
    let mut packet = data(abi::WIRE_NONE, 0, 1000);
    assert_eq!((hop.dequeue(&mut packet), packet.ecn), (abi::PASS, 0));
    let high = rem_probability(&hop);
    hop.queue.queue_pkts = 0;
    hop.timer(0, 2_002_000);
    let before = rem_probability(&rem_after(&[], 1000, 20, 20));
    assert!(high > 0.9 && before > 0.0099 && before < 0.01, "{high} {before}");
    let mut falling = rem_after(&[], 1000, 20, 20);
    for update in 1001..=1833 {
        falling.queue.queue_pkts = 0;
        falling.timer(0, update * 2000);
    }
    assert!(
        rem_probability(&falling) < 2e-5,
        "833 updates at -12 thousandths each undo 10.0"
    );
}

#[test]
fn xcp_router_takes_its_first_intervals_from_the_random_word() {
    // Goal: two timers near 50 ms with a deviation of 10 ms, the mean of all random words at 50 ms.
    let mut sum = 0;
    for random in 0..=0xffffu32 {
        let hop = Hop::new(
            "xcp",
            &[],
            &abi::Link {
                random: random | random << 16,
                ..link()
            },
        );
        assert_eq!(hop.due_us[0], hop.due_us[1]);
        assert!((25_000..=75_000).contains(&hop.due_us[0]));
        sum += hop.due_us[0];
    }
    assert_eq!((sum + 0x8000) / 0x10000, 50_000);
}

/// An XCP data packet: round trip and distance in seconds, delta in bytes per second.
fn xcp_packet(rtt: f64, x: f64, delta: i32, air_bytes: u32) -> abi::Packet {
    let q28 = |seconds: f64| ((seconds * 268_435_456.0).round() as u32).to_be_bytes();
    let mut packet = abi::Packet {
        feedback_len: 12,
        ..data(abi::WIRE_XCP, 0, air_bytes)
    };
    packet.feedback[..4].copy_from_slice(&q28(rtt));
    packet.feedback[4..8].copy_from_slice(&q28(x));
    packet.feedback[8..12].copy_from_slice(&delta.to_be_bytes());
    packet
}

fn xcp_delta(packet: &abi::Packet) -> i32 {
    i32::from_be_bytes(packet.feedback[8..12].try_into().expect("four bytes"))
}

#[test]
fn xcp_router_hands_out_what_is_spare() {
    // Goal: the textbook case by hand. 250 kB/s, 10 packets of 1000 bytes in 100 ms: y = 100 kB/s, spare 150 kB/s,
    // F = 60 kB/s, no shuffle since 0.1 y < F; ten packets share it equally: 6000 B/s each, and then nothing is left.
    let mut hop = Hop::new("xcp", &[], &link());
    for _ in 0..10 {
        hop.enqueue(&mut xcp_packet(0.1, 0.01, i32::MAX, 1000));
    }
    hop.queue.spare_Bps = 150_000;
    assert_eq!(
        hop.timer(0, 100_000).abs_diff(200_000),
        0,
        "the next interval is the mean round trip"
    );
    let mut deltas = Vec::new();
    for _ in 0..12 {
        let mut packet = xcp_packet(0.1, 0.01, i32::MAX, 1000);
        hop.dequeue(&mut packet);
        deltas.push(xcp_delta(&packet));
    }
    assert!(deltas[..10].iter().all(|delta| delta.abs_diff(6000) <= 1), "{deltas:?}");
    assert!(
        deltas[..12].iter().sum::<i32>().abs_diff(60_000) <= 2 && deltas[11] == 0,
        "{deltas:?}"
    );
}

#[test]
fn xcp_router_hands_out_the_aggregate_of_its_part() {
    // Goal: where a capacity part gives F, that is what packets share, whatever is spare and waits: 40 kB/s over ten
    // packets, and -40 kB/s with nothing shuffled.
    for (aggregate, delta) in [(40_000, 4000), (-40_000, -4000)] {
        let mut hop = Hop::new("xcp", &[], &link());
        for _ in 0..10 {
            hop.enqueue(&mut xcp_packet(0.1, 0.01, i32::MAX, 1000));
        }
        (hop.queue.spare_Bps, hop.queue.queue_bytes_min) = (150_000, 30_000);
        (hop.queue.aggregate_Bps, hop.queue.has_aggregate) = (aggregate, 1);
        hop.timer(1, 50_000);
        hop.timer(0, 100_000);
        let mut packet = xcp_packet(0.1, 0.01, i32::MAX, 1000);
        hop.dequeue(&mut packet);
        assert!(xcp_delta(&packet).abs_diff(delta) <= 1, "{}", xcp_delta(&packet));
    }
}

#[test]
fn xcp_router_takes_back_and_leaves_others_alone() {
    // Goal: overload is taken back in proportion to bytes; a smaller delta from upstream stays; no round trip, no gain.
    let mut hop = Hop::new("xcp", &[], &link());
    for _ in 0..10 {
        hop.enqueue(&mut xcp_packet(0.1, 0.01, i32::MAX, 3000));
    }
    hop.queue.spare_Bps = -50_000;
    hop.timer(0, 100_000);
    // F = -20 kB/s, y = 300 kB/s, shuffle 30 - 20 = 10 kB/s: pos 1000 B/s and neg 3000 B/s for each of ten packets.
    let after = |packet: abi::Packet| {
        let mut packet = packet;
        hop.clone().dequeue(&mut packet);
        xcp_delta(&packet)
    };
    assert!(after(xcp_packet(0.1, 0.01, i32::MAX, 3000)).abs_diff(-2000) <= 1);
    // A flow at half the rate has twice the distance between its packets: twice the gain, the same loss per byte.
    assert!(after(xcp_packet(0.1, 0.02, i32::MAX, 3000)).abs_diff(-1000) <= 1);
    assert_eq!(after(xcp_packet(0.1, 0.01, -5000, 3000)), -5000);
    assert_eq!(after(xcp_packet(0.0, 0.01, 77, 3000)), 0);
    let foreign = abi::Packet {
        wire: abi::WIRE_VCP as u8,
        ..xcp_packet(0.1, 0.01, 77, 3000)
    };
    assert_eq!(after(foreign), 77);
    assert_eq!(
        after(abi::Packet {
            flags: 0,
            ..xcp_packet(0.1, 0.01, 77, 40)
        }),
        77,
        "an ACK"
    );
}

#[test]
fn xcp_router_forms_agree_on_equal_packets() {
    // Goal: the original paper's form gives the same share to packets of one size, twice as much to one twice as large,
    // and takes the mean round trip over packets instead of weighting it by x.
    let mut hop = Hop::new("xcp", &[("form", 1.0)], &link());
    for (rtt, x) in [(0.1, 0.01), (0.3, 0.03)].repeat(5) {
        hop.enqueue(&mut xcp_packet(rtt, x, i32::MAX, 1000));
    }
    hop.queue.spare_Bps = 150_000;
    assert_eq!(
        hop.timer(0, 100_000),
        300_000,
        "a mean of 200 ms; weighted by x it would be 250 ms"
    );
    let share = |x, bytes| {
        let mut packet = xcp_packet(0.1, x, i32::MAX, bytes);
        hop.clone().dequeue(&mut packet);
        xcp_delta(&packet)
    };
    // F = 60 kB/s over sum(x) = 0.2 s.
    assert!(share(0.01, 1000).abs_diff(3000) <= 1 && share(0.03, 1000).abs_diff(9000) <= 1);
    assert!(share(0.01, 2000).abs_diff(6000) <= 1);
}

#[test]
fn xcp_router_drains_the_standing_queue() {
    // Goal: Q is the smallest queue of a Tq, and F = -beta Q / d; the capacity part's queue takes its place.
    let mut hop = Hop::new("xcp", &[("shuffle", 0.0)], &link());
    hop.queue.queue_bytes = 10_000;
    // (50 ms - 10,000 / 250,000 s) / 2 = 5 ms.
    assert_eq!(hop.timer(1, 20_000), 25_000);
    hop.queue.queue_bytes = 4000;
    hop.dequeue(&mut data(abi::WIRE_NONE, 0, 1000));
    hop.queue.queue_bytes = 9000;
    hop.timer(1, 25_000);
    let given = |hop: &mut Hop| {
        for _ in 0..10 {
            hop.enqueue(&mut xcp_packet(0.1, 0.01, i32::MAX, 1000));
        }
        hop.timer(0, hop.queue.now_us + 100_000);
        let mut packet = xcp_packet(0.1, 0.01, i32::MAX, 1000);
        hop.dequeue(&mut packet);
        xcp_delta(&packet)
    };
    // -0.226 * 4000 / 0.1 = -9040 B/s over ten packets.
    assert!(given(&mut hop).abs_diff(-904) <= 1);
    hop.queue.has_queue_control = 1;
    hop.queue.queue_control_bytes = -4000;
    assert!(given(&mut hop).abs_diff(904) <= 1);
}

#[test]
fn capacity_parts_measure_what_they_say() {
    // Goal: configured and measured capacity and what is spare of them, an idle link and a stopped one included.
    let interval = |offered_bytes, arrived_bytes| abi::Interval {
        interval_us: 100_000,
        offered_bytes,
        arrived_bytes,
        configured_Bps: CAPACITY_BPS,
        ..Default::default()
    };
    let ask = |name: &str, intervals: &[(u64, u64)]| {
        let part = fadelab_laws::capacity(name).expect("registered");
        let (mut state, params, mut out) = (part.new_state(), part.default_params(), abi::Estimate::default());
        part.init(&mut state, &params, &link());
        for &(offered, arrived) in intervals {
            part.estimate(&mut state, &params, &interval(offered, arrived), &mut out);
        }
        (out.capacity_Bps, out.spare_Bps)
    };
    assert_eq!(ask("configured", &[(0, 10_000)]), (250_000, 150_000));
    assert_eq!(ask("configured", &[(0, 30_000)]), (250_000, -50_000));
    assert_eq!(ask("measured", &[(20_000, 0)]), (200_000, 200_000));
    assert_eq!(ask("measured", &[(20_000, 25_000)]), (200_000, -50_000));
    // Half of the memory of 200 ms each time.
    assert_eq!(ask("measured", &[(20_000, 0), (10_000, 0)]), (150_000, 150_000));
    assert_eq!(ask("measured", &[(0, 0), (0, 5000)]), (0, -50_000));
}
