//! The kernel runs what is simulated: a router's program and the same header called natively come to the same.

#[allow(dead_code, reason = "other tests use the rest of it")]
mod common;
#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "common/packet.rs"]
mod packet;

use std::collections::BTreeMap;
use std::fmt::Write;

use common::router::compiled_here;
use common::{possible, report};
use fadelab_kernel::router::{Outcome, Place, Program};
use fadelab_laws::guard::CallRecord;
use fadelab_laws::replay::Replayer;
use fadelab_laws::router;
use packet::{ETHERNET, Made, with_one_zero, xcp_option};
use serde_json::{Map, Value, json};

/// XCP at a link of so many bytes per second.
fn xcp(capacity_bytes_per_s: u64) -> Program {
    let place = Place {
        capacity_bytes_per_s,
        packet_bytes: 1514,
        link_bytes: 14,
        air_bytes: 14,
        ..Place::default()
    };
    Program::load(&compiled_here("xcp"), &place).expect("it loads")
}

/// A float of `laws/part/float16.h` with a mantissa of so many bits.
fn decoded(code: u16, bits: u32) -> u64 {
    let (exponent, mantissa) = (u32::from(code) >> bits & 31, u64::from(code) & ((1 << bits) - 1));
    if exponent == 0 {
        mantissa
    } else {
        (mantissa | 1 << bits) << (exponent - 1)
    }
}

/// The code nearest to a delta, the larger one of two that are as near, found by looking at all.
fn nearest(delta: i64) -> u16 {
    let sign = if delta < 0 { 0x8000 } else { 0 };
    let codes = (0..23 << 10).map(|code: u16| (decoded(code, 10).abs_diff(delta.unsigned_abs()), code));
    let least = codes.clone().map(|(distance, _)| distance).min().expect("codes");
    let nearest = codes.filter(|(distance, _)| *distance == least).map(|(_, code)| code);
    sign | nearest.max().expect("one is nearest")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("hexadecimal digits");
    (0..text.len()).step_by(2).map(digits).collect()
}

/// A packet of so many segments, and what the law is shown of it.
fn shown(made: &Made, fields: [u16; 4], segments: u32) -> Map<String, Value> {
    let bytes = made.frame().len() as u32;
    let feedback = [
        (decoded(fields[0] & 0x7fff, 10) as u32).to_be_bytes(),
        ((decoded(fields[1], 11) * u64::from(segments)) as u32).to_be_bytes(),
        ((decoded(fields[2], 10) * u64::from(segments)).min(0x7fff_ffff) as u32).to_be_bytes(),
        [0; 4],
        [0; 4],
    ];
    let event = json!({
        "segments": segments,
        "flags": 1, "ip_bytes": bytes - ETHERNET as u32 * segments, "air_bytes": bytes, "ip_id": 0x1235, "role": 1,
        "wire": 2, "feedback_len": 12, "feedback": hex(&feedback.concat()),
    });
    event.as_object().expect("an object").clone()
}

/// The law's state and the packet after the law has seen it, natively.
fn native(replayer: &mut Replayer, state: &[u8], event: Map<String, Value>) -> (Vec<u8>, Vec<u8>) {
    let (mut state, mut event) = (hex(state), event);
    for function in ["on_enqueue", "on_dequeue"] {
        let record = CallRecord {
            law: "xcp".to_owned(),
            role: "router".to_owned(),
            function: function.to_owned(),
            place: String::new(),
            time_ns: 0,
            params: BTreeMap::new(),
            state,
            arguments: BTreeMap::new(),
            event,
            queue: Map::new(),
            decision: Map::new(),
            outcome: None,
        };
        let outcome = replayer.replay(&record).expect("it can be called");
        assert_eq!((outcome.fault, outcome.result), (None, Some(0)));
        (state, event) = (outcome.state, outcome.event);
    }
    (unhex(&state), unhex(event["feedback"].as_str().expect("text")))
}

