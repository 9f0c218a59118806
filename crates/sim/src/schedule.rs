//! When each source of events is due: a tournament, in which every match is won by the earlier one.
//!
//! The number of sources of a run is fixed (links, flows, the engine's own), and each has at most one pending event, so
//! the schedule is an array of due times with a tree of minima on top: eight siblings share a cache line and play for
//! their parent. A time and its source are one number, a key, so that a match is a minimum and nothing else, without a
//! branch that nobody can predict.
//!
//! The total order is (time, source): of two events of the same instant that of the smaller source comes first, that is
//! links in the order of the spec, then flows by the names of their groups, then the engine's own.

/// Index of a link, a flow or one of the engine's own events.
pub(crate) type SourceId = u32;

/// Siblings that play for one parent.
const SIBLINGS: usize = 8;
const SIBLING_BITS: u32 = 3;

/// How a time and a source make a key: the time shifted by `source_bits`, and the source below.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keys {
    source_bits: u32,
    /// The bits of the source.
    source_mask: u64,
    time_ns_max: u64,
}

impl Keys {
    /// Keys of a run with so many sources.
    pub fn new(sources: usize) -> Self {
        let mut source_bits = SIBLING_BITS;
        while 1 << source_bits < sources {
            source_bits += SIBLING_BITS;
        }
        Self {
            source_bits,
            source_mask: (1 << source_bits) - 1,
            time_ns_max: (u64::MAX >> source_bits) - 1,
        }
    }

    /// The last instant that a key can name: nine years with 64 sources, two hours with two million.
    pub fn time_ns_max(self) -> u64 {
        self.time_ns_max
    }

    /// What is not due gets a time that no run reaches.
    #[inline]
    pub fn key(self, due_ns: u64, source: SourceId) -> u64 {
        due_ns.min(self.time_ns_max + 1) << self.source_bits | u64::from(source)
    }

    /// The first key of the same time.
    #[inline]
    pub fn at_time_of(self, key: u64) -> u64 {
        key & !self.source_mask
    }

    /// Time and source of a key. A time beyond [`Self::time_ns_max`] says that nothing is due.
    #[inline]
    pub fn split(self, key: u64) -> (u64, SourceId) {
        (key >> self.source_bits, (key & self.source_mask) as SourceId)
    }
}

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
    /// Group `g` plays for entry `(g - 1) % 8` of group `(g - 1) / 8`, group 0 for the root; the players are the
    /// entries of the last groups, from `leaves` on.
    groups: Vec<Group>,
    leaves: usize,
    /// The least key of all.
    root: u64,
}

impl Schedule {
    /// A schedule in which nothing is due.
    pub fn new(players: usize) -> Self {
        let (mut leaves, mut width) = (0, 1);
        while width * SIBLINGS < players {
            (leaves, width) = (leaves + width, width * SIBLINGS);
        }
        let groups = leaves + players.max(1).div_ceil(SIBLINGS);
        Self {
            groups: vec![Group([u64::MAX; SIBLINGS]); groups],
            leaves,
            root: u64::MAX,
        }
    }

    /// The least key.
    #[inline]
    pub fn next_key(&self) -> u64 {
        self.root
    }

    /// Moves `player` to `key`; `u64::MAX`: it is not due at all.
    #[inline]
    pub fn set(&mut self, player: usize, mut key: u64) {
        let mut at = self.leaves + player / SIBLINGS;
        let mut position = player % SIBLINGS;
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

    /// Moves `player` to `key` if that is earlier than what stands.
    #[inline]
    pub fn advance(&mut self, player: usize, key: u64) {
        let mut at = self.leaves + player / SIBLINGS;
        let mut position = player % SIBLINGS;
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
            let (keys, mut schedule) = (Keys::new(sources), Schedule::new(sources));
            let mut due = vec![u64::MAX; sources];
            for _ in 0..5_000 {
                let source = random.below(sources as u64) as usize;
                let due_ns = if random.below(4) == 0 {
                    u64::MAX
                } else {
                    random.below(50)
                };
                if random.below(2) == 0 {
                    schedule.set(source, keys.key(due_ns, source as SourceId));
                    due[source] = due_ns;
                } else {
                    schedule.advance(source, keys.key(due_ns, source as SourceId));
                    due[source] = due[source].min(due_ns);
                }
                let first = (0..sources).min_by_key(|&s| (due[s], s)).unwrap_or(0);
                let (time_ns, winner) = keys.split(schedule.next_key());
                if due[first] == u64::MAX {
                    assert!(time_ns > keys.time_ns_max());
                } else {
                    assert_eq!((time_ns, winner as usize), (due[first], first));
                }
            }
        }
    }
}
