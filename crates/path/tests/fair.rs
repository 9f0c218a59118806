//! Fair queues: turns, sparse flows, room.

mod common;

use common::{Bench, MS, constant, spec};
use fadelab_laws::router;
use fadelab_path::spec::{LinkSpec, Queues};

const END: u64 = u64::MAX - 1;

/// 8 Mbit/s, so that a packet of 1000 bytes takes a millisecond; no propagation.
fn link(hashed: Option<u32>, quantum_bytes: u32, packets: Option<u32>) -> LinkSpec {
    let mut link = spec(constant(8_000_000), 0, packets, None);
    link.queues = Queues::Fair { hashed, quantum_bytes };
    link
}

/// Flows in the order in which their packets came out, `None` for those that were dropped.
fn order(bench: &Bench) -> Vec<u32> {
    let out = bench.out.iter().filter(|out| !out.2);
    out.map(|out| bench.packets.2[out.1 as usize]).collect()
}

#[test]
fn flows_take_turns_by_bytes() {
    // Goal: two flows that always have something to send get the same bytes, whatever the size of their packets: after
    // the first two, three of 500 bytes go between two of 1500.
    let mut bench = Bench::new(&link(None, 1500, None));
    for _ in 0..40 {
        bench.arrive_of(0, 0, 1500);
    }
    for _ in 0..120 {
        bench.arrive_of(0, 1, 500);
    }
    bench.run(END);
    let order = order(&bench);
    let expected: Vec<u32> = [0, 1, 1, 1].into_iter().cycle().take(160).collect();
    assert_eq!(order, expected);
}

#[test]
fn a_small_quantum_is_saved_up() {
    // Goal: with a quantum of 300 bytes a queue collects credit over rounds: shares stay those of the bytes, here 1:1
    // within a packet of either size at any instant.
    let mut bench = Bench::new(&link(None, 300, None));
    for _ in 0..60 {
        bench.arrive_of(0, 0, 1400);
        bench.arrive_of(0, 1, 700);
        bench.arrive_of(0, 1, 700);
    }
    bench.run(60 * 2 * 1400 * 1000);
    let mut bytes = [0i64; 2];
    for flow in order(&bench) {
        bytes[flow as usize] += [1400, 700][flow as usize];
        assert!((bytes[0] - bytes[1]).abs() <= 1400 + 700 + 300, "{bytes:?}");
    }
}

#[test]
fn a_sparse_flow_goes_first() {
    // Goal: a packet of a flow whose queue was empty waits for the packet in transmission only, however long the others
    // are, each time.
    let mut bench = Bench::new(&link(Some(1024), 1000, None));
    for flow in 0..3 {
        for _ in 0..20 {
            bench.arrive_of(0, flow, 1000);
        }
    }
    // In the middle of the sixth packet.
    bench.arrive_of(5 * MS + MS / 2, 7, 100);
    bench.arrive_of(30 * MS + MS / 2, 7, 100);
    bench.run(END);
    let sparse: Vec<u64> = bench
        .out
        .iter()
        .filter(|out| bench.packets.2[out.1 as usize] == 7)
        .map(|out| out.0)
        .collect();
    assert_eq!(sparse, [6 * MS + MS / 10, 31 * MS + MS / 5]);
}

#[test]
fn room_is_made_where_most_waits() {
    // Goal: a packet too many costs the longest queue the older half of its bytes, at its head; the arrival itself is
    // lost only where it is in that half. What was dropped is handed back and counted.
    let mut bench = Bench::new(&link(None, 1000, Some(10)));
    for _ in 0..9 {
        assert!(bench.arrive_of(0, 0, 1000));
    }
    assert!(bench.arrive_of(0, 1, 1000) && bench.arrive_of(0, 1, 1000));
    // One in transmission, 8 and 2 wait; the next one drops 4 of the 8.
    assert!(bench.arrive_of(0, 2, 1000));
    bench.run(0);
    assert_eq!(
        bench.out.iter().map(|out| (out.1, out.2)).collect::<Vec<_>>(),
        [1, 2, 3, 4].map(|id| (id, true))
    );
    let counters = bench.link.snapshot(0, &mut bench.packets).expect("sound");
    assert_eq!((counters.dropped_full_pkts, counters.queue_pkts), (4, 7));
    assert_eq!(counters.dropped_bytes, 4000);
    bench.run(END);
    assert_eq!(order(&bench), [0, 1, 2, 0, 1, 0, 0, 0]);
    // Alone in a buffer of one packet, a larger one is its own queue's head.
    let mut small = link(None, 1000, None);
    small.buffer = fadelab_path::spec::Buffer {
        packets: None,
        bytes: Some(900),
    };
    let mut small = Bench::new(&small);
    small.arrive_of(0, 0, 1000);
    small.run(0);
    assert_eq!(small.out, [(0, 0, true)], "it does not fit at all");
}

