//! What laws cost in the kernel: throughput over a cable that nobody slows down, beside the kernel's own CUBIC.

use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use Congestion::{Law, Own, Path};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::measure::{self, median};
use crate::row::{Bound, Row, Section};
use crate::simulators::Bench;

const TRANSFER_S: u32 = 3;

/// Two namespaces joined by a cable, 10.78.0.1 and 10.78.0.2, with a server in the second.
struct Cable {
    near: String,
    far: String,
    server: Option<Child>,
}

impl Cable {
    fn new() -> Result<Self, String> {
        let id = std::process::id();
        let mut cable = Self {
            near: format!("flbn{id}"),
            far: format!("flbf{id}"),
            server: None,
        };
        let (near, far) = (cable.near.clone(), cable.far.clone());
        ip(&format!("netns add {near}"))?;
        ip(&format!("netns add {far}"))?;
        ip(&format!(
            "link add wire netns {near} type veth peer name wire netns {far}"
        ))?;
        for (name, host) in [(&near, 1), (&far, 2)] {
            ip_in(name, &format!("addr add 10.78.0.{host}/24 dev wire"))?;
            ip_in(name, "link set lo up")?;
            ip_in(name, "link set wire up")?;
        }
        let [enter, space] = entering(&far);
        cable.server = Some(start(&[&enter, &space, "iperf3", "-s"])?);
        sleep(Duration::from_millis(500));
        Ok(cable)
    }

    /// Most segments that the devices take as one packet.
    fn offload(&self, segments: u32) -> Result<(), String> {
        for name in [&self.near, &self.far] {
            ip_in(name, &format!("link set wire gso_max_segs {segments}"))?;
        }
        Ok(())
    }

    /// What a transfer under a congestion control reaches. Its two ends stay on a processor each: one that moves lets
    /// packets overtake each other, which costs more than any law.
    fn gbit_per_s(&self, control: &str) -> Result<f64, String> {
        let seconds = TRANSFER_S.to_string();
        let client = [
            "iperf3",
            "-J",
            "-c",
            "10.78.0.2",
            "-t",
            &seconds,
            "-A",
            "0,1",
            "-C",
            control,
        ];
        let [enter, space] = entering(&self.near);
        let output = measure::run([enter.as_str(), &space].iter().chain(&client))?;
        let told: serde_json::Value =
            serde_json::from_slice(&output.stdout).map_err(|error| format!("iperf3: {error}"))?;
        let rate = told
            .pointer("/end/sum_received/bits_per_second")
            .and_then(serde_json::Value::as_f64);
        Ok(rate.ok_or("iperf3 tells no rate")? / 1e9)
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        if let Some(server) = &mut self.server {
            end(server);
        }
        for name in [&self.near, &self.far] {
            let _ = ip(&format!("netns del {name}"));
        }
    }
}

fn ip(arguments: &str) -> Result<(), String> {
    measure::run(std::iter::once("ip").chain(arguments.split(' '))).map(drop)
}

/// Words before a command in a network namespace. `ip netns exec` and `ip -n` mount a `/sys` of their own there, for
/// which `/` must be a mount point, as it is not in a chroot.
fn entering(space: &str) -> [String; 2] {
    ["nsenter".to_owned(), format!("--net=/run/netns/{space}")]
}

fn ip_in(space: &str, arguments: &str) -> Result<(), String> {
    let [enter, space] = entering(space);
    measure::run([enter.as_str(), &space, "ip"].into_iter().chain(arguments.split(' '))).map(drop)
}

fn start(words: &[&str]) -> Result<Child, String> {
    let started = Command::new(words[0])
        .args(&words[1..])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    started.map_err(|error| format!("cannot start {}: {error}", words[0]))
}

fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// The congestion control that a law becomes.
fn name_of(law: &str) -> String {
    format!("flb_{law}")
}

/// A law at both ends of the cable while this lives, and at its router.
struct Loaded<'a> {
    bench: &'a Bench,
    name: String,
    router: Option<Child>,
}

impl<'a> Loaded<'a> {
    fn new(bench: &'a Bench, cable: &Cable, law: &str, more: &[&str], with_router: bool) -> Result<Self, String> {
        let fadelab = bench.fadelab.display().to_string();
        let name = name_of(law);
        let devices = format!("{0}:wire,{1}:wire", cable.near, cable.far);
        let words = [
            fadelab.as_str(),
            "kernel",
            "load",
            law,
            "--as",
            &name,
            "--dev",
            &devices,
        ];
        measure::run(words.iter().chain(more))?;
        let mut loaded = Self {
            bench,
            name,
            router: None,
        };
        if with_router {
            let device = format!("{}:wire", cable.near);
            let words = [
                "kernel",
                "router",
                "--dev",
                &device,
                "--law",
                law,
                "--rate",
                ROUTER_RATE,
                "--no-shape",
            ];
            loaded.router = Some(start(&[&[fadelab.as_str()], &words[..]].concat())?);
            sleep(Duration::from_secs(2));
        }
        Ok(loaded)
    }
}

