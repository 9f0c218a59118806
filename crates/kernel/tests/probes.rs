//! What a law is told where the end of a flight is probed (RFC 8985, section 7), in this machine's kernel: a router
//! between two hosts drops the very segment that a case names.

#[allow(dead_code, reason = "other tests use the rest of it")]
mod common;

use std::path::PathBuf;
use std::time::Duration;

use common::calls::Calls;
use common::connection::{Connection, TOTAL_RETRANS, told};
use common::own::bring;
use common::{Pair, possible, run, unique};
use fadelab_kernel::Recorder;
use fadelab_kernel::Version;
use fadelab_kernel::device::Device;
use fadelab_kernel::router::object::{Recipe, compile};
use fadelab_kernel::router::{Options, Router};
use fadelab_kernel::sender::{Sender, Unit};
use fadelab_laws::recorded::{Recorded, RecordedHead};
use fadelab_laws::{abi, capacity, router, sender};

/// What happens to a connection, and what its law is to be told of it.
struct Case {
    name: &'static str,
    ipv6: bool,
    /// Whether ECN is negotiated.
    ecn: bool,
    /// Bursts of so many segments, each written when the one before is acknowledged.
    writes: &'static [u32],
    /// What meets which packet: see `tests/laws/kth.h`.
    router: Way,
    /// Causes that `on_loss` is called with.
    causes: &'static [u32],
    /// ACKs that tell of a probe that repaired a loss.
    probed: usize,
    /// Segments that are sent again, by a probe or otherwise.
    again: u32,
}

enum Way {
    Clear,
    Drops(f64),
    Marks(f64),
    /// The first ACK without data.
    DropsAck,
}

const NOTHING: Case = Case {
    name: "nothing is lost",
    ipv6: false,
    ecn: false,
    writes: &[4, 2],
    router: Way::Clear,
    causes: &[],
    probed: 0,
    again: 0,
};

const TAIL: Case = Case {
    name: "the last segment of a flight is lost",
    router: Way::Drops(4.0),
    causes: &[abi::LOSS_DUPACK],
    probed: 1,
    again: 1,
    ..NOTHING
};

const CASES: [Case; 8] = [
    NOTHING,
    TAIL,
    Case {
        name: "the same over IPv6",
        ipv6: true,
        ..TAIL
    },
    Case {
        name: "the same with ECN negotiated",
        ecn: true,
        ..TAIL
    },
    Case {
        name: "a segment is marked",
        ecn: true,
        router: Way::Marks(4.0),
        causes: &[abi::LOSS_ECN],
        ..NOTHING
    },
    Case {
        name: "a segment with others behind it is lost",
        writes: &[10, 2],
        router: Way::Drops(2.0),
        causes: &[abi::LOSS_DUPACK],
        again: 1,
        ..NOTHING
    },
    Case {
        name: "the ACK is lost, and the probe a duplicate",
        writes: &[1, 2],
        router: Way::DropsAck,
        again: 1,
        ..NOTHING
    },
    Case {
        name: "the probe is of new data, behind which a fast retransmit repairs",
        writes: &[1, 8, 2],
        router: Way::Drops(4.0),
        causes: &[abi::LOSS_DUPACK],
        again: 1,
        ..NOTHING
    },
];

/// Puts a router between the hosts of a pair, which drops or marks what a case says.
fn put_router(bridge: &str, way: &Way) -> Option<Router> {
    let (port, name, number, action) = match *way {
        Way::Clear => return None,
        Way::Drops(number) => ("right", bring("kth", |text| text), number, 0.0),
        Way::Marks(number) => ("right", bring("kth", |text| text), number, 1.0),
        Way::DropsAck => {
            // Segments of TCP without data, of IPv4: 20 bytes and 32 with the timestamps. SYNs have other options.
            let from = "!(packet->flags & LAW_PACKET_DATA)";
            let text = |text: String| text.replace(from, "packet->ip_bytes != 52");
            ("left", bring("kth", text), 1.0, 0.0)
        }
    };
    let (law, part) = (
        router(&name).expect("brought"),
        capacity("configured").expect("registered"),
    );
    let pairs = [("first", number), ("action", action)];
    let object = compile(&Recipe {
        law,
        params: &law.params_from(&pairs).expect("valid"),
        part,
        part_params: &part.default_params(),
        kernel: Version::running().expect("a version"),
        record: false,
    });
    let options = Options {
        device: Device {
            name: port.to_owned(),
            netns: Some(PathBuf::from(format!("/run/netns/{bridge}"))),
        },
        law: name,
        capacity_bytes_per_s: 1_250_000,
        limit_bytes: 0,
        shaped: false,
        air_header_bytes: None,
        packet_bytes: None,
        tunnels: Vec::new(),
        closed: None,
    };
    Some(Router::load(&object.expect("it compiles"), options).expect("a router"))
}

