//! Every registered law goes through this machine's BPF verifier. Nothing is attached or pinned: the programs are gone
//! when their file descriptors are.
#![allow(unsafe_code)]

use std::fs;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::process::Command;

use fadelab_laws::{capacities, gateways, receivers, routers, senders, wires};
use libbpf_rs::ObjectBuilder;

/// A table of functions to compile: name of the law, role, text of the header, bytes of state.
type Table = (&'static str, &'static str, &'static str, u32);

/// Words of state in the template.
const STATE_BYTES: u32 = 1024;

fn tables() -> Vec<Table> {
    let senders = senders()
        .iter()
        .map(|law| (law.name(), "sender", law.header(), law.state_bytes()));
    let receivers = receivers()
        .iter()
        .map(|law| (law.name(), "receiver", law.header(), law.state_bytes()));
    let routers = routers()
        .iter()
        .map(|law| (law.name(), "router", law.header(), law.state_bytes()));
    let capacities = capacities()
        .iter()
        .map(|part| (part.name(), "capacity", part.header(), part.state_bytes()));
    let gateways = gateways()
        .iter()
        .map(|law| (law.name(), "gateway", law.header(), law.state_bytes()));
    let wires = wires().iter().map(|wire| (wire.name(), "wire", wire.header(), 0));
    let laws = senders.chain(receivers).chain(routers).chain(capacities);
    laws.chain(gateways).chain(wires).collect()
}

/// Compiles one table for BPF; the error is what clang said.
fn compile(table: &Table) -> Result<PathBuf, String> {
    let (name, role, header, _) = table;
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("verifier_{role}_{name}"));
    fs::create_dir_all(&folder).expect("cargo's folder for tests is writable");
    fs::write(folder.join("law_under_test.h"), header).expect("cargo's folder for tests is writable");
    let object = folder.join("law.o");
    let output = Command::new("clang")
        .args([
            "-O2", "-g", "-target", "bpf", "-std=c11", "-Wall", "-Wextra", "-Werror", "-c",
        ])
        .arg("-I")
        .arg(crate_folder.join("../../laws"))
        .arg("-I")
        .arg(&folder)
        .arg("-DLAW_HEADER=\"law_under_test.h\"")
        .arg(format!("-DTABLE={name}_{role}"))
        .arg(format!("-DLAW_ROLE_{}", role.to_uppercase()))
        .arg(crate_folder.join("bpf/law.bpf.c"))
        .arg("-o")
        .arg(&object)
        .output()
        .map_err(|error| format!("cannot run clang: {error}"))?;
    if output.status.success() {
        Ok(object)
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// How many instructions the verifier walked through; libbpf-rs tells it only for all programs of the machine.
fn verified_instructions(program: &libbpf_rs::Program<'_>) -> u32 {
    let mut info = libbpf_sys::bpf_prog_info::default();
    let mut size = size_of_val(&info) as u32;
    // SAFETY: the kernel writes at most `size` bytes to `info`, whose pointers are null and whose counts are 0.
    let result = unsafe {
        libbpf_sys::bpf_obj_get_info_by_fd(program.as_fd().as_raw_fd(), (&raw mut info).cast(), &raw mut size)
    };
    assert_eq!(result, 0, "the program is loaded");
    info.verified_insns
}

/// Loads all programs of an object; per program its name and how many instructions the verifier walked through.
fn load(object: &Path) -> Result<Vec<(String, u32)>, String> {
    let mut builder = ObjectBuilder::default();
    let object = builder
        .open_file(object)
        .and_then(libbpf_rs::OpenObject::load)
        .map_err(|error| format!("{error:?}"))?;
    let programs = object.progs();
    Ok(programs
        .map(|program| {
            (
                program.name().to_string_lossy().into_owned(),
                verified_instructions(&program),
            )
        })
        .collect())
}

/// Why this machine cannot verify anything, if so: it is asked to load a law without functions.
fn obstacle(tables: &[Table]) -> Option<String> {
    let empty = tables.iter().find(|table| table.0 == "droptail").expect("registered");
    match Command::new("clang").arg("--version").output() {
        Err(error) => Some(format!("cannot run clang: {error}")),
        Ok(_) => load(&compile(empty).expect("an empty law compiles")).err(),
    }
}

/// Writes to the terminal even where libtest keeps the output of passing tests to itself: a skip must be seen.
fn report(line: &str) {
    writeln!(std::io::stderr(), "{line}").expect("stderr is open");
}

#[test]
fn every_law_passes_the_verifier() {
    // Goal: what was simulated can be deployed; a law that the kernel would refuse fails here.
    let tables = tables();
    assert!(tables.len() >= 16, "the registry is not empty");
    if let Some(reason) = obstacle(&tables) {
        assert!(
            std::env::var("FADELAB_REQUIRE_BPF").as_deref() != Ok("1"),
            "BPF is required here, but {reason}"
        );
        report(&format!("skipped: {reason}"));
        return;
    }
    let mut counts = Vec::new();
    for table in &tables {
        let (name, role, _, state_bytes) = *table;
        assert!(
            state_bytes <= STATE_BYTES,
            "{role} {name}: the template has room for {STATE_BYTES} bytes of state"
        );
        let object = compile(table).unwrap_or_else(|error| panic!("{role} {name} does not compile for BPF: {error}"));
        let programs = load(&object).unwrap_or_else(|error| panic!("{role} {name} is refused: {error}"));
        assert!(!programs.is_empty());
        for (program, instructions) in programs {
            assert!(instructions > 0);
            let function = program.trim_start_matches("check_");
            println!("{role:9} {name:12} {function:12} {instructions:6} instructions");
            counts.push((instructions, format!("{role} {name} {function}")));
        }
    }
    let total: u32 = counts.iter().map(|count| count.0).sum();
    let (most, which) = counts.iter().max().expect("there are programs");
    let (tables, programs) = (tables.len(), counts.len());
    report(&format!(
        "verified {tables} tables, {programs} programs, {total} instructions; most: {which}, {most}"
    ));
}
