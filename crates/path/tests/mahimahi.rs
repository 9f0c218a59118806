//! The rules of mahimahi's mm-link, to the byte: logs worked out by hand, and an emulator that goes as mm-link does.
//!
//! A log has the lines that mm-link writes, times in ms and sizes with the 4 bytes of the TUN header:
//!
//! ```text
//! 12 + 1504        a packet of 1504 bytes arrived at 12 ms
//! 12 d 1 1504      it was dropped: 1 packet, 1504 bytes
//! 20 # 1504        an opportunity of 1504 bytes came at 20 ms, used or not
//! 20 - 1504 8      the packet left after 8 ms
//! ```
//!
//! Opportunities of the same instant stand together here, before all that leaves by them.

mod common;
#[path = "common/mm_link.rs"]
mod mm_link;

use std::sync::Arc;

use common::{Bench, DATA, MS, spec};
use fadelab_laws::router;
use fadelab_path::spec::CapacitySpec;
use fadelab_path::trace::{Trace, TraceRules};
use fadelab_phy::random::Stream;

const TUN_BYTES: u16 = 4;

fn link(opportunities_ms: &[u64], rules: TraceRules) -> CapacitySpec {
    CapacitySpec::Trace(Arc::new(Trace {
        opportunities_ms: opportunities_ms.to_vec(),
        opportunity_bytes: 1504,
        rules,
    }))
}

/// What happens at an instant, in the order in which mm-link does it: opportunities and what leaves by them come before
/// arrivals.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Opportunity,
    Arrival(usize),
}

/// The log of a link: arrivals are (time in ns, IP bytes).
fn log(trace_ms: &[u64], limits: (Option<u32>, Option<u64>), arrivals: &[(u64, u16)], until_ms: u64) -> Vec<String> {
    let mut bench = Bench::new(&spec(link(trace_ms, TraceRules::ExactMahimahi), 0, limits.0, limits.1));
    let mut lines = Vec::new();
    for (index, &(at_ns, ip_bytes)) in arrivals.iter().enumerate() {
        let (at_ms, bytes) = (at_ns / MS, ip_bytes + TUN_BYTES);
        lines.push((at_ms, Place::Arrival(index), format!("{at_ms} + {bytes}")));
        if !bench.arrive(at_ns, ip_bytes, DATA) {
            lines.push((at_ms, Place::Arrival(index), format!("{at_ms} d 1 {bytes}")));
        }
    }
    bench.run(until_ms * MS);
    let trace = Trace {
        opportunities_ms: trace_ms.to_vec(),
        opportunity_bytes: 1504,
        rules: TraceRules::ExactMahimahi,
    };
    let times = (0..).map(|index| trace.time_ns(index) / MS);
    for at_ms in times.take_while(|&at_ms| at_ms <= until_ms) {
        lines.push((at_ms, Place::Opportunity, format!("{at_ms} # 1504")));
    }
    for &(at_ns, id, _) in &bench.out {
        let (arrived_ns, ip_bytes) = arrivals[id as usize];
        let (at_ms, bytes) = (at_ns / MS, ip_bytes + TUN_BYTES);
        assert_eq!(at_ns % MS, 0, "mm-link delivers at whole milliseconds");
        let waited_ms = at_ms - arrived_ns / MS;
        lines.push((at_ms, Place::Opportunity, format!("{at_ms} - {bytes} {waited_ms}")));
    }
    lines.sort_by_key(|&(at_ms, place, _)| (at_ms, place));
    lines.into_iter().map(|(_, _, line)| line).collect()
}

#[test]
fn full_packets_fill_opportunities() {
    // Goal: an IP packet of 1500 bytes uses all 1504, several opportunities of one ms take one packet each, and those
    // that nobody waits for are lost: at 1 ms, and the third at 5 ms.
    let arrivals = [(2 * MS, 1500), (2 * MS, 1500)];
    let expected = [
        "1 # 1504",
        "2 + 1504",
        "2 + 1504",
        "5 # 1504",
        "5 # 1504",
        "5 # 1504",
        "5 - 1504 3",
        "5 - 1504 3",
        "6 # 1504",
    ];
    assert_eq!(log(&[1, 5, 5, 5, 6], (None, Some(u64::MAX)), &arrivals, 6), expected);
}

