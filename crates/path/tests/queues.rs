//! Laws with queues of their own: order, shares, what they are shown of each queue, room, and wrong answers.

mod common;

use std::cell::RefCell;
use std::rc::Rc;

use common::{Bench, DATA, MS, constant, spec, step_by_step};
use fadelab_laws::guard::{self, CallRecord, Fault};
use fadelab_laws::own::{Source, SourceFile, load_text};
use fadelab_laws::router;
use fadelab_path::packet::Parcel;
use fadelab_path::spec::LinkSpec;
use fadelab_phy::channel::{ChannelSpec, CodeSpec, Model};
use fadelab_phy::random::Stream;

const FIRST: u8 = 1;
const OTHER: u8 = 2;

/// 8 Mbit/s, so that a packet of 1000 bytes takes a millisecond, under the law of that name.
fn link(law: &str, pairs: &[(&str, f64)], packets: Option<u32>, bytes: Option<u64>) -> LinkSpec {
    let mut link = spec(constant(8_000_000), 0, packets, bytes);
    let law = router(law).expect("known");
    link.router.law = law;
    link.router.params = law.params_from(pairs).expect("valid");
    link
}

/// A packet of a codepoint arrives. Returns whether it was taken.
fn arrive(bench: &mut Bench, now_ns: u64, ecn: u8, ip_bytes: u16) -> bool {
    bench.run(now_ns);
    let id = bench.packets.add(ip_bytes, DATA);
    let header = &mut bench.packets.0[id as usize];
    (header.ecn, header.outer_ecn) = (ecn, ecn);
    bench.enter(now_ns, Parcel::new(id, 0, ip_bytes))
}

/// Brings the test-only law as a user would, under another name.
fn bring(name: &str, change: impl Fn(String) -> String) {
    let text = router("dual").expect("registered").header();
    let text = text.replace(
        "struct law_router dual_router",
        &format!("struct law_router {name}_router"),
    );
    let text = text.replace(".name = \"dual\"", &format!(".name = \"{name}\""));
    let file = format!("{name}.h");
    load_text(&Source {
        name: name.to_owned(),
        path: file.clone().into(),
        files: vec![SourceFile {
            name: file,
            text: change(text),
        }],
        ..Source::default()
    })
    .unwrap_or_else(|error| panic!("{error}"));
}

/// The calls of guarded laws that `run` makes, and the fault that ended it.
fn calls_of(run: impl FnOnce()) -> (Vec<CallRecord>, Option<Fault>) {
    let calls = Rc::new(RefCell::new(Vec::new()));
    let seen = Rc::clone(&calls);
    let run = || guard::observe(move |call| seen.borrow_mut().push(call.record()), run);
    let fault = guard::catch(run).err();
    (calls.take(), fault)
}

fn told(call: &CallRecord, field: &str) -> Vec<u64> {
    let numbers = call.queue[field].as_array().expect(field);
    numbers.iter().map(|number| number.as_u64().expect(field)).collect()
}

#[test]
fn a_strict_law_sends_its_first_queue_first() {
    // Goal: an arrival joins the queue that the law names and waits for that queue and the packet in transmission
    // alone; each queue keeps its order, and one limit holds for all.
    let mut bench = Bench::new(&link("dual", &[], Some(5), None));
    let mut taken = Vec::new();
    for ecn in [OTHER, OTHER, OTHER, FIRST, OTHER, FIRST, OTHER] {
        taken.push(arrive(&mut bench, 0, ecn, 1000));
    }
    // In the middle of the fourth transmission: all that is left is of the other queue.
    taken.push(arrive(&mut bench, 3 * MS + MS / 2, FIRST, 1000));
    bench.run(100 * MS);
    let order: Vec<_> = bench.out.iter().map(|&(at_ns, id, _)| (at_ns / MS, id)).collect();
    assert_eq!(order, [(1, 0), (2, 3), (3, 5), (4, 1), (5, 7), (6, 2), (7, 4)]);
    assert_eq!(taken, [true, true, true, true, true, true, false, true]);
    let end = bench.link.snapshot(100 * MS, &mut bench.packets).expect("sound");
    assert_eq!((end.arrived_pkts, end.sent_pkts, end.dropped_full_pkts), (8, 7, 1));
    // Waits of 1, 2, 3, 5 and 6 ms, and half a one of the last arrival.
    assert_eq!(end.queue_pkt_ns, 17 * u128::from(MS) + u128::from(MS / 2));
}

