//! The folder of a result: written under another name beside its place and renamed when complete.

use std::fs::{self, File};
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process;

use rustix::fs::{Access, access};
use serde::Serialize;

pub use crate::columns::Format;
use crate::manifest::{Host, Manifest};
use crate::setup::Setup;
use crate::{Error, Experiment, Provenance, Source, Summary, report, tables};

/// Where a result keeps its tables as CSV.
const CSV: &str = "csv";

/// Numbers of results lie below.
const NUMBERS_END: u32 = 1_000_000;

/// Most bytes of a name in the file systems of Linux (`NAME_MAX` in `linux/limits.h`).
const NAME_BYTES_MAX: usize = 255;

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
        if let Self::Exact(path) = self {
            check_target(path)?;
        }
        let (parent, name) = self.place()?;
        check_name(&name)?;
        check_parent(&parent)
    }

    /// The folder that the result will stand in, and its name there, without a number.
    pub(crate) fn place(&self) -> Result<(PathBuf, String), Error> {
        match self {
            Self::Numbered { parent, name } => Ok((parent.clone(), name.clone())),
            Self::Exact(path) => {
                let path = resolved(path);
                let name = path.file_name().ok_or_else(|| Error::NoName { path: path.clone() })?;
                Ok((parent_of(&path), name.to_string_lossy().into_owned()))
            }
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
        // What does not exist, perhaps because what should hold it is no folder, is for the check of the parent.
        Err(_) if fs::symlink_metadata(path).is_err() => Ok(()),
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

/// Refuses a name that leaves no room for what is put before and behind it while the result is written.
fn check_name(name: &str) -> Result<(), Error> {
    let longest = format!("{}{}", partial_stem(name), u32::MAX);
    if longest.len() <= NAME_BYTES_MAX {
        return Ok(());
    }
    Err(Error::LongName {
        name: name.to_owned(),
        bytes_max: NAME_BYTES_MAX.saturating_sub(longest.len() - name.len()),
    })
}

/// What names of results under construction begin with: the process follows.
fn partial_stem(name: &str) -> String {
    format!(".{name}.partial-{}-", Host::name())
}

/// Where a path leads: a link can stand for a folder, but none can be put in its place.
fn resolved(path: &Path) -> PathBuf {
    if path.is_symlink() {
        fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
    } else {
        path.to_owned()
    }
}

/// Refuses a folder in which nothing can be created, as far as that can be known without creating anything.
fn check_parent(parent: &Path) -> Result<(), Error> {
    // What does not exist is created, in the first of its ancestors that does.
    let existing = parent.ancestors().find(|path| fs::symlink_metadata(path).is_ok());
    let existing = existing.unwrap_or(Path::new("."));
    if !existing.is_dir() {
        return Err(Error::NotAFolder {
            path: existing.to_owned(),
        });
    }
    let wanted = Access::WRITE_OK | Access::EXEC_OK;
    access(existing, wanted).map_err(|error| Error::NotWritable {
        path: existing.to_owned(),
        source: error.into(),
    })
}

/// Writes a result and returns its folder, with the tables in CSV as well if `csv`. On an error nothing is left behind.
///
/// # Errors
/// When the target is not free or a file cannot be written.
pub fn write(
    target: &Target,
    experiment: &Experiment,
    summary: &Summary,
    provenance: &Provenance,
    csv: bool,
) -> Result<PathBuf, Error> {
    write_folder(target, |folder| {
        tables::write(experiment, folder, Format::Parquet)?;
        if csv {
            let folder = folder.join(CSV);
            fs::create_dir(&folder).map_err(Error::io("create the folder", &folder))?;
            write_csv(experiment, &folder)?;
            sync_folder(&folder)?;
        }
        write_json(folder, "summary.json", summary)?;
        write_json(folder, "manifest.json", &Manifest::new(experiment, provenance))?;
        write_setup(folder, &Setup::of(experiment))?;
        write_sources(folder, &experiment.sources)?;
        write_file(folder, "report.html", report::html(experiment, summary)?.as_bytes())
    })
}

/// Writes the tables of an experiment as CSV into a folder of their own and returns it: `target`, or `csv` in the
/// folder that the experiment was read from.
///
/// # Errors
/// When the folder is not free or a file cannot be written.
pub fn export(experiment: &Experiment, from: &Path, target: Option<PathBuf>) -> Result<PathBuf, Error> {
    let target = Target::Exact(target.unwrap_or_else(|| from.join(CSV)));
    write_folder(&target, |folder| write_csv(experiment, folder))
}

fn write_csv(experiment: &Experiment, folder: &Path) -> Result<(), Error> {
    tables::write(experiment, folder, Format::Csv)?;
    let path = folder.join("columns.csv");
    let columns = tables::columns_csv(experiment).map_err(|source| Error::Csv {
        path: path.clone(),
        source,
    })?;
    write_file(folder, "columns.csv", &columns)
}

/// Writes a page or a figure: under another name first, so that it is whole or as it was.
///
/// # Errors
/// When it cannot be written.
pub fn write_page(path: &Path, page: impl AsRef<[u8]>) -> Result<(), Error> {
    let name = path
        .file_name()
        .ok_or_else(|| Error::NoName { path: path.to_owned() })?;
    let parent = parent_of(path);
    let partial = format!(".{}.partial-{}-{}", name.to_string_lossy(), Host::name(), process::id());
    let written = write_file(&parent, &partial, page.as_ref());
    let partial = parent.join(partial);
    let moved = written.and_then(|()| fs::rename(&partial, path).map_err(Error::io("move what was written to", path)));
    moved.inspect_err(|_| {
        let _ = fs::remove_file(&partial);
    })?;
    sync_folder(&parent)
}

/// Laws of the user's own, into `laws/`: without them the scenario could not be run again.
fn write_sources(folder: &Path, sources: &[Source]) -> Result<(), Error> {
    if sources.is_empty() {
        return Ok(());
    }
    let laws = folder.join(LAWS);
    fs::create_dir(&laws).map_err(Error::io("create the folder", &laws))?;
    for source in sources {
        let file = laws.join(&source.file);
        let folder = file.parent().unwrap_or(&laws);
        fs::create_dir_all(folder).map_err(Error::io("create the folder", folder))?;
        write_file(&laws, &source.file, source.text.as_bytes())?;
        sync_folder(folder)?;
    }
    sync_folder(&laws)
}

fn write_json(folder: &Path, file: &'static str, value: &impl Serialize) -> Result<(), Error> {
    let mut text = serde_json::to_vec_pretty(value).map_err(Error::json(file))?;
    text.push(b'\n');
    write_file(folder, file, &text)
}

/// Written as it is made: with a hundred thousand flows its text is 84 MB.
fn write_setup(folder: &Path, setup: &Setup) -> Result<(), Error> {
    let path = folder.join("setup.json");
    let mut file = BufWriter::new(File::create(&path).map_err(Error::io("create", &path))?);
    serde_json::to_writer(&mut file, setup).map_err(|error| Error::io("write", &path)(error.into()))?;
    let file = file
        .into_inner()
        .map_err(|error| Error::io("write", &path)(error.into_error()))?;
    file.sync_all().map_err(Error::io("write to disk", &path))
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
    let (parent, name) = target.place()?;
    fs::create_dir_all(&parent).map_err(Error::io("create the folder", &parent))?;
    let stem = partial_stem(&name);
    remove_abandoned(&parent, &stem);
    let partial = Partial(parent.join(format!("{stem}{}", process::id())));
    fs::create_dir(&partial.0).map_err(Error::io("create the folder", &partial.0))?;
    fill(&partial.0)?;
    sync_folder(&partial.0)?;
    let place = match target {
        Target::Exact(path) => {
            fs::rename(&partial.0, resolved(path)).map_err(Error::io("move the result to", path))?;
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
        if name
            .to_str()
            .and_then(|name| name.strip_prefix(stem))
            .is_some_and(is_abandoned)
        {
            // Whoever cannot remove it can still write beside it.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Whether the process of this number, on this host, is no more.
pub(crate) fn is_abandoned(process: &str) -> bool {
    let number = process.parse::<u32>();
    number.is_ok_and(|pid| Path::new("/proc/self").exists() && !Path::new(&format!("/proc/{pid}")).exists())
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
            .and_then(|entry| entry.strip_prefix(name)?.strip_prefix('-')?.parse::<u32>().ok());
        // A name that merely looks like a number, such as a time, would leave none after it.
        highest = highest.max(number.filter(|number| *number < NUMBERS_END).unwrap_or(0));
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
