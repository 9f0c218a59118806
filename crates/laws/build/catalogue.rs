//! Writes the list of headers from which the catalogue is made: the laws and formats of `laws/REGISTRY` and the parts
//! that they share.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::registry::Entry;

/// The Rust side: `HEADERS`, a list of (role, name, path in the tree, text), laws in the order of the registry and then
/// parts by name.
pub fn rust_source(root: &Path, laws: &[Entry]) -> String {
    let registered = laws
        .iter()
        .map(|law| (law.role.clone(), law.name.clone(), law.header.clone()));
    let mut parts: Vec<_> = fs::read_dir(root.join("laws/part"))
        .expect("laws/part exists")
        .map(|file| file.expect("the folder can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "h"))
        .collect();
    parts.sort();
    let parts = parts.iter().map(|path| {
        let name = path.file_stem().expect("it has an extension").to_string_lossy();
        ("part".to_owned(), name.into_owned(), path.display().to_string())
    });
    let mut text = "const HEADERS: &[(Role, &str, &str, &str)] = &[\n".to_owned();
    for (role, name, header) in registered.chain(parts) {
        let path = Path::new(&header)
            .strip_prefix(root)
            .expect("headers lie in the tree")
            .display()
            .to_string();
        let role = ["sender", "receiver", "router", "capacity", "gateway", "wire", "part"]
            .iter()
            .position(|known| *known == role);
        let role = ["Sender", "Receiver", "Router", "Capacity", "Gateway", "Wire", "Part"]
            [role.expect("the registry was checked")];
        writeln!(
            text,
            "    (Role::{role}, {name:?}, {path:?}, include_str!({header:?})),"
        )
        .expect("a string");
    }
    text + "];\n"
}
