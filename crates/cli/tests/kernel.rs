//! `fadelab kernel` on this machine: what it refuses, what it leaves, and what is left when it is killed.

mod hosts;
mod own;

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use hosts::{Hosts, is_registered, possible, run, said, unique, until};

fn fadelab(arguments: &[&str]) -> Output {
    hosts::fadelab(Path::new("."), arguments)
}

/// A namespace with one device, `wire`, that goes with it.
struct Space(String);

impl Space {
    fn new(stem: &str) -> Self {
        let name = format!("flc{stem}{}", std::process::id());
        run(&format!("ip netns add {name}"));
        run(&format!("ip -n {name} link add wire type veth peer name far"));
        run(&format!("ip -n {name} link set wire up"));
        Self(name)
    }

    fn device(&self) -> String {
        format!("{}:wire", self.0)
    }

    /// Most segments that the device takes as one packet.
    fn offload(&self) -> String {
        let text = run(&format!("ip -n {} -d link show wire", self.0));
        let told = text
            .split("gso_max_segs ")
            .nth(1)
            .and_then(|rest| rest.split(' ').next());
        told.expect("a field").to_owned()
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.0]).output();
    }
}

/// What `list` says of a law.
fn listed(name: &str) -> String {
    let text = said(&fadelab(&["kernel", "list"]));
    let own = text.split("\n\n").find(|part| part.starts_with(name));
    own.unwrap_or_else(|| panic!("{name} is not in: {text}")).to_owned()
}

#[test]
fn a_device_that_went_is_listed_as_gone() {
    // Goal: `list` says of a device that was deleted that nothing is marked there, also when one of its name is back,
    // and when its whole namespace went; a device that stayed is listed as before.
    if !possible() {
        return;
    }
    let (space, stays) = (Space::new("g"), Space::new("s"));
    let name = format!("flg{}", std::process::id());
    let devices = format!("{},{}", space.device(), stays.device());
    let loaded = fadelab(&["kernel", "load", "vcp", "--as", &name, "--dev", &devices]);
    assert!(loaded.status.success(), "{}", said(&loaded));
    let all = format!("  marks what leaves by {}, {}\n", space.device(), stays.device());
    let one = format!(
        "  marks what leaves by {}\n  gone, and not taken up again if they came back: {};",
        stays.device(),
        space.device()
    );
    let mut found = vec![(listed(&name), &all)];
    run(&format!("ip -n {} link del wire", space.0));
    found.push((listed(&name), &one));
    run(&format!("ip -n {} link add wire type veth peer name far", space.0));
    found.push((listed(&name), &one));
    drop(space);
    found.push((listed(&name), &one));
    let unloaded = fadelab(&["kernel", "unload", &name]);
    assert!(unloaded.status.success(), "{}", said(&unloaded));
    for (text, expected) in found {
        assert!(text.contains(expected.as_str()), "`{expected}` is not in: {text}");
    }
}

/// All that a law of this name leaves in the system.
fn traces(name: &str) -> Vec<String> {
    let mounts = fs::read_to_string("/proc/self/mounts").expect("a file");
    let mut traces = Vec::new();
    if is_registered(name) {
        traces.push(format!("the congestion control {name}"));
    }
    if mounts.contains(&format!("/run/fadelab/senders/{name}/")) {
        traces.push("a mount".to_owned());
    }
    if Path::new("/run/fadelab/senders").join(name).exists() {
        traces.push("a folder".to_owned());
    }
    traces
}

#[test]
fn what_cannot_be_loaded_is_refused_in_one_message() {
    // Goal: each refusal names what was given, what is allowed or what to do, and leaves nothing behind.
    let cases: [(&[&str], &str); 8] = [
        (&["load", "vcp"], "--dev eth0"),
        (&["load", "nope"], "no sender's law is called nope"),
        (&["load", "udp"], "nothing to load"),
        (&["load", "vcp", "--dev", "nosuchdev"], "--dev nosuchdev"),
        (&["load", "reno", "--as", "a_name_that_is_too_long"], "1 to 15"),
        (&["load", "vcp", "--dev", "lo", "--set", "law.vcp.kappa=7"], "kappa"),
        (&["load", "reno", "--set", "flow.count=3"], "only parameters of laws"),
        (&["unload", "nosuchlaw"], "nosuchlaw is not loaded"),
    ];
    for (arguments, expected) in cases {
        let output = fadelab(&[&["kernel"], arguments].concat());
        let text = said(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.contains(expected), "{arguments:?}: {text}");
        assert!(text.lines().count() <= 4, "{arguments:?}: {text}");
    }
}

