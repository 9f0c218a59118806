//! `fadelab kernel run`: what a file names is kept in the kernel, whatever comes and goes meanwhile.

mod common;
mod hosts;

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use common::Scratch;
use hosts::{Hosts, Running, fadelab, heard, metrics, possible, run, said, sample, unique, until};

/// Longer than anything here takes, on a machine that others use too.
const PATIENCE: Duration = Duration::from_secs(60);

/// A service with a file of its own and a manager that listens to it.
struct Service {
    scratch: Scratch,
    manager: UnixDatagram,
    law: String,
    device: String,
}

impl Service {
    /// For the first of two hosts.
    fn new(hosts: &Hosts) -> Self {
        // The router's own, of the rate that the file says, comes in its place.
        run(&format!("tc -n {} qdisc del dev wire root", hosts.0[0]));
        let scratch = Scratch::new();
        let manager = UnixDatagram::bind(scratch.0.join("notify")).expect("a socket");
        manager.set_read_timeout(Some(Duration::from_secs(60))).expect("a time");
        Self {
            scratch,
            manager,
            law: unique("fls"),
            device: format!("{}:wire", hosts.0[0]),
        }
    }

    /// The file: VCP for sockets and a router of it, and what else is asked for.
    fn write(&self, rate: &str, more: &str) {
        let Self { law, device, .. } = self;
        let text = format!(
            "[[law]]\nlaw = \"vcp\"\nname = \"{law}\"\ndevices = [\"{device}\"]\n\n\
             [[router]]\ndevice = \"{device}\"\nlaw = \"vcp\"\nrate = \"{rate}\"\n\n\
             {more}\n[metrics]\nsocket = \"{}\"\n",
            self.scratch.0.join("metrics").display()
        );
        fs::write(self.scratch.0.join("kernel.toml"), text).expect("a file");
    }

    /// Starts it and waits until it says that it is ready.
    fn start(&self) -> Running {
        let mut command = hosts::command(&self.scratch.0, &["kernel", "run", "kernel.toml"]);
        command
            .env("NOTIFY_SOCKET", self.scratch.0.join("notify"))
            .env("WATCHDOG_USEC", "200000");
        let running = Running::start(command);
        self.hears("READY=1");
        running
    }

    /// Waits until the manager hears of something; gives the whole message.
    fn hears(&self, word: &str) -> String {
        let (mut buffer, since) = ([0; 1024], Instant::now());
        loop {
            assert!(since.elapsed() < PATIENCE, "the manager never hears {word}");
            let bytes = heard(&self.manager, &mut buffer).unwrap_or_else(|error| panic!("{word}: {error}"));
            let text = String::from_utf8_lossy(&buffer[..bytes]).into_owned();
            if text.contains(word) {
                return text;
            }
        }
    }

    /// What it counted, by HTTP.
    fn metrics(&self) -> String {
        metrics(&self.scratch.0.join("metrics"))
    }

    /// A sample by its name and the beginning of its labels.
    fn sample(&self, begins: &str) -> Option<f64> {
        sample(&self.metrics(), begins)
    }

    fn is_loaded(&self) -> bool {
        listed().contains(&format!("{}  law vcp, sockets of", self.law))
    }
}

/// Whether a service keeps a device at the edge of a domain.
fn closes_something(service: &Running) -> bool {
    let folders = fs::read_dir("/run/fadelab/edges").into_iter().flatten().flatten();
    let its = folders.map(|folder| folder.path()).filter(|folder| {
        let pid = format!("-{}-", service.0.id());
        folder.to_string_lossy().contains(&pid)
    });
    let mut links = its.flat_map(|folder| fs::read_dir(folder.join("bpf")).into_iter().flatten().flatten());
    links.any(|link| link.file_name().to_string_lossy().starts_with("edge-"))
}

/// Two hosts, the first with a device that leads elsewhere.
fn with_another_device() -> Hosts {
    let hosts = Hosts::new();
    run(&format!("ip -n {} link add side type veth peer name aside", hosts.0[0]));
    hosts
}

fn kernel(arguments: &[&str]) -> Output {
    fadelab(Path::new("."), &[&["kernel"], arguments].concat())
}

fn listed() -> String {
    said(&kernel(&["list"]))
}

fn signal(running: &Running, signal: &str) {
    run(&format!("kill -{signal} {}", running.0.id()));
}

