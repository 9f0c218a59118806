//! The tracked files of the tree, and where in them the lines of a mutation are.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::mutation::{Hunk, Line, Mutation};

/// Where mutations are; nothing is searched there.
pub const MUTATIONS: &str = "tests/mutations";

/// Contents of the tracked files, edits included, by path from the top.
pub struct Sources {
    pub files: BTreeMap<PathBuf, Vec<u8>>,
}

/// What a mutation makes of the files that it touches.
pub type Changed = BTreeMap<PathBuf, String>;

/// Where the old lines of a hunk begin: a file, and a line of it counted from 0.
type Place<'a> = (&'a Path, usize);

impl Sources {
    /// Reads what git tracks or would track in the tree `top`.
    ///
    /// # Errors
    ///
    /// When git cannot list them, or one cannot be read.
    pub fn read(top: &Path) -> Result<Self, String> {
        let mut files = BTreeMap::new();
        let listed = git(top, &["ls-files", "-z", "--cached", "--others", "--exclude-standard"])?;
        for path in listed.split('\0').filter(|path| !path.is_empty()) {
            let whole = top.join(path);
            // One that is tracked may have been removed since.
            if whole.is_file() {
                let content = std::fs::read(&whole).map_err(|error| format!("{path}: {error}"))?;
                files.insert(PathBuf::from(path), content);
            }
        }
        Ok(Self { files })
    }

    /// The files that `mutation` touches, as they are with it.
    ///
    /// # Errors
    ///
    /// When the old lines of a hunk occur nowhere or at several places, or two hunks share a line.
    pub fn apply(&self, mutation: &Mutation) -> Result<Changed, String> {
        let mut places = BTreeMap::<&Path, BTreeMap<usize, &Hunk>>::new();
        for hunk in &mutation.hunks {
            let (path, line) = self.find(hunk, &mutation.folder)?;
            if places.entry(path).or_default().insert(line, hunk).is_some() {
                return Err(format!(
                    "two hunks begin at {}:{}; make them one",
                    path.display(),
                    line + 1
                ));
            }
        }
        let changed = places.into_iter().map(|(path, hunks)| {
            let text = replace(self.text(path).unwrap_or_default(), &hunks);
            text.map(|text| (path.to_owned(), text))
                .map_err(|error| format!("{}:{error}", path.display()))
        });
        changed.collect()
    }

    /// The content of a file of text.
    fn text(&self, path: &Path) -> Option<&str> {
        std::str::from_utf8(self.files.get(path)?).ok()
    }

    /// The only place in a folder where the old lines of a hunk are.
    fn find(&self, hunk: &Hunk, folder: &Path) -> Result<Place<'_>, String> {
        let old: Vec<&str> = hunk.iter().filter_map(Line::before).map(str::trim).collect();
        let mut places = Vec::new();
        let here = |path: &&PathBuf| path.starts_with(folder) && !path.starts_with(MUTATIONS);
        for path in self.files.keys().filter(here) {
            let text = self.text(path).unwrap_or_default();
            if !old.iter().all(|line| text.contains(line)) {
                continue;
            }
            let lines: Vec<&str> = text.lines().map(str::trim).collect();
            let starts = (0..lines.len()).filter(|&line| lines[line..].starts_with(&old));
            places.extend(starts.map(|line| (path.as_path(), line)));
        }
        let folder = if folder == Path::new("") {
            "the tree".into()
        } else {
            folder.to_string_lossy()
        };
        match places[..] {
            [place] => Ok(place),
            [] => Err(format!(
                "stale: the lines from `{}` on occur nowhere in {folder}; write them as the code has them now, \
                 or correct the folder after `in:`",
                old[0]
            )),
            _ => Err(format!(
                "the lines from `{}` on occur {} times in {folder} ({}); add a line beside them, after a space",
                old[0],
                places.len(),
                list(&places)
            )),
        }
    }
}

