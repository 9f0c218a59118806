//! Folders with a scenario and a law in them.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

const SCENARIO: &str = r#"
[run]
duration = "10 s"

[topology.bottleneck]
rate = "2 Mbit/s"
delay = "20 ms"
buffer = "20 pkt"

[flow]
law = "reno"
count = 2
start = "0 s"
"#;

/// A folder of its own with a scenario in it.
pub fn place() -> TempDir {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("s.toml"), SCENARIO).unwrap();
    place
}

/// Status, output and messages of a command.
pub fn fadelab(place: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output: Output = Command::new(env!("CARGO_BIN_EXE_fadelab"))
        .args(arguments)
        .current_dir(place)
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap_or(-1),
        text(output.stdout),
        text(output.stderr),
    )
}

/// The skeleton of a role with one piece of text replaced by another.
pub fn edited(place: &Path, role: &str, from: &str, to: &str) {
    let (status, _, message) = fadelab(place, &["new-law", "mine", "--role", role]);
    assert_eq!(status, 0, "{message}");
    let path = place.join("mine.h");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "`{from}` is not in the skeleton of a {role}");
    fs::write(path, text.replacen(from, to, 1)).unwrap();
}
