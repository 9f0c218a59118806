//! A queue in a ring whose length is a power of two: an index costs a mask, not a comparison with the end.

/// First in, first out, and readable in between.
#[derive(Debug, Default)]
pub(crate) struct Ring<T> {
    slots: Vec<T>,
    head: usize,
    len: usize,
}

impl<T: Copy + Default> Ring<T> {
    /// How many entries it holds.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn slot(&self, index: usize) -> usize {
        (self.head + index) & (self.slots.len().wrapping_sub(1))
    }

    /// Entry `index`, counted from the oldest.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        if index < self.len {
            self.slots.get(self.slot(index))
        } else {
            None
        }
    }

    /// The oldest entry.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        self.get(0)
    }

    /// Adds the newest entry.
    #[inline]
    pub fn push(&mut self, entry: T) {
        if self.len == self.slots.len() {
            self.grow();
        }
        let slot = self.slot(self.len);
        self.slots[slot] = entry;
        self.len += 1;
    }

    /// Removes the oldest entry, if there is one.
    #[inline]
    pub fn remove_front(&mut self) {
        let there_is = usize::from(self.len > 0);
        self.head = self.slot(there_is);
        self.len -= there_is;
    }

    /// Entries from `index` on, oldest first.
    pub fn iter_from(&self, index: usize) -> impl Iterator<Item = &T> {
        (index..self.len).filter_map(|at| self.get(at))
    }

    #[cold]
    fn grow(&mut self) {
        let mut slots: Vec<T> = self.iter_from(0).copied().collect();
        slots.resize((self.slots.len() * 2).max(4), T::default());
        (self.slots, self.head) = (slots, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fadelab_phy::random::Stream;
    use std::collections::VecDeque;

    #[test]
    fn agrees_with_a_deque() {
        // Goal: the ring is the standard library's queue, through growth and wrapping.
        let mut random = Stream::new(3, "ring test");
        let (mut ring, mut reference) = (Ring::default(), VecDeque::new());
        for step in 0..20_000u64 {
            if random.below(100) < 52 {
                ring.push(step);
                reference.push_back(step);
            } else {
                assert_eq!(ring.front().copied(), reference.front().copied());
                ring.remove_front();
                reference.pop_front();
            }
            assert_eq!(ring.len(), reference.len());
            let index = random.below(20) as usize;
            assert_eq!(ring.get(index), reference.get(index));
        }
        assert!(ring.iter_from(1).eq(reference.iter().skip(1)));
    }
}
