//! The closed domain when its router is killed: the edges stay, until another router has closed the domain anew.

#[allow(dead_code, reason = "other tests use the rest of it")]
mod common;
#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "common/forwarding.rs"]
mod forwarding;
#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "common/packet.rs"]
mod packet;

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::{possible, report, run};
use fadelab_kernel::Version;
use fadelab_kernel::device::Device;
use fadelab_kernel::kept;
use fadelab_kernel::router::remove_leftovers;
use forwarding::{Counter, Hosts, Sender, frames, vcp_router};

/// The namespace in which the process routes that is to be killed.
const PLACE: &str = "FADELAB_TEST_ROUTES_IN";

#[test]
fn routes_until_it_is_killed() {
    // Goal: none by itself; it says when its router is at work, and goes on.
    let Ok(netns) = std::env::var(PLACE) else { return };
    let inner = Device {
        name: "inner".to_owned(),
        netns: Some(PathBuf::from("/run/netns").join(netns)),
    };
    let mut router = vcp_router(inner, &["left"]);
    println!("\nclosed: {}", router.edges().join(" "));
    while router.tend(Duration::from_millis(100)).is_ok() {}
}

/// That process, which ends with its test.
struct Routing(Child);

impl Routing {
    fn start(hosts: &Hosts) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("it runs"));
        command
            .args(["--exact", "routes_until_it_is_killed", "--nocapture"])
            .env(PLACE, hosts.name(1))
            .stdout(Stdio::piped());
        let mut child = command.spawn().expect("it runs");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let said = lines.map_while(Result::ok).find(|line| line.starts_with("closed"));
        let routing = Self(child);
        // Where the kernel knows tunnels, each namespace has some of them from the beginning.
        let closed: Vec<&str> = said.iter().flat_map(|said| said.split_whitespace()).collect();
        assert!(closed.contains(&"outer"), "{closed:?}");
        routing
    }

    fn kill(&mut self) -> u32 {
        self.0.kill().expect("it runs");
        self.0.wait().expect("ours");
        self.0.id()
    }
}

impl Drop for Routing {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Whether edges are links, which a file keeps, and not filters, which the next start of a router removes.
fn edges_stay() -> bool {
    let stay = Version::running().is_some_and(|version| version >= Version::LINKS);
    if !stay {
        report("skipped: programs at devices are filters before Linux 6.6");
    }
    stay
}

/// The devices that a killed process left closed.
fn left_by(pid: u32) -> Option<Vec<String>> {
    let mut left = kept::left().into_iter();
    left.find(|kept| kept.owner.pid == pid).map(|kept| kept.devices())
}

#[test]
fn a_killed_router_leaves_its_edges_closed_and_the_next_takes_them_over() {
    // Goal: of our packets none leaves marked when the router is killed, nor while the next one begins, which is told
    // whose edges there were; when that one ends nothing is left, and marks leave.
    if !possible(&["clang", "ip", "tc"]) || !edges_stay() {
        return;
    }
    let hosts = Hosts::new();
    let outer = Counter::new(&hosts.device(3, "wire"));
    let sender = Sender::new(&hosts.device(0, "wire"));
    let to_outer = frames(3);
    let mut routing = Routing::start(&hosts);
    let pid = routing.kill();
    // What any other router's start does leaves the edges alone.
    remove_leftovers();
    let left = left_by(pid).expect("its edges are there");
    assert!(left.contains(&"outer".to_owned()), "{left:?}");
    for _ in 0..1000 {
        sender.send(&to_outer);
    }
    let is_begun = AtomicBool::new(false);
    let router = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_begun.load(Ordering::Relaxed) {
                sender.send(&to_outer);
            }
        });
        let router = vcp_router(hosts.device(1, "inner"), &["left"]);
        is_begun.store(true, Ordering::Relaxed);
        router
    });
    let counts = outer.read();
    assert!(counts.ours > 1000 && counts.ours_marked == 0, "{counts:?}");
    assert!(counts.others_marked > 0, "{counts:?}");
    let (kept, devices) = &router.taken_over()[0];
    assert_eq!((kept.owner.pid, devices), (pid, &left));
    assert_eq!((router.taken_over().len(), left_by(pid)), (1, None));
    drop(router);
    sender.send(&to_outer);
    assert!(outer.read().ours_marked > 0, "without a router nothing is cleared");
}

#[test]
fn a_namespace_that_goes_takes_its_edges_along() {
    // Goal: of a killed router whose namespace was deleted nothing is left that the next start of any does not forget.
    if !possible(&["clang", "ip", "tc"]) || !edges_stay() {
        return;
    }
    let hosts = Hosts::new();
    let mut routing = Routing::start(&hosts);
    let pid = routing.kill();
    run(&format!("ip netns del {}", hosts.name(1)));
    // The kernel takes a namespace down in the background.
    for _ in 0..500 {
        if left_by(pid).is_none() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(left_by(pid), None);
    remove_leftovers();
    let folders = std::fs::read_dir("/run/fadelab/edges").into_iter().flatten().flatten();
    let is_its = |name: &str| name.contains(&format!("-{pid}-"));
    assert!(
        !folders
            .into_iter()
            .any(|folder| is_its(&folder.file_name().to_string_lossy()))
    );
    let mounts = std::fs::read_to_string("/proc/mounts").expect("a file");
    assert!(!is_its(&mounts), "{mounts}");
}
