//! A link against references that are computed otherwise.

mod common;

use std::collections::VecDeque;

use common::{Bench, DATA, MS, constant, spec};
use fadelab_laws::router;
use fadelab_phy::random::Stream;

#[test]
fn transmissions_do_not_drift() {
    // Goal: a million packets of odd sizes back to back at odd rates end within a nanosecond of exact rational
    // arithmetic: the remainder is kept.
    for rate_bps in [999_999_937, 54_000_000, 7_777_777, 99_999_999_977] {
        let mut bench = Bench::new(&spec(constant(rate_bps), 0, None, None));
        let mut random = Stream::new(rate_bps, "sizes");
        let mut bits = 0u128;
        for k in 0..1_000_000u32 {
            let bytes = 40 + random.below(1461) as u16;
            // Never idle: the queue holds about a hundred packets.
            let now_ns = (bits * 1_000_000_000 / u128::from(rate_bps)) as u64;
            let due_ns = if k < 100 {
                0
            } else {
                now_ns.saturating_sub(100 * 12_000_000_000 / rate_bps)
            };
            assert!(bench.arrive(due_ns.max(bench.out.last().map_or(0, |last| last.0)), bytes, DATA));
            bits += 8 * u128::from(bytes);
        }
        bench.run(u64::MAX - 1);
        let mut bits = 0u128;
        for &(end_ns, id, _) in &bench.out {
            bits += 8 * u128::from(bench.packets.0[id as usize].ip_bytes);
            let exact_ns = bits * 1_000_000_000 / u128::from(rate_bps);
            let late_ns = u128::from(end_ns) - exact_ns;
            assert!(
                late_ns <= 2,
                "packet {id} at {rate_bps} bit/s ends {late_ns} ns after {exact_ns}"
            );
        }
        let snapshot = bench
            .link
            .snapshot(bench.out[999_999].0, &mut bench.packets)
            .expect("sound");
        assert!(snapshot.offered_bytes - snapshot.sent_bytes < 1500, "busy all the time");
    }
}

/// A FIFO queue computed packet by packet: time is counted in units of 1/rate ns, in which all is whole.
struct Reference {
    rate: u128,
    delay_ns: u64,
    free: u128,
    /// Start and bytes of those taken.
    taken: VecDeque<(u64, u64, u64)>,
    limit_pkts: u64,
    limit_bytes: u64,
}

impl Reference {
    /// Waiting at `now_ns`: packets and bytes.
    fn waiting(&self, now_ns: u64) -> (u64, u64) {
        let waiting = self.taken.iter().filter(|taken| taken.1 > now_ns);
        waiting.fold((0, 0), |(packets, bytes), taken| (packets + 1, bytes + taken.2))
    }

    /// Delivery of a packet; `None`: it is dropped.
    fn arrive(&mut self, now_ns: u64, bytes: u64) -> Option<u64> {
        let (packets_waiting, bytes_waiting) = self.waiting(now_ns);
        if packets_waiting >= self.limit_pkts || bytes_waiting + bytes > self.limit_bytes {
            return None;
        }
        let start = self.free.max(u128::from(now_ns) * self.rate);
        self.free = start + u128::from(bytes) * 8_000_000_000;
        self.taken.push_back((now_ns, (start / self.rate) as u64, bytes));
        Some(self.free.div_ceil(self.rate) as u64 + self.delay_ns)
    }

    /// Integral of packets and bytes waiting until `now_ns`.
    fn integrals(&self, now_ns: u64) -> (u128, u128) {
        let waited = |&(arrived, start, bytes): &(u64, u64, u64)| {
            let ns = u128::from(start.min(now_ns).saturating_sub(arrived));
            (ns, ns * u128::from(bytes))
        };
        self.taken
            .iter()
            .map(waited)
            .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }
}

