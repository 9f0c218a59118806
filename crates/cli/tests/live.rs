//! `fadelab testbed run --ground live`: scenarios in this machine's kernel, in real time.

mod common;
mod hosts;

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use common::{FADING, Scratch, TWO_WAYS, column, has_programs};
use hosts::{own_law, registered, said, until};

/// Two flows over 10 Mbit/s and 40 ms.
const SCENARIO: &str = r#"
[run]
duration = "4 s"
warmup = "0 s"
seeds = 3
record = "100 ms"

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
law = "vcp"
count = 2
"#;

/// Whether the live ground is there; says why not, and fails where it must be.
fn possible() -> bool {
    hosts::possible() && {
        let there = Path::new("/dev/net/tun").exists();
        assert!(
            there || std::env::var("FADELAB_REQUIRE_BPF").as_deref() != Ok("1"),
            "TUN devices are required here"
        );
        if !there {
            eprintln!("skipped: there is no /dev/net/tun");
        }
        there
    }
}

fn scenario(text: &str) -> Scratch {
    let scratch = Scratch::new();
    fs::write(scratch.0.join("net.toml"), text).expect("a file");
    scratch
}

fn live(scratch: &Scratch, out: &str, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fadelab"));
    command.current_dir(&scratch.0);
    command.args(["testbed", "run", "net.toml", "--ground", "live", "--csv", "--out", out]);
    command.args(more).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn done(scratch: &Scratch, out: &str, more: &[&str]) -> String {
    let output: Output = live(scratch, out, more).output().expect("it starts");
    let text = said(&output);
    assert!(output.status.success(), "{text}");
    text
}

/// Settings of the machine that no run may change.
fn settings() -> Vec<String> {
    let folders = ["net/core", "vm", "kernel"].map(|name| Path::new("/proc/sys").join(name));
    let files = folders
        .iter()
        .flat_map(|folder| fs::read_dir(folder).expect("it is mounted"));
    let mut settings: Vec<String> = files
        .filter_map(|file| {
            let path = file.ok()?.path();
            let name = path.file_name()?.to_string_lossy().into_owned();
            let is_setting = !path.starts_with("/proc/sys/kernel") || name.starts_with("sched_");
            // What is in some can only be written.
            let text = fs::read_to_string(&path).ok().filter(|_| is_setting)?;
            Some(format!("{} = {text}", path.display()))
        })
        .collect();
    settings.sort();
    settings
}

#[test]
fn a_law_runs_in_this_kernel_over_links_that_fade() {
    // Goal: VCP's sender in this kernel and an emulated, coded channel deliver both ways; packets are lost about as
    // often as the channel loses them; nothing passes beyond the rate; each call of the law replays, and so does each
    // packet of each link; how late packets left is told; settings of the machine stay.
    if !possible() {
        return;
    }
    let scratch = scenario(&format!("{SCENARIO}{FADING}"));
    let before = settings();
    let recordings = ["--record", "calls.jsonl", "--record-links", "links"];
    let text = done(&scratch, "out", &recordings);
    assert_eq!(before, settings());
    assert!(
        text.contains("packets left links") && text.contains("us (99 of 100)"),
        "{text}"
    );
    let total = |name: &str| column(&scratch, "out/csv/flow_totals.csv", name);
    let (delivered, timeouts) = (total("delivered_bytes"), total("timeouts"));
    // The code corrects two bytes of a SYN's 65, so the channel loses every fifth SYN, and then the flow begins a
    // second late: how much such a flow delivers of four seconds is chance.
    let in_time = |flow: usize| timeouts[flow] < 0.5;
    assert!(
        delivered.len() == 2 && (0..2).all(|flow| delivered[flow] > 100e3 || !in_time(flow)),
        "{delivered:?} bytes, {timeouts:?} timeouts"
    );
    assert!(delivered.iter().sum::<f64>() > 50e3, "{delivered:?} bytes");
    let utilisation = column(&scratch, "out/csv/runs.csv", "utilisation")[0];
    assert!(utilisation < 1.002, "utilisation {utilisation}");
    let end = |name: &str| {
        column(&scratch, "out/csv/links.csv", name)
            .into_iter()
            .fold(0.0, f64::max)
    };
    let (sent, lost) = (end("sent_data_pkts"), end("lost_air_data_pkts"));
    // 2x1, 12 dB, 1500 bytes at 0.93: 0.0055 (`fadelab channel`).
    let expected = 0.0055 * sent;
    assert!(
        (lost - expected).abs() < 4.4 * expected.sqrt() + 1.0,
        "{lost} of {sent}"
    );
    let grounds = fs::read_to_string(scratch.0.join("out/csv/runs.csv")).expect("the table");
    assert!(grounds.contains("live"), "{grounds}");
    for file in ["calls.jsonl", "links"] {
        let replay = hosts::fadelab(&scratch.0, &["replay", file]);
        assert!(replay.status.success(), "{file}: {}", said(&replay));
    }
}

#[test]
fn settings_of_the_network_are_those_of_the_run() {
    // Goal: what a user sets in hosts holds, as the rate shows where a receiver has room for three packets, and stands
    // in the manifest; what the kernel has not is named, and what is the machine's is refused.
    if !possible() {
        return;
    }
    let scratch = scenario(SCENARIO);
    let reno = ["--set", "flow.law=reno", "--sysctl"];
    done(
        &scratch,
        "out",
        &[&reno[..], &["net.ipv4.tcp_rmem=4096 6000 6000"]].concat(),
    );
    let utilisation = column(&scratch, "out/csv/runs.csv", "utilisation")[0];
    assert!(utilisation > 0.0 && utilisation < 0.3, "utilisation {utilisation}");
    let manifest = fs::read_to_string(scratch.0.join("out/manifest.json")).expect("the manifest");
    assert!(manifest.contains("\"net.ipv4.tcp_rmem=4096 6000 6000\""), "{manifest}");
    for (setting, why) in [
        ("net.ipv4.no_such=1", "net/ipv4/no_such = 1: No such file"),
        ("vm.swappiness=1", "settings of a network namespace"),
    ] {
        let output = live(&scratch, "no", &[&reno[..], &[setting]].concat())
            .output()
            .expect("it starts");
        assert!(
            !output.status.success() && said(&output).contains(why),
            "{}",
            said(&output)
        );
    }
}

#[test]
fn parity_takes_its_share_of_the_link() {
    // Goal: a code and the law at its router are the emulator's, who alone knows the bytes on the air: of what a link
    // sends without losing anything the code's rate is payload, but for what is still under way.
    if !possible() {
        return;
    }
    let scratch = scenario(&format!("{SCENARIO}{FADING}"));
    done(
        &scratch,
        "out",
        &["--set", "channel.snr=40 dB", "--set", "flow.law=reno"],
    );
    let delivered: f64 = column(&scratch, "out/csv/flow_totals.csv", "delivered_bytes")
        .iter()
        .sum();
    let sent = column(&scratch, "out/csv/runs.csv", "sent_bytes")[0];
    let lost: f64 = column(&scratch, "out/csv/links.csv", "lost_air_pkts").iter().sum();
    // 1448 of 1500 bytes are payload, and 0.93 of what is on the air is data.
    let most = sent * 0.93 * 1448.0 / 1500.0;
    let under_way = 200.0 * 1448.0;
    assert!(lost < 0.5 && sent > 2e6, "{sent} B sent, {lost} packets lost");
    assert!(
        delivered <= most && delivered > most - under_way,
        "{delivered} of {most} B"
    );
}

#[test]
fn receivers_acknowledge_every_second_segment_here_too() {
    // Goal: the window of a receiver has no room for queues that packets only cross, here where each link is emulated:
    // it has grown within a second or two, and the rest is acknowledged as in the simulator.
    if !possible() {
        return;
    }
    let scratch = scenario(TWO_WAYS);
    done(&scratch, "out", &["--set", "run.duration=8 s"]);
    let sent = column(&scratch, "out/csv/runs.csv", "sent_pkts");
    let [there, back] = sent[..] else {
        panic!("two links: {sent:?}");
    };
    assert!((0.5..0.75).contains(&(back / there)), "{sent:?}");
}

#[test]
fn two_runs_at_once_do_not_meet() {
    // Goal: names of laws are a run's own: two processes with three runs each of one law, all at once, end well, and
    // none leaves a law, a namespace or a device behind; a law of one's own runs too, sender and all.
    if !possible() {
        return;
    }
    let scratch = scenario(&format!("{SCENARIO}{FADING}"));
    let name = own_law(&scratch.0, "l");
    let law = format!("./{name}.h");
    let set = format!("flow.law={name}");
    let own = ["--law", &law, "--set", &set, "--set", "run.duration=2 s", "--jobs", "3"];
    let runs: Vec<_> = ["one", "two"]
        .into_iter()
        .map(|out| live(&scratch, out, &own).spawn().expect("it starts"))
        .collect();
    for running in runs {
        let output = running.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{}", said(&output));
    }
    let short: String = name.chars().take(6).collect();
    assert_eq!(registered(&format!("fade_{short}")), Vec::<String>::new());
}

#[test]
fn nothing_is_left_of_a_run_that_was_killed() {
    // Goal: whenever a run is killed its law is gone, and so is whatever held it.
    if !possible() {
        return;
    }
    let scratch = scenario(&format!("{SCENARIO}{FADING}"));
    let name = own_law(&scratch.0, "l");
    let (law, set) = (format!("./{name}.h"), format!("flow.law={name}"));
    let begins = format!("fade_{}", name.chars().take(6).collect::<String>());
    // The first one compiles the law, which others find.
    let mut was_registered = 0;
    for round in 0..8_u64 {
        let out = format!("out{round}");
        let mut running = live(&scratch, &out, &["--law", &law, "--set", &set, "--quiet"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        if round % 2 == 0 {
            until("the law is there", || !registered(&begins).is_empty());
        }
        std::thread::sleep(Duration::from_millis(round * 30));
        was_registered += registered(&begins).len();
        running.kill().expect("it runs");
        running.wait().expect("it ends");
        until("nothing is left", || registered(&begins).is_empty());
    }
    assert!(was_registered > 0, "a law was there when a run was killed");
}

/// Processes in whose arguments or name a word is.
fn processes(word: &str) -> Vec<String> {
    let all = fs::read_dir("/proc").expect("it is mounted").flatten();
    let lines = all.filter_map(|entry| fs::read_to_string(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.contains(word)).collect()
}

#[test]
fn downloads_run_under_the_law_of_their_route_and_end_with_the_run() {
    // Goal: curl gets its files from nginx under a law of one's own that neither knows, for as long as the scenario
    // says of this ground; after the run, and after one that was killed in the middle of a download, there is neither
    // of the two, nor the law.
    if !possible() || !has_programs(&["curl", "nginx"]) {
        return;
    }
    let text = SCENARIO.replace(
        "law = \"vcp\"",
        "law = \"vcp\"\napp = \"http\"\nsize = \"150 kB\"\noff = \"100 ms\"",
    );
    let scratch = scenario(&format!("{text}[ground.live.run]\nduration = \"3 s\"\n"));
    let name = own_law(&scratch.0, "l");
    let (law, set) = (format!("./{name}.h"), format!("flow.law={name}"));
    let begins = format!("fade_{}", name.chars().take(6).collect::<String>());
    // The flow's path in the arguments of nginx, which names the process that started it.
    let own = |process: u32| format!("/proc/{process}/fd/");
    done(&scratch, "out", &["--law", &law, "--set", &set]);
    let bytes = column(&scratch, "out/csv/completions.csv", "bytes");
    assert!(
        bytes.len() >= 2 && bytes.iter().all(|&bytes| bytes as u64 == 150_000),
        "{bytes:?}"
    );
    assert_eq!(column(&scratch, "out/csv/runs.csv", "measured_ns"), [3e9]);
    assert_eq!(registered(&begins), Vec::<String>::new());
    let large = ["--law", &law, "--set", &set, "--set", "flow.size=100 MB", "--quiet"];
    let mut running = live(&scratch, "no", &large).spawn().expect("it starts");
    let servers = own(running.id());
    until("both downloads are under way", || {
        processes(&servers).len() == 2 && processes("10.0.1.1:5001").len() + processes("10.0.0.1:5001").len() >= 2
    });
    running.kill().expect("it runs");
    running.wait().expect("it ends");
    until("nothing is left", || {
        registered(&begins).is_empty() && processes(&servers).is_empty()
    });
}

#[test]
fn what_the_ground_lacks_is_refused() {
    // Goal: a rate beyond what an emulator carries, and a user without rights, end before anything is made, with what
    // was given and what to do.
    let scratch = scenario(&format!("{SCENARIO}{FADING}"));
    let fast = [
        "--set",
        "topology.bottleneck.rate=2 Gbit/s",
        "--set",
        "topology.access.rate=2 x bottleneck",
    ];
    let output = live(&scratch, "out", &fast).output().expect("it starts");
    let text = said(&output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(
        text.contains("2000 Mbit/s are given") && text.contains("allowed are 1000"),
        "{text}"
    );
    // In a user namespace of its own root is nobody, and its files are still its own.
    let mut nobody = Command::new("unshare");
    nobody.args(["--user", env!("CARGO_BIN_EXE_fadelab"), "testbed", "run", "net.toml"]);
    let output = nobody
        .args(["--ground", "live"])
        .current_dir(&scratch.0)
        .output()
        .expect("it starts");
    let text = said(&output);
    if text.starts_with("unshare:") {
        eprintln!("skipped: no user namespace can be made here: {text}");
        return;
    }
    assert!(!output.status.success() && text.contains("needs root"), "{text}");
}
