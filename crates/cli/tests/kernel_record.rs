//! `fadelab kernel load --record` and `fadelab replay`, as one after the other, for laws that users bring.

mod common;
mod hosts;

use std::fs;
use std::path::Path;
use std::process::Output;

use common::Scratch;
use hosts::{Hosts, Running, command, fadelab, is_registered, possible, said, unique, until};

/// A sender whose state is `bytes` long, and which does this with it on each ACK.
fn law(name: &str, bytes: u32, on_ack: &str) -> String {
    format!(
        r#"#include "fixed.h"
#include "law.h"

LAW void {name}_on_ack(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{{
	{on_ack}
	if (control->ca_state != LAW_CA_RECOVERY && control->cwnd_pkts < 40)
		control->cwnd_pkts++;
}}

LAW void {name}_on_loss(void *state, const void *params, const struct law_ack *ack, u32 cause,
                        struct law_control *control)
{{
	control->ssthresh_pkts = (u32)fixed_max(control->cwnd_pkts / 2, 2);
}}

LAW_TABLE struct law_sender {name}_sender = {{
	.abi = LAW_ABI,
	.size = sizeof(struct law_sender),
	.name = "{name}",
	.summary = "Up to 40 packets",
	.state_bytes = {bytes},
	LAW_NO_PARAMS,
	.on_ack = {name}_on_ack,
	.on_loss = {name}_on_loss,
}};
"#
    )
}

/// Records a second of a law between two namespaces, and replays it.
fn replayed(place: &Path, law: &str, sets: &[&str]) -> Output {
    let hosts = Hosts::new();
    let name = unique("flq");
    let arguments = [&["kernel", "load", law, "--as", &name, "--record", "calls"], sets].concat();
    let loaded = Running::start(command(place, &arguments));
    until("the law is loaded", || is_registered(&name));
    hosts.transfer(&name);
    let output = loaded.interrupted();
    assert!(output.status.success(), "{law}: {}", said(&output));
    assert!(!is_registered(&name));
    fadelab(place, &["replay", "calls"])
}

/// Demands that every call came to the same.
fn all_same(output: &Output) {
    let text = said(output);
    assert!(output.status.success(), "{:?}: {text}", output.status);
    assert!(text.contains(" 0 differ\n"), "{text}");
    let calls: u64 = text
        .split(": ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next()?.parse().ok())
        .unwrap_or_else(|| panic!("{text}"));
    assert!(calls > 300, "a second of 20 Mbit/s has more calls: {text}");
}

#[test]
fn an_own_law_is_recorded_and_replayed() {
    // Goal: the workflow of the README: a law that `new-law` writes is loaded, recorded and replayed without a
    // difference; so is the one of docs/own-law.md with parameters of its own, one without any state, and one whose
    // state is no multiple of 8 bytes.
    if !possible() {
        return;
    }
    let place = Scratch::new();
    let place = place.0.as_path();
    assert!(fadelab(place, &["new-law", "fresh"]).status.success());
    all_same(&replayed(place, "./fresh.h", &[]));

    let gentle = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/gentle.h");
    fs::copy(gentle, place.join("gentle.h")).expect("room");
    let sets = ["--set", "law.gentle.beta=0.7", "--set", "law.gentle.target_us=5 ms"];
    all_same(&replayed(place, "./gentle.h", &sets));

    fs::write(place.join("stateless.h"), law("stateless", 0, "")).expect("room");
    all_same(&replayed(place, "./stateless.h", &[]));

    let count = "((u32 *)state)[2]++;";
    fs::write(place.join("uneven.h"), law("uneven", 12, count)).expect("room");
    all_same(&replayed(place, "./uneven.h", &[]));
}

#[test]
fn what_a_law_does_outside_its_state_is_told_at_replay() {
    // Goal: the verifier lets a law write behind its state, into the words that fill it up and into what the host keeps
    // there; the replay says so, names the call, and ends with status 1.
    if !possible() {
        return;
    }
    let place = Scratch::new();
    let place = place.0.as_path();
    for (name, bytes, write) in [
        ("filling", 12, "((u32 *)state)[3] = 7;"),
        ("behind", 8, "((u64 *)state)[1] = 7;"),
        ("stateful", 0, "((u32 *)state)[0] = 7;"),
    ] {
        fs::write(place.join(format!("{name}.h")), law(name, bytes, write)).expect("room");
        let output = replayed(place, &format!("./{name}.h"), &[]);
        let text = said(&output);
        assert_eq!(output.status.code(), Some(1), "{name}: {text}");
        for part in [
            "on_ack of flow ",
            &format!("at fault: it wrote beyond its state, which has {bytes} bytes"),
            &format!("error: law {name} is at fault in "),
        ] {
            assert!(text.contains(part), "{name}, `{part}`: {text}");
        }
    }
}

#[test]
fn what_a_guest_recorded_is_replayed() {
    // Goal: the same workflow in virtual time, on the oldest kernel and a newer one, whose verifiers take the programs
    // that record: every call of VCP, of XCP, of their receivers and of a law that a user brought, with parameters, is
    // made again without a difference, and a law that writes behind its state is told.
    for kernel in ["6.1", "6.12"] {
        if !common::guest::possible(kernel) {
            continue;
        }
        let place = Scratch::new();
        let gentle = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/gentle.h");
        fs::copy(gentle, place.0.join("gentle.h")).expect("room");
        place.write("filling.h", law("filling", 12, "((u32 *)state)[3] = 7;"));
        let scenario = "[run]\nduration = \"3 s\"\n[topology.bottleneck]\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\n\
                        [transport]\npreset = \"linux\"\n[flow]\nlaw = \"linux:reno\"\ncount = 2\n";
        place.write("net.toml", scenario);
        for (law, more) in [
            ("gentle", &["--law", "./gentle.h", "--set", "law.gentle.beta=0.7"][..]),
            ("filling", &["--law", "./filling.h"]),
            ("vcp", &[]),
            ("xcp", &[]),
        ] {
            let choice = format!("flow.law={law}");
            let run = ["testbed", "run", "net.toml", "--kernel", kernel, "--set", &choice];
            let kept = ["--seeds", "1", "--quiet", "--out", law, "--record", "calls"];
            let output = place.fadelab(&[&run[..], &kept, more].concat());
            assert!(output.status.success(), "{law}, {kernel}: {}", said(&output));
            let output = place.fadelab(&["replay", "calls"]);
            if law == "filling" {
                assert_eq!(output.status.code(), Some(1), "{kernel}: {}", said(&output));
                assert!(
                    said(&output).contains("wrote beyond its state"),
                    "{kernel}: {}",
                    said(&output)
                );
            } else {
                all_same(&output);
                let has_ends = said(&output).contains(" of 2 receiving ends; ");
                assert_eq!(has_ends, law != "gentle", "{law}, {kernel}: {}", said(&output));
            }
        }
    }
}

#[test]
fn a_damaged_recording_is_told_with_status_1() {
    // Goal: of a recording of a real transfer under a law with a receiver, calls that are removed, doubled, swapped or
    // changed, and a cut, end the replay with status 1 and the place in one line, after what is before was made again;
    // as it was written it ends with status 0. A recording of an older format is refused in one line.
    if !possible() {
        return;
    }
    let place = Scratch::new();
    let place = place.0.as_path();
    let whole = replayed(place, "vcp", &["--dev", "lo"]);
    all_same(&whole);
    let bytes = fs::read(place.join("calls")).expect("it is there");
    let demand = |bytes: &[u8], part: &str| {
        fs::write(place.join("damaged"), bytes).expect("room");
        let output = fadelab(place, &["replay", "damaged"]);
        let (status, text) = (output.status.code(), said(&output));
        assert_eq!(status, Some(1), "{text}");
        let line = text.lines().find(|line| line.starts_with("error: damaged: damaged: "));
        assert!(line.is_some_and(|line| line.contains(part)), "`{part}`: {text}");
    };
    let middle = bytes.len() / 2;
    for (at, part) in [
        (3, "the first line, at byte 0: "),
        (middle, "call "),
        (bytes.len() - 1, "call "),
    ] {
        let mut changed = bytes.clone();
        changed[at] ^= 4;
        demand(&changed, part);
    }
    demand(&bytes[..middle], "the file is cut there");
    demand(&bytes[..20], "the file is cut there");
    demand(&[&bytes[..middle], &bytes[middle + 8..]].concat(), "call ");
    demand(&[&bytes[..middle + 8], &bytes[middle..]].concat(), "call ");
    let line = bytes.iter().position(|byte| *byte == b'\n').expect("a line");
    let old = String::from_utf8(bytes[..line].to_vec()).expect("JSON");
    let old = old
        .replace("calls\":2", "calls\":1")
        .replace("receiver_state_bytes", "receiver");
    fs::write(place.join("old"), old + "\n").expect("room");
    let output = fadelab(place, &["replay", "old"]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    let text = said(&output);
    assert!(
        text.lines().count() == 1 && text.contains("a recording of version 1; this fadelab reads version 2"),
        "{text}"
    );
}
