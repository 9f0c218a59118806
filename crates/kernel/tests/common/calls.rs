//! The recorded calls of a law, kept in memory.

use std::io::Write;
use std::sync::{Arc, Mutex};

use fadelab_laws::recorded::{Recorded, RecordedHead};

/// Where a recorder writes; a test reads it afterwards.
#[derive(Clone, Default)]
pub struct Calls(Arc<Mutex<Vec<u8>>>);

impl Calls {
    /// Bytes that were written so far.
    pub fn bytes(&self) -> usize {
        self.0.lock().expect("one thread").len()
    }

    /// The first `calls_n` calls behind the head.
    pub fn read(&self, head: &RecordedHead, calls_n: u64) -> Vec<Recorded> {
        let bytes = self.0.lock().expect("one thread");
        let start = bytes.iter().position(|byte| *byte == b'\n').expect("a head") + 1;
        let calls = bytes[start..].chunks(head.call_bytes()).take(calls_n as usize);
        calls.map(|call| Recorded::parse(call).expect("a call")).collect()
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
