//! Two hosts joined by a cable, each a network namespace of its own, and what goes between them under a law.
#![allow(dead_code, reason = "each test binary uses its part")]

#[path = "../../../kernel/tests/common/iproute.rs"]
mod iproute;
pub mod parent;

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Longer than anything here takes, on a machine that others use too.
const PATIENCE: Duration = Duration::from_secs(60);

/// The program, run in a folder.
pub fn fadelab(place: &Path, arguments: &[&str]) -> Output {
    command(place, arguments).output().expect("the binary runs")
}

/// The same before it runs.
pub fn command(place: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fadelab"));
    command.current_dir(place).args(arguments).stdin(Stdio::null());
    command
}

/// What a command printed, its messages first.
pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout)
}

/// Whether laws can be loaded here, and `iperf3` is there; says why not, and fails where they must.
pub fn possible() -> bool {
    let check = fadelab(Path::new("."), &["kernel", "check"]);
    let has_iperf3 = Command::new("iperf3").arg("--version").output().is_ok();
    if check.status.success() && has_iperf3 {
        return true;
    }
    let text = said(&check);
    assert!(
        std::env::var("FADELAB_REQUIRE_BPF").as_deref() != Ok("1"),
        "BPF is required here, but\n{text}"
    );
    eprintln!("skipped: no law can be loaded here, or there is no iperf3\n{text}");
    false
}

/// A name of a congestion control that nobody else on this machine has.
pub fn unique(stem: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!(
        "{stem}{}_{}",
        std::process::id() % 1_000_000,
        COUNT.fetch_add(1, Ordering::Relaxed)
    )
}

/// Writes a paced law of one's own into a folder, under a name that no other test has: that name.
pub fn own_law(folder: &Path, stem: &str) -> String {
    let name = unique(stem).replace('_', "");
    let paced = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/laws/paced.h");
    let text = fs::read_to_string(paced).expect("the law");
    let text = text
        .replace("paced_", &format!("{name}_"))
        .replace("\"paced\"", &format!("\"{name}\""));
    fs::write(folder.join(format!("{name}.h")), text).expect("a file");
    name
}

/// Congestion controls of this kernel whose name begins so.
pub fn registered(begins: &str) -> Vec<String> {
    let known = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").expect("a file");
    let known = known.split_whitespace().filter(|name| name.starts_with(begins));
    known.map(str::to_owned).collect()
}

/// Runs a command of iproute2 or procps and demands that it succeeds.
pub fn run(text: &str) -> String {
    let words = iproute::words(text);
    let output = Command::new(&words[0]).args(&words[1..]).output().expect("iproute2");
    assert!(output.status.success(), "{text}: {}", said(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The next message to a manager. A signal to this process is none.
pub fn heard(manager: &UnixDatagram, buffer: &mut [u8]) -> std::io::Result<usize> {
    loop {
        match manager.recv(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            heard => return heard,
        }
    }
}

/// Waits until something is so.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether the kernel knows a congestion control.
pub fn is_registered(name: &str) -> bool {
    registered(name).iter().any(|known| known == name)
}

/// What a service counted, by HTTP on its socket.
pub fn metrics(socket: &Path) -> String {
    let mut stream = UnixStream::connect(socket).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time");
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        .expect("it reads");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("it answers");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head and a body");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{head}");
    body.to_owned()
}

/// A sample of these by its name and the beginning of its labels.
pub fn sample(metrics: &str, begins: &str) -> Option<f64> {
    let line = metrics.lines().find(|line| line.starts_with(begins))?;
    line.rsplit_once(' ')?.1.parse().ok()
}

/// A process that ends with its test.
pub struct Running(pub Child);

impl Running {
    pub fn start(mut command: Command) -> Self {
        Self(
            command
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .expect("it starts"),
        )
    }

    /// Waits until it shows a line with a word; what else it shows is lost.
    pub fn shows(&mut self, word: &str) {
        let mut lines = BufReader::new(self.0.stdout.take().expect("piped")).lines();
        let found = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains(word)));
        assert!(found.is_some(), "it ended before it showed `{word}`");
        // Whoever writes to a closed pipe is stopped by it.
        std::thread::spawn(move || lines.count());
    }

    /// Asks it to end, as Ctrl-C does, and gives what it said.
    pub fn interrupted(self) -> Output {
        run(&format!("kill -INT {}", self.0.id()));
        self.finished()
    }

    /// Waits for its end.
    pub fn finished(mut self) -> Output {
        until("a process ends", || {
            self.0.try_wait().is_ok_and(|status| status.is_some())
        });
        let read = |pipe: Option<&mut dyn std::io::Read>| {
            let mut bytes = Vec::new();
            pipe.map(|pipe| pipe.read_to_end(&mut bytes));
            bytes
        };
        Output {
            status: self.0.wait().expect("ours"),
            stdout: read(self.0.stdout.as_mut().map(|pipe| pipe as _)),
            stderr: read(self.0.stderr.as_mut().map(|pipe| pipe as _)),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// 10.78.0.1 and 10.78.0.2, joined by a cable of 20 Mbit/s whose ends are called `wire`.
pub struct Hosts(pub [String; 2]);

impl Hosts {
    pub fn new() -> Self {
        let hosts = Self([unique("flha"), unique("flhb")]);
        let [one, other] = &hosts.0;
        for name in &hosts.0 {
            run(&format!("ip netns add {name}"));
            run(&format!("ip -n {name} link set lo up"));
        }
        run(&format!(
            "ip link add wire netns {one} type veth peer name wire netns {other}"
        ));
        for (name, host) in hosts.0.iter().zip(1..) {
            run(&format!("ip -n {name} addr add 10.78.0.{host}/24 dev wire"));
            run(&format!("ip -n {name} link set wire up"));
        }
        run(&format!(
            "tc -n {one} qdisc add dev wire root tbf rate 20mbit burst 5kb limit 30000"
        ));
        hosts
    }

    /// A command in the network namespace of a host, and in this process's mounts.
    pub fn command(&self, host: usize, words: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", self.0[host])).args(words);
        command
    }

    /// A second of data from the first host to the other under a congestion control.
    pub fn transfer(&self, control: &str) {
        let _server = Running::start(self.command(1, &["iperf3", "-s", "-1"]));
        let mut said_last = String::new();
        // The server takes its moment to listen.
        until("iperf3 comes to an end", || {
            let words = ["iperf3", "-c", "10.78.0.2", "-t", "1", "-C", control];
            let output = self.command(0, &words).output().expect("nsenter");
            said_last = said(&output);
            output.status.success() || !said_last.contains("Connection refused")
        });
        assert!(!said_last.contains("error"), "{control}: {said_last}");
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in &self.0 {
            let _ = Command::new("ip").args(["netns", "del", name]).output();
        }
    }
}