#[test]
fn queues_agree_with_a_plain_reference() {
    // Goal: drops, deliveries and the integrals of the queue agree with a queue computed packet by packet, limited in
    // packets, in bytes, in both, for random arrivals around the link's rate; snapshots in between change nothing.
    for (limit_pkts, limit_bytes) in [
        (Some(1), None),
        (Some(20), None),
        (None, Some(9_000)),
        (Some(12), Some(8_000)),
    ] {
        let rate_bps = 13_370_000;
        let mut bench = Bench::new(&spec(constant(rate_bps), 3 * MS, limit_pkts, limit_bytes));
        let mut reference = Reference {
            rate: u128::from(rate_bps),
            delay_ns: 3 * MS,
            free: 0,
            taken: VecDeque::new(),
            limit_pkts: limit_pkts.map_or(u64::MAX, u64::from),
            limit_bytes: limit_bytes.unwrap_or(u64::MAX),
        };
        let mut random = Stream::new(7, "arrivals");
        let (mut now_ns, mut expected, mut dropped) = (0, Vec::new(), 0);
        for id in 0..3_000u32 {
            now_ns += random.exponential(380_000.0) as u64;
            let bytes = 40 + random.below(1461);
            let due_ns = reference.arrive(now_ns, bytes);
            assert_eq!(
                bench.arrive(now_ns, bytes as u16, DATA),
                due_ns.is_some(),
                "packet {id}"
            );
            dropped += u64::from(due_ns.is_none());
            expected.extend(due_ns.map(|due_ns| (due_ns, id)));
            if id % 7 == 0 {
                let at_ns = now_ns + random.below(100_000);
                bench.run(at_ns);
                let snapshot = bench.link.snapshot(at_ns, &mut bench.packets).expect("sound");
                let (packets, bytes) = reference.waiting(at_ns);
                assert_eq!((u64::from(snapshot.queue_pkts), snapshot.queue_bytes), (packets, bytes));
                let (pkt_ns, byte_ns) = reference.integrals(at_ns);
                assert!(
                    snapshot.queue_pkt_ns.abs_diff(pkt_ns) <= u128::from(id) + 1,
                    "{} {pkt_ns}",
                    snapshot.queue_pkt_ns
                );
                assert!(snapshot.queue_byte_ns.abs_diff(byte_ns) <= 1500 * (u128::from(id) + 1));
                now_ns = at_ns;
            }
        }
        bench.run(u64::MAX - 1);
        assert!(dropped > 100, "the limit was met: {dropped}");
        assert_eq!(bench.out.len(), expected.len());
        for (&(at_ns, id, lost), &(due_ns, expected_id)) in bench.out.iter().zip(&expected) {
            assert!(
                !lost && id == expected_id && at_ns.abs_diff(due_ns) <= 1,
                "packet {id}: {at_ns} {due_ns}"
            );
        }
        let end_ns = bench.out.last().map_or(0, |last| last.0);
        let counters = bench.link.snapshot(end_ns, &mut bench.packets).expect("sound");
        assert_eq!((counters.dropped_full_pkts, counters.arrived_pkts), (dropped, 3000));
        assert_eq!(counters.arrived_bytes, counters.sent_bytes + counters.dropped_bytes);
    }
}

#[test]
fn drops_at_departure_let_others_move_up() {
    // Goal: with every third packet dropped when its turn comes, the others leave as if it had never been there, which
    // an undropped link with the same arrivals less those shows; nothing is lost from the counts.
    let mut spec = spec(constant(8_000_000), 5 * MS, Some(1000), None);
    spec.router.law = router("kth").expect("a test law");
    let pairs = [("first", 3.0), ("every", 3.0)];
    spec.router.params = spec.router.law.params_from(&pairs).expect("valid parameters");
    let mut bench = Bench::new(&spec);
    let mut reference = Reference {
        rate: 8_000_000,
        delay_ns: 5 * MS,
        free: 0,
        taken: VecDeque::new(),
        limit_pkts: u64::MAX,
        limit_bytes: u64::MAX,
    };
    let mut random = Stream::new(8, "arrivals");
    let (mut now_ns, mut expected) = (0, Vec::new());
    for id in 0..3_000u32 {
        // On average a packet of 770 us every 600 us: two thirds of them fit.
        now_ns += random.exponential(600_000.0) as u64;
        let bytes = 40 + random.below(1461);
        assert!(bench.arrive(now_ns, bytes as u16, DATA));
        if id % 3 != 2 {
            expected.push((reference.arrive(now_ns, bytes).expect("no limit"), id));
        }
    }
    bench.run(u64::MAX - 1);
    let delivered: Vec<_> = bench
        .out
        .iter()
        .filter(|out| !out.2)
        .map(|&(at_ns, id, _)| (at_ns, id))
        .collect();
    assert_eq!(delivered, expected, "a byte takes a whole microsecond: no rounding");
    let handed_back: Vec<_> = bench.out.iter().filter(|out| out.2).map(|&(_, id, _)| id).collect();
    assert_eq!(handed_back, (0..1000).map(|k| 3 * k + 2).collect::<Vec<_>>());
    let end_ns = bench.out.last().map_or(0, |last| last.0);
    let counters = bench.link.snapshot(end_ns, &mut bench.packets).expect("sound");
    assert_eq!((counters.dropped_law_pkts, counters.sent_pkts), (1000, 2000));
    assert_eq!(counters.arrived_bytes, counters.sent_bytes + counters.dropped_bytes);
    assert_eq!(bench.link.held_pkts(), 0);
}

#[test]
fn drops_at_departure_keep_the_order_of_time() {
    // Goal: on a link whose transmissions do not end at whole nanoseconds, what the law drops is handed back after the
    // packet ahead of it, not before.
    let mut spec = spec(constant(54_000_000), 5 * MS, Some(1000), None);
    spec.router.law = router("kth").expect("a test law");
    let pairs = [("first", 2.0), ("every", 3.0)];
    spec.router.params = spec.router.law.params_from(&pairs).expect("valid parameters");
    let mut bench = Bench::new(&spec);
    for _ in 0..300 {
        assert!(bench.arrive(0, 1040, DATA));
    }
    bench.run(u64::MAX - 1);
    assert_eq!(bench.out.iter().filter(|out| out.2).count(), 100);
    assert!(bench.out.is_sorted(), "{:?}", &bench.out[..6]);
}
