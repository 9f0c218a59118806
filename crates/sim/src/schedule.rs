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
/// Most levels: eight to the tenth power is more sources than a `SourceId` can name.
const LEVELS_MAX: usize = 10;

/// Keys of eight siblings, one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Group([u64; SIBLINGS]);

impl Group {
    #[inline]
    fn least(&self) -> u64 {
        let [a, b, c, d, e, f, g, h] = self.0;
        a.min(b).min(c.min(d)).min(e.min(f).min(g.min(h)))
    }
}

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Schedule {
    /// All groups, level by level: the sources first, then the minima of their groups, at last a single group. An entry
    /// is a key: a time shifted by `source_bits`, and the source below it.
    groups: Vec<Group>,
    /// Where each level begins.
    starts: [u32; LEVELS_MAX],
    levels: usize,
    source_bits: u32,
    time_ns_max: u64,
    /// The least key of all.
    root: u64,
}

impl Schedule {
    /// A schedule in which nothing is due.
    pub fn new(sources: usize) -> Self {
        let (mut starts, mut levels, mut total) = ([0; LEVELS_MAX], 0, 0);
        let mut groups = sources.max(1);
        while levels == 0 || groups > 1 {
            groups = groups.div_ceil(SIBLINGS);
            starts[levels] = total as u32;
            (levels, total) = (levels + 1, total + groups);
        }
        let source_bits = SIBLING_BITS * levels as u32;
        let time_ns_max = (u64::MAX >> source_bits) - 1;
        Self { groups: vec![Group([u64::MAX; SIBLINGS]); total], starts, levels, source_bits, time_ns_max, root: u64::MAX }
    }

    /// The last instant that it can name: nine years with 64 sources, two hours with two million.
    pub fn time_ns_max(&self) -> u64 {
        self.time_ns_max
    }

    /// The next event: time and source. A time beyond [`Self::time_ns_max`] says that nothing is due.
    #[inline]
    pub fn next(&self) -> (u64, SourceId) {
        (self.root >> self.source_bits, (self.root & ((1 << self.source_bits) - 1)) as SourceId)
    }

    #[inline]
    fn key(&self, source: SourceId, due_ns: u64) -> u64 {
        if due_ns <= self.time_ns_max { due_ns << self.source_bits | u64::from(source) } else { u64::MAX }
    }

    /// Moves `source` to `due_ns`; `u64::MAX`: it is not due at all.
    #[inline]
    pub fn set(&mut self, source: SourceId, due_ns: u64) {
        let (mut index, mut key) = (source as usize, self.key(source, due_ns));
        for &start in &self.starts[..self.levels] {
            let group = &mut self.groups[start as usize + index / SIBLINGS];
            let entry = &mut group.0[index % SIBLINGS];
            if *entry == key {
                return;
            }
            *entry = key;
            (index, key) = (index / SIBLINGS, group.least());
        }
        self.root = key;
    }

    /// Moves `source` to `due_ns` if that is earlier than what stands.
    #[inline]
    pub fn advance(&mut self, source: SourceId, due_ns: u64) {
        let (mut index, key) = (source as usize, self.key(source, due_ns));
        for &start in &self.starts[..self.levels] {
            let entry = &mut self.groups[start as usize + index / SIBLINGS].0[index % SIBLINGS];
            if *entry <= key {
                return;
            }
            *entry = key;
            index /= SIBLINGS;
        }
        self.root = self.root.min(key);
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