/// A sender `mine` in a folder, with this on each ACK.
fn own_law(on_ack: &str) -> tempfile::TempDir {
    let place = own::place();
    own::edited(
        place.path(),
        "sender",
        "(void)params;",
        &format!("(void)params;\n\t{on_ack}"),
    );
    place
}

#[test]
fn a_law_that_the_kernel_refuses_is_told_by_its_lines() {
    // Goal: who writes a law for the kernel sees which function is refused and why, not a log of thousands of lines.
    if !possible() {
        return;
    }
    let cases = [
        ("((u8 *)state)[ack->rtt_us] = 1;", "verifier refuses control_ack", 20),
        (
            "control->cwnd_pkts += (u32)(ack->srtt_us * 0.37);",
            "does not compile for BPF",
            12,
        ),
    ];
    for (number, (on_ack, expected, lines_max)) in cases.into_iter().enumerate() {
        let place = own_law(on_ack);
        let path = place.path().join("mine.h");
        let name = format!("flr{number}_{}", std::process::id() % 100_000);
        let output = fadelab(&["kernel", "load", path.to_str().expect("UTF-8"), "--as", &name]);
        let text = said(&output);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.contains(expected), "{text}");
        assert!(text.lines().count() <= lines_max, "{text}");
        assert_eq!(traces(&name), Vec::<String>::new());
    }
}

#[test]
fn where_nothing_stays_loading_is_refused() {
    // Goal: with mounts of its own, as under `ip netns exec`, a loaded law would be gone with the command, and its
    // folder would not.
    if !possible() {
        return;
    }
    let name = format!("fln_{}", std::process::id() % 100_000);
    let output = Command::new("unshare")
        .args(["--mount", "--propagation", "unchanged", env!("CARGO_BIN_EXE_fadelab")])
        .args(["kernel", "load", "reno", "--as", &name])
        .output()
        .expect("util-linux");
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("load the law outside"), "{}", said(&output));
    assert_eq!(traces(&name), Vec::<String>::new());
}

#[test]
fn loading_and_unloading_leave_the_host_as_it_was() {
    // Goal: built-in laws and a user's own one stay loaded when the command has ended, are listed, refuse to be loaded
    // twice, and leave nothing when they are unloaded; the offload of a device comes back.
    if !possible() {
        return;
    }
    let space = Space::new("a");
    let before = space.offload();
    let place = own_law("");
    let mine = place.path().join("mine.h").to_str().expect("UTF-8").to_owned();
    for (number, law) in ["vcp", "xcp", "reno", "cubic", &mine].into_iter().enumerate() {
        let name = format!("fll{number}_{}", std::process::id() % 100_000);
        let arguments = ["kernel", "load", law, "--as", &name, "--dev", &space.device()];
        let output = fadelab(&arguments);
        assert!(output.status.success(), "{law}: {}", said(&output));
        assert_eq!(traces(&name).len(), 3, "{law}");
        assert_eq!(space.offload() == "1", law == "xcp", "{law}");
        assert!(said(&fadelab(&["kernel", "list"])).contains(&name));
        let again = fadelab(&arguments);
        assert_eq!(again.status.code(), Some(1), "{law}: {}", said(&again));
        assert!(said(&again).contains("is loaded already"), "{}", said(&again));
        assert!(fadelab(&["kernel", "unload", &name]).status.success());
        assert_eq!(traces(&name), Vec::<String>::new(), "{law}");
        assert_eq!(space.offload(), before, "{law}");
    }
}

