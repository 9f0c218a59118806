//! One process at a time: who takes or gives back what all processes share.
#![allow(unsafe_code)]

use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

/// Where fadelab keeps what is in the kernel now: gone with the next boot, as that is.
pub(crate) const FOLDER: &str = "/run/fadelab";

/// Makes a folder, and those above it that are not there, for root alone: what is in it decides what root's commands
/// undo.
pub(crate) fn make(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(MODE).create(folder)?;
    // One that an older fadelab made is everybody's to read; one that its last user just removed is made anew.
    match fs::set_permissions(FOLDER, Permissions::from_mode(MODE)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        set => set,
    }
}

/// Nobody but its owner enters.
pub(crate) const MODE: u32 = 0o700;

/// The folder, locked: one process at a time takes, gives back or cleans up. The kernel unlocks what a killed one held.
#[derive(Debug)]
pub(crate) struct Turn {
    _folder: File,
}

impl Turn {
    /// Waits for the turn.
    pub fn take() -> io::Result<Self> {
        loop {
            make(Path::new(FOLDER))?;
            let folder = match File::open(FOLDER) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                folder => folder?,
            };
            // SAFETY: the descriptor is open. The lock goes with it, also when the process is killed.
            if unsafe { libc::flock(folder.as_raw_fd(), libc::LOCK_EX) } != 0 {
                return Err(io::Error::last_os_error());
            }
            // Whoever had it before may have removed it.
            let is_same =
                fs::metadata(FOLDER).is_ok_and(|there| folder.metadata().is_ok_and(|had| had.ino() == there.ino()));
            if is_same {
                return Ok(Self { _folder: folder });
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // Only where nothing is in it.
        let _ = fs::remove_dir(FOLDER);
    }
}
