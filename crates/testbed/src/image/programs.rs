//! Programs of the host that run in the guest, with the libraries that they load.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::Program;
use crate::Error;

/// Runs a command and gives what it prints.
///
/// # Errors
/// It cannot be run, or it fails: with its own last words.
pub fn output(what: &str, command: &mut Command) -> Result<String, Error> {
    let failed = |why: String| Error::Tool {
        what: what.to_owned(),
        why,
    };
    let output = command
        .env("LC_ALL", "C")
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = words.lines().filter(|line| !line.trim().is_empty()).collect();
        return Err(failed(lines[lines.len().saturating_sub(4)..].join("; ")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The libraries that `programs` load, the dynamic linker included, by the paths under which they look for them.
pub fn libraries(programs: &[PathBuf]) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for program in programs {
        let listing = output("listing the libraries of a program", Command::new("ldd").arg(program));
        // A static program has none, which ldd calls a failure.
        let listing = listing.unwrap_or_default();
        let words = listing.split_whitespace().filter(|word| word.starts_with('/'));
        found.extend(words.map(PathBuf::from));
    }
    found
}

/// A program without what only debuggers need, which can be most of it; whole where there is no `strip`.
///
/// # Errors
/// It cannot be read.
pub fn for_guest(program: Program<'_>) -> Result<Vec<u8>, Error> {
    let Program { path: program, stamp } = program;
    let folder = tempfile::tempdir().map_err(Error::file("make a folder in", std::env::temp_dir()))?;
    let copy = folder.path().join("program");
    let strip = Command::new("strip").arg("-o").arg(&copy).arg(program).output();
    let source = match strip {
        Ok(done) if done.status.success() => copy.as_path(),
        _ => program,
    };
    let mut bytes = fs::read(source).map_err(Error::file("read", program))?;
    blank(&mut bytes, stamp);
    Ok(bytes)
}

/// Writes blanks over every occurrence of the stamp.
fn blank(bytes: &mut [u8], stamp: &[u8]) {
    let Some(first) = stamp.first() else { return };
    let mut place = 0;
    while let Some(found) = bytes[place..].iter().position(|byte| byte == first) {
        place += found;
        if bytes[place..].starts_with(stamp) {
            bytes[place..place + stamp.len()].fill(b' ');
        }
        place += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commit_is_blank_in_a_guest() {
        // Goal: whatever commit a program names, its bytes in a guest are the same and as many.
        let program = |hash: &str| [b"\x7fELF..", hash.as_bytes(), b"..", hash.as_bytes(), b"0"].concat();
        let in_guest = |hash: &str| {
            let mut bytes = program(hash);
            blank(&mut bytes, hash.as_bytes());
            bytes
        };
        assert_eq!(in_guest("00c0ffee"), in_guest("0badf00d"));
        assert_eq!(in_guest("00c0ffee").len(), program("00c0ffee").len());
        assert_eq!(in_guest(""), program(""));
    }
}
