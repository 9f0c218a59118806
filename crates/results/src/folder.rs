//! The folder of a result: written under another name beside its place and renamed when complete.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process;

use serde::Serialize;

use crate::manifest::{Host, Manifest};
use crate::setup::Setup;
use crate::{Error, Experiment, Provenance, Source, Summary, report, tables};

/// Where a result keeps laws that are not fadelab's own.
pub(crate) const LAWS: &str = "laws";

/// Where a result goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// `PARENT/NAME-001` or the first number after the highest one in use.
    Numbered {
        /// Usually `results`; created when missing.
        parent: PathBuf,
        /// Usually the name of the scenario.
        name: String,
    },
    /// This very folder, which must not exist or be empty.
    Exact(PathBuf),
}

impl Target {
    /// Says before the runs whether the result could not be written after them.
    ///
    /// # Errors
    /// See [`check_target`].
    pub fn check(&self) -> Result<(), Error> {
        match self {
            Self::Exact(path) => check_target(path),
            Self::Numbered { parent, .. } if parent.exists() && !parent.is_dir() => {
                Err(Error::NotAFolder { path: parent.clone() })
            }
            Self::Numbered { .. } => Ok(()),
        }
    }
}

/// Refuses a folder that holds anything, and what is not a folder.
///
/// # Errors
/// [`Error::Occupied`], [`Error::NotAFolder`], [`Error::NoName`], or [`Error::Io`] when the folder cannot be read.
pub fn check_target(path: &Path) -> Result<(), Error> {
    if path.file_name().is_none() {
        return Err(Error::NoName { path: path.to_owned() });
    }
    match fs::read_dir(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotADirectory => Err(Error::NotAFolder { path: path.to_owned() }),
        Err(error) => Err(Error::io("read the folder", path)(error)),
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(entry) => {
                let found = entry.map_or_else(|_| "?".into(), |e| e.file_name().to_string_lossy().into_owned());
                Err(Error::Occupied {
                    path: path.to_owned(),
                    found,
                })
            }
        },
    }
}

/// Writes a result and returns its folder. On an error nothing is left behind.
///
/// # Errors
/// When the target is not free or a file cannot be written.
pub fn write(
    target: &Target,
    experiment: &Experiment,
    summary: &Summary,
    provenance: &Provenance,
) -> Result<PathBuf, Error> {
    write_folder(target, |folder| {
        tables::write(experiment, folder)?;
        write_json(folder, "summary.json", summary)?;
        write_json(folder, "manifest.json", &Manifest::new(experiment, provenance))?;
        let setup = serde_json::to_vec(&Setup::of(experiment)).map_err(Error::json("setup.json"))?;
        write_file(folder, "setup.json", &setup)?;
        write_sources(folder, &experiment.sources)?;
        write_file(folder, "report.html", report::html(experiment, summary)?.as_bytes())
    })
}

/// Laws of the user's own, into `laws/`: without them the scenario could not be run again.
fn write_sources(folder: &Path, sources: &[Source]) -> Result<(), Error> {
    if sources.is_empty() {
        return Ok(());
    }
    let laws = folder.join(LAWS);
    fs::create_dir(&laws).map_err(Error::io("create the folder", &laws))?;
    for source in sources {
        write_file(&laws, &source.file, source.text.as_bytes())?;
    }
    sync_folder(&laws)
}

fn write_json(folder: &Path, file: &'static str, value: &impl Serialize) -> Result<(), Error> {
    let mut text = serde_json::to_vec_pretty(value).map_err(Error::json(file))?;
    text.push(b'\n');
    write_file(folder, file, &text)
}

fn write_file(folder: &Path, name: &str, content: &[u8]) -> Result<(), Error> {
    let path = folder.join(name);
    let mut file = File::create(&path).map_err(Error::io("create", &path))?;
    file.write_all(content).map_err(Error::io("write", &path))?;
    file.sync_all().map_err(Error::io("write to disk", &path))
}

/// A folder under construction, removed again unless it was put in its place.
struct Partial(PathBuf);