impl Drop for Loaded<'_> {
    fn drop(&mut self) {
        if let Some(router) = &mut self.router {
            // As by Ctrl-C, so that it takes away what it made; it ends when its device goes, too.
            let _ = kill(Pid::from_raw(router.id().cast_signed()), Signal::SIGINT);
            let _ = router.wait();
        }
        let fadelab = self.bench.fadelab.display().to_string();
        let _ = measure::run([fadelab.as_str(), "kernel", "unload", &self.name]);
    }
}

/// One side of a comparison.
#[derive(Clone, Copy)]
struct Case {
    congestion: Congestion,
    segments: u32,
}

#[derive(Clone, Copy)]
enum Congestion {
    /// The kernel's own.
    Own(&'static str),
    /// A law of fadelab's, at both ends, with parameters.
    Law(&'static str, &'static [&'static str]),
    /// The same, and at a router.
    Path(&'static str),
}

/// What routers are told that the cable carries: more than it does, so that processors decide and not the law.
const ROUTER_RATE: &str = "100gbit";

/// RFC 5681 counts ACKs in slow start, of which there are few with offload; Linux's own laws count what they
/// acknowledge.
const RENO_UNLIMITED: &[&str] = &["--set", "law.reno.limit_pkts=65535 pkt"];
const CUBIC_UNLIMITED: &[&str] = &["--set", "law.cubic.limit_pkts=65535 pkt"];

/// As many segments as a device takes when nobody limits it.
const OFFLOAD: u32 = 65535;

fn reached(bench: &Bench, cable: &Cable, case: Case) -> Result<f64, String> {
    let (_loaded, name) = match case.congestion {
        Own(name) => (None, name.to_owned()),
        Law(law, more) => (Some(Loaded::new(bench, cable, law, more, false)?), name_of(law)),
        Path(law) => (Some(Loaded::new(bench, cable, law, &[], true)?), name_of(law)),
    };
    cable.offload(case.segments)?;
    cable.gbit_per_s(&name)
}

/// What is compared with what: a name, both sides, and the bound.
fn cases() -> [(&'static str, Case, Case, Bound); 8] {
    let case = |congestion, segments| Case { congestion, segments };
    let cubic = |segments| case(Own("cubic"), segments);
    [
        (
            "reno, offload",
            case(Law("reno", RENO_UNLIMITED), OFFLOAD),
            cubic(OFFLOAD),
            Bound::AtLeast(0.95, 1.0),
        ),
        (
            "reno that counts ACKs, offload",
            case(Law("reno", &[]), OFFLOAD),
            cubic(OFFLOAD),
            Bound::None,
        ),
        (
            "the kernel's reno, offload",
            case(Own("reno"), OFFLOAD),
            cubic(OFFLOAD),
            Bound::None,
        ),
        (
            "cubic, offload",
            case(Law("cubic", CUBIC_UNLIMITED), OFFLOAD),
            cubic(OFFLOAD),
            Bound::AtLeast(0.95, 1.0),
        ),
        (
            "vcp with router, one segment",
            case(Path("vcp"), 1),
            cubic(1),
            Bound::AtLeast(0.75, 0.85),
        ),
        (
            "xcp with router, one segment",
            case(Path("xcp"), 1),
            cubic(1),
            Bound::None,
        ),
        (
            "vcp with router, offload",
            case(Path("vcp"), OFFLOAD),
            cubic(OFFLOAD),
            Bound::None,
        ),
        ("the kernel's cubic, one segment", cubic(1), cubic(OFFLOAD), Bound::None),
    ]
}

/// # Errors
/// In words: no root, a kernel that takes no laws, or a command that fails.
pub fn measure(bench: &Bench) -> Result<Section, String> {
    eprintln!("bench: laws in the kernel");
    let cable = Cable::new()?;
    let mut rows = Vec::new();
    for (name, case, other, bound) in cases() {
        let (mut ratios, mut ours, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..bench.rounds {
            let (mine, its) = (reached(bench, &cable, case)?, reached(bench, &cable, other)?);
            ratios.push(mine / its);
            ours.push(mine);
            theirs.push(its);
        }
        rows.push(Row {
            case: name.to_owned(),
            quantity: "x the kernel's cubic",
            value: median(ratios),
            digits: 2,
            bound,
            basis: format!("{:.2} against {:.2} Gbit/s", median(ours), median(theirs)),
        });
    }
    Ok(Section {
        name: "kernel",
        about: format!(
            "Throughput between two namespaces, iperf3 for {TRANSFER_S} s, in turns, median of {} rounds",
            bench.rounds
        ),
        rows,
    })
}
