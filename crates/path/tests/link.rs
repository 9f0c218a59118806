//! A link against references that are computed otherwise.

use std::collections::VecDeque;
use std::sync::Arc;

use fadelab_laws::{capacity, router};
use fadelab_path::link::{Arrival, Departure, Link};
use fadelab_path::packet::{FeedbackBytes, Header, PacketId, Store};
use fadelab_path::spec::{Buffer, CapacitySpec, LinkSpec, RouterSpec};
use fadelab_path::trace::Trace;
use fadelab_phy::channel::{ChannelSpec, CodeMode, CodeSpec, Model, PacketKind};
use fadelab_phy::random::Stream;

const MS: u64 = 1_000_000;
const DATA: u8 = fadelab_laws::abi::PACKET_DATA as u8;

/// Packets by number; nothing is reused.
#[derive(Default)]
struct Packets(Vec<Header>, FeedbackBytes);

impl Packets {
    fn add(&mut self, ip_bytes: u16, flags: u8) -> PacketId {
        self.0.push(Header {
            ip_bytes,
            flags,
            ..Header::default()
        });
        (self.0.len() - 1) as PacketId
    }
}

impl Store for Packets {
    fn header(&mut self, id: PacketId) -> &mut Header {
        &mut self.0[id as usize]
    }

    fn feedback(&mut self, _: PacketId) -> &mut FeedbackBytes {
        &mut self.1
    }
}

fn spec(capacity_of: CapacitySpec, delay_ns: u64, packets: Option<u32>, bytes: Option<u64>) -> LinkSpec {
    let (law, part) = (
        router("droptail").expect("a law"),
        capacity("configured").expect("a part"),
    );
    LinkSpec {
        name: "link".to_owned(),
        capacity: capacity_of,
        delay_ns,
        buffer: Buffer { packets, bytes },
        router: RouterSpec {
            law,
            params: law.default_params(),
            capacity: part,
            capacity_params: part.default_params(),
        },
        channel: None,
        shown: true,
    }
}

fn constant(rate_bps: u64) -> CapacitySpec {
    CapacitySpec::Constant { rate_bps }
}

/// A link with its packets and what came out: (time, packet, whether it was lost).
struct Bench {
    link: Link,
    packets: Packets,
    out: Vec<(u64, PacketId, bool)>,
}

impl Bench {
    fn new(spec: &LinkSpec) -> Self {
        Self {
            link: Link::new(spec, 1, 1500),
            packets: Packets::default(),
            out: Vec::new(),
        }
    }

    /// Serves all that is due by `until_ns`.
    fn run(&mut self, until_ns: u64) {
        while self.link.next_due() <= until_ns {
            let due_ns = self.link.next_due();
            match self.link.service(due_ns, &mut self.packets).expect("sound") {
                Departure::None => {}
                Departure::Delivered(id) => self.out.push((due_ns, id, false)),
                Departure::Lost(id) => self.out.push((due_ns, id, true)),
            }
        }
    }

    /// A packet arrives. Returns whether it was taken.
    fn arrive(&mut self, now_ns: u64, ip_bytes: u16, flags: u8) -> bool {
        self.run(now_ns);
        let id = self.packets.add(ip_bytes, flags);
        self.link.arrive(now_ns, id, &mut self.packets).expect("sound") != Arrival::Dropped
    }
}

