//! Recorded capacity, by hand and against an emulator that walks through the opportunities.

mod common;

use std::collections::VecDeque;
use std::sync::Arc;

use common::{Bench, DATA, MS, spec};
use fadelab_laws::router;
use fadelab_path::spec::{CapacitySpec, Queues};
use fadelab_path::trace::{Trace, TraceRules};
use fadelab_phy::random::Stream;

fn mahimahi(opportunities_ms: &[u64]) -> CapacitySpec {
    CapacitySpec::Trace(Arc::new(Trace {
        opportunities_ms: opportunities_ms.to_vec(),
        opportunity_bytes: 1504,
        rules: TraceRules::Plain,
    }))
}

#[test]
fn traces_serve_as_by_hand() {
    // Goal: a log worked out by hand: several packets in one opportunity, a packet over several, opportunities that
    // nobody used, the rest of one that is lost with the queue empty, and the wrap of the trace.
    let mut bench = Bench::new(&spec(mahimahi(&[2, 5, 5, 9, 10]), 0, None, None));
    // Opportunities: 2, 5, 5, 9, 10, then 12, 15, 15, 19, 20, then 22, ...
    let arrivals = [
        // The opportunity at 2 ms takes both, and 504 bytes of it are lost.
        (0, 500),
        (0, 500),
        // 1500 at 5 ms; 4 bytes of the next at 5 ms, all of the second there and 92 bytes at 9 ms.
        (3, 1500),
        (3, 1600),
        // In the rest of the one at 9 ms: 1504 - 92 = 1412 bytes.
        (4, 1412),
        // Nothing waits at 10 ms: that one is lost. At 12 ms 1504 of 3000 bytes, the rest at 15 ms.
        (11, 3000),
        // Beyond 8 bytes of the first at 15 ms, both in the second there.
        (13, 700),
        (13, 700),
        // At the very instant of an opportunity: served by it, the second one by what the first one left.
        (22, 100),
        (22, 1504),
    ];
    for (at_ms, bytes) in arrivals {
        assert!(bench.arrive(at_ms * MS, bytes, DATA));
    }
    bench.run(100 * MS);
    let ends_ms: Vec<u64> = bench.out.iter().map(|out| out.0 / MS).collect();
    assert_eq!(ends_ms, [2, 2, 5, 9, 9, 15, 15, 15, 22, 25]);
    let offered = |bench: &mut Bench, at_ns| {
        bench
            .link
            .snapshot(at_ns, &mut bench.packets)
            .expect("sound")
            .offered_bytes
    };
    let mut fresh = Bench::new(&spec(mahimahi(&[2, 5, 5, 9, 10]), 0, None, None));
    for (at_ns, opportunities) in [
        (0, 0),
        (2 * MS - 1, 0),
        (2 * MS, 1),
        (5 * MS, 3),
        (10 * MS, 5),
        (12 * MS, 6),
        (20 * MS, 10),
        (1000 * MS, 500),
    ] {
        assert_eq!(offered(&mut fresh, at_ns), opportunities * 1504, "by {at_ns} ns");
    }
}

#[test]
fn traces_agree_with_a_plain_reference() {
    // Goal: random packets over a random trace leave when an emulator that walks through the opportunities one by one
    // lets them leave, and no opportunity is used twice.
    let mut random = Stream::new(9, "trace");
    let mut at_ms = 0;
    let times: Vec<u64> = (0..200)
        .map(|_| {
            at_ms += random.below(4);
            at_ms
        })
        .collect();
    let CapacitySpec::Trace(trace) = mahimahi(&times) else {
        unreachable!("it is one")
    };
    let mut bench = Bench::new(&spec(CapacitySpec::Trace(Arc::clone(&trace)), 0, None, None));
    let mut arrivals = Vec::new();
    let mut now_ns = 0;
    for _ in 0..2_000 {
        now_ns += random.exponential(1_800_000.0) as u64;
        let bytes = 40 + random.below(2000) as u16;
        arrivals.push((now_ns, bytes));
        assert!(bench.arrive(now_ns, bytes, DATA));
    }
    bench.run(now_ns * 2);
    let (mut expected, mut queue, mut next) = (Vec::new(), VecDeque::new(), 0);
    for index in 0.. {
        let time_ns = trace.time_ns(index);
        while next < arrivals.len() && arrivals[next].0 <= time_ns {
            queue.push_back(u32::from(arrivals[next].1));
            next += 1;
        }
        let mut room = trace.opportunity_bytes;
        while room > 0
            && let Some(first) = queue.front_mut()
        {
            let used = room.min(*first);
            (room, *first) = (room - used, *first - used);
            if *first == 0 {
                expected.push(time_ns);
                queue.pop_front();
            }
        }
        if next == arrivals.len() && queue.is_empty() {
            break;
        }
    }
    let ends: Vec<u64> = bench.out.iter().map(|out| out.0).collect();
    assert_eq!(ends, expected);
}

#[test]
fn traces_serve_on_after_a_drop_at_departure() {
    // Goal: on a trace, too, a packet dropped when its turn comes gives its opportunity to the next.
    let mut spec = spec(mahimahi(&[1, 2, 3, 4, 5]), 0, None, None);
    spec.router.law = router("kth").expect("a test law");
    let pairs = [("first", 2.0), ("every", 0.0)];
    spec.router.params = spec.router.law.params_from(&pairs).expect("valid parameters");
    let mut bench = Bench::new(&spec);
    for _ in 0..4 {
        assert!(bench.arrive(0, 1504, DATA));
    }
    bench.run(10 * MS);
    let out: Vec<_> = bench
        .out
        .iter()
        .map(|&(at_ns, id, lost)| (at_ns / MS, id, lost))
        .collect();
    assert_eq!(out, [(1, 0, false), (2, 1, true), (2, 2, false), (3, 3, false)]);
}

#[test]
fn bytes_leave_with_their_opportunity() {
    // Goal: at any instant what was sent is what the opportunities so far gave, even of a packet that waits for its
    // last bytes, so that no interval sends more than it offered. On links of either build.
    let trace_ms = [3, 50, 51, 400];
    let spec = spec(mahimahi(&trace_ms), 0, None, None);
    let mut stepwise = spec.clone();
    stepwise.queues = Queues::Fair {
        hashed: None,
        quantum_bytes: 1514,
    };
    for spec in [spec, stepwise] {
        let mut bench = Bench::new(&spec);
        for bytes in [8, 3000, 100] {
            assert!(bench.arrive(0, bytes, DATA));
        }
        // 8 and 1496 of 3000 bytes at 3 ms, the other 1504 at 50 ms, 100 at 51 ms, where the rest is lost.
        let sent = [
            (2, 0),
            (3, 1504),
            (30, 1504),
            (49, 1504),
            (50, 3008),
            (51, 3108),
            (500, 3108),
        ];
        for (at_ms, bytes) in sent {
            bench.run(at_ms * MS);
            let counters = bench.link.snapshot(at_ms * MS, &mut bench.packets).expect("sound");
            assert_eq!(counters.sent_bytes, bytes, "by {at_ms} ms");
            assert!(counters.sent_bytes <= counters.offered_bytes);
        }
    }
}
