//! What stands at the top of a scenario: its title, and what it shows.

use std::path::Path;

use crate::error::Refusal;
use crate::key::{
    Absent::{Is, Words},
    Declared, keys,
};
use crate::reader::Reader;

keys! {
    KEYS;
    TITLE: String = Declared::new("title", Words("name of the file"), "names the scenario");
    ABOUT: String = Declared::new("about", Is("\"\""), "what the scenario shows");
}

/// Reads both; `path` is that of the scenario's file.
pub fn read(reader: &mut Reader<'_>, path: &Path) -> Result<(String, String), Refusal> {
    let stem = path
        .file_stem()
        .map_or_else(|| "scenario".to_owned(), |stem| stem.to_string_lossy().into_owned());
    Ok((reader.take_or("", &TITLE, stem)?, reader.take("", &ABOUT)?))
}
