//! What a law is told of the segments of a super-packet: how many, and the role of each, at routers and receivers.

#[allow(dead_code, reason = "other tests use the rest of it")]
mod common;
#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "common/packet.rs"]
mod packet;

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::fd::AsRawFd;

use common::connection::{Connection, DATA_SEGS_IN, EXTENSION_BYTES, SEGS_OUT, stay_on_one_processor, told};
use common::own::bring_text;
use common::{Namespace, Pair, offload, possible, run, unique};
use fadelab_kernel::Version;
use fadelab_kernel::device::Device;
use fadelab_kernel::router::object::{Recipe, compile};
use fadelab_kernel::router::{Outcome, Place, Program};
use fadelab_kernel::sender::{Sender, Unit};
use fadelab_laws::{capacity, router, sender};
use libbpf_rs::{MapCore, MapFlags};
use packet::{ETHERNET, Made};

/// Keeps what it was shown of the last packet.
const KEEPER: &str = r#"
#include "law.h"

struct keeper_state {
	u64 segments;
	u64 roles_known;
	u64 roles;
};

LAW u32 keeper_on_enqueue(void *state, const void *params, struct law_packet *packet, const struct law_queue *queue)
{
	struct keeper_state *s = state;

	s->segments = packet->segments;
	s->roles_known = packet->roles_known;
	s->roles = packet->roles;
	return LAW_PASS;
}

LAW_TABLE struct law_router keeper_router = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_router),
	.name = "keeper",
	.summary = "Keeps what it is shown",
	.state_bytes = sizeof(struct keeper_state),
	LAW_NO_PARAMS,
	.on_enqueue = keeper_on_enqueue,
};
"#;

/// A sender under which nothing happens, with a receiver that counts what it is told of the segments that come.
const COUNTER: &str = r#"
#include "law.h"

LAW void counter_on_loss(void *state, const void *params, const struct law_ack *ack, u32 cause,
                         struct law_control *control)
{
	control->ssthresh_pkts = control->cwnd_pkts;
}

LAW_TABLE struct law_sender counter_sender = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_sender),
	.name = "counter",
	.summary = "Changes nothing",
	LAW_NO_PARAMS,
	.on_loss = counter_on_loss,
};

struct counter_state {
	u64 segments;
	u64 known;   /* roles that are certain */
	u64 counted; /* IDs one above that of the segment before */
	u64 wrong;   /* that are of more than one segment, or whose role is not that of the ID */
	u64 bytes;   /* of IP packets */
	u64 id;      /* of the last one */
};

LAW void counter_on_data(void *state, const struct law_data *data)
{
	struct counter_state *s = state;

	s->segments++;
	s->known += data->roles_known;
	s->counted += data->ip_id == ((s->id + 1) & 0xffff);
	s->wrong += data->segments != 1 || data->role != (data->ip_id & 1) || data->roles != data->role;
	s->bytes += data->packet_bytes;
	s->id = data->ip_id;
}

LAW void counter_fill_ack(void *state, struct law_fill *fill)
{
	fill->feedback.len = fill->feedback.present = 1;
}

LAW_TABLE struct law_receiver counter_receiver = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_receiver),
	.name = "counter",
	.state_bytes = sizeof(struct counter_state),
	.feedback_bytes = 1,
	.on_data = counter_on_data,
	.fill_ack = counter_fill_ack,
};
"#;

fn keeper() -> Program {
    bring_text("keeper", KEEPER);
    let (law, part) = (
        router("keeper").expect("brought"),
        capacity("configured").expect("registered"),
    );
    let object = compile(&Recipe {
        law,
        params: &law.default_params(),
        part,
        part_params: &part.default_params(),
        kernel: Version::running().expect("a version"),
        record: false,
    })
    .expect("it compiles");
    let place = Place {
        capacity_bytes_per_s: 1_000_000,
        packet_bytes: 1514,
        link_bytes: 14,
        air_bytes: 14,
        ..Place::default()
    };
    Program::load(&object, &place).expect("it loads")
}

