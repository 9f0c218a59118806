//! `docs/validation.md` and its pictures. Nothing in it depends on when or where it was made, so that `git diff` shows
//! which figures moved.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::section::{Row, Section, Verdict, number};

/// File of the page and folder of its pictures, side by side.
const PAGE: &str = "validation.md";
const PICTURES: &str = "validation";

const INTRO: &str = "\
What the simulator computes beside what is known about it: closed forms of the literature, and ns-2 on the same
networks; and laws in a kernel beside Linux's modules of their names. `make validate` runs all of it, prints these
tables, writes this page and fails when a difference is larger than its tolerance. `cargo run --release -p
fadelab-validate -- reno` runs the section on Reno alone (`--help` lists them all), and `--set KEY=VALUE` lays a key
over the scenarios of closed forms: see a row fail.

Tolerances and their reasons were written before the first outcome was seen. Where a row missed its first bound, the
text says what was wrong; no tolerance was made wider. `ours` is the mean over the seeds with its 95 % t-interval;
without an interval nothing in the run is random. The commands below a table make its rows by hand from the top of the
project, with `target/release` in the path; seeds are in the scenarios.
";

/// Writes the page and its pictures into `folder`. Returns the path of the page.
///
/// # Errors
/// A file that cannot be written.
pub fn write(folder: &Path, sections: &[Section]) -> Result<PathBuf, String> {
    let pictures = folder.join(PICTURES);
    let failed = |path: &Path, error: &std::io::Error| format!("cannot write {}: {error}", path.display());
    std::fs::create_dir_all(&pictures).map_err(|error| failed(&pictures, &error))?;
    for picture in sections.iter().flat_map(|section| &section.pictures) {
        let path = pictures.join(format!("{}.svg", picture.name));
        std::fs::write(&path, &picture.svg).map_err(|error| failed(&path, &error))?;
    }
    let path = folder.join(PAGE);
    std::fs::write(&path, markdown(sections)).map_err(|error| failed(&path, &error))?;
    Ok(path)
}

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
    let mut text = String::from(
        "| section | rows | hold | hold with a parameter | apart, as known | differ |\n|---|---|---|---|---|---|\n",
    );
    for section in sections {
        let count = |wanted: fn(&Verdict) -> bool| section.rows.iter().filter(|row| wanted(&row.verdict)).count();
        let _ = writeln!(
            text,
            "| [{}](#{}) | {} | {} | {} | {} | {} |",
            section.title,
            anchor(&section.title),
            section.rows.len(),
            count(|verdict| matches!(verdict, Verdict::Holds | Verdict::Seen)),
            count(|verdict| matches!(verdict, Verdict::HoldsWith(_))),
            count(|verdict| *verdict == Verdict::Apart),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::section::{Picture, Tolerance};
    use fadelab_results::interval::Stat;

    fn section() -> Section {
        let ours = Stat::of(&[1.0, 1.2]).expect("there are values");
        let row = |case: &str, reference| {
            let row = Row::new(case, "queue", "pkt", reference, ours, Tolerance::part(0.1, "a reason"));
            row.with_note("a remark").by("fadelab run x.toml")
        };
        Section {
            name: "some",
            title: "Queues, and a law's".to_owned(),
            intro: "What it is.".to_owned(),
            rows: vec![row("one", 1.05), row("two", 2.0)],
            pictures: vec![Picture {
                name: "some".to_owned(),
                caption: "A queue".to_owned(),
                svg: "<svg/>".to_owned(),
            }],
        }
    }

    #[test]
    fn a_page_has_every_row_with_its_reason_remark_and_command() {
        // Goal: heading, picture and both rows stand there; what is the same for both rows stands there once.
        let text = markdown(&[section()]);
        for part in [
            "| [Queues, and a law's](#queues-and-a-laws) | 2 | 1 | 0 | 0 | 1 |",
            "## Queues, and a law's\n\nWhat it is.\n",
            "![A queue](validation/some.svg)",
            "| one | queue | pkt | 1.050 | 1.100 ± 1.3 | +4.76 % | 10 % | holds |",
            "| two | queue | pkt | 2 | 1.100 ± 1.3 | -45.00 % | 10 % | DIFFERS |",
            "- one, queue: a remark\n- two, queue: a remark\n",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        for once in ["- 10 %: a reason\n", "```\nfadelab run x.toml\n```\n"] {
            assert_eq!(text.matches(once).count(), 1, "{once}\n{text}");
        }
    }

    #[test]
    fn a_page_that_cannot_be_written_says_where() {
        // Goal: the folder of the page is a file: the path is in the message.
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        std::fs::write(&file, "").expect("a file");
        let message = write(&file, &[section()]).expect_err("a file is no folder");
        assert!(
            message.starts_with("cannot write ") && message.contains("file/validation"),
            "{message}"
        );
        assert_eq!(
            write(folder.path(), &[section()]),
            Ok(folder.path().join("validation.md"))
        );
        assert!(folder.path().join("validation/some.svg").exists());
    }
}
