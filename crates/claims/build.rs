//! Puts what is claimed of the papers into the program, so that `fadelab reproduce` runs without the source tree.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let manifest = env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let out = env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    let papers = Path::new(&manifest).join("../../papers");
    let mut text = "const FILES: &[(&str, &str, &str)] = &[\n".to_owned();
    for folder in sorted(&papers) {
        for file in sorted(&folder) {
            if file.extension().is_none_or(|end| end != "toml") {
                continue;
            }
            let path = fs::canonicalize(&file).expect("the file was listed");
            println!("cargo::rerun-if-changed={}", path.display());
            let names = [&folder, &file].map(|path| path.file_name().map(|name| name.to_string_lossy()));
            let [Some(paper), Some(name)] = names else { continue };
            let path = path.display().to_string();
            let _ = writeln!(text, "    ({paper:?}, {name:?}, include_str!({path:?})),");
        }
    }
    text.push_str("];\n");
    fs::write(Path::new(&out).join("papers.rs"), text).expect("cargo made OUT_DIR");
}

/// What a folder holds, by name; nothing for a file.
fn sorted(folder: &Path) -> Vec<PathBuf> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}
