//! Writes the resolved scenario: everything that was read, defaults included, sweeps as lists.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::reader::Seen;
use crate::schema;
use crate::sweep::Axis;

/// What all points of a sweep read, key by key.
#[derive(Default)]
pub struct Resolved {
    /// Text of each key, `None` where points differ although the key is not swept: it follows from the sweep.
    values: BTreeMap<String, Option<String>>,
    /// Text of each value of swept keys; values that no point read yet are empty.
    lists: BTreeMap<String, Vec<String>>,
    /// Paths of tables whose names the scenario chose, in the order in which they were written.
    chosen: Vec<String>,
}

impl Resolved {
    /// Nothing yet, of a scenario that chose these names, see [`schema::chosen_names`].
    pub fn new(chosen: Vec<String>) -> Self {
        Self {
            chosen,
            ..Self::default()
        }
    }

    /// Takes over what one point read.
    pub fn add(&mut self, seen: &[Seen], axes: &[Axis], picks: &BTreeMap<String, usize>) {
        for Seen { path, text } in seen {
            if let Some(pick) = picks.get(path) {
                let len = axes.iter().find(|axis| axis.path == *path).map_or(0, |axis| axis.len);
                self.lists
                    .entry(path.clone())
                    .or_insert_with(|| vec![String::new(); len])[*pick]
                    .clone_from(text);
            } else {
                let value = self.values.entry(path.clone()).or_insert_with(|| Some(text.clone()));
                if value.as_ref() != Some(text) {
                    *value = None;
                }
            }
        }
    }

    /// Whether any point read the key.
    pub fn has(&self, path: &str) -> bool {
        self.values.contains_key(path) || self.lists.contains_key(path)
    }

    /// The whole as TOML.
    pub fn text(&self) -> String {
        let mut lines: Vec<(&str, String)> = Vec::new();
        for (path, value) in &self.values {
            let key = path.rsplit('.').next().unwrap_or(path);
            lines.push((
                path,
                match value {
                    Some(text) => format!("{key} = {text}"),
                    None => format!("# {key} differs from run to run: it follows from what is swept"),
                },
            ));
        }
        for (path, texts) in &self.lists {
            let key = path.rsplit('.').next().unwrap_or(path);
            lines.push((path, format!("{key} = [{}]", texts.join(", "))));
        }
        // A group of flows without keys of its own is still a group: its table stands empty.
        let groups: Vec<String> = self
            .chosen
            .iter()
            .filter(|table| table.starts_with("flow."))
            .map(|table| format!("{table}."))
            .collect();
        for group in &groups {
            if !lines.iter().any(|(path, _)| path.starts_with(group.as_str())) {
                lines.push((group, String::new()));
            }
        }
        lines.sort_by_key(|(path, _)| rank(path, &self.chosen));
        let mut text = String::new();
        let mut table = "";
        for (path, line) in lines {
            let parent = path.rsplit_once('.').map_or("", |(parent, _)| parent);
            if parent != table {
                let _ = write!(text, "\n[{parent}]\n");
                table = parent;
            }
            if !line.is_empty() {
                let _ = writeln!(text, "{line}");
            }
        }
        text
    }
}

/// Order of keys: by section, keys of a table before its sub-tables, links, tunnels, channels and groups of flows as
/// they were written, then as documented, then by name. Sweeps are nested in the same order, so that it does not matter
/// where in a file a list stands.
pub fn rank(path: &str, chosen: &[String]) -> (usize, usize, String, usize, String) {
    const SECTIONS: [&str; 12] = [
        "title",
        "about",
        "run",
        "topology",
        "link",
        "tunnel",
        "channel",
        "transport",
        "versus",
        "flow",
        "router",
        "law",
    ];
    let section = path.split('.').next().unwrap_or(path);
    let section_rank = SECTIONS
        .iter()
        .position(|name| *name == section)
        .unwrap_or(SECTIONS.len());
    let is_in = |table: &&String| {
        path.strip_prefix(table.as_str())
            .is_some_and(|rest| rest.starts_with('.'))
    };
    let chosen_rank = chosen
        .iter()
        .position(|table| is_in(&table))
        .map_or(0, |index| index + 1);
    let parent = path.rsplit_once('.').map_or("", |(parent, _)| parent);
    let documented = schema::find(path).map_or(usize::MAX, |(index, _)| index);
    (
        section_rank,
        chosen_rank,
        parent.to_owned(),
        documented,
        path.to_owned(),
    )
}
