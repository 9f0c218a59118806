//! Counts of delays in bins that grow with them, so that percentiles are of every sample and off by little.
//!
//! A bin is what an `f32` keeps in its upper half: its exponent and seven bits behind the point, 128 bins to an octave.
//! The processor's own conversion finds it, in four instructions. Whole numbers below 256 have a bin each; wider
//! bins are at most 1/128 of their lower bound, so that their middle is within 0.4 % of all that is counted in them.

use serde::{Deserialize, Serialize};

/// All that the upper half of an `f32` can say, so that no index needs a check. What is never counted is memory that is
/// never touched.
const PLACES: usize = 1 << 16;

/// Bits of an `f32` below those that tell bins apart.
const REST_BITS: u32 = 16;

/// Place of the bin of `value`, which is less than 2^63. Below 2^16.
#[inline(always)]
pub fn place(value: u64) -> usize {
    // Signed, for which the processor has an instruction.
    ((value as i64 as f32).to_bits() >> REST_BITS) as usize
}

/// The least whole number in the bin at `place`.
fn lower(place: u16) -> u64 {
    f32::from_bits(u32::from(place) << REST_BITS).ceil() as u64
}

/// Counts while values come; [`Counts::histogram`] tells what they are.
#[derive(Debug)]
pub struct Counts(Box<[u64; PLACES]>);

impl Default for Counts {
    fn default() -> Self {
        let zeros = vec![0; PLACES].into_boxed_slice();
        Self(zeros.try_into().expect("as many as there are places"))
    }
}

impl Counts {
    /// Counts a value.
    #[inline(always)]
    pub fn add(&mut self, value: u64) {
        self.0[place(value)] += 1;
    }

    /// What was counted so far.
    pub fn histogram(&self) -> Histogram {
        // Nothing is between 0 and 1.
        let places = [place(0)..1, place(1)..place(i64::MAX as u64) + 1]
            .into_iter()
            .flatten();
        Histogram::of(places.map(|place| (place as u16, self.0[place])))
    }
}

/// How often delays of which length came: bins that hold something, the shortest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    bins: Vec<(u16, u64)>,
}

/// A bin of a histogram: whole numbers between two bounds, and how many of them came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// The least.
    pub lower: u64,
    /// The largest.
    pub upper: u64,
    /// How many.
    pub count: u64,
}

impl Histogram {
    /// Of counts by [`place`].
    pub fn of(counts: impl Iterator<Item = (u16, u64)>) -> Self {
        let mut bins: Vec<(u16, u64)> = counts.filter(|&(_, count)| count > 0).collect();
        bins.sort_unstable();
        Self { bins }
    }

    /// Adds `count` values that are all alike.
    pub fn add(&mut self, value: u64, count: u64) {
        if count == 0 {
            return;
        }
        let place = place(value) as u16;
        match self.bins.binary_search_by_key(&place, |&(place, _)| place) {
            Ok(at) => self.bins[at].1 += count,
            Err(at) => self.bins.insert(at, (place, count)),
        }
    }

    /// Adds all that another counted.
    pub fn add_all(&mut self, other: &Self) {
        for bin in other.bins() {
            self.add(bin.lower, bin.count);
        }
    }

    /// What it counted and others did not, of which it counted all.
    #[must_use]
    pub fn without(&self, others: &[&Self]) -> Self {
        let in_others = |place: u16| -> u64 {
            let counts = others.iter().filter_map(|other| {
                let at = other.bins.binary_search_by_key(&place, |&(place, _)| place).ok()?;
                Some(other.bins[at].1)
            });
            counts.sum()
        };
        Self::of(
            self.bins
                .iter()
                .map(|&(place, count)| (place, count - in_others(place))),
        )
    }

    /// How many values it counted.
    pub fn count(&self) -> u64 {
        self.bins.iter().map(|&(_, count)| count).sum()
    }

    /// Its bins, the shortest delays first.
    pub fn bins(&self) -> impl Iterator<Item = Bin> {
        self.bins.iter().map(|&(place, count)| Bin {
            lower: lower(place),
            upper: lower(place + 1) - 1,
            count,
        })
    }

