//! Laws that users bring: what `--law` loads, and what is kept when one of them is at fault.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::{fs, io};

use fadelab_laws::catalogue::Role;
use fadelab_laws::guard::{CALLS_VERSION, CallsHead, Fault};
use fadelab_laws::own;
use fadelab_results::{OwnLaw, Source, Target};
use fadelab_run::spec::RunSpec;

use crate::Failure;

/// Loads the headers and says which laws they define; `warn` is told what the compiler remarks.
///
/// # Errors
/// A header that cannot be used.
pub fn load(paths: &[PathBuf], warn: &dyn Fn(String)) -> Result<Vec<String>, Failure> {
    let mut names = Vec::new();
    for path in paths {
        let known = own::loaded().len();
        let law = own::load(path)?;
        if !law.warnings.is_empty() && own::loaded().len() > known {
            let shown = path.display();
            warn(format!("--law {shown}: the compiler remarks\n{}", law.warnings));
        }
        names.push(law.source.name.clone());
    }
    check_routers(paths, &names)?;
    Ok(names)
}

/// The name of a law as it was given: a name, or a header, which is compiled and registered first; `warn` is told what
/// the compiler remarks.
///
/// # Errors
/// A header that cannot be used.
pub fn named(given: &str, warn: &dyn Fn(String)) -> Result<String, Failure> {
    let is_file = given.contains('/') || Path::new(given).extension().is_some_and(|extension| extension == "h");
    if !is_file {
        return Ok(given.to_owned());
    }
    let names = load(&[PathBuf::from(given)], warn)?;
    Ok(names.into_iter().next().unwrap_or_default())
}

/// Writes the header of a new law, `NAME.h`, which compiles and runs as it is, into a folder. A file that is there is
/// left alone.
///
/// # Errors
/// A name that no law can have, a role that no law of a user has, or a file that exists already.
pub fn create(folder: &Path, role: Role, name: &str) -> Result<PathBuf, Failure> {
    let file = folder.join(format!("{name}.h"));
    own::check_name(&file)?;
    let text = own::skeleton(role, name);
    let text = text.ok_or_else(|| Failure::Invalid(format!("a {} is no law of its own", role.name())))?;
    let created = OpenOptions::new().write(true).create_new(true).open(&file);
    let mut created = created.map_err(|error| {
        let why = if error.kind() == io::ErrorKind::AlreadyExists {
            "exists already; take another name or remove it".to_owned()
        } else {
            format!("cannot be created: {error}")
        };
        Failure::Invalid(format!("{}: {why}", file.display()))
    })?;
    created.write_all(text.as_bytes()).map_err(|error| {
        // What is there of it would be in the way of the next attempt.
        let _ = fs::remove_file(&file);
        Failure::Failed(format!("{}: cannot be written: {error}", file.display()))
    })?;
    Ok(file)
}

/// A sender may need a router of the same or of another file, so this is checked when all are loaded.
fn check_routers(paths: &[PathBuf], names: &[String]) -> Result<(), Failure> {
    for (path, name) in paths.iter().zip(names) {
        let router = fadelab_laws::sender(name).and_then(fadelab_laws::Sender::router);
        if let Some(router) = router.filter(|router| fadelab_laws::router(router).is_none()) {
            let known: Vec<&str> = fadelab_laws::routers().iter().map(fadelab_laws::Router::name).collect();
            return Err(Failure::Invalid(format!(
                "--law {}: {name}_sender has .router = \"{router}\", which no law is: known are {}; \
                 another --law may bring it",
                path.display(),
                known.join(", ")
            )));
        }
    }
    Ok(())
}

/// The headers that a run uses.
pub fn used<'a>(paths: &'a [PathBuf], spec: &'a RunSpec) -> impl Iterator<Item = &'a PathBuf> {
    let names = |path: &Path| {
        let stem = path.file_stem().unwrap_or_default();
        let senders = spec
            .flows
            .iter()
            .filter_map(|flow| flow.sender.map(fadelab_laws::Sender::name));
        let routers = spec
            .network
            .links
            .iter()
            .flat_map(|link| [link.router.law.name(), link.router.capacity.name()]);
        senders.chain(routers).any(|name| stem == name)
    };
    paths.iter().filter(move |path| names(path))
}

/// What a result keeps of the laws that users brought.
pub fn kept() -> (Vec<OwnLaw>, Vec<Source>) {
    let mut files = Vec::new();
    let mut laws = Vec::new();
    for law in own::loaded() {
        let source = &law.source;
        laws.push(OwnLaw {
            name: source.name.clone(),
            path: source.path.display().to_string(),
            sha256: source.sha256.clone(),
            files: source.files.iter().map(|file| file.name.clone()).collect(),
        });
        files.extend(source.files.iter().map(|file| Source {
            file: format!("{}/{}", source.name, file.name),
            text: file.text.clone(),
        }));
    }
    (laws, files)
}

/// Keeps the call at fault in a file of calls beside where the result would have been, for [`crate::replay`]: the file,
/// and whether it could be written.
pub fn keep(fault: &Fault, target: &Target) -> (PathBuf, io::Result<()>) {
    let law = &fault.record.law;
    let path = match target {
        Target::Exact(folder) => folder.with_file_name(format!(
            "{}-{law}-fault.jsonl",
            folder.file_name().unwrap_or_default().to_string_lossy()
        )),
        Target::Numbered { parent, name } => parent.join(format!("{name}-{law}-fault.jsonl")),
    };
    let written = write_call(fault, &path);
    (path, written)
}

fn write_call(fault: &Fault, path: &Path) -> io::Result<()> {
    let sources = own::loaded().into_iter().map(|law| law.source.clone());
    let head = CallsHead {
        fadelab_calls: CALLS_VERSION,
        laws: sources.filter(|source| source.name == fault.record.law).collect(),
    };
    let text = format!(
        "{}\n{}\n",
        serde_json::to_string(&head)?,
        serde_json::to_string(&fault.record)?
    );
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}
