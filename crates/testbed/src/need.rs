//! Programs of the system that something needs.

use std::path::PathBuf;

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
