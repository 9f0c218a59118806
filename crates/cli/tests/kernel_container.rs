//! `fadelab kernel build`: a law that was compiled here is loaded where there is no compiler.

mod common;
mod hosts;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::Scratch;
use hosts::{Hosts, Running, is_registered, possible, said, unique, until};
use sha2::{Digest, Sha256};

/// The command on a machine that has neither a compiler for BPF nor one for itself.
fn without_compilers(program: &Path, place: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.current_dir(place).args(arguments);
    command.env("FADELAB_CLANG", "/nonexistent").env("CC", "/nonexistent");
    command
}

fn bare(place: &Path, arguments: &[&str]) -> Command {
    without_compilers(Path::new(env!("CARGO_BIN_EXE_fadelab")), place, arguments)
}

fn built(place: &Path, arguments: &[&str]) {
    let output = hosts::fadelab(place, &[&["kernel", "build"], arguments].concat());
    assert!(output.status.success(), "{}", said(&output));
}

fn agrees(place: &Path) {
    let output = hosts::fadelab(place, &["replay", "calls"]);
    let text = said(&output);
    assert!(output.status.success() && text.contains(" 0 differ\n"), "{text}");
}

/// The parameter in the first line of a recording.
fn recorded_kappa(place: &Path) -> Option<u64> {
    let recording = fs::read(place.join("calls")).expect("it is there");
    let line = recording.split(|byte| *byte == b'\n').next().expect("a line");
    let head: serde_json::Value = serde_json::from_slice(line).expect("JSON");
    head["params"]["kappa"].as_u64()
}

/// VCP's kappa as it computes with it.
fn kappa(value: f64) -> Option<u64> {
    let law = fadelab_laws::sender("vcp").expect("registered");
    law.params().iter().find(|info| info.name == "kappa")?.to_law(value)
}

#[test]
fn a_law_is_loaded_without_a_compiler() {
    // Goal: an own law, one that is built in and their routers are loaded from containers by a command that has no
    // compiler, with parameters, a name and users that are chosen there, and recorded; what they did comes to the same
    // with the text that the container brought, with the parameters that were chosen.
    if !possible() {
        return;
    }
    let place = Scratch::new();
    let place = place.0.as_path();
    let gentle = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/gentle.h");
    fs::copy(gentle, place.join("gentle.h")).expect("room");
    built(place, &["./gentle.h"]);
    built(place, &["vcp", "--out", "two.fade"]);
    fs::remove_file(place.join("gentle.h")).expect("it was there");
    let missing = bare(place, &["kernel", "load", "cubic"]).output().expect("it runs");
    assert!(said(&missing).contains("no clang for BPF"), "{}", said(&missing));
    for (law, set) in [
        ("gentle.fade", "law.gentle.beta=0.7"),
        ("two.fade", "law.vcp.kappa=0.3"),
    ] {
        let hosts = Hosts::new();
        let name = unique("flc");
        let device = format!("{}:wire", hosts.0[0]);
        let load = ["kernel", "load", law, "--as", &name, "--dev", &device, "--set", set];
        let loaded = Running::start(bare(
            place,
            &[&load[..], &["--allow", "nobody", "--record", "calls"]].concat(),
        ));
        until("the law is loaded", || is_registered(&name));
        hosts.transfer(&name);
        let output = loaded.interrupted();
        assert!(output.status.success(), "{law}: {}", said(&output));
        agrees(place);
        if law == "two.fade" {
            assert_eq!(recorded_kappa(place), kappa(0.3));
        }
    }
    let hosts = Hosts::new();
    let device = format!("{}:wire", hosts.0[0]);
    let router = [
        "kernel", "router", "--law", "two.fade", "--dev", &device, "--rate", "20mbit",
    ];
    let more = [
        "--set",
        "router.vcp.gamma=0.9",
        "--set",
        "router.capacity=measured",
        "--record",
        "calls",
    ];
    let mut running = Running::start(bare(place, &[&router[..], &more].concat()));
    running.shows("load");
    hosts.transfer("cubic");
    let output = running.interrupted();
    assert!(output.status.success(), "{}", said(&output));
    agrees(place);
    let wrong = bare(place, &["kernel", "load", "gentle.fade", "--set", "law.gentle.beta=7"]).output();
    let wrong = wrong.expect("it runs");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(said(&wrong).contains("out of range"), "{}", said(&wrong));
}

