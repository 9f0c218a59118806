//! DPCP and DCP-EW: levels in pairs of packets, from the router over the receiver to the window.

mod common;

use common::{Flow, Hop, PACKET_BYTES, data, feedback};
use fadelab_laws::abi;

const SIXTEEN: f64 = 0.0;
const NINE: f64 = 1.0;
/// Percent below each next level.
const EDGES: [(f64, &[u32]); 2] = [
    (
        SIXTEEN,
        &[10, 20, 30, 40, 50, 60, 70, 80, 85, 90, 95, 100, 105, 110, 120],
    ),
    (NINE, &[40, 60, 80, 87, 94, 100, 105, 120]),
];
/// Byte 0 of an echo.
const HAS_MOST: u8 = 16;
const HAS_LEAST: u8 = 32;
const LEAST_LAST: u8 = 64;

/// A router whose last interval was at `percent` of its capacity.
fn loaded(law: &str, code: f64, percent: u32) -> Hop {
    let link = abi::Link {
        capacity_Bps: 250_000,
        ..Default::default()
    };
    let mut hop = Hop::new(law, &[("code", code), ("gamma", 1.0), ("rounding", 1.0)], &link);
    hop.enqueue(&mut data(abi::WIRE_NONE, 0, 500 * percent));
    hop.timer(1, 200_000);
    hop
}

fn wire(law: &str) -> u32 {
    fadelab_laws::sender(law).expect("registered").wire()
}

/// A data packet of one segment that is for half `role`.
fn half(law: &str, role: u8, ecn: u32) -> abi::Packet {
    abi::Packet {
        role,
        segments: 1,
        roles_known: 1,
        roles: u64::from(role),
        ..data(wire(law), ecn, PACKET_BYTES)
    }
}

/// What the packets of both roles carry behind these routers.
fn carried(law: &str, first: u32, hops: &[&Hop]) -> [u32; 2] {
    [0, 1].map(|role| {
        let mut packet = half(law, role, first);
        for hop in hops {
            (*hop).clone().dequeue(&mut packet);
        }
        assert_eq!(packet.confirmed, 1, "a router saw it");
        packet.ecn.into()
    })
}

/// The two halves of a level, computed without the law.
fn halves(code: f64, level: u32) -> [u32; 2] {
    if code == NINE {
        [level / 3 + 1, level % 3 + 1]
    } else {
        [level / 4, level % 4]
    }
}

#[test]
fn routers_write_the_level_of_their_load() {
    // Goal: each level begins at its edge, in both codes and under both laws; a role gets its half.
    for law in ["dcp_ew", "dpcp"] {
        for (code, edges) in EDGES {
            let first = u32::from(code == NINE);
            for (level, &edge) in edges.iter().enumerate() {
                for (percent, level) in [(edge - 1, level), (edge, level + 1)] {
                    let hop = loaded(law, code, percent);
                    let expected = halves(code, level as u32);
                    assert_eq!(carried(law, first, &[&hop]), expected, "{law} {percent} %");
                    assert_eq!(hop.watched("level") as usize, level);
                }
            }
        }
    }
}

#[test]
fn routers_keep_the_larger_half() {
    // Goal: over two routers of any levels the joined level is in the region of the larger one, and at most the rest of
    // that region above it.
    for (code, edges) in EDGES {
        let of_region = if code == NINE { 3 } else { 4 };
        let hops: Vec<_> = std::iter::once(&0)
            .chain(edges)
            .map(|&percent| loaded("dcp_ew", code, percent))
            .collect();
        for (a, one) in hops.iter().enumerate() {
            for (b, other) in hops.iter().enumerate() {
                let [most, least] = carried("dcp_ew", u32::from(code == NINE), &[one, other]);
                let joined = if code == NINE {
                    3 * (most - 1) + least - 1
                } else {
                    4 * most + least
                };
                let largest = a.max(b) as u32;
                assert!(
                    joined >= largest && joined / of_region == largest / of_region,
                    "{a} and {b} give {joined}"
                );
            }
        }
    }
}

