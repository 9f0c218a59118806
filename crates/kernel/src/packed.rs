//! The file of a container, and the objects that containers brought.
//!
//! It is one line of JSON ([`Head`]), then the objects one after the other, each compressed, then the SHA-256 of all
//! that.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::sync::{Mutex, Once, PoisonError};

use fadelab_laws::Description;
use fadelab_laws::own::Source;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Version of the format.
const FORMAT: u32 = 1;
const SUM_BYTES: usize = 32;

/// First line of a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Head {
    /// [`FORMAT`].
    fadelab_law: u32,
    /// The release of fadelab.
    fadelab: String,
    /// What else of it the objects depend on.
    build: String,
    /// The law's text where it is not built in.
    pub source: Option<Source>,
    pub law: Description,
    pub objects: Vec<Packed>,
}

/// An object.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Packed {
    /// In words.
    pub what: String,
    /// All that it is made from, as one number.
    key: String,
    /// Compressed.
    bytes: usize,
}

impl Head {
    /// Of a law, for the build that made it.
    pub fn new(law: Description, source: Option<Source>, build: String) -> Self {
        Self {
            fadelab_law: FORMAT,
            fadelab: env!("CARGO_PKG_VERSION").to_owned(),
            build,
            source,
            law,
            objects: Vec::new(),
        }
    }

    /// The file with these objects, each in words, by its key and compressed.
    pub fn with(&mut self, objects: Vec<(String, String, Vec<u8>)>) -> Vec<u8> {
        let of = |(what, key, object): &(String, String, Vec<u8>)| Packed {
            what: what.clone(),
            key: key.clone(),
            bytes: object.len(),
        };
        self.objects = objects.iter().map(of).collect();
        let mut bytes = serde_json::to_vec(self).expect("a head has text and numbers alone");
        bytes.push(b'\n');
        bytes.extend(objects.into_iter().flat_map(|(_, _, object)| object));
        let sum = Sha256::digest(&bytes);
        bytes.extend(sum);
        bytes
    }

    /// Why it is of no use to another build.
    pub fn other_build(&self) -> String {
        format!(
            "fadelab {} made it with other programs than this one has, {}: build it again with this one, or load it \
             with that",
            self.fadelab,
            env!("CARGO_PKG_VERSION")
        )
    }
}

/// Memory takes what is written to it.
pub fn compressed(object: &[u8]) -> Vec<u8> {
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

/// The head of a file that this build made, and its objects.
///
/// # Errors
/// What is wrong with the file, and what to do.
pub fn read<'a>(bytes: &'a [u8], build: &str) -> Result<(Head, &'a [u8]), String> {
    let none = "this is no container of a law; `fadelab kernel build LAW -o FILE` makes one";
    let line = bytes.iter().position(|byte| *byte == b'\n').ok_or(none)?;
    if !bytes.starts_with(b"{\"fadelab_law\":") {
        return Err(none.to_owned());
    }
    let damaged = || "it is damaged or cut: copy it again, or build it again".to_owned();
    let sum_at = bytes.len().checked_sub(SUM_BYTES).filter(|at| *at > line);
    let sum_at = sum_at.ok_or_else(damaged)?;
    if Sha256::digest(&bytes[..sum_at]).as_slice() != &bytes[sum_at..] {
        return Err(damaged());
    }
    let head: Option<serde_json::Value> = serde_json::from_slice(&bytes[..line]).ok();
    let version = head.and_then(|head| head.get("fadelab_law")?.as_u64());
    if version != Some(u64::from(FORMAT)) {
        return Err(format!(
            "a container of version {}; this fadelab reads version {FORMAT}: build it again",
            version.unwrap_or_default()
        ));
    }
    let head: Head = serde_json::from_slice(&bytes[..line]).map_err(|_| damaged())?;
    let objects = &bytes[line + 1..sum_at];
    if head.build != build {
        return Err(head.other_build());
    }
    if head.objects.iter().map(|object| object.bytes).sum::<usize>() != objects.len() {
        return Err(damaged());
    }
    Ok((head, objects))
}

/// Objects that were brought, by their keys.
static BROUGHT: Mutex<BTreeMap<String, Vec<u8>>> = Mutex::new(BTreeMap::new());

/// Has the objects of a container known.
///
/// # Errors
/// One that cannot be expanded.
pub fn bring(head: &Head, objects: &[u8]) -> Result<(), String> {
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

/// The object of that key, if a container brought one or the installation of this build has one.
pub fn brought(key: &str, build: impl FnOnce() -> String) -> Option<Vec<u8>> {
    let get = || {
        let known = BROUGHT.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(key).cloned()
    };
    get().or_else(|| {
        take_shipped(build);
        get()
    })
}

/// Takes the programs of built-in laws that an installation has beside its command, `bin/fadelab` and
/// `lib/fadelab/laws/*.fade`. Those of another build are of no use, and so is an installation that has none.
fn take_shipped(build: impl FnOnce() -> String) {
    static TAKEN: Once = Once::new();
    TAKEN.call_once(|| {
        let command = std::env::current_exe().ok();
        let folder = command.and_then(|command| Some(command.parent()?.parent()?.join("lib/fadelab/laws")));
        let Some(Ok(entries)) = folder.map(fs::read_dir) else {
            return;
        };
        let build = build();
        for entry in entries.flatten() {
            if let Ok(bytes) = fs::read(entry.path())
                && let Ok((head, objects)) = read(&bytes, &build)
            {
                let _ = bring(&head, objects);
            }
        }
    });
}