#[test]
fn bytes_are_shared_by_packets() {
    // Goal: several packets in one opportunity, packets over two and three of them, and the rest of one lost.
    //   4 ms: 256 + 504 + 744 of 752               all 1504 used; without TUN headers all three would be gone
    //   7 ms: 8 of 752, then 1496 of 1504          all 1504 used
    //   9 ms: 8 of 1504, then 54; 1442 bytes are left and lost, because the queue is empty
    //  12 ms: the packet of 10 ms finds none of them
    let arrivals = [
        (0, 252),
        (MS, 500),
        (2 * MS, 748),
        (5 * MS, 1500),
        (8 * MS, 50),
        (10 * MS, 40),
    ];
    let expected = [
        "0 + 256",
        "1 + 504",
        "2 + 752",
        "4 # 1504",
        "4 - 256 4",
        "4 - 504 3",
        "5 + 1504",
        "7 # 1504",
        "7 - 752 5",
        "8 + 54",
        "9 # 1504",
        "9 - 1504 4",
        "9 - 54 1",
        "10 + 44",
        "12 # 1504",
        "12 - 44 2",
    ];
    assert_eq!(log(&[4, 7, 9, 12], (None, Some(u64::MAX)), &arrivals, 12), expected);
}

#[test]
fn a_packet_may_wait_for_its_last_bytes() {
    // Goal: the bytes that an opportunity gave stay given: 1496 bytes of a packet leave at 3 ms and 8 of them at 50 ms;
    // the rest there, 1496 bytes, takes a packet that came in between and 596 bytes of another.
    let arrivals = [(0, 4), (0, 1500), (20 * MS, 896), (30 * MS, 1500)];
    let expected = [
        "0 + 8",
        "0 + 1504",
        "3 # 1504",
        "3 - 8 3",
        "20 + 900",
        "30 + 1504",
        "50 # 1504",
        "50 - 1504 50",
        "50 - 900 30",
        "51 # 1504",
        "51 - 1504 21",
    ];
    assert_eq!(log(&[3, 50, 51], (None, Some(u64::MAX)), &arrivals, 51), expected);
}

#[test]
fn arrivals_come_behind_the_opportunities_of_their_millisecond() {
    // Goal: mm-link uses up what came before it takes a packet in. 4.999999 ms is served at 5 ms, 5 ms is not, and
    // neither is 5.3 ms; an opportunity at 0 ms serves nobody.
    let arrivals = [(0, 200), (5 * MS - 1, 296), (5 * MS, 396), (5 * MS + 300_000, 496)];
    let expected = [
        "0 # 1504",
        "0 + 204",
        "4 + 300",
        "5 # 1504",
        "5 - 204 5",
        "5 - 300 1",
        "5 + 400",
        "5 + 500",
        // The trace begins anew at its last time: the second opportunity is the first one of the next round.
        "8 # 1504",
        "8 # 1504",
        "8 - 400 3",
        "8 - 500 3",
    ];
    assert_eq!(log(&[0, 5, 8], (None, Some(u64::MAX)), &arrivals, 8), expected);
}

