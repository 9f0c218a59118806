//! Wires against links of the same spec that take an event for each step, and share least with them.

mod common;

use common::{Bench, CODE, DATA, MS, constant, fading, spec, step_by_step};
use fadelab_path::packet::Parcel;
use fadelab_path::spec::LinkSpec;
use fadelab_path::wire::{Ahead, OnAir, Wires};
use fadelab_phy::channel::{ChannelSpec, CodeSpec, Model, PacketKind};
use fadelab_phy::random::Stream;

/// Tag of packets that are lost on the air.
const LOST: u32 = 7;

fn on_air(kind: PacketKind) -> OnAir {
    OnAir { kind, lost: LOST }
}

#[test]
fn a_wire_is_a_link() {
    // Goal: under bursts of random packets, with buffers in packets and in bytes, at even rates (so that packets come
    // when a transmission ends) and odd ones, a wire drops the same packets as a link, is done with the others at the
    // same instants, and counts the same at any instant.
    for (case, rate_bps) in [8_000_000, 7_000_001, 999_999_937].into_iter().enumerate() {
        for (packets, bytes) in [(Some(1), None), (Some(20), None), (None, Some(15_000))] {
            let spec = spec(constant(rate_bps), 3 * MS, packets, bytes);
            let (mut bench, mut wires) = (Bench::new(&step_by_step(&spec)), Wires::default());
            wires.add(&spec, 1, 0);
            let mut random = Stream::new(case as u64, "arrivals");
            let (mut now_ns, mut expected, mut dropped) = (0, Vec::new(), 0);
            for id in 0..5000 {
                now_ns += random.below(4) * random.below(5_600_000_000_000 / rate_bps) / 1000 * 1000;
                let ip_bytes = 40 + random.below(1460) as u16;
                let passage = wires.arrive(0, now_ns, ip_bytes).expect("sound");
                assert_eq!(bench.arrive(now_ns, ip_bytes, DATA), passage.is_some(), "packet {id}");
                dropped += u32::from(passage.is_none());
                expected.extend(passage.map(|passage| (passage.due_ns, id, false)));
                if random.below(20) == 0 {
                    now_ns += random.below(MS);
                    let counters = wires.snapshot(0, now_ns, Ahead::default()).expect("sound");
                    assert_eq!(
                        counters,
                        bench.link.snapshot(now_ns, &mut bench.packets).expect("sound")
                    );
                }
            }
            bench.run(u64::MAX - 1);
            assert_eq!(bench.out, expected);
            assert!(dropped > 50, "the limit was met: {dropped}");
        }
    }
}

#[test]
fn a_wire_with_a_channel_is_a_link() {
    // Goal: data and ACKs of few sizes and of many, in bursts that overflow the buffer and alone, meet the same fates
    // on a wire with a channel as on a link with it, at the same instants, and are counted the same at any instant,
    // while they wait, during their transmission and behind it, whether they are offered to it to pass at once before
    // or not. Parity counts as bytes.
    let stays = Model::PacketScale {
        good_ns_mean: 40e6,
        bad_ns_mean: 20e6,
        bit_error_good: 1e-6,
        bit_error_bad: 1e-2,
    };
    for (model, code) in [
        (Model::Random { data: 0.2, ack: 0.4 }, CodeSpec::NONE),
        (fading(5.0), CODE),
        (stays, CODE),
    ] {
        let mut spec = spec(constant(7_000_001), 3 * MS, Some(20), None);
        spec.channel = Some(ChannelSpec { model, code });
        let (mut bench, mut wires) = (Bench::new(&step_by_step(&spec)), Wires::default());
        wires.add(&spec, 1, 0);
        assert!(wires.is_on_air(0));
        let mut random = Stream::new(8, "arrivals");
        let (mut now_ns, mut expected, mut dropped, mut lost, mut at_once) = (0, Vec::new(), 0, 0, 0);
        for id in 0..15000 {
            now_ns += random.below(4) * random.below(700_000);
            let (flags, kind) = [(DATA, PacketKind::Data), (0, PacketKind::Ack)][random.below(2) as usize];
            let ip_bytes = if random.below(2) == 0 {
                540
            } else {
                40 + 100 * random.below(10) as u16
            };
            let mut parcel = Parcel::new(id, 0, ip_bytes);
            let passed = wires.pass_on_air_at_once(0, now_ns, &mut parcel, on_air(kind));
            at_once += u32::from(passed.is_some());
            let passage = match passed {
                None => wires
                    .arrive_on_air(0, now_ns, &mut parcel, on_air(kind))
                    .expect("sound"),
                passed => passed,
            };
            assert_eq!(bench.arrive(now_ns, ip_bytes, flags), passage.is_some(), "packet {id}");
            dropped += u32::from(passage.is_none());
            lost += u32::from(parcel.tag() == LOST);
            expected.extend(passage.map(|passage| (passage.due_ns, id, parcel.tag() == LOST)));
            if random.below(20) == 0 {
                now_ns += random.below(12 * MS);
            }
            let counters = wires.snapshot(0, now_ns, Ahead::default()).expect("sound");
            let of_link = bench.link.snapshot(now_ns, &mut bench.packets).expect("sound");
            assert_eq!(counters, of_link, "after packet {id}");
        }
        bench.run(u64::MAX - 1);
        assert_eq!(bench.out, expected);
        assert!(
            dropped > 50 && lost > 50 && at_once > 50,
            "all happen: {dropped} {lost} {at_once}"
        );
    }
}