#[test]
fn turns_give_their_shares() {
    // Goal: with a weight of 3 the first queue sends three times the bytes of the other while both hold packets,
    // whatever the sizes of packets, at any instant within one of them.
    let mut bench = Bench::new(&link("dual", &[("turn", 1.0), ("weight", 3.0)], None, Some(1 << 20)));
    for _ in 0..400 {
        arrive(&mut bench, 0, FIRST, 700);
        arrive(&mut bench, 0, OTHER, 1500);
    }
    bench.run(250 * MS);
    let mut bytes = [0i64; 2];
    for out in &bench.out {
        let ecn = bench.packets.0[out.1 as usize].ecn;
        bytes[usize::from(ecn != FIRST && ecn != 3)] += if ecn == OTHER { 1500 } else { 700 };
        assert!((bytes[0] - 3 * bytes[1]).abs() <= 700 + 3 * 1500, "{bytes:?}");
    }
    assert!(bytes[0] > 180_000, "{bytes:?}");
}

#[test]
fn a_law_is_shown_each_of_its_queues() {
    // Goal: in each call, timers included, the law is shown packets, bytes and the wait of the head of each queue,
    // which together are the queue that every law is shown; the packet of the call itself is in neither.
    bring("shown", |text| text);
    let link = link("shown", &[("turn", 2.0), ("shift_us", 1000.0)], Some(40), None);
    let (calls, fault) = calls_of(|| {
        let mut bench = Bench::new(&link);
        for _ in 0..8 {
            arrive(&mut bench, MS / 2, OTHER, 1000);
        }
        arrive(&mut bench, MS, FIRST, 500);
        arrive(&mut bench, 3 * MS, FIRST, 500);
        bench.run(30 * MS);
    });
    assert!(fault.is_none(), "{fault:?}");
    for call in calls.iter().filter(|call| call.function != "init") {
        let of = |field: &str| call.queue[field].as_u64().expect(field);
        assert_eq!(
            told(call, "each_pkts").iter().sum::<u64>(),
            of("queue_pkts"),
            "{call:?}"
        );
        assert_eq!(
            told(call, "each_bytes").iter().sum::<u64>(),
            of("queue_bytes"),
            "{call:?}"
        );
    }
    // At 3 ms: five of the first burst wait since 0.5 ms, and one packet of 500 bytes since 1 ms.
    let last = calls
        .iter()
        .rfind(|call| call.function == "classify")
        .expect("arrivals");
    assert_eq!(told(last, "each_pkts"), [0, 5, 0, 0]);
    assert_eq!(told(last, "each_bytes"), [0, 5000, 0, 0]);
    assert_eq!(told(last, "each_wait_us"), [0, 2500, 0, 0]);
    // At 10 ms, of which 9.5 are over: all has left by 9.5 ms.
    let timer = calls
        .iter()
        .find(|call| call.function == "on_timer")
        .expect("it has one");
    assert_eq!(told(timer, "each_wait_us"), [0, 0, 0, 0]);
    let departures: Vec<u64> = calls
        .iter()
        .filter(|call| call.function == "on_dequeue")
        .map(|call| call.queue["index"].as_u64().expect("index"))
        .collect();
    // The clock of queue 0 is a millisecond ahead: its first packet goes before one that waited twice as long, its
    // second after all that came 2.5 ms before it.
    assert_eq!(departures, [1, 0, 1, 1, 1, 1, 1, 1, 1, 0]);
}

#[test]
fn a_timer_couples_the_queues() {
    // Goal: the timer sees how long the head of a queue has waited: from the tick at which that is over the target on,
    // what leaves the other queue is marked, and no more when it is short again. The law as a user brings it does the
    // same.
    bring("coupled", |text| text);
    let marked = |law: &str| {
        let mut bench = Bench::new(&link(law, &[("target_us", 15_000.0)], Some(100), None));
        for _ in 0..25 {
            arrive(&mut bench, 0, OTHER, 1000);
        }
        for at_ms in 1..60 {
            arrive(&mut bench, at_ms * MS + MS / 3, FIRST, 300);
        }
        bench.run(200 * MS);
        let firsts = bench.out.iter().filter(|out| out.1 >= 25);
        firsts
            .map(|&(at_ns, id, _)| (at_ns, bench.packets.0[id as usize].ecn == 3))
            .collect::<Vec<_>>()
    };
    let course = marked("dual");
    let pressed: Vec<u64> = course
        .iter()
        .filter(|first| first.1)
        .map(|first| first.0 / MS)
        .collect();
    // The head at 20 ms has waited 20 ms; at 40 ms the burst has gone.
    let (begin, end) = (pressed[0], pressed[pressed.len() - 1]);
    assert!((20..=21).contains(&begin) && (39..=41).contains(&end), "{pressed:?}");
    let mut after = course.iter().skip_while(|first| !first.1).skip_while(|first| first.1);
    assert!(after.all(|first| !first.1), "all in between, and no other: {course:?}");
    assert_eq!(marked("coupled"), course);
}

