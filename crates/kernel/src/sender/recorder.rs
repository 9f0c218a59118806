//! Takes the calls of a law from the kernel's ring and writes them into a file, for `fadelab replay`.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;
use std::time::Duration;

use fadelab_laws::recorded::{END, RecordedHead};
use libbpf_rs::{MapCore, MapFlags, RingBuffer, RingBufferBuilder};

use super::Sender;
use crate::object::LoadError;

/// A recording that goes on.
pub struct Recorder<'a> {
    ring: RingBuffer<'a>,
    sink: Rc<RefCell<Sink>>,
    sender: &'a Sender,
}

struct Sink {
    file: Box<dyn Write>,
    call_bytes: usize,
    calls_n: u64,
    failure: Option<io::Error>,
}

impl Sink {
    /// Goes on after a failure, so that the ring does not fill; the failure is told at the end.
    fn take(&mut self, call: &[u8]) {
        if self.failure.is_none() && call.len() == self.call_bytes {
            self.failure = self.file.write_all(call).err();
            self.calls_n += 1;
        }
    }
}

impl<'a> Recorder<'a> {
    /// Begins to write calls of a law that was compiled with `record`.
    ///
    /// # Errors
    /// When the law was not compiled so, or the file cannot be written.
    pub fn new(sender: &'a Sender, head: &RecordedHead, mut file: Box<dyn Write>) -> Result<Self, LoadError> {
        let failed = |error: io::Error| LoadError::system("the recording", &error);
        let line = serde_json::to_string(head).map_err(|error| failed(error.into()))?;
        writeln!(file, "{line}").map_err(failed)?;
        let sink = Rc::new(RefCell::new(Sink {
            file,
            call_bytes: head.call_bytes(),
            calls_n: 0,
            failure: None,
        }));
        let map = sender.object().maps().find(|map| map.name() == "calls");
        let map = map.ok_or_else(|| failed(io::Error::other("the law was not compiled to be recorded")))?;
        let of = |error: &libbpf_rs::Error| LoadError::of("the recording", error);
        let mut builder = RingBufferBuilder::new();
        let keep = Rc::clone(&sink);
        let add = builder.add(&map, move |call| {
            keep.borrow_mut().take(call);
            0
        });
        add.map_err(|error| of(&error))?;
        let ring = builder.build().map_err(|error| of(&error))?;
        Ok(Self { ring, sink, sender })
    }

    /// Waits up to `timeout` for calls and writes what came; gives how many were written so far.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn poll(&mut self, timeout: Duration) -> Result<u64, LoadError> {
        // Interrupted by a signal: whoever calls looks why.
        let _ = self.ring.poll(timeout);
        let mut sink = self.sink.borrow_mut();
        match sink.failure.take() {
            Some(error) => Err(LoadError::system("the recording", &error)),
            None => Ok(sink.calls_n),
        }
    }

    /// Writes what is left, and how many calls found no room; gives both counts.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(self) -> Result<(u64, u64), LoadError> {
        let _ = self.ring.consume();
        let lost_n = self.lost();
        let mut sink = self.sink.borrow_mut();
        let mut end = vec![0; sink.call_bytes];
        end[16..20].copy_from_slice(&END.to_ne_bytes());
        end[24..32].copy_from_slice(&lost_n.to_ne_bytes());
        let calls_n = sink.calls_n;
        sink.take(&end);
        let flushed = sink.file.flush();
        match sink.failure.take().or(flushed.err()) {
            Some(error) => Err(LoadError::system("the recording", &error)),
            None => Ok((calls_n, lost_n)),
        }
    }

    /// Calls for which the ring had no room.
    fn lost(&self) -> u64 {
        let map = self.sender.object().maps().find(|map| map.name() == "losses");
        let value = map.and_then(|map| map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).ok().flatten());
        value
            .and_then(|bytes| Some(u64::from_ne_bytes(bytes.try_into().ok()?)))
            .unwrap_or(0)
    }
}
