//! A file of `tests/mutations`: what it breaks, which test must notice, and the lines that change.

use std::path::{Path, PathBuf};

/// A small fault to be put into the code.
#[derive(Debug, PartialEq, Eq)]
pub struct Mutation {
    /// The name of its file, without `.mutation`.
    pub name: String,
    /// The folder in whose files the old lines occur once; empty for the whole tree.
    pub folder: PathBuf,
    /// The words of `cargo test ...`.
    pub test: Vec<String>,
    pub hunks: Vec<Hunk>,
}

/// Neighbouring lines, in the order in which they stand.
pub type Hunk = Vec<Line>;

/// A line of a hunk; what stands before and behind its text is white space, or none of its business.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// Stays, and tells the place from others.
    Kept(String),
    Old(String),
    /// Comes. Its indentation counts, in relation to that of the first line that is there before.
    New(String),
}

impl Line {
    /// Its text where it is in the file before the mutation.
    pub fn before(&self) -> Option<&str> {
        match self {
            Self::Kept(text) | Self::Old(text) => Some(text),
            Self::New(_) => None,
        }
    }

    fn read(line: &str) -> Result<Self, String> {
        let text = line.get(1..).unwrap_or_default().to_owned();
        match line.as_bytes().first() {
            Some(b' ') => Ok(Self::Kept(text)),
            Some(b'-') => Ok(Self::Old(text)),
            Some(b'+') => Ok(Self::New(text)),
            _ => Err(format!(
                "the line `{line}` begins with none of '-' (goes), '+' (comes) and a space (stays)"
            )),
        }
    }
}

impl Mutation {
    /// Reads the text of a mutation's file.
    ///
    /// # Errors
    ///
    /// Says what is missing or wrong.
    pub fn read(name: &str, text: &str) -> Result<Self, String> {
        let mut paragraphs = text.split("\n\n").map(|paragraph| paragraph.trim_matches('\n'));
        let header = paragraphs.next().unwrap_or_default();
        let value = |key: &str| header.lines().find_map(|line| line.strip_prefix(key));
        let test: Vec<String> = value("test: ")
            .unwrap_or_default()
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        if !test.starts_with(&["cargo".to_owned(), "test".to_owned()]) {
            return Err("no line `test: cargo test -p CRATE FILTER` before the first empty line".to_owned());
        }
        if header
            .lines()
            .next()
            .is_none_or(|line| line.starts_with("test: ") || line.starts_with("in: "))
        {
            return Err("its first line does not say what it breaks".to_owned());
        }
        let hunks = paragraphs
            .filter(|paragraph| !paragraph.is_empty())
            .map(read_hunk)
            .collect::<Result<Vec<_>, _>>()?;
        if hunks.is_empty() {
            return Err("no lines to change after the first empty line".to_owned());
        }
        Ok(Self {
            name: name.to_owned(),
            folder: value("in: ").map_or_else(PathBuf::new, |folder| PathBuf::from(folder.trim())),
            test,
            hunks,
        })
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// Names the file, and says what is missing or wrong.
    pub fn load(file: &Path) -> Result<Self, String> {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        Self::read(&name, &text).map_err(|error| format!("{}: {error}; tools/mutants says the form", file.display()))
    }
}

fn read_hunk(paragraph: &str) -> Result<Hunk, String> {
    let hunk = paragraph.lines().map(Line::read).collect::<Result<Hunk, _>>()?;
    if hunk
        .iter()
        .all(|line| line.before().is_none_or(|text| text.trim().is_empty()))
    {
        return Err("a hunk with nothing to be found by: it needs a line that begins with '-' or a space".to_owned());
    }
    if hunk.iter().all(|line| matches!(line, Line::Kept(_))) {
        return Err("a hunk that changes nothing: it needs a line that begins with '-' or '+'".to_owned());
    }
    Ok(hunk)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "Ends early.\nin: crates/sim\ntest: cargo test -p x some\n\n  a\n- b\n+ c\n\n- d\n";

    #[test]
    fn reads_what_a_file_says() {
        // Goal: header and hunks come out as they stand in the file, and an empty line parts hunks.
        let mutation = Mutation::read("x-early", WHOLE).unwrap();
        assert_eq!(mutation.folder, Path::new("crates/sim"));
        assert_eq!(mutation.test.join(" "), "cargo test -p x some");
        let first = vec![
            Line::Kept(" a".to_owned()),
            Line::Old(" b".to_owned()),
            Line::New(" c".to_owned()),
        ];
        assert_eq!(mutation.hunks, [first, vec![Line::Old(" d".to_owned())]]);
    }

    #[test]
    fn says_what_is_missing() {
        // Goal: each part that a file can lack has a message of its own.
        for (from, to, word) in [
            ("test: cargo test", "test: make", "test: cargo test"),
            ("Ends early.\n", "", "what it breaks"),
            ("\n\n  a\n- b\n+ c\n\n- d\n", "\n", "no lines to change"),
            ("- b", "b", "`b`"),
            ("- d", "+ d", "nothing to be found by"),
            ("- d", "  d", "changes nothing"),
        ] {
            let error = Mutation::read("x", &WHOLE.replace(from, to)).unwrap_err();
            assert!(error.contains(word), "{from:?}: {error}");
        }
    }
}
