//! `fadelab kernel gateway`: what it finds, what it refuses, and that nothing is left of one that was killed.

mod hosts;

use std::path::Path;
use std::process::Output;

use hosts::{Hosts, Running, possible, run, said};

/// A host whose policies send packets into a tunnel, with a second device for what is encrypted. Nothing encrypts.
struct Gateway(Hosts);

impl Gateway {
    fn new() -> Self {
        let hosts = Hosts::new();
        let name = &hosts.0[0];
        run(&format!("ip -n {name} link add c0 type veth peer name c1"));
        run(&format!("ip -n {name} link set c0 up"));
        run(&format!(
            "ip -n {name} xfrm policy add src 10.0.0.0/24 dst 10.1.0.0/24 dir out \
             tmpl src 192.0.2.1 dst 198.51.100.1 proto esp mode tunnel"
        ));
        Self(hosts)
    }

    fn words(&self, plain: &str, more: &[&str]) -> Vec<String> {
        let device = |name: &str| format!("{}:{name}", self.0.0[0]);
        let (plain, cipher) = (device(plain), device("c0"));
        let words = ["kernel", "gateway", "--plain", &plain, "--cipher", &cipher];
        words.iter().chain(more).map(|word| (*word).to_owned()).collect()
    }

    fn start(&self, more: &[&str]) -> Running {
        let words = self.words("wire", more);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut running = Running::start(hosts::command(Path::new("."), &words));
        running.shows("entered");
        running
    }

    /// What `kernel list` says of gateways here.
    fn listed(&self) -> Vec<serde_json::Value> {
        let output = hosts::fadelab(Path::new("."), &["kernel", "list", "--json"]);
        let all: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let gateways = all["gateways"].as_array().expect("a list").iter();
        let is_here = |gateway: &&serde_json::Value| {
            let netns = gateway["gateway"]["netns"].as_str();
            netns.is_some_and(|netns| netns.ends_with(&self.0.0[0]))
        };
        gateways.filter(is_here).cloned().collect()
    }

    fn ended(&self, plain: &str, more: &[&str]) -> Output {
        let words = self.words(plain, more);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        hosts::fadelab(Path::new("."), &words)
    }
}

#[test]
fn a_killed_gateway_leaves_its_device_free() {
    // Goal: a device has one gateway at a time, also of another law; one that is killed is followed by the next;
    // `kernel list` shows it, and what it left, which the next one removes; an interrupt ends one with what it counted,
    // a whole recording, and nothing left.
    if !possible() {
        return;
    }
    let gateway = Gateway::new();
    for _ in 0..5 {
        let mut running = gateway.start(&["--law", "dcp_ew"]);
        let text = said(&gateway.ended("wire", &["--law", "vcp"]));
        assert!(text.contains("device c0 has a gateway already"), "{text}");
        let at_work = gateway.listed();
        assert!(
            at_work.len() == 1 && at_work[0]["is_at_work"] == true && at_work[0]["gateway"]["law"] == "dcp_ew",
            "{at_work:?}"
        );
        running.0.kill().expect("it runs");
        running.0.wait().expect("it has ended");
        let left = gateway.listed();
        assert!(left.len() == 1 && left[0]["is_at_work"] == false, "{left:?}");
    }
    let text = said(&hosts::fadelab(Path::new("."), &["kernel", "list"]));
    assert!(text.contains("the guard of gateway's law dcp_ew at c0"), "{text}");
    let folder = tempfile::tempdir().expect("a folder");
    let calls = folder.path().join("calls").display().to_string();
    let ended = gateway.start(&["--law", "dcp_ew", "--record", &calls]).interrupted();
    assert_eq!(ended.status.code(), Some(0), "{}", said(&ended));
    assert!(gateway.listed().is_empty());
    for (words, expected) in [
        (
            &["replay", &calls][..],
            "0 packets into 192.0.2.1-198.51.100.1 and 0 out",
        ),
        (&["replay", "--watch", &calls], "a new tunnel"),
    ] {
        let output = hosts::fadelab(Path::new("."), words);
        let text = said(&output);
        assert_eq!(output.status.code(), Some(0), "{text}");
        assert!(text.contains(expected), "{text}");
    }
    let refused = hosts::fadelab(Path::new("."), &["replay", "--watch", "--flow", "1", &calls]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        said(&refused).contains("is of a gateway, whose law knows no flows"),
        "{}",
        said(&refused)
    );
}

#[test]
fn what_a_gateway_cannot_do_is_refused() {
    // Goal: a tunnel that no policy knows, a role that outer headers do not have or that is no flow's, a law that is no
    // gateway's, a value that is none, devices that are not there or given twice: each ends with status 2, with what
    // was given and what is allowed.
    if !possible() {
        return;
    }
    let gateway = Gateway::new();
    let cases: [(&str, &[&str], &str); 7] = [
        (
            "wire",
            &["--law", "cubic"],
            "no gateway's law is called cubic; known are",
        ),
        (
            "wire",
            &["--law", "dcp_ew", "--set", "code=seven"],
            "allowed is sixteen or nine",
        ),
        (
            "wire",
            &["--law", "vcp", "--tunnel", "192.0.2.9-198.51.100.1"],
            "192.0.2.9-198.51.100.1: none such is among the policies",
        ),
        ("wire", &["--law", "dcp_ew", "--role", "id"], "take --role sequence"),
        (
            "wire",
            &["--law", "dcp_ew", "--memory", "flow"],
            "give the role \"written\", over IPv4",
        ),
        ("c0", &["--law", "vcp"], "device c0 is given twice"),
        ("nope", &["--law", "vcp"], "`ip link` lists those that are there"),
    ];
    for (plain, more, expected) in cases {
        let output = gateway.ended(plain, more);
        let text = said(&output);
        assert_eq!(output.status.code(), Some(2), "{more:?}: {text}");
        assert!(text.contains(expected), "{more:?}: {text}");
    }
}

#[test]
fn what_stands_in_the_way_is_told_before() {
    // Goal: `kernel check` names each tunnel of a device's namespace, the roles with which a gateway can stand there,
    // and what stands in its way, here an operator's marks; a gateway is refused there for the same reason. Without
    // tunnels it says nothing of them.
    if !possible() {
        return;
    }
    let gateway = Gateway::new();
    let [name, other] = &gateway.0.0;
    run(&format!(
        "ip -n {name} xfrm policy add src 10.0.0.0/24 dst 10.2.0.0/24 dir out mark 0x1000000 mask 0x1000000 \
         tmpl src 192.0.2.1 dst 198.51.100.2 proto esp mode tunnel"
    ));
    let check = |device: &str| {
        let output = hosts::fadelab(Path::new("."), &["kernel", "check", "--dev", device]);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        said(&output)
    };
    let told = check(&format!("{name}:c0"));
    for expected in [
        "tunnel 192.0.2.1-198.51.100.1: a gateway can stand here, with --role sequence or written",
        "tunnel 192.0.2.1-198.51.100.2: its policies or SAs choose packets by the bits 0x1000000",
        "-> choose by lower bits",
    ] {
        assert!(told.contains(expected), "{told}");
    }
    assert!(!check(&format!("{other}:wire")).contains("ipsec"));
    let refused = gateway.ended("wire", &["--law", "vcp", "--tunnel", "192.0.2.1-198.51.100.2"]);
    let text = said(&refused);
    assert_eq!(refused.status.code(), Some(2), "{text}");
    assert!(
        text.contains("needs 0xff000000 for itself; choose by lower bits"),
        "{text}"
    );
}
