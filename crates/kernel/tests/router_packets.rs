//! Routers on packets that they are handed one by one, made and hostile.

#[allow(dead_code, reason = "other tests use the rest of it")]
mod common;
#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "common/hostile.rs"]
mod hostile;
#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "common/packet.rs"]
mod packet;

use common::own::bring_text;
use common::router::compiled_here;
use common::{possible, report};
use fadelab_kernel::router::{Outcome, Place, Program};
use fadelab_kernel::tunnel::RoleFrom;
use hostile::{Chance, check, hostile, made};
use packet::{Esp, Made, Read, vcp_option, with_one_zero, xcp_option};

/// A law at a link of that capacity, at no device.
fn program(object: &[u8], capacity_bytes_per_s: u64) -> Program {
    let place = Place {
        capacity_bytes_per_s,
        packet_bytes: 1514,
        link_bytes: 14,
        air_bytes: 14,
        ..Place::default()
    };
    Program::load(object, &place).expect("it loads")
}

fn passed(program: &Program, frame: &[u8]) -> Vec<u8> {
    match program.pass(frame, 1).expect("the kernel takes it") {
        Outcome::Passed(frame) => frame,
        Outcome::Dropped => panic!("the law drops it"),
    }
}

/// Marks each packet that may be marked, whether there is room for it or not.
const MARKER: &str = r#"
#include "law.h"
#include "part/mark.h"

LAW u32 marker_on_enqueue(void *state, const void *params, struct law_packet *packet, const struct law_queue *queue)
{
	mark_congestion(packet);
	return LAW_PASS;
}

LAW_TABLE struct law_router marker_router = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_router),
	.name = "marker",
	.summary = "Marks each packet",
	LAW_NO_PARAMS,
	.on_enqueue = marker_on_enqueue,
};
"#;

/// The flag of VCP's option by which a router says that it saw the data.
const SEEN: u8 = 4;

/// A link that carries nothing is overloaded once anything came, and stays so while nothing comes (vcp.h, divergence
/// 4): the code does not depend on the speed of the test.
fn overloaded() -> Program {
    until_overloaded(program(&compiled_here("vcp"), 0))
}

fn until_overloaded(program: Program) -> Program {
    for _ in 0..100 {
        passed(&program, &made(&vcp_option(0), 1)[4].frame());
        std::thread::sleep(std::time::Duration::from_millis(20));
        if program.counters().expect("counters").code == 3 {
            return program;
        }
    }
    panic!("no overload: {:?}", program.counters());
}

#[test]
fn an_overloaded_link_marks_data_of_its_wire_and_nothing_else() {
    // Goal: the code lands in the ECN field and the router's word in the option, with right checksums, over IPv4 and
    // IPv6; ACKs, packets that are not
    // capable, those of another wire and those without an option are as they were.
    if !possible(&["clang"]) {
        return;
    }
    let program = overloaded();
    let mut marked = 0;
    for ecn in 0..4 {
        for option in [vcp_option(1), xcp_option([1, 1, 1, 1]), vec![]] {
            for packet in made(&option, ecn) {
                let frame = packet.frame();
                let is_to_mark = option == vcp_option(1) && ecn != 0 && packet.payload > 0;
                let expected = if is_to_mark {
                    Made {
                        ecn: 3,
                        option: vcp_option(1 | SEEN),
                        ..packet
                    }
                } else {
                    packet
                };
                assert_eq!(passed(&program, &frame), expected.frame(), "{expected:?}");
                marked += usize::from(is_to_mark);
            }
        }
    }
    assert_eq!(marked, 24);
    let counters = program.counters().expect("counters");
    // Of the 24, those that came with 11 stayed as they were.
    assert_eq!(counters.marked, [0, 0, 0, counters.marked[3]]);
    assert!(counters.marked[3] >= 16);
}

