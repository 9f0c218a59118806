//! What `fadelab kernel` refuses: one line that names what was given, what is wrong with it and what to do, and nothing
//! is left.

mod hosts;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use hosts::{Hosts, Running, command, possible, run, said, unique};

fn fadelab(arguments: &[&str]) -> Output {
    hosts::fadelab(Path::new("."), arguments)
}

/// One line that has all `parts`, with status 2 (what was asked for is at fault).
#[track_caller]
fn refused(arguments: &[&str], parts: &[&str]) {
    // What is not refused may go on until somebody ends it.
    let output = Running::start(command(Path::new("."), arguments)).finished();
    let text = said(&output);
    // Whoever comes next tells what a killed one left, which may be another test's.
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with("warning: removed"))
        .collect();
    assert_eq!(
        (output.status.code(), lines.len(), lines[0].starts_with("error: ")),
        (Some(2), 1, true),
        "{text}"
    );
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
}

#[test]
fn what_is_not_there_is_named_with_the_remedy() {
    // Goal: a name that is taken, a folder that is no cgroup, an unknown law and a device that is not there are told
    // before anything is changed.
    if !possible() {
        return;
    }
    let hosts = Hosts::new();
    let device = format!("{}:wire", hosts.0[0]);
    let disciplines = || run(&format!("tc -n {} qdisc show dev wire", hosts.0[0]));
    let before = disciplines();
    refused(
        &["kernel", "load", "reno", "--as", "cubic"],
        &["`cubic` already", "--as NAME"],
    );
    refused(
        &["kernel", "load", "reno", "--cgroup", "/nowhere"],
        &[
            "--cgroup /nowhere: No such file",
            "the cgroups v2 of this machine are /",
        ],
    );
    let folder = env!("CARGO_MANIFEST_DIR");
    refused(
        &["kernel", "load", "reno", "--cgroup", folder],
        &[folder, "it is no cgroup v2"],
    );
    refused(
        &["kernel", "load", "renno"],
        &["no sender's law is called renno", "known are reno, ", "./mine.h"],
    );
    let router = ["kernel", "router", "--dev", &device, "--law", "vcp", "--rate", "10mbit"];
    let nodev = [&router[..], &["--inside", "wire,nodev"]].concat();
    refused(
        &nodev,
        &["--inside nodev: namespace", "has no such device; it has ", "wire"],
    );
    assert_eq!(disciplines(), before);
}

#[test]
fn exchanged_numbers_and_what_watches_them_do_not_meet() {
    // Goal: a router of DPCP is refused where connections are tracked, and in a tunnel, with what to do instead; where
    // nothing is tracked it starts.
    if !possible() {
        return;
    }
    let hosts = Hosts::new();
    let device = format!("{}:wire", hosts.0[0]);
    let router = [
        "kernel", "router", "--dev", &device, "--law", "dpcp", "--rate", "10mbit",
    ];
    let tunnel = ["--tunnel", "192.0.2.1-198.51.100.1"];
    refused(
        &[&router[..], &tunnel].concat(),
        &["--tunnel: law dpcp", "which is encrypted", "dcp_ew"],
    );
    let mut running = Running::start(command(Path::new("."), &router));
    running.shows("packets");
    drop(running.interrupted());
    let rules = [
        "add table inet t",
        "add chain inet t c { type filter hook prerouting priority 0; }",
        "add rule inet t c ct state established accept",
    ];
    for rule in rules {
        run(&format!("ip netns exec {} nft {rule}", hosts.0[0]));
    }
    run(&format!("ip netns exec {} ping -c 1 -W 1 127.0.0.1", hosts.0[0]));
    refused(&router, &["connections are tracked", "`nft list ruleset`", "dcp_ew"]);
}

#[test]
fn sockets_that_may_keep_nothing_are_told() {
    // Goal: where a namespace allows sockets no memory for a law, which would then run on nothing, loading it says so,
    // and what to set; nothing is left.
    if !possible() {
        return;
    }
    let hosts = Hosts::new();
    // Before Linux 6.8 one figure was for all namespaces, and none of a namespace is there.
    let figure = "/proc/sys/net/core/optmem_max";
    let set = format!("echo 0 > {figure}");
    let output = hosts.command(0, &["sh", "-c", &set]).output().expect("it runs");
    if !output.status.success() {
        println!("skipped: sockets_that_may_keep_nothing_are_told: {figure} is the same everywhere");
        return;
    }
    let (name, device) = (unique("flm"), format!("{}:wire", hosts.0[0]));
    let parts = [
        "vcp keeps ",
        " bytes of a socket and namespace ",
        " allows 0 ",
        "sysctl -w net.core.optmem_max=",
    ];
    refused(&["kernel", "load", "vcp", "--as", &name, "--dev", &device], &parts);
    assert!(!said(&fadelab(&["kernel", "list"])).contains(&name));
}

#[test]
fn a_recording_without_room_ends_at_once() {
    // Goal: a file that takes nothing ends the recording at its beginning, by name, and the law is not left loaded.
    if !possible() {
        return;
    }
    let name = unique("flr");
    // Were it not told, the command would record until somebody ends it.
    let arguments = ["kernel", "load", "reno", "--as", &name, "--record", "/dev/full"];
    let output = Running::start(command(Path::new("."), &arguments)).finished();
    let text = said(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains("/dev/full: the recording: No space left on device"),
        "{text}"
    );
    assert!(!said(&fadelab(&["kernel", "list"])).contains(&name));
}

/// A folder with the binary that everybody may enter, which the one where it was built need not be.
struct Readable(PathBuf);

impl Readable {
    fn new() -> Self {
        let folder = std::env::temp_dir().join(format!("fadelab-nobody-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a temporary folder");
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).expect("its own folder");
        let (from, to) = (env!("CARGO_BIN_EXE_fadelab"), folder.join("fadelab"));
        if fs::hard_link(from, &to).is_err() {
            fs::copy(from, &to).expect("there is room");
        }
        Self(folder)
    }
}

impl Drop for Readable {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn nobody_but_root_looks_into_the_kernel() {
    // Goal: other users are told to be root by every command but `check`, and cannot read what root's commands undo; to
    // them no law ever looks as if it were not loaded.
    if !possible() {
        return;
    }
    let name = unique("flr");
    let loaded = fadelab(&["kernel", "load", "reno", "--as", &name]);
    assert!(loaded.status.success(), "{}", said(&loaded));
    let mode = fs::metadata("/run/fadelab").map(|told| told.permissions().mode() & 0o777);
    let place = Readable::new();
    let as_nobody = |arguments: &[&str]| {
        let mut command = Command::new(place.0.join("fadelab"));
        let output = command.args(arguments).uid(65534).gid(65534).output();
        output.expect("the binary runs for everybody")
    };
    let commands: [&[&str]; 3] = [
        &["kernel", "list"],
        &["kernel", "unload", &name],
        &["kernel", "load", "reno"],
    ];
    let told: Vec<_> = commands.iter().map(|command| as_nobody(command)).collect();
    let unloaded = fadelab(&["kernel", "unload", &name]);
    assert!(unloaded.status.success(), "{}", said(&unloaded));
    assert_eq!(mode.expect("the folder is there"), 0o700);
    for output in told {
        let text = said(&output);
        assert!(
            output.status.code() == Some(2) && text.contains("run it with sudo"),
            "{text}"
        );
    }
}
