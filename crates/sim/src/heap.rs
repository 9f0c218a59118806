//! Pending events: for each source of events at least the next one.
//!
//! An event is a time and the number of its source; the total order is (time, source), so ties go to the source with the
//! smaller number: links in the order of the spec, then flows in theirs, then the engine's own. A source whose event
//! moved leaves the old entry behind; whoever pops it sees that it is not the scheduled one.

/// Index of a link, a flow or one of the engine's own events.
pub(crate) type SourceId = u32;

/// A heap with four children per node: two of its levels fit where a binary heap needs four, and the four siblings
/// share a cache line.
#[derive(Debug, Default)]
pub(crate) struct EventHeap {
    entries: Vec<Entry>,
    /// The root was popped and its place not yet filled: the next push goes there without climbing.
    hole: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    time_ns: u64,
    source: SourceId,
}

const CHILDREN: usize = 4;

impl EventHeap {
    /// The earliest event, which leaves the heap.
    #[inline]
    pub fn pop(&mut self) -> Option<(u64, SourceId)> {
        if self.hole {
            self.close_hole();
        }
        let root = *self.entries.first()?;
        self.hole = true;
        Some((root.time_ns, root.source))
    }

    /// Adds an event.
    #[inline]
    pub fn push(&mut self, time_ns: u64, source: SourceId) {
        let entry = Entry { time_ns, source };
        if self.hole {
            self.hole = false;
            self.sift_down(entry);
        } else {
            self.entries.push(entry);
            self.sift_up(entry);
        }
    }

    fn close_hole(&mut self) {
        self.hole = false;
        if let Some(last) = self.entries.pop()
            && !self.entries.is_empty()
        {
            self.sift_down(last);
        }
    }

    /// Puts `entry` where the root was, and lets it sink to its place.
    #[inline]
    fn sift_down(&mut self, entry: Entry) {
        let entries = self.entries.as_mut_slice();
        let mut at = 0;
        loop {
            let first = at * CHILDREN + 1;
            if first >= entries.len() {
                break;
            }
            let last = (first + CHILDREN).min(entries.len());
            let mut least = first;
            for child in first + 1..last {
                if entries[child] < entries[least] {
                    least = child;
                }
            }
            if entries[least] >= entry {
                break;
            }
            entries[at] = entries[least];
            at = least;
        }
        entries[at] = entry;
    }

    /// Lets the last entry rise to its place.
    #[inline]
    fn sift_up(&mut self, entry: Entry) {
        let entries = self.entries.as_mut_slice();
        let mut at = entries.len() - 1;
        while at > 0 {
            let parent = (at - 1) / CHILDREN;
            if entries[parent] <= entry {
                break;
            }
            entries[at] = entries[parent];
            at = parent;
        }
        entries[at] = entry;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fadelab_phy::random::Stream;

    #[test]
    fn pops_in_the_order_of_time_then_source() {
        // Goal: whatever the mix of pushes and pops, events come in the documented total order.
        let mut random = Stream::new(1, "heap test");
        let (mut heap, mut reference) = (EventHeap::default(), Vec::new());
        for _ in 0..20_000 {
            if random.below(5) < 3 {
                let event = (random.below(50), random.below(20) as u32);
                heap.push(event.0, event.1);
                reference.push(event);
            } else {
                reference.sort_unstable();
                let expected = if reference.is_empty() { None } else { Some(reference.remove(0)) };
                assert_eq!(heap.pop(), expected);
            }
        }
    }
}