#[test]
fn packets_are_conserved_under_chance() {
    // Goal: under random bursts, small buffers in packets and in bytes, a lossy channel and every way to pick, the
    // invariants of a node hold, packets of a queue stay in order, and the same packets come out behind a second reason
    // to go step by step.
    let air = ChannelSpec {
        model: Model::Random { data: 0.1, ack: 0.05 },
        code: CodeSpec::NONE,
    };
    for turn in 0..3u8 {
        for (packets, bytes) in [(Some(12), None), (None, Some(9000))] {
            let mut plain = link(
                "dual",
                &[("turn", f64::from(turn)), ("target_us", 3000.0)],
                packets,
                bytes,
            );
            plain.channel = Some(air.clone());
            let run = |link: &LinkSpec| {
                let (mut bench, mut random) = (Bench::new(link), Stream::new(u64::from(turn), "arrivals"));
                let mut now_ns = 0;
                for _ in 0..2000 {
                    now_ns += random.below(4) * random.below(700_000);
                    let ecn = random.below(4) as u8;
                    arrive(&mut bench, now_ns, ecn, 100 + random.below(1400) as u16);
                    if random.below(50) == 0 {
                        bench.link.snapshot(now_ns, &mut bench.packets).expect("sound");
                    }
                }
                bench.run(now_ns + 1000 * MS);
                let end = bench
                    .link
                    .snapshot(now_ns + 1000 * MS, &mut bench.packets)
                    .expect("sound");
                assert_eq!(end.arrived_pkts, end.sent_pkts + end.dropped_full_pkts);
                assert!(
                    end.dropped_full_pkts > 100 && end.lost_air_pkts > 50 && end.marked_pkts > 20,
                    "{end:?}"
                );
                for queue in [0, 1] {
                    let of_queue = |out: &&(u64, u32, bool)| bench.packets.0[out.1 as usize].ecn & 1 == queue;
                    let ids: Vec<u32> = bench.out.iter().filter(of_queue).map(|out| out.1).collect();
                    assert!(ids.is_sorted());
                }
                (bench.out, end)
            };
            assert_eq!(run(&plain), run(&step_by_step(&plain)));
        }
    }
}

#[test]
fn a_wrong_queue_stops_the_run() {
    // Goal: a law that names a queue that it does not have, or one from which nothing can leave, stops the run: what is
    // built in breaks an invariant, which says what the law did, to which packet and what its queues held.
    for (fault, what) in [(1.0, ["classify", "index: 2"]), (2.0, ["pick", "index: 1"])] {
        let mut bench = Bench::new(&link("dual", &[("fault", fault)], Some(10), None));
        let id = bench.packets.add(1000, DATA);
        bench.packets.0[id as usize].ecn = FIRST;
        let parcel = Parcel::new(id, 0, 1000);
        let broken = bench
            .link
            .arrive(0, parcel, fadelab_phy::channel::PacketKind::Data, &mut bench.packets)
            .expect_err("the law is wrong");
        assert!(broken.invariant.contains("a law names queues that it has"), "{broken}");
        for part in what {
            assert!(broken.detail.contains(part), "{broken}");
        }
    }
}

#[test]
fn a_wrong_queue_of_an_own_law_is_a_fault_with_its_input() {
    // Goal: the law of a user is told what it returned, and the call is kept with its input.
    bring("beyond", |text| {
        text.replace("if (p->fault == 1)", "if (packet->ip_bytes == 777)")
    });
    bring("empty", |text| {
        text.replace("if (p->fault == 2)", "if (queue->each_bytes[0] == 777)")
    });
    bring("writes", |text| {
        text.replace(
            "if (p->fault == 1)",
            "((struct law_packet *)packet)->ecn = 0;\n\tif (0)",
        )
    });
    for (law, message, field) in [
        (
            "beyond",
            "it returned queue 2; its table declares 2 (.queues), counted from 0",
            "ip_bytes",
        ),
        ("empty", "it picked queue 1, which is empty (each_pkts)", "each_bytes"),
        ("writes", "it changed what the host shows it", "ip_bytes"),
    ] {
        let (_, fault) = calls_of(|| {
            let mut bench = Bench::new(&link(law, &[], Some(10), None));
            arrive(&mut bench, 0, FIRST, 1000);
            arrive(&mut bench, 0, FIRST, 777);
            bench.run(10 * MS);
        });
        let fault = fault.expect(law);
        assert!(fault.to_string().contains(message), "{fault}");
        let record = fault.record;
        assert!(
            record.event.contains_key(field) || record.queue.contains_key(field),
            "{record:?}"
        );
    }
}
