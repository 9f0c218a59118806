//! The tables of keys in `docs/scenario.md`, made from the declarations.

use std::fmt::Write;

use crate::key::{Absent, Key};
use crate::keys::TABLES;
use crate::transport::{FIELDS, Stack};
use crate::value::Words;

/// What stands before each generated table, with the path of its keys.
const MARK: &str = "<!-- keys of ";

/// The page with its tables as they should be: what follows a mark, up to the next line that is no row, is replaced.
pub fn with_tables(page: &str) -> String {
    let mut text = String::new();
    let mut is_table = false;
    for line in page.lines() {
        if is_table && line.starts_with('|') {
            continue;
        }
        is_table = false;
        let _ = writeln!(text, "{line}");
        if let Some(path) = line.strip_prefix(MARK).and_then(|rest| rest.strip_suffix(" -->")) {
            is_table = true;
            text.push_str(&table(path));
        }
    }
    text
}

/// The tables that the page must have: the first path of each.
pub fn paths() -> Vec<&'static str> {
    TABLES
        .iter()
        .map(|table| table.paths[0])
        .filter(|path| !path.is_empty())
        .collect()
}

fn table(path: &str) -> String {
    let found = TABLES.iter().find(|table| table.paths.contains(&path));
    let keys = found.map_or(&[][..], |table| table.keys);
    if keys.iter().any(|key| key.default == Absent::Preset) {
        return transport(keys);
    }
    let mut text = "| key | type | default | meaning |\n|---|---|---|---|\n".to_owned();
    for key in keys {
        let default = match key.default {
            Absent::Is(value) => format!("`{value}`"),
            Absent::Needed => "needed".to_owned(),
            Absent::Nothing | Absent::Preset => "none".to_owned(),
            Absent::Words(words) => words.to_owned(),
        };
        let _ = writeln!(
            text,
            "| `{}` | {} | {default} | {} |",
            key.name,
            key.kind.name(),
            key.meaning()
        );
    }
    text
}

/// The table of `[transport]`: a column for each preset.
fn transport(keys: &[Key]) -> String {
    let names: Vec<&str> = Stack::WORDS.iter().map(|(name, _)| *name).collect();
    let mut text = format!(
        "| key | type | {} | meaning |\n|---|---|{}---|\n",
        names.join(" | "),
        "---|".repeat(names.len())
    );
    for key in keys {
        let field = FIELDS.iter().find(|field| field.key.name == key.name);
        let value = |stack: &Stack| field.map_or_else(String::new, |field| format!("`{}`", (field.shown)(stack)));
        let values: Vec<String> = Stack::WORDS.iter().map(|(_, stack)| value(stack)).collect();
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} |",
            key.name,
            key.kind.name(),
            values.join(" | "),
            key.meaning()
        );
    }
    text
}
