//! A scenario, a folder to run it in, and the program.
#![allow(dead_code, reason = "each test binary uses its part")]

pub mod guest;
pub mod ipsec;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Three laws, three seeds: nine runs.
pub const SCENARIO: &str = r#"
[run]
duration = "20 s"
warmup = "2 s"
seeds = "1..3"

[topology.bottleneck]
rate = "2 Mbit/s"
delay = "20 ms"

[channel]
antennas = "2x2"
snr = "5 dB"

[channel.code]
data = 0.9
ack = 0.5

[transport]
preset = "ns2"

[flow]
law = ["vcp", "xcp", "reno+rem"]
count = 3
start = "uniform 0 s..1 s"
"#;

/// Two transfers without an end, and datagrams against them, so that results show the link that ACKs take.
pub const TWO_WAYS: &str = r#"
[run]
duration = "20 s"
seeds = 1

[topology]
preset = "dumbbell"

[topology.bottleneck]
rate = "10 Mbit/s"
delay = "40 ms"

[topology.access]
rate = "1 Gbit/s"
delay = "1 ms"

[transport]
preset = "linux"

[flow]
law = "vcp"

[flow.main]
count = 2

[flow.datagrams]
app = "cbr"
law = "udp"
rate = "20 kbit/s"
direction = "backward"
"#;

/// A link that fades and codes: one data packet of 1500 bytes in 180 is lost behind the code.
pub const FADING: &str = r#"
[channel]
model = "gilbert-elliott"
antennas = "2x1"
snr = "12 dB"
burst_good = "800 bit"
burst_bad = "8 bit"

[channel.code]
data = 0.93
ack = 0.5
"#;

/// A column of a table, as numbers.
pub fn column(scratch: &Scratch, file: &str, name: &str) -> Vec<f64> {
    let text = fs::read_to_string(scratch.0.join(file)).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let place = lines.next().unwrap().iter().position(|head| *head == name);
    let place = place.unwrap_or_else(|| panic!("{file} has a column {name}"));
    lines.map(|cells| cells[place].parse().unwrap_or(f64::NAN)).collect()
}

/// A folder of its own for a test, gone when the test ends.
pub struct Scratch(pub PathBuf);

impl Scratch {
    /// A new folder that holds `s.toml`.
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("fadelab-cli-{}-{number}", std::process::id()));
        fs::create_dir(&path).unwrap();
        let scratch = Self(path);
        scratch.write("s.toml", SCENARIO);
        scratch
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.0.join(name), text).unwrap();
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fadelab"));
        command.args(arguments).current_dir(&self.0).stdin(Stdio::null());
        command
    }

    pub fn fadelab(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Names of everything in the folder, sorted.
    pub fn entries(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.0.join(folder)).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs the program where no file can grow, as on a full disk: a limit of the shell, whose signal is not heard.
pub fn without_room(scratch: &Scratch, arguments: &[&str]) -> Output {
    let mut command = Command::new("sh");
    command.args([
        "-c",
        "trap '' XFSZ; ulimit -f 0; exec \"$@\"",
        "sh",
        env!("CARGO_BIN_EXE_fadelab"),
    ]);
    command.args(arguments).current_dir(&scratch.0).stdin(Stdio::null());
    command.output().unwrap()
}

/// What the program prints to standard output when it does what it is asked for, in whatever folder.
pub fn printed(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_fadelab"))
        .args(arguments)
        .output()
        .unwrap();
    assert_status(&output, 0);
    stdout(&output)
}

/// What the program says when it refuses its arguments; then it prints nothing else.
pub fn refused(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_fadelab"))
        .args(arguments)
        .output()
        .unwrap();
    assert_status(&output, 2);
    assert!(output.stdout.is_empty(), "{}", stdout(&output));
    stderr(&output)
}

/// Whether these programs are here; says which is not, and fails where guests and BPF are required, which use them.
pub fn has_programs(names: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<_> = std::env::split_paths(&path).chain(["/usr/sbin".into()]).collect();
    let is_missing = |name: &&&str| !folders.iter().any(|folder| folder.join(name).is_file());
    let Some(missing) = names.iter().find(is_missing) else {
        return true;
    };
    let required =
        ["FADELAB_REQUIRE_GUEST", "FADELAB_REQUIRE_BPF"].map(|name| std::env::var(name).is_ok_and(|set| set == "1"));
    assert!(!required.contains(&true), "{missing} is required here");
    println!("skipped: there is no {missing}");
    false
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

pub fn assert_status(output: &Output, status: i32) {
    assert_eq!(
        output.status.code(),
        Some(status),
        "stdout: {}\nstderr: {}",
        stdout(output),
        stderr(output)
    );
}

/// Whether a process has a handler for SIGINT: bit 1 of the caught signals, counted from 0.
#[cfg(target_os = "linux")]
pub fn listens(process: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & 2 != 0)
}
