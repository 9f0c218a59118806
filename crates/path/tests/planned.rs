//! Links that plan ahead, under laws, against links of the same spec that take an event for each step.

mod common;

use common::{Bench, CODE, DATA, MS, constant, fading, spec, step_by_step};
use fadelab_laws::{abi, router};
use fadelab_path::packet::Parcel;
use fadelab_path::spec::LinkSpec;
use fadelab_phy::channel::{ChannelSpec, Model};
use fadelab_phy::random::Stream;

/// The same link in both shapes.
struct Pair([Bench; 2]);

impl Pair {
    fn new(spec: &LinkSpec) -> Self {
        Self([Bench::new(spec), Bench::new(&step_by_step(spec))])
    }

    /// A packet comes to both that can carry marks, in the format `wire`. Returns whether both took it; the first
    /// argument names the case.
    fn arrive(&mut self, case: &str, now_ns: u64, ip_bytes: u16, flags: u32, wire: u32) -> bool {
        let taken = self.0.each_mut().map(|bench| {
            bench.run(now_ns);
            let id = bench.packets.add(ip_bytes, flags);
            let header = &mut bench.packets.0[id as usize];
            (header.ecn, header.outer_ecn, header.wire) = (2, 2, wire as u8);
            header.feedback_len = if wire == abi::WIRE_XCP { 12 } else { 0 };
            bench.packets.1 = [7; abi::FEEDBACK_BYTES_MAX];
            bench.enter(now_ns, Parcel::new(id, 0, ip_bytes))
        });
        assert_eq!(taken[0], taken[1], "{case} at {now_ns} ns");
        taken[0]
    }

    fn compare(&mut self, case: &str, now_ns: u64) {
        let counters = self.0.each_mut().map(|bench| {
            bench.run(now_ns);
            bench.link.snapshot(now_ns, &mut bench.packets).expect("sound")
        });
        assert_eq!(counters[0], counters[1], "{case} at {now_ns} ns");
    }

    /// Lets all out, and compares it. Returns how many packets were lost on the air, and on how many the law acted.
    fn end(&mut self, case: &str, now_ns: u64) -> (u64, u64) {
        self.compare(case, now_ns);
        let [planned, stepwise] = &mut self.0;
        planned.link.settle(now_ns, &mut planned.packets).expect("sound");
        assert_eq!(planned.out, stepwise.out, "{case}");
        assert_eq!(planned.packets.0, stepwise.packets.0, "{case}: marks");
        let counters = planned.link.snapshot(now_ns, &mut planned.packets).expect("sound");
        (counters.lost_air_pkts, counters.marked_pkts + counters.dropped_law_pkts)
    }
}

#[test]
fn a_planned_link_with_a_law_and_a_channel_is_an_evented_one() {
    // Goal: a link that plans ahead drops, marks and loses the same packets as one that goes step by step, at the same
    // instants, and counts the same after every packet: for a law that drops at arrival and two that mark, with
    // independent losses and with fading ones.
    for (law, wire) in [("red", 0), ("rem", 0), ("vcp", abi::WIRE_VCP)] {
        for (model, code) in [(Model::Random { data: 0.2, ack: 0.4 }, CODE), (fading(5.0), CODE)] {
            let mut spec = spec(constant(7_000_001), 3 * MS, Some(20), None);
            spec.router.law = router(law).expect("a law");
            spec.router.params = spec.router.law.default_params();
            spec.channel = Some(ChannelSpec { model, code });
            let (mut pair, mut random) = (Pair::new(&spec), Stream::new(4, law));
            let (mut now_ns, mut dropped) = (0, 0);
            for _ in 0..6000 {
                now_ns += random.below(4) * random.below(700_000);
                let flags = [DATA, 0][random.below(2) as usize];
                let ip_bytes = 40 + 100 * random.below(10) as u16;
                dropped += u32::from(!pair.arrive(law, now_ns, ip_bytes, flags, wire));
                pair.compare(law, now_ns);
            }
            let (lost, _) = pair.end(law, now_ns + 1000 * MS);
            assert!(dropped > 50 && lost > 20, "{law}: both happen: {dropped} {lost}");
        }
    }
}

#[test]
fn a_planned_link_with_a_law_is_an_evented_one() {
    // Goal: under bursts of random packets, with buffers in packets and in bytes, at even rates (so that packets come
    // when a transmission ends) and odd ones, both shapes drop the same packets, mark the same ones, are done with the
    // others at the same instants, and count the same at any instant: for a law that marks at arrival, one that marks
    // at departure, and two with timers and formats of their own.
    for (law, wire) in [("red", 0), ("rem", 0), ("vcp", abi::WIRE_VCP), ("xcp", abi::WIRE_XCP)] {
        let mut acted = 0;
        for (packets, bytes, rate_bps) in [
            (Some(20), None, 8_000_000),
            (None, Some(15_000), 7_000_001),
            (Some(9), Some(9_000), 999_999_937),
        ] {
            let mut spec = spec(constant(rate_bps), 3 * MS, packets, bytes);
            spec.router.law = router(law).expect("a law");
            // So that RED and REM act on any buffer within the time.
            let quick: &[(&str, f64)] = match law {
                "rem" => &[("gamma", 0.1)],
                "red" => &[("q_w", 0.02), ("thresholds", 1.0)],
                _ => &[],
            };
            spec.router.params = spec.router.law.params_from(quick).expect("valid");
            let (mut pair, mut random) = (Pair::new(&spec), Stream::new(4, law));
            let (mut now_ns, mut dropped) = (0, 0);
            for _ in 0..6000 {
                let gap_ns = random.below(5_600_000_000_000 / rate_bps) / 1000 * 1000;
                now_ns += random.below(4) * gap_ns + random.below(400) / 399 * 300 * MS;
                let ip_bytes = 40 + random.below(1460) as u16;
                dropped += u32::from(!pair.arrive(law, now_ns, ip_bytes, DATA, wire));
                if random.below(20) == 0 {
                    pair.compare(law, now_ns);
                }
            }
            acted += pair.end(law, now_ns + 1000 * MS).1;
            assert!(dropped > 50, "{law}: {dropped} dropped");
        }
        assert!(
            acted > 50 || law == "xcp",
            "{law}: {acted} marked or dropped by the law"
        );
    }
}

#[test]
fn what_was_prepared_is_not_computed_again() {
    // Goal: a node that was told all sizes beforehand loses the same packets as one that was told none, in either
    // shape, over a channel whose law of loss depends on the size.
    let mut planned = spec(constant(7_000_001), 3 * MS, Some(20), None);
    planned.channel = Some(ChannelSpec {
        model: fading(5.0),
        code: CODE,
    });
    for spec in [planned.clone(), step_by_step(&planned)] {
        let (mut told, mut not_told) = (Bench::new(&spec), Bench::new(&spec));
        told.link.prepare_all(1500);
        let mut random = Stream::new(6, "sizes");
        for step in 1..4000 {
            let ip_bytes = 40 + random.below(1460) as u16;
            let arrived = [&mut told, &mut not_told].map(|bench| bench.arrive(step * MS, ip_bytes, DATA));
            assert_eq!(arrived[0], arrived[1]);
        }
        for bench in [&mut told, &mut not_told] {
            bench.run(u64::MAX - 1);
        }
        assert_eq!(told.out, not_told.out);
        assert!(told.out.iter().filter(|out| out.2).count() > 20, "some are lost");
    }
}
