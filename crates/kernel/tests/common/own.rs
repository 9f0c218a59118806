//! Laws brought as a user brings one: those of `tests/laws`, and those that a test has as text.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use fadelab_laws::own::{self, Source, SourceFile};

/// Laws that tests brought so far.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// Brings a law under a name of its own, which it gives: builds of the whole workspace have it registered already, and
/// each test brings its own.
pub fn bring(name: &str, change: impl Fn(String) -> String) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../tests/laws/{name}.h"));
    let text = fs::read_to_string(path).expect("a test law");
    let own_name = format!("k{}{name}", COUNT.fetch_add(1, Ordering::Relaxed));
    let text = change(text)
        .replace(&format!("{name}_"), &format!("{own_name}_"))
        .replace(&format!("\"{name}\""), &format!("\"{own_name}\""));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(format!("{own_name}.h"));
    fs::write(&path, text).expect("room");
    own::load(&path).unwrap_or_else(|error| panic!("{error}"));
    own_name
}

/// Brings a law, or several of one file, that a test has as text.
pub fn bring_text(name: &str, text: &str) {
    let file = format!("{name}.h");
    own::load_text(&Source {
        name: name.to_owned(),
        path: file.clone().into(),
        files: vec![SourceFile {
            name: file,
            text: text.to_owned(),
        }],
        ..Source::default()
    })
    .unwrap_or_else(|error| panic!("{error}"));
}
