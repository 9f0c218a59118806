//! A file that is written by a thread of its own, so that no packet waits for a disk.

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{self, SyncSender, TrySendError};
use std::thread::JoinHandle;

/// Bytes that go to the disk at a time, and how many such pieces may wait for it.
const PIECE_BYTES: usize = 1 << 16;
const PIECES_MAX: usize = 1024;

/// Room that a line of text may need.
const LINE_BYTES: usize = 256;

/// See the module's documentation. What the disk cannot follow is cut off, and [`Pieces::finish`] says so.
#[derive(Debug)]
pub struct Pieces {
    waiting: SyncSender<Vec<u8>>,
    writer: JoinHandle<io::Result<()>>,
    piece: Vec<u8>,
    is_cut: bool,
}

impl Pieces {
    /// Of a new file.
    pub fn new(path: &Path) -> io::Result<Self> {
        let mut file = File::create(path)?;
        let (waiting, pieces) = mpsc::sync_channel::<Vec<u8>>(PIECES_MAX);
        let writer = std::thread::spawn(move || {
            for piece in pieces {
                file.write_all(&piece)?;
            }
            file.flush()
        });
        Ok(Self {
            waiting,
            writer,
            piece: Vec::with_capacity(PIECE_BYTES),
            is_cut: false,
        })
    }

    pub fn put(&mut self, bytes: &[u8]) {
        if self.piece.len() + bytes.len() > PIECE_BYTES {
            self.hand_over();
        }
        self.piece.extend_from_slice(bytes);
    }

    /// Writes text, and allocates nothing for it.
    pub fn write(&mut self, text: fmt::Arguments<'_>) {
        if self.piece.len() + LINE_BYTES > PIECE_BYTES {
            self.hand_over();
        }
        self.piece.write_fmt(text).expect("memory takes all");
    }

    /// Ends the file. Returns whether it is whole.
    pub fn finish(mut self) -> io::Result<bool> {
        let last = std::mem::take(&mut self.piece);
        if !self.is_cut {
            // Waits for room; a thread that ended has its own error.
            let _ = self.waiting.send(last);
        }
        drop(self.waiting);
        self.writer.join().expect("the writer does not panic")?;
        Ok(!self.is_cut)
    }

    fn hand_over(&mut self) {
        let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(PIECE_BYTES));
        if !self.is_cut
            && let Err(TrySendError::Full(_)) = self.waiting.try_send(piece)
        {
            self.is_cut = true;
        }
    }
}