#[test]
fn a_service_keeps_what_its_file_says() {
    // Goal: law and router are there when it says that it is ready, its counters are those of the traffic, it goes on
    // saying that it lives; a file that is read anew changes what is different there, a broken one nothing; at its end
    // the law has gone and the domain is closed still, until the next one has taken it over.
    if !possible() {
        return;
    }
    let hosts = with_another_device();
    let name = &hosts.0[0];
    let service = Service::new(&hosts);
    service.write("10 Mbit/s", "inside = [\"side\"]\n");
    let running = service.start();
    assert!(
        service.is_loaded() && listed().contains("marks may leave by wire, side"),
        "{}",
        listed()
    );
    hosts.transfer(&service.law);
    let labels = format!("{{device=\"{}\",law=\"vcp\"", service.device);
    let packets = service.sample(&format!("fadelab_router_own_packets_total{labels}"));
    // A second at 10 Mbit/s; a link of 20 would have brought twice that.
    assert!(
        packets.is_some_and(|packets| (200.0..1200.0).contains(&packets)),
        "{}",
        service.metrics()
    );
    assert_eq!(service.sample(&format!("fadelab_router_up{labels}")), Some(1.0));
    service.hears("WATCHDOG=1");

    service.write("15 Mbit/s", "");
    signal(&running, "HUP");
    service.hears("RELOADING=1");
    service.hears("READY=1");
    let disciplines = run(&format!("tc -n {name} qdisc show"));
    assert!(!disciplines.contains("10Mbit") && service.is_loaded(), "{disciplines}");
    assert_eq!(
        service.sample("fadelab_router_capacity_bytes_per_second"),
        Some(15e6 / 8.0)
    );

    service.write("15 parsecs", "");
    signal(&running, "HUP");
    service.hears("READY=1");
    assert_eq!(service.sample(&format!("fadelab_router_up{labels}")), Some(1.0));

    signal(&running, "TERM");
    service.hears("STOPPING=1");
    let output = running.finished();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("15 parsecs"), "{}", said(&output));
    let left = format!("the edges of router law vcp at wire in namespace {name}, left closed");
    assert!(!service.is_loaded() && !service.scratch.0.join("metrics").exists());
    assert!(listed().contains(&left) || !edges_stay(), "{}", listed());
    service.write("10 Mbit/s", "");
    let next = service.start();
    assert!(!listed().contains(&left) && service.is_loaded(), "{}", listed());
    signal(&next, "TERM");
    assert_eq!(next.finished().status.code(), Some(0));
}

/// Before Linux 6.6 edges are filters, which go with the process that ends in order.
fn edges_stay() -> bool {
    use fadelab_kernel::Version;
    Version::running().is_some_and(|version| version >= Version::LINKS)
}

#[test]
fn a_service_waits_for_devices_and_takes_them_up_again() {
    // Goal: a router at a device that is not there does not keep the rest from its work; it begins when the device
    // comes, and again when that went and came back, and a law marks at a device that came back; the domain is closed
    // all the time.
    if !possible() {
        return;
    }
    let hosts = with_another_device();
    let [name, other] = &hosts.0;
    let service = Service::new(&hosts);
    let late = format!("[[router]]\ndevice = \"{name}:late\"\nlaw = \"vcp\"\nrate = \"5 Mbit/s\"\n");
    service.write("10 Mbit/s", &late);
    let running = service.start();
    let up = |device: &str| service.sample(&format!("fadelab_router_up{{device=\"{name}:{device}\""));
    assert_eq!((up("wire"), up("late")), (Some(1.0), Some(0.0)));
    for _ in 0..2 {
        run(&format!("ip -n {name} link add late type veth peer name later"));
        run(&format!("ip -n {name} link set late up"));
        until("the router begins", || up("late") == Some(1.0));
        run(&format!("ip -n {name} link del late"));
        until("the router ends", || up("late") == Some(0.0));
    }
    run(&format!("ip -n {name} link del wire"));
    let lost = || service.sample("fadelab_law_lost_devices");
    until("the law has lost its device", || {
        lost() == Some(1.0) && up("wire") == Some(0.0)
    });
    assert!(
        closes_something(&running) || !edges_stay(),
        "no router, and an open domain"
    );
    // Longer than it takes the service to look for the device some times.
    std::thread::sleep(Duration::from_secs(1));
    assert!(service.is_loaded(), "sockets lose a law for a device that went");
    run(&format!(
        "ip link add wire netns {name} type veth peer name wire netns {other}"
    ));
    run(&format!("ip -n {name} link set wire up"));
    until("the law has it again", || {
        lost() == Some(0.0) && up("wire") == Some(1.0)
    });
    signal(&running, "INT");
    let output = running.finished();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let told = said(&output).matches("late: device late: No such device").count();
    assert_eq!(told, 1, "what is missed still is told once: {}", said(&output));
}