#[test]
fn routers_leave_alone_what_they_cannot_mark() {
    // Goal: ACKs, packets without an ID, packets of several segments, those of the other law and, with nine levels,
    // those with a cleared field pass as they are and unconfirmed.
    type Change = fn(&mut abi::Packet);
    let cases: [(&str, Change); 4] = [
        ("an ACK", |packet| packet.flags = 0),
        ("no ID", |packet| packet.roles_known = 0),
        ("two segments", |packet| packet.segments = 2),
        ("another wire", |packet| packet.wire = abi::WIRE_VCP as u8),
    ];
    for law in ["dcp_ew", "dpcp"] {
        for (case, change) in cases {
            let mut packet = half(law, 0, 1);
            change(&mut packet);
            let mut hop = loaded(law, SIXTEEN, 200);
            assert_eq!(hop.dequeue(&mut packet), abi::PASS);
            assert_eq!((packet.ecn, packet.confirmed), (1, 0), "{law}: {case}");
        }
        let mut cleared = half(law, 0, 0);
        loaded(law, NINE, 200).dequeue(&mut cleared);
        assert_eq!((cleared.ecn, cleared.confirmed), (0, 0));
    }
    let mut other = half("dpcp", 0, 1);
    loaded("dcp_ew", SIXTEEN, 200).dequeue(&mut other);
    assert_eq!(other.ecn, 1);
    let mut tunnelled = half("dcp_ew", 0, 0);
    tunnelled.flags |= abi::PACKET_TUNNELLED;
    loaded("dcp_ew", SIXTEEN, 200).dequeue(&mut tunnelled);
    assert_eq!((tunnelled.ecn, tunnelled.outer_ecn), (0, 3), "the outer field alone");
}

/// A receiver that is shown packets and asked for ACKs.
struct Echo {
    law: &'static fadelab_laws::Receiver,
    state: fadelab_laws::State,
    now_us: u64,
}

impl Echo {
    fn new() -> Self {
        let law = fadelab_laws::receiver("dcp_ew").expect("registered");
        let mut state = law.new_state();
        law.init(&mut state, 0);
        Self { law, state, now_us: 0 }
    }

    /// Packets of (role, ECN field), 3 ms apart.
    fn hear(&mut self, packets: &[(u32, u32)]) {
        for &(role, ecn) in packets {
            self.now_us += 3000;
            let packet = abi::Data {
                now_us: self.now_us,
                role,
                ecn,
                segments: 1,
                roles_known: 1,
                ..Default::default()
            };
            self.law.on_data(&mut self.state, &packet);
        }
    }

    /// What an ACK says: most, least, what is known; the halves that are not known as 9; and ms between them.
    fn ack(&mut self, written: bool) -> (u8, u8, bool, u32) {
        let mut fill = abi::Fill::default();
        self.law.fill_ack(&mut self.state, &mut fill);
        self.law.ack_written(&mut self.state, written);
        let [echo, high, low, ..] = fill.feedback.bytes;
        assert_eq!((fill.feedback.len, fill.feedback.present), (3, 1));
        let most = if echo & HAS_MOST == 0 { 9 } else { echo & 3 };
        let least = if echo & HAS_LEAST == 0 { 9 } else { echo >> 2 & 3 };
        let apart_ms = u32::from(high) << 8 | u32::from(low);
        (most, least, echo & LEAST_LAST != 0, apart_ms)
    }

    fn says(&mut self, packets: &[(u32, u32)]) -> (u8, u8) {
        self.hear(packets);
        let (most, least, ..) = self.ack(true);
        (most, least)
    }
}

#[test]
fn receivers_return_halves_that_belong_together() {
    // Goal: a half is returned as soon as it came; a change of the most significant one forgets the other; of several
    // packets the most congested region counts, with its own half; an unwritten ACK loses nothing.
    let mut echo = Echo::new();
    assert_eq!(echo.says(&[(1, 2)]), (9, 2), "no region is known yet");
    assert_eq!(echo.says(&[(0, 1)]), (1, 2), "the first one takes the half before it");
    assert_eq!(echo.says(&[(1, 3)]), (1, 3));
    assert_eq!(echo.says(&[(0, 1)]), (1, 3), "the region stands, so does its half");
    assert_eq!(echo.says(&[(0, 2)]), (2, 9), "another region");
    assert_eq!(echo.says(&[(1, 0)]), (2, 0));
    assert_eq!(
        echo.says(&[(0, 3), (1, 1), (0, 2), (1, 3)]),
        (3, 1),
        "the worst of an ACK"
    );
    assert_eq!(echo.says(&[]), (2, 9), "and then the newest");
    echo.hear(&[(0, 3), (1, 2)]);
    assert_eq!(echo.ack(false).0, 3);
    assert_eq!(echo.says(&[(0, 0)]), (3, 2), "the ACK had no room");
    assert_eq!(echo.says(&[(1, 1)]), (0, 1));
}

