//! The recorded calls of a law, kept in memory.

use std::io::{Cursor, Write};
use std::sync::{Arc, Mutex};

use fadelab_laws::recorded::{Passage, Reader, Receipt, Recorded, Step, Transit};

/// Where a recorder writes; a test reads it afterwards.
#[derive(Clone, Default)]
pub struct Calls(Arc<Mutex<Vec<u8>>>);

impl Calls {
    /// All calls, which must be whole: those of senders, and those of receivers.
    pub fn read(&self) -> (Vec<Recorded>, Vec<Receipt>) {
        let (mut calls, mut receipts) = (Vec::new(), Vec::new());
        for step in self.steps() {
            match step {
                Step::Call(call) => calls.push(call),
                Step::Receipt(receipt) => receipts.push(receipt),
                other => panic!("{other:?} in a recording of a sender"),
            }
        }
        (calls, receipts)
    }

    /// All that a router did, which must be whole.
    pub fn passages(&self) -> Vec<Passage> {
        let of_router = |step| match step {
            Step::Passage(passage) => passage,
            other => panic!("{other:?} in a recording of a router"),
        };
        self.steps().into_iter().map(of_router).collect()
    }

    /// All calls of a gateway's law, which must be whole.
    pub fn transits(&self) -> Vec<Transit> {
        let of_gateway = |step| match step {
            Step::Transit(transit) => transit,
            other => panic!("{other:?} in a recording of a gateway"),
        };
        self.steps().into_iter().map(of_gateway).collect()
    }

    fn steps(&self) -> Vec<Step> {
        let bytes = self.0.lock().expect("one thread").clone();
        let mut reader = Reader::new(Cursor::new(bytes)).expect("a recording");
        let mut steps = Vec::new();
        loop {
            match reader.step().unwrap_or_else(|damage| panic!("{damage}")) {
                Step::End { .. } => return steps,
                step => steps.push(step),
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
