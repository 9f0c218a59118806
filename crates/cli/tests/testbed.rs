//! `fadelab testbed`: what a guest measures, that it does so twice alike, what is refused, what faults leave behind.

#[path = "testbed/applications.rs"]
mod applications;
#[path = "testbed/clock.rs"]
mod clock;
mod common;
#[path = "testbed/emulated.rs"]
mod emulated;
#[path = "testbed/http.rs"]
mod http;
#[path = "testbed/memory.rs"]
mod memory;
#[path = "testbed/small.rs"]
mod small;
#[path = "testbed/snapshot.rs"]
mod snapshot;
#[path = "testbed/tunnels.rs"]
mod tunnels;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use common::guest::possible;
use common::{Scratch, column};

/// Two flows over 10 Mbit/s and 44 ms, whose queue holds 60 packets.
const SCENARIO: &str = r#"
[run]
duration = "4 s"
warmup = "1 s"
seeds = 3
record = "100 ms"

[topology.bottleneck]
rate = "10 Mbit/s"
delay = "20 ms"
buffer = "60 pkt"

[topology.access]
rate = "100 Mbit/s"
delay = "1 ms"

[transport]
preset = "linux"

[flow]
law = "linux:reno"
count = 2
"#;

fn fadelab(scratch: &Scratch, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fadelab"));
    command.current_dir(&scratch.0).args(arguments);
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout)
}

fn scenario(text: &str) -> Scratch {
    let scratch = Scratch::new();
    fs::write(scratch.0.join("net.toml"), text).unwrap();
    scratch
}

fn run(scratch: &Scratch, out: &str, more: &[&str]) {
    let arguments = ["testbed", "run", "net.toml", "--quiet", "--csv", "--out", out];
    let output = fadelab(scratch, &arguments).args(more).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
}

#[test]
fn a_guest_gives_the_same_bytes_twice() {
    // Goal: a run of a law of ours in the kernel depends on the scenario and the seed alone, also beside
    // another guest that runs at the same time.
    twice(&["--set", "flow.law=reno"]);
}

#[test]
fn vcp_gives_the_same_bytes_twice() {
    // Goal: the same for a law with feedback and a router.
    twice(&["--set", "flow.law=vcp"]);
}

#[test]
fn iperf3_sends_under_a_law_and_gives_the_same_bytes_twice() {
    // Goal: a program that was not written for a law runs under it as it is, and repeats as fadelab's own sockets do:
    // two flows of iperf3 under VCP use most of the link, and neither waits for the other.
    let Some(scratch) = twice(&["--set", "flow.law=vcp", "--iperf3"]) else {
        return;
    };
    let utilisation = column(&scratch, "one/csv/runs.csv", "utilisation")[0];
    assert!(utilisation > 0.7 && utilisation < 0.98, "utilisation {utilisation}");
    let delivered = column(&scratch, "one/csv/flow_totals.csv", "delivered_bytes");
    assert_eq!(delivered.len(), 2);
    // A third of a fair share over the three seconds that count.
    let least = delivered.into_iter().fold(f64::MAX, f64::min);
    assert!(least > 10e6 / 8.0 * 3.0 / 6.0, "{least} B");
    let manifest = fs::read_to_string(scratch.0.join("one/manifest.json")).unwrap();
    assert!(manifest.contains("\"greedy\": \"iperf3\""), "{manifest}");
}

/// Runs the scenario twice and demands the same bytes; `None` where no guest runs here.
fn twice(more: &[&str]) -> Option<Scratch> {
    twice_of(SCENARIO, "6.1", more)
}

/// The same of any scenario, where `more` chooses the kernel.
fn twice_of(text: &str, kernel: &str, more: &[&str]) -> Option<Scratch> {
    if !possible(kernel) {
        return None;
    }
    let scratch = scenario(text);
    std::thread::scope(|scope| {
        for out in ["one", "two"] {
            let scratch = &scratch;
            scope.spawn(move || run(scratch, out, more));
        }
    });
    same(&scratch, "one", "two");
    Some(scratch)
}

/// Tables and files that the same run has the same.
fn results(scratch: &Scratch, out: &str) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(scratch.0.join(out)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let is_result = |name: &String| name.ends_with(".parquet") || ["summary.json", "setup.json"].contains(&&**name);
    let mut names: Vec<String> = names.filter(is_result).collect();
    names.sort();
    let read = |name: String| (name.clone(), fs::read(scratch.0.join(out).join(name)).unwrap());
    names.into_iter().map(read).collect()
}