#[test]
fn a_trace_wraps_by_its_last_time() {
    // Goal: with 2, 3, 7 the opportunities are 2, 3, 7, 9, 10, 14, 16, ...: the gap before the first one is repeated,
    // and a packet may begin in one round and end in the next.
    let arrivals = [(3 * MS, 700), (6 * MS, 1500), (13 * MS, 1500), (14 * MS, 1500)];
    let expected = [
        "2 # 1504",
        "3 # 1504",
        "3 + 704",
        "6 + 1504",
        "7 # 1504",
        "7 - 704 4",
        // 800 bytes of the second packet left at 7 ms; 704 do at 9 ms, the first opportunity of the second round.
        "9 # 1504",
        "9 - 1504 3",
        "10 # 1504",
        "13 + 1504",
        "14 # 1504",
        "14 - 1504 1",
        "14 + 1504",
        "16 # 1504",
        "16 - 1504 2",
        "17 # 1504",
    ];
    assert_eq!(log(&[2, 3, 7], (None, Some(u64::MAX)), &arrivals, 17), expected);
}

#[test]
fn a_queue_counts_what_waits_behind_the_packet_in_transit() {
    // Goal: droptail of mm-link: an arrival is dropped that would make more packets, or more bytes with TUN headers,
    // than the limit. The packet of which an opportunity took some bytes has left the queue.
    let arrivals = [
        (0, 1500),
        (0, 1500),
        (0, 1500),
        (2 * MS, 1500),
        (3 * MS, 96),
        (3 * MS, 100),
        (4 * MS, 1500),
    ];
    // Two packets fit; at 3 ms one is gone and none is in transit.
    let packets = [
        "0 + 1504",
        "0 + 1504",
        "0 + 1504",
        "0 d 1 1504",
        "2 + 1504",
        "2 d 1 1504",
        "3 # 1504",
        "3 - 1504 3",
        "3 + 100",
        "3 + 104",
        "3 d 1 104",
        "4 + 1504",
        "4 d 1 1504",
        "9 # 1504",
        "9 - 1504 9",
    ];
    assert_eq!(log(&[3, 9], (Some(2), None), &arrivals, 9), packets);
    // 3108 bytes: two full packets and 100 bytes. After 3 ms one full packet waits: 1504 + 100 + 104 + 1504 > 3108.
    let bytes = [
        "0 + 1504",
        "0 + 1504",
        "0 + 1504",
        "0 d 1 1504",
        "2 + 1504",
        "2 d 1 1504",
        "3 # 1504",
        "3 - 1504 3",
        "3 + 100",
        "3 + 104",
        "4 + 1504",
        "4 d 1 1504",
        "9 # 1504",
        "9 - 1504 9",
    ];
    assert_eq!(log(&[3, 9], (None, Some(3108)), &arrivals, 9), bytes);
    // A packet in transit does not count: 8 bytes leave at 3 ms with 1496 of the next, then two more fit.
    let transit = [(0, 4), (0, 1500), (4 * MS, 40), (5 * MS, 40), (6 * MS, 40)];
    let expected = [
        "0 + 8",
        "0 + 1504",
        "3 # 1504",
        "3 - 8 3",
        "4 + 44",
        "5 + 44",
        "6 + 44",
        "6 d 1 44",
        "9 # 1504",
        "9 - 1504 9",
        "9 - 44 5",
        "9 - 44 4",
    ];
    assert_eq!(log(&[3, 9], (Some(2), None), &transit, 9), expected);
}

#[test]
fn the_plain_rules_differ_by_header_and_instant_alone() {
    // Goal: the same arrivals under both: 1500 bytes leave 4 of an opportunity, and arrivals at its instant are served.
    let out = |rules| {
        let mut bench = Bench::new(&spec(link(&[4, 5, 6, 10], rules), 0, None, None));
        for (at_ms, ip_bytes) in [(1, 1500), (1, 1500), (5, 1500), (6, 4)] {
            assert!(bench.arrive(at_ms * MS, ip_bytes, DATA));
        }
        bench.run(20 * MS);
        let sent = bench.link.snapshot(20 * MS, &mut bench.packets).expect("sound");
        let ends_ms: Vec<u64> = bench.out.iter().map(|out| out.0 / MS).collect();
        (ends_ms, sent.sent_bytes, sent.sent_data_pkts)
    };
    // 1500 and 4 bytes at 4 ms; 1496 and 8 at 5 ms; 1492 and the 4 bytes at 6 ms.
    assert_eq!(out(TraceRules::Plain), (vec![4, 5, 6, 6], 4504, 0));
    // 1504 at 4 ms, at 5 ms, at 6 ms; 8 bytes at 10 ms.
    assert_eq!(out(TraceRules::ExactMahimahi), (vec![4, 5, 6, 10], 4520, 0));
}

