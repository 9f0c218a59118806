//! Builds the copy, runs a mutation's test in it, and tells what became of the mutation.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use std::process::Command;
use std::{fmt, fs};

use crate::copy::Copy;
use crate::mutation::Mutation;
use crate::sources::{Changed, Sources};

/// A test that takes longer is killed.
const SECONDS_MAX: u32 = 300;
/// A test that is skipped for want of something proves nothing: where all is demanded, each of these must be there.
const REQUIRED: [&str; 3] = [
    "FADELAB_REQUIRE_BPF",
    "FADELAB_REQUIRE_BROWSER",
    "FADELAB_REQUIRE_GUEST",
];

/// What became of a mutation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Its test fails with it.
    Killed,
    /// Its test passes with it.
    Survived,
    /// Its test skips itself on this machine, for this reason.
    Skipped(String),
    /// Nothing is known, for this reason; the last words of what failed may follow.
    Error(String),
}

impl fmt::Display for Verdict {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Killed => to.write_str("killed"),
            Self::Survived => to.write_str("SURVIVED"),
            Self::Skipped(reason) => write!(to, "skipped: {reason}"),
            Self::Error(reason) => write!(to, "error: {reason}"),
        }
    }
}

/// Judges mutations in a copy of the tree.
pub struct Judge<'a> {
    pub copy: Copy,
    pub sources: &'a Sources,
    /// Where cargo builds.
    pub target: PathBuf,
    /// Whether a test that skips itself is an error.
    demanding: bool,
    /// What the last command printed.
    log: PathBuf,
    /// By the command of a test: the verdict on each of its mutations, unless it passes without one.
    unsound: BTreeMap<Vec<String>, Option<Verdict>>,
}

impl<'a> Judge<'a> {
    /// One that builds in the folder `target`; if it is `demanding`, a test that skips itself is an error.
    pub fn new(copy: Copy, sources: &'a Sources, target: PathBuf, demanding: bool) -> Self {
        let log = target.join("log");
        Self {
            copy,
            sources,
            target,
            demanding,
            log,
            unsound: BTreeMap::new(),
        }
    }

    /// The verdict on whatever a test should notice, if the test says nothing: it fails, matches nothing or skips
    /// itself while nothing is broken. It is run once.
    ///
    /// # Errors
    ///
    /// When the command cannot be run.
    pub fn unsound(&mut self, test: &[String]) -> Result<Option<Verdict>, String> {
        if let Some(known) = self.unsound.get(test) {
            return Ok(known.clone());
        }
        let verdict = if !self.compiles(test)? || !self.passes(test)? {
            let words = self.last_words();
            let reason = format!("its test fails, or matches nothing, without the mutation{words}");
            Some(Verdict::Error(reason))
        } else if let Some(reason) = self.output().lines().find_map(|line| line.strip_prefix("skipped: ")) {
            Some(if self.demanding {
                Verdict::Error(format!("its test is skipped: {reason}"))
            } else {
                Verdict::Skipped(reason.to_owned())
            })
        } else {
            None
        };
        self.unsound.insert(test.to_owned(), verdict.clone());
        Ok(verdict)
    }

    /// What becomes of a mutation, whose test must be sound.
    ///
    /// # Errors
    ///
    /// When a command cannot be run, or a file not be written.
    pub fn judge(&self, mutation: &Mutation, changed: &Changed) -> Result<Verdict, String> {
        self.copy.write(changed)?;
        let verdict = if !self.compiles(&mutation.test)? {
            Verdict::Error(format!("it does not compile{}", self.last_words()))
        } else if self.passes(&mutation.test)? {
            Verdict::Survived
        } else {
            Verdict::Killed
        };
        self.copy.restore(changed, self.sources)?;
        Ok(verdict)
    }

    /// What the last command printed.
    fn output(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// The last lines of that, each after a line's end.
    fn last_words(&self) -> String {
        let output = self.output();
        let lines: Vec<&str> = output.lines().collect();
        let last = lines[lines.len().saturating_sub(5)..].iter();
        last.flat_map(|line| ["\n    ", line]).collect()
    }

    fn compiles(&self, test: &[String]) -> Result<bool, String> {
        let mut command = Command::new(&test[0]);
        command.args(&test[1..]).arg("--no-run");
        self.succeeds(command)
    }

    /// Whether the tests pass and there is at least one. What takes too long is killed with all that it began: broken
    /// code may be what should have heard a milder signal.
    fn passes(&self, test: &[String]) -> Result<bool, String> {
        let mut command = Command::new("timeout");
        command.args(["-s", "KILL", &SECONDS_MAX.to_string()]).args(test);
        // Without this, cargo keeps to itself that a test was skipped.
        command.args(["--", "--show-output"]);
        Ok(self.succeeds(command)? && tests_passed(&self.output()) > 0)
    }

    fn succeeds(&self, mut command: Command) -> Result<bool, String> {
        let log = || File::create(&self.log).and_then(|file| Ok((file.try_clone()?, file)));
        let (out, err) = log().map_err(|error| format!("{}: {error}", self.log.display()))?;
        command
            .current_dir(&self.copy.top)
            .env("CARGO_TARGET_DIR", &self.target)
            .envs(REQUIRED.iter().filter(|_| self.demanding).map(|name| (name, "1")))
            .stdout(out)
            .stderr(err);
        let status = command
            .status()
            .map_err(|error| format!("{}: {error}", command.get_program().display()))?;
        Ok(status.success())
    }
}

/// How many tests the output of `cargo test` says have passed.
fn tests_passed(output: &str) -> u64 {
    let results = output.lines().filter_map(|line| line.strip_prefix("test result: ok. "));
    results
        .filter_map(|rest| rest.split(' ').next()?.parse::<u64>().ok())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_tests_that_ran() {
        // Goal: a filter that matches nothing is told from one whose tests pass.
        let none = "test result: ok. 0 passed; 0 failed; 0 ignored\n";
        assert_eq!(tests_passed(&none.repeat(3)), 0);
        assert_eq!(
            tests_passed(&format!("{none}test result: ok. 12 passed; 0 failed\n{none}")),
            12
        );
        assert_eq!(tests_passed("test result: FAILED. 3 passed; 1 failed\n"), 0);
    }
}
