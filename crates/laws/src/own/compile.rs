//! A header through the system's C compiler to a shared object.
#![allow(unsafe_code)]

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Output};

use sha2::{Digest, Sha256};
use tempfile::TempDir;

use super::{OwnLawError, Source, SourceFile, remarks, symbols};
use crate::guard::to_hex;

include!(concat!(env!("OUT_DIR"), "/headers.rs"));

/// Beyond any law, as for scenarios.
const HEADER_BYTES_MAX: u64 = 1 << 20;

/// How the names of temporary folders begin; the process and something random follow.
const FOLDER_PREFIX: &str = "fadelab-law-";

/// How a law is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Build {
    /// To run.
    Plain,
    /// To tell its steps.
    Explained,
}

/// A compiled law. The folder goes with it.
pub(super) struct Compiled {
    pub source: Source,
    pub warnings: String,
    pub object: PathBuf,
    _folder: TempDir,
}

/// Language, warnings and checks of a law. Unused parameters are the rule: the tables' types ask for them.
const FLAGS: [&str; 10] = [
    "-std=c11",
    "-D_POSIX_C_SOURCE=200809L",
    "-O2",
    "-fPIC",
    "-fexceptions",
    "-fvisibility=hidden",
    "-Wall",
    "-Wextra",
    "-Wno-unused-parameter",
    "-Werror=implicit-function-declaration",
];

/// What the checks look for; `undefined.h` answers each of them.
const CHECKS: [&str; 3] = [
    "-fsanitize=integer-divide-by-zero,signed-integer-overflow,shift,bounds,null,alignment,object-size,return",
    "-fsanitize=unreachable,vla-bound,bool,enum,pointer-overflow",
    "-fno-sanitize-recover=all",
];

/// The law's name, which is that of its file.
pub(super) fn name_of(path: &Path) -> Result<String, OwnLawError> {
    let bad = || OwnLawError::BadName {
        path: path.display().to_string(),
    };
    let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(bad)?;
    let name = name.strip_suffix(".h").ok_or_else(bad)?;
    let letters = name
        .bytes()
        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    if letters && begins {
        Ok(name.to_owned())
    } else {
        Err(bad())
    }
}

/// Whether a law can have the name of this file.
///
/// # Errors
/// [`OwnLawError::BadName`].
pub fn check_name(path: &Path) -> Result<(), OwnLawError> {
    name_of(path).map(|_| ())
}

/// The same law from its files as they are now; `None` where one of them cannot be read.
pub fn read_again(source: &Source) -> Option<Source> {
    let folder = source.path.parent()?;
    let read = |file: &SourceFile| {
        let text = fs::read_to_string(folder.join(&file.name)).ok()?;
        let name = file.name.clone();
        Some(SourceFile { name, text })
    };
    let files: Vec<SourceFile> = source.files.iter().map(read).collect::<Option<_>>()?;
    Some(Source {
        sha256: hash(&files),
        files,
        ..source.clone()
    })
}

/// Compiles the header at `path`; `folder` is where the compiler runs, so that its messages name the file as given.
pub(super) fn compile(path: &Path, folder: &Path, build: Build) -> Result<Compiled, OwnLawError> {
    let shown = path.display().to_string();
    let name = name_of(path)?;
    let unreadable = |error: std::io::Error| OwnLawError::Unreadable {
        path: shown.clone(),
        why: error.to_string(),
    };
    readable(&folder.join(path)).map_err(unreadable)?;
    let place = temporary();
    let place = place.map_err(|error| OwnLawError::unusable(&shown, format!("no temporary folder: {error}")))?;
    write_headers(place.path(), &name)
        .map_err(|error| OwnLawError::unusable(&shown, format!("cannot write to a temporary folder: {error}")))?;
    let object = place.path().join("law.o");
    let mut command = compiler(&shown)?;
    command
        .current_dir(absolute(folder))
        .args(FLAGS)
        .args(CHECKS)
        .arg("-I")
        .arg(place.path());
    if build == Build::Explained {
        command.arg("-include").arg(place.path().join("guard/step.h"));
    }
    command
        .arg("-include")
        .arg(plain(path))
        .args(["-MD", "-MF"])
        .arg(place.path().join("law.d"));
    command.arg("-c").arg(place.path().join("law.c")).arg("-o").arg(&object);
    let warnings = run(command, &shown, place.path())?;
    let bytes = fs::read(&object).map_err(unreadable)?;
    symbols::check(&bytes).map_err(|why| OwnLawError::unusable(&shown, why))?;
    let library = place.path().join("law.so");
    let mut command = compiler(&shown)?;
    command.arg("-shared").arg(&object).arg("-o").arg(&library);
    run(command, &shown, place.path())?;
    let files = own_files(place.path(), path, folder, &shown)?;
    Ok(Compiled {
        source: Source {
            sha256: hash(&files),
            name,
            path: path.to_owned(),
            files,
        },
        warnings,
        object: library,
        _folder: place,
    })
}

