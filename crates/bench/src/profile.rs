//! Reads what callgrind counted: instructions by the source file that they were written in.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::measure::{self, Words};

/// Instructions of a program, in user space.
#[derive(Debug, Default, PartialEq)]
pub struct Profile {
    /// By path in the project.
    pub files: BTreeMap<String, f64>,
    /// Of what belongs to no file of the project.
    pub foreign: f64,
}

impl Profile {
    /// Runs the program, which was built from the project at `root`, under callgrind.
    ///
    /// # Errors
    /// As [`measure::run`], and where what callgrind wrote cannot be read.
    pub fn of(words: &Words, root: &str, scratch: &Path) -> Result<Self, String> {
        let path = scratch.join("callgrind");
        let out = format!("--callgrind-out-file={}", path.display());
        let mut grind = ["valgrind", "--tool=callgrind", "--dump-instr=yes", "--dump-line=yes"].to_vec();
        grind.extend(["--compress-strings=no", "--compress-pos=no", &out]);
        measure::run(grind.into_iter().chain(words.0.iter().map(String::as_str)))?;
        let wrong = |what: String| format!("{}: {what}", path.display());
        let text = fs::read_to_string(&path).map_err(|error| wrong(error.to_string()))?;
        fs::remove_file(&path).map_err(|error| wrong(error.to_string()))?;
        Self::read(&text, root).map_err(wrong)
    }

    /// What `text` counts: the format of the manual of callgrind, with names and addresses in full.
    fn read(text: &str, root: &str) -> Result<Self, String> {
        let root = format!("{}/", root.trim_end_matches('/'));
        let (mut functions, mut current, mut file) = (BTreeMap::new(), ("", ""), None);
        let mut is_of_a_call = false;
        for line in text.lines() {
            match line.split_once('=') {
                Some(("fl" | "fi" | "fe", path)) => file = path.strip_prefix(&root),
                Some(("ob", object)) => current.0 = object,
                Some(("fn", name)) => current.1 = name,
                Some(("calls", _)) => is_of_a_call = true,
                _ if line.starts_with("0x") && !std::mem::take(&mut is_of_a_call) => {
                    let lines: &mut Vec<_> = functions.entry(current).or_default();
                    lines.push(counted(line, file)?);
                }
                _ => {}
            }
        }
        let mut profile = Self::default();
        for lines in functions.into_values() {
            profile.add(lines);
        }
        if profile.files.is_empty() {
            return Err(format!(
                "names no file below {root}; the command must be one that was built there, with its line tables"
            ));
        }
        Ok(profile)
    }

    /// Counts the lines of a function. What libraries inlined there is the file's that stands before it in memory: an
    /// index or a minimum is a part of the expression that needs it.
    fn add(&mut self, mut lines: Vec<Counted>) {
        lines.sort_by_key(|line| line.address);
        let mut file = lines.iter().find_map(|line| line.file);
        for line in lines {
            file = line.file.or(file);
            match file {
                Some(file) => *self.files.entry(file.to_owned()).or_default() += line.instructions,
                None => self.foreign += line.instructions,
            }
        }
    }
}

/// How often an instruction ran.
struct Counted<'a> {
    address: u64,
    /// Path in the project.
    file: Option<&'a str>,
    instructions: f64,
}

/// A line of address, line of the source and count, which is left out where it is 0.
fn counted<'a>(line: &str, file: Option<&'a str>) -> Result<Counted<'a>, String> {
    let read = || {
        let mut words = line.split(' ');
        let address = u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()?;
        let instructions = words.nth(1).map_or(Some(0.0), |count| count.parse().ok())?;
        Some(Counted {
            address,
            file,
            instructions,
        })
    };
    read().ok_or_else(|| format!("callgrind wrote '{line}' where an address and a count should be"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_libraries_inline_is_of_the_file_that_needs_it() {
        // Goal: lines count for their file, lines of a library for the one before them in memory, calls once, and a
        // function of a library alone for none.
        let text = "\
# callgrind format
positions: instr line
events: Ir
ob=/bin/fadelab
fl=/p/crates/sim/src/pipe.rs
fn=take
0x10 7 5
fi=/rustc/core/src/cmp.rs
0x14 1 3
fe=/p/laws/fixed.h
0x18 2
0x1c 3 2
calls=4 0x40
0x20 9 900
fl=/rustc/core/src/slice.rs
fn=sort
0x40 1 40
";
        let profile = Profile::read(text, "/p").unwrap();
        let files = [("crates/sim/src/pipe.rs", 8.0), ("laws/fixed.h", 2.0)];
        let files = files.map(|(path, count)| (path.to_owned(), count)).into();
        assert_eq!(profile, Profile { files, foreign: 40.0 });
        assert!(Profile::read("0x10 7 x\n", "/p").unwrap_err().contains("0x10 7 x"));
        assert!(Profile::read(text, "/q").unwrap_err().contains("no file below /q/"));
    }
}