#[test]
fn receivers_say_how_far_apart_halves_came() {
    // Goal: milliseconds between the two arrivals, whichever was last, up to 65535.
    let mut echo = Echo::new();
    echo.hear(&[(0, 1), (1, 1)]);
    assert_eq!(echo.ack(true), (1, 1, true, 3));
    echo.now_us += 100_000;
    echo.hear(&[(0, 1)]);
    assert_eq!(echo.ack(true), (1, 1, false, 103));
    echo.now_us += 500_000_000;
    echo.hear(&[(1, 1)]);
    assert_eq!(echo.ack(true), (1, 1, true, 65_535));
    let unknown = abi::Data {
        ecn: 3,
        ..Default::default()
    };
    echo.law.on_data(&mut echo.state, &unknown);
    assert_eq!(
        echo.ack(true),
        (1, 1, true, 65_535),
        "without an ID it is nobody's half"
    );
}

/// An echo of both halves of a level, `apart_ms` apart.
fn pair(code: f64, level: u32, apart_ms: u16) -> [u8; 3] {
    let [most, least] = halves(code, level);
    let [high, low] = apart_ms.to_be_bytes();
    [HAS_MOST | HAS_LEAST | most as u8 | (least as u8) << 2, high, low]
}

/// An echo of a region alone.
fn region(most: u8) -> [u8; 3] {
    [HAS_MOST | most, 0, 0]
}

#[test]
fn senders_multiply_by_level() {
    // Goal: below 80 % a packet adds (1 + xi)^x - 1 with xi = kappa (1 - rho) / rho at the level's upper edge, x at
    // most 2.5; the window's bound M lowers xi where it is smaller.
    for (code, edges) in [
        (SIXTEEN, &[10.0_f64, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0][..]),
        (NINE, &[40.0, 60.0, 80.0]),
    ] {
        for (level, percent) in edges.iter().enumerate() {
            for (bound, srtt_us, x) in [(3.0_f64, 200_000, 1.0), (3.0, 2_000_000, 2.5), (0.0, 200_000, 1.0)] {
                let mut flow = Flow::new("dcp_ew", &[("code", code), ("bound", bound)], 1000, 2);
                flow.srtt_us = srtt_us;
                let before = flow.window();
                flow.on_feedback(1, &pair(code, level as u32, 3));
                let free: f64 = 0.25 * (100.0 - percent) / percent;
                // M is 0.1 at a window of 1000 packets.
                let xi: f64 = if bound == 0.0 { free.min(0.1) } else { free };
                let expected = libm::pow(1.0 + xi, x) - 1.0;
                let grown = flow.window() - before;
                assert!(
                    (grown - expected).abs() < 1e-6 * (1.0 + expected),
                    "{percent} %, bound {bound}: {grown} for {expected}"
                );
                assert_eq!(flow.watched("known") as u32, 2);
            }
        }
    }
}

#[test]
fn senders_do_as_vcp_where_levels_tell_no_more() {
    // Goal: at the level below 80 %, at high load and at overload window, phases and pacing are VCP's, step by step
    // over a random sequence of regions, losses and timeouts; only the resolution differs.
    for (law, loss) in [("dcp_ew", 0.0), ("dcp_ew", 2.0), ("dpcp", 0.0), ("dpcp", 1.0)] {
        let mut one = Flow::new("vcp", &[("loss", loss)], 10, 2);
        let mut other = Flow::new(law, &[("loss", loss)], 10, 2);
        let mut word = 12_345u64;
        for step in 0..20_000 {
            word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let chance = (word >> 33) as u32;
            for flow in [&mut one, &mut other] {
                flow.now_us += 7_000;
                flow.srtt_us = 150_000 + chance % 1000 * 1000;
                flow.control.ca_state = if chance.is_multiple_of(101) {
                    abi::CA_RECOVERY
                } else {
                    abi::CA_OPEN
                };
            }
            let region = (chance >> 10) % 40;
            let (code, level) = match region {
                0..=24 => (1, 7),
                25..=37 => (2, 8 + region % 4),
                _ => (3, 12 + region % 4),
            };
            let windows = [
                one.on_feedback(1, &[code]),
                other.on_feedback(1, &pair(SIXTEEN, level, 1)),
            ];
            assert_eq!(windows[0], windows[1], "{law} at step {step}");
            assert_eq!(one.control.pacing_Bps, other.control.pacing_Bps);
            if chance.is_multiple_of(977) {
                assert_eq!(one.on_loss(), other.on_loss());
            }
            if chance.is_multiple_of(3001) {
                assert_eq!(one.on_rto(), other.on_rto());
            }
        }
    }
}

