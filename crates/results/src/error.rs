//! What can go wrong between a finished run and its folder.

use std::io;
use std::path::{Path, PathBuf};

use crate::manifest::FORMAT;

/// Why results were not written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The target holds something already.
    #[error(
        "{path} exists and is not empty (it holds {found}): results are never written over others. \
         Give a folder that does not exist or is empty, or move this one away."
    )]
    Occupied {
        /// The folder asked for.
        path: PathBuf,
        /// One of its entries.
        found: String,
    },
    /// The target is a file or something else that cannot become a folder.
    #[error("{path} exists and is not a folder. Give a folder that does not exist or is empty.")]
    NotAFolder {
        /// The path asked for.
        path: PathBuf,
    },
    /// Nothing can be created where the target should be.
    #[error("nothing can be written in {path}: {source}. Give another folder with --out, or make this one writable.")]
    NotWritable {
        /// The folder that exists.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The target has no last component that could be created.
    #[error("{path:?} does not name a folder to create. Give a path that ends in a name, e.g. results/mine.")]
    NoName {
        /// The path asked for.
        path: PathBuf,
    },
    /// The name of the target is too long to be written under.
    #[error("the name {name} is too long: give one of at most {bytes_max} bytes with --out.")]
    LongName {
        name: String,
        /// Bytes that it may have.
        bytes_max: usize,
    },
    /// The operating system refused.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// With which file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A folder lacks a file that every result has.
    #[error(
        "{path} is not a result of fadelab: its {file} cannot be read ({source}). \
         Give a folder that `fadelab run` wrote, e.g. results/NAME-001."
    )]
    NotAResult {
        /// The folder.
        path: PathBuf,
        file: &'static str,
        /// Why it cannot be read.
        source: io::Error,
    },
    /// A file of a result is damaged.
    #[error("{path} is damaged: {reason}. {}", remedy(path))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Another fadelab wrote the result, and this one cannot read it.
    #[error(
        "{path} was written by fadelab {version} (format {format}), and this is {} (format {FORMAT}), which cannot \
         read it: {reason}. Read it with that version, or run the scenario in its manifest.json again.",
        env!("CARGO_PKG_VERSION")
    )]
    OtherVersion {
        /// The folder.
        path: PathBuf,
        /// The version that wrote it.
        version: String,
        /// The form of its files.
        format: u32,
        /// Where this one failed.
        reason: String,
    },
    /// The Parquet writer refused.
    #[error("cannot write {path}: {source}")]
    Parquet {
        /// Which file.
        path: PathBuf,
        /// Why not.
        source: parquet::errors::ParquetError,
    },
    /// The CSV writer refused.
    #[error("cannot write {path}: {source}")]
    Csv {
        /// Which file.
        path: PathBuf,
        /// Why not.
        source: csv::Error,
    },
    /// The script of the figures, or what makes a PDF of them, failed.
    #[error("the figure cannot be drawn: {0}. Please report this with the result's folder.")]
    Script(String),
    /// A value could not be turned into JSON.
    #[error("cannot write {file} as JSON: {source}")]
    Json {
        file: &'static str,
        /// Why not.
        source: serde_json::Error,
    },
}

/// What helps when a file of a result is damaged.
fn remedy(path: &Path) -> &'static str {
    if path.ends_with("manifest.json") {
        "Run its scenario again, from its own file."
    } else {
        "Run its scenario again, which is in manifest.json."
    }
}

impl Error {
    /// Whether it is for want of room: a full disk, a quota, a limit on the size of files.
    pub fn is_full(&self) -> bool {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        let is_full = |error: &io::Error| matches!(error.kind(), FileTooLarge | QuotaExceeded | StorageFull);
        // What csv::Error has inside is no source of it.
        if let Self::Csv { source, .. } = self {
            return matches!(source.kind(), csv::ErrorKind::Io(error) if is_full(error));
        }
        let this: &(dyn std::error::Error + 'static) = self;
        std::iter::successors(Some(this), |error| error.source())
            .filter_map(|error| error.downcast_ref::<io::Error>())
            .any(is_full)
    }

    /// Adapter for `map_err` on file operations.
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }

    /// Adapter for `map_err` on JSON that is made.
    pub fn json(file: &'static str) -> impl FnOnce(serde_json::Error) -> Self {
        move |source| Self::Json { file, source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_want_of_room_is_want_of_room() {
        // Goal: a full disk is told from other failures through whatever library wrote the file.
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        let path = Path::new("x");
        assert!(Error::io("write", path)(full()).is_full());
        let parquet = Error::Parquet {
            path: path.to_owned(),
            source: full().into(),
        };
        assert!(parquet.is_full());
        let csv = Error::Csv {
            path: path.to_owned(),
            source: full().into(),
        };
        assert!(csv.is_full());
        assert!(!Error::io("write", path)(io::ErrorKind::PermissionDenied.into()).is_full());
        assert!(!Error::NoName { path: path.to_owned() }.is_full());
    }

    #[test]
    fn a_damaged_manifest_does_not_point_to_itself() {
        // Goal: the scenario is looked for where it can still be read.
        let message = |file: &str| {
            let damaged = Error::Unreadable {
                path: Path::new("s-001").join(file),
                reason: "it ends early".to_owned(),
            };
            damaged.to_string()
        };
        assert!(message("manifest.json").ends_with("from its own file."));
        assert!(message("runs.parquet").ends_with("which is in manifest.json."));
    }
}
