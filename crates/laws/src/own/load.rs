//! From a header to a law in the registry.
#![allow(unsafe_code)]

use std::error::Error;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use super::compile::{Build, Compiled, compile, name_of, temporary, write_files};
use super::{OwnLaw, OwnLawError, Source, check};
use crate::described::Description;
use crate::guard::{Export, HOST, Tables};
use crate::registry;

/// All laws that were loaded, in order.
static LOADED: Mutex<Vec<&'static OwnLaw>> = Mutex::new(Vec::new());

/// The laws that users brought so far.
pub fn loaded() -> Vec<&'static OwnLaw> {
    LOADED.lock().map_or_else(|_| Vec::new(), |laws| laws.clone())
}

/// Compiles the header at `path`, checks its tables, and registers the law under the name of the file.
///
/// The law stays for the life of the program. The same file again is the same law, if its text has not changed.
///
/// # Errors
/// A file that cannot be read, has a name that no law can have or one that is taken, does not compile, or defines
/// tables that a host cannot use.
pub fn load(path: &Path) -> Result<&'static OwnLaw, OwnLawError> {
    let name = name_of(path)?;
    refuse_builtin(&name, path)?;
    register(compile(path, Path::new(""), Build::Plain)?)
}

/// As [`load`], from texts that a result or a file of calls has kept.
///
/// # Errors
/// As [`load`].
pub fn load_text(source: &Source) -> Result<&'static OwnLaw, OwnLawError> {
    let path = Path::new(&source.name).with_extension("h");
    refuse_builtin(&name_of(&path)?, &path)?;
    register(compile_text(source, Build::Plain)?)
}

/// Registers a law whose programs were compiled elsewhere: it can be loaded into a kernel, and nobody can call it here.
/// The same again is the same law.
///
/// # Errors
/// A name that no law can have or one that is taken.
pub fn describe(source: &Source, description: &Description) -> Result<&'static OwnLaw, OwnLawError> {
    let path = Path::new(&source.name).with_extension("h");
    refuse_builtin(&name_of(&path)?, &path)?;
    let mut laws = known_laws(&source.path.display())?;
    if let Some(known) = already(&laws, source)? {
        return Ok(known);
    }
    let text = source.files.first().map_or("", |file| file.text.as_str());
    registry::add_described(description, String::from(text).leak());
    let has = [
        (description.sender.is_some(), "sender"),
        (description.receiver.is_some(), "receiver"),
        (description.router.is_some(), "router"),
        (description.capacity.is_some(), "capacity"),
    ];
    let law: &'static OwnLaw = Box::leak(Box::new(OwnLaw {
        source: source.clone(),
        roles: has.iter().filter(|(has, _)| *has).map(|(_, role)| *role).collect(),
        warnings: String::new(),
    }));
    laws.push(law);
    Ok(law)
}

fn known_laws(shown: &impl std::fmt::Display) -> Result<MutexGuard<'static, Vec<&'static OwnLaw>>, OwnLawError> {
    LOADED
        .lock()
        .map_err(|_| OwnLawError::unusable(shown, "an earlier law failed to load"))
}

/// The law of that name that was brought before, if it has the same text.
fn already(laws: &[&'static OwnLaw], source: &Source) -> Result<Option<&'static OwnLaw>, OwnLawError> {
    match laws.iter().find(|law| law.source.name == source.name) {
        Some(known) if known.source.sha256 == source.sha256 => Ok(Some(known)),
        Some(known) => {
            let given = known.source.path.display();
            let why = format!("the law {} is already given by {given}", known.source.name);
            Err(OwnLawError::unusable(source.path.display(), why))
        }
        None => Ok(None),
    }
}

fn compile_text(source: &Source, build: Build) -> Result<Compiled, OwnLawError> {
    let shown = source.path.display();
    let folder = temporary();
    let written = folder.and_then(|folder| Ok((write_files(source, folder.path())?, folder)));
    let (file, folder) =
        written.map_err(|error| OwnLawError::unusable(shown, format!("cannot write its text: {error}")))?;
    let mut compiled = compile(&file, folder.path(), build)?;
    compiled.source.path.clone_from(&source.path);
    Ok(compiled)
}

/// Names that mean something else in a scenario, or in an `#include` beside the header.
const RESERVED: [&str; 8] = ["none", "auto", "one", "udp", "law", "base", "declare", "fixed"];

fn refuse_builtin(name: &str, path: &Path) -> Result<(), OwnLawError> {
    if name.starts_with("fq_") || RESERVED.contains(&name) {
        let why = format!(
            "the name {name} means something else already: names that begin with fq_ are those of fair queueing, and \
             {} are taken too; name the file otherwise, for example my_{name}.h, and its tables as the file",
            RESERVED.join(", ")
        );
        return Err(OwnLawError::unusable(path.display(), why));
    }
    if registry::is_builtin(name) {
        let why = format!(
            "the name {name} is that of a built-in law: name the file otherwise, for example my_{name}.h, and in it \
             the tables ({name}_sender becomes my_{name}_sender) and their .name; then both run side by side"
        );
        return Err(OwnLawError::unusable(path.display(), why));
    }
    Ok(())
}

fn register(compiled: Compiled) -> Result<&'static OwnLaw, OwnLawError> {
    let shown = compiled.source.path.display().to_string();
    let mut laws = known_laws(&shown)?;
    if let Some(known) = already(&laws, &compiled.source)? {
        return Ok(known);
    }
    let tables = open(&compiled)?;
    // SAFETY: open() gives the tables of a law compiled against this law.h.
    let roles = unsafe { check::roles(&tables, &compiled.source.name) };
    let roles = roles.map_err(|why| OwnLawError::unusable(&shown, why))?;
    let text = compiled.source.files.first().map_or("", |file| file.text.as_str());
    // SAFETY: the tables are checked, and their library stays.
    unsafe { registry::add(&tables, String::from(text).leak()) };
    let law: &'static OwnLaw = Box::leak(Box::new(OwnLaw {
        source: compiled.source,
        roles,
        warnings: compiled.warnings,
    }));
    laws.push(law);
    Ok(law)
}

/// Loads a compiled law for the life of the program: its tables are pointed at from everywhere.
fn open(compiled: &Compiled) -> Result<Tables, OwnLawError> {
    let shown = compiled.source.path.display();
    // SAFETY: the library was just compiled from a law; it has no constructors but what the user wrote into it.
    let library = unsafe { Library::open(Some(&compiled.object), RTLD_NOW | RTLD_LOCAL) };
    let library = library.map_err(|error| {
        let error = error.source().map_or_else(|| error.to_string(), ToString::to_string);
        let why = format!("cannot be loaded: {error}; where TMPDIR forbids to execute files, set another");
        OwnLawError::unusable(&shown, why)
    })?;
    // SAFETY: the generated translation unit defines the symbol with this type.
    let export = unsafe { library.get::<Export>(b"fadelab_law\0") };
    let export = *export.map_err(|error| OwnLawError::unusable(&shown, error.to_string()))?;
    std::mem::forget(library);
    // SAFETY: as above; the host is a static.
    Ok(unsafe { export(&raw const HOST) })
}

/// The tables of a law that was brought, in the build that tells its steps.
pub(crate) fn explained(source: &Source) -> Result<Tables, OwnLawError> {
    let compiled = compile_text(source, Build::Explained)?;
    let tables = open(&compiled)?;
    // SAFETY: open() gives the tables of a law compiled against this law.h.
    let roles = unsafe { check::roles(&tables, &compiled.source.name) };
    roles.map_err(|why| OwnLawError::unusable(source.path.display(), why))?;
    Ok(tables)
}
