//! When each source of events is due: a tournament, in which every match is won by the earlier one.
//!
//! The number of sources of a run is fixed (links, flows, the engine's own), and each has at most one pending event, so
//! the schedule is an array of times with a tree of minima on top: eight siblings share a cache line and play for their
//! parent. A source that moves to an earlier time wins or loses against one number per level; one that moves to a later
//! time replays the matches that it had won.
//!
//! The total order is (time, source): of two events of the same instant that of the smaller source comes first, that is
//! links in the order of the spec, then flows in theirs, then the engine's own.

/// Index of a link, a flow or one of the engine's own events.
pub(crate) type SourceId = u32;

/// Siblings that play for one parent.
const SIBLINGS: usize = 8;

/// Times of eight siblings, one cache line. Each entry carries its position in the lowest bits, so that the least of them
/// is found by minima alone, without a branch that nobody can predict.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Group([u64; SIBLINGS]);

/// Bits of a position.
const POSITION_BITS: u32 = 3;
/// Nothing is due. Times beyond 73 years do not fit beside a position.
const NEVER: u64 = u64::MAX >> POSITION_BITS;

impl Group {
    const IDLE: Self = {
        let mut entries = [0; SIBLINGS];
        let mut position = 0;
        while position < SIBLINGS {
            entries[position] = NEVER << POSITION_BITS | position as u64;
            position += 1;
        }
        Self(entries)
    };

    #[inline]
    fn put(&mut self, position: usize, time_ns: u64) {
        self.0[position] = time_ns << POSITION_BITS | position as u64;
    }

    #[inline]
    fn time_ns(&self, position: usize) -> u64 {
        self.0[position] >> POSITION_BITS
    }

    /// The first position of the least time.
    #[inline]
    fn least(&self) -> usize {
        let [a, b, c, d, e, f, g, h] = self.0;
        let least = a.min(b).min(c.min(d)).min(e.min(f).min(g.min(h)));
        least as usize % SIBLINGS
    }
}

/// Most levels: eight to the tenth power is more sources than a `SourceId` can name.
const LEVELS_MAX: usize = 10;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Schedule {
    /// All groups, level by level: the sources first, then the minima of their groups, at last a single group.
    groups: Vec<Group>,
    /// Per group: the first position at which its least time stands.
    winners: Vec<u8>,
    /// Where each level begins.
    starts: [u32; LEVELS_MAX],
    levels: usize,
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
        Self {
            groups: vec![Group::IDLE; total],
            winners: vec![0; total],
            starts,
            levels,
        }
    }

    /// The next event: time and source; `u64::MAX` when nothing is due.
    #[inline]
    pub fn next(&self) -> (u64, SourceId) {
        let (mut index, mut time_ns) = (0, NEVER);
        for &start in self.starts[..self.levels].iter().rev() {
            let group = start as usize + index;
            let position = usize::from(self.winners[group]) % SIBLINGS;
            time_ns = self.groups[group].time_ns(position);
            index = index * SIBLINGS + position;
        }
        (if time_ns == NEVER { u64::MAX } else { time_ns }, index as SourceId)
    }

    /// Moves `source` to `due_ns`; `u64::MAX`: it is not due at all.
    #[inline]
    pub fn set(&mut self, source: SourceId, due_ns: u64) {
        let (mut index, mut new_ns) = (source as usize, due_ns.min(NEVER));
        for &start in &self.starts[..self.levels] {
            let at = start as usize + index / SIBLINGS;
            let group = &mut self.groups[at];
            let before_ns = group.time_ns(usize::from(self.winners[at]) % SIBLINGS);
            group.put(index % SIBLINGS, new_ns);
            let position = group.least();
            let after_ns = group.time_ns(position);
            self.winners[at] = position as u8;
            if after_ns == before_ns {
                return;
            }
            (index, new_ns) = (index / SIBLINGS, after_ns);
        }
    }

    /// Moves `source` to `due_ns` if that is earlier than what stands.
    #[inline]
    pub fn advance(&mut self, source: SourceId, due_ns: u64) {
        let mut index = source as usize;
        for &start in &self.starts[..self.levels] {
            let (at, position) = (start as usize + index / SIBLINGS, index % SIBLINGS);
            let group = &mut self.groups[at];
            if group.time_ns(position) <= due_ns {
                return;
            }
            let winner = usize::from(self.winners[at]) % SIBLINGS;
            let before_ns = group.time_ns(winner);
            group.put(position, due_ns);
            if due_ns < before_ns || (due_ns == before_ns && position < winner) {
                self.winners[at] = position as u8;
            }
            if due_ns >= before_ns {
                return;
            }
            index /= SIBLINGS;
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
                assert_eq!(time_ns, due[first]);
                assert!(time_ns == u64::MAX || winner as usize == first);
            }
        }
    }
}