#[test]
fn an_installation_brings_its_laws_into_guests() {
    // Goal: beside an installed command lie the programs of built-in laws: without a compiler they run in guests of the
    // oldest kernel and of a newer one; without that folder the message says what is missing.
    let place = Scratch::new();
    let program = place.0.join("bin/fadelab");
    fs::create_dir(place.0.join("bin")).expect("room");
    let ours = PathBuf::from(env!("CARGO_BIN_EXE_fadelab"));
    fs::hard_link(&ours, &program)
        .or_else(|_| fs::copy(&ours, &program).map(drop))
        .expect("room");
    place.write(
        "net.toml",
        "[run]\nduration = \"2 s\"\n[topology.bottleneck]\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\n\
         [transport]\npreset = \"linux\"\n[flow]\nlaw = \"vcp\"\ncount = 2\n",
    );
    let run = |kernel: &str, out: &str| -> Output {
        let arguments = [
            "testbed", "run", "net.toml", "--kernel", kernel, "--seeds", "1", "--quiet", "--out", out,
        ];
        without_compilers(&program, &place.0, &arguments)
            .output()
            .expect("it runs")
    };
    let kernels: Vec<&str> = ["6.1", "6.12"]
        .into_iter()
        .filter(|kernel| common::guest::possible(kernel))
        .collect();
    let Some(first) = kernels.first() else { return };
    let output = run(first, "without");
    assert!(
        !output.status.success() && said(&output).contains("no clang for BPF"),
        "{}",
        said(&output)
    );
    let laws = place.0.join("lib/fadelab/laws");
    fs::create_dir_all(&laws).expect("room");
    built(
        &place.0,
        &["vcp", "--out", &laws.join("vcp.fade").display().to_string()],
    );
    for kernel in kernels {
        let output = run(kernel, kernel);
        assert!(output.status.success(), "{kernel}: {}", said(&output));
    }
}

/// The file with the build that is named in its head changed, and a checksum that fits.
fn of_another_build(bytes: &[u8]) -> Vec<u8> {
    let key = b"\"build\":\"";
    let at = bytes
        .windows(key.len())
        .position(|window| window == key)
        .expect("a head has it")
        + key.len();
    let mut changed = bytes[..bytes.len() - 32].to_vec();
    changed[at] = if changed[at] == b'0' { b'1' } else { b'0' };
    let sum = Sha256::digest(&changed);
    changed.extend(sum);
    changed
}

#[test]
fn what_is_no_container_of_this_build_is_refused() {
    // Goal: a container that was cut, changed in any part or made by another build, and a file that is none, are
    // refused in one line that says what to do; so are a law that nobody loads by itself and a name without the ending.
    let place = Scratch::new();
    let place = place.0.as_path();
    let output = hosts::fadelab(place, &["kernel", "build", "reno"]);
    if said(&output).contains("no clang for BPF") {
        return;
    }
    assert!(output.status.success(), "{}", said(&output));
    let whole = fs::read(place.join("reno.fade")).expect("it was built");
    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 1;
    for (bytes, why) in [
        (&whole[..whole.len() - 1], "damaged or cut"),
        (&whole[..200], "no container of a law"),
        (&changed, "damaged or cut"),
        (&of_another_build(&whole), "with other programs than this one has"),
        (b"hello", "no container of a law"),
        (b"", "no container of a law"),
    ] {
        fs::write(place.join("other.fade"), bytes).expect("room");
        let output = hosts::fadelab(place, &["kernel", "load", "other.fade"]);
        let text = said(&output);
        assert!(text.contains(why) || text.contains("not root"), "{why}: {text}");
        assert_eq!(output.status.code(), Some(2), "{text}");
    }
    for (arguments, why) in [
        (&["measured"][..], "nothing to load by itself"),
        (&["reno", "--out", "reno.o"], "ends with .fade"),
        (&["no_such_law"], "nothing to load by itself"),
    ] {
        let output = hosts::fadelab(place, &[&["kernel", "build"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(said(&output).contains(why), "{}", said(&output));
    }
}