#[test]
fn each_segment_of_a_super_packet_has_its_role() {
    // Goal: a packet of one segment has the role of its ID. Of several whose IDs count up each has its own, and it is
    // certain where the packet may be fragmented; of one that must not, that of the first alone is. Packets of IPv6
    // have none. More than 64 are not told.
    if !possible(&["clang"]) {
        return;
    }
    let program = keeper();
    let alternating =
        |first: u64, segments: u32| (0..segments.min(64)).fold(0, |roles, i| roles | (first ^ u64::from(i & 1)) << i);
    for ipv6 in [false, true] {
        for (id, may_be_cut) in [(0x1234u16, true), (0x1235, true), (0x1235, false), (0x1234, false)] {
            for segments in [1, 2, 5, 44, 64, 90] {
                let made = Made {
                    ipv6,
                    ecn: 0,
                    payload: 1000,
                    before: vec![],
                    option: vec![],
                };
                let mut frame = made.frame();
                if !ipv6 {
                    frame[ETHERNET + 4..ETHERNET + 6].copy_from_slice(&id.to_be_bytes());
                    frame[ETHERNET + 6] = if may_be_cut { 0 } else { 0x40 };
                }
                let outcome = program.pass(&frame, segments).expect("the kernel takes it");
                assert!(matches!(outcome, Outcome::Passed(_)));
                let (_, state) = program.state(24).expect("it tells");
                let words: Vec<u64> = state
                    .chunks_exact(8)
                    .map(|word| u64::from_ne_bytes(word.try_into().expect("eight bytes")))
                    .collect();
                let first = if ipv6 { 0 } else { u64::from(id & 1) };
                let known = match (ipv6, may_be_cut) {
                    (true, _) => 0,
                    (false, true) => u64::from(segments.min(64)),
                    (false, false) => 1,
                };
                let case = format!("ipv6 {ipv6}, ID {id}, may be cut {may_be_cut}");
                assert_eq!(
                    words,
                    [u64::from(segments), known, alternating(first, segments)],
                    "{case}"
                );
            }
        }
    }
}

/// How packets come to the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// One segment each.
    Apart,
    /// Super-packets, as the sender makes them. Where they may be fragmented their IDs are sure to count up.
    Together { may_be_cut: bool },
    /// Cut before they leave, and joined by the receiver's device (GRO).
    Joined,
    /// The same on the way, and cut again by the device behind.
    CutAgain,
}

/// The hosts for a way, and what is between them.
fn hosts(way: Way) -> (Pair, Option<Namespace>) {
    let (pair, bridge) = match way {
        Way::CutAgain => {
            let (pair, bridge) = Pair::bridged();
            (pair, Some(bridge))
        }
        _ => (Pair::new(), None),
    };
    let device = |host: &str, name: &str| Device::named(&format!("{host}:{name}"));
    match way {
        Way::Together { may_be_cut } => {
            let off = u8::from(may_be_cut);
            run(&format!(
                "ip netns exec {} sysctl -qw net.ipv4.ip_no_pmtu_disc={off}",
                pair.sender
            ));
        }
        Way::Apart => pair.one_segment(),
        Way::Joined => {
            offload::cut(&device(&pair.sender, "wire"));
            offload::join(&device(&pair.receiver, "wire"));
        }
        Way::CutAgain => {
            let bridge = &bridge.as_ref().expect("it is there").0;
            offload::cut(&device(&pair.sender, "wire"));
            offload::join(&device(bridge, "left"));
            offload::cut(&device(bridge, "right"));
        }
    }
    (pair, bridge)
}

/// What stands before TCP's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Headers {
    Ipv4,
    Ipv6,
    /// IPv6, and an extension header behind it.
    Extended,
}

impl Headers {
    fn ip_bytes(self) -> u64 {
        match self {
            Self::Ipv4 => 20,
            Self::Ipv6 => 40,
            Self::Extended => 40 + EXTENSION_BYTES as u64,
        }
    }
}

/// What the receiver counted of a transfer, and how many segments its socket counted.
#[derive(Debug)]
struct Tally {
    segments: u64,
    known: u64,
    counted: u64,
    wrong: u64,
    bytes: u64,
    came: u64,
    sent: u64,
    payload_bytes: u64,
}

