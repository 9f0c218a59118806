//! How long packets waited at a link, each counted by itself when it leaves the queue.
//!
//! A link over which packets of several classes come, such as those of groups of flows, counts them apart. Packets that
//! find the transmitter idle are counted only there: where there is one class they are all that left and did not wait,
//! so that a link on which nobody waits does nothing.

use crate::histogram::{Counts, Histogram};

/// The waits at a link, in ns. Nothing is counted where nobody asked for it.
#[derive(Debug, Default)]
pub(crate) struct Delays {
    /// Where packets are not told apart.
    one: Option<Counts>,
    /// By class, where they are.
    several: Vec<Counts>,
}

impl Delays {
    /// Counts from now on, and nothing that was before, apart for so many classes.
    pub fn begin(&mut self, classes: usize) {
        if classes == 1 {
            self.one = Some(Counts::default());
        } else {
            self.several = (0..classes).map(|_| Counts::default()).collect();
        }
    }

    /// Forgets what was counted so far.
    pub fn forget(&mut self) {
        self.begin(self.several.len() + usize::from(self.one.is_some()));
    }

    /// A packet left the queue.
    #[inline(always)]
    pub fn add(&mut self, waited_ns: u64, class: u8) {
        self.add_all([(waited_ns, class)].into_iter());
    }

    /// Packets left the queue, after these waits and of these classes.
    #[inline(always)]
    pub fn add_all(&mut self, waits: impl Iterator<Item = (u64, u8)>) {
        if let Some(one) = &mut self.one {
            waits.for_each(|(waited_ns, _)| one.add(waited_ns));
        } else if self.several.is_empty() {
            waits.for_each(drop);
        } else {
            waits.for_each(|(waited_ns, class)| self.several[class as usize].add(waited_ns));
        }
    }

    /// A packet went on without a wait.
    #[inline(always)]
    pub fn pass(&mut self, class: u8) {
        if !self.several.is_empty() {
            self.several[class as usize].add(0);
        }
    }

    /// What was counted, by class.
    pub fn histograms(&self) -> Vec<Histogram> {
        self.one.iter().chain(&self.several).map(Counts::histogram).collect()
    }
}
