//! The closed domain and tunnels: packets are cleared at the tunnel's device, before they are wrapped.

#[allow(dead_code, reason = "other tests use the rest of it")]
mod common;
#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "common/forwarding.rs"]
mod forwarding;
#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "common/packet.rs"]
mod packet;
#[path = "common/tun.rs"]
mod tun;

use std::os::fd::OwnedFd;
use std::process::Command;
use std::time::Duration;

use common::{iproute, possible, report, tap};
use forwarding::{Hosts, OTHERS, OURS, Sender, frames, vcp_router};

/// A kind of tunnel: its options, and where in a frame the packet stands that it wraps.
const KINDS: [(&str, &str, usize); 4] = [
    (
        "vxlan",
        "id 7 dstport 4789 local 10.0.3.1 remote 10.0.3.2 tos inherit",
        64,
    ),
    ("ipip", "local 10.0.3.1 remote 10.0.3.2 ttl 64 tos inherit", 34),
    ("sit", "local 10.0.3.1 remote 10.0.3.2 ttl 64 tos inherit", 34),
    ("gre", "local 10.0.3.1 remote 10.0.3.2 ttl 64 tos inherit", 38),
];

/// What of a packet is to see behind the edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Left {
    owner: u8,
    ecn: u8,
    /// Of the header around it; the packet's own where there is none.
    outer_ecn: u8,
}

fn ecn(packet: &[u8]) -> Option<u8> {
    match packet.first()? >> 4 {
        4 => Some(packet[1] & 3),
        6 => Some(packet.get(1)? >> 4 & 3),
        _ => None,
    }
}

/// One of the packets that were sent.
fn left(packet: &[u8], outer_ecn: Option<u8>) -> Option<Left> {
    let owner = *packet.last()?;
    let ecn = ecn(packet)?;
    let left = Left {
        owner,
        ecn,
        outer_ecn: outer_ecn.unwrap_or(ecn),
    };
    [OURS, OTHERS].contains(&owner).then_some(left)
}

/// None of ours is marked, neither the packet nor the header around it; others' are as they were.
fn check(what: &str, all: &[Left]) {
    let of = |owner: u8| all.iter().filter(move |left| left.owner == owner);
    assert!(of(OURS).count() >= 12 && of(OTHERS).count() >= 4, "{what}: {all:?}");
    assert!(
        of(OURS).all(|left| (left.ecn, left.outer_ecn) == (0, 0)),
        "{what}: {all:?}"
    );
    let is_as_sent = |left: &&Left| (left.ecn == 0) == (left.outer_ecn == 0);
    let marked_n = of(OTHERS).filter(|left| left.ecn != 0).count();
    assert!(
        of(OTHERS).all(|left| is_as_sent(&left)) && marked_n * 4 == of(OTHERS).count() * 3,
        "{what}: {all:?}"
    );
}

fn wrapped(arriving: &OwnedFd, at: usize) -> Vec<Left> {
    let mut all = Vec::new();
    let mut frame = [0; 1 << 11];
    while let Some(bytes) = tap::read(arriving, &mut frame) {
        let frame = &frame[..bytes];
        all.extend(frame.get(at..).and_then(|packet| left(packet, ecn(&frame[14..]))));
    }
    all
}

#[test]
fn tunnels_of_the_kernel_are_closed_at_their_own_device() {
    // Goal: a tunnel that appears while a router runs is at the edge, and what it wraps has no mark of ours, nor has
    // the header around it, which copies the ECN field; marks of others stay on both.
    if !possible(&["clang", "ip", "tc"]) {
        return;
    }
    let mut tried = Vec::new();
    for (kind, options, at) in KINDS {
        let hosts = Hosts::new();
        let mut router = vcp_router(hosts.device(1, "inner"), &["left"]);
        let place = if kind == "vxlan" { "dev outer" } else { "" };
        let words = iproute::words(&format!(
            "ip -n {} link add tunnel type {kind} {options} {place}",
            hosts.name(1)
        ));
        let made = Command::new(&words[0]).args(&words[1..]).output().expect("iproute2");
        if !made.status.success() {
            continue;
        }
        hosts.route(9, "tunnel", (kind == "vxlan").then_some(9));
        router.tend(Duration::from_secs(1)).expect("all is there");
        assert!(router.edges().contains(&"tunnel"), "{kind}: {:?}", router.edges());
        let arriving = tap::open(&hosts.device(3, "wire"));
        tap::only_arriving(&arriving);
        Sender::new(&hosts.device(0, "wire")).send(&frames(9));
        check(kind, &wrapped(&arriving, at));
        tried.push(kind);
    }
    report(&format!("tunnels of this kernel: {}", tried.join(", ")));
}

#[test]
fn a_tunnel_of_a_process_is_closed() {
    // Goal: a device that begins with the IP header (TUN), behind which a process may wrap packets as it likes, gets
    // none of our marks, and all of others'.
    if !possible(&["clang", "ip", "tc"]) {
        return;
    }
    let hosts = Hosts::new();
    let tun = tun::open(&hosts.device(1, "tunnel"));
    hosts.route(9, "tunnel", None);
    let router = vcp_router(hosts.device(1, "inner"), &["left"]);
    assert!(router.edges().contains(&"tunnel"), "{:?}", router.edges());
    Sender::new(&hosts.device(0, "wire")).send(&frames(9));
    let mut all = Vec::new();
    let mut packet = [0; 1 << 11];
    for _ in 0..200 {
        if let Some(bytes) = tun::read(&tun, &mut packet) {
            all.extend(left(&packet[..bytes], None));
        } else if all.len() >= frames(9).len() {
            break;
        }
    }
    check("TUN", &all);
}