/// Kills the command after a time, and loads and unloads another law; gives whether `name` was loaded whole.
fn killed_after(wait: Duration, args: &[&str], name: &str, next: &str) -> bool {
    let mut child = Command::new(env!("CARGO_BIN_EXE_fadelab"))
        .args(args)
        .stdout(Stdio::null())
        .spawn()
        .expect("the binary runs");
    std::thread::sleep(wait);
    child.kill().expect("ours");
    child.wait().expect("ours");
    let output = fadelab(&["kernel", "load", "reno", "--as", next]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(fadelab(&["kernel", "unload", next]).status.success());
    let there = traces(name);
    assert!(
        there.is_empty() || there.len() == 3,
        "after {wait:?} a part of it is there: {there:?}"
    );
    fadelab(&["kernel", "unload", name]).status.success()
}

#[test]
fn a_killed_loader_is_cleaned_up_by_the_next() {
    // Goal: whenever the command is killed, either the law is loaded whole or the next command removes what is there.
    if !possible() {
        return;
    }
    let space = Space::new("k");
    let before = space.offload();
    let next = format!("flk_{}", std::process::id() % 100_000);
    for round in 0..12u64 {
        let name = format!("flk{round}_{}", std::process::id() % 100_000);
        // Compiling takes most of the time; what follows it is where something can be left.
        let wait = Duration::from_millis(60 + 40 * round);
        let load = ["kernel", "load", "xcp", "--as", &name, "--dev", &space.device()];
        let whole = killed_after(wait, &load, &name, &next);
        assert_eq!(
            traces(&name),
            Vec::<String>::new(),
            "round {round}, loaded whole: {whole}"
        );
        assert_eq!(space.offload(), before, "round {round}, loaded whole: {whole}");
    }
}

#[test]
fn a_killed_unloader_is_followed_by_the_next() {
    // Goal: what a killed `unload` began the next command ends: no law is listed of which a part has gone.
    if !possible() {
        return;
    }
    let space = Space::new("u");
    let before = space.offload();
    let name = format!("flu_{}", std::process::id());
    let next = format!("flv_{}", std::process::id());
    let loaded = fadelab(&["kernel", "load", "xcp", "--as", &name, "--dev", &space.device()]);
    assert!(loaded.status.success(), "{}", said(&loaded));
    // The command waits for its turn when all but the law's folder has gone.
    let mut turn = Command::new("flock")
        .args(["/run/fadelab", "sh", "-c", "echo mine; read end"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("util-linux");
    let mut taken = [0; 4];
    turn.stdout
        .as_mut()
        .expect("piped")
        .read_exact(&mut taken)
        .expect("a word");
    let mut child = Command::new(env!("CARGO_BIN_EXE_fadelab"))
        .args(["kernel", "unload", &name])
        .spawn()
        .expect("the binary runs");
    until("only the folder is left", || traces(&name) == ["a folder"]);
    child.kill().expect("ours");
    child.wait().expect("ours");
    drop(turn.stdin.take());
    turn.wait().expect("ours");
    let other = fadelab(&["kernel", "load", "reno", "--as", &next]);
    let left = traces(&name);
    assert!(other.status.success(), "{}", said(&other));
    assert!(fadelab(&["kernel", "unload", &next]).status.success());
    assert!(left.is_empty(), "{left:?} are left of it");
    assert_eq!(space.offload(), before);
}

#[test]
fn a_law_whose_links_were_unmounted_is_listed_as_gone() {
    // Goal: where somebody unmounts what holds a law, `list` goes on, says so of that law, and unloading it removes the
    // rest.
    if !possible() {
        return;
    }
    let space = Space::new("m");
    let before = space.offload();
    let name = format!("flw_{}", std::process::id());
    let loaded = fadelab(&["kernel", "load", "xcp", "--as", &name, "--dev", &space.device()]);
    assert!(loaded.status.success(), "{}", said(&loaded));
    run(&format!("umount -l /run/fadelab/senders/{name}/bpf"));
    let text = listed(&name);
    let json = said(&fadelab(&["kernel", "list", "--json"]));
    let unloaded = fadelab(&["kernel", "unload", &name]);
    assert!(
        text.contains("loaded no more") && text.contains(&format!("unload {name}")),
        "{text}"
    );
    assert!(json.contains(&name), "{json}");
    assert!(unloaded.status.success(), "{}", said(&unloaded));
    assert_eq!(traces(&name), Vec::<String>::new());
    assert_eq!(space.offload(), before);
}

#[test]
fn who_goes_by_marks_is_told_where_nobody_asks_for_ecn() {
    // Goal: loading a law whose routers mark packets says so where connections do not ask for ECN, and how they would;
    // other laws, and hosts that ask, hear nothing of it.
    if !possible() {
        return;
    }
    let hosts = Hosts::new();
    let program = env!("CARGO_BIN_EXE_fadelab");
    for (law, mode, is_told) in [
        ("new_jersey", "2", true),
        ("new_jersey", "1", false),
        ("veno", "2", false),
    ] {
        let set = format!("echo {mode} > /proc/sys/net/ipv4/tcp_ecn");
        let status = hosts.command(0, &["sh", "-c", &set]).status().expect("nsenter");
        assert!(status.success(), "{set}");
        let name = unique("flm");
        let words = [program, "kernel", "load", law, "--as", &name, "--dev", "wire"];
        let output = hosts.command(0, &words).output().expect("nsenter");
        let text = said(&output);
        assert!(output.status.success(), "{law}: {text}");
        assert_eq!(text.contains("net.ipv4.tcp_ecn"), is_told, "{law}, {mode}: {text}");
        assert!(fadelab(&["kernel", "unload", &name]).status.success());
        assert_eq!(traces(&name), Vec::<String>::new(), "{law}");
    }
}
