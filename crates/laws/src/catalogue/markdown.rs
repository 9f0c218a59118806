//! The catalogue as pages of Markdown: `docs/laws`.

use std::fmt::Write;

use crate::catalogue::{Block, Entry, Role, Section};
use crate::watch::WatchInfo;

/// File name of an entry's page, for example `sender-vcp.md`.
pub fn page_name(entry: &Entry) -> String {
    format!("{}-{}.md", entry.role.name(), entry.name)
}

/// First line of each page, for those who would edit it.
const GENERATED: &str = "<!-- Made from the headers in laws/ by crates/laws/tests/catalogue.rs; edit those. -->\n\n";

/// The page that lists all others.
pub fn index(entries: &[Entry]) -> String {
    let mut text = format!(
        "{GENERATED}# Laws\n\nWhat is registered in `laws/REGISTRY`, and what laws share. `fadelab laws` prints the \
         lists, `fadelab explain NAME` the pages.\n"
    );
    let has_entries = |role: &Role| entries.iter().any(|entry| entry.role == *role);
    for role in Role::ALL.into_iter().filter(has_entries) {
        let needs = if role == Role::Capacity { "gives" } else { "needs" };
        let _ = writeln!(
            text,
            "\n## {}\n\n| name | summary | {needs} | source |\n|---|---|---|---|",
            role.heading()
        );
        for entry in entries.iter().filter(|entry| entry.role == role) {
            let [summary, needs, source] = [&entry.summary, &entry.needs, &entry.source()].map(|text| cell(text));
            let _ = writeln!(
                text,
                "| [`{}`]({}) | {summary} | {needs} | {source} |",
                entry.name,
                page_name(entry)
            );
        }
    }
    text
}

pub fn page(entry: &Entry) -> String {
    let mut text = format!("{GENERATED}# {} `{}`\n", title(entry.role), entry.name);
    // Parts and receivers have no summary but the first sentence of their text.
    if !matches!(entry.role, Role::Receiver | Role::Part) {
        let _ = writeln!(text, "\n{}.", escaped(&entry.summary));
    }
    let _ = writeln!(text, "\nHeader: [`{0}`](../../{0})", entry.path);
    if !entry.facts.is_empty() {
        let _ = writeln!(text, "\n| | |\n|---|---|");
    }
    for (label, value) in &entry.facts {
        let _ = writeln!(text, "| {label} | {} |", cell(value));
    }
    for section in &entry.sections {
        write_section(&mut text, entry, section);
        if section.title == "Parameters" {
            write_watch(&mut text, entry.watch);
        }
    }
    text
}

fn title(role: Role) -> &'static str {
    match role {
        Role::Sender => "Sender",
        Role::Receiver => "Receiver",
        Role::Router => "Router",
        Role::Capacity => "Capacity part",
        Role::Gateway => "Gateway",
        Role::Wire => "Format of packets",
        Role::Part => "Shared part",
    }
}

fn write_section(text: &mut String, entry: &Entry, section: &Section) {
    match (section.title.as_str(), section.qualifier.as_str()) {
        ("", _) => {}
        (title, "") => {
            let _ = writeln!(text, "\n## {title}");
        }
        (title, qualifier) => {
            let _ = writeln!(text, "\n## {title}{}", escaped(qualifier));
        }
    }
    if section.title == "Parameters" && !entry.params.is_empty() {
        let _ = writeln!(
            text,
            "\n| name | default | unit | range | source | meaning |\n|---|---|---|---|---|---|"
        );
        for info in entry.params {
            let row = [
                &info.written(info.value),
                info.kind(),
                &info.range(),
                info.source,
                info.meaning,
            ]
            .map(cell);
            let _ = writeln!(text, "| `{}` | {} |", info.name, row.join(" | "));
        }
    }
    for block in &section.blocks {
        text.push('\n');
        match block {
            Block::Paragraph(prose) => {
                let _ = writeln!(text, "{}", escaped(prose));
            }
            Block::Formula(lines) => {
                let _ = writeln!(text, "```\n{}\n```", lines.join("\n"));
            }
            Block::List(items) => {
                for (number, item) in items.iter().enumerate() {
                    let _ = writeln!(text, "{}. {}", number + 1, escaped(item));
                }
            }
        }
    }
}

fn write_watch(text: &mut String, watch: &[WatchInfo]) {
    if watch.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n## Values to watch\n\n| name | unit | meaning |\n|---|---|---|");
    for info in watch {
        let [unit, meaning] = [&info.unit.replace('|', ", "), info.meaning].map(cell);
        let _ = writeln!(text, "| `{}` | {unit} | {meaning} |", info.name);
    }
}

/// Prose in which Markdown finds no markup but code between backticks.
fn escaped(prose: &str) -> String {
    let mut text = String::with_capacity(prose.len());
    let mut in_code = false;
    for letter in prose.chars() {
        in_code ^= letter == '`';
        if !in_code && matches!(letter, '*' | '_' | '<' | '\\' | '[') {
            text.push('\\');
        }
        text.push(letter);
    }
    text
}

/// Prose in a cell of a table, where a bar would end the cell even in code.
fn cell(prose: &str) -> String {
    escaped(prose).replace('|', "\\|")
}
