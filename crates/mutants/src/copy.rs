//! A copy of the tree in which things are broken. It stays in the target folder, beside what was built of it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::sources::{Changed, Sources};

/// Folders of packages that npm fetched: not tracked, but tests of the page need them.
const MODULES: [&str; 2] = ["web/node_modules", "web/test/node_modules"];

pub struct Copy {
    pub top: PathBuf,
}

impl Copy {
    /// Makes the folder `to` a copy of `sources`, which were read in `from`. Files that are the same already keep their
    /// times, so that cargo builds only what changed since the last run; what a killed run left broken is mended.
    ///
    /// # Errors
    ///
    /// Names the file that cannot be written.
    pub fn make(from: &Path, to: PathBuf, sources: &Sources) -> Result<Self, String> {
        let copy = Self { top: to };
        fs::create_dir_all(&copy.top).map_err(|error| said(&copy.top, &error))?;
        let expected = sources.files.keys().map(PathBuf::as_path).collect();
        copy.remove_others(&copy.top, &expected)
            .map_err(|error| said(&copy.top, &error))?;
        for (path, content) in &sources.files {
            let to = copy.top.join(path);
            if fs::read(&to).is_ok_and(|there| there == *content) {
                continue;
            }
            let parent = to.parent().unwrap_or(&copy.top);
            fs::create_dir_all(parent).map_err(|error| said(parent, &error))?;
            fs::write(&to, content).map_err(|error| said(&to, &error))?;
            let permissions = fs::metadata(from.join(path)).map(|metadata| metadata.permissions());
            permissions
                .and_then(|kept| fs::set_permissions(&to, kept))
                .map_err(|error| said(&to, &error))?;
        }
        for modules in MODULES {
            let (there, here) = (from.join(modules), copy.top.join(modules));
            if there.is_dir() && !here.is_symlink() {
                fs::create_dir_all(here.parent().unwrap_or(&copy.top)).map_err(|error| said(&here, &error))?;
                std::os::unix::fs::symlink(&there, &here).map_err(|error| said(&here, &error))?;
            }
        }
        Ok(copy)
    }

    /// Removes the files in `folder` that are not `expected`.
    fn remove_others(&self, folder: &Path, expected: &BTreeSet<&Path>) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let (entry, path) = entry.map(|entry| (entry.file_type(), entry.path()))?;
            let inside = path.strip_prefix(&self.top).unwrap_or(&path);
            if entry?.is_dir() {
                self.remove_others(&path, expected)?;
            } else if !expected.contains(inside) && path.file_name() != Some(OsStr::new("node_modules")) {
                fs::remove_file(&path)?;
            }
        }
        Ok(())
    }

    /// Writes files as a mutation has them.
    ///
    /// # Errors
    ///
    /// Names the file that cannot be written.
    pub fn write(&self, changed: &Changed) -> Result<(), String> {
        changed
            .iter()
            .try_for_each(|(path, text)| self.put(path, text.as_bytes()))
    }

    /// Writes the same files as they were.
    ///
    /// # Errors
    ///
    /// Names the file that cannot be written.
    pub fn restore(&self, changed: &Changed, sources: &Sources) -> Result<(), String> {
        changed.keys().try_for_each(|path| self.put(path, &sources.files[path]))
    }

    fn put(&self, path: &Path, content: &[u8]) -> Result<(), String> {
        let to = self.top.join(path);
        fs::write(&to, content).map_err(|error| said(&to, &error))
    }
}

fn said(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn a_second_copy_mends_the_first() {
        // Goal: what is the same keeps its time, so that cargo need not build it again; what was left broken is mended,
        // what is no longer in the tree goes, and node_modules are those of the tree.
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        let mut sources = Sources {
            files: ["a/same", "a/broken", "gone"]
                .map(|path| (PathBuf::from(path), path.into()))
                .into(),
        };
        for path in sources.files.keys() {
            fs::create_dir_all(from.join(path).parent().unwrap()).unwrap();
            fs::write(from.join(path), "the copy has what was read, not this").unwrap();
        }
        fs::create_dir_all(from.join("web/node_modules")).unwrap();
        Copy::make(&from, to.clone(), &sources).unwrap();
        fs::write(to.join("a/broken"), "something else").unwrap();
        let old = SystemTime::now() - Duration::from_secs(3600);
        for path in ["a/same", "a/broken"] {
            fs::File::options()
                .write(true)
                .open(to.join(path))
                .unwrap()
                .set_modified(old)
                .unwrap();
        }
        sources.files.remove(Path::new("gone"));
        Copy::make(&from, to.clone(), &sources).unwrap();
        let modified = |path| fs::metadata(to.join(path)).unwrap().modified().unwrap();
        assert_eq!(modified("a/same"), old);
        assert!(modified("a/broken") > old);
        assert_eq!(fs::read_to_string(to.join("a/broken")).unwrap(), "a/broken");
        assert!(!to.join("gone").exists());
        assert_eq!(
            fs::read_link(to.join("web/node_modules")).unwrap(),
            from.join("web/node_modules")
        );
    }
}
