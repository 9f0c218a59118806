//! Whatever the input, the answer is a plan that holds together or a refusal that a person can read: replays what
//! `make fuzz` knows and found, and some thousand changed inputs besides.

#[path = "../../../fuzz/mutate.rs"]
mod mutate;
#[path = "../../../fuzz/properties.rs"]
mod properties;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};

fn fuzz(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz").join(folder)
}

/// All inputs of a kind, in the order of their names.
fn inputs(kind: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let mut folders = vec![fuzz("corpus").join(kind), fuzz("crashes").join(kind)];
    if kind == "scenario" {
        folders.push(fuzz("../scenarios"));
    }
    let mut paths: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| fs::read_dir(folder).into_iter().flatten())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .collect();
    paths.sort();
    paths
        .into_iter()
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect()
}

/// Checks the property for each input and for `changes` changes of it, the same ones every time.
fn replay(kind: &str, changes: u64, property: fn(&[u8])) {
    let inputs = inputs(kind);
    assert!(inputs.len() >= 4, "fuzz/corpus/{kind} is not there");
    let check = |name: &Path, bytes: &[u8]| {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| property(bytes))) {
            eprintln!(
                "{}: this input broke it:\n{}",
                name.display(),
                String::from_utf8_lossy(bytes)
            );
            resume_unwind(panic);
        }
    };
    for (seed, (path, bytes)) in inputs.iter().enumerate() {
        check(path, bytes);
        let mut draw = mutate::drawn_from(seed as u64);
        let text = String::from_utf8_lossy(bytes);
        for _ in 0..changes {
            check(path, mutate::changed(&text, &mut draw).as_bytes());
        }
    }
}

#[test]
fn scenarios_are_planned_or_refused() {
    // Goal: known and changed files end in a plan that reads back from its own text and begins to run, or in a refusal
    // of one line with a place.
    replay("scenario", 10, properties::scenario);
}

#[test]
fn arguments_of_set_are_taken_or_refused() {
    // Goal: the same for arguments of --set over ready-made scenarios.
    replay("set", 10, properties::set);
}

#[test]
fn traces_repeat_or_are_refused() {
    // Goal: known and changed traces are read and repeat as they should, or are refused in a line.
    replay("trace", 20, properties::trace);
}
