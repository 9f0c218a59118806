//! What is known of an image's snapshot: a guest that has booted, with which others begin.

use std::fmt;
use std::fs::File;
use std::sync::{Arc, Mutex};

/// Where an image's guests begin.
pub struct Snapshots {
    /// Is told what is wrong with a snapshot.
    pub tell: fn(&str),
    pub known: Mutex<Known>,
}

/// Whether there is one.
#[derive(Clone, Default)]
pub enum Known {
    /// Nobody has looked yet.
    #[default]
    Unknown,
    /// It cannot be had: each guest boots by itself.
    Missing,
    There(Arc<Snapshot>),
}

/// A guest that has booted. Its files stay while this does, whoever removes them.
pub struct Snapshot {
    /// Mapped by guests, which share what none of them writes.
    pub memory: File,
    /// Of all the rest, as QEMU wrote it.
    pub state: Vec<u8>,
}

impl Snapshots {
    pub fn new(tell: fn(&str)) -> Self {
        Self {
            tell,
            known: Mutex::default(),
        }
    }
}

impl fmt::Debug for Snapshots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshots").finish_non_exhaustive()
    }
}
