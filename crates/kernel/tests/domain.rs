//! The closed domain: a router between hosts inside and one outside, and a million packets that cross it.

#[allow(dead_code, reason = "other tests use the rest of it")]
mod common;
#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "common/forwarding.rs"]
mod forwarding;
#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "common/packet.rs"]
mod packet;

use std::os::fd::OwnedFd;
use std::time::Duration;

use common::{possible, report, run, tap};
use fadelab_kernel::attach::{Direction, to_device};
use fadelab_kernel::object::load;
use fadelab_kernel::router::edge;
use fadelab_kernel::tunnel::RoleFrom;
use forwarding::{Counter, Hosts, OURS, Sender, frame, frames, in_pieces, vcp_router, vcp_router_told};
use packet::{Esp, Made, folded, vcp_option};

const PACKETS: u64 = 1_000_000;

#[test]
fn of_a_million_packets_none_leaves_the_domain_marked() {
    // Goal: marks of ours leave through named devices alone: outside not one packet of a million is marked, inside the
    // marks arrive; what is not ours keeps its ECN field on both sides.
    if !possible(&["clang", "ip", "tc"]) {
        return;
    }
    let hosts = Hosts::new();
    let mut router = vcp_router(hosts.device(1, "inner"), &["left"]);
    assert_eq!(router.edges(), ["outer"]);
    let inner = Counter::new(&hosts.device(2, "wire"));
    let outer = Counter::new(&hosts.device(3, "wire"));
    let sender = Sender::new(&hosts.device(0, "wire"));
    let (to_inner, to_outer) = (frames(2), frames(3));
    let mut turns = 0;
    while outer.read().ours < PACKETS {
        for _ in 0..100 {
            sender.send(&to_outer);
        }
        sender.send(&to_inner);
        turns += 1;
        assert!(turns < PACKETS, "nothing arrives: {:?}", outer.read());
    }
    router.tend(Duration::ZERO).expect("all is there");
    let (inside, outside) = (inner.read(), outer.read());
    report(&format!(
        "outside {outside:?}, inside {inside:?}, edges {:?}",
        router.edge_counters()
    ));
    assert_eq!(outside.ours_marked, 0);
    assert!(outside.others > 0 && outside.others_marked * 4 == outside.others * 3);
    // VCP's own packets and XCP's left as they came or with more congestion: three of four codepoints are marks.
    assert!(inside.ours > 0 && inside.ours_marked * 4 == inside.ours * 3);
    assert!(inside.others_marked * 4 == inside.others * 3);
    let edges = router.edge_counters();
    assert!(edges.own_packets >= PACKETS && edges.cleared * 4 == edges.own_packets * 3);
    drop(router);
    sender.send(&to_outer);
    assert!(
        outer.read().ours_marked > 0,
        "without the router nothing is cleared: the test can fail"
    );
}

#[test]
fn a_device_that_appears_is_closed_until_a_router_names_it() {
    // Goal: the domain stays closed when devices come, and two routers of a namespace let each other's marks pass.
    if !possible(&["clang", "ip", "tc"]) {
        return;
    }
    let hosts = Hosts::new();
    let mut first = vcp_router(hosts.device(1, "inner"), &["left"]);
    assert_eq!(first.edges(), ["outer"]);
    run(&format!(
        "ip -n {} link add late type veth peer name later",
        hosts.name(1)
    ));
    // The kernel's notice is there before the command ends.
    first.tend(Duration::from_secs(1)).expect("all is there");
    let mut edges = first.edges();
    edges.sort_unstable();
    assert_eq!(edges, ["late", "later", "outer"]);
    let second = vcp_router(hosts.device(1, "outer"), &["late"]);
    assert_eq!(second.edges(), ["later"]);
    first.tend(Duration::ZERO).expect("all is there");
    assert_eq!(first.edges(), ["later"]);
    run(&format!("ip -n {} link del late", hosts.name(1)));
    first.tend(Duration::ZERO).expect("all is there");
    assert_eq!(first.edges(), [""; 0]);
}

#[test]
fn headers_in_pieces_are_found_and_written() {
    // Goal: marks are cleared, with a right checksum, wherever the piece in front ends: behind the header of the link,
    // of IP, of TCP, or within the option.
    if !possible(&["clang", "ip"]) {
        return;
    }
    let hosts = Hosts::new();
    let (near, far) = (hosts.device(0, "wire"), hosts.device(1, "left"));
    for (host, name) in [(0, "wire"), (1, "left")] {
        run(&format!("ip -n {} link set {name} mtu 9000", hosts.name(host)));
    }
    let edge = load(&edge().expect("it compiles"), |_| Ok(())).expect("it loads");
    let mut programs = edge.progs();
    let ethernet = programs
        .find(|program| program.name() == "bleach_ethernet")
        .expect("it is there");
    let _attached = to_device(&ethernet, &near, Direction::Egress).expect("the device is there");
    let arriving = tap::open(&far);
    tap::only_arriving(&arriving);
    let sender = Sender::new(&near);
    sender.takes_pieces();
    for ipv6 in [false, true] {
        for front_bytes in [14, 34, 54, 60, 66, 74, 80, 90] {
            let made = |ecn| Made {
                ipv6,
                ecn,
                payload: 5000,
                before: vec![1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2],
                option: vcp_option(1),
            };
            sender.send(&[in_pieces(front_bytes, &made(3).frame())]);
            assert_eq!(
                arrived(&arriving),
                made(0).frame(),
                "{front_bytes} bytes in one piece, ipv6 {ipv6}"
            );
        }
    }
}

