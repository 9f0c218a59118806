//! A set of segment numbers kept as sorted, disjoint ranges: what is out of order at a receiver, what is
//! acknowledged selectively at a sender.

/// A range of segments, the end excluded.
pub(crate) type Range = (u32, u32);

/// Ranges at the end that are looked at one by one before the others are searched by halves: the three that SACK blocks
/// tell of are nearly always among them.
const NEAR_END: usize = 4;

/// Sorted, disjoint and not adjacent. A new segment usually extends the last range, which costs O(1).
///
/// How many segments are in it stands first, so that an owner can lay it beside what each packet touches: a set that is
/// empty, as nearly always, is never looked into.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(crate) struct RangeSet {
    total: u32,
    ranges: Vec<Range>,
}

impl RangeSet {
    /// How many segments are in it.
    #[inline]
    pub fn total(&self) -> u32 {
        self.total
    }

    /// Whether it has none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// The range that holds `segment`.
    #[inline]
    pub fn find(&self, segment: u32) -> Option<Range> {
        let after = self.position_after(segment);
        let range = *self.ranges.get(after.checked_sub(1)?)?;
        (segment < range.1).then_some(range)
    }

    pub fn first(&self) -> Option<Range> {
        self.ranges.first().copied()
    }

    pub fn last(&self) -> Option<Range> {
        self.ranges.last().copied()
    }

    /// Index of the first range that begins beyond `segment`, looked for from the end.
    #[inline]
    fn position_after(&self, segment: u32) -> usize {
        let mut after = self.ranges.len();
        let near = after.saturating_sub(NEAR_END);
        while after > near && self.ranges[after - 1].0 > segment {
            after -= 1;
        }
        if after > near {
            return after;
        }
        self.ranges[..near].partition_point(|range| range.0 <= segment)
    }

    /// Adds `segment` if it is the one behind the last range. Returns whether it is.
    #[inline]
    pub fn lengthen_last(&mut self, segment: u32) -> bool {
        let Some(last) = self.ranges.last_mut().filter(|last| last.1 == segment) else {
            return false;
        };
        last.1 += 1;
        self.total += 1;
        true
    }

    /// Adds `start..end` unless that reaches the next range. Returns what is new of it, in one piece, which may be
    /// empty; `None` where nothing was done.
    #[inline]
    pub fn insert_apart(&mut self, (start, end): Range) -> Option<Range> {
        let after = self.position_after(start);
        let room = self.ranges.get(after).map_or(u32::MAX, |next| next.0);
        let before = after.checked_sub(1).map(|before| &mut self.ranges[before]);
        let added = match before {
            Some(range) if range.1 >= end => return Some((end, end)),
            _ if end >= room => return None,
            Some(range) if range.1 >= start => {
                let known = range.1;
                range.1 = end;
                (known, end)
            }
            _ => {
                self.ranges.insert(after, (start, end));
                (start, end)
            }
        };
        self.total += end - added.0;
        Some(added)
    }

    /// Adds `start..end`. Returns how many segments of it are new.
    #[inline]
    pub fn insert(&mut self, (start, end): Range) -> u32 {
        if let Some(news) = self.insert_apart((start, end)) {
            return news.1 - news.0;
        }
        // Of the ranges that it joins: the first one, and the first beyond them.
        let after = self.position_after(start);
        let from = after - usize::from(after > 0 && self.ranges[after - 1].1 >= start);
        let until = from + self.ranges[from..].partition_point(|range| range.0 <= end);
        let joined = (self.ranges[from].0.min(start), self.ranges[until - 1].1.max(end));
        let known: u32 = self.ranges[from..until].iter().map(|range| range.1 - range.0).sum();
        self.ranges[from] = joined;
        self.take_out(from + 1, until);
        let news = joined.1 - joined.0 - known;
        self.total += news;
        news
    }

    /// The first part of `start..end` that is not in it.
    pub fn first_missing(&self, (start, end): Range) -> Option<Range> {
        let from = self.find(start).map_or(start, |range| range.1);
        let next = self.ranges.get(self.position_after(from));
        (from < end).then(|| (from, next.map_or(end, |range| range.0.min(end))))
    }

    pub fn remove_below(&mut self, segment: u32) {
        let mut gone = 0;
        for range in &mut self.ranges {
            if range.0 >= segment {
                break;
            }
            self.total -= range.1.min(segment) - range.0;
            range.0 = segment.min(range.1);
            gone += usize::from(range.0 == range.1);
        }
        self.take_out(0, gone);
    }

    /// Removes ranges: none or one as a rule, for which `Vec::drain` would take a hundred instructions.
    #[inline]
    fn take_out(&mut self, from: usize, until: usize) {
        if from < until {
            self.ranges.copy_within(until.., from);
            self.ranges.truncate(self.ranges.len() - (until - from));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fadelab_phy::random::Stream;
    use std::collections::BTreeSet;

    #[test]
    fn agrees_with_a_set_of_numbers() {
        // Goal: inserting in either way, removing and finding agree with a plain set, and each new segment is reported
        // once.
        let mut random = Stream::new(2, "ranges test");
        let (mut ranges, mut reference) = (RangeSet::default(), BTreeSet::new());
        let mut floor = 0;
        for step in 0..5_000 {
            let start = floor + random.below(60) as u32;
            let end = start + 1 + random.below(6) as u32;
            let mut reported = Vec::new();
            let (mut from, mut missing) = (start, Vec::new());
            while let Some((a, b)) = ranges.first_missing((from, end)) {
                missing.extend(a..b);
                from = b;
            }
            let apart = if step % 2 == 0 {
                ranges.insert_apart((start, end))
            } else {
                None
            };
            if let Some((a, b)) = apart {
                reported.extend(a..b);
            } else {
                assert_eq!(ranges.insert((start, end)) as usize, missing.len());
                reported.clone_from(&missing);
            }
            assert_eq!(missing, reported);
            let expected: Vec<u32> = (start..end).filter(|s| !reference.contains(s)).collect();
            assert_eq!(reported, expected);
            reference.extend(start..end);
            if step % 7 == 0 {
                floor += random.below(30) as u32;
                ranges.remove_below(floor);
                reference.retain(|&s| s >= floor);
            }
            assert_eq!(ranges.total() as usize, reference.len());
            for segment in floor..floor + 80 {
                let found = ranges.find(segment);
                assert_eq!(found.is_some(), reference.contains(&segment));
                if let Some((a, b)) = found {
                    assert!((a..b).all(|s| reference.contains(&s)) && !reference.contains(&b));
                }
            }
        }
    }
}