    /// The least value that `percent` of all do not exceed (the nearest rank), as the middle of its bin. `None`: there
    /// is no value.
    pub fn percentile(&self, percent: u64) -> Option<f64> {
        self.quantile(percent, 100)
    }

    /// The same for `part` of each `whole`: 999 of 1000 is the 99.9th percentile.
    pub fn quantile(&self, part: u64, whole: u64) -> Option<f64> {
        let rank = (u128::from(self.count()) * u128::from(part))
            .div_ceil(u128::from(whole))
            .max(1);
        let mut below = 0;
        let mut bins = self.bins();
        let bin = bins.find(|bin| {
            below += u128::from(bin.count);
            below >= rank
        })?;
        Some(f64::midpoint(bin.lower as f64, bin.upper as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counted(values: &[u64]) -> Histogram {
        let mut counts = Counts::default();
        for &value in values {
            counts.add(value);
        }
        counts.histogram()
    }

    /// The value of nearest rank among samples that are sorted.
    fn of_sorted(sorted: &[u64], percent: usize) -> f64 {
        sorted[(sorted.len() * percent).div_ceil(100).max(1) - 1] as f64
    }

    #[test]
    fn a_percentile_is_the_value_of_its_rank() {
        // Goal: of 1, 2, ... 20 half are at most 10, 95 % at most 19 and 99 % at most 20; of one value all are that
        // value, and of none there is no percentile.
        let twenty = counted(&(1..=20).collect::<Vec<_>>());
        assert_eq!([50, 95, 99].map(|p| twenty.percentile(p)), [10.0, 19.0, 20.0].map(Some));
        assert_eq!([50, 95, 99].map(|p| counted(&[7]).percentile(p)), [Some(7.0); 3]);
        assert_eq!(Histogram::default().percentile(50), None);
    }

    #[test]
    fn bins_are_exact_below_256_and_a_128th_wide_above() {
        // Goal: by hand, 255 is alone, 256 shares a bin with 257, 1024 with the seven behind it, and a bin that begins
        // at 2^40 is 2^33 wide.
        let bin = |value| counted(&[value]).bins().next().map(|bin| (bin.lower, bin.upper));
        assert_eq!([0, 1, 255].map(bin), [0, 1, 255].map(|value| Some((value, value))));
        assert_eq!([bin(257), bin(1031)], [Some((256, 257)), Some((1024, 1031))]);
        assert_eq!(bin(1 << 40), Some((1 << 40, (1 << 40) + (1 << 33) - 1)));
    }

    #[test]
    fn what_is_added_is_what_is_counted() {
        // Goal: values that come in groups and histograms that are joined give what counting each value gives.
        let mut joined = counted(&[3, 500, 0]);
        joined.add(70_000, 2);
        joined.add(3, 0);
        joined.add_all(&counted(&[3, 500_000]));
        assert_eq!(joined, counted(&[0, 3, 3, 500, 70_000, 70_000, 500_000]));
        assert_eq!(joined.count(), 7);
        let rest = joined.without(&[&counted(&[3, 500]), &counted(&[0, 70_000])]);
        assert_eq!(rest, counted(&[3, 70_000, 500_000]));
    }

    proptest! {
        #[test]
        fn percentiles_are_those_of_sorted_samples(
            shifted in prop::collection::vec((0_u32..43, 0_u64..1 << 43), 1..400),
        ) {
            // Goal: whatever the samples, each percentile is within 0.5 % of the one that sorting them gives.
            let values: Vec<u64> = shifted.into_iter().map(|(shift, value)| value >> shift).collect();
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let histogram = counted(&values);
            for percent in 1..=100 {
                let exact = of_sorted(&sorted, percent);
                let told = histogram.percentile(percent as u64).expect("there are samples");
                prop_assert!((told - exact).abs() <= 0.005 * exact, "{percent}: {told} for {exact}");
            }
        }
    }
}
