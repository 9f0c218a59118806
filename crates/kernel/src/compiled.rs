//! Objects that root compiled before. A service that was killed is back before its compiler would be.
//!
//! An object is found by all that it was made from and by the compiler; whatever differs is another one. They are in a
//! folder for root alone, since what is in it goes into the kernel.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::id;
use std::time::SystemTime;

use sha2::{Digest, Sha256};

use crate::process::is_root;
use crate::turn::MODE;

const FOLDER: &str = "/var/cache/fadelab/compiled";

/// More than laws and routers of any service, and than a package has; the oldest go.
const OBJECTS_MAX: usize = 256;

/// What an object is made from, added up.
#[derive(Clone, Default)]
pub struct Source(Sha256);

impl Source {
    /// Adds a part. Where it ends counts, too.
    pub fn add(&mut self, part: &str) {
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    /// Adds a program: another version is another file. `false` where it cannot be told.
    pub fn add_program(&mut self, program: &Path) -> bool {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let places = std::env::split_paths(&folders).map(|folder| folder.join(program));
        let about = places.into_iter().find_map(|place| {
            let place = fs::canonicalize(place).ok()?;
            let about = fs::metadata(&place).ok().filter(fs::Metadata::is_file)?;
            Some((place, about.len(), about.mtime(), about.mtime_nsec()))
        });
        self.add(&format!("{about:?}"));
        about.is_some()
    }

    /// In hexadecimal digits, the same on every machine.
    pub fn key(&self) -> String {
        format!("{:x}", self.0.clone().finalize())
    }

    /// Where an object of this source is kept.
    pub fn place(&self) -> PathBuf {
        Path::new(FOLDER).join(self.key()).with_extension("o")
    }
}

/// The object that is kept at a place, if one is and it may be trusted.
pub fn get(place: &Path) -> Option<Vec<u8>> {
    let about = fs::metadata(FOLDER).ok()?;
    let is_of_root = about.uid() == 0 && about.mode() & 0o777 == MODE;
    fs::read(place).ok().filter(|_| is_of_root)
}

/// Keeps an object, if this is root. That it cannot be kept is no fault: it is compiled again.
pub fn put(place: &Path, object: &[u8]) {
    if is_root() && write(place, object).is_ok() {
        let _ = forget_oldest();
    }
}

fn write(place: &Path, object: &[u8]) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(MODE).create(FOLDER)?;
    // Whoever is killed while writing leaves nothing under the name.
    let unfinished = place.with_extension(id().to_string());
    fs::write(&unfinished, object)?;
    fs::rename(unfinished, place)
}

fn forget_oldest() -> io::Result<()> {
    let mut objects: Vec<(SystemTime, PathBuf)> = fs::read_dir(FOLDER)?
        .filter_map(|entry| {
            let entry = entry.ok()?;
            Some((entry.metadata().ok()?.modified().ok()?, entry.path()))
        })
        .collect();
    objects.sort();
    let too_many = objects.len().saturating_sub(OBJECTS_MAX);
    objects[..too_many]
        .iter()
        .try_for_each(|(_, path)| fs::remove_file(path))
}

/// Forgets them all.
pub fn forget() {
    let _ = fs::remove_dir_all(FOLDER);
    // Only if nothing else is in it.
    let _ = fs::remove_dir(Path::new(FOLDER).parent().expect("a folder below one"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_differs_is_another_object() {
        // Goal: no two texts, splits of a text or compilers share an object, and equal ones do.
        let place = |parts: &[&str]| {
            let mut source = Source::default();
            for part in parts {
                source.add(part);
            }
            source.place()
        };
        assert_eq!(place(&["a", "bc"]), place(&["a", "bc"]));
        assert_ne!(place(&["a", "bc"]), place(&["ab", "c"]));
        assert_ne!(place(&["a"]), place(&["b"]));
        let mut places = ["sh", "cat", "no such program"].map(|program| {
            let mut source = Source::default();
            assert_eq!(source.add_program(Path::new(program)), program != "no such program");
            source.place()
        });
        places.sort();
        assert!(places.windows(2).all(|two| two[0] != two[1]));
    }
}
