//! Router laws at a device of this machine's kernel.

#[allow(dead_code, reason = "other tests use the rest of it")]
mod common;

use std::path::PathBuf;
use std::time::Duration;

use common::{possible, report, run, unique};
use fadelab_kernel::Version;
use fadelab_kernel::device::Device;
use fadelab_kernel::object::load;
use fadelab_kernel::router::{Options, Router, object};
use fadelab_laws::{capacities, capacity, router, routers};

fn compiled(law: &str, part: &str, kernel: Version) -> Vec<u8> {
    let law = router(law).expect("registered");
    let part = capacity(part).expect("registered");
    let recipe = object::Recipe {
        law,
        params: &law.default_params(),
        part,
        part_params: &part.default_params(),
        kernel,
    };
    object::compile(&recipe).expect("it compiles")
}

#[test]
fn every_law_with_every_part_passes_the_verifier() {
    // Goal: what was simulated can be put at a device; the kernel takes each combination that is not refused with a
    // reason, in the form for this kernel and in that for kernels before 6.2.
    if !possible(&["clang"]) {
        return;
    }
    let running = Version::running().expect("a version");
    let (mut loaded, mut refused) = (0, 0);
    for law in routers() {
        for part in capacities() {
            if object::obstacle(law, part).is_some() {
                refused += 1;
                continue;
            }
            for kernel in [running, Version::OLDEST] {
                let bytes = compiled(law.name(), part.name(), kernel);
                load(&bytes, |_| Ok(())).unwrap_or_else(|error| panic!("{} {} {error}", law.name(), part.name()));
                loaded += 1;
            }
        }
    }
    assert_eq!(loaded + 2 * refused, 2 * routers().len() * capacities().len());
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

impl Drop for Namespace {
    fn drop(&mut self) {
        run(&format!("ip netns del {}", self.0));
    }
}

#[test]
fn a_router_counts_and_its_timer_runs_on_an_idle_link() {
    // Goal: packets are counted in bytes that the queue counts, and intervals close without any packet.
    if !possible(&["clang", "ip", "tc"]) {
        return;
    }
    let namespace = Namespace::new();
    let name = &namespace.0;
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
        capacity_bytes_per_s: 1_250_000,
        limit_bytes: 250_000,
        shaped: true,
        air_header_bytes: None,
        closed: None,
    };
    let bytes = compiled("vcp", "configured", Version::running().expect("a version"));
    let router = Router::load(&bytes, options).expect("a router");
    std::thread::sleep(Duration::from_millis(700));
    let counters = router.counters().expect("counters");
    report(&format!("{counters:?} {:?}", router.root()));
    assert!(counters.intervals >= 2, "{counters:?}");
    report(&run(&format!("tc -n {name} qdisc show dev out")));
    drop(router);
    report(&run(&format!("tc -n {name} qdisc show dev out")));
}
