//! Who uses an image: nobody removes one that a run of another process begins its guests from, for hours perhaps.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

/// The file that is locked.
const LOCK: &str = "in-use";

/// An image that stays for as long as this does. It goes with the process, however that ends.
#[derive(Debug)]
pub struct InUse {
    _shared: Flock<File>,
}

/// Keeps the image in a folder; `None`: there is none.
///
/// # Errors
/// The folder cannot be written.
pub fn keep(folder: &Path) -> io::Result<Option<InUse>> {
    let file = match File::create(folder.join(LOCK)) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let shared = locked(file, FlockArg::LockShared)?;
    // Whoever removed the image meanwhile had locked it before, and another one may be at its place.
    let is_there = shared.metadata()?.nlink() > 0;
    Ok(is_there.then_some(InUse { _shared: shared }))
}

/// Removes the image in a folder, unless somebody keeps it.
pub fn remove_unused(folder: &Path) {
    let Ok(file) = File::create(folder.join(LOCK)) else {
        return;
    };
    if let Ok(_alone) = Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        // One that stays is in nobody's way.
        let _ = fs::remove_dir_all(folder);
    }
}

fn locked(mut file: File, how: FlockArg) -> io::Result<Flock<File>> {
    loop {
        match Flock::lock(file, how) {
            Ok(lock) => return Ok(lock),
            Err((same, Errno::EINTR)) => file = same,
            Err((_, error)) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_that_somebody_keeps_is_not_removed() {
        // Goal: of two that keep it each keeps it alone when the other has gone; then it is removed, and nobody can
        // keep it any more.
        let parent = tempfile::tempdir().expect("a folder");
        let folder = parent.path().join("image-1");
        assert!(keep(&folder).expect("no error").is_none(), "there is none");
        fs::create_dir(&folder).expect("a folder");
        fs::write(folder.join("vmlinuz"), "kernel").expect("a file");
        let [one, other] = [0, 1].map(|_| keep(&folder).expect("no error").expect("it is there"));
        for user in [one, other] {
            remove_unused(&folder);
            assert!(folder.join("vmlinuz").exists());
            drop(user);
        }
        remove_unused(&folder);
        assert!(!folder.exists() && keep(&folder).expect("no error").is_none());
    }
}
