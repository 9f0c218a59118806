//! The end of a tunnel whose gateway is killed: its guard stays, until another gateway has taken its place.

#[allow(dead_code, reason = "other tests use the rest of it")]
mod common;
#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "common/forwarding.rs"]
mod forwarding;
#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "common/packet.rs"]
mod packet;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::{possible, report};
use fadelab_kernel::Version;
use fadelab_kernel::device::Device;
use fadelab_kernel::gateway::object::{Recipe, compile, wire_of};
use fadelab_kernel::gateway::{Gateway, Options, Tunnel, guard};
use fadelab_kernel::kept::Kept;
use fadelab_kernel::tunnel::RoleFrom;
use fadelab_laws::gateway;
use forwarding::{Counter, Counts, Hosts, OTHERS, OURS, Sender, frame};
use packet::{ETHERNET, Made, folded};

/// The namespace in which the process has a gateway that is to be killed.
const PLACE: &str = "FADELAB_TEST_GATEWAY_IN";

/// From the host behind the router to the sender: what comes is from there to here.
const TUNNELS: [&str; 2] = ["10.0.3.2-10.0.1.2", "fd03::2-fd01::2"];

fn tunnel(way: &str) -> Tunnel {
    Tunnel {
        out: way.parse().expect("a direction"),
        role: RoleFrom::Sequence,
        copies_ce: true,
        outer_bytes: 36,
    }
}

fn begun(netns: &Path) -> Gateway {
    let law = gateway("dcp_ew").expect("registered");
    let recipe = Recipe {
        law,
        params: &law.default_params(),
        wire: wire_of(law).expect("a law of a format"),
        record: false,
        by_flow: false,
    };
    let device = |name: &str| Device {
        name: name.to_owned(),
        netns: Some(netns.to_owned()),
    };
    let options = Options {
        plain: vec![device("outer")],
        cipher: device("left"),
        tunnels: TUNNELS.map(tunnel).to_vec(),
        guard: Some(law.name().to_owned()),
    };
    Gateway::load(&compile(&recipe).expect("it compiles"), &options).expect("it begins")
}

#[test]
fn stands_until_it_is_killed() {
    // Goal: none by itself; it says when its gateway is at work, and goes on.
    let Ok(netns) = std::env::var(PLACE) else { return };
    let _gateway = begun(&Path::new("/run/netns").join(netns));
    println!("\nat work");
    std::thread::sleep(Duration::from_secs(600));
}

/// That process, which ends with its test.
struct Standing(Child);

impl Standing {
    fn start(hosts: &Hosts) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("it runs"));
        command
            .args(["--exact", "stands_until_it_is_killed", "--nocapture"])
            .env(PLACE, hosts.name(1))
            .stdout(Stdio::piped());
        let mut child = command.spawn().expect("it runs");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let is_at_work = lines.any(|line| line.is_ok_and(|line| line == "at work"));
        let standing = Self(child);
        assert!(is_at_work, "the gateway begins");
        standing
    }

    fn kill(&mut self) -> u32 {
        self.0.kill().expect("it runs");
        self.0.wait().expect("ours");
        self.0.id()
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A packet with a congestion mark to the host outside.
fn marked(ipv6: bool, last: u8) -> Vec<u8> {
    let made = Made {
        ipv6,
        ecn: 3,
        payload: 40,
        before: Vec::new(),
        option: Vec::new(),
    };
    frame(3, &made, last)
}

/// ESP of the tunnels with a half 11 outside: of IPv4 a whole packet and the first fragment of one, and of IPv6.
fn esp() -> [Vec<u8>; 3] {
    let [mut whole, mut of_ipv6] = [false, true].map(|ipv6| marked(ipv6, OURS));
    of_ipv6[ETHERNET + 6] = 50;
    whole[ETHERNET + 9] = 50;
    let mut fragment = whole.clone();
    fragment[ETHERNET + 6] = 0x20;
    for frame in [&mut whole, &mut fragment] {
        frame[ETHERNET + 10..ETHERNET + 12].fill(0);
        let sum = !folded(&frame[ETHERNET..ETHERNET + 20]);
        frame[ETHERNET + 10..ETHERNET + 12].copy_from_slice(&sum.to_be_bytes());
    }
    [whole, fragment, of_ipv6]
}

/// The guards in the namespace of these hosts' router.
fn guards(hosts: &Hosts) -> Vec<Kept> {
    let place = PathBuf::from("/run/netns").join(hosts.name(1));
    let all = guard::guards().into_iter();
    all.filter(|guard| guard.netns.as_ref() == Some(&place)).collect()
}

/// What has come when so many packets more have, or when no more come.
fn all_arrived(outside: &Counter, before: Counts, packets: u64) -> Counts {
    let total = |counts: Counts| counts.ours + counts.others;
    for _ in 0..500 {
        if total(outside.read()) >= total(before) + packets {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    outside.read()
}

#[test]
fn outer_headers_are_cleared_when_the_gateway_is_killed() {
    // Goal: no half of a load comes to the kernel's decapsulation where nobody reads it: with a gateway, when it was
    // killed, which the guard counts, and with the next one, whose guard takes the place of the old one; over IPv4, in
    // fragments and over IPv6. What is not of the tunnel keeps its mark, and when a gateway ends by itself nothing is
    // left.
    if !possible(&["clang", "ip"]) {
        return;
    }
    if Version::running().is_none_or(|version| version < Version::LINKS) {
        report("skipped: a gateway needs Linux 6.6");
        return;
    }
    let hosts = Hosts::new();
    let outside = Counter::new(&hosts.device(3, "wire"));
    let sender = Sender::new(&hosts.device(0, "wire"));
    let (esp, mut counts) = (esp(), outside.read());
    let (kinds, frames) = (esp.len() as u64, [&esp[..], &[marked(false, OTHERS)]].concat());
    let mut pass = |is_cleared: bool, when: &str| {
        let before = counts;
        for _ in 0..100 {
            sender.send(&frames);
        }
        counts = all_arrived(&outside, before, 100 * frames.len() as u64);
        let marked = if is_cleared { 0 } else { 100 * kinds };
        let expected = Counts {
            ours: before.ours + 100 * kinds,
            ours_marked: before.ours_marked + marked,
            others: before.others + 100,
            others_marked: before.others_marked + 100,
        };
        assert_eq!(counts, expected, "{when}");
    };
    pass(false, "without a gateway");
    let mut standing = Standing::start(&hosts);
    pass(true, "with a gateway");
    let pid = standing.kill();
    pass(true, "when it was killed");
    let left = guards(&hosts);
    assert_eq!((left.len(), left[0].owner.pid, left[0].is_alive()), (1, pid, false));
    assert_eq!(guard::cleared(&left[0]), Some(100 * kinds));
    let next = begun(&Path::new("/run/netns").join(hosts.name(1)));
    pass(true, "with the next one");
    let there = guards(&hosts);
    assert_eq!((there.len(), there[0].is_alive()), (1, true));
    assert_eq!(guard::cleared(&there[0]), Some(0), "the gateway was first");
    drop(next);
    pass(false, "when it ended");
    assert_eq!(guards(&hosts), []);
}
