//! Kills at random moments, over links in real time, what runs on them and the programs that they start: nothing is
//! left. `make kills` does a hundred (`FADELAB_KILLS`); `FADELAB_KILLS_SEED` chooses others.

mod common;
mod hosts;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::{FADING, Scratch, has_programs};
use fadelab_phy::random::Stream;
use hosts::parent::Parent;
use hosts::{own_law, registered, said, unique};

/// Flows of every kind: of fadelab's sockets or iperf3, downloads, datagrams.
const SCENARIO: &str = r#"
[run]
duration = "20 s"
warmup = "0 s"

[topology.bottleneck]
rate = "10 Mbit/s"
delay = "18 ms"
buffer = "100 pkt"

[topology.access]
rate = "100 Mbit/s"
delay = "1 ms"

[transport]
preset = "linux"

[flow]
law = "paced"

[flow.long]
app = "greedy"

[flow.web]
app = "http"
size = "50 kB"
off = "50 ms"
count = 2

[flow.datagrams]
law = "udp"
app = "cbr"
rate = "200 kbit/s"
"#;

/// By this variable of their environment processes of a round are known, whoever started them.
const MARK: &str = "FADELAB_KILLS_MARK";

/// Longer than a run needs to be whole.
const MOMENT_MS_MAX: u64 = 2_500;

/// What is there beside a round.
#[derive(Clone, Debug, PartialEq)]
struct State {
    /// Devices, translations and a setting of the namespace.
    place: [String; 3],
    cgroups: Vec<PathBuf>,
    notes: Vec<PathBuf>,
    settings: Vec<String>,
}

impl State {
    fn now(place: &Parent) -> Self {
        let entries = |folder: &str| {
            let mut entries: Vec<PathBuf> = fs::read_dir(folder)
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| entry.path())
                .collect();
            entries.sort();
            entries
        };
        let is_note = |path: &PathBuf| path.to_string_lossy().contains("forwarding");
        let ours = |path: &PathBuf| path.to_string_lossy().contains("fadelab");
        let of_table = |table: &str| {
            let folder = Path::new("/proc/sys").join(table);
            let files = entries(&folder.to_string_lossy()).into_iter();
            files.filter_map(|path| Some(format!("{} {}", path.display(), fs::read_to_string(&path).ok()?)))
        };
        Self {
            place: place.state(),
            cgroups: entries("/sys/fs/cgroup").into_iter().filter(ours).collect(),
            notes: entries("/run/fadelab").into_iter().filter(is_note).collect(),
            settings: ["net/core", "net/ipv4/conf/all", "vm"]
                .into_iter()
                .flat_map(of_table)
                .collect(),
        }
    }
}

/// Processes of a round: numbers and names.
fn marked(mark: &str) -> Vec<(u32, String)> {
    let word = format!("{MARK}={mark}");
    let entries = fs::read_dir("/proc").expect("it is mounted").flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_marked = |number: &u32| {
        let words = fs::read(format!("/proc/{number}/environ")).unwrap_or_default();
        words.split(|byte| *byte == 0).any(|found| found == word.as_bytes())
    };
    let named = |number: u32| Some((number, fs::read_to_string(format!("/proc/{number}/comm")).ok()?));
    let name = |(number, name): (u32, String)| (number, name.trim().to_owned());
    numbers.filter(is_marked).filter_map(named).map(name).collect()
}

/// Names of a law, those of runs and of shells, that the kernel knows or that are noted as loaded or as going.
fn names_of(law: &str) -> Vec<String> {
    let letters: String = law.chars().take(5).collect();
    let noted = ["senders", "left"].map(|folder| fs::read_dir(Path::new("/run/fadelab").join(folder)));
    let noted = noted.into_iter().flatten().flatten().flatten();
    let noted: Vec<String> = noted
        .map(|note| note.file_name().to_string_lossy().into_owned())
        .collect();
    let of_kind = |kind: &str| {
        let begins = format!("{kind}{letters}");
        let noted = noted.iter().filter(|name| name.starts_with(&begins)).cloned();
        registered(&begins).into_iter().chain(noted).collect::<Vec<_>>()
    };
    ["fade_", "fa_"].into_iter().flat_map(of_kind).collect()
}