#[test]
fn defaults_tell_the_two_laws_apart() {
    // Goal: a loss halves DPCP's window; DCP-EW's stays without overload in the last 16 ACKs and falls to beta with it.
    let mut dpcp = Flow::new("dpcp", &[], 100, 2);
    assert_eq!(dpcp.on_loss(), 50);
    let mut dcp_ew = Flow::new("dcp_ew", &[], 100, 2);
    assert_eq!(dcp_ew.on_loss(), 100);
    for _ in 0..16 {
        assert_eq!(dcp_ew.on_loss(), 100);
        dcp_ew.on_feedback(0, &pair(SIXTEEN, 15, 1));
    }
    assert_eq!(dcp_ew.on_loss(), 87);
    assert_eq!(Flow::new("dcp_ew", &[], 1, 2).control.ecn, 0, "the lowest level");
    assert_eq!(Flow::new("dcp_ew", &[("code", NINE)], 1, 2).control.ecn, 1);
}

#[test]
fn overload_decreases_by_level_and_at_once() {
    // Goal: each level of overload has its beta; the region alone, before its other half is known, decreases at once.
    let betas = [("beta", 0.9), ("beta_2", 0.8), ("beta_3", 0.7), ("beta_4", 0.6)];
    for (code, first, levels) in [(SIXTEEN, 12, 4), (NINE, 6, 3)] {
        for place in 0..levels {
            let mut flow = Flow::new("dcp_ew", &[&betas[..], &[("code", code)]].concat(), 1000, 2);
            flow.srtt_us = 100_000;
            let expected = 1000.0 * betas[place as usize].1;
            assert_eq!(
                f64::from(flow.on_feedback(1, &pair(code, first + place, 1))) as u32,
                expected as u32
            );
        }
    }
    for (missing, expected) in [(0.0, 700), (1.0, 600)] {
        let mut flow = Flow::new("dcp_ew", &[&betas[..], &[("missing", missing)]].concat(), 1000, 2);
        assert_eq!(flow.on_feedback(1, &region(3)), expected);
        assert_eq!(flow.watched("known") as u32, 1);
    }
}

#[test]
fn halves_too_far_apart_are_no_pair() {
    // Goal: a half that came more than pair_srtts round trips from the other does not count; a half of the same region
    // that is known already stays; a new region forgets it.
    let mut flow = Flow::new("dcp_ew", &[], 100, 2);
    flow.srtt_us = 100_000;
    flow.on_feedback(1, &pair(SIXTEEN, 4, 101));
    assert_eq!(
        (flow.watched("known"), flow.watched("least")),
        (1.0, 2.0),
        "the middle stands in"
    );
    flow.on_feedback(1, &pair(SIXTEEN, 4, 100));
    assert_eq!((flow.watched("known"), flow.watched("least")), (2.0, 0.0));
    flow.on_feedback(1, &pair(SIXTEEN, 7, 500));
    assert_eq!((flow.watched("known"), flow.watched("least")), (2.0, 0.0), "kept");
    flow.on_feedback(1, &region(0));
    assert_eq!((flow.watched("known"), flow.watched("least")), (1.0, 2.0));
    let mut patient = Flow::new("dcp_ew", &[("pair_srtts", 10.0)], 100, 2);
    patient.srtt_us = 100_000;
    patient.on_feedback(1, &pair(SIXTEEN, 4, 1000));
    assert_eq!(patient.watched("known") as u32, 2);
}

#[test]
fn without_a_region_the_window_is_renos() {
    // Goal: no router, only least significant halves, a region that is long gone, or a field that was cleared under
    // nine levels: one packet a round trip.
    let stale = {
        let mut echo = pair(SIXTEEN, 3, 1001);
        echo[0] |= LEAST_LAST;
        echo
    };
    for bytes in [[HAS_LEAST | LEAST_LAST | 3 << 2, 0, 0], stale] {
        let mut flow = Flow::new("dcp_ew", &[], 100, 2);
        flow.srtt_us = 200_000;
        assert_eq!(flow.on_feedback(100, &bytes), 101, "{bytes:?}");
        assert_eq!(flow.watched("known") as u32, 0);
    }
    let mut unseen = Flow::new("dcp_ew", &[], 100, 2);
    let mut ack = unseen.ack(100);
    ack.feedback = abi::Feedback {
        confirmed: 0,
        ..feedback(&pair(SIXTEEN, 3, 1))
    };
    assert_eq!(unseen.on_ack(&ack), 101);
    let mut cleared = Flow::new("dcp_ew", &[("code", NINE)], 100, 2);
    assert_eq!(cleared.on_feedback(100, &region(0)), 101);
    assert_eq!(cleared.watched("code") as u32, 0);
}
