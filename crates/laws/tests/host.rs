//! The host of a router's law: what the law is shown and when, with a law that is brought to be watched.

use std::cell::RefCell;
use std::rc::Rc;

use fadelab_laws::guard::{self, CallRecord};
use fadelab_laws::own::{Source, SourceFile, load_text};
use fadelab_laws::{Fate, Router, RouterHost, Shown, abi, capacity, router, routers};

const MS: u64 = 1_000_000;

/// A law for XCP's format that marks packets of 500 bytes as they come and drops those of 600 as they leave.
const WATCHED: &str = r#"
#include "law.h"
#include "part/mark.h"

LAW void watched_init(void *state, const void *params, const struct law_link *link, u64 due_us[LAW_TIMERS_MAX])
{
	due_us[0] = link->now_us + 1000;
	due_us[1] = link->now_us + 2500;
}

LAW u32 watched_on_enqueue(void *state, const void *params, struct law_packet *packet, const struct law_queue *queue)
{
	if (packet->ip_bytes == 500)
		mark_congestion(packet);
	return LAW_PASS;
}

LAW u32 watched_on_dequeue(void *state, const void *params, struct law_packet *packet, const struct law_queue *queue)
{
	packet->feedback[1] = 9;
	return packet->ip_bytes == 600 ? LAW_DROP : LAW_PASS;
}

LAW u64 watched_on_timer(void *state, const void *params, u32 timer, const struct law_queue *queue)
{
	return queue->now_us + (timer ? 2500 : 1000);
}

LAW_TABLE struct law_router watched_router = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_router),
	.name = "watched",
	.summary = "Is watched",
	.flags = LAW_ROUTER_FEEDBACK | LAW_ROUTER_DROPS_AT_DEQUEUE | LAW_ROUTER_RANDOM,
	.wire = LAW_WIRE_XCP,
	.timers = 2,
	.control_timer = 1,
	LAW_NO_PARAMS,
	.init = watched_init,
	.on_enqueue = watched_on_enqueue,
	.on_dequeue = watched_on_dequeue,
	.on_timer = watched_on_timer,
};
"#;

fn watched() -> &'static Router {
    let file = "watched.h".to_owned();
    load_text(&Source {
        name: "watched".to_owned(),
        path: file.clone().into(),
        files: vec![SourceFile {
            name: file,
            text: WATCHED.to_owned(),
        }],
        ..Source::default()
    })
    .unwrap_or_else(|error| panic!("{error}"));
    router("watched").expect("loaded")
}

/// A law with its defaults at a link of 1 MB/s.
fn host(law: &'static Router) -> RouterHost {
    let (params, part) = (law.default_params(), capacity("measured").expect("a part"));
    let link = abi::Link {
        capacity_Bps: 1_000_000,
        limit_bytes: 50_000,
        packet_bytes: 1000,
        ..abi::Link::default()
    };
    RouterHost::new((law, &params), (part, &part.default_params()), &link)
}

/// A data packet of XCP.
fn header(ip_bytes: u32) -> abi::Header {
    abi::Header::new(
        abi::PACKET_DATA,
        ip_bytes,
        abi::Identification::by_id(0x1235),
        2,
        abi::WIRE_XCP as u8,
        12,
        0,
    )
}

fn shown<'a>(header: &'a mut abi::Header, feedback: &'a mut [u8; 20]) -> Shown<'a> {
    let air_bytes = header.ip_bytes + 40;
    Shown {
        header,
        feedback: Some(feedback),
        air_bytes,
    }
}

/// The calls of guarded laws that `run` makes.
fn calls_of(run: impl FnOnce()) -> Vec<CallRecord> {
    let calls = Rc::new(RefCell::new(Vec::new()));
    let seen = Rc::clone(&calls);
    guard::observe(move |call| seen.borrow_mut().push(call.record()), run);
    calls.take()
}

fn number(call: &CallRecord, field: &str) -> u64 {
    let found = call.queue.get(field).or_else(|| call.event.get(field));
    found.and_then(serde_json::Value::as_u64).expect(field)
}

