//! A link that goes step by step against one that plans ahead: the same without ARQ, jitter and fair queues.

mod common;

use std::sync::Arc;

use common::{Bench, DATA, MS, constant, spec, step_by_step};
use fadelab_laws::{abi, capacity, router, routers};
use fadelab_path::counters::LinkCounters;
use fadelab_path::spec::{CapacitySpec, LinkSpec, Queues};
use fadelab_path::trace::{Trace, TraceRules};
use fadelab_phy::channel::{ChannelSpec, CodeMode, CodeSpec, Model};
use fadelab_phy::random::Stream;

/// What comes out of a link under bursts of random packets, ECN-capable or not, and its counters on the way.
fn outcome(spec: &LinkSpec, seed: u64) -> (Vec<(u64, u32, u8)>, Vec<LinkCounters>) {
    let (mut bench, mut random) = (Bench::new(spec), Stream::new(seed, "arrivals"));
    let (mut now_ns, mut counters) = (0, Vec::new());
    for _ in 0..3000 {
        now_ns += random.below(4) * random.below(700_000);
        bench.run(now_ns);
        let is_data = random.below(4) > 0;
        let ip_bytes = if is_data { 200 + random.below(1300) as u16 } else { 40 };
        let next = bench.packets.0.len();
        bench.arrive(now_ns, ip_bytes, if is_data { DATA } else { 0 });
        if next > 0 && random.below(2) == 0 {
            // The packet of the last arrival may still wait; routers see the field when it leaves.
            (bench.packets.0[next].ecn, bench.packets.0[next].outer_ecn) = (2, 2);
        }
        if random.below(50) == 0 {
            let at_ns = now_ns + random.below(MS);
            bench.run(at_ns);
            counters.push(bench.link.snapshot(at_ns, &mut bench.packets).expect("sound"));
            now_ns = at_ns;
        }
    }
    // Laws with timers never end.
    let end_ns = now_ns + 10_000 * MS;
    bench.run(end_ns);
    counters.push(bench.link.snapshot(end_ns, &mut bench.packets).expect("sound"));
    let delivered = bench.out.iter().filter(|out| !out.2);
    let out = delivered
        .map(|&(at_ns, id, _)| (at_ns, id, bench.packets.0[id as usize].ecn))
        .collect();
    (out, counters)
}

#[test]
fn both_ways_of_a_link_are_one() {
    // Goal: under each router's law, over constant and recorded rates, buffers in packets and in bytes, with a channel
    // and without, a link that goes step by step delivers the same packets at the same instants with the same marks as
    // one that plans ahead, and its counters agree at any instant.
    let trace = Trace {
        opportunities_ms: vec![0, 0, 1, 4, 4, 4, 9, 13, 13, 20],
        opportunity_bytes: 1504,
        rules: TraceRules::Plain,
    };
    let air = ChannelSpec {
        model: Model::Random { data: 0.1, ack: 0.05 },
        code: CodeSpec {
            data_rate: 0.9,
            ack_rate: 0.5,
            mode: CodeMode::Ideal,
        },
    };
    let mut dropped_at_dequeue = 0;
    for (case, law) in routers().iter().chain(router("kth")).enumerate() {
        for rate in [constant(7_000_000), CapacitySpec::Trace(Arc::new(trace.clone()))] {
            for (packets, bytes) in [(Some(20), None), (None, Some(15_000))] {
                for channel in [None, Some(air.clone())] {
                    let mut planned = spec(rate.clone(), 3 * MS, packets, bytes);
                    (planned.router.law, planned.router.params) = (law, law.default_params());
                    if law.name() == "codel" {
                        // These queues are too short for its defaults.
                        let pairs = [("target_us", 2000.0), ("interval_us", 10_000.0)];
                        planned.router.params = law.params_from(&pairs).expect("valid");
                    }
                    if matches!(rate, CapacitySpec::Trace(_)) {
                        let part = capacity("measured").expect("a part");
                        (planned.router.capacity, planned.router.capacity_params) = (part, part.default_params());
                    }
                    planned.channel = channel;
                    let seed = case as u64;
                    let (ahead, stepwise) = (outcome(&planned, seed), outcome(&step_by_step(&planned), seed));
                    assert_eq!(ahead.0, stepwise.0, "{} {planned:?}", law.name());
                    assert_eq!(ahead.1, stepwise.1, "{} {planned:?}", law.name());
                    let drops = ahead.1.last().map_or(0, |end| end.dropped_law_pkts);
                    if law.flags() & abi::ROUTER_DROPS_AT_DEQUEUE != 0 {
                        dropped_at_dequeue += drops;
                    }
                }
            }
        }
    }
    assert!(dropped_at_dequeue > 100, "{dropped_at_dequeue}");
}

#[test]
fn acks_go_first_where_they_shall() {
    // Goal: of what waits ACKs are sent before data, each kind in its order; one limit and one count hold for both.
    let mut link = spec(constant(8_000_000), 0, Some(4), None);
    link.queues = Queues::AcksFirst;
    let mut bench = Bench::new(&link);
    let taken: Vec<bool> = [DATA, DATA, 0, DATA, 0, DATA]
        .into_iter()
        .map(|flags| bench.arrive(0, if flags == 0 { 40 } else { 1000 }, flags))
        .collect();
    assert_eq!(taken, [true, true, true, true, true, false], "one is sent, four wait");
    let waiting = bench.link.snapshot(0, &mut bench.packets).expect("sound");
    assert_eq!((waiting.arrived_pkts, waiting.dropped_full_pkts), (6, 1));
    bench.run(100 * MS);
    let order: Vec<u32> = bench.out.iter().filter(|out| !out.2).map(|out| out.1).collect();
    assert_eq!(order, [0, 2, 4, 1, 3]);
}
