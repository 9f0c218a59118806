//! The router `codel`: steps by hand, its due times, and the pseudo-code of RFC 8289 over random arrivals.

mod common;

use std::collections::VecDeque;

use common::{Hop, data};
use fadelab_laws::abi;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const MS: u64 = 1000;
const PACKET_BYTES: u64 = 1000;

fn hop(pairs: &[(&str, f64)]) -> Hop {
    let link = abi::Link {
        packet_bytes: PACKET_BYTES as u32,
        ..Default::default()
    };
    Hop::new("codel", pairs, &link)
}

/// A departure at `now_us` after `wait_us`, with `behind` packets left: its verdict and the ECN field it leaves with.
fn departs(hop: &mut Hop, now_us: u64, wait_us: u64, behind: u64, ecn: u32) -> (u32, u32) {
    hop.queue.now_us = now_us;
    hop.queue.wait_us = wait_us;
    hop.queue.queue_bytes = behind * PACKET_BYTES;
    let mut packet = data(abi::WIRE_NONE, ecn, PACKET_BYTES as u32);
    (hop.dequeue(&mut packet), u32::from(packet.ecn))
}

/// Times, in ms, at which a queue that always waits `wait_us` drops, looking every ms.
fn drops(hop: &mut Hop, from_ms: u64, to_ms: u64, wait_us: u64) -> Vec<u64> {
    let mut at = Vec::new();
    for now_ms in from_ms..to_ms {
        let (mut verdict, _) = departs(hop, now_ms * MS, wait_us, 50, 0);
        while verdict == abi::DROP {
            at.push(now_ms);
            (verdict, _) = departs(hop, now_ms * MS, wait_us, 50, 0);
        }
    }
    at
}

#[test]
fn a_standing_queue_is_dropped_from_ever_more_often() {
    // Goal: the first drop comes one interval after the wait rose above the target, the following ones 100 ms / sqrt(n)
    // apart: 100, 70.7, 57.7, 50, 44.7, 40.8, 37.8 ms, each due at the sum of those before.
    let expected = [100, 200, 271, 329, 379, 424, 464, 502];
    assert_eq!(drops(&mut hop(&[]), 0, 510, 6 * MS), expected);
    assert!(drops(&mut hop(&[]), 0, 510, 5 * MS - 1).is_empty(), "below the target");
    assert_eq!(drops(&mut hop(&[]), 0, 110, 5 * MS), [100], "the target is above");
}

#[test]
fn target_and_interval_are_parameters() {
    // Goal: with a target of 15 ms and an interval of 20 ms nothing happens at 14 ms, and drops at 15 ms come after 20,
    // 40 (20 / 1), 54.1 and 65.7 ms.
    let pairs = [("target_us", 15_000.0), ("interval_us", 20_000.0)];
    assert!(drops(&mut hop(&pairs), 0, 70, 14 * MS).is_empty());
    assert_eq!(drops(&mut hop(&pairs), 0, 70, 15 * MS), [20, 40, 55, 66]);
}

#[test]
fn one_good_packet_ends_an_episode() {
    // Goal: a packet below the target, or one with no more than a packet behind it, ends the drops and a new interval
    // must pass; an episode soon after begins at the rate that the last one added (4 drops: n = 4 - 1).
    for (wait_us, behind) in [(4 * MS, 50), (6 * MS, 1)] {
        let mut hop = hop(&[]);
        assert_eq!(drops(&mut hop, 0, 350, 6 * MS), [100, 200, 271, 329]);
        assert_eq!(departs(&mut hop, 350 * MS, wait_us, behind, 0).0, abi::PASS);
        // 351 + 100; then 100 / sqrt(3) = 57.7, 100 / sqrt(4) = 50.
        assert_eq!(drops(&mut hop, 351, 600, 6 * MS), [451, 509, 559]);
    }
}

#[test]
fn an_episode_long_after_starts_afresh() {
    // Goal: 16 intervals after the last due time (379 ms + 1600 ms) the next episode begins with n = 1, just before
    // them with n = 3.
    for (start_ms, second) in [(1878, 58), (1880, 100)] {
        let mut hop = hop(&[]);
        drops(&mut hop, 0, 350, 6 * MS);
        departs(&mut hop, 350 * MS, 0, 50, 0);
        let first = start_ms + 100;
        assert_eq!(drops(&mut hop, start_ms, first + 101, 6 * MS), [first, first + second]);
    }
}

#[test]
fn a_drop_at_the_start_lets_the_next_packet_go() {
    // Goal: where an episode begins the packet behind the dropped one is sent at the same instant whatever it waited,
    // and several due times that passed together drop several.
    let mut hop = hop(&[]);
    assert_eq!(departs(&mut hop, 0, 6 * MS, 50, 0).0, abi::PASS);
    assert_eq!(departs(&mut hop, 100 * MS, 6 * MS, 50, 0).0, abi::DROP);
    assert_eq!(departs(&mut hop, 100 * MS, 6 * MS, 50, 0).0, abi::PASS);
    // Due at 200, 270.7 and 328.4 ms have all passed at 330 ms, the next is at 378.4.
    let verdicts: Vec<u32> = (0..4).map(|_| departs(&mut hop, 330 * MS, 6 * MS, 50, 0).0).collect();
    assert_eq!(verdicts, [abi::DROP, abi::DROP, abi::DROP, abi::PASS]);
}