#[test]
fn transmissions_do_not_drift() {
    // Goal: a million packets of odd sizes back to back at odd rates end within a nanosecond of exact rational arithmetic:
    // the remainder is kept.
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
    // Goal: with every third packet dropped when its turn comes, the others leave as if it had never been there, which an
    // undropped link with the same arrivals less those shows; nothing is lost from the counts.
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

fn mahimahi(opportunities_ms: &[u64]) -> CapacitySpec {
    CapacitySpec::Trace(Arc::new(Trace {
        opportunities_ms: opportunities_ms.to_vec(),
        opportunity_bytes: 1504,
    }))
}

#[test]
fn traces_serve_as_by_hand() {
    // Goal: a log worked out by hand: several packets in one opportunity, a packet over several, opportunities that nobody
    // used, the rest of one that is lost with the queue empty, and the wrap of the trace.
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
    // Goal: random packets over a random trace leave when an emulator that walks through the opportunities one by one lets
    // them leave, and no opportunity is used twice.
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

/// Half-width of an interval that a binomial share leaves once in 10^5 runs.
fn margin(share: f64, count: u64) -> f64 {
    4.5 * (share * (1.0 - share) / count as f64).sqrt()
}

#[test]
fn channels_lose_what_they_promise() {
    // Goal: the realised loss of a link lies within a binomial interval of `ChannelSpec::packet_error_at`, for data and ACKs,
    // on plain random channels, bit-level fading with a code, and packet-scale fading of short stays.
    let fading = Model::GilbertElliott {
        modulation: fadelab_phy::channel::Modulation::Bpsk,
        antennas: fadelab_phy::channel::Antennas::OneByOne,
        snr_good_db: 19.0,
        snr_bad_db: 9.0,
        burst_good_bits: 800.0,
        burst_bad_bits: 8.0,
    };
    let code = CodeSpec {
        data_rate: 0.93,
        ack_rate: 0.5,
        mode: CodeMode::Ideal,
    };
    let slow = Model::PacketScale {
        good_ns_mean: 3e6,
        bad_ns_mean: 1e6,
        bit_error_good: 1e-6,
        bit_error_bad: 1e-4,
    };
    let channels = [
        (Model::Random { data: 0.1, ack: 0.02 }, CodeSpec::NONE),
        (fading, code),
        (slow, CodeSpec::NONE),
    ];
    for (model, code) in channels {
        let channel = ChannelSpec { model, code };
        let rate_bps = 54_000_000;
        let mut spec = spec(constant(rate_bps), MS, None, None);
        spec.channel = Some(channel.clone());
        let mut bench = Bench::new(&spec);
        let (mut now_ns, pairs) = (0, 30_000);
        for _ in 0..pairs {
            // Far enough apart for states to be independent, so that the binomial interval holds.
            now_ns += 20 * MS;
            assert!(bench.arrive(now_ns, 1040, DATA));
            now_ns += 20 * MS;
            assert!(bench.arrive(now_ns, 40, 0));
        }
        bench.run(u64::MAX - 1);
        let counters = bench.link.snapshot(now_ns + MS, &mut bench.packets).expect("sound");
        assert_eq!((counters.sent_data_pkts, counters.sent_pkts), (pairs, 2 * pairs));
        let lost_acks = counters.lost_air_pkts - counters.lost_air_data_pkts;
        for (kind, bytes, lost) in [
            (PacketKind::Data, 1040, counters.lost_air_data_pkts),
            (PacketKind::Ack, 40, lost_acks),
        ] {
            let expected = channel.packet_error_at(kind, bytes, rate_bps);
            let realised = lost as f64 / pairs as f64;
            let bound = margin(expected, pairs) + 1e-9;
            assert!(
                (realised - expected).abs() <= bound,
                "{:?} {kind:?}: {realised}, expected {expected}",
                channel.model
            );
        }
        assert_eq!(
            bench.out.iter().filter(|out| out.2).count() as u64,
            counters.lost_air_pkts
        );
    }
}

#[test]
fn parity_occupies_the_link() {
    // Goal: a code of rate r makes packets 1/r as long on the air, in time, in counters and in the queue's bytes.
    let mut coded = spec(constant(8_000_000), 0, None, Some(3000));
    coded.channel = Some(ChannelSpec {
        model: Model::Random { data: 0.0, ack: 0.0 },
        code: CodeSpec {
            data_rate: 0.8,
            ack_rate: 0.5,
            mode: CodeMode::Ideal,
        },
    });
    let mut bench = Bench::new(&coded);
    // One in transmission, two of 1300 bytes waiting, a third one does not fit in 3000 bytes, an ACK of 80 bytes does.
    let taken: Vec<bool> = (0..4).map(|_| bench.arrive(0, 1040, DATA)).collect();
    assert_eq!(taken, [true, true, true, false]);
    assert!(bench.arrive(0, 40, 0));
    let waiting = bench.link.snapshot(0, &mut bench.packets).expect("sound");
    assert_eq!(
        (waiting.queue_bytes, waiting.queue_pkts, waiting.sent_bytes),
        (2680, 3, 1300)
    );
    bench.run(u64::MAX - 1);
    let ends_us: Vec<u64> = bench.out.iter().map(|out| out.0 / 1000).collect();
    assert_eq!(ends_us, [1300, 2600, 3900, 3980]);
    let counters = bench.link.snapshot(3_980_000, &mut bench.packets).expect("sound");
    assert_eq!((counters.sent_bytes, counters.offered_bytes), (3980, 3980));
}