fn same(scratch: &Scratch, one: &str, two: &str) {
    let pairs = results(scratch, one).into_iter().zip(results(scratch, two));
    let count = pairs
        .inspect(|(one, two)| assert!(one == two, "{} differs", one.0))
        .count();
    // Eleven tables, the summary and the setup.
    assert!(count >= 13, "only {count} results");
}

#[test]
fn links_are_what_the_scenario_says() {
    // Goal: rate, delay and queue of a link are exact: a link carries no more than its rate in IP bytes, the queue
    // holds 60 packets and no more, no packet comes sooner than the path is long, and what is dropped is sent again.
    if !possible("6.12") {
        return;
    }
    let scratch = scenario(SCENARIO);
    run(&scratch, "out", &["--kernel", "6.12"]);
    let utilisation = column(&scratch, "out/csv/runs.csv", "utilisation")[0];
    assert!(utilisation > 0.97 && utilisation < 1.002, "utilisation {utilisation}");
    let queues = column(&scratch, "out/csv/links.csv", "queue_pkts");
    let longest = queues.iter().copied().fold(0.0, f64::max);
    assert!((50.0..=60.0).contains(&longest), "at most {longest} packets waited");
    // 2 x 22 ms, and the time of 1500 and 52 bytes at 10 and twice 100 Mbit/s.
    let shortest_us = 44_000.0 + (1_500.0 + 52.0) * 8.0 * (0.1 + 0.02);
    let srtt = column(&scratch, "out/csv/flows.csv", "srtt_us");
    let measured = srtt
        .into_iter()
        .filter(|&srtt_us| srtt_us > 0.0)
        .fold(f64::MAX, f64::min);
    assert!(
        measured > 44_000.0 && measured < shortest_us + 20.0 * 1_200.0,
        "srtt {measured} us"
    );
    let dropped: f64 = column(&scratch, "out/csv/links.csv", "dropped_full_pkts")
        .into_iter()
        .fold(0.0, f64::max);
    let repaired = column(&scratch, "out/csv/flows.csv", "retransmitted_pkts");
    assert!(
        dropped > 0.0 && repaired.into_iter().fold(0.0, f64::max) > 0.0,
        "{dropped} were dropped"
    );
}

#[test]
fn the_fastest_link_is_filled() {
    // Goal: the guest's processor carries what is allowed at most, 100 Mbit/s, of a law at hosts and at the queue.
    if !possible("6.12") {
        return;
    }
    let fast = SCENARIO
        .replace("\"100 Mbit/s\"", "\"1 Gbit/s\"")
        .replace("\"10 Mbit/s\"", "\"100 Mbit/s\"");
    let scratch = scenario(&fast);
    let sets = ["--set", "flow.law=xcp", "--set", "topology.bottleneck.buffer=600 pkt"];
    run(&scratch, "out", &[&["--kernel", "6.12"], &sets[..]].concat());
    let utilisation = column(&scratch, "out/csv/runs.csv", "utilisation")[0];
    assert!(utilisation > 0.97 && utilisation < 1.002, "utilisation {utilisation}");
}

#[test]
fn a_paced_law_sends_at_its_rate() {
    // Goal: the rate that a law names is of IP packets, in a kernel, which paces payload, as in the simulator: two
    // flows of an own law at 400 kB/s each fill 64 % of 10 Mbit/s.
    if !possible("6.12") {
        return;
    }
    let law = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/laws/paced.h");
    let text = fs::read_to_string(law).unwrap();
    // Builds of the whole workspace know it already, by its own name.
    let text = text.replace("paced_", "steady_").replace("\"paced\"", "\"steady\"");
    let scratch = scenario(SCENARIO);
    fs::write(scratch.0.join("steady.h"), text).unwrap();
    let law = ["--law", "./steady.h", "--set", "flow.law=steady"];
    let law = [&law[..], &["--set", "law.steady.rate_Bps=400 kB", "--kernel", "6.12"]].concat();
    run(&scratch, "out", &law);
    let utilisation = column(&scratch, "out/csv/runs.csv", "utilisation")[0];
    assert!((utilisation - 0.64).abs() < 0.005, "utilisation {utilisation}");
}

