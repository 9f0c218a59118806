//! Router laws at a device of this machine's kernel.

#[allow(dead_code, reason = "other tests use the rest of it")]
mod common;

use std::path::PathBuf;
use std::time::Duration;

use common::router::{compiled, compiled_here, compiled_to_record};
use common::{is_built_in, possible, report, run, unique};
use fadelab_kernel::Version;
use fadelab_kernel::device::Device;
use fadelab_kernel::object::load;
use fadelab_kernel::router::{Counters, Options, Router, object};
use fadelab_laws::{capacities, routers};

#[test]
fn every_law_with_every_part_passes_the_verifier() {
    // Goal: what was simulated can be put at a device; the kernel takes each combination that is not refused with a
    // reason, in the form for this kernel and in that for kernels before 6.2, to be recorded or not.
    if !possible(&["clang"]) {
        return;
    }
    let running = Version::running().expect("a version");
    let (mut loaded, mut refused) = (0, 0);
    let laws: Vec<_> = routers()
        .iter()
        .filter(|law| is_built_in("router", law.name()))
        .collect();
    let parts: Vec<_> = capacities()
        .iter()
        .filter(|part| is_built_in("capacity", part.name()))
        .collect();
    for &law in &laws {
        for &part in &parts {
            if object::obstacle(law, part).is_some() {
                refused += 1;
                continue;
            }
            for kernel in [running, Version::OLDEST] {
                for compile in [compiled, compiled_to_record] {
                    let bytes = compile(law.name(), part.name(), kernel);
                    load(&bytes, |_| Ok(())).unwrap_or_else(|error| panic!("{} {} {error}", law.name(), part.name()));
                    loaded += 1;
                }
            }
        }
    }
    assert_eq!(loaded + 4 * refused, 4 * laws.len() * parts.len());
    report(&format!("verified {loaded} routers, refused {refused} with a reason"));
}

struct Namespace(String);

impl Namespace {
    fn new() -> Self {
        let name = unique("flx");
        run(&format!("ip netns add {name}"));
        Self(name)
    }
}

/// A router of VCP with a queue of its own at a device `out` of a namespace, whose other end is `far`. Without IPv6 no
/// packet leaves before the router counts: its queue is there a little earlier.
fn at_a_quiet_device(name: &str, capacity_bytes_per_s: u64, limit_bytes: u64) -> Router {
    let quiet = "net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1";
    run(&format!("ip netns exec {name} sysctl -qw {quiet}"));
    run(&format!("ip -n {name} link add out type veth peer name far"));
    run(&format!("ip -n {name} link set out up"));
    run(&format!("ip -n {name} link set far up"));
    let device = Device {
        name: "out".to_owned(),
        netns: Some(PathBuf::from(format!("/run/netns/{name}"))),
    };
    let options = Options {
        device,
        law: "vcp".to_owned(),
        capacity_bytes_per_s,
        limit_bytes,
        shaped: true,
        air_header_bytes: None,
        packet_bytes: None,
        tunnels: Vec::new(),
        closed: None,
    };
    Router::load(&compiled_here("vcp"), options).expect("a router")
}

impl Drop for Namespace {
    fn drop(&mut self) {
        run(&format!("ip netns del {}", self.0));
    }
}

#[test]
fn a_router_counts_what_its_queue_counts_and_ages_on_an_idle_link() {
    // Goal: its bytes are those that the queue sends, so that load and rate are of one kind; intervals close without
    // any packet, so that an idle link knows that it is idle.
    if !possible(&["clang", "ip", "tc"]) {
        return;
    }
    let namespace = Namespace::new();
    let name = &namespace.0;
    let router = at_a_quiet_device(name, 1_250_000, 250_000);
    assert_eq!((router.root().kind.as_str(), router.is_shaped()), ("tbf", true));
    // Packets of the system's own, to ask for neighbours.
    run(&format!("ip -n {name} addr add 10.0.0.1/24 dev out"));
    run(&format!("ip netns exec {name} bash -c echo>/dev/udp/10.0.0.2/9"));
    let idle = |counters: &Counters| {
        let is_settled = counters.packets > 0 && counters.sent_bytes == counters.air_bytes;
        is_settled && counters.intervals >= 3 && counters.load() == Some(0.0)
    };
    let mut counters = router.counters().expect("counters");
    for _ in 0..1000 {
        if idle(&counters) {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
        counters = router.counters().expect("counters");
    }
    panic!("it never counts the same as its queue, or never ages: {counters:?}");
}

#[test]
fn a_law_hears_of_another_rate_with_its_next_interval() {
    // Goal: what the capacity part says and how fast the bucket is are the new rate, up and down, and counters go on
    // from where they were.
    if !possible(&["clang", "ip", "tc"]) {
        return;
    }
    let namespace = Namespace::new();
    let name = &namespace.0;
    let mut router = at_a_quiet_device(name, 1_250_000, 250_000);
    let mut intervals = 0;
    for (bytes_per_s, shown) in [(500_000, "rate 4Mbit"), (5_000_000, "rate 40Mbit")] {
        router.set_rate(bytes_per_s).expect("another rate");
        assert!(
            run(&format!("tc -n {name} qdisc show dev out")).contains(shown),
            "{shown}"
        );
        let mut counters = router.counters().expect("counters");
        for _ in 0..1000 {
            if counters.capacity_bytes_per_s == bytes_per_s && counters.intervals > intervals {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
            counters = router.counters().expect("counters");
        }
        assert_eq!(counters.capacity_bytes_per_s, bytes_per_s);
        assert!(counters.intervals > intervals, "{counters:?}");
        intervals = counters.intervals;
    }
}

const PACKETS: u64 = 300;

#[test]
fn what_the_queue_behind_the_law_drops_is_counted() {
    // Goal: of packets that come faster than a small queue lets them go each has arrived at the other end or is counted
    // as dropped, as those before the router began are not.
    if !possible(&["clang", "ip", "tc"]) {
        return;
    }
    let namespace = Namespace::new();
    let name = &namespace.0;
    let mut router = at_a_quiet_device(name, 10_000, 4_000);
    run(&format!("ip -n {name} addr add 10.0.0.1/24 dev out"));
    run(&format!(
        "ip -n {name} neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev out"
    ));
    let send = format!("for i in {{1..{PACKETS}}}; do printf %500s > /dev/udp/10.0.0.2/9; done");
    let place = format!("--net=/run/netns/{name}");
    let sent = std::process::Command::new("nsenter")
        .args([&place, "bash", "-c", &send])
        .status();
    assert!(sent.expect("bash").success());
    let arrived = || -> u64 {
        let told: serde_json::Value =
            serde_json::from_str(&run(&format!("ip -n {name} -json -statistics link show far"))).expect("JSON");
        told[0]["stats64"]["rx"]["packets"].as_u64().expect("a number")
    };
    for _ in 0..1000 {
        if arrived() + router.queue_dropped() >= PACKETS {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    // Five packets' time, for what would come after all of them.
    std::thread::sleep(Duration::from_millis(300));
    let (arrived, dropped) = (arrived(), router.queue_dropped());
    assert_eq!(
        (arrived + dropped, dropped > PACKETS / 2),
        (PACKETS, true),
        "{arrived} arrived, {dropped} dropped"
    );
    assert_eq!(router.counters().expect("counters").packets, PACKETS);
}