#[test]
fn a_service_keeps_gateways_and_routers_of_their_tunnels() {
    // Goal: a gateway begins when its device and its tunnel are there, and again when the device came back; a router at
    // the same device is told of the tunnel; counters name it; at the end the guard stays until the next start.
    if !possible() {
        return;
    }
    if !edges_stay() {
        eprintln!("skipped: a gateway needs Linux 6.6");
        return;
    }
    let hosts = Hosts::new();
    let name = &hosts.0[0];
    let service = Service::new(&hosts);
    let tunnel = "192.0.2.1-198.51.100.1";
    let more = format!(
        "[[router]]\ndevice = \"{name}:c0\"\nlaw = \"dcp_ew\"\nrate = \"5 Mbit/s\"\ntunnels = [\"{tunnel}\"]\n\
         [[gateway]]\nplain = [\"{name}:wire\"]\ncipher = \"{name}:c0\"\nlaw = \"dcp_ew\"\n"
    );
    service.write("10 Mbit/s", &more);
    let planned = said(&fadelab(
        &service.scratch.0,
        &["kernel", "run", "kernel.toml", "--dry-run"],
    ));
    let expected = format!("would wait for c0, then put gateway's law dcp_ew between {name}:wire and {name}:c0");
    assert!(planned.contains(&expected), "{planned}");
    let running = service.start();
    let up = || service.sample(&format!("fadelab_gateway_up{{device=\"{name}:c0\""));
    let make_device = || {
        run(&format!("ip -n {name} link add c0 type veth peer name c1"));
        run(&format!("ip -n {name} link set c0 up"));
    };
    make_device();
    let routed = format!("fadelab_router_up{{device=\"{name}:c0\"");
    until("the router begins", || service.sample(&routed) == Some(1.0));
    assert_eq!(up(), Some(0.0), "there is no tunnel");
    run(&format!(
        "ip -n {name} xfrm policy add src 10.0.0.0/24 dst 10.1.0.0/24 dir out \
         tmpl src 192.0.2.1 dst 198.51.100.1 proto esp mode tunnel"
    ));
    until("the gateway begins", || up() == Some(1.0));
    let entered = format!("fadelab_gateway_entered_total{{device=\"{name}:c0\",law=\"dcp_ew\",tunnel=\"{tunnel}\"");
    assert_eq!(service.sample(&entered), Some(0.0), "{}", service.metrics());
    run(&format!("ip -n {name} link del c0"));
    until("the gateway ends", || up() == Some(0.0));
    make_device();
    until("it begins again", || up() == Some(1.0));
    assert!(listed().contains(&format!("tunnels {tunnel}")), "{}", listed());
    signal(&running, "TERM");
    let output = running.finished();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let left = format!("the guard of gateway's law dcp_ew at c0 in namespace {name}");
    assert!(listed().contains(&left), "{}", listed());
    let next = service.start();
    assert!(up() == Some(1.0) && !listed().contains(&left), "{}", listed());
    signal(&next, "TERM");
    assert_eq!(next.finished().status.code(), Some(0));
}

#[test]
fn a_killed_service_is_followed_by_the_next() {
    // Goal: what a killed one kept is listed as such, and the next one removes it, says so and begins.
    if !possible() {
        return;
    }
    let hosts = Hosts::new();
    let service = Service::new(&hosts);
    service.write("10 Mbit/s", "");
    let killed = service.start();
    signal(&killed, "KILL");
    assert_eq!(killed.finished().status.code(), None);
    assert!(listed().contains("kept by a service that was killed"), "{}", listed());
    let next = service.start();
    assert!(
        service.is_loaded() && !listed().contains("that was killed"),
        "{}",
        listed()
    );
    signal(&next, "TERM");
    let output = next.finished();
    let removed = format!("removed {}, which a killed service had kept", service.law);
    assert!(said(&output).contains(&removed), "{}", said(&output));
    assert!(!service.is_loaded(), "{}", listed());
}