#[test]
fn a_flow_may_pass_a_router_twice() {
    // Goal: a router is one namespace, and yet a flow that comes back to it goes on by another link than before, beside
    // one that passes it once: both deliver, and the detour carries the data of the first both ways.
    if !possible("6.1") {
        return;
    }
    let link = |name: &str, to: &str| {
        format!("[link.{name}]\nfrom = 'hub'\nto = '{to}'\nrate = '10 Mbit/s'\ndelay = '2 ms'\n")
    };
    let links = [link("a", "a"), link("b", "b"), link("detour", "c")].concat();
    let scratch = scenario(&format!(
        "[run]\nduration = '1 s'\nwarmup = '0 s'\n[topology]\nnodes = ['hub', 'a', 'b', 'c']\n{links}\
         [transport]\npreset = 'linux'\n[flow]\nlaw = 'linux:reno'\nfrom = 'a'\nto = 'b'\n\
         [flow.twice]\nvia = ['c']\n[flow.once]\n"
    ));
    run(&scratch, "out", &[]);
    let delivered = column(&scratch, "out/csv/flow_totals.csv", "delivered_bytes");
    assert!(
        delivered.len() == 2 && delivered.iter().all(|&bytes| bytes > 50e3),
        "{delivered:?}"
    );
    let names = fs::read_to_string(scratch.0.join("out/csv/runs.csv")).unwrap();
    let sent = column(&scratch, "out/csv/runs.csv", "sent_bytes");
    let detour = names
        .lines()
        .skip(1)
        .zip(sent)
        .filter(|(line, _)| line.contains(",detour"));
    let detour: Vec<f64> = detour.map(|(_, bytes)| bytes).collect();
    assert!(
        detour.len() == 2 && detour.iter().all(|&bytes| bytes >= delivered[0]),
        "{detour:?}"
    );
}