#[test]
fn wires_with_channels_share_nothing() {
    // Goal: two wires of the same spec but for the name have channels of their own: each meets the fates that it meets
    // alone. Wires without a channel that are like them otherwise stay without.
    let mut spec = spec(constant(7_000_001), 3 * MS, Some(20), None);
    spec.channel = Some(ChannelSpec {
        model: Model::Random { data: 0.5, ack: 0.5 },
        code: CodeSpec::NONE,
    });
    let fates = |wires: &mut Wires, index: usize, now_ns: u64| {
        let mut parcel = Parcel::new(0, 0, 1000);
        let passage = wires.arrive_on_air(index, now_ns, &mut parcel, on_air(PacketKind::Data));
        passage.expect("sound").expect("room");
        parcel.tag() == LOST
    };
    let specs = ["one", "other"].map(|name| LinkSpec {
        name: name.into(),
        ..spec.clone()
    });
    let mut both = Wires::default();
    let mut alone = specs.each_ref().map(|spec| {
        both.add(spec, 1, 0);
        let mut wires = Wires::default();
        wires.add(spec, 1, 0);
        wires
    });
    let mut clean = spec.clone();
    clean.channel = None;
    let mut mixed = Wires::default();
    for spec in [&clean, &specs[0], &clean] {
        mixed.add(spec, 1, 0);
    }
    assert_eq!([0, 1, 2].map(|index| mixed.is_on_air(index)), [false, true, false]);
    assert_eq!(mixed.kind(0), mixed.kind(2));
    let mut differ = 0;
    for time in 1..400 {
        let together = [0, 1].map(|index| fates(&mut both, index, time * 10 * MS));
        let apart = [0, 1].map(|index| fates(&mut alone[index], 0, time * 10 * MS));
        assert_eq!(together, apart);
        differ += u32::from(together[0] != together[1]);
    }
    assert!((100..300).contains(&differ), "{differ} of 399 differ");
}

#[test]
fn what_comes_ahead_is_not_seen_early() {
    // Goal: a wire that is told of its packets ahead of time takes those that need not wait, and holds back the others
    // and all behind them; packets leave, and snapshots look, as on a wire that is told in time.
    let spec = spec(constant(8_000_000), 3 * MS, Some(4), None);
    let (mut ahead, mut timely) = (Wires::default(), Wires::default());
    ahead.add(&spec, 1, 0);
    timely.add(&spec, 1, 0);
    let mut random = Stream::new(9, "arrivals");
    let (mut times_ns, mut now_ns) = (Vec::new(), 0);
    for _ in 0..4000 {
        now_ns += 1 + random.below(3) * random.below(40_000_000);
        times_ns.push((now_ns, 40 + random.below(1000) as u16));
    }
    // What was taken ahead: arrival and bytes; what was held back stays in the list.
    let (mut taken, mut held_back, mut due) = (Vec::new(), Vec::new(), [Vec::new(), Vec::new()]);
    let mut told = times_ns.iter().copied().peekable();
    for &(at_ns, bytes) in &times_ns {
        while let Some((then_ns, bytes)) = told.next_if(|told| told.0 <= at_ns + 20 * MS) {
            match ahead.arrive_ahead(0, then_ns, bytes).expect("sound") {
                Some(passage) => taken.push((then_ns, bytes, passage.due_ns)),
                None => held_back.push(then_ns),
            }
        }
        if held_back.first() == Some(&at_ns) {
            held_back.remove(0);
            let passage = ahead.arrive_late(0, at_ns, bytes).expect("sound");
            due[0].extend(passage.map(|passage| passage.due_ns));
        } else {
            due[0].extend(taken.iter().find(|taken| taken.0 == at_ns).map(|taken| taken.2));
        }
        let passage = timely.arrive(0, at_ns, bytes).expect("sound");
        due[1].extend(passage.map(|passage| passage.due_ns));
        let later = taken.iter().filter(|taken| taken.0 > at_ns);
        let known = Ahead {
            pkts: later.clone().count() as u64,
            bytes: later.map(|taken| u64::from(taken.1)).sum(),
            last: taken
                .iter()
                .rfind(|taken| taken.0 <= at_ns)
                .map_or((0, 0), |taken| (taken.0, u32::from(taken.1))),
        };
        let [seen, expected] = [
            ahead.snapshot(0, at_ns, known),
            timely.snapshot(0, at_ns, Ahead::default()),
        ];
        assert_eq!(seen.expect("sound"), expected.expect("sound"), "at {at_ns} ns");
    }
    assert_eq!(due[0], due[1]);
    assert!(taken.len() > 500 && taken.len() < 3500, "both happen: {}", taken.len());
}
