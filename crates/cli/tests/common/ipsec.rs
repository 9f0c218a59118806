//! Packet logs of the links beside two gateways, and the program that judges them.

use std::fs;
use std::process::Command;

use super::Scratch;

/// The links of `tests/ipsec/figure1.toml` in the order of a packet's way, and where levels are only counted.
const FORWARD: [&str; 4] = ["in", "enter", "leave", "out"];
const BACKWARD: [&str; 4] = ["out.back", "leave.back", "enter.back", "in.back"];
const BEFORE: [&str; 2] = ["before", "before.back"];
const BEHIND: [&str; 2] = ["behind", "behind.back"];

/// A file of the judge's folder.
pub fn place(name: &str) -> String {
    format!("{}/../../tests/ipsec/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Debian's Python with its packages of scapy and of ciphers; `None`: the test is skipped, with the reason.
pub fn python() -> Option<Command> {
    let python = || Command::new("/usr/bin/python3");
    let output = python().args(["-c", "import scapy, cryptography"]).output();
    if output.is_ok_and(|output| output.status.success()) {
        return Some(python());
    }
    assert!(
        std::env::var_os("FADELAB_REQUIRE_SCAPY").is_none(),
        "scapy is required here"
    );
    println!("skipped: ipsec: python3-scapy and python3-cryptography are missing; `make setup-test` installs them");
    None
}

/// Arguments that log all these links.
pub fn log_of() -> Vec<&'static str> {
    let names = FORWARD.into_iter().chain(BACKWARD).chain(BEFORE).chain(BEHIND);
    names.flat_map(|name| ["--pcap", name]).collect()
}

/// Demands that the judge finds nothing wrong in the only log of a result; gives what it printed.
pub fn judged(scratch: &Scratch, out: &str, told: &[&str]) -> String {
    let folder = scratch.0.join(out).join("packets");
    let file = fs::read_dir(&folder)
        .expect("there are logs")
        .next()
        .expect("one")
        .expect("readable");
    let mut command = python().expect("it was looked for");
    command.arg(place("figure1.py")).arg(file.path());
    for (option, names) in [
        ("--forward", &FORWARD[..]),
        ("--backward", &BACKWARD),
        ("--before", &BEFORE),
        ("--behind", &BEHIND),
    ] {
        command.arg(option).arg(names.join(","));
    }
    let output = command.args(told).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{out}, {told:?}: {text}{errors}");
    text
}
