//! A router in the foreground, in a namespace of its test's.
#![allow(dead_code, reason = "each test binary uses its part")]

#[path = "../../../kernel/tests/common/iproute.rs"]
mod iproute;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

pub fn fadelab(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fadelab"));
    command.args(["kernel", "router"]).args(arguments);
    command
}

pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout)
}

/// Whether this machine can run a router; says why not, and fails where it must.
pub fn possible() -> bool {
    let check = Command::new(env!("CARGO_BIN_EXE_fadelab"))
        .args(["kernel", "check"])
        .output();
    let check = check.expect("the binary runs");
    if check.status.success() {
        return true;
    }
    let required = std::env::var("FADELAB_REQUIRE_BPF").as_deref() == Ok("1");
    assert!(!required, "BPF is required here, but\n{}", said(&check));
    eprintln!("skipped: no law can be loaded here\n{}", said(&check));
    false
}

pub fn run(command: &str) -> String {
    let words = iproute::words(command);
    let output = Command::new(&words[0]).args(&words[1..]).output().expect("iproute2");
    assert!(output.status.success(), "{command}: {}", said(&output));
    said(&output)
}

/// A namespace with a device to route through, `out`, and another, `side`.
pub struct Space(pub String);

impl Space {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("flk{}x{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        run(&format!("ip netns add {name}"));
        for device in ["out", "side"] {
            run(&format!(
                "ip -n {name} link add {device} type veth peer name {device}-far"
            ));
            run(&format!("ip -n {name} link set {device} up"));
            run(&format!("ip -n {name} link set {device}-far up"));
        }
        Self(name)
    }

    pub fn dev(&self, name: &str) -> String {
        format!("{}:{name}", self.0)
    }

    /// The disciplines of its devices, which is all that outlives a process there.
    pub fn disciplines(&self) -> String {
        run(&format!("tc -n {} qdisc show", self.0))
    }

    /// Notes of routers at its devices, also those that a process was killed while writing.
    pub fn notes(&self) -> Vec<String> {
        self.notes_in(|_| true)
    }

    /// Notes that have their name: a killed process may leave one that it had not finished, which tells nothing.
    pub fn finished_notes(&self) -> Vec<String> {
        self.notes_in(|file| file.extension().is_some_and(|extension| extension == "json"))
    }

    fn notes_in(&self, is_asked: impl Fn(&Path) -> bool) -> Vec<String> {
        let files = fs::read_dir("/run/fadelab").into_iter().flatten().flatten();
        let files = files.map(|file| file.path()).filter(|file| is_asked(file));
        let texts = files.filter_map(|file| fs::read_to_string(file).ok());
        texts.filter(|text| text.contains(&self.0)).collect()
    }

    pub fn start(&self, device: &str, more: &[&str]) -> Running {
        let dev = self.dev(device);
        let arguments = [&["--dev", &dev, "--law", "vcp", "--rate", "10mbit"], more].concat();
        let mut command = fadelab(&arguments);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        Running(child.expect("the binary runs"))
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.0]).output();
    }
}

/// A router in the foreground, killed with its test.
pub struct Running(pub Child);

impl Running {
    /// Waits until it shows something: then all is in place.
    pub fn is_up(&mut self) {
        let mut line = String::new();
        let stdout = self.0.stdout.take().expect("piped");
        let mut lines = BufReader::new(stdout);
        lines.read_line(&mut line).expect("text");
        assert!(line.contains("load"), "{line}{}", self.complaint());
        // Whoever writes to a closed pipe is stopped by it.
        std::thread::spawn(move || lines.read_to_string(&mut String::new()));
    }

    pub fn signal(&self, signal: &str) {
        // The child has not been waited for, so that its number is its own.
        let status = Command::new("sh")
            .args(["-c", &format!("kill -{signal} {}", self.0.id())])
            .status();
        assert!(status.expect("a shell").success());
    }

    pub fn complaint(&mut self) -> String {
        let mut text = String::new();
        self.0
            .stderr
            .take()
            .expect("piped")
            .read_to_string(&mut text)
            .expect("text");
        text
    }

    pub fn end(mut self) -> (Option<i32>, String) {
        let code = self.0.wait().expect("a child").code();
        let text = self.complaint();
        (code, text)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What `fadelab kernel list` prints.
pub fn listed() -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_fadelab"))
        .args(["kernel", "list"])
        .output();
    said(&output.expect("the binary runs"))
}
