//! Recordings of what came to an emulator and what became of it: a line of text in front, then events of a few bytes,
//! then how many there were and a checksum.
//!
//! What is kept of a packet is what nodes look at, its headers. Where the disk cannot follow, the recording ends and
//! says so. [`crate::replay`] reads it.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use twox_hash::{XxHash3_64, XxHash3_128};

use crate::lane::{Fate, LaneSpec, Left};
use crate::pieces::Pieces;

/// First line of a recording.
pub const MAGIC: &str = "fadelab link recording 1\n";

/// Most bytes that are kept of a packet: headers of IP and TCP with all their options, and some extension headers.
const HEADERS_BYTES_MAX: usize = 250;

/// What stands in front of the events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// From what each way is made, in the words of whoever made it.
    pub ways: Vec<serde_json::Value>,
    /// Version of fadelab that wrote it.
    pub version: String,
}

/// The kinds of events, by their first byte.
pub(crate) const ARRIVED: u8 = 1;
pub(crate) const LEFT: u8 = 2;
pub(crate) const ENDED: u8 = 3;

/// A packet that left, as a recording has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departed {
    pub way: u8,
    pub fate: Fate,
    /// Packets that came before it.
    pub number: u64,
    /// When it was due; of one that was dropped, when it came.
    pub due_ns: u64,
    /// The byte with its ECN field.
    pub ecn: u8,
    /// Of its headers.
    pub hash: u64,
}

impl Departed {
    pub fn of(way: usize, left: &Left<'_>) -> Self {
        Self {
            way: way as u8,
            fate: left.fate,
            number: left.number,
            due_ns: left.due_ns,
            ecn: ecn(left.bytes),
            hash: XxHash3_64::oneshot(headers(left.bytes)),
        }
    }
}

/// The ECN field of a packet of either version.
pub(crate) fn ecn(bytes: &[u8]) -> u8 {
    match bytes {
        [first, second, ..] if first >> 4 == 6 => second >> 4 & 3,
        [_, second, ..] => second & 3,
        _ => 0,
    }
}

/// What is kept of a packet.
pub(crate) fn headers(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().min(HEADERS_BYTES_MAX)]
}

/// Writes a recording.
pub struct Recorder {
    pieces: Pieces,
    sum: XxHash3_128,
    events_n: u64,
    served_ns: u64,
}

impl Recorder {
    /// Begins a recording.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn new(path: &Path, head: &Head) -> io::Result<Self> {
        let mut recorder = Self {
            pieces: Pieces::new(path)?,
            sum: XxHash3_128::new(),
            events_n: 0,
            served_ns: 0,
        };
        let head = serde_json::to_string(head).expect("a head has nothing that JSON has not");
        recorder.put(MAGIC.as_bytes());
        recorder.put(head.as_bytes());
        recorder.put(b"\n");
        Ok(recorder)
    }

    /// Begins a recording of lanes, from which [`crate::replay`] makes the same ones again.
    ///
    /// # Errors
    /// The file cannot be made.
    ///
    /// # Panics
    /// Never: what lanes are made from can be written.
    pub fn of_lanes(path: &Path, lanes: &[LaneSpec], version: &str) -> io::Result<Self> {
        let value = |lane| serde_json::to_value(lane).expect("a lane has nothing that JSON has not");
        let head = Head {
            ways: lanes.iter().map(value).collect(),
            version: version.to_owned(),
        };
        Self::new(path, &head)
    }

    /// A packet came to a way.
    pub fn arrived(&mut self, way: usize, now_ns: u64, bytes: &[u8]) {
        let kept = headers(bytes);
        self.begin_event(ARRIVED, way);
        self.put(&now_ns.to_le_bytes());
        self.put(&(bytes.len() as u16).to_le_bytes());
        self.put(&[kept.len() as u8]);
        self.put(kept);
    }

    /// A packet left one, so much later than it was due.
    pub fn left(&mut self, way: usize, left: &Left<'_>, late_ns: u64) {
        let departed = Departed::of(way, left);
        self.begin_event(LEFT, way);
        self.put(&[departed.fate as u8, departed.ecn]);
        self.put(&departed.number.to_le_bytes());
        self.put(&departed.due_ns.to_le_bytes());
        self.put(&departed.hash.to_le_bytes());
        self.put(&u32::try_from(late_ns).unwrap_or(u32::MAX).to_le_bytes());
    }

    /// All was done that was due by then.
    pub fn served(&mut self, now_ns: u64) {
        self.served_ns = now_ns;
    }

    /// Ends the recording. Returns whether it is whole.
    ///
    /// # Errors
    /// What the system said when it was written.
    ///
    /// # Panics
    /// Never: the thread that writes does not.
    pub fn finish(mut self) -> io::Result<bool> {
        let (events_n, served_ns) = (self.events_n, self.served_ns);
        self.begin_event(ENDED, 0);
        self.put(&events_n.to_le_bytes());
        self.put(&served_ns.to_le_bytes());
        let sum = self.sum.finish_128();
        self.put(&sum.to_le_bytes());
        self.pieces.finish()
    }

    fn begin_event(&mut self, kind: u8, way: usize) {
        self.events_n += 1;
        self.put(&[kind, way as u8]);
    }

    fn put(&mut self, bytes: &[u8]) {
        self.sum.write(bytes);
        self.pieces.put(bytes);
    }
}
