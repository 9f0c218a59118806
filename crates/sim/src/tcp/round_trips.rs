//! RTT samples of a group of flows, each of them counted.

use std::cell::Cell;

use fadelab_path::histogram::{Histogram, place};

/// Places of bins whose numbers differ in the lower 13 bits: so many an `f32` from 1 to 2^32 has at most.
const PLACES: usize = 1 << 13;

/// The first of them, of 1 µs, and how many there are up to 2^32 µs.
const FIRST: u16 = 0x3f80;
const LAST: u16 = 0x4f80;

/// Counts of samples in µs. Flows of a group share it, and each adds to it.
#[derive(Debug)]
pub(crate) struct RoundTrips([Cell<u64>; PLACES]);

#[allow(
    clippy::large_stack_arrays,
    reason = "64 kB, once for a group of flows: a pointer would be followed with each sample"
)]
impl Default for RoundTrips {
    fn default() -> Self {
        Self([const { Cell::new(0) }; PLACES])
    }
}

impl RoundTrips {
    /// Counts a sample of at least one microsecond.
    #[inline(always)]
    pub fn add(&self, rtt_us: u32) {
        let count = &self.0[place(u64::from(rtt_us)) % PLACES];
        count.set(count.get() + 1);
    }

    pub fn forget(&self) {
        self.0.iter().for_each(|count| count.set(0));
    }

    /// The samples, of which there were `samples`: those that were not counted took less than a microsecond.
    pub fn histogram(&self, samples: u64) -> Histogram {
        let count = |place: u16| (place, self.0[usize::from(place) % PLACES].get());
        let mut histogram = Histogram::of((FIRST..=LAST).map(count));
        histogram.add(0, samples - histogram.count());
        histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sample_is_counted_once() {
        // Goal: of samples from less than a microsecond to the longest, each has its bin, and forgotten ones none.
        let trips = RoundTrips::default();
        trips.add(77);
        trips.forget();
        let samples = [1, 2, 3, 200, 100_000, 1 << 31, u32::MAX];
        for &rtt_us in &samples {
            trips.add(rtt_us);
        }
        let mut expected = Histogram::default();
        [0].iter()
            .chain(&samples)
            .for_each(|&rtt_us| expected.add(rtt_us.into(), 1));
        assert_eq!(trips.histogram(8), expected);
        assert_eq!(expected.bins().count(), 8);
    }
}
