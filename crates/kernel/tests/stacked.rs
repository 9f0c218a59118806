//! The closed domain where devices lie on others: what leaves a named bridge or macvlan passes the device below it.

#[allow(dead_code, reason = "other tests use the rest of it")]
mod common;
#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "common/forwarding.rs"]
mod forwarding;
#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "common/packet.rs"]
mod packet;

use std::time::Duration;

use common::{possible, report, run};
use fadelab_kernel::device::Device;
use forwarding::{Counter, Hosts, Sender, frames, vcp_router};

/// The network that is reached by the upper device, and the one that is reached by the lower one itself.
const BY_UPPER: u8 = 7;
const BY_LOWER: u8 = 3;

/// What of a network's packets arrives marked behind a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    Marked,
    Cleared,
    Nothing,
}

/// The kernel opens the ports of a bridge in the background.
fn arriving(hosts: &Hosts, net: u8, at: &Device) -> Seen {
    let mut tries = (0..500).map(|_| {
        std::thread::sleep(Duration::from_millis(10));
        seen(hosts, net, at)
    });
    tries.find(|seen| *seen != Seen::Nothing).unwrap_or(Seen::Nothing)
}

fn seen(hosts: &Hosts, net: u8, at: &Device) -> Seen {
    let counter = Counter::new(at);
    Sender::new(&hosts.device(0, "wire")).send(&frames(net));
    let counts = counter.read();
    assert_eq!(
        counts.others_marked * 4,
        counts.others * 3,
        "others' are as they were: {counts:?}"
    );
    match counts.ours_marked {
        _ if counts.ours == 0 => Seen::Nothing,
        0 => Seen::Cleared,
        marked => {
            assert_eq!(marked * 4, counts.ours * 3, "{counts:?}");
            Seen::Marked
        }
    }
}

/// A device `upper` on the router's `outer`, by which a network is reached; nothing where the kernel knows none.
fn stacked(hosts: &Hosts, kind: &str) -> bool {
    let router = hosts.name(1);
    let on = if kind == "bridge" { "" } else { "link outer" };
    let words = common::iproute::words(&format!("ip -n {router} link add {on} name upper type {kind}"));
    let made = std::process::Command::new(&words[0]).args(&words[1..]).output();
    if !made.expect("iproute2").status.success() {
        return false;
    }
    if kind == "bridge" {
        // With the address of its port it would forget its neighbours whenever that goes.
        run(&format!("ip -n {router} link set upper address 02:00:00:00:07:01"));
        run(&format!("ip -n {router} link set outer master upper"));
    }
    // A bridge does not know where the host with that address is, and sends to all its ports.
    hosts.route(BY_UPPER, "upper", Some(BY_UPPER));
    true
}

#[test]
fn what_leaves_a_named_device_passes_those_below() {
    // Goal: marks that leave a named bridge or macvlan leave the device below it, too, and what leaves that one itself
    // is cleared; with the router everything ends.
    if !possible(&["clang", "ip", "tc"]) {
        return;
    }
    let mut tried = Vec::new();
    for kind in ["bridge", "macvlan mode bridge", "vlan id 5", "ipvlan"] {
        let hosts = Hosts::new();
        if !stacked(&hosts, kind) {
            continue;
        }
        let outside = hosts.device(3, "wire");
        let router = vcp_router(hosts.device(1, "upper"), &["left"]);
        let mut edges = router.edges();
        edges.sort_unstable();
        assert_eq!(edges, ["inner", "outer"], "{kind}");
        assert_eq!(arriving(&hosts, BY_UPPER, &outside), Seen::Marked, "{kind}");
        assert_eq!(arriving(&hosts, BY_LOWER, &outside), Seen::Cleared, "{kind}");
        drop(router);
        assert_eq!(arriving(&hosts, BY_LOWER, &outside), Seen::Marked, "{kind}");
        tried.push(kind);
    }
    report(&format!("stacks of this kernel: {}", tried.join(", ")));
}

#[test]
fn what_lies_on_a_named_device_is_judged_there_or_closed() {
    // Goal: where a port of a bridge is named the bridge is not at the edge, so that marks leave by that port, and by
    // no other; a macvlan on a named device is at the edge.
    if !possible(&["clang", "ip", "tc"]) {
        return;
    }
    let hosts = Hosts::new();
    if stacked(&hosts, "bridge") {
        let name = hosts.name(1);
        run(&format!("ip -n {name} link add side type veth peer name aside"));
        run(&format!("ip -n {name} link set side master upper up"));
        run(&format!("ip -n {name} link set aside up"));
        let mut router = vcp_router(hosts.device(1, "outer"), &["left"]);
        router.tend(Duration::ZERO).expect("all is there");
        assert!(!router.edges().contains(&"upper"), "{:?}", router.edges());
        assert_eq!(arriving(&hosts, BY_UPPER, &hosts.device(3, "wire")), Seen::Marked);
        assert_eq!(arriving(&hosts, BY_UPPER, &hosts.device(1, "aside")), Seen::Cleared);
    }
    let hosts = Hosts::new();
    if stacked(&hosts, "macvlan mode bridge") {
        let router = vcp_router(hosts.device(1, "outer"), &["left"]);
        assert!(router.edges().contains(&"upper"), "{:?}", router.edges());
        assert_eq!(arriving(&hosts, BY_UPPER, &hosts.device(3, "wire")), Seen::Cleared);
    }
}

#[test]
fn stacks_are_followed_as_they_change() {
    // Goal: a device that becomes a port of a named bridge lets through what leaves that one, from then on, and none of
    // it once it is no port any more; meanwhile nothing else leaves it marked.
    if !possible(&["clang", "ip", "tc"]) {
        return;
    }
    let hosts = Hosts::new();
    let (name, outside) = (hosts.name(1), hosts.device(3, "wire"));
    if !stacked(&hosts, "bridge") {
        return;
    }
    run(&format!("ip -n {name} link set outer nomaster"));
    let mut router = vcp_router(hosts.device(1, "upper"), &["left"]);
    assert_eq!(seen(&hosts, BY_UPPER, &outside), Seen::Nothing);
    assert_eq!(arriving(&hosts, BY_LOWER, &outside), Seen::Cleared);
    for _ in 0..2 {
        run(&format!("ip -n {name} link set outer master upper"));
        router.tend(Duration::from_secs(1)).expect("all is there");
        assert_eq!(arriving(&hosts, BY_UPPER, &outside), Seen::Marked);
        assert_eq!(arriving(&hosts, BY_LOWER, &outside), Seen::Cleared);
        run(&format!("ip -n {name} link set outer nomaster"));
        router.tend(Duration::from_secs(1)).expect("all is there");
        assert_eq!(seen(&hosts, BY_UPPER, &outside), Seen::Nothing);
        assert_eq!(arriving(&hosts, BY_LOWER, &outside), Seen::Cleared);
    }
}
