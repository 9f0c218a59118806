//! `docs/validation.md` and its pictures. Nothing in it depends on when or where it was made, so that `git diff` shows
//! which figures moved.

use std::fmt::Write;
use std::path::Path;

use crate::section::{Row, Section, Verdict, number};

/// File of the page and folder of its pictures, side by side.
const PAGE: &str = "validation.md";
const PICTURES: &str = "validation";

const INTRO: &str = "\
What the simulator computes beside what is known about it: closed forms of the literature, and ns-2 on the same networks.
`make validate` runs all of it, prints these tables, writes this page and fails when a difference is larger than its
tolerance. `fadelab-validate NAME` runs one section, and `--set KEY=VALUE` lays a key over its scenarios, for instance to
see a row fail. Every tolerance has its reason, which stood there before the first outcome was seen.

`ours` is the mean over the seeds with its 95 % t-interval; without an interval nothing in the run is random. The command
below a table makes its rows by hand; `fadelab` is `target/release/fadelab`.
";

/// Writes the page and its pictures into `folder`.
///
/// # Errors
/// A file that cannot be written.
pub fn write(folder: &Path, sections: &[Section]) -> Result<(), String> {
    let pictures = folder.join(PICTURES);
    let failed = |path: &Path, error: &std::io::Error| format!("cannot write {}: {error}", path.display());
    std::fs::create_dir_all(&pictures).map_err(|error| failed(&pictures, &error))?;
    for picture in sections.iter().flat_map(|section| &section.pictures) {
        let path = pictures.join(format!("{}.svg", picture.name));
        std::fs::write(&path, &picture.svg).map_err(|error| failed(&path, &error))?;
    }
    let path = folder.join(PAGE);
    std::fs::write(&path, markdown(sections)).map_err(|error| failed(&path, &error))
}

/// The page.
pub fn markdown(sections: &[Section]) -> String {
    let mut text = format!("# Validation\n\n{INTRO}\n{}", overview(sections));
    for section in sections {
        let _ = write!(text, "\n## {}\n\n{}\n", section.title, section.intro.trim());
        for picture in &section.pictures {
            let _ = write!(
                text,
                "\n![{0}]({PICTURES}/{1}.svg)\n\n*{0}*\n",
                picture.caption, picture.name
            );
        }
        let _ = write!(text, "\n{}", table(&section.rows));
        text += &notes(section);
    }
    text
}

fn overview(sections: &[Section]) -> String {
    let mut text = String::from("| section | rows | hold | hold with a parameter | differ |\n|---|---|---|---|---|\n");
    for section in sections {
        let count = |wanted: fn(&Verdict) -> bool| section.rows.iter().filter(|row| wanted(&row.verdict)).count();
        let _ = writeln!(
            text,
            "| [{}](#{}) | {} | {} | {} | {} |",
            section.title,
            anchor(&section.title),
            section.rows.len(),
            count(|verdict| *verdict == Verdict::Holds),
            count(|verdict| matches!(verdict, Verdict::HoldsWith(_))),
            count(|verdict| *verdict == Verdict::Differs)
        );
    }
    text
}

/// The anchor that Markdown gives a heading: lower case, spaces as hyphens, other signs dropped.
fn anchor(title: &str) -> String {
    let kept = title
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "| case | quantity | unit | reference | ours | difference | tolerance | verdict |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            row.case,
            row.quantity,
            row.unit,
            number(row.reference),
            row.ours_text(),
            row.difference(),
            row.tolerance.text(),
            row.verdict.text()
        );
    }
    text
}

/// Below the table: why each tolerance is what it is, remarks, and commands; each once.
fn notes(section: &Section) -> String {
    let rows = || section.rows.iter();
    let reasons = rows()
        .filter(|row| !row.tolerance.reason.is_empty())
        .map(|row| format!("- {}: {}", row.tolerance.text(), row.tolerance.reason));
    let remarks = rows()
        .filter(|row| !row.note.is_empty())
        .map(|row| format!("- {}, {}: {}", row.case, row.quantity, row.note));
    let commands = rows()
        .filter(|row| !row.command.is_empty())
        .map(|row| row.command.clone());
    let mut text = String::new();
    for (head, lines, fence) in [
        ("Tolerances:", distinct(reasons), ""),
        ("Remarks:", distinct(remarks), ""),
        ("By hand:", distinct(commands), "```\n"),
    ] {
        if !lines.is_empty() {
            let _ = write!(text, "\n{head}\n\n{fence}{}\n{fence}", lines.join("\n"));
        }
    }
    text
}

/// The lines in their order, each once.
fn distinct(lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    for line in lines {
        if !seen.contains(&line) {
            seen.push(line);
        }
    }
    seen
}