#[test]
fn what_has_no_counterpart_is_refused_by_its_key() {
    // Goal: a scenario that no kernel can run ends at once with the key at fault, what there is instead, and status 2.
    let cases = [
        (
            "topology.access.rate=1 Gbit/s",
            "topology.bottleneck.rate=120 Mbit/s",
            "topology.bottleneck.rate",
            "120 Mbit/s",
        ),
        (
            "flow.law=linux:reno+linux:codel",
            "channel={model='random', loss_data=0.0, loss_ack=0.0, code={data=0.9, ack=0.5}}",
            "channel.code",
            "behind a queue of Linux's own",
        ),
        ("flow.law=reno", "transport.packet=120 B", "transport.packet", "88 B"),
        (
            "flow.law=reno",
            "transport.preset=ns2",
            "transport.rtt_samples",
            "\"per ack\"",
        ),
    ];
    for (law, set, key, told) in cases {
        let scratch = scenario(SCENARIO);
        let arguments = ["testbed", "run", "net.toml", "--set", law, "--set", set];
        let output = fadelab(&scratch, &arguments).output().unwrap();
        let text = said(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(
            text.contains(&format!("`{key}` has no counterpart")) && text.contains(told),
            "{text}"
        );
        assert!(!scratch.0.join("results").exists());
    }
}

#[test]
fn laws_of_a_kernel_are_refused_by_the_simulator() {
    // Goal: who names Linux's own law where no kernel runs is told which command has it and which law is here.
    let scratch = scenario(SCENARIO);
    let output = fadelab(&scratch, &["run", "net.toml"]).output().unwrap();
    let text = said(&output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(
        text.contains("fadelab testbed run") && text.contains("here `reno` runs"),
        "{text}"
    );
    let output = fadelab(&scratch, &["testbed", "run", "net.toml", "--kernel", "5.4"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said(&output).contains("allowed are 6.1, 6.12, newest"),
        "{}",
        said(&output)
    );
}

/// A folder with a QEMU that is none.
fn instead_of_qemu(scratch: &Scratch, script: &str) -> String {
    let folder = scratch.0.join("bin");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("qemu-system-x86_64");
    fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default())
}

/// Whether the process that wrote its number into `pid` is there no more.
fn is_gone(scratch: &Scratch) -> bool {
    let pid = fs::read_to_string(scratch.0.join("pid")).unwrap();
    let proc = Path::new("/proc").join(pid.trim()).join("stat");
    // A zombie waits for its parent, which init is by now.
    fs::read_to_string(proc).map_or(true, |stat| stat.contains(") Z "))
}

#[test]
fn a_guest_that_ends_or_hangs_is_told_with_its_last_words() {
    // Goal: a guest that does not boot, and one that says nothing, end with one message, status 1, and no process.
    if !possible("6.1") {
        return;
    }
    let cases = [
        (
            "echo out of memory >&2; exit 1",
            "the guest ended before it booted",
            "out of memory",
        ),
        (
            "exec sleep 1000",
            "the guest has said nothing for 1 s",
            "console is empty",
        ),
    ];
    for (script, message, words) in cases {
        let scratch = scenario(SCENARIO);
        let path = instead_of_qemu(&scratch, &format!("echo $$ > pid; {script}"));
        let mut command = fadelab(&scratch, &["testbed", "run", "net.toml"]);
        let output = command
            .env("PATH", path)
            .env("FADELAB_GUEST_SILENCE_S", "1")
            .output()
            .unwrap();
        let text = said(&output);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.contains(message) && text.contains(words), "{text}");
        assert!(is_gone(&scratch) && !scratch.0.join("results").exists());
    }
}

#[test]
fn nothing_outlives_a_run_that_is_stopped_or_killed() {
    // Goal: after Ctrl-C and after a kill no guest runs on, and there is no result.
    if !possible("6.1") {
        return;
    }
    for (signal, status) in [("INT", Some(130)), ("KILL", None)] {
        let scratch = scenario(SCENARIO);
        let path = instead_of_qemu(&scratch, "echo $$ > pid; exec sleep 1000");
        let mut command = fadelab(&scratch, &["testbed", "run", "net.toml"]);
        let mut run = command.env("PATH", path).stderr(Stdio::null()).spawn().unwrap();
        while fs::read_to_string(scratch.0.join("pid")).map_or(true, |pid| !pid.ends_with('\n')) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let kill = Command::new("kill")
            .args([format!("-{signal}"), run.id().to_string()])
            .status()
            .unwrap();
        assert!(kill.success());
        assert_eq!(run.wait().unwrap().code(), status);
        while !is_gone(&scratch) {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(!scratch.0.join("results").exists());
    }
}

#[test]
fn what_is_damaged_in_the_cache_is_made_anew_or_told() {
    // Goal: a cut archive of a kept image is seen and the image made again, byte for byte; of a damaged package of the
    // kernel the message says which file to remove.
    if !possible("6.1") {
        return;
    }
    let scratch = Scratch::new();
    let image = || {
        let mut command = fadelab(&scratch, &["testbed", "image"]);
        command.env("XDG_CACHE_HOME", &scratch.0).output().unwrap()
    };
    let cache = scratch.0.join("fadelab/testbed/6.1");
    let named = |part: &str| {
        let mut entries = fs::read_dir(&cache).unwrap().map(|entry| entry.unwrap().path());
        entries.find(|path| path.to_string_lossy().contains(part))
    };
    let made = image();
    assert!(made.status.success(), "{}", said(&made));
    let archive = named("/image-").expect("it was made").join("archive.cpio");
    let whole = fs::read(&archive).unwrap();
    fs::write(&archive, &whole[..whole.len() / 2]).unwrap();
    let mended = image();
    assert!(
        mended.status.success() && said(&mended).contains("is damaged and made anew"),
        "{}",
        said(&mended)
    );
    assert!(fs::read(&archive).unwrap() == whole);
    assert!(!said(&image()).contains("damaged"));
    let package = named(".deb").expect("it was fetched");
    fs::write(&package, "no package").unwrap();
    fs::remove_dir_all(named("/image-").expect("it is there")).unwrap();
    let refused = image();
    assert_eq!(refused.status.code(), Some(1), "{}", said(&refused));
    assert!(
        said(&refused).contains(&format!("remove {}", package.display())),
        "{}",
        said(&refused)
    );
}

#[test]
fn a_machine_without_qemu_is_told_what_to_install() {
    // Goal: the message names the program and the package.
    let scratch = scenario(SCENARIO);
    let output = fadelab(&scratch, &["testbed", "image"])
        .env("PATH", "/nonexistent")
        .output()
        .unwrap();
    let text = said(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("apt-get install qemu-system-x86"), "{text}");
}
