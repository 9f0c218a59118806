//! Results that are damaged or of another version, in every command that reads results.

mod common;

use std::fs;

use common::{Scratch, assert_status, stderr};

/// Each command that reads a result from the folder `r`.
const COMMANDS: [&[&str]; 6] = [
    &["report", "r", "--out", "page.html"],
    &["diff", "r", "good"],
    &["diff", "good", "r"],
    &["export", "r", "--out", "tables"],
    &["table", "r", "--csv"],
    &["figure", "r"],
];

/// A folder with two equal results, `good` and `r`.
fn results() -> Scratch {
    let scratch = Scratch::new();
    for out in ["good", "r"] {
        let set = "flow.law=vcp";
        let output = scratch.fadelab(&["run", "s.toml", "-q", "--seeds", "1", "--set", set, "--out", out]);
        assert_status(&output, 0);
    }
    scratch
}

/// Every command fails with one line that has these words, and writes nothing.
fn assert_told(scratch: &Scratch, commands: &[&[&str]], words: &[&str]) {
    let before = scratch.entries(".");
    for command in commands {
        let output = scratch.fadelab(command);
        assert_status(&output, 2);
        let message = stderr(&output);
        assert_eq!(message.lines().count(), 1, "{command:?}: {message}");
        for word in words {
            assert!(message.contains(word), "{command:?}, `{word}`: {message}");
        }
    }
    assert_eq!(scratch.entries("."), before);
}

#[test]
fn a_table_that_is_missing_or_cut_is_told_in_a_line() {
    // Goal: whichever command meets a damaged result says which file, what is wrong with it and what to do.
    let remedy = "Run its scenario again, which is in manifest.json";
    let scratch = results();
    let table = scratch.0.join("r/flows.parquet");
    let whole = fs::read(&table).unwrap();
    fs::write(&table, &whole[..whole.len() / 2]).unwrap();
    assert_told(&scratch, &COMMANDS, &["r/flows.parquet is damaged: ", remedy]);
    fs::remove_file(&table).unwrap();
    assert_told(
        &scratch,
        &COMMANDS,
        &["r/flows.parquet is damaged: it is missing", remedy],
    );
    fs::write(&table, whole).unwrap();
    fs::write(scratch.0.join("r/setup.json"), "{").unwrap();
    assert_told(&scratch, &COMMANDS, &["r/setup.json is damaged: ", remedy]);
}

#[test]
fn a_manifest_that_is_missing_or_cut_is_told_in_a_line() {
    // Goal: the same without the file that holds the scenario, which `explain` reads too.
    let scratch = results();
    let explain: &[&str] = &["explain", "r", "--at", "6s"];
    let commands = [&COMMANDS[..], &[explain]].concat();
    let manifest = scratch.0.join("r/manifest.json");
    let whole = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, &whole[..40]).unwrap();
    let remedy = "Run its scenario again, from its own file";
    assert_told(&scratch, &commands, &["r/manifest.json is damaged: ", remedy]);
    fs::remove_file(&manifest).unwrap();
    let words = ["manifest.json cannot be read", "Give a folder that `fadelab run` wrote"];
    assert_told(&scratch, &commands, &words);
}

#[test]
fn a_result_of_another_version_is_told_in_a_line() {
    // Goal: of a version with another form of files nothing is read, and both are named with what to do; one that can
    // be read is, with a warning.
    let scratch = results();
    let explain: &[&str] = &["explain", "r", "--at", "6s"];
    let commands = [&COMMANDS[..], &[explain]].concat();
    let manifest = fs::read_to_string(scratch.0.join("r/manifest.json")).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    let other = manifest.replace(&format!("\"version\": \"{version}\""), "\"version\": \"9.9.9\"");
    assert_ne!(manifest, other);
    scratch.write("r/manifest.json", &other);
    let output = scratch.fadelab(&["table", "r", "--csv"]);
    assert_status(&output, 0);
    let warning = format!("warning: r: the result is of fadelab 9.9.9, and this is {version}");
    assert!(stderr(&output).starts_with(&warning), "{}", stderr(&output));
    scratch.write("r/manifest.json", other.replace("\"format\": 2", "\"format\": 7"));
    let words = [
        "r was written by fadelab 9.9.9 (format 7)",
        "Read it with that version, or run the scenario",
    ];
    assert_told(&scratch, &commands, &words);
}

#[test]
fn a_result_in_place_of_a_scenario_is_told_in_a_line() {
    // Goal: who gives the folder of a result to a command that wants a scenario learns which commands read results.
    let scratch = results();
    let commands: [&[&str]; 4] = [&["show", "r"], &["check", "r"], &["run", "r"], &["compare", "r"]];
    assert_told(
        &scratch,
        &commands,
        &["r: this is a result, where a scenario is wanted", "fadelab explain"],
    );
}