/// Runs a case under a loaded law; gives how many segments were sent again.
fn segments_again(case: &Case, control: &str, recorder: &mut Recorder) -> u32 {
    let (pair, bridge) = Pair::bridged();
    pair.one_segment();
    for host in [&pair.sender, &pair.receiver] {
        let ecn = u8::from(case.ecn);
        run(&format!("ip netns exec {host} sysctl -qw net.ipv4.tcp_ecn={ecn}"));
    }
    let _router = put_router(&bridge.0, &case.router);
    let mut connection = Connection::open(&pair, control, case.ipv6);
    for &segments in case.writes {
        connection.write(segments, || {
            recorder.poll(Duration::from_millis(5)).expect("memory");
        });
    }
    told(&connection.near, TOTAL_RETRANS)
}

/// The calls of a law in each of the cases, which it meets one after the other; each is to send again what it says.
fn calls(law: &str, pairs: &[(&str, f64)], cases: &[Case]) -> Vec<Vec<Recorded>> {
    let law = sender(law).expect("known");
    let name = unique("kp");
    let unit = Unit {
        name: name[name.len().saturating_sub(15)..].to_owned(),
        params: law.params_from(pairs).expect("valid parameters"),
        record: true,
        ..Unit::new(law, Version::running().expect("Linux"))
    };
    // What carries no feedback needs neither a group of processes nor devices.
    let object = unit.compile().expect("it compiles");
    let loaded = Sender::load(&object, &PathBuf::from("/"), &[]).expect("the kernel takes it");
    let head = RecordedHead::new(law, &unit.params, String::new());
    let written = Calls::default();
    let mut recorder = loaded.recorder(&head, Box::new(written.clone())).expect("it records");
    for case in cases {
        let again = segments_again(case, &unit.name, &mut recorder);
        assert_eq!(again, case.again, "{}: segments sent again", case.name);
    }
    let (_, lost_n) = recorder.finish().expect("memory");
    assert_eq!(lost_n, 0, "the ring has room");
    let (all, _) = written.read();
    let of_case = |place| all.iter().filter(move |call| call.flow == place as u64 + 1).cloned();
    (0..cases.len()).map(|place| of_case(place).collect()).collect()
}

fn is_probed(call: &Recorded) -> bool {
    call.ack().is_some_and(|ack| ack.flags & abi::ACK_PROBE_REPAIRED != 0)
}

#[test]
fn a_probe_that_repairs_is_told_and_nothing_else_is() {
    // Goal: where the last segment of a flight was lost and its probe repaired that, on_loss has the cause of a loss
    // and the ACK of the same moment says so, over IPv4 and IPv6, with ECN and without; where a fast retransmit
    // repaired, an ACK was lost instead, a mark came or nothing happened no ACK says so. No timeout is in any of it.
    if !possible(&["ip", "clang"]) {
        return;
    }
    // A window of one has a probe of new data: it lets one segment leave at a time.
    let cases = CASES.len() - 1;
    let mut told = calls(&bring("told", |text| text), &[("window_pkts", 30.0)], &CASES[..cases]);
    told.extend(calls(
        &bring("told", |text| text),
        &[("window_pkts", 1.0)],
        &CASES[cases..],
    ));
    for (case, calls) in CASES.iter().zip(told) {
        let names: Vec<&str> = calls.iter().map(Recorded::name).collect();
        let losses: Vec<usize> = (0..calls.len()).filter(|&at| names[at] == "on_loss").collect();
        let causes: Vec<u32> = losses.iter().map(|&at| calls[at].arguments[0] as u32).collect();
        assert_eq!(causes, case.causes, "{}: {names:?}", case.name);
        assert_eq!(
            calls.iter().filter(|call| is_probed(call)).count(),
            case.probed,
            "{}",
            case.name
        );
        assert!(!names.contains(&"on_rto"), "{}: {names:?}", case.name);
        if case.probed > 0 {
            let next = &calls[losses[0] + 1];
            assert!(next.name() == "on_ack" && is_probed(next), "{}: {next:?}", case.name);
        }
    }
}

#[test]
fn a_window_is_lowered_for_what_a_probe_repaired() {
    // Goal: of a law that leaves the repair to the kernel the window is at ssthresh when the ACK is shown that tells of
    // the probe, though no recovery began.
    if !possible(&["ip", "clang"]) {
        return;
    }
    let told = calls("reno", &[], &[TAIL]);
    let at = told[0].iter().position(is_probed).expect("an ACK tells");
    let (loss, ack) = (&told[0][at - 1], &told[0][at]);
    assert_eq!(loss.name(), "on_loss");
    assert!(loss.after.ssthresh_pkts < loss.before.cwnd_pkts, "{loss:?}");
    assert_eq!(
        (ack.before.cwnd_pkts, ack.before.ca_state),
        (loss.after.ssthresh_pkts, abi::CA_OPEN)
    );
}
