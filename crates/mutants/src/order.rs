//! Which mutations come first when there is no time for all, and which modules have none.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::sources::{MUTATIONS, Sources, git};

/// Commits that are looked at; what they left alone comes last.
const COMMITS: &str = "200";

/// How many commits ago a file changed; 0 is an edit that is not in a commit yet.
pub struct Ages(BTreeMap<PathBuf, usize>);

impl Ages {
    /// Asks git in the tree `top`. It needs no remote and no branch, only history: a clean clone has that.
    ///
    /// # Errors
    ///
    /// When git fails.
    pub fn read(top: &Path) -> Result<Self, String> {
        let edits = git(top, &["diff", "--name-only", "HEAD"])?;
        let args = [
            "log",
            "-n",
            COMMITS,
            "--first-parent",
            "-m",
            "--name-only",
            "--format=tformat:commit:",
        ];
        Ok(Self::from_log(&edits, &git(top, &args)?))
    }

    /// From the names of edited files and a log of commits, the newest first, each headed by `commit:`.
    fn from_log(edits: &str, log: &str) -> Self {
        let mut ages = BTreeMap::new();
        for (age, names) in std::iter::once(edits).chain(log.split("commit:\n").skip(1)).enumerate() {
            for name in names.lines().filter(|name| !name.is_empty()) {
                ages.entry(PathBuf::from(name)).or_insert(age);
            }
        }
        Self(ages)
    }

    /// The age of the youngest of a mutation's own file and those that it touches.
    pub fn of<'a>(&self, name: &str, touched: impl Iterator<Item = &'a PathBuf>) -> usize {
        let own = Path::new(MUTATIONS).join(format!("{name}.mutation"));
        let age = |path: &PathBuf| self.0.get(path).copied().unwrap_or(usize::MAX);
        touched.map(age).chain([age(&own)]).min().unwrap_or(usize::MAX)
    }
}

/// Modules that no mutation touches: Rust files with a function in them, and the headers of laws.
pub fn untouched<'a>(sources: &'a Sources, touched: &BTreeSet<PathBuf>) -> Vec<&'a Path> {
    let modules = sources.files.iter().filter(|(path, content)| is_module(path, content));
    modules
        .map(|(path, _)| path.as_path())
        .filter(|path| !touched.contains(*path))
        .collect()
}

fn is_module(path: &Path, content: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(content) else {
        return false;
    };
    let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    let kind = path.extension().unwrap_or_default();
    match parts[..] {
        ["crates", _, "src", .., file] if kind == "rs" && file != "tests.rs" => text.lines().any(is_function),
        ["laws", ..] if kind == "h" => text.lines().any(|line| line.starts_with("LAW ")),
        _ => false,
    }
}

/// Whether a line begins a function: perhaps `pub` or `pub(crate)`, perhaps `const`, then `fn`.
fn is_function(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let after = words
        .iter()
        .position(|word| !word.starts_with("pub") && *word != "const");
    after.is_some_and(|after| words[after] == "fn")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_last_comes_first() {
        // Goal: the age of a mutation is that of the newest change to its file or to what it touches, edits before all.
        let ages = Ages::from_log("a\n", "commit:\n\nb\na\ncommit:\n\ntests/mutations/x.mutation\nc\nb\n");
        let touched = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        for (name, files, age) in [
            ("y", &["a"][..], 0),
            ("y", &["c", "b"], 1),
            ("y", &["c"], 2),
            ("x", &["d"], 2),
            ("y", &["d"], usize::MAX),
        ] {
            assert_eq!(ages.of(name, touched(files).iter()), age, "{name} {files:?}");
        }
    }

    #[test]
    fn asks_git_for_the_history() {
        // Goal: what is asked of git is what it understands: some file of this tree has an age.
        let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let Ages(ages) = Ages::read(&top).unwrap();
        assert!(ages.values().any(|&age| age > 0), "{ages:?}");
    }

    #[test]
    fn modules_are_files_with_functions() {
        // Goal: what holds no function, and what holds tests alone, needs no mutation.
        for (path, text, module) in [
            (
                "crates/x/src/a.rs",
                "impl A {\n    pub(crate) const fn f() {}\n}\n",
                true,
            ),
            ("crates/x/src/b/c.rs", "fn f() {}\n", true),
            ("crates/x/src/d.rs", "pub mod e;\n", false),
            ("crates/x/src/d/tests.rs", "fn f() {}\n", false),
            ("crates/x/tests/e.rs", "fn f() {}\n", false),
            ("laws/sender/f.h", "LAW u64 f(void)\n", true),
            ("laws/law.h", "#define LAW static\n", false),
        ] {
            assert_eq!(is_module(Path::new(path), text.as_bytes()), module, "{path}");
        }
    }
}
