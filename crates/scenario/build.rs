//! Puts the ready-made scenarios and their traces into the program, so that it runs without the source tree.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let manifest = env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let out = env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    let folder = Path::new(&manifest).join("../../scenarios");
    let mut text = String::new();
    for (constant, folder, end) in [
        ("SCENARIOS", folder.clone(), "toml"),
        ("TRACES", folder.join("traces"), "down"),
    ] {
        println!("cargo::rerun-if-changed={}", folder.display());
        let _ = writeln!(text, "const {constant}: &[(&str, &str)] = &[");
        for file in files(&folder, end) {
            let path = fs::canonicalize(&file).expect("the file was listed");
            println!("cargo::rerun-if-changed={}", path.display());
            let name = file.file_stem().expect("the file has an end").to_string_lossy();
            let _ = writeln!(text, "    ({name:?}, include_str!({:?})),", path.display().to_string());
        }
        text.push_str("];\n");
    }
    fs::write(Path::new(&out).join("ready_made.rs"), text).expect("cargo made OUT_DIR");
}

/// Files of a folder with this end, by name.
fn files(folder: &Path, end: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("the folder can be read").path())
        .collect();
    files.retain(|path| path.extension().is_some_and(|found| found == end));
    files.sort_by_key(|path| path.file_stem().map(ToOwned::to_owned));
    files
}