/// Two megabytes over a way.
fn transfer(object: &[u8], control: &str, way: Way, headers: Headers) -> Tally {
    let (pair, _bridge) = hosts(way);
    let devices = [pair.device(&pair.sender), pair.device(&pair.receiver)];
    let loaded = Sender::load(object, &pair.cgroup, &devices).expect("the kernel takes it");
    let mut connection = pair.joined(|| Connection::open(&pair, control, headers != Headers::Ipv4));
    if headers == Headers::Extended {
        connection.extend_headers();
    }
    let mut near = connection.near.try_clone().expect("a descriptor");
    let writer = std::thread::spawn(move || {
        near.write_all(&vec![0; 2_000_000]).expect("it is connected");
        near.shutdown(Shutdown::Write).expect("it is connected");
    });
    let payload = connection.far.read_to_end(&mut Vec::new()).expect("it is connected");
    writer.join().expect("it wrote");
    let map = loaded
        .object()
        .maps()
        .find(|map| map.name() == "echoes")
        .expect("it has a receiver");
    let key = connection.far.as_raw_fd().to_ne_bytes();
    let state = map
        .lookup(&key, MapFlags::ANY)
        .expect("a map")
        .expect("its socket has an echo");
    let word = |place: usize| u64::from_ne_bytes(state[place * 8..place * 8 + 8].try_into().expect("eight bytes"));
    Tally {
        segments: word(0),
        known: word(1),
        counted: word(2),
        wrong: word(3),
        bytes: word(4),
        came: told(&connection.far, DATA_SEGS_IN).into(),
        sent: told(&connection.near, SEGS_OUT).into(),
        payload_bytes: payload as u64,
    }
}

fn check(told: &Tally, way: Way, headers: Headers) {
    let segments = told.came;
    let case = format!("{headers:?}, {way:?}: {told:?}");
    assert!(segments > 1000, "{case}");
    assert_eq!((told.segments, told.wrong), (segments, 0), "{case}");
    // Headers of IP and TCP, timestamps, and the option: four bytes and one of feedback, in words.
    let header_bytes = headers.ip_bytes() + 20 + 12 + 8;
    let bytes = told.payload_bytes + segments * header_bytes;
    // Of what came joined a segment's size is the mean, in whole bytes.
    assert!(
        (bytes - segments..=bytes).contains(&told.bytes),
        "{case}, due are {bytes}"
    );
    if headers != Headers::Ipv4 {
        assert_eq!((told.known, told.counted), (0, 0), "{case}");
        return;
    }
    // The first one has none before it, nor one behind what was sent without arriving as data: the opening, the end,
    // and on a busy machine a repeated segment or a probe of a closed window.
    let others = told.sent - segments;
    assert!((1..=10).contains(&others), "{case}");
    assert!((segments - others..segments).contains(&told.counted), "{case}");
    match way {
        Way::Together { may_be_cut: false } | Way::Joined => {
            assert!((1..segments * 2 / 3).contains(&told.known), "{case}");
        }
        _ => assert_eq!(told.known, segments, "{case}"),
    }
}

#[test]
fn a_receiver_is_told_each_segment_and_its_role() {
    // Goal: of a real transfer each segment is told once, with its own ID, which is one above that of the one before,
    // the role of it, and its own size, whether packets came by themselves, joined by the sender, joined by the
    // receiver's device, or joined on the way and cut again. All roles are certain where packets came one by one or may
    // be fragmented, that of the first alone where such as must not be came joined; over IPv6 none is, nor an ID.
    if !possible(&["ip", "clang"]) {
        return;
    }
    bring_text("counter", COUNTER);
    let unit = Unit {
        name: unique("kc").chars().rev().take(15).collect(),
        ..Unit::new(sender("counter").expect("brought"), Version::running().expect("Linux"))
    };
    let object = unit.compile().expect("it compiles");
    stay_on_one_processor();
    for headers in [Headers::Ipv4, Headers::Ipv6, Headers::Extended] {
        for way in [
            Way::Apart,
            Way::Together { may_be_cut: false },
            Way::Together { may_be_cut: true },
            Way::Joined,
            Way::CutAgain,
        ] {
            let told = transfer(&object, &unit.name, way, headers);
            check(&told, way, headers);
        }
    }
}
