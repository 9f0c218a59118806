//! Takes the calls of a law from the kernel's ring and writes them into a file, for `fadelab replay`.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;
use std::time::Duration;

use fadelab_laws::recorded::{RecordedHead, Writer};
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
    writer: Writer,
    failure: Option<io::Error>,
}

impl Sink {
    /// Goes on after a failure, so that the ring does not fill; the failure is told at the end.
    fn take(&mut self, call: &[u8]) {
        if self.failure.is_none() {
            self.failure = self.writer.call(call).err();
        }
    }
}

impl<'a> Recorder<'a> {
    /// Begins to write calls of a law that was compiled with `record`.
    ///
    /// # Errors
    /// When the law was not compiled so, or the file cannot be written.
    pub fn new(sender: &'a Sender, head: &RecordedHead, file: Box<dyn Write>) -> Result<Self, LoadError> {
        let failed = |error: io::Error| LoadError::system("the recording", &error);
        let sink = Rc::new(RefCell::new(Sink {
            writer: Writer::new(head, file).map_err(failed)?,
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
            None => Ok(sink.writer.calls_n()),
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
        let calls_n = sink.writer.calls_n();
        let ended = sink.failure.take().map_or_else(|| sink.writer.end(lost_n), Err);
        ended
            .map(|()| (calls_n, lost_n))
            .map_err(|error| LoadError::system("the recording", &error))
    }

    /// Calls for which the ring had no room, so far.
    pub fn lost(&self) -> u64 {
        let map = self.sender.object().maps().find(|map| map.name() == "losses");
        let value = map.and_then(|map| map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).ok().flatten());
        value
            .and_then(|bytes| Some(u64::from_ne_bytes(bytes.try_into().ok()?)))
            .unwrap_or(0)
    }
}
