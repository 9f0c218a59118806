//! The recorded calls of a law, kept in memory.

use std::io::{Cursor, Write};
use std::sync::{Arc, Mutex};

use fadelab_laws::recorded::{Reader, Receipt, Recorded, Step};

/// Where a recorder writes; a test reads it afterwards.
#[derive(Clone, Default)]
pub struct Calls(Arc<Mutex<Vec<u8>>>);

impl Calls {
    /// All calls, which must be whole: those of senders, and those of receivers.
    pub fn read(&self) -> (Vec<Recorded>, Vec<Receipt>) {
        let bytes = self.0.lock().expect("one thread").clone();
        let mut reader = Reader::new(Cursor::new(bytes)).expect("a recording");
        let (mut calls, mut receipts) = (Vec::new(), Vec::new());
        loop {
            match reader.step().unwrap_or_else(|damage| panic!("{damage}")) {
                Step::Call(call) => calls.push(call),
                Step::Receipt(receipt) => receipts.push(receipt),
                Step::End { .. } => return (calls, receipts),
            }
        }
    }
}

impl Write for Calls {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("one thread").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
