//! A law with its programs, compiled for each shape of a kernel: what is loaded where there is no compiler.
//!
//! A file is one line of JSON ([`Head`]), then the objects one after the other, each compressed, then the SHA-256 of all
//! that. An object
//! is known by all that it is made from ([`Text::key`]), so that what is loaded is what this build of fadelab would
//! have compiled itself; parameters, names and users are set when it is loaded (`set`).

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::thread;

use fadelab_laws::own::{self, Source};
use fadelab_laws::{Capacity, Description, Params, capacities, router, sender};
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::Version;
use crate::compile::{self, CompileError, Text};
use crate::router::object::{Recipe, obstacle};
use crate::router::{edge_text, object};
use crate::sender::Unit;

/// Version of the format.
const FORMAT: u32 = 1;
const SUM_BYTES: usize = 32;

/// What the file's name ends with.
pub const EXTENSION: &str = "fade";

/// First line of a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Head {
    /// [`FORMAT`].
    fadelab_law: u32,
    /// The release of fadelab, and what else of it the objects depend on.
    fadelab: String,
    build: String,
    /// The law's text where it is not built in.
    source: Option<Source>,
    law: Description,
    objects: Vec<Packed>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Packed {
    /// In words.
    what: String,
    key: String,
    /// Compressed.
    bytes: usize,
}

/// Why a container cannot be made or read.
#[derive(Debug, thiserror::Error)]
pub enum ContainerError {
    /// The law.
    #[error(
        "{0}: there is nothing to load by itself: allowed are laws of senders and routers, and a capacity part stands in \
         the header of its router's law"
    )]
    Nothing(String),
    /// An object.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The file.
    #[error("{file}: {why}")]
    File {
        file: String,
        /// What is wrong, and what to do.
        why: String,
    },
}

/// What is in a container, for whoever made it.
#[derive(Clone, Debug)]
pub struct Made {
    /// The file's content.
    pub bytes: Vec<u8>,
    /// Whether it has a law for the ends of connections, and one for routers.
    pub ends: bool,
    pub routers: bool,
    /// Each object in words.
    pub objects: Vec<String>,
}

/// Objects that were brought in containers, by their keys.
static BROUGHT: Mutex<BTreeMap<String, Vec<u8>>> = Mutex::new(BTreeMap::new());

/// The object that a container brought for a text, if one did.
pub(crate) fn brought(key: &str) -> Option<Vec<u8>> {
    let get = || BROUGHT.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned();
    get().or_else(|| {
        take_shipped();
        get()
    })
}

/// Compiles all that is to be had of the laws of a name.
///
/// # Errors
/// What the compiler says, or laws of which nothing runs in a kernel.
pub fn make(name: &str) -> Result<Made, ContainerError> {
    let mut texts = of_sender(name);
    texts.extend(of_router(name));
    if texts.is_empty() {
        return Err(ContainerError::Nothing(name.to_owned()));
    }
    texts.push(("edges of the closed domain".to_owned(), edge_text()));
    let (mut packed, mut objects) = (Vec::new(), Vec::new());
    for ((what, text), object) in texts.iter().zip(compiled(&texts)?) {
        packed.push(Packed {
            what: what.clone(),
            key: text.key(),
            bytes: object.len(),
        });
        objects.extend(object);
    }
    let own = own::loaded().into_iter().find(|law| law.source.name == name);
    let head = Head {
        fadelab_law: FORMAT,
        fadelab: env!("CARGO_PKG_VERSION").to_owned(),
        build: compile::build(),
        source: own.map(|law| law.source.clone()),
        law: Description::of(name),
        objects: packed,
    };
    let mut bytes = serde_json::to_vec(&head).expect("a head has text and numbers alone");
    bytes.push(b'\n');
    bytes.extend(objects);
    let sum = Sha256::digest(&bytes);
    bytes.extend(sum);
    Ok(Made {
        bytes,
        ends: head.law.sender.is_some(),
        routers: head.law.router.is_some(),
        objects: head.objects.into_iter().map(|object| object.what).collect(),
    })
}

/// All of them, compressed, as many at a time as there are processors.
fn compiled(texts: &[(String, Text)]) -> Result<Vec<Vec<u8>>, CompileError> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some((at, (_, text))) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, texts.get(at)?)))
        {
            done.push((at, text.object().map(|object| compressed(&object))));
        }
        done
    };
    let mut all: Vec<(usize, Result<Vec<u8>, CompileError>)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().expect("it compiles or says why not"))
            .collect()
    });
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, object)| object).collect()
}

/// Memory takes what is written to it.
fn compressed(object: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    let written = encoder.write_all(object).and_then(|()| encoder.finish());
    written.expect("memory")
}

fn expanded(packed: &[u8]) -> Result<Vec<u8>, String> {
    let mut object = Vec::new();
    let read = DeflateDecoder::new(packed).read_to_end(&mut object);
    read.map(|_| object)
        .map_err(|error| format!("a program in it cannot be expanded: {error}"))
}

fn recorded(record: bool) -> &'static str {
    if record { ", recorded" } else { "" }
}

