//! A rate that changes at given instants.

use serde::{Deserialize, Serialize};

/// Nanoseconds of a second: a link's work is counted in bits times these, so that it is a whole number.
const UNIT: u128 = 1_000_000_000;

/// What lies behind the end of every run, with room for a delay on top.
const NEVER_NS: u64 = u64::MAX / 2;

/// A rate from the beginning on, and others from given instants on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rates {
    /// When each rate begins, the first at 0, ascending; and the rate, in on-air bits per second, greater than 0.
    steps: Vec<(u64, u64)>,
}

impl Rates {
    /// A rate and its changes, each an instant and the rate from then on.
    ///
    /// # Panics
    /// When instants do not ascend from above 0, or a rate is 0: whoever reads them refuses that.
    pub fn new(first_bps: u64, changes: &[(u64, u64)]) -> Self {
        let mut steps = vec![(0, first_bps)];
        steps.extend_from_slice(changes);
        assert!(steps.windows(2).all(|pair| pair[0].0 < pair[1].0), "instants ascend");
        assert!(steps.iter().all(|&(_, rate_bps)| rate_bps > 0), "a rate is not 0");
        Self { steps }
    }

    /// The rate at the beginning.
    pub fn first_bps(&self) -> u64 {
        self.steps[0].1
    }

    /// The highest of them.
    pub fn bps_max(&self) -> u64 {
        self.steps.iter().map(|&(_, rate_bps)| rate_bps).max().unwrap_or(0)
    }

    /// The changes: when, and the rate from then on.
    pub fn changes(&self) -> &[(u64, u64)] {
        &self.steps[1..]
    }

    /// The rate at `now_ns`.
    pub fn at(&self, now_ns: u64) -> u64 {
        let after = self.steps.partition_point(|&(at_ns, _)| at_ns <= now_ns);
        self.steps[after - 1].1
    }

    /// What can be sent until `now_ns`, in billionths of a bit.
    pub(crate) fn work(&self, now_ns: u64) -> u128 {
        let mut work = 0;
        for (index, &(at_ns, rate_bps)) in self.steps.iter().enumerate() {
            if at_ns >= now_ns {
                break;
            }
            let next_ns = self.steps.get(index + 1).map_or(u64::MAX, |next| next.0);
            work += u128::from(next_ns.min(now_ns) - at_ns) * u128::from(rate_bps);
        }
        work
    }

    /// The last instant, in whole nanoseconds, until which no more than `work` can be sent.
    pub(crate) fn time_ns(&self, work: u128) -> u64 {
        let mut left = work;
        for (index, &(at_ns, rate_bps)) in self.steps.iter().enumerate() {
            let next_ns = self.steps.get(index + 1).map_or(u64::MAX, |next| next.0);
            let all = u128::from(next_ns - at_ns) * u128::from(rate_bps);
            if left < all {
                let ns = u64::try_from(left / u128::from(rate_bps)).unwrap_or(u64::MAX);
                return at_ns.saturating_add(ns).min(NEVER_NS);
            }
            left -= all;
        }
        NEVER_NS
    }

    /// The work that bytes are.
    pub(crate) fn work_of(bytes: u64) -> u128 {
        u128::from(bytes) * 8 * UNIT
    }

    /// Whole bytes in some work.
    pub(crate) fn bytes_of(work: u128) -> u64 {
        (work / (8 * UNIT)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_and_time_undo_each_other() {
        // Goal: over changes up and down, work grows with the rate of each stretch, and the time of some work is the
        // instant until which it could be sent, to the nanosecond before.
        let rates = Rates::new(8_000, &[(1_000_000_000, 4_000), (3_000_000_000, 80_000)]);
        assert_eq!(Rates::bytes_of(rates.work(1_000_000_000)), 1_000);
        assert_eq!(Rates::bytes_of(rates.work(3_000_000_000)), 2_000);
        assert_eq!(Rates::bytes_of(rates.work(4_000_000_000)), 12_000);
        for now_ns in [
            0,
            1,
            999_999_999,
            1_000_000_000,
            1_000_000_001,
            2_999_999_999,
            3_000_000_000,
            9_000_000_007,
        ] {
            assert_eq!(rates.time_ns(rates.work(now_ns)), now_ns);
        }
        assert_eq!(
            (rates.at(999_999_999), rates.at(1_000_000_000), rates.at(u64::MAX)),
            (8_000, 4_000, 80_000)
        );
        assert_eq!((rates.first_bps(), rates.bps_max()), (8_000, 80_000));
        assert_eq!(rates.time_ns(u128::MAX), NEVER_NS);
    }
}