#[test]
fn random_packets_leave_when_mm_link_lets_them() {
    // Goal: over random traces, packets and limits, departures and drops are those of an emulator that goes as mm-link
    // does: before a packet comes in, every opportunity up to its millisecond is used up. So it is on a link that goes
    // step by step, as with CoDel, which a target of ten seconds keeps from dropping.
    let mut random = Stream::new(3, "mahimahi");
    for case in 0..200 {
        let mut at_ms = 0;
        let trace_ms: Vec<u64> = (0..20)
            .map(|_| {
                at_ms += random.below(6);
                at_ms
            })
            .collect();
        let trace_ms = if at_ms == 0 { vec![1] } else { trace_ms };
        let limit = 1 + random.below(10) as u32;
        let mut now_ns = 0;
        let arrivals: Vec<(u64, u16)> = (0..300)
            .map(|_| {
                // Every other one at a whole millisecond, where order matters.
                now_ns += random.exponential(2_500_000.0) as u64;
                let at_ns = if random.below(2) == 0 {
                    now_ns.next_multiple_of(MS)
                } else {
                    now_ns
                };
                now_ns = at_ns;
                (at_ns, 40 + random.below(1461) as u16)
            })
            .collect();
        let droptail = spec(link(&trace_ms, TraceRules::ExactMahimahi), 0, Some(limit), None);
        let mut codel = droptail.clone();
        codel.router.law = router("codel").expect("a law");
        codel.router.params = codel.router.law.params_from(&[("target_us", 1e7)]).expect("valid");
        let on_link: Vec<(u64, u32)> = arrivals
            .iter()
            .map(|&(at_ns, ip_bytes)| (at_ns / MS, u32::from(ip_bytes + TUN_BYTES)))
            .collect();
        let end_ms = now_ns / MS + 100_000;
        let expected = mm_link::emulate(&trace_ms, limit as usize, &on_link, end_ms);
        for spec in [droptail, codel] {
            let mut bench = Bench::new(&spec);
            let mut taken = Vec::new();
            for &(at_ns, ip_bytes) in &arrivals {
                taken.push(bench.arrive(at_ns, ip_bytes, DATA));
            }
            bench.run(now_ns + 1_000 * 120 * MS);
            let got: Vec<(u64, u32)> = bench.out.iter().map(|out| (out.0 / MS, out.1)).collect();
            assert_eq!(
                (&taken, &got),
                (&expected.0, &expected.1),
                "case {case}, {}",
                spec.router.law.name()
            );
        }
    }
}

#[test]
fn drops_at_departure_keep_the_rules() {
    // Goal: worked out by hand, three opportunities every 8 ms: where the law drops the second packet at its departure,
    // the third one takes its opportunity, and what comes at the very instant of the opportunities waits for the next.
    let mut spec = spec(link(&[8, 8, 8], TraceRules::ExactMahimahi), 0, None, None);
    spec.router.law = router("kth").expect("a test law");
    spec.router.params = spec
        .router
        .law
        .params_from(&[("first", 2.0)])
        .expect("valid parameters");
    let mut bench = Bench::new(&spec);
    for arrives_ns in [MS, MS, 2 * MS, 8 * MS] {
        assert!(bench.arrive(arrives_ns, 1500, DATA));
    }
    bench.run(30 * MS);
    let mut out: Vec<_> = bench
        .out
        .iter()
        .map(|&(at_ns, id, lost)| (at_ns / MS, id, lost))
        .collect();
    out.sort_unstable();
    assert_eq!(out, [(8, 0, false), (8, 1, true), (8, 2, false), (16, 3, false)]);
}
