//! A law with its programs, compiled for each shape of a kernel: what is loaded where there is no compiler.
//!
//! An object is known by all that it is made from ([`Text::key`]), so that what is loaded is what this build of fadelab
//! would have compiled itself; parameters, names and users are set when it is loaded (`set`).

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use fadelab_laws::own;
use fadelab_laws::{Capacity, Description, Params, capacities, router, sender};

use crate::Version;
use crate::compile::{self, CompileError, Text};
use crate::packed::{self, Head, compressed};
use crate::router::object::{Recipe, obstacle};
use crate::router::{edge_text, object};
use crate::sender::Unit;

/// What the file's name ends with.
pub const EXTENSION: &str = "fade";

/// Why a container cannot be made or read.
#[derive(Debug, thiserror::Error)]
pub enum ContainerError {
    /// The law.
    #[error(
        "{0}: there is nothing to load by itself: allowed are laws of senders and routers, and a capacity part stands \
         in the header of its router's law"
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
    let objects = compiled(&texts)?.into_iter().zip(&texts);
    let objects = objects.map(|(object, (what, text))| (what.clone(), text.key(), object));
    let own = own::loaded().into_iter().find(|law| law.source.name == name);
    let mut head = Head::new(
        Description::of(name),
        own.map(|law| law.source.clone()),
        compile::build(),
    );
    Ok(Made {
        bytes: head.with(objects.collect()),
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
    // A part of another law's header goes with that law, and one without a header here compiles nowhere.
    let is_here = |part: &Capacity| {
        let file = format!("capacity/{}.h", part.name());
        part.name() == name || own::headers().any(|(header, _)| header == file)
    };
    for part in capacities() {
        if obstacle(law, part).is_some() || !is_here(part) {
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
    let (head, objects) = packed::read(&bytes, &compile::build()).map_err(failed)?;
    match &head.source {
        Some(source) => {
            own::describe(source, &head.law).map_err(|error| failed(error.to_string()))?;
        }
        None if Description::of(&head.law.name) == head.law => {}
        None => return Err(failed(head.other_build())),
    }
    packed::bring(&head, objects).map_err(failed)?;
    Ok(head.law.name)
}