#[test]
fn a_dry_run_says_what_would_be_done_and_does_nothing() {
    // Goal: laws, routers and edges are told, with what would be waited for, and nothing is in the kernel then.
    if !possible() {
        return;
    }
    let hosts = with_another_device();
    let name = &hosts.0[0];
    let service = Service::new(&hosts);
    let late = format!("[[router]]\ndevice = \"{name}:late\"\nlaw = \"red\"\nrate = \"5 Mbit/s\"\n");
    service.write("10 Mbit/s", &late);
    let before = run(&format!("tc -n {name} qdisc show"));
    let output = fadelab(&service.scratch.0, &["kernel", "run", "kernel.toml", "--dry-run"]);
    let text = said(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    for part in [
        format!("would load law vcp as {}; marks leave by {name}:wire", service.law),
        format!("would put router law vcp at {name}:wire"),
        "of 10.00 Mbit/s that holds 250.0 kB".to_owned(),
        "would wait for late, then put router law red".to_owned(),
        format!("would clear marks from what leaves namespace {name} by aside, side; they may leave by late, wire"),
    ] {
        assert!(text.contains(&part), "`{part}` is not in {text}");
    }
    assert!(
        !service.is_loaded() && !listed().contains(name.as_str()),
        "{}",
        listed()
    );
    assert_eq!(run(&format!("tc -n {name} qdisc show")), before);
}

#[test]
fn a_file_that_cannot_be_is_refused_with_its_name() {
    // Goal: what is wrong is told with the file, the key and what is allowed, status 2 and nothing in the kernel, also
    // where it is found when a part has begun.
    if !possible() {
        return;
    }
    let scratch = Scratch::new();
    for (text, expected) in [
        ("", "neither a [[law]] nor a [[router]] nor a [[gateway]]"),
        (
            "[[law]]\nlaw = \"vcp\"\ndevice = [\"lo\"]\n",
            "unknown field `device`, expected one of `law`, `devices`",
        ),
        ("[[law]]\ndevices = [\"lo\"]\n", "missing field `law`"),
        (
            "[[law]]\nlaw = \"nope\"\n",
            "kernel.toml: law nope: no sender's law is called nope",
        ),
        (
            "[[router]]\ndevice = \"lo\"\nlaw = \"vcp\"\n",
            "for example --rate 10mbit",
        ),
        ("[[router]]\ndevice = \"lo\"\nlaw = \"vcp\"\nrate = \"ten\"\n", "ten"),
        (
            "[[law]]\nlaw = \"reno\"\n[metrics]\nsocket = \"/nonexistent/m\"\n",
            "metrics.socket = /nonexistent/m",
        ),
        ("[[law]\n", "kernel.toml: TOML parse error at line 1"),
        (
            "[[gateway]]\nplain = [\"a\"]\ncipher = \"b\"\nlaw = \"vcp\"\ntunnels = [\"192.0.2.1\"]\n",
            "192.0.2.1: allowed are two addresses of one version",
        ),
        (
            "[[gateway]]\nplain = [\"a\"]\ncipher = \"b\"\nlaw = \"cubic\"\n",
            "gateway cubic at b: --law cubic: no gateway's law is called cubic; known are",
        ),
    ] {
        fs::write(scratch.0.join("kernel.toml"), text).expect("a file");
        let output = fadelab(&scratch.0, &["kernel", "run", "kernel.toml"]);
        assert_eq!(output.status.code(), Some(2), "{text}: {}", said(&output));
        assert!(said(&output).contains(expected), "{text}: {}", said(&output));
    }
    // What began before the fault was found is undone, its edges too.
    let hosts = with_another_device();
    let service = Service::new(&hosts);
    let twice = format!(
        "[[router]]\ndevice = \"{}\"\nlaw = \"red\"\nrate = \"5 Mbit/s\"\n",
        service.device
    );
    service.write("10 Mbit/s", &twice);
    let output = fadelab(&service.scratch.0, &["kernel", "run", "kernel.toml"]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("has a router already"), "{}", said(&output));
    assert!(!service.is_loaded() && !listed().contains(&hosts.0[0]), "{}", listed());
    let output = fadelab(&scratch.0, &["kernel", "run", "nowhere.toml"]);
    assert!(
        said(&output).contains("nowhere.toml: No such file"),
        "{}",
        said(&output)
    );
}

#[test]
fn the_unit_is_one_that_systemd_takes() {
    // Goal: `systemd-analyze verify` has nothing to say of the unit as it is installed, and has where a word is wrong.
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        eprintln!("skipped: there is no systemd-analyze");
        return;
    }
    let scratch = Scratch::new();
    let unit = include_str!("../../../service/fadelab.service");
    let binary = scratch.0.join("bin");
    fs::create_dir(&binary).expect("a folder");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_fadelab"), binary.join("fadelab")).expect("a link");
    let verified = |text: &str| {
        let file = scratch.0.join("fadelab.service");
        fs::write(&file, text.replace("@PREFIX@", &scratch.0.to_string_lossy())).expect("a file");
        let mut command = Command::new("systemd-analyze");
        said(
            &command
                .args(["verify", "--man=no"])
                .arg(file)
                .output()
                .expect("it runs"),
        )
    };
    let of_ours = |text: String| text.lines().filter(|line| line.contains("fadelab")).count();
    assert_eq!(of_ours(verified(unit)), 0, "{}", verified(unit));
    assert!(of_ours(verified(&unit.replace("Type=notify", "Type=notfy"))) > 0);
}