/// The next long frame; what hosts say of themselves is short.
fn arrived(socket: &OwnedFd) -> Vec<u8> {
    let mut frame = vec![0; 1 << 14];
    for _ in 0..100 {
        if let Some(bytes) = tap::read(socket, &mut frame).filter(|bytes| *bytes > 1000) {
            frame.truncate(bytes);
            return frame;
        }
    }
    panic!("nothing arrives");
}

#[test]
fn packets_that_are_fragmented_leave_the_domain_unmarked() {
    // Goal: of packets that the router cuts into fragments, since the way out is narrow and they may be cut, none of
    // ours leaves marked, and the fragments of others are as marked as these were.
    if !possible(&["clang", "ip", "tc"]) {
        return;
    }
    let hosts = Hosts::new();
    run(&format!("ip -n {} link set outer mtu 600", hosts.name(1)));
    let router = vcp_router(hosts.device(1, "inner"), &["left"]);
    let (near, far) = (hosts.device(0, "wire"), hosts.device(3, "wire"));
    let arriving = tap::open(&far);
    tap::only_arriving(&arriving);
    let sender = Sender::new(&near);
    for (option, left_as) in [(vcp_option(1), 0), (vec![], 3)] {
        let made = Made {
            ipv6: false,
            ecn: 3,
            payload: 1400,
            before: vec![],
            option,
        };
        sender.send(&[may_be_cut(frame(3, &made, OURS))]);
        let fragments = fragments(&arriving, 3);
        assert!(fragments.iter().all(|fragment| fragment[15] & 3 == left_as), "{made:?}");
    }
    assert_eq!((router.edge_counters().cleared, router.edge_counters().unknown), (3, 0));
}

#[test]
fn marks_on_esp_of_a_tunnel_that_a_router_is_told_of_stay_inside() {
    // Goal: where a router is told of a tunnel, marks on its outer headers are cleared at the edge, with a right
    // checksum, and leave by named devices; ESP the other way, which it was not told of, keeps its marks everywhere.
    if !possible(&["clang", "ip", "tc"]) {
        return;
    }
    let hosts = Hosts::new();
    let way = Esp::TUNNEL.parse().expect("a tunnel");
    let router = vcp_router_told(hosts.device(1, "inner"), &["left"], vec![(way, RoleFrom::Sequence)]);
    for (way_out, at, cleared) in [("outer", 3, true), ("left", 0, false)] {
        let arriving = tap::open(&hosts.device(at, "wire"));
        tap::only_arriving(&arriving);
        let sender = Sender::new(&hosts.device(1, way_out));
        for is_from_here in [true, false] {
            let esp = |ecn| Esp {
                is_from_here,
                sequence: 1,
                ecn,
                ..Esp::default()
            };
            sender.send(&[esp(3).frame()]);
            let left_as = if cleared && is_from_here { 0 } else { 3 };
            assert_eq!(
                esp_of(&arriving),
                esp(left_as).frame(),
                "by {way_out}, named way {is_from_here}"
            );
        }
    }
    assert_eq!(router.edge_counters().cleared, 1);
}

/// The next frame with ESP over IPv4.
fn esp_of(socket: &OwnedFd) -> Vec<u8> {
    let mut frame = vec![0; 1 << 11];
    for _ in 0..100 {
        let bytes = tap::read(socket, &mut frame).unwrap_or(0);
        if bytes > 34 && frame[12] == 8 && frame[23] == 50 {
            frame.truncate(bytes);
            return frame;
        }
    }
    panic!("no ESP arrives");
}

/// Without the bit that says that the packet must not be fragmented.
fn may_be_cut(mut frame: Vec<u8>) -> Vec<u8> {
    frame[20] = 0;
    frame[24..26].fill(0);
    let sum = !folded(&frame[14..34]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame
}

/// The next fragments of IPv4.
fn fragments(socket: &OwnedFd, n: usize) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    for _ in 0..200 {
        let mut frame = vec![0; 1 << 11];
        let bytes = tap::read(socket, &mut frame).unwrap_or(0);
        frame.truncate(bytes);
        if bytes > 34 && frame[12] == 8 && (frame[20] & 0x3f != 0 || frame[21] != 0) {
            frames.push(frame);
        }
        if frames.len() == n {
            return frames;
        }
    }
    panic!("{} of {n} fragments arrive", frames.len());
}
