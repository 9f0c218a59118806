//! A place with two edges, a router between them, a box on the path that changes packets, and a host outside.

use std::fs;
use std::path::Path;
use std::process::Command;

use fadelab_kernel::device::{Device, within};

use super::counting::Counting;
use super::hosts::{run, unique};
use super::meddler::{Meddler, Random};

/// Ports of what runs there.
pub const VCP: u16 = 5301;
pub const CUBIC: u16 = 5302;
pub const VCP_OUTSIDE: u16 = 5303;
pub const XCP: u16 = 5304;
pub const DATAGRAMS: u16 = 5305;

/// Of the link behind the router.
pub const RATE: &str = "20 Mbit/s";
const SHAPED: &str = "tbf rate 20mbit burst 5kb limit 500000";

/// Five namespaces: hosts `a` and `b`, between them the box `m` and the router `r`; host `o` lies outside.
///
/// ```text
/// a:wire - m:left | m:right - r:in (port of the bridge `joined`) | r:out - b:wire
///                                    r:side (below the macvlan mv) - o:wire
/// ```
pub struct Site {
    pub a: String,
    pub b: String,
    pub r: String,
    pub o: String,
    pub meddler: Meddler,
    /// What arrives at the host inside, and outside.
    pub inside: Counting,
    pub outside: Counting,
    _spaces: Spaces,
}

/// Namespaces that go when this does, however far the rest has got.
struct Spaces([String; 5]);

impl Drop for Spaces {
    fn drop(&mut self) {
        for name in &self.0 {
            let _ = Command::new("ip").args(["netns", "del", name]).output();
        }
    }
}

impl Site {
    /// `is_shaped`: with a token bucket filter where otherwise the router has its own.
    pub fn new(is_shaped: bool) -> Self {
        let spaces = Spaces(["fska", "fskb", "fskm", "fskr", "fsko"].map(unique));
        for name in &spaces.0 {
            run(&format!("ip netns add {name}"));
            run(&format!("ip -n {name} link set lo up"));
        }
        let [a, b, middle, r, o] = spaces.0.clone();
        let forward = || fs::write("/proc/sys/net/ipv4/ip_forward", "1");
        let forwards = within(Some(Path::new(&format!("/run/netns/{r}"))), forward);
        forwards.and_then(|written| written).expect("root in the namespace");
        run(&format!(
            "ip link add wire netns {a} type veth peer name left netns {middle}"
        ));
        run(&format!(
            "ip link add right netns {middle} type veth peer name in netns {r}"
        ));
        for (name, device) in [(&middle, "left"), (&middle, "right"), (&r, "in")] {
            run(&format!("ip -n {name} link set {device} up"));
        }
        run(&format!("ip -n {r} link add joined type bridge"));
        run(&format!("ip -n {r} link set in master joined"));
        run(&format!("ip -n {r} addr add 10.79.0.254/24 dev joined"));
        run(&format!("ip -n {r} link set joined up"));
        run(&format!("ip -n {a} addr add 10.79.0.1/24 dev wire"));
        // Whoever changes packets between hosts sees them as they go over a cable: one by one.
        run(&format!("ip -n {a} link set wire up gso_max_segs 1"));
        run(&format!("ip -n {a} route add default via 10.79.0.254"));
        let device = |space: &str, name: &str| Device {
            name: name.to_owned(),
            netns: Some(format!("/run/netns/{space}").into()),
        };
        let meddler = Meddler::new(&device(&middle, "left"), &device(&middle, "right"), meddle);
        let (inside, outside) = (Counting::new(&b), Counting::new(&o));
        let site = Self {
            a,
            b,
            r,
            o,
            meddler,
            inside,
            outside,
            _spaces: spaces,
        };
        site.connect_inside();
        site.connect_outside();
        if is_shaped {
            site.shape();
        }
        site
    }

    /// Slows the router's link, as the law's router does.
    pub fn shape(&self) {
        run(&format!("tc -n {} qdisc add dev out root {SHAPED}", self.r));
    }

    /// The cable to the host inside, which goes with one of its ends.
    pub fn connect_inside(&self) {
        let Self { b, r, .. } = self;
        run(&format!("ip link add out netns {r} type veth peer name wire netns {b}"));
        run(&format!("ip -n {r} addr add 10.79.1.254/24 dev out"));
        run(&format!("ip -n {b} addr add 10.79.1.1/24 dev wire"));
        run(&format!("ip -n {r} link set out up"));
        run(&format!("ip -n {b} link set wire up gso_max_segs 1"));
        run(&format!("ip -n {b} route add default via 10.79.1.254"));
    }

    /// The same to the host outside, by a stack of two devices.
    pub fn connect_outside(&self) {
        let Self { r, o, .. } = self;
        run(&format!(
            "ip link add side netns {r} type veth peer name wire netns {o}"
        ));
        run(&format!("ip -n {r} link set side up"));
        run(&format!("ip -n {r} link add mv link side type macvlan mode bridge"));
        run(&format!("ip -n {r} addr add 10.79.2.254/24 dev mv"));
        run(&format!("ip -n {r} link set mv up"));
        run(&format!("ip -n {o} addr add 10.79.2.1/24 dev wire"));
        run(&format!("ip -n {o} link set wire up"));
        run(&format!("ip -n {o} route add default via 10.79.2.254"));
    }

    /// The namespace and the address of the host that a port belongs to.
    pub fn host_of(&self, port: u16) -> (&str, &'static str) {
        match port {
            VCP_OUTSIDE => (&self.o, "10.79.2.1"),
            _ => (&self.b, "10.79.1.1"),
        }
    }
}

/// Bytes of XCP's option and of VCP's, which stand at the end of a header.
const OPTIONS: [usize; 2] = [12, VCP_OPTION];
pub const VCP_OPTION: usize = 8;

/// Where an option of ours stands in a packet; `at` is where TCP's header begins.
pub fn our_option(packet: &[u8], at: usize) -> Option<std::ops::Range<usize>> {
    let end = at + usize::from(packet.get(at + 12)? >> 4) * 4;
    let of = |bytes: &usize| {
        packet
            .get(end.checked_sub(*bytes)?..end)?
            .starts_with(&[254, *bytes as u8])
            .then_some(*bytes)
    };
    OPTIONS.iter().find_map(of).map(|bytes| end - bytes..end)
}

/// In a third of our packets: another code and, but on the way outside, an option with other bytes (grants that no
/// router gave among them), of another length, or none. A packet that leaves the domain keeps its option: without it
/// nobody could say whose code it carries.
fn meddle(packet: &mut [u8], at: usize, random: &mut Random) -> bool {
    let Some(option) = our_option(packet, at).filter(|_| random.next().is_multiple_of(3)) else {
        return false;
    };
    packet[15] = packet[15] & 0xfc | (random.next() & 3) as u8;
    let port = |at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
    if [port(at), port(at + 2)].contains(&VCP_OUTSIDE) {
        return true;
    }
    match random.next() % 6 {
        0 => packet[option.start + 1] = random.next() as u8,
        1 => packet[option].fill(1),
        _ => packet[option]
            .iter_mut()
            .skip(4)
            .for_each(|byte| *byte = random.next() as u8),
    }
    true
}