/// One of the things that can be killed.
fn victim(place: &Parent, scratch: &Scratch, law: &str, kind: u64, mark: &str) -> Child {
    let set = format!("flow.law={law}");
    let header = format!("./{law}.h");
    let words: Vec<&str> = match kind {
        0 => vec![
            "emulate",
            "--rate",
            "10 Mbit/s",
            "--router",
            "vcp",
            "--law",
            &header,
            "--",
        ],
        1 => vec![
            "emulate",
            "--rate",
            "10 Mbit/s",
            "--fading",
            "2x1,12dB",
            "--code",
            "0.93,0.5",
            "--",
        ],
        2 => vec![
            "testbed", "run", "net.toml", "--ground", "live", "--out", mark, "--law", &header,
        ],
        _ => vec![
            "testbed", "run", "net.toml", "--ground", "live", "--iperf3", "--out", mark, "--law", &header,
        ],
    };
    let mut command = place.command(&[&[env!("CARGO_BIN_EXE_fadelab")], &words[..]].concat());
    command.current_dir(&scratch.0);
    if kind < 2 {
        let fadelab = env!("CARGO_BIN_EXE_fadelab");
        let inner = format!(
            "{fadelab} emulate -q --rate '20 Mbit/s' -- sh -c 'iperf3 -s & sleep 0.2; iperf3 -c 127.0.0.1 -t 20'"
        );
        command.args(["sh", "-c", &inner]);
    } else {
        command.args(["--set", &set]);
    }
    command
        .env(MARK, mark)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts")
}

/// Waits until what is there is what was there before.
fn nothing_is_left<T: PartialEq + std::fmt::Debug>(what: &str, now: impl Fn() -> T, before: &T) {
    for _ in 0..500 {
        if now() == *before {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(now(), *before, "{what}");
}

/// A number of the environment.
fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().expect("a number"))
}

#[test]
fn nothing_is_left_after_kills_at_random_moments() {
    // Goal: shells in shells and runs on this machine, with laws, routers, iperf3, curl and nginx, are killed at random
    // moments, they or one of the programs that they started: no process, law, device, group or note of theirs is left
    // soon, and settings are as before; where a program of a run was killed, the run ends by itself and says which.
    if !hosts::possible() || !Path::new("/dev/net/tun").exists() || !has_programs(&["curl", "nginx"]) {
        return;
    }
    let scratch = Scratch::new();
    scratch.write("net.toml", format!("{SCENARIO}{FADING}"));
    let law = own_law(&scratch.0, "k");
    let seed = number("FADELAB_KILLS_SEED", 1);
    let mut random = Stream::new(seed, "kills");
    let place = Parent::new();
    let before = State::now(&place);
    let (mut whole, mut told) = (0, 0);
    for round in 0..number("FADELAB_KILLS", 12) {
        let mark = unique("m");
        let kind = round % 4;
        let mut running = victim(&place, &scratch, &law, kind, &mark);
        std::thread::sleep(Duration::from_millis(random.between(0, MOMENT_MS_MAX)));
        let others = marked(&mark).into_iter().filter(|(number, _)| *number != running.id());
        let programs: Vec<_> = others
            .filter(|(_, name)| ["curl", "nginx", "iperf3"].contains(&&**name))
            .collect();
        whole += usize::from(!programs.is_empty());
        let meets_program = random.between(0, 2) == 0 && kind >= 2 && !programs.is_empty();
        if meets_program {
            let (number, name) = &programs[random.between(0, programs.len() as u64) as usize];
            let status = Command::new("kill").args(["-9", &number.to_string()]).status();
            // One that had ended meanwhile is nobody's fault.
            if !status.is_ok_and(|status| status.success()) {
                let _ = running.kill();
            }
            let output = running.wait_with_output().expect("it ends");
            let text = said(&output);
            assert!(!output.status.success(), "round {round}: {text}");
            told += usize::from(text.contains(&format!("{name} ended too early")));
        } else {
            running.kill().expect("it runs");
            running.wait().expect("it ends");
        }
        let what = format!("round {round} of seed {seed}, kind {kind}");
        nothing_is_left(
            &what,
            || (marked(&mark), names_of(&law), State::now(&place)),
            &(Vec::new(), Vec::new(), before.clone()),
        );
    }
    println!("{whole} rounds had programs when they were killed; {told} runs told which of theirs was");
}