/// Whether the header is a file that a compiler comes to the end of.
fn readable(path: &Path) -> std::io::Result<()> {
    let about = fs::metadata(path)?;
    if !about.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    if about.len() > HEADER_BYTES_MAX {
        return Err(std::io::Error::other(format!(
            "it has {} bytes; allowed are {HEADER_BYTES_MAX}",
            about.len()
        )));
    }
    fs::File::open(path).map(drop)
}

/// The headers that laws may include: path below `laws/` and text.
pub fn headers() -> impl Iterator<Item = (&'static str, &'static str)> {
    let is_law = |(name, _): &(&str, &str)| !name.starts_with("guard/");
    HEADERS.iter().copied().filter(is_law)
}

/// A folder of this process, when those that killed processes left behind are gone.
///
/// # Errors
/// What the system says where it cannot be made.
pub fn temporary() -> std::io::Result<TempDir> {
    let folder = std::env::temp_dir();
    for entry in fs::read_dir(&folder)?.flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(FOLDER_PREFIX));
        let owner = owner.and_then(|rest| rest.split_once('-')?.0.parse().ok());
        if owner.is_some_and(is_dead) {
            // Another user's cannot be removed, which is no reason to stop.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    let prefix = format!("{FOLDER_PREFIX}{}-", std::process::id());
    tempfile::Builder::new().prefix(&prefix).tempdir_in(folder)
}

/// Whether no process has the number.
fn is_dead(process: libc::pid_t) -> bool {
    // SAFETY: signal 0 is sent to nobody; it only asks.
    let status = unsafe { libc::kill(process, 0) };
    process > 0 && status != 0 && std::io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)
}

/// Writes the headers of fadelab and the translation unit.
fn write_headers(place: &Path, name: &str) -> std::io::Result<()> {
    for (file, text) in HEADERS {
        let file = place.join(file);
        fs::create_dir_all(file.parent().unwrap_or(place))?;
        fs::write(file, text)?;
    }
    let unit = format!(
        "#define GUARD_NAME {name}\n#define GUARD_EXPORT fadelab_law\n#define GUARD_WATCHED 1\n\
         #include \"guard/guard.h\"\n#include \"guard/undefined.h\"\n"
    );
    fs::write(place.join("law.c"), unit)
}

fn absolute(folder: &Path) -> PathBuf {
    if folder.as_os_str().is_empty() {
        PathBuf::from(".")
    } else {
        folder.to_owned()
    }
}

/// `CC`, which may carry arguments, else the first of the usual ones that is installed.
fn compiler(path: &str) -> Result<Command, OwnLawError> {
    if let Some(given) = std::env::var("CC").ok().filter(|given| !given.trim().is_empty()) {
        let mut words = given.split_whitespace();
        let mut command = Command::new(words.next().unwrap_or("cc"));
        command.args(words);
        return Ok(command);
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = ["cc", "gcc", "clang"]
        .into_iter()
        .find(|name| std::env::split_paths(&folders).any(|folder| folder.join(name).is_file()));
    found.map(Command::new).ok_or_else(|| OwnLawError::NoCompiler {
        path: path.to_owned(),
        why: "none of cc, gcc and clang is in PATH".to_owned(),
    })
}

/// Runs a compiler; gives back what it said of the law's own files. Fadelab's are in `place`.
fn run(mut command: Command, path: &str, place: &Path) -> Result<String, OwnLawError> {
    // Messages are read by people and shown in their own words, not in those of the author's language settings.
    command.env("LC_ALL", "C");
    let program = command.get_program().to_string_lossy().into_owned();
    let Output { status, stderr, .. } = command.output().map_err(|error| OwnLawError::NoCompiler {
        path: path.to_owned(),
        why: format!("`{program}` cannot be run: {error}"),
    })?;
    let message = remarks::on_own_files(String::from_utf8_lossy(&stderr).trim_end(), place);
    if status.success() {
        Ok(message)
    } else {
        Err(OwnLawError::DoesNotCompile {
            path: path.to_owned(),
            message,
        })
    }
}

/// The header and what it includes that is neither fadelab's nor the system's.
fn own_files(place: &Path, path: &Path, folder: &Path, shown: &str) -> Result<Vec<SourceFile>, OwnLawError> {
    let rule = fs::read_to_string(place.join("law.d")).unwrap_or_default();
    let header_folder = path.parent().unwrap_or(Path::new(""));
    let mut files = Vec::new();
    for dependency in dependencies(&rule) {
        let dependency = Path::new(&dependency);
        if dependency.starts_with(place) || is_of_system(dependency) {
            continue;
        }
        let inside = plain(dependency).strip_prefix(plain(header_folder)).map(Path::to_owned);
        let inside = inside
            .ok()
            .filter(|name| name.components().all(|part| matches!(part, Component::Normal(_))));
        let Some(name) = inside else {
            let why = format!(
                "it includes {}, which is not at or below its own folder: put it there, so that results can keep it",
                dependency.display()
            );
            return Err(OwnLawError::unusable(shown, why));
        };
        let bytes = fs::read(folder.join(dependency)).map_err(|error| OwnLawError::Unreadable {
            path: dependency.display().to_string(),
            why: error.to_string(),
        })?;
        files.push(SourceFile {
            name: name.display().to_string(),
            text: String::from_utf8_lossy(&bytes).into_owned(),
        });
    }
    Ok(files)
}

/// Headers of the system's compiler and library, which every host brings.
pub(super) fn is_of_system(path: &Path) -> bool {
    path.starts_with("/usr") || path.starts_with("/lib")
}

/// A path without `.` in it.
fn plain(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != Component::CurDir).collect()
}

