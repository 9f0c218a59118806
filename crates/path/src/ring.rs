//! A queue in a ring whose length is a power of two: an index costs a mask, not a comparison with the end.
//!
//! What left it stays readable until its slot is needed again, so that somebody may look at many of them in one go.

/// First in, first out, and readable in between. Places count on from the first entry that ever was.
#[derive(Debug, Default)]
pub(crate) struct Ring<T> {
    slots: Vec<T>,
    /// Place of the oldest entry.
    head: usize,
    /// Place of the next one.
    tail: usize,
    /// Place of the first for which there is no slot yet.
    full: usize,
    /// Place of the first that was not forgotten.
    forgotten: usize,
}

impl<T: Copy + Default> Ring<T> {
    /// How many entries it holds.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.tail - self.head
    }

    #[inline(always)]
    fn slot(&self, place: usize) -> usize {
        place & (self.slots.len().wrapping_sub(1))
    }

    /// The oldest entry.
    #[inline(always)]
    pub fn front(&self) -> Option<&T> {
        if self.head == self.tail {
            return None;
        }
        self.slots.get(self.slot(self.head))
    }

    /// Whether [`Self::make_room`] has to be called before the next [`Self::push`].
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.tail == self.full
    }

    /// Adds the newest entry.
    #[inline(always)]
    pub fn push(&mut self, entry: T) {
        let slot = self.slot(self.tail);
        self.slots[slot] = entry;
        self.tail += 1;
    }

    /// Removes the oldest entry, if there is one.
    #[inline(always)]
    pub fn remove_front(&mut self) {
        self.head += usize::from(self.head != self.tail);
    }

    /// Entries, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (self.head..self.tail).filter_map(|place| self.slots.get(self.slot(place)))
    }

    /// How many entries there have ever been.
    pub fn pushed(&self) -> usize {
        self.tail
    }

    /// The newest entry, which may have left.
    pub fn newest(&mut self) -> Option<&mut T> {
        let slot = self.slot(self.tail.checked_sub(1)?);
        self.slots.get_mut(slot)
    }

    /// The last that left, which is never forgotten.
    #[inline]
    pub fn last_left(&self) -> Option<&T> {
        self.slots.get(self.slot(self.head.checked_sub(1)?))
    }

    /// What left and was not forgotten yet, in two pieces.
    pub fn left(&self) -> [&[T]; 2] {
        let [first, last] = [self.forgotten, self.head].map(|place| self.slot(place));
        if first <= last {
            [&self.slots[first..last], &[]]
        } else {
            [&self.slots[first..], &self.slots[..last]]
        }
    }

    /// Leaves the slots of what left to others, but that of the last.
    pub fn forget_left(&mut self) {
        self.forgotten = self.head;
        self.full = (self.head + self.slots.len()).saturating_sub(1);
    }

    /// Forgets what left, and grows where no more than a quarter of the slots is free then, so that this is seldom
    /// needed.
    pub fn make_room(&mut self) {
        if self.len() >= self.slots.len() / 4 * 3 {
            let size = (self.slots.len() * 2).max(4);
            let mut slots = vec![T::default(); size];
            for place in self.head.saturating_sub(1)..self.tail {
                slots[place & (size - 1)] = self.slots[self.slot(place)];
            }
            self.slots = slots;
        }
        self.forget_left();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fadelab_phy::random::Stream;
    use std::collections::VecDeque;

    #[test]
    fn agrees_with_a_deque_and_shows_each_that_left_once() {
        // Goal: the ring is the standard library's queue, through growth and wrapping, and all that left it are seen
        // in their order.
        let mut random = Stream::new(3, "ring test");
        let (mut ring, mut reference) = (Ring::default(), VecDeque::new());
        let (mut left, mut seen) = (Vec::new(), Vec::new());
        for step in 0..20_000u64 {
            if random.below(100) < 52 {
                if ring.is_full() {
                    seen.extend(ring.left().concat());
                    ring.make_room();
                }
                ring.push(step);
                reference.push_back(step);
            } else {
                assert_eq!(ring.front().copied(), reference.front().copied());
                ring.remove_front();
                left.extend(reference.pop_front());
            }
            assert_eq!(ring.last_left(), left.last());
            assert_eq!(ring.len(), reference.len());
        }
        assert!(ring.iter().eq(reference.iter()));
        seen.extend(ring.left().concat());
        assert_eq!(seen, left);
    }
}