#[test]
fn room_that_costs_the_arrival_too_is_heard_of() {
    // Goal: where the older half of the longest queue is an older packet and the arriving one, both are dropped at that
    // instant. Whoever drives the link asks it when it is due next unless the arrival alone was dropped, so an arrival
    // with which others were dropped is no such one.
    let mut bench = Bench::new(&link(None, 1000, Some(1)));
    for ip_bytes in [1000, 52] {
        assert!(bench.arrive_of(0, 0, ip_bytes));
    }
    let due_ns = bench.link.next_due();
    let heard = bench.arrive_of(MS / 2, 0, 100);
    assert!(
        heard || bench.link.next_due() == due_ns,
        "what it dropped waits unheard of"
    );
    bench.run(END);
    assert_eq!(bench.out, [(MS / 2, 1, true), (MS / 2, 2, true), (MS, 0, false)]);
    let counters = bench.link.snapshot(END, &mut bench.packets).expect("sound");
    assert_eq!((counters.dropped_full_pkts, counters.dropped_bytes), (2, 152));
}

#[test]
fn a_hash_divides_the_flows() {
    // Goal: flows that share a queue share its turns: with one queue the link is first in, first out; with 1024 queues
    // and 12 flows nearly all stand alone, and another seed's hash is another one.
    let mut single = Bench::new(&link(Some(1), 1000, None));
    let flows: Vec<u32> = (0..60).map(|number| number * number % 7).collect();
    for &flow in &flows {
        single.arrive_of(0, flow, 1000);
    }
    single.run(END);
    assert_eq!(order(&single), flows);
    let mut many = Bench::new(&link(Some(1024), 1000, None));
    for flow in 0..12 {
        for _ in 0..5 {
            many.arrive_of(0, flow, 1000);
        }
    }
    many.run(END);
    let mut first: Vec<u32> = order(&many)[..12].to_vec();
    first.sort_unstable();
    first.dedup();
    assert!(first.len() >= 11, "{first:?}");
}

#[test]
fn each_queue_has_a_law_to_itself() {
    // Goal: under FQ-CoDel a flow that overloads the link is dropped from, and one beside it with less than its share
    // is not and never waits for more than two packets.
    let mut spec = link(Some(1024), 1000, None);
    spec.router.law = router("codel").expect("a law");
    spec.router.params = spec.router.law.default_params();
    let mut bench = Bench::new(&spec);
    for number in 0..4000u64 {
        bench.arrive_of(number * MS / 2, 0, 1000);
        if number % 10 == 0 {
            bench.arrive_of(number * MS / 2, 1, 1000);
        }
    }
    let end_ns = 2000 * MS;
    bench.run(end_ns);
    let counters = bench.link.snapshot(end_ns, &mut bench.packets).expect("sound");
    assert!(counters.dropped_law_pkts > 20, "{counters:?}");
    let dropped = |flow| {
        bench
            .out
            .iter()
            .filter(|out| out.2 && bench.packets.2[out.1 as usize] == flow)
            .count()
    };
    assert_eq!((dropped(0) as u64, dropped(1)), (counters.dropped_law_pkts, 0));
    let mut sent_ns = (0..4000u64)
        .filter(|number| number % 10 == 0)
        .map(|number| number * MS / 2);
    for out in bench.out.iter().filter(|out| bench.packets.2[out.1 as usize] == 1) {
        let wait_ns = out.0 - sent_ns.next().expect("in order");
        assert!(wait_ns <= 3 * MS, "{wait_ns}");
    }
}

#[test]
fn a_flow_of_its_own_queue_draws_by_itself() {
    // Goal: where each flow has a queue, RED's draws for one are its own: a packet of another flow, gone long before,
    // gives that other flow the first queue and changes nothing.
    let mut spec = link(None, 1000, None);
    spec.router.law = router("red").expect("a law");
    spec.router.params = spec.router.law.default_params();
    let drops = |others: u32| {
        let mut bench = Bench::new(&spec);
        for flow in 0..others {
            bench.arrive_of(0, flow, 1000);
        }
        for number in 0..3000u64 {
            bench.arrive_of(1000 * MS + number * MS / 2, 9, 1000);
        }
        bench.run(END);
        let own = bench.out.iter().filter(|out| bench.packets.2[out.1 as usize] == 9);
        own.map(|out| (out.0, out.2)).collect::<Vec<_>>()
    };
    let alone = drops(0);
    assert!(alone.len() > 1000 && alone.len() < 2900, "{}", alone.len());
    assert_eq!(alone, drops(1));
}
