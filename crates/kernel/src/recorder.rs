//! Takes the calls of a law from the kernel's ring and writes them into a file, for `fadelab replay`.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::rc::Rc;
use std::time::Duration;

use fadelab_laws::recorded::{RecordedHead, Writer};
use libbpf_rs::{MapCore, MapFlags, MapHandle, Object, RingBuffer, RingBufferBuilder};

use crate::object::LoadError;

/// A recording that goes on.
pub struct Recorder {
    ring: RingBuffer<'static>,
    sink: Rc<RefCell<Sink>>,
    losses: MapHandle,
}

struct Sink {
    writer: Writer,
    /// Of each instance, by its number.
    orders: BTreeMap<u64, Order>,
    failure: Option<io::Error>,
}

impl Sink {
    /// Goes on after a failure, so that the ring does not fill; the failure is told at the end.
    fn take(&mut self, call: &[u8]) {
        match Writer::place_in_order(call) {
            Some((instance, sequence)) => self.orders.entry(instance).or_default().take(sequence, call),
            None => self.write(call),
        }
    }

    /// Writes what is in its order by now; `lost_of` tells of an instance how many calls found no room so far.
    fn write_ready(&mut self, lost_of: impl Fn(u64) -> u64) {
        for instance in self.orders.keys().copied().collect::<Vec<u64>>() {
            let lost_n = lost_of(instance);
            while let Some(call) = self.orders.get_mut(&instance).and_then(|order| order.next(lost_n)) {
                self.write(&call);
            }
        }
    }

    fn write(&mut self, call: &[u8]) {
        if self.failure.is_none() {
            self.failure = self.writer.call(call).err();
        }
    }
}

/// Calls of a router or of a gateway's tunnel, numbered under its lock and handed over behind it, so that two
/// processors may change their order: each waits for those before it. Calls that never come found no room in the ring,
/// which the kernel counts.
#[derive(Default)]
struct Order {
    waiting: BTreeMap<u64, Vec<u8>>,
    /// The last number that was given out.
    last: u64,
    lost_n: u64,
}

impl Order {
    fn take(&mut self, sequence: u64, call: &[u8]) {
        // One that was taken for lost: it stays so.
        if sequence > self.last {
            self.waiting.insert(sequence, call.to_vec());
        }
    }

    /// The next call, which says how many were lost before it. A gap is one of lost calls when as many were lost.
    fn next(&mut self, lost_n: u64) -> Option<Vec<u8>> {
        let first = self.waiting.first_entry()?;
        let missing_n = first.key() - self.last - 1;
        if self.lost_n + missing_n > lost_n {
            return None;
        }
        self.last = *first.key();
        self.lost_n += missing_n;
        let mut call = first.remove();
        Writer::tell_lost(&mut call, self.lost_n);
        Some(call)
    }
}

impl Recorder {
    /// Begins to write calls of a law that was compiled to be recorded.
    ///
    /// # Errors
    /// When the law was not compiled so, or the file cannot be written.
    pub(crate) fn new(object: &Object, head: &RecordedHead, file: Box<dyn Write>) -> Result<Self, LoadError> {
        let failed = |error: io::Error| LoadError::system("the recording", &error);
        let of = |error: &libbpf_rs::Error| LoadError::of("the recording", error);
        let sink = Rc::new(RefCell::new(Sink {
            writer: Writer::new(head, file).map_err(failed)?,
            orders: BTreeMap::new(),
            failure: None,
        }));
        let find = |name: &str| {
            let map = object.maps().find(|map| map.name() == name);
            let map = map.ok_or_else(|| failed(io::Error::other("the law was not compiled to be recorded")))?;
            MapHandle::try_from(&map).map_err(|error| of(&error))
        };
        let (calls, losses) = (find("calls")?, find("losses")?);
        let mut builder = RingBufferBuilder::new();
        let keep = Rc::clone(&sink);
        let add = builder.add(&calls, move |call| {
            keep.borrow_mut().take(call);
            0
        });
        add.map_err(|error| of(&error))?;
        let ring = builder.build().map_err(|error| of(&error))?;
        Ok(Self { ring, sink, losses })
    }

    /// Waits up to `timeout` for calls and writes what came; gives how many were written so far.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn poll(&mut self, timeout: Duration) -> Result<u64, LoadError> {
        // Interrupted by a signal: whoever calls looks why.
        let _ = self.ring.poll(timeout);
        let mut sink = self.sink.borrow_mut();
        sink.write_ready(|instance| self.lost_of(instance));
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
        sink.write_ready(|instance| self.lost_of(instance));
        let calls_n = sink.writer.calls_n();
        let ended = sink.failure.take().map_or_else(|| sink.writer.end(lost_n), Err);
        ended
            .map(|()| (calls_n, lost_n))
            .map_err(|error| LoadError::system("the recording", &error))
    }

    /// Calls for which the ring had no room, so far.
    pub fn lost(&self) -> u64 {
        let instances = u64::from(self.losses.max_entries());
        (0..instances).map(|instance| self.lost_of(instance)).sum()
    }

    /// Of one instance; 0 stands for all whose calls come in their order.
    fn lost_of(&self, instance: u64) -> u64 {
        let key = (instance as u32).to_ne_bytes();
        let value = self.losses.lookup(&key, MapFlags::ANY).ok().flatten();
        value
            .and_then(|bytes| Some(u64::from_ne_bytes(bytes.try_into().ok()?)))
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that come out when these went in, and how many were lost before each.
    fn ordered(order: &mut Order, sequences: &[u64], lost_n: u64) -> Vec<(u64, u64)> {
        for sequence in sequences {
            let call: Vec<u8> = [0, *sequence, 0].iter().flat_map(|word| word.to_ne_bytes()).collect();
            order.take(*sequence, &call);
        }
        let long = |call: &[u8], at: usize| u64::from_ne_bytes(call[at..at + 8].try_into().expect("eight bytes"));
        std::iter::from_fn(|| order.next(lost_n))
            .map(|call| (long(&call, 8), long(&call, 16)))
            .collect()
    }

    #[test]
    fn calls_wait_for_those_before_them() {
        // Goal: calls that two processors handed over in another order come out in theirs; one that is missing holds
        // back what is behind it until the kernel has counted it as lost, and one that comes after that is left out.
        let mut order = Order::default();
        assert_eq!(ordered(&mut order, &[2, 1, 4], 0), [(1, 0), (2, 0)]);
        assert_eq!(ordered(&mut order, &[5], 0), []);
        assert_eq!(ordered(&mut order, &[3], 0), [(3, 0), (4, 0), (5, 0)]);
        assert_eq!(ordered(&mut order, &[8, 9], 1), [], "two are missing, one was lost");
        assert_eq!(ordered(&mut order, &[], 2), [(8, 2), (9, 2)]);
        assert_eq!(ordered(&mut order, &[7, 11], 3), [(11, 3)]);
    }
}