#[test]
fn marks_stand_for_drops() {
    // Goal: an ECN-capable packet is marked and sent where another is dropped, one a due time; switched off, it is
    // dropped; the threshold marks by the wait alone, from just above it.
    let mut marking = hop(&[]);
    departs(&mut marking, 0, 6 * MS, 50, 2);
    assert_eq!(departs(&mut marking, 100 * MS, 6 * MS, 50, 2), (abi::PASS, abi::ECN_CE));
    assert_eq!(departs(&mut marking, 100 * MS, 6 * MS, 50, 2), (abi::PASS, 2));
    // Two due times have passed: one mark a packet.
    let marked: Vec<_> = (0..3).map(|_| departs(&mut marking, 280 * MS, 6 * MS, 50, 2)).collect();
    assert_eq!(marked, [(abi::PASS, 3), (abi::PASS, 3), (abi::PASS, 2)]);
    let mut off = hop(&[("ecn", 0.0)]);
    departs(&mut off, 0, 6 * MS, 50, 2);
    assert_eq!(departs(&mut off, 100 * MS, 6 * MS, 50, 2), (abi::DROP, 2));
    let mut threshold = hop(&[("ce_threshold_us", 1000.0)]);
    for (wait_us, ecn, after) in [(1000, 2, 2), (1001, 2, 3), (1001, 1, 3), (1001, 0, 0)] {
        assert_eq!(departs(&mut threshold, 0, wait_us, 50, ecn), (abi::PASS, after));
    }
}

/// The pseudo-code of RFC 8289 section 5 with a real square root, in whole microseconds like the host's clock. Packets
/// are their arrivals.
#[derive(Default)]
struct Reference {
    queue: VecDeque<u64>,
    first_above: u64,
    drop_next: u64,
    count: u32,
    last_count: u32,
    dropping: bool,
    dropped: u32,
}

const TARGET: u64 = 5 * MS;
const INTERVAL: u64 = 100 * MS;

impl Reference {
    fn control_law(t: u64, count: u32) -> u64 {
        t + (INTERVAL as f64 / f64::from(count).sqrt()).round() as u64
    }

    /// A packet and whether it is ok to drop it.
    fn dodequeue(&mut self, now: u64) -> (Option<u64>, bool) {
        let Some(arrived) = self.queue.pop_front() else {
            self.first_above = 0;
            return (None, false);
        };
        if now - arrived < TARGET || self.queue.len() <= 1 {
            self.first_above = 0;
        } else if self.first_above == 0 {
            self.first_above = now + INTERVAL;
        } else if now >= self.first_above {
            return (Some(arrived), true);
        }
        (Some(arrived), false)
    }

    /// The packet that is sent.
    fn dequeue(&mut self, now: u64) -> Option<u64> {
        let (mut packet, mut ok_to_drop) = self.dodequeue(now);
        if self.dropping {
            self.dropping = ok_to_drop;
            while self.dropping && now >= self.drop_next {
                self.dropped += 1;
                self.count += 1;
                (packet, ok_to_drop) = self.dodequeue(now);
                self.dropping = ok_to_drop;
                if ok_to_drop {
                    self.drop_next = Self::control_law(self.drop_next, self.count);
                }
            }
        } else if ok_to_drop {
            self.dropped += 1;
            packet = self.dodequeue(now).0;
            self.dropping = true;
            let delta = self.count - self.last_count;
            let recent = now < self.drop_next + 16 * INTERVAL;
            self.count = if delta > 1 && recent { delta } else { 1 };
            self.drop_next = Self::control_law(now, self.count);
            self.last_count = self.count;
        }
        packet
    }
}

/// The same queue under the law: what a host does with its verdicts.
fn dequeue(hop: &mut Hop, queue: &mut VecDeque<u64>, now_us: u64, dropped: &mut u32) -> Option<u64> {
    while let Some(arrived_us) = queue.pop_front() {
        if departs(hop, now_us, now_us - arrived_us, queue.len() as u64, 0).0 == abi::PASS {
            return Some(arrived_us);
        }
        *dropped += 1;
    }
    None
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..Default::default()
    })]

    #[test]
    fn codel_follows_the_pseudo_code(
        phases in prop::collection::vec((100..1500u64, 0.3..3.0f64), 2..12),
    ) {
        // Goal: over phases of load between 0.3 and 3 of a link that sends a packet a millisecond, the law sends and
        // drops exactly what RFC 8289's pseudo-code does.
        let (mut hop, mut reference) = (hop(&[]), Reference::default());
        let (mut queue, mut dropped, mut now_us) = (VecDeque::new(), 0, 1_000_000u64);
        for (departures, load) in phases {
            let mut due = 0.0;
            for number in 0..departures {
                now_us += 1000 + 7 * (number % 3);
                due += load;
                while due >= 1.0 {
                    due -= 1.0;
                    queue.push_back(now_us - 500);
                    reference.queue.push_back(now_us - 500);
                }
                let sent = dequeue(&mut hop, &mut queue, now_us, &mut dropped);
                prop_assert_eq!(sent, reference.dequeue(now_us));
                prop_assert_eq!(dropped, reference.dropped);
            }
        }
    }
}

#[test]
fn due_times_follow_the_square_root() {
    // Goal: for n from 1 to 4095 (at 4096 it is a tie) the next mark is due 100 ms / sqrt(n) after the last due time,
    // to the nearest microsecond: not one before.
    let mut hop = hop(&[]);
    departs(&mut hop, 0, 6 * MS, 50, 2);
    let mut due_us = 100 * MS;
    assert_eq!(departs(&mut hop, due_us, 6 * MS, 50, 2).1, 3);
    for n in 1..4096 {
        due_us += (1e5 / f64::from(n).sqrt()).round() as u64;
        assert_eq!(departs(&mut hop, due_us - 1, 6 * MS, 50, 2).1, 2, "n = {n}");
        assert_eq!(departs(&mut hop, due_us, 6 * MS, 50, 2).1, 3, "n = {n}");
    }
}
