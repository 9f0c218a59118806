//! Recordings of routers' laws in this machine's kernel, made again.

#[allow(dead_code, reason = "other tests use the rest of it")]
mod common;
#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "common/packet.rs"]
mod packet;

use std::thread;
use std::time::{Duration, Instant};

use common::calls::Calls;
use common::router::compiled_to_record;
use common::{possible, report};
use fadelab_kernel::router::{Place, Program};
use fadelab_kernel::{Recorder, Version};
use fadelab_laws::recorded::{Passage, RecordedHead, RouterLaws};
use fadelab_laws::{capacity, router};
use packet::{ETHERNET, Made, vcp_option, xcp_option};

/// A law and a capacity part by their names, with their default parameters.
fn laws(law: &str, part: &str) -> RouterLaws {
    let (law, part) = (router(law).expect("registered"), capacity(part).expect("registered"));
    RouterLaws {
        law,
        params: law.default_params(),
        part,
        part_params: part.default_params(),
    }
}

/// Loads them at a link of so many bytes per second whose queue holds so many, and begins to record.
fn recorded(laws: &RouterLaws, capacity_bytes_per_s: u64, limit_bytes: u64) -> (Program, Recorder, Calls) {
    let place = Place {
        capacity_bytes_per_s,
        limit_bytes,
        packet_bytes: 1514,
        link_bytes: ETHERNET as u32,
        air_bytes: ETHERNET as u32,
        ..Place::default()
    };
    let running = Version::running().expect("Linux");
    let object = compiled_to_record(laws.law.name(), laws.part.name(), running);
    let program = Program::load(&object, &place).expect("it loads");
    let head = RecordedHead::of_router(
        (laws.law, &laws.params),
        (laws.part, &laws.part_params),
        "nowhere",
        String::new(),
    );
    let written = Calls::default();
    let recorder = program.recorder(&head, Box::new(written.clone()));
    (program, recorder.expect("compiled to be recorded"), written)
}

/// Packets of both families, of one segment and of several, with the options of both wires and with none.
fn made(round: usize) -> (Vec<u8>, u32) {
    let made = Made {
        ipv6: round % 2 == 1,
        ecn: (round / 3 % 4) as u8,
        payload: 100 + round % 900,
        before: Vec::new(),
        option: match round % 5 {
            0 => Vec::new(),
            1 | 2 => vcp_option(1),
            _ => xcp_option([(16 << 10) + round as u16 % 1024, 8 << 11, 22 << 10, 0]),
        },
    };
    (made.frame(), [1, 1, 4][round % 3])
}

fn agree(passages: &[Passage], laws: &RouterLaws) {
    for passage in passages {
        let differences = passage.differences(laws);
        assert!(differences.is_empty(), "{differences:?}\n{passage:?}");
    }
}

#[test]
fn what_a_router_did_comes_to_the_same_again() {
    // Goal: each packet, run of timers and start of each law with each kind of capacity part comes to the same packet,
    // fate and memory in the same header natively, while two processors hand packets to one router, some of which find
    // no room in its queue; none is missing.
    if !possible(&["clang"]) {
        return;
    }
    let (mut packets, mut timers, mut marked) = (0, 0, 0);
    let cases = [
        ("vcp", "configured", 10_000, 30_000),
        ("vcp", "measured", 10_000, 600),
        ("xcp", "configured", 1 << 30, 0),
        ("xcp", "measured", 10_000, 600),
        ("rem", "configured", 1000, 0),
        ("red", "configured", 1000, 600),
    ];
    for (law, part, capacity_bytes_per_s, limit_bytes) in cases {
        let laws = laws(law, part);
        let (program, mut recorder, written) = recorded(&laws, capacity_bytes_per_s, limit_bytes);
        thread::scope(|scope| {
            for turn in 0..2 {
                let program = &program;
                scope.spawn(move || {
                    for round in 0..1500 {
                        let (frame, segments) = made(2 * round + turn);
                        program.pass(&frame, segments).expect("the kernel takes it");
                        thread::sleep(Duration::from_micros(100));
                    }
                });
            }
        });
        let counters = program.counters().expect("counters");
        recorder.poll(Duration::from_millis(1)).expect("memory");
        drop(program);
        let (calls_n, lost_n) = recorder.finish().expect("memory");
        let passages = written.passages();
        assert_eq!((calls_n as usize, lost_n), (passages.len(), 0));
        assert_eq!(passages[0].name(), "start");
        agree(&passages, &laws);
        let shown = passages.iter().filter_map(Passage::packet);
        let segments: u64 = shown.map(|[shown, _]| u64::from(shown.segments)).sum();
        assert_eq!(segments, counters.packets, "{law} {part}");
        packets += passages.iter().filter(|passage| passage.packet().is_some()).count();
        timers += passages.iter().filter(|passage| passage.name() == "timers").count();
        marked += passages.iter().filter(|passage| passage.fate().1).count();
    }
    assert_eq!(packets, cases.len() * 3000);
    assert!(timers > 50 && marked > 0, "{timers} {marked}");
    report(&format!(
        "{packets} packets ({marked} marked) and {timers} runs of timers agree"
    ));
}

#[test]
fn another_law_comes_to_something_else() {
    // Goal: what was recorded of one parameter does not come to the same with another, and it is told what differs; the
    // same for another capacity part.
    if !possible(&["clang"]) {
        return;
    }
    let taken = laws("xcp", "configured");
    let (program, mut recorder, written) = recorded(&taken, 10_000, 0);
    for round in 0..2000 {
        let (frame, segments) = made(round);
        program.pass(&frame, segments).expect("the kernel takes it");
        thread::sleep(Duration::from_micros(200));
    }
    drop(program);
    recorder.poll(Duration::from_millis(1)).expect("memory");
    recorder.finish().expect("memory");
    let passages = written.passages();
    agree(&passages, &taken);
    let alpha = taken.law.params_from(&[("alpha", 0.2)]);
    let other = RouterLaws {
        params: alpha.expect("in its range"),
        ..taken
    };
    let told: Vec<String> = passages
        .iter()
        .flat_map(|passage| passage.differences(&other))
        .collect();
    assert!(
        told.iter().any(|told| told.starts_with("memory of the law")),
        "{told:?}"
    );
}

#[test]
fn a_full_ring_of_a_router_leaves_gaps_that_are_known_as_lost() {
    // Goal: what finds no room because nobody takes from the ring is counted; the chain goes on behind the gap, and
    // what is there agrees.
    if !possible(&["clang"]) {
        return;
    }
    let laws = laws("vcp", "configured");
    let (program, mut recorder, written) = recorded(&laws, 100_000, 0);
    let since = Instant::now();
    let mut round = 0;
    let mut pass = |packets: usize| {
        for _ in 0..packets {
            let (frame, segments) = made(round);
            program.pass(&frame, segments).expect("the kernel takes it");
            round += 1;
        }
    };
    while recorder.lost() == 0 {
        assert!(
            since.elapsed() < Duration::from_secs(60),
            "the ring of 16 MB is full at some time"
        );
        pass(1000);
    }
    recorder.poll(Duration::from_millis(1)).expect("memory");
    pass(1000);
    let (calls_n, lost_n) = recorder.finish().expect("memory");
    let passages = written.passages();
    assert!(lost_n > 0);
    assert_eq!(calls_n as usize, passages.len());
    let counted = passages.iter().filter(|passage| passage.packet().is_some()).count();
    assert!(
        counted < round && counted + lost_n as usize >= round,
        "{counted} {lost_n} {round}"
    );
    agree(&passages, &laws);
    report(&format!("{calls_n} records, {lost_n} lost"));
}
