//! When each source of events is due: a tournament, in which every match is won by the earlier one.
//!
//! The number of sources of a run is fixed (links, flows, the engine's own), and each has at most one pending event, so
//! the schedule is an array of due times with a tree of minima on top: eight siblings share a cache line and play for
//! their parent. A time and its source are one number, so that a match is a minimum and nothing else, without a branch
//! that nobody can predict.
//!
//! The total order is (time, source): of two events of the same instant that of the smaller source comes first, that is
//! links in the order of the spec, then flows in theirs, then the engine's own.

/// Index of a link, a flow or one of the engine's own events.
pub(crate) type SourceId = u32;

/// Siblings that play for one parent.
const SIBLINGS: usize = 8;
const SIBLING_BITS: u32 = 3;
/// Keys of eight siblings, one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Group([u64; SIBLINGS]);

impl Group {
    #[inline]
    fn least(&self) -> u64 {
        let k = &self.0;
        let (left, right) = (k[0].min(k[1]).min(k[2].min(k[3])), k[4].min(k[5]).min(k[6].min(k[7])));
        left.min(right)
    }
}

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Schedule {
    /// Group `g` plays for entry `(g - 1) % 8` of group `(g - 1) / 8`, group 0 for the root; the sources are the
    /// entries of the last groups, from `leaves` on. An entry is a key: a time shifted by `source_bits`, and the source
    /// below.
    groups: Vec<Group>,
    leaves: usize,
    source_bits: u32,
    source_mask: u32,
    time_ns_max: u64,
    /// The least key of all.
    root: u64,
}

impl Schedule {
    /// A schedule in which nothing is due.
    pub fn new(sources: usize) -> Self {
        let (mut leaves, mut width, mut source_bits) = (0, 1, SIBLING_BITS);
        while width * SIBLINGS < sources {
            (leaves, width, source_bits) = (leaves + width, width * SIBLINGS, source_bits + SIBLING_BITS);
        }
        let groups = leaves + sources.max(1).div_ceil(SIBLINGS);
        Self {
            groups: vec![Group([u64::MAX; SIBLINGS]); groups],
            leaves,
            source_bits,
            source_mask: (1 << source_bits) - 1,
            time_ns_max: (u64::MAX >> source_bits) - 1,
            root: u64::MAX,
        }
    }

    /// The last instant that it can name: nine years with 64 sources, two hours with two million.
    pub fn time_ns_max(&self) -> u64 {
        self.time_ns_max
    }

    /// The next event: time and source. A time beyond [`Self::time_ns_max`] says that nothing is due.
    #[inline]
    pub fn next(&self) -> (u64, SourceId) {
        (self.root >> self.source_bits, self.root as SourceId & self.source_mask)
    }

    /// What is not due gets a time that no run reaches.
    #[inline]
    fn key(&self, source: SourceId, due_ns: u64) -> u64 {
        due_ns.min(self.time_ns_max + 1) << self.source_bits | u64::from(source)
    }

    /// Moves `source` to `due_ns`; `u64::MAX`: it is not due at all.
    #[inline]
    pub fn set(&mut self, source: SourceId, due_ns: u64) {
        let mut key = self.key(source, due_ns);
        let mut at = self.leaves + source as usize / SIBLINGS;
        let mut position = source as usize % SIBLINGS;
        loop {
            let group = &mut self.groups[at];
            if group.0[position] == key {
                return;
            }
            group.0[position] = key;
            key = group.least();
            if at == 0 {
                self.root = key;
                return;
            }
            (at, position) = ((at - 1) / SIBLINGS, (at - 1) % SIBLINGS);
        }
    }

    /// Moves `source` to `due_ns` if that is earlier than what stands.
    #[inline]
    pub fn advance(&mut self, source: SourceId, due_ns: u64) {
        let key = self.key(source, due_ns);
        let mut at = self.leaves + source as usize / SIBLINGS;
        let mut position = source as usize % SIBLINGS;
        loop {
            let entry = &mut self.groups[at].0[position];
            if *entry <= key {
                return;
            }
            *entry = key;
            if at == 0 {
                self.root = self.root.min(key);
                return;
            }
            (at, position) = ((at - 1) / SIBLINGS, (at - 1) % SIBLINGS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fadelab_phy::random::Stream;

    #[test]
    fn next_is_the_least_time_then_source() {
        // Goal: after any sequence of moves the next event is the first in the documented total order.
        let mut random = Stream::new(1, "schedule test");
        for sources in [1, 2, 8, 9, 64, 65, 600] {
            let (mut schedule, mut due) = (Schedule::new(sources), vec![u64::MAX; sources]);
            for _ in 0..5_000 {
                let source = random.below(sources as u64) as usize;
                let due_ns = if random.below(4) == 0 {
                    u64::MAX
                } else {
                    random.below(50)
                };
                if random.below(2) == 0 {
                    schedule.set(source as SourceId, due_ns);
                    due[source] = due_ns;
                } else {
                    schedule.advance(source as SourceId, due_ns);
                    due[source] = due[source].min(due_ns);
                }
                let first = (0..sources).min_by_key(|&s| (due[s], s)).unwrap_or(0);
                let (time_ns, winner) = schedule.next();
                if due[first] == u64::MAX {
                    assert!(time_ns > schedule.time_ns_max());
                } else {
                    assert_eq!((time_ns, winner as usize), (due[first], first));
                }
            }
        }
    }
}
