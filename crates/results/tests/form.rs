//! The form of a result's files and the number that `manifest.json` gives it.

mod common;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use common::{provenance, spec, trace_spec, two_laws};
use fadelab_results::manifest::FORMAT;
use fadelab_results::{Summary, Target, docs, write};
use serde_json::Value;

/// The file that holds the form, and before it its number.
const GOLDEN: &str = "crates/results/tests/golden/form.txt";

/// Where values stand in `value`, one place for all entries of a list.
fn places(value: &Value, place: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                places(value, &format!("{place}.{key}"), found);
            }
        }
        Value::Array(entries) => entries
            .iter()
            .for_each(|entry| places(entry, &format!("{place}[]"), found)),
        _ => {
            found.insert(place.to_owned());
        }
    }
}

/// The columns of all tables with their types, and where values stand in `setup.json`.
fn form() -> String {
    let mut text = String::new();
    let reference = docs::reference();
    let (tables, _) = reference.split_once("### Metrics").expect("computed, not read");
    for line in tables.lines() {
        if let Some(table) = line.strip_prefix("### ") {
            let _ = writeln!(text, "{table}");
        } else if let Some((column, kind)) = line.strip_prefix("| `").and_then(|line| line.split_once("` | ")) {
            let (kind, _) = kind.split_once(" | ").expect("four cells");
            let _ = writeln!(text, "  {column} {kind}");
        }
    }
    let mut lab = two_laws();
    lab.add_at("steady", Vec::new(), spec(1, 60), |_| 900);
    lab.add_at("steady", Vec::new(), trace_spec(1, 60), |_| 900);
    let (place, experiment) = (tempfile::tempdir().unwrap(), lab.experiment());
    let target = Target::Exact(place.path().join("result"));
    let folder = write(&target, &experiment, &Summary::of(&experiment), &provenance(), false).unwrap();
    let setup = fs::read_to_string(folder.join("setup.json")).unwrap();
    let mut found = BTreeSet::new();
    places(&serde_json::from_str(&setup).unwrap(), "", &mut found);
    let _ = writeln!(text, "setup.json");
    for place in found {
        let _ = writeln!(text, "  {place}");
    }
    text
}

#[test]
fn a_form_has_one_number() {
    // Goal: who adds or removes a column or a key of `setup.json` raises the number of the form, so that a result of a
    // build before is called one of another version and not a damaged one.
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(GOLDEN);
    let text = format!("format {FORMAT}\n{}", form());
    let before = fs::read_to_string(path).unwrap_or_default();
    assert!(
        text == before || before.lines().next() != text.lines().next(),
        "the files of a result have another form: raise `FORMAT` in crates/results/src/manifest.rs and write {GOLDEN} \
         anew with FADELAB_BLESS=1"
    );
    common::assert_golden(GOLDEN, &text);
}
