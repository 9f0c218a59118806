//! Programs of the host that run in the guest, with the libraries that they load.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Error;

/// Where programs are looked for beside the search path, which leaves these folders out for most users.
const FOLDERS: [&str; 3] = ["/usr/sbin", "/sbin", "/usr/local/sbin"];

/// A program that is needed: its name, what it is for, and the Debian package that has it.
pub type Need = (&'static str, &'static str, &'static str);

/// Finds a program.
///
/// # Errors
/// It is not there.
pub fn find(&(program, purpose, package): &Need) -> Result<PathBuf, Error> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(FOLDERS.map(PathBuf::from));
    let mut found = folders.map(|folder| folder.join(program)).filter(|file| file.is_file());
    found.next().ok_or_else(|| Error::NoProgram {
        program: program.to_owned(),
        purpose,
        package,
    })
}

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
pub fn stripped(program: &Path) -> Result<Vec<u8>, Error> {
    let folder = tempfile::tempdir().map_err(Error::file("make a folder in", std::env::temp_dir()))?;
    let copy = folder.path().join("program");
    let strip = Command::new("strip").arg("-o").arg(&copy).arg(program).output();
    let source = match strip {
        Ok(done) if done.status.success() => copy.as_path(),
        _ => program,
    };
    fs::read(source).map_err(Error::file("read", program))
}