/// Round trips, distances and wishes of packets, as codes.
fn fields(round: usize) -> [u16; 4] {
    // A router before this one has left its word on some.
    let confirmed = u16::from(round % 7 == 6) << 15;
    let rtt = confirmed | ((16 << 10) + (round * 37 % 1024) as u16);
    let x = (8 << 11) + (round * 101 % 2048) as u16;
    // Most ask for as much as there is, as senders do; some were lowered by a router before.
    let delta = if round % 5 == 4 {
        (3 << 10) + (round % 1024) as u16
    } else {
        22 << 10
    };
    [rtt, x, delta, 0x1234]
}

/// What came of packets that were compared.
#[derive(Debug, Default)]
struct Compared {
    packets: u32,
    /// Of them, those that got something.
    granted: u32,
    /// Those that lost something.
    taken: u32,
    /// Packets that could not be compared: the timer came between.
    ticked: u32,
}

/// Hands the program one packet and compares it and the state with the native law's.
fn compare(program: &Program, replayer: &mut Replayer, round: usize, compared: &mut Compared) {
    let bytes = router("xcp").expect("registered").state_bytes() as usize;
    let segments = [1, 1, 4][round % 3];
    let made = Made {
        ipv6: round % 2 == 1,
        ecn: 0,
        payload: 1000,
        before: Vec::new(),
        option: xcp_option(fields(round)),
    };
    let (before, state) = program.state(bytes).expect("a state");
    let outcome = program.pass(&made.frame(), segments).expect("the kernel takes it");
    let (after, state_after) = program.state(bytes).expect("a state");
    if before.ticks != after.ticks {
        compared.ticked += 1;
        return;
    }
    assert_eq!(after.packets, before.packets + u64::from(segments));
    let mut event = shown(&made, fields(round), segments);
    if made.ipv6 {
        event.extend([("ip_id".to_owned(), json!(0)), ("role".to_owned(), json!(0))]);
    }
    let (state_native, feedback) = native(replayer, &state, event);
    assert_eq!(state_after, state_native, "round {round}");
    let delta = i64::from(i32::from_be_bytes(feedback[8..12].try_into().expect("four bytes")));
    let asked = decoded(fields(round)[2], 10) * u64::from(segments);
    let code = if delta as u64 == asked.min(0x7fff_ffff) {
        fields(round)[2]
    } else {
        nearest(delta.div_euclid(i64::from(segments)))
    };
    let expected = Made {
        option: xcp_option([fields(round)[0] | 0x8000, fields(round)[1], code, 0x1234]),
        ..made
    };
    let Outcome::Passed(frame) = outcome else {
        panic!("round {round}: XCP drops nothing");
    };
    assert_eq!(
        with_one_zero(frame),
        with_one_zero(expected.frame()),
        "round {round}: {delta}"
    );
    compared.packets += 1;
    compared.granted += u32::from(delta > 0);
    compared.taken += u32::from(delta < 0);
}

#[test]
fn a_router_in_the_kernel_comes_to_what_the_header_comes_to() {
    // Goal: for packets and super-packets in the midst of XCP's intervals, the state after the packet is bit for bit
    // that of the native law from the same state, and the delta on the wire is the float nearest to the native one; so
    // on a link that no test can fill, where all get something, and on one that any packet overloads.
    if !possible(&["clang"]) {
        return;
    }
    let mut replayer = Replayer::default();
    let mut compared = Compared::default();
    for (capacity, enough) in [(1 << 33, [300, 0]), (1000, [300, 300])] {
        let program = xcp(capacity);
        for round in 0..20_000 {
            if compared.granted >= enough[0] && compared.taken >= enough[1] {
                break;
            }
            // The law's intervals have to pass for it to have something to give.
            std::thread::sleep(std::time::Duration::from_micros(200));
            compare(&program, &mut replayer, round, &mut compared);
        }
        assert!(
            compared.granted >= enough[0] && compared.taken >= enough[1],
            "{compared:?}"
        );
    }
    report(&format!("{compared:?}, all agree"));
}
