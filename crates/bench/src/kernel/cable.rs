//! Two hosts on this machine and what a transfer between them reaches.

use std::collections::BTreeSet;
use std::process::Child;
use std::thread::sleep;
use std::time::Duration;

use crate::measure;

/// Of either socket's buffer. With a larger window and segments that leave one by one, the kernel's limit of what waits
/// below a socket (`tcp_small_queue_check`) wakes the sender for each of them now and then, which takes longer than the
/// segment does.
const WINDOW: &str = "256K";

/// Two namespaces joined by a cable, 10.78.0.1 and 10.78.0.2, with a server in the second. What arrives at either is
/// the work of one processor: with two backlogs segments overtake each other, and what that costs is no price of a law.
pub struct Cable {
    pub near: String,
    pub far: String,
    processors: [u32; 2],
    server: Option<Child>,
    /// Processes that keep the processors awake.
    awake: Vec<Child>,
}

/// Who works at the near end and who at the far one.
pub const TWO_PROCESSORS: [u32; 2] = [0, 1];
/// Nobody is woken on another processor then: the interrupt for it, which on a virtual machine costs more than all
/// that a law does with a packet, depends on whether the other end has just fallen asleep.
pub const ONE_PROCESSOR: [u32; 2] = [0, 0];

impl Cable {
    /// # Errors
    /// In words: no root, no iperf3, or a kernel without one of these.
    pub fn new(processors: [u32; 2]) -> Result<Self, String> {
        let id = format!("{}x{}", std::process::id(), processors[1]);
        let mut cable = Self {
            near: format!("flbn{id}"),
            far: format!("flbf{id}"),
            processors,
            server: None,
            awake: Vec::new(),
        };
        let (near, far) = (cable.near.clone(), cable.far.clone());
        ip(&format!("netns add {near}"))?;
        ip(&format!("netns add {far}"))?;
        ip(&format!("link add {near} type veth peer name {far}"))?;
        for (name, host, processor) in [(&near, 1, processors[0]), (&far, 2, processors[1])] {
            steer(name, processor)?;
            ip(&format!("link set {name} netns {name} name wire"))?;
            ip_in(name, &format!("addr add 10.78.0.{host}/24 dev wire"))?;
            ip_in(name, "link set lo up")?;
            ip_in(name, "link set wire up")?;
        }
        for processor in BTreeSet::from(processors) {
            cable.awake.push(keep_awake(processor)?);
        }
        let [enter, space] = entering(&far);
        cable.server = Some(measure::start(&[&enter, &space, "iperf3", "-s"])?);
        sleep(Duration::from_millis(500));
        Ok(cable)
    }

    /// Most segments that the devices take as one packet.
    pub fn offload(&self, segments: u32) -> Result<(), String> {
        for name in [&self.near, &self.far] {
            ip_in(name, &format!("link set wire gso_max_segs {segments}"))?;
        }
        Ok(())
    }

    /// What a transfer under a congestion control reaches. Each of its ends is on the processor of what arrives there.
    pub fn gbit_per_s(&self, control: &str, seconds: u32) -> Result<f64, String> {
        let seconds = seconds.to_string();
        let [near, far] = self.processors;
        let processors = format!("{near},{far}");
        let client = [
            "iperf3",
            "-J",
            "-c",
            "10.78.0.2",
            "-t",
            &seconds,
            "-w",
            WINDOW,
            "-A",
            &processors,
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
        for child in self.server.iter_mut().chain(&mut self.awake) {
            let _ = child.kill();
            let _ = child.wait();
        }
        for name in [&self.near, &self.far] {
            let _ = ip(&format!("netns del {name}"));
            // Where it did not get as far as into its namespace.
            let _ = ip(&format!("link del {name}"));
        }
    }
}

/// A process that takes what time nobody else wants of a processor. Without it a processor sleeps between two packets
/// when its end of the cable is the faster one, and on a virtual machine waking it takes the host, which costs more
/// than all that a law does with a packet: a throughput then says whether the other end had just fallen asleep.
fn keep_awake(processor: u32) -> Result<Child, String> {
    let processor = processor.to_string();
    let spin = ["sh", "-c", "while :; do :; done"];
    let idle = ["chrt", "--idle", "0", "taskset", "--cpu-list", &processor];
    measure::start(&[&idle[..], &spin].concat())
}

/// What arrives at a device is the work of `processor`. Its files are seen from where it was made.
fn steer(device: &str, processor: u32) -> Result<(), String> {
    let path = format!("/sys/class/net/{device}/queues/rx-0/rps_cpus");
    let mask = format!("{:x}", 1 << processor);
    std::fs::write(&path, mask).map_err(|error| format!("cannot choose who receives ({path}): {error}"))
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