impl Drop for Partial {
    fn drop(&mut self) {
        // Whatever made the writing fail is reported already; a failure to clean up after it adds nothing.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Lets `fill` write into a temporary folder beside the target, then puts it in place.
fn write_folder(target: &Target, fill: impl FnOnce(&Path) -> Result<(), Error>) -> Result<PathBuf, Error> {
    target.check()?;
    let (parent, name) = match target {
        Target::Numbered { parent, name } => (parent.clone(), name.clone()),
        Target::Exact(path) => {
            let name = path.file_name().ok_or_else(|| Error::NoName { path: path.clone() })?;
            (parent_of(path), name.to_string_lossy().into_owned())
        }
    };
    fs::create_dir_all(&parent).map_err(Error::io("create the folder", &parent))?;
    let stem = format!(".{name}.partial-{}-", Host::name());
    remove_abandoned(&parent, &stem);
    let partial = Partial(parent.join(format!("{stem}{}", process::id())));
    fs::create_dir(&partial.0).map_err(Error::io("create the folder", &partial.0))?;
    fill(&partial.0)?;
    sync_folder(&partial.0)?;
    let place = match target {
        Target::Exact(path) => {
            fs::rename(&partial.0, path).map_err(Error::io("move the result to", path))?;
            path.clone()
        }
        Target::Numbered { .. } => rename_numbered(&partial.0, &parent, &name)?,
    };
    sync_folder(&parent)?;
    Ok(place)
}

/// A process that was killed while it wrote cannot clean up: the next one that writes the same result does. Names carry
/// the host, since folders may be shared, and the process, which may still be writing.
fn remove_abandoned(parent: &Path, stem: &str) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let writer = name
            .to_str()
            .and_then(|name| name.strip_prefix(stem)?.parse::<u32>().ok());
        if writer.is_some_and(|pid| Path::new("/proc/self").exists() && !Path::new(&format!("/proc/{pid}")).exists()) {
            // Whoever cannot remove it can still write beside it.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn parent_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Another process may take the same number between the look and the rename: a folder that holds something refuses to
/// be replaced, and the next number is tried.
fn rename_numbered(partial: &Path, parent: &Path, name: &str) -> Result<PathBuf, Error> {
    let mut number = highest_number(parent, name)? + 1;
    loop {
        let place = parent.join(format!("{name}-{number:03}"));
        match fs::rename(partial, &place) {
            Ok(()) => return Ok(place),
            Err(error) if matches!(error.kind(), ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists) => {
                number += 1;
            }
            Err(error) => return Err(Error::io("move the result to", &place)(error)),
        }
    }
}

fn highest_number(parent: &Path, name: &str) -> Result<u32, Error> {
    let mut highest = 0;
    for entry in fs::read_dir(parent).map_err(Error::io("read the folder", parent))? {
        let entry = entry.map_err(Error::io("read the folder", parent))?.file_name();
        let number = entry
            .to_str()
            .and_then(|entry| entry.strip_prefix(name)?.strip_prefix('-')?.parse().ok());
        highest = highest.max(number.unwrap_or(0));
    }
    Ok(highest)
}

/// A rename is durable only when the folder that holds the name is on the disk.
fn sync_folder(path: &Path) -> Result<(), Error> {
    let folder = File::open(path).map_err(Error::io("open the folder", path))?;
    folder.sync_all().map_err(Error::io("write to disk", path))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::{env, panic};

    use super::*;

    /// Names the folder in which the test below lets a child of itself die.
    const DIE_IN: &str = "FADELAB_TEST_DIE_IN";

    fn entries(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    }

    fn half_a_result(folder: &Path) -> Result<(), Error> {
        write_file(folder, "summary.json", b"{")
    }

    #[test]
    fn a_failed_write_leaves_nothing() {
        // An error and a panic in the middle of writing both remove what was there so far.
        let place = tempfile::tempdir().unwrap();
        let target = Target::Exact(place.path().join("mine"));
        let failed = write_folder(&target, |folder| {
            half_a_result(folder)?;
            Err(Error::NoName { path: PathBuf::new() })
        });
        assert!(matches!(failed, Err(Error::NoName { .. })));
        let panicked = panic::catch_unwind(|| {
            write_folder(&target, |folder| {
                half_a_result(folder)?;
                panic!("in the middle")
            })
        });
        assert!(panicked.is_err());
        assert_eq!(entries(place.path()), Vec::<String>::new());
    }

    #[test]
    fn a_killed_write_leaves_no_result_and_the_next_one_cleans_up() {
        // A child that runs this very test, told by its environment, aborts in the middle of writing.
        if let Some(place) = env::var_os(DIE_IN) {
            let _ = write_folder(&Target::Exact(PathBuf::from(place).join("mine")), |folder| {
                half_a_result(folder)?;
                process::abort()
            });
            unreachable!("the child is dead by now");
        }
        let place = tempfile::tempdir().unwrap();
        let name = "folder::tests::a_killed_write_leaves_no_result_and_the_next_one_cleans_up";
        let mut child = Command::new(env::current_exe().unwrap());
        child
            .args(["--exact", name])
            .env(DIE_IN, place.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        assert!(!child.status().unwrap().success());
        let left = entries(place.path());
        assert!(left.len() == 1 && left[0].starts_with(".mine.partial-"), "{left:?}");
        write_folder(&Target::Exact(place.path().join("mine")), half_a_result).unwrap();
        assert_eq!(entries(place.path()), ["mine"]);
    }
}
