//! The tables of keys in `docs/scenario.md`, made from the declarations.

use std::fmt::Write;
use std::path::Path;

use crate::keys::{Absent, Key, TABLES};
use crate::{Options, parse};

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
            key.meaning
        );
    }
    text
}

const PRESETS: [&str; 4] = ["rfc", "ns2", "vcp-release", "linux"];

/// The table of `[transport]`: a column for each preset, read from what resolved scenarios say.
fn transport(keys: &[Key]) -> String {
    let mut text = format!(
        "| key | type | {} | meaning |\n|---|---|{}---|\n",
        PRESETS.join(" | "),
        "---|".repeat(PRESETS.len())
    );
    let resolved = PRESETS.map(|preset| {
        let network = "topology.bottleneck = {rate = '1 Mbit/s', delay = '1 ms'}";
        let scenario = format!("transport.preset = '{preset}'\nflow.law = 'reno'\n{network}\n");
        parse(scenario.as_bytes(), "preset", Path::new(""), &Options::default()).map_or_else(
            |refusal| refusal.to_string(),
            |plan| {
                plan.text
                    .split("\n[")
                    .find(|part| part.starts_with("transport]"))
                    .unwrap_or("")
                    .to_owned()
            },
        )
    });
    for key in keys {
        let value = |section: &String| {
            let start = format!("{} = ", key.name);
            section
                .lines()
                .find_map(|line| line.strip_prefix(&start))
                .map_or_else(String::new, |value| format!("`{value}`"))
        };
        let values = if key.default == Absent::Preset {
            resolved.each_ref().map(value).join(" | ")
        } else {
            " | ".repeat(PRESETS.len() - 1)
        };
        let _ = writeln!(
            text,
            "| `{}` | {} | {values} | {} |",
            key.name,
            key.kind.name(),
            key.meaning
        );
    }
    text
}