#[test]
fn an_option_before_another_one_of_ours_is_found() {
    // Goal: of a packet with two options of ours, of a socket that sends under one law and receives under another, each
    // law's router finds its own, whichever stands last: VCP marks, and XCP lowers the delta where it stands. Behind an
    // option of somebody else's none is looked for.
    if !possible(&["clang"]) {
        return;
    }
    let (vcp, xcp) = (overloaded(), compiled_here("xcp"));
    let fields = [0x4199, 0x6000, 22 << 10, 0x8123];
    let lowered = xcp_option([fields[0] | 0x8000, fields[1], 0, fields[3]]);
    let foreign = vec![253, 8, 0xfa, 0xd1, 1, 1, 0, 0];
    for ipv6 in [false, true] {
        let packet = |before: Vec<u8>, option: Vec<u8>, ecn: u8| Made {
            ipv6,
            ecn,
            payload: 1000,
            before,
            option,
        };
        for (before, option) in [(vcp_option(1), xcp_option(fields)), (xcp_option(fields), vcp_option(1))] {
            let given = packet(before.clone(), option.clone(), 1);
            let see = |bytes: &[u8]| {
                if bytes.len() == 8 {
                    vcp_option(1 | SEEN)
                } else {
                    bytes.to_vec()
                }
            };
            let marked = packet(see(&before), see(&option), 3);
            assert_eq!(passed(&vcp, &given.frame()), marked.frame(), "{given:?}");
            let lower = |bytes: Vec<u8>| if bytes.len() == 12 { lowered.clone() } else { bytes };
            let granted = packet(lower(before), lower(option), 1);
            let out = passed(&program(&xcp, 125_000), &given.frame());
            assert_eq!(with_one_zero(out), with_one_zero(granted.frame()), "{given:?}");
        }
        let hidden = packet(vcp_option(1), foreign.clone(), 1);
        assert_eq!(passed(&vcp, &hidden.frame()), hidden.frame());
    }
}

#[test]
fn a_link_with_room_to_spare_marks_nothing() {
    // Goal: a low load leaves the codes of other routers as they are, and the option tells that the router saw them.
    if !possible(&["clang"]) {
        return;
    }
    let program = program(&compiled_here("vcp"), 1 << 40);
    for ecn in 0..4 {
        for packet in made(&vcp_option(1), ecn) {
            let frame = packet.frame();
            let is_seen = ecn != 0 && packet.payload > 0;
            let expected = Made {
                option: vcp_option(if is_seen { 1 | SEEN } else { 1 }),
                ..packet
            };
            assert_eq!(passed(&program, &frame), expected.frame());
        }
    }
    assert_eq!(program.counters().expect("counters").marked, [0; 4]);
}

#[test]
fn xcp_lowers_the_delta_and_keeps_the_checksum() {
    // Goal: before its first interval a router has nothing to give, so that each request becomes zero, and the bit
    // before RTT says that it saw it; the other three fields, the ECN field and the rest of the packet stay, and both
    // checksums are right.
    if !possible(&["clang"]) {
        return;
    }
    // RTT and X of 0.1 s and 10 ms, a delta of 2^31 - 1 as senders ask for, and an echo.
    let object = compiled_here("xcp");
    let fields = [0x4199, 0x6000, 22 << 10, 0x8123];
    for packet in made(&xcp_option(fields), 0) {
        let program = program(&object, 125_000);
        let out = passed(&program, &packet.frame());
        let (rtt, asked) = if packet.payload > 0 {
            (fields[0] | 0x8000, 0)
        } else {
            (fields[0], fields[2])
        };
        let expected = Made {
            option: xcp_option([rtt, fields[1], asked, fields[3]]),
            ..packet
        };
        assert_eq!(out, expected.frame(), "{expected:?}");
    }
}

const PACKETS: usize = 20_000;

#[test]
fn hostile_packets_change_by_their_own_fields_alone() {
    // Goal: whatever comes, a router writes to the ECN field of its wire's data packets (VCP), or to their delta (XCP),
    // and its word into their option, and carries that into the checksums; all else is as it was, to the bit.
    if !possible(&["clang"]) {
        return;
    }
    let (vcp, xcp) = (overloaded(), program(&compiled_here("xcp"), 125_000));
    let mut chance = Chance(1);
    let (mut marked, mut lowered) = (0, 0);
    for _ in 0..PACKETS {
        let frame = hostile(&mut chance);
        let read = Read::of(&frame);
        let out = passed(&vcp, &frame);
        let option = read.own_option(&frame, 8, Some(1));
        let option = option.filter(|_| read.has_data && read.ecn != 0);
        let is_marked = option.is_some();
        check(&frame, &out, option.map(|at| at + 4).as_slice(), is_marked);
        assert!(
            option.is_none_or(|at| out[at + 4] == frame[at + 4] | SEEN),
            "{frame:x?}"
        );
        let expected = if is_marked { 3 } else { read.ecn };
        assert_eq!(Read::of(&out).ecn, expected, "{frame:x?}");
        marked += usize::from(out != frame);
        let option = read.own_option(&frame, 12, Some(2)).filter(|_| read.has_data);
        let out = passed(&xcp, &frame);
        let places = option.map(|at| [at + 4, at + 8, at + 9]);
        check(&frame, &out, places.as_ref().map_or(&[], |places| places), false);
        assert!(
            option.is_none_or(|at| out[at + 4] == frame[at + 4] | 0x80),
            "{frame:x?}"
        );
        lowered += usize::from(out != frame);
    }
    report(&format!(
        "{PACKETS} hostile packets: VCP marked {marked}, XCP lowered {lowered}"
    ));
    assert!(
        marked > PACKETS / 50 && lowered > PACKETS / 50,
        "the packets are too hostile to be any test"
    );
}

