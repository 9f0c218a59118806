//! Runs a command on one core and says what it cost.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

/// A program and its arguments.
#[derive(Clone, Debug)]
pub struct Words(pub Vec<String>);

impl Words {
    pub fn line(&self) -> String {
        self.0.join(" ")
    }
}

/// Runs it to its end.
///
/// # Errors
/// In words, where it cannot be started or ends with anything but 0.
pub fn run(words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Result<Output, String> {
    let mut words = words.into_iter();
    let program = words.next().expect("a command has a first word");
    let name = program.as_ref().to_string_lossy().into_owned();
    let output = Command::new(&program).args(words).output();
    let output =
        output.map_err(|error| format!("cannot start {name}: {error}; tools/setup bench installs what is needed"))?;
    if output.status.success() {
        return Ok(output);
    }
    Err(format!(
        "{name} failed ({}): {}",
        output.status,
        String::from_utf8_lossy(&output.stderr).trim()
    ))
}

/// Starts it and lets it run, in silence.
///
/// # Errors
/// In words, where it cannot be started.
pub fn start(words: &[&str]) -> Result<Child, String> {
    let started = Command::new(words[0])
        .args(&words[1..])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    started.map_err(|error| format!("cannot start {}: {error}", words[0]))
}

/// These words on core `core` alone.
pub fn pinned(core: usize, words: &Words) -> Words {
    let pin = ["taskset".to_owned(), "-c".to_owned(), core.to_string()];
    Words(pin.into_iter().chain(words.0.iter().cloned()).collect())
}

/// Runs it on core `core` alone.
///
/// # Errors
/// As [`run`].
pub fn run_pinned(core: usize, words: &Words) -> Result<Output, String> {
    run(&pinned(core, words).0).map_err(|error| format!("{}: {error}", words.line()))
}

/// CPU seconds, user and system, of `work` and of the processes that it waited for.
///
/// # Errors
/// Those of `work`.
pub fn cpu_s<T>(work: impl FnOnce() -> Result<T, String>) -> Result<f64, String> {
    let before = children_us()?;
    work()?;
    Ok((children_us()? - before) as f64 / 1e6)
}

fn children_us() -> Result<i64, String> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|error| format!("getrusage: {error}"))?;
    Ok((usage.user_time() + usage.system_time()).num_microseconds())
}

/// Largest resident memory of a command, in MB (10^6 bytes).
///
/// # Errors
/// As [`run`].
pub fn peak_mb(core: usize, words: &Words, scratch: &Path) -> Result<f64, String> {
    let note = scratch.join("peak");
    let mut timed = ["/usr/bin/time", "-f", "%M", "-o"].map(str::to_owned).to_vec();
    timed.push(note.display().to_string());
    timed.extend(words.0.iter().cloned());
    run_pinned(core, &Words(timed))?;
    let text = std::fs::read_to_string(&note).map_err(|error| format!("{}: {error}", note.display()))?;
    let kib: f64 = text
        .trim()
        .parse()
        .map_err(|_| format!("time printed '{}', not a size", text.trim()))?;
    Ok(kib * 1024.0 / 1e6)
}

/// Instructions of a command in user space.
///
/// # Errors
/// As [`run`], and where valgrind prints none.
pub fn instructions(words: &Words) -> Result<f64, String> {
    let grind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"].map(str::to_owned);
    let output = run(grind.iter().chain(&words.0))?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let total = text
        .lines()
        .find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok());
    total.ok_or_else(|| format!("valgrind printed no number of instructions for: {}", words.line()))
}

/// The middle one; of an even number, the lower of the two in the middle.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() - 1) / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_is_the_middle_one() {
        // Goal: one slow round does not move the figure.
        assert!((median(vec![5.0, 1.0, 900.0, 2.0, 3.0]) - 3.0).abs() < 1e-12);
        assert!((median(vec![4.0, 1.0]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn failures_are_told() {
        // Goal: a command that fails or does not exist is an error with its name, not a figure.
        assert!(run(["false"]).unwrap_err().contains("false failed"));
        assert!(
            run(["no-such-command-here"])
                .unwrap_err()
                .contains("cannot start no-such-command-here")
        );
    }
}
