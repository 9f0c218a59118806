//! Links whose rate changes at given instants.

mod common;

use std::sync::Arc;

use common::{Bench, DATA, MS, constant, spec, step_by_step};
use fadelab_path::rates::Rates;
use fadelab_path::spec::{CapacitySpec, LinkSpec};
use fadelab_phy::random::Stream;

fn changing(first_bps: u64, changes: &[(u64, u64)]) -> LinkSpec {
    let rates = Arc::new(Rates::new(first_bps, changes));
    spec(CapacitySpec::Changing(rates), 0, Some(50), None)
}

fn leave(link: &LinkSpec, arrivals: &[(u64, u16)]) -> Vec<u64> {
    let mut bench = Bench::new(link);
    for &(at_ns, ip_bytes) in arrivals {
        bench.arrive(at_ns, ip_bytes, DATA);
    }
    bench.run(u64::MAX / 4);
    bench.out.iter().map(|&(at_ns, ..)| at_ns).collect()
}

#[test]
fn a_packet_that_is_under_way_goes_on_at_the_new_rate() {
    // Goal: 1000 bytes take 1 ms at 8 Mbit/s and 2 ms at 4; of the second packet half is sent when the rate halves; the
    // last one meets a rate of 80 Mbit/s in its middle. A link that goes step by step does the same.
    let link = changing(8_000_000, &[(3 * MS / 2, 4_000_000), (7 * MS / 2, 80_000_000)]);
    let arrivals = [(0, 1000), (0, 1000), (0, 1000)];
    // 500 B in 1 ms at 4 Mbit/s end at 2.5; of the third 500 B are sent at 3.5, and 500 B take 50 us at 80.
    let expected = [MS, 5 * MS / 2, 7 * MS / 2 + 50_000];
    assert_eq!(leave(&link, &arrivals), expected);
    assert_eq!(leave(&step_by_step(&link), &arrivals), expected);
}

#[test]
fn a_rate_that_changes_to_itself_is_constant() {
    // Goal: at whatever instants, packets leave when they leave a constant rate, to the nanosecond by which that one
    // rounds, and the same is dropped, sent and offered.
    for seed in 0..20 {
        let mut random = Stream::new(seed, "rates");
        let rate_bps = 1_000_000 + random.next_u64() % 50_000_000;
        let mut at_ns = 0;
        let changes: Vec<(u64, u64)> = (0..5)
            .map(|_| {
                at_ns += 1 + random.next_u64() % (20 * MS);
                (at_ns, rate_bps)
            })
            .collect();
        let links = [
            changing(rate_bps, &changes),
            spec(constant(rate_bps), 0, Some(50), None),
        ];
        let mut benches = links.map(|link| Bench::new(&link));
        let mut now_ns = 0;
        for _ in 0..300 {
            now_ns += random.next_u64() % MS;
            let ip_bytes = 40 + (random.next_u64() % 1461) as u16;
            let taken = benches.each_mut().map(|bench| bench.arrive(now_ns, ip_bytes, DATA));
            assert_eq!(taken[0], taken[1], "seed {seed} at {now_ns} ns");
        }
        let counters = benches.each_mut().map(|bench| {
            bench.run(now_ns + 1_000 * MS);
            bench
                .link
                .snapshot(now_ns + 1_000 * MS, &mut bench.packets)
                .expect("sound")
        });
        assert_eq!(counters[0].sent_pkts, counters[1].sent_pkts);
        assert_eq!(counters[0].dropped_full_pkts, counters[1].dropped_full_pkts);
        assert_eq!(counters[0].offered_bytes, counters[1].offered_bytes);
        let [one, other] = &benches;
        for (left, right) in one.out.iter().zip(&other.out) {
            assert!(left.0.abs_diff(right.0) <= 1 && left.1 == right.1, "{left:?} {right:?}");
        }
    }
}

#[test]
fn planned_ahead_or_step_by_step_is_the_same() {
    // Goal: under random changes and arrivals both shapes of a link let the same packets out at the same instants, and
    // what was sent until any instant is never more than what was offered.
    for seed in 0..20 {
        let mut random = Stream::new(seed, "changes");
        let mut at_ns = 0;
        let changes: Vec<(u64, u64)> = (0..8)
            .map(|_| {
                at_ns += 1 + random.next_u64() % (30 * MS);
                (at_ns, 8 + random.next_u64() % 20_000_000)
            })
            .collect();
        let link = changing(5_000_000, &changes);
        let mut benches = [Bench::new(&link), Bench::new(&step_by_step(&link))];
        let mut now_ns = 0;
        for _ in 0..300 {
            now_ns += random.next_u64() % (2 * MS);
            let ip_bytes = 40 + (random.next_u64() % 1461) as u16;
            let seen = benches.each_mut().map(|bench| {
                let is_taken = bench.arrive(now_ns, ip_bytes, DATA);
                (
                    is_taken,
                    bench.link.snapshot(now_ns, &mut bench.packets).expect("sound"),
                )
            });
            assert_eq!(seen[0], seen[1], "seed {seed} at {now_ns} ns");
            assert!(seen[0].1.sent_bytes <= seen[0].1.offered_bytes, "{:?}", seen[0]);
        }
        for bench in &mut benches {
            bench.run(u64::MAX / 4);
        }
        assert_eq!(benches[0].out, benches[1].out, "seed {seed}");
    }
}