/// The prerequisites of a rule in make's language, the first time that each is named.
fn dependencies(rule: &str) -> Vec<String> {
    let (_, list) = rule.split_once(": ").unwrap_or_default();
    let mut names: Vec<String> = Vec::new();
    let mut name = String::new();
    let mut characters = list.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => name.extend(characters.next().filter(|next| *next != '\n')),
            character if character.is_whitespace() => names.push(std::mem::take(&mut name)),
            character => name.push(character),
        }
    }
    names.push(name);
    let mut seen = Vec::new();
    for name in names {
        if !name.is_empty() && !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}

fn hash(files: &[SourceFile]) -> String {
    let mut hash = Sha256::new();
    for SourceFile { name, text } in files {
        hash.update(format!("{name} {}\n", text.len()));
        hash.update(text);
    }
    to_hex(&hash.finalize())
}

/// Writes the files of a law below `folder`.
pub(super) fn write_files(source: &Source, folder: &Path) -> std::io::Result<PathBuf> {
    for SourceFile { name, text } in &source.files {
        let name = Path::new(name);
        if !name.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(std::io::Error::other(format!(
                "{} is not a path below its folder",
                name.display()
            )));
        }
        let file = folder.join(name);
        fs::create_dir_all(file.parent().unwrap_or(folder))?;
        fs::write(file, text)?;
    }
    Ok(PathBuf::from(format!("{}.h", source.name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_of_make_names_files_once() {
        // Goal: continued lines, blanks in names and repeated names of a dependency file are read as make reads them.
        let rule = "law.o: a/law.c ./mine.h \\\n my\\ part.h ./mine.h\n";
        assert_eq!(dependencies(rule), ["a/law.c", "./mine.h", "my part.h"]);
        assert_eq!(dependencies(""), Vec::<String>::new());
    }

    #[test]
    fn the_hash_is_of_the_text() {
        // Goal: another text, another name or another border between files is another hash.
        let file = |name: &str, text: &str| SourceFile {
            name: name.to_owned(),
            text: text.to_owned(),
        };
        let sets = [
            vec![file("a.h", "x")],
            vec![file("a.h", "y")],
            vec![file("b.h", "x")],
            vec![file("a.h", ""), file("b.h", "x")],
            vec![file("a.h", "x"), file("b.h", "")],
        ];
        let mut hashes: Vec<String> = sets.iter().map(|files| hash(files)).collect();
        hashes.sort();
        hashes.dedup();
        assert_eq!(hashes.len(), sets.len());
    }

    #[test]
    fn the_name_of_a_law_is_that_of_its_file() {
        // Goal: what cannot be the beginning of a C identifier is refused before anything is compiled.
        assert_eq!(name_of(Path::new("x/mine_2.h")).unwrap(), "mine_2");
        for path in ["mine.c", "Mine.h", "my-law.h", "2mine.h", ".h", "mine", ".."] {
            assert!(name_of(Path::new(path)).is_err(), "{path}");
        }
    }
}