#[test]
fn a_packet_is_shown_whole() {
    // Goal: each field of a header and its feedback come to the field of the same name, the queue as it is at that
    // time, and what the law changes comes back.
    let mut host = host(watched());
    let (mut header, mut feedback) = (header(500), [7; 20]);
    header.outer_ecn = 1;
    host.set_queue(3000, 3);
    host.set_random(0, 77);
    let fates = RefCell::new(Vec::new());
    let calls = calls_of(|| {
        let mut fates = fates.borrow_mut();
        fates.push(host.arrive(5 * MS + 999, true, shown(&mut header, &mut feedback)));
        host.set_queue(2000, 2);
        fates.push(host.leave(6 * MS, 4500, shown(&mut header, &mut feedback)));
    });
    let [arrival, departure] = calls.as_slice() else {
        panic!("{calls:?}")
    };
    let fields = [
        ("flags", 1),
        ("ip_bytes", 500),
        ("air_bytes", 540),
        ("ip_id", 0x1235),
        ("ecn", 2),
        ("outer_ecn", 1),
        ("role", 1),
        ("wire", 2),
        ("feedback_len", 12),
        ("queue_bytes", 3000),
        ("queue_pkts", 3),
        ("full", 1),
        ("now_us", 5000),
        ("random", 77),
    ];
    for (field, value) in fields {
        assert_eq!(number(arrival, field), value, "{field}");
    }
    assert_eq!(arrival.event["feedback"], "07".repeat(20));
    for (field, value) in [
        ("queue_bytes", 2000),
        ("full", 0),
        ("wait_us", 4),
        ("now_us", 6000),
        ("ecn", 3),
    ] {
        assert_eq!(number(departure, field), value, "{field}");
    }
    let marked: Vec<bool> = fates.borrow().iter().map(|fate: &Fate| fate.is_marked()).collect();
    assert_eq!(marked, [true, false]);
    assert_eq!(
        (header.ecn, header.outer_ecn, feedback[..3].to_vec()),
        (3, 3, vec![7, 9, 7])
    );
}

#[test]
fn packets_of_another_format_are_not_shown() {
    // Goal: neither another format nor an ACK of the law's own is the law's concern, and both stay as they are; no
    // random word is used up for them.
    let mut host = host(watched());
    let (mut other, mut ack, mut feedback) = (header(500), header(500), [7; 20]);
    (other.wire, ack.flags) = (abi::WIRE_VCP as u8, 0);
    let before = [other, ack];
    let calls = calls_of(|| {
        for packet in [&mut other, &mut ack] {
            assert_eq!(host.arrive(MS, false, shown(packet, &mut feedback)), Fate::default());
            assert_eq!(host.leave(MS, 0, shown(packet, &mut feedback)), Fate::default());
            assert_eq!(host.pass(MS, shown(packet, &mut feedback)), Fate::default());
        }
    });
    assert_eq!(calls.len(), 0);
    assert_eq!(([other, ack], feedback, host.drawn()), (before, [7; 20], 0));
    host.pass(MS, shown(&mut header(500), &mut feedback));
    assert_eq!(host.drawn(), 1);
}

#[test]
fn an_arrival_is_told_of_the_last_transmission() {
    // Goal: packets of other formats count as transmissions, and one that the law dropped as it left does not.
    let mut host = host(watched());
    let (mut other, mut feedback) = (header(300), [0; 20]);
    other.wire = abi::WIRE_NONE as u8;
    let last = |call: &CallRecord| (number(call, "last_start_us"), number(call, "last_bytes"));
    let calls = calls_of(|| {
        host.pass(10 * MS, shown(&mut header(500), &mut feedback));
        host.pass(20 * MS, shown(&mut other, &mut feedback));
        let fate = host.pass(30 * MS, shown(&mut header(600), &mut feedback));
        assert!(fate.is_dropped_late() && !fate.is_dropped());
        host.pass(40 * MS, shown(&mut header(500), &mut feedback));
    });
    let arrivals: Vec<_> = calls
        .iter()
        .filter(|call| call.function == "on_enqueue")
        .map(last)
        .collect();
    assert_eq!(arrivals, [(0, 0), (20_000, 340), (20_000, 340)]);
}

