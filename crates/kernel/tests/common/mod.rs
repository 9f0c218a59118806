//! Two hosts joined by a cable, each a network namespace, with a group of processes of their own.

pub mod calls;
pub mod connection;
pub mod iproute;
pub mod meddler;
pub mod offload;
pub mod own;
pub mod router;
pub mod tap;
pub mod transfer;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use fadelab_kernel::device::Device;

/// A file of the system, or none.
fn cgroup_root() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/mounts").ok()?;
    let mut mounts = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    mounts
        .find(|fields| fields.get(2) == Some(&"cgroup2"))
        .map(|fields| PathBuf::from(fields[1]))
}

/// Writes to the terminal even where libtest keeps the output of passing tests to itself: a skip must be seen.
pub fn report(line: &str) {
    writeln!(std::io::stderr(), "{line}").expect("stderr is open");
}

/// Whether this machine can run the tests; says why not where it cannot, and fails where it must.
pub fn possible(commands: &[&str]) -> bool {
    let missing = commands.iter().find(|name| {
        !["/usr/bin", "/usr/sbin", "/sbin", "/bin"]
            .iter()
            .any(|folder| Path::new(folder).join(name).exists())
    });
    let obstacle = if !is_root() {
        Some("needs root".to_owned())
    } else if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        Some("this kernel does not describe its types (BTF)".to_owned())
    } else if cgroup_root().is_none() {
        Some("no cgroup v2 is mounted".to_owned())
    } else {
        missing.map(|name| format!("there is no `{name}`"))
    };
    let Some(obstacle) = obstacle else { return true };
    assert!(
        std::env::var("FADELAB_REQUIRE_BPF").as_deref() != Ok("1"),
        "BPF is required here, but {obstacle}"
    );
    report(&format!("skipped: {obstacle}"));
    false
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|about| std::os::unix::fs::MetadataExt::uid(&about) == 0)
}

/// Runs a command and demands that it succeeds.
pub fn run(command: &str) -> String {
    let words = iproute::words(command);
    let Output { status, stdout, stderr } = Command::new(&words[0])
        .args(&words[1..])
        .output()
        .unwrap_or_else(|error| panic!("{command}: {error}"));
    assert!(status.success(), "{command}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8_lossy(&stdout).into_owned()
}

/// Whether a law is built in: the whole workspace's tests also know laws that exist to test the interface, whose
/// headers the program does not carry.
pub fn is_built_in(role: &str, law: &str) -> bool {
    let file = format!("{role}/{law}.h");
    fadelab_laws::own::headers().any(|(name, _)| name == file)
}

/// A name that no other test of this machine has.
pub fn unique(stem: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("{stem}{}x{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// A network namespace that goes with its test.
pub struct Namespace(pub String);

impl Namespace {
    pub fn new(stem: &str) -> Self {
        let name = unique(stem);
        run(&format!("ip netns add {name}"));
        Self(name)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.0]).output();
    }
}

/// Two hosts, 10.77.0.1 and 10.77.0.2 (`fd77::1` and `fd77::2`), joined by a pair of devices `wire`.
pub struct Pair {
    pub sender: String,
    pub receiver: String,
    pub cgroup: PathBuf,
}

impl Pair {
    pub fn new() -> Self {
        let pair = Self::apart();
        let Self { sender, receiver, .. } = &pair;
        run(&format!(
            "ip link add wire netns {sender} type veth peer name wire netns {receiver}"
        ));
        pair.up();
        pair
    }

    /// With a bridge between them, a namespace whose device `right` leads to the receiver and `left` to the sender.
    pub fn bridged() -> (Self, Namespace) {
        let (pair, bridge) = (Self::apart(), Namespace::new("flb"));
        let name = &bridge.0;
        run(&format!("ip -n {name} link add bridge type bridge"));
        run(&format!("ip -n {name} link set bridge up"));
        for (host, port) in [(&pair.sender, "left"), (&pair.receiver, "right")] {
            run(&format!(
                "ip link add wire netns {host} type veth peer name {port} netns {name}"
            ));
            run(&format!("ip -n {name} link set {port} master bridge up"));
        }
        pair.up();
        (pair, bridge)
    }

    /// Two hosts that nothing joins yet.
    fn apart() -> Self {
        let (sender, receiver) = (unique("fls"), unique("flr"));
        let cgroup = cgroup_root().expect("checked").join(unique("fadelab-test-"));
        fs::create_dir(&cgroup).expect("a group of processes");
        for name in [&sender, &receiver] {
            run(&format!("ip netns add {name}"));
            run(&format!("ip -n {name} link set lo up"));
        }
        Self {
            sender,
            receiver,
            cgroup,
        }
    }

    fn up(&self) {
        for (name, host) in [(&self.sender, 1), (&self.receiver, 2)] {
            run(&format!("ip -n {name} addr add 10.77.0.{host}/24 dev wire"));
            run(&format!("ip -n {name} addr add fd77::{host}/64 dev wire nodad"));
            run(&format!("ip -n {name} link set wire up"));
        }
    }

    pub fn device(&self, host: &str) -> Device {
        assert!(*host == self.sender || *host == self.receiver);
        Device {
            name: "wire".to_owned(),
            netns: Some(PathBuf::from(format!("/run/netns/{host}"))),
        }
    }

    /// A command in a namespace and in the group of processes.
    pub fn command(&self, host: &str, command: &str) -> Command {
        let mut started = Command::new("sh");
        let script = format!(
            "echo $$ > {}/cgroup.procs && exec nsenter --net=/run/netns/{host} {command}",
            self.cgroup.display()
        );
        started.args(["-c", &script]);
        started
    }

    pub fn start(&self, host: &str, command: &str) -> Running {
        let mut command = self.command(host, command);
        command.stdout(std::process::Stdio::null());
        Running(command.spawn().expect("a shell"))
    }

    pub fn output(&self, host: &str, command: &str) -> String {
        let output = self.command(host, command).output().expect("a shell");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success(),
            "{command}: {said}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        said
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        for name in [&self.sender, &self.receiver] {
            let _ = Command::new("ip").args(["netns", "del", name]).output();
        }
        for _ in 0..100 {
            if fs::remove_dir(&self.cgroup).is_ok() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

impl Pair {
    /// Makes a call with this process in the group of processes: the sockets that it makes belong to it.
    pub fn joined<T>(&self, call: impl FnOnce() -> T) -> T {
        let own = fs::read_to_string("/proc/self/cgroup").expect("the kernel tells");
        let own = own.lines().find_map(|line| line.strip_prefix("0::")).expect("checked");
        let home = cgroup_root().expect("checked").join(own.trim_start_matches('/'));
        let join = |group: &Path| fs::write(group.join("cgroup.procs"), std::process::id().to_string());
        join(&self.cgroup).expect("root may");
        let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call));
        join(&home).expect("root may");
        made.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Each packet by itself, as routers of laws with feedback on data want it.
    pub fn one_segment(&self) {
        for name in [&self.sender, &self.receiver] {
            run(&format!("ip -n {name} link set wire gso_max_segs 1"));
        }
    }
}

/// A process that ends with its test.
pub struct Running(Child);

impl Running {
    /// Whether it has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.0.try_wait().is_ok_and(|status| status.is_some())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
