//! Files of `tests/golden`: what stands there is compared with what the tests make anew, or written with
//! `FADELAB_BLESS=1`.
#![allow(dead_code, reason = "each test binary uses its part")]

pub mod rows;
pub mod standard;
pub mod text;

use std::fs;
use std::path::PathBuf;

/// A file of `tests/golden`.
pub fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/golden")
        .join(name)
}

/// What to do when numbers moved, at the end of each difference that the tests print.
pub const ADVICE: &str = "\
If the change is meant: make bless
writes the files anew, and a line under `Changed numbers` in CHANGELOG.md says which numbers moved, by how much and why.
";

/// Compares `now` with the file; `moved` says in words what the two do not share. Writes it instead when blessing.
pub fn compare(name: &str, now: &str, moved: impl FnOnce(&str, &str) -> Vec<String>) {
    let file = path(name);
    if std::env::var_os("FADELAB_BLESS").is_some_and(|value| !value.is_empty()) {
        fs::write(&file, now).unwrap();
        return;
    }
    let before = fs::read_to_string(&file).unwrap_or_default();
    if before == now {
        return;
    }
    let mut lines = moved(&before, now);
    if lines.is_empty() {
        lines.push("no number, but the text around them".to_owned());
    }
    panic!(
        "tests/golden/{name}: these moved:\n  {}\n\n{ADVICE}",
        lines.join("\n  ")
    );
}