#[test]
fn a_packet_that_just_fits_is_marked() {
    // Goal: where a link counts IP bytes, a packet that fills the last of them is not taken for one that finds no room,
    // which no law marks: at a queue that is always almost full nobody would be marked. One byte less, and it is.
    if !possible(&["clang"]) {
        return;
    }
    let packet = &made(&vcp_option(1), 1)[4];
    let frame = packet.frame();
    let ip_bytes = frame.len() as u64 - 14;
    for (limit_bytes, is_marked) in [(ip_bytes, true), (ip_bytes - 1, false)] {
        let place = Place {
            packet_bytes: 1500,
            link_bytes: 14,
            limit_bytes,
            ..Place::default()
        };
        let program = until_overloaded(Program::load(&compiled_here("vcp"), &place).expect("it loads"));
        assert_eq!(
            Read::of(&passed(&program, &frame)).ecn == 3,
            is_marked,
            "{limit_bytes} B"
        );
    }
}

#[test]
fn what_finds_no_room_is_not_counted_as_marked() {
    // Goal: a law that marks each packet is counted as having marked those that the queue has room for, and not those
    // that the discipline drops behind it.
    if !possible(&["clang"]) {
        return;
    }
    bring_text("marker", MARKER);
    let object = compiled_here("marker");
    let frame = made(&vcp_option(1), 1)[4].frame();
    let ip_bytes = frame.len() as u64 - 14;
    for (limit_bytes, marked) in [(ip_bytes, 10), (ip_bytes - 1, 0), (0, 10)] {
        let place = Place {
            packet_bytes: 1500,
            link_bytes: 14,
            limit_bytes,
            ..Place::default()
        };
        let program = Program::load(&object, &place).expect("it loads");
        for _ in 0..10 {
            assert_eq!(Read::of(&passed(&program, &frame)).ecn, 3, "{limit_bytes} B");
        }
        let counters = program.counters().expect("counters");
        assert_eq!((counters.packets, counters.marked[3]), (10, marked), "{limit_bytes} B");
    }
}

#[test]
fn of_a_tunnel_that_is_named_outer_headers_are_marked() {
    // Goal: an overloaded router marks ESP of the direction that it was told of, over IPv4 and IPv6 and in a datagram,
    // with a right sum and no other byte changed; the other direction, which it was not told of, passes as it is, and
    // so does what is not ECN-capable.
    if !possible(&["clang"]) {
        return;
    }
    let program = overloaded();
    let esp = |(ipv6, in_udp), is_from_here, ecn| Esp {
        ipv6,
        in_udp,
        is_from_here,
        spi: 1,
        sequence: 1,
        ecn,
        ..Esp::default()
    };
    let before = program.counters().expect("counters").own_packets;
    for ipv6 in [false, true] {
        let frame = esp((ipv6, false), true, 1).frame();
        assert_eq!(passed(&program, &frame), frame, "nobody has told it yet");
        let tunnel = if ipv6 { Esp::TUNNEL_IPV6 } else { Esp::TUNNEL };
        let way = tunnel.parse().expect("a direction");
        program.look_outside(way, RoleFrom::Sequence).expect("it is told");
        for (ecn, in_udp) in (0..8).map(|n| (n % 4, n >= 4)) {
            let marked = if ecn == 0 { 0 } else { 3 };
            let of = |is_from_here, ecn| esp((ipv6, in_udp), is_from_here, ecn).frame();
            assert_eq!(passed(&program, &of(true, ecn)), of(true, marked));
            assert_eq!(passed(&program, &of(false, ecn)), of(false, ecn));
        }
    }
    assert_eq!(program.counters().expect("counters").own_packets - before, 16);
}