/// What git prints in the tree `top`.
///
/// # Errors
///
/// When it fails, with its message.
pub fn git(top: &Path, args: &[&str]) -> Result<String, String> {
    let output = Command::new("git")
        .current_dir(top)
        .args(args)
        .output()
        .map_err(|error| format!("git does not start: {error}; install it"))?;
    if !output.status.success() {
        return Err(format!(
            "git {}: {}",
            args.join(" "),
            String::from_utf8_lossy(&output.stderr).trim()
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The first places, each as its file and line.
fn list(places: &[Place]) -> String {
    let shown = places
        .iter()
        .take(3)
        .map(|place| format!("{}:{}", place.0.display(), place.1 + 1));
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if places.len() > 3 {
        text.push_str(", ...");
    }
    text
}

fn indentation(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// A text in which the new lines of hunks stand for the old ones, which begin at these lines.
fn replace(text: &str, hunks: &BTreeMap<usize, &Hunk>) -> Result<String, String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let (mut text, mut at) = (String::new(), 0);
    for (&start, hunk) in hunks {
        if start < at {
            return Err(format!("{}: two hunks share this line; make them one", start + 1));
        }
        text.push_str(&lines[at..start].concat());
        at = start;
        // Indentation is told by the first line that has one.
        let mut before = hunk.iter().filter_map(Line::before).zip(&lines[start..]);
        let (first, there) = before
            .find(|(text, _)| !text.trim().is_empty())
            .map_or(("", ""), |(text, line)| (indentation(text), indentation(line)));
        for line in *hunk {
            match line {
                Line::Kept(_) => text.push_str(lines[at]),
                Line::Old(_) => {}
                Line::New(new) => {
                    let line = indent_anew(indentation(new), first, there) + new.trim();
                    let _ = writeln!(text, "{}", line.trim_end());
                }
            }
            at += usize::from(line.before().is_some());
        }
    }
    Ok(text + &lines[at..].concat())
}

/// The indentation of a new line in the file, where a line that the mutation indents as `first` stands at `there`.
fn indent_anew(new: &str, first: &str, there: &str) -> String {
    match new.strip_prefix(first) {
        Some(deeper) => format!("{there}{deeper}"),
        None => there[..there.len().saturating_sub(first.len() - new.len().min(first.len()))].to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(files: &[(&str, &str)]) -> Sources {
        let files = files
            .iter()
            .map(|(path, text)| (PathBuf::from(path), text.as_bytes().to_vec()));
        Sources { files: files.collect() }
    }

    fn mutation(hunks: &str) -> Mutation {
        Mutation::read("x", &format!("It.\nin: a\ntest: cargo test\n\n{hunks}")).unwrap()
    }

    #[test]
    fn finds_lines_by_what_they_say() {
        // Goal: a function that moved to another file and is indented otherwise is changed all the same, and what comes
        // is indented as its neighbours are there.
        let tree = sources(&[
            ("a/b/c.rs", "fn f() {\n\t\tif x {\n\t\t\tgo();\n\t\t}\n}\n"),
            ("b/d.rs", "go();\n"),
        ]);
        let changed = tree
            .apply(&mutation("  if x {\n-     go();\n+     if y {\n+     stop();\n+ }\n"))
            .unwrap();
        assert_eq!(changed.len(), 1);
        let text = &changed[Path::new("a/b/c.rs")];
        assert_eq!(
            text,
            "fn f() {\n\t\tif x {\n\t\t    if y {\n\t\t    stop();\n\t\t}\n\t\t}\n}\n"
        );
        let outward = tree.apply(&mutation("-     go();\n+     stop();\n+ }\n"));
        assert!(outward.unwrap()[Path::new("a/b/c.rs")].contains("\n\t\t\tstop();\n"));
    }

    #[test]
    fn puts_all_hunks_in() {
        // Goal: two hunks in one file are both in the result, even where one brings what the other removes, and hunks
        // may be in several files.
        let tree = sources(&[("a/x", "one\ntwo\nthree\n"), ("a/y", "four\n")]);
        let changed = tree
            .apply(&mutation("- one\n+ three\n\n- three\n\n- four\n+ 4\n"))
            .unwrap();
        assert_eq!(changed[Path::new("a/x")], "three\ntwo\n");
        assert_eq!(changed[Path::new("a/y")], "4\n");
    }

    #[test]
    fn asks_for_lines_that_occur_once() {
        // Goal: lines that are nowhere, or at two places of the folder, are errors that say where and what to do.
        let tree = sources(&[
            ("a/x", "go();\n"),
            ("a/y", "stop();\n  go();\n"),
            ("tests/mutations/z", "lost\n"),
        ]);
        let nowhere = tree.apply(&mutation("- lost\n")).unwrap_err();
        assert!(
            nowhere.starts_with("stale: the lines from `lost` on occur nowhere in a;"),
            "{nowhere}"
        );
        let twice = tree.apply(&mutation("- go();\n")).unwrap_err();
        assert!(
            twice.contains("occur 2 times in a (a/x:1, a/y:2); add a line"),
            "{twice}"
        );
        assert!(tree.apply(&mutation("  stop();\n- go();\n")).is_ok());
    }
}
