//! Archives from which a guest unpacks its files: cpio in the format `newc`.

use std::collections::BTreeSet;
use std::io;

use cpio::newc::{Builder, trailer};

/// A directory, in the mode of an entry.
const DIRECTORY: u32 = 0o040_000;
/// A regular file.
const REGULAR: u32 = 0o100_000;

/// An archive that is being written. Entries come in the order in which they are added; equal files give equal bytes.
#[derive(Default)]
pub struct Archive {
    folders: BTreeSet<String>,
    bytes: Vec<u8>,
    entries: u32,
}

impl Archive {
    /// Adds a file by its absolute path, and the folders above it.
    #[must_use]
    pub fn file(mut self, path: &str, mode: u32, content: impl AsRef<[u8]>) -> Self {
        let path = path.trim_start_matches('/');
        for (end, _) in path.match_indices('/') {
            self = self.folder(&path[..end]);
        }
        self.entry(path, REGULAR | mode, content.as_ref());
        self
    }

    /// Adds a folder.
    #[must_use]
    pub fn folder(mut self, path: &str) -> Self {
        let path = path.trim_start_matches('/');
        if self.folders.insert(path.to_owned()) {
            self.entry(path, DIRECTORY | 0o755, &[]);
        }
        self
    }

    fn entry(&mut self, path: &str, mode: u32, content: &[u8]) {
        self.entries += 1;
        let header = Builder::new(path).ino(self.entries).nlink(1).mode(mode);
        let length = u32::try_from(content.len()).expect("the format has files below 4 GB only");
        let mut entry = header.write(&mut self.bytes, length);
        io::Write::write_all(&mut entry, content).expect("memory takes it all");
        entry.finish().expect("memory takes it all");
    }

    /// The archive's bytes, of a length that lets another one follow.
    ///
    /// # Errors
    /// None, as far as memory goes.
    pub fn finish(self) -> io::Result<Vec<u8>> {
        let mut bytes = trailer(self.bytes)?;
        bytes.resize(bytes.len().next_multiple_of(512), 0);
        Ok(bytes)
    }
}