#[test]
fn timers_are_told_what_came_since_they_ran() {
    // Goal: two timers of 1 and 2.5 ms run when they are due, each with its own word, arrivals and least queue.
    let mut host = host(watched());
    assert_eq!(host.due_ns(), MS);
    let mut feedback = [0; 20];
    let mut words = 0;
    let calls = calls_of(|| {
        for ms in 1..=5 {
            let mut meter = abi::HostMeter {
                arrived_pkts: ms * ms,
                arrived_bytes: 1000 * ms * ms,
                sent_bytes: 500 * ms,
                offered_bytes: 1000 * ms,
                busy_ns: 0,
                received_bytes: 0,
            };
            host.set_queue(1000 * (6 - ms), 1);
            host.leave(ms * MS - 1, 0, shown(&mut header(500), &mut feedback));
            host.set_queue(9000, 9);
            let mut run = |host: &mut RouterHost, now_ns, meter: &abi::HostMeter| {
                host.run_timers(now_ns, meter, || {
                    words += 1;
                    words
                });
            };
            run(&mut host, ms * MS, &meter);
            if ms == 2 {
                assert_eq!(host.due_ns(), 2_500_000);
                meter.arrived_pkts += 2;
                run(&mut host, 2_500_000, &meter);
            }
        }
    });
    let told = |call: &CallRecord| {
        let fields = ["now_us", "random", "arrived_pkts", "queue_bytes_min"];
        (call.arguments["timer"], fields.map(|field| number(call, field)))
    };
    let timers: Vec<_> = calls
        .iter()
        .filter(|call| call.function == "on_timer")
        .map(told)
        .collect();
    let expected = [
        (0, [1000, 1, 1, 0]),
        (0, [2000, 2, 3, 4000]),
        (1, [2500, 3, 6, 0]),
        (0, [3000, 4, 5, 3000]),
        (0, [4000, 5, 7, 2000]),
        (0, [5000, 6, 9, 1000]),
        (1, [5000, 7, 19, 1000]),
    ];
    assert_eq!(timers, expected);
    assert_eq!(host.due_ns(), 6 * MS);
}

#[test]
fn a_passage_is_an_arrival_and_a_departure() {
    // Goal: under each law, one call for a packet that finds the queue empty leaves packet, law and host as two calls
    // at the same instant do.
    let laws = routers()
        .iter()
        .filter(|law| !law.is_passive() && law.name() != "watched");
    let mut compared = 0;
    for law in laws {
        let (mut one, mut two) = (host(law), host(law));
        let wire = law.wire() as u8;
        for number in 0..2000u64 {
            let now_ns = 700_000 * number;
            let word = (number * 2_654_435_761) as u32;
            let flags = u32::from(number % 7 != 0);
            let packet = abi::Header::new(
                flags,
                900 + word % 100,
                abi::Identification::by_id(number as u16),
                (word >> 8) as u8 & 3,
                wire,
                12,
                0,
            );
            let bytes: [u8; 20] = std::array::from_fn(|byte| (word >> (byte % 4)) as u8);
            let (mut first, mut second) = ((packet, bytes), (packet, bytes));
            let meter = abi::HostMeter {
                arrived_pkts: number,
                arrived_bytes: 950 * number,
                sent_bytes: 950 * number,
                offered_bytes: 700 * number,
                busy_ns: now_ns,
                received_bytes: 0,
            };
            for host in [&mut one, &mut two] {
                host.set_random(0, word);
                host.set_queue(0, 0);
                if host.due_ns() <= now_ns {
                    host.run_timers(now_ns, &meter, || word);
                }
                host.set_random(0, word);
                host.set_random(1, word);
            }
            let fate = one.pass(now_ns, shown(&mut first.0, &mut first.1));
            let arrival = two.arrive(now_ns, false, shown(&mut second.0, &mut second.1));
            let mut apart = (arrival.is_dropped(), false, arrival.is_marked());
            if !arrival.is_dropped() {
                let departure = two.leave(now_ns, 0, shown(&mut second.0, &mut second.1));
                (apart.1, apart.2) = (departure.is_dropped_late(), apart.2 | departure.is_marked());
            }
            assert_eq!(
                (fate.is_dropped(), fate.is_dropped_late(), fate.is_marked()),
                apart,
                "{}",
                law.name()
            );
            assert_eq!(first, second, "{}", law.name());
            assert_eq!(format!("{one:?}"), format!("{two:?}"), "{}", law.name());
        }
        compared += 1;
    }
    assert!(compared >= 7, "{compared} laws");
}
