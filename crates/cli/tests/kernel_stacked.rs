//! A law at devices that lie on others: it works behind a bridge, and where its marks are cleared that is said.

mod hosts;

use std::path::Path;
use std::process::Output;

use hosts::{Hosts, Running, fadelab, possible, run, said, unique, until};

fn kernel(arguments: &[&str]) -> Output {
    fadelab(Path::new("."), &[&["kernel"], arguments].concat())
}

/// What `list` says of a law.
fn listed(name: &str) -> String {
    let text = said(&kernel(&["list"]));
    let own = text.split("\n\n").find(|part| part.starts_with(name));
    own.unwrap_or_default().to_owned()
}

/// A law that goes with its test.
struct Loaded(String);

impl Loaded {
    fn new(device: &str) -> (Self, String) {
        let name = unique("fls");
        let output = kernel(&["load", "vcp", "--as", &name, "--dev", device]);
        assert!(output.status.success(), "{}", said(&output));
        (Self(name), said(&output))
    }

    /// What is listed of it when that holds, while a host sends under it.
    fn while_sending(&self, hosts: &Hosts, from: &[&str], holds: impl Fn(&str) -> bool) -> String {
        let _server = Running::start(hosts.command(1, &["iperf3", "-s", "-1"]));
        let words = [from, &["iperf3", "-c", "10.78.0.2", "-t", "60", "-C", &self.0]].concat();
        let (mut text, mut client) = (String::new(), None);
        until("the law's flow is listed as it should be", || {
            let is_running = client
                .as_mut()
                .is_some_and(|client: &mut Running| client.0.try_wait().is_ok_and(|status| status.is_none()));
            if !is_running {
                // The server takes its moment to listen.
                client = Some(Running::start(hosts.command(0, &words)));
            }
            text = listed(&self.0);
            holds(&text)
        });
        text
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        kernel(&["unload", &self.0]);
    }
}

/// A router of VCP in the first host's namespace.
fn router(hosts: &Hosts, device: &str) -> Running {
    let device = format!("{}:{device}", hosts.0[0]);
    let words = ["kernel", "router", "--dev", &device, "--law", "vcp", "--rate", "10mbit"];
    let mut router = Running::start(hosts::command(Path::new("."), &words));
    router.shows("load");
    router
}

/// Whether a flow has a code of the router: over this short way any of them.
fn has_a_code(text: &str) -> bool {
    ["low load", "high load", "overload"]
        .iter()
        .any(|code| text.contains(code))
}

#[test]
fn a_law_works_behind_a_bridge() {
    // Goal: sender and router at a bridge: the router's codes come back, though the port below is at the edge of the
    // domain; `check` shows the stack and who named what.
    if !possible() {
        return;
    }
    let hosts = Hosts::new();
    let name = &hosts.0[0];
    run(&format!("ip -n {name} link add name bridge type bridge"));
    run(&format!("ip -n {name} link set wire master bridge"));
    run(&format!("ip -n {name} addr del 10.78.0.1/24 dev wire"));
    run(&format!("ip -n {name} addr add 10.78.0.1/24 dev bridge"));
    run(&format!("ip -n {name} link set bridge up"));
    let router = router(&hosts, "bridge");
    let (law, _) = Loaded::new(&format!("{name}:bridge"));
    let text = law.while_sending(&hosts, &[], has_a_code);
    let check = said(&kernel(&["check", "--dev", &format!("{name}:bridge")]));
    assert!(!text.contains("never reach"), "{text}");
    assert!(check.contains("bridge (bridge) on wire (veth)"), "{check}");
    assert!(check.contains("named for router law vcp"), "{check}");
    let output = router.interrupted();
    let remark = "not from those that left a named device above wire";
    assert!(said(&output).contains(remark), "{}", said(&output));
}

#[test]
fn marks_that_are_cleared_on_the_way_are_told() {
    // Goal: a law at a macvlan whose carrier lies in a namespace that a router has closed is told so when it is loaded,
    // and `list` says of its flow that no mark arrives; `check` of the device says what to do.
    if !possible() {
        return;
    }
    let hosts = Hosts::new();
    let (name, inner) = (&hosts.0[0], unique("flhc"));
    run(&format!("ip netns add {inner}"));
    run(&format!(
        "ip -n {name} link add name own link wire type macvlan mode bridge"
    ));
    run(&format!("ip -n {name} link set own netns {inner}"));
    run(&format!("ip -n {inner} addr add 10.78.0.3/24 dev own"));
    run(&format!("ip -n {inner} link set own up"));
    run(&format!("ip -n {name} link add side type veth peer name aside"));
    run(&format!("ip -n {name} link set side up"));
    let _router = router(&hosts, "side");
    let device = format!("{inner}:own");
    let (law, told) = Loaded::new(&device);
    let netns = format!("--net=/run/netns/{inner}");
    let text = law.while_sending(&hosts, &["nsenter", &netns], |text| {
        text.contains("never reach the peer")
    });
    let check = said(&kernel(&["check", "--dev", &device]));
    run(&format!("ip netns del {inner}"));
    for told in [told, check] {
        assert!(told.contains("own lies on a device of another namespace"), "{told}");
        assert!(told.contains("--inside"), "{told}");
    }
    assert!(text.contains("no mark arrives, as Reno"), "{text}");
}