/// A sender's law for each shape of a kernel's hooks.
fn of_sender(name: &str) -> Vec<(String, Text)> {
    let Some(law) = sender(name).filter(|law| !law.is_of_host()) else {
        return Vec::new();
    };
    let mut texts = Vec::new();
    for version in Version::SENDER_SHAPES {
        for record in [false, true] {
            let unit = Unit {
                record,
                ..Unit::new(law, version)
            };
            texts.push((format!("sender, Linux {version} on{}", recorded(record)), unit.text()));
        }
    }
    texts
}

/// A router's law with each capacity part, for each shape of what a kernel shows of its queue.
fn of_router(name: &str) -> Vec<(String, Text)> {
    let Some(law) = router(name).filter(|law| !law.is_of_host()) else {
        return Vec::new();
    };
    let mut texts = Vec::new();
    let is_own = |part: &Capacity| own::loaded().iter().any(|own| own.source.name == part.name());
    for part in capacities() {
        if obstacle(law, part).is_some() || (is_own(part) && part.name() != name) {
            continue;
        }
        let (params, part_params): (Params, Params) = (law.default_params(), part.default_params());
        for kernel in Version::ROUTER_SHAPES {
            for record in [false, true] {
                let recipe = Recipe {
                    law,
                    params: &params,
                    part,
                    part_params: &part_params,
                    kernel,
                    record,
                };
                let what = format!(
                    "router {} with the part {}, Linux {kernel} on{}",
                    law.name(),
                    part.name(),
                    recorded(record)
                );
                texts.push((what, object::text(&recipe)));
            }
        }
    }
    texts
}

/// Makes what a container has known: its law by the name that is given back, and its objects.
///
/// # Errors
/// A file that is none, is damaged, or was made by another build of fadelab.
pub fn open(path: &Path) -> Result<String, ContainerError> {
    let failed = |why: String| ContainerError::File {
        file: path.display().to_string(),
        why,
    };
    let bytes = fs::read(path).map_err(|error| failed(error.to_string()))?;
    let (head, objects) = read(&bytes).map_err(failed)?;
    match &head.source {
        Some(source) => {
            own::describe(source, &head.law).map_err(|error| failed(error.to_string()))?;
        }
        None if Description::of(&head.law.name) == head.law => {}
        None => return Err(failed(other_build(&head))),
    }
    bring(&head, objects).map_err(failed)?;
    Ok(head.law.name)
}

fn bring(head: &Head, objects: &[u8]) -> Result<(), String> {
    let mut rest = objects;
    for object in &head.objects {
        let (packed, after) = rest.split_at(object.bytes);
        let object_of = (object.key.clone(), expanded(packed)?);
        BROUGHT
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend([object_of]);
        rest = after;
    }
    Ok(())
}

/// Takes the programs of built-in laws that an installation has beside its command, `bin/fadelab` and
/// `lib/fadelab/laws/*.fade`. Those of another build are of no use, and so is an installation that has none.
fn take_shipped() {
    static TAKEN: Once = Once::new();
    TAKEN.call_once(|| {
        let command = std::env::current_exe().ok();
        let folder = command.and_then(|command| Some(command.parent()?.parent()?.join("lib/fadelab/laws")));
        for entry in folder
            .and_then(|folder| fs::read_dir(folder).ok())
            .into_iter()
            .flatten()
            .flatten()
        {
            if let Ok(bytes) = fs::read(entry.path())
                && let Ok((head, objects)) = read(&bytes)
            {
                let _ = bring(&head, objects);
            }
        }
    });
}

fn read(bytes: &[u8]) -> Result<(Head, &[u8]), String> {
    let none = "this is no container of a law; `fadelab kernel build LAW -o FILE` makes one";
    let line = bytes.iter().position(|byte| *byte == b'\n').ok_or(none)?;
    if !bytes.starts_with(b"{\"fadelab_law\":") {
        return Err(none.to_owned());
    }
    let damaged = || "it is damaged or cut: copy it again, or build it again".to_owned();
    let sum_at = bytes
        .len()
        .checked_sub(SUM_BYTES)
        .filter(|at| *at > line)
        .ok_or_else(damaged)?;
    if Sha256::digest(&bytes[..sum_at]).as_slice() != &bytes[sum_at..] {
        return Err(damaged());
    }
    let version = serde_json::from_slice::<serde_json::Value>(&bytes[..line]).ok();
    let version = version.and_then(|head| head.get("fadelab_law")?.as_u64());
    if version != Some(u64::from(FORMAT)) {
        let version = version.map_or_else(|| "another version".to_owned(), |version| format!("version {version}"));
        return Err(format!(
            "a container of {version}; this fadelab reads version {FORMAT}: build it again"
        ));
    }
    let head: Head = serde_json::from_slice(&bytes[..line]).map_err(|_| damaged())?;
    let objects = &bytes[line + 1..sum_at];
    if head.build != compile::build() {
        return Err(other_build(&head));
    }
    if head.objects.iter().map(|object| object.bytes).sum::<usize>() != objects.len() {
        return Err(damaged());
    }
    Ok((head, objects))
}

fn other_build(head: &Head) -> String {
    format!(
        "fadelab {} made it with other programs than this one has, {}: build it again with this one, or load it with that",
        head.fadelab,
        env!("CARGO_PKG_VERSION")
    )
}
