//! Runs of a sweep that has not come to its end: each is kept at once, and whoever begins the sweep again takes it up.
//!
//! A run is a file of its own, written under another name and renamed when complete. Its name is a key that the caller
//! derives from everything that decides what the run gives, so that a run is only ever taken for itself. Nothing is
//! forced to the disk: a process that is killed loses none of what it wrote, and a file that a power failure tore is
//! known by its checksum.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process;

use fadelab_run::record::RunRecord;
use twox_hash::XxHash3_128;

use crate::folder::is_abandoned;
use crate::{Error, Host, Target};

const KEPT: &str = "run";
const CHECKSUM_BYTES: usize = 16;

/// The runs kept beside the place of a result.
#[derive(Debug)]
pub struct Unfinished {
    folder: PathBuf,
}

impl Unfinished {
    /// Those of the result `target`, in `.NAME.unfinished` beside it.
    ///
    /// # Errors
    /// [`Error::NoName`] when the target names no folder.
    pub fn of(target: &Target) -> Result<Self, Error> {
        let (parent, name) = target.place()?;
        Ok(Self {
            folder: parent.join(format!(".{name}.unfinished")),
        })
    }

    /// Where they are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A run that was kept; none when there is no such run or its file is damaged.
    pub fn take(&self, key: u128) -> Option<RunRecord> {
        let bytes = fs::read(self.file(key)).ok()?;
        let (checksum, record) = bytes.split_first_chunk::<CHECKSUM_BYTES>()?;
        if checksum_of(record) != *checksum {
            return None;
        }
        postcard::from_bytes(record).ok()
    }

    /// Whether there is a run of this key, damaged or not.
    pub fn has(&self, key: u128) -> bool {
        self.file(key).exists()
    }

    /// Keeps a run.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep(&self, key: u128, record: &RunRecord) -> Result<(), Error> {
        let mut bytes = postcard::to_extend(record, vec![0; CHECKSUM_BYTES])
            .expect("numbers and lists of known length have a form");
        let checksum = checksum_of(&bytes[CHECKSUM_BYTES..]);
        bytes[..CHECKSUM_BYTES].copy_from_slice(&checksum);
        let partial = format!("{}{}-{key:032x}", partial_stem(), process::id());
        let partial = self.folder.join(partial);
        let put = |()| {
            fs::write(&partial, &bytes).map_err(Error::io("write", &partial))?;
            fs::rename(&partial, self.file(key)).map_err(Error::io("write", &partial))
        };
        let done = match self.create().and_then(put) {
            // Another process may have come to the end of the same sweep and taken the folder away.
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => self.create().and_then(put),
            done => done,
        };
        done.inspect_err(|_| {
            let _ = fs::remove_file(&partial);
            // The first run that cannot be kept leaves nothing; where others are, their folder stays.
            let _ = fs::remove_dir(&self.folder);
        })
    }

    /// Removes the runs of these keys, and what killed processes left half written; the folder too if it is then empty.
    pub fn remove(&self, keys: &[u128]) {
        // What cannot be removed does no harm: it is only ever taken for what it is.
        for &key in keys {
            let _ = fs::remove_file(self.file(key));
        }
        let stem = partial_stem();
        for file in self.files() {
            let name = file.file_name().and_then(|name| name.to_str());
            let writer = name.and_then(|name| name.strip_prefix(&stem)?.split('-').next());
            if writer.is_some_and(is_abandoned) {
                let _ = fs::remove_file(file);
            }
        }
        let _ = fs::remove_dir(&self.folder);
    }

    /// How many runs there are, whatever their keys, and their bytes.
    pub fn count(&self) -> (usize, u64) {
        let sizes = self
            .files()
            .filter(|file| file.extension().is_some_and(|name| name == KEPT));
        sizes.fold((0, 0), |(runs, bytes), file| {
            (runs + 1, bytes + fs::metadata(file).map_or(0, |facts| facts.len()))
        })
    }

    fn create(&self) -> Result<(), Error> {
        fs::create_dir_all(&self.folder).map_err(Error::io("create the folder", &self.folder))
    }

    fn files(&self) -> impl Iterator<Item = PathBuf> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path())
    }

    fn file(&self, key: u128) -> PathBuf {
        self.folder.join(format!("{key:032x}.{KEPT}"))
    }
}

/// What the names of half-written runs begin with. Names carry the host, since folders may be shared.
fn partial_stem() -> String {
    format!("partial-{}-", Host::name())
}

fn checksum_of(bytes: &[u8]) -> [u8; CHECKSUM_BYTES] {
    XxHash3_128::oneshot(bytes).to_le_bytes()
}
