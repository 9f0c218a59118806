//! Lists the headers that a law may include, so that the program carries them with it.

use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Rust with the name and text of each `.h` below `laws` and of each in `guard`, which is then named `guard/...`.
pub fn rust_source(laws: &Path, guard: &Path) -> String {
    let mut files = Vec::new();
    collect(laws, "", &mut files);
    collect(guard, "guard/", &mut files);
    files.sort();
    let mut text = String::from("const HEADERS: &[(&str, &str)] = &[\n");
    for (name, path) in files {
        writeln!(text, "    ({name:?}, include_str!({path:?})),").expect("writing to a string cannot fail");
    }
    text + "];\n"
}

fn collect(folder: &Path, prefix: &str, files: &mut Vec<(String, String)>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("cannot read {}: {error}", folder.display()));
    for entry in entries {
        let path = entry.expect("an entry of a folder").path();
        let name = path
            .file_name()
            .expect("an entry has a name")
            .to_string_lossy()
            .into_owned();
        if path.is_dir() && name != "proofs" {
            collect(&path, &format!("{prefix}{name}/"), files);
        } else if path.extension().is_some_and(|extension| extension == "h") {
            files.push((format!("{prefix}{name}"), path.display().to_string()));
        }
    }
}
