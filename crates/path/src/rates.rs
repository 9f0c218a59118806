//! A rate that changes at given instants.

use serde::{Deserialize, Serialize};

/// Nanoseconds of a second: a link's work is counted in bits times these, so that it is a whole number.
const UNIT: u128 = 1_000_000_000;

/// What lies behind the end of every run, with room for a delay on top.
const NEVER_NS: u64 = u64::MAX / 2;

/// A rate from the beginning on, and others from given instants on. It is written as pairs of an instant and a rate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<(u64, u64)>", into = "Vec<(u64, u64)>")]
pub struct Rates(Vec<Step>);

/// A rate, in on-air bits per second, from an instant on, and all the work before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    at_ns: u64,
    rate_bps: u64,
    work_before: u128,
}

impl Rates {
    /// A rate and its changes, each an instant and the rate from then on.
    ///
    /// # Panics
    /// When instants do not ascend from above 0, or a rate is 0: whoever reads them refuses that.
    pub fn new(first_bps: u64, changes: &[(u64, u64)]) -> Self {
        let steps = [&[(0, first_bps)], changes].concat();
        Self::try_from(steps).expect("instants ascend, and no rate is 0")
    }

    /// The rate at the beginning.
    pub fn first_bps(&self) -> u64 {
        self.0[0].rate_bps
    }

    /// The rate at `now_ns`.
    pub fn at(&self, now_ns: u64) -> u64 {
        self.step(now_ns).rate_bps
    }

    /// Whole bytes that can be sent until `now_ns`.
    pub(crate) fn offered_bytes(&self, now_ns: u64) -> u64 {
        Self::bytes_of(self.work(now_ns))
    }

    fn step(&self, now_ns: u64) -> Step {
        self.0[self.0.partition_point(|step| step.at_ns <= now_ns) - 1]
    }

    /// What can be sent until `now_ns`, in billionths of a bit.
    pub(crate) fn work(&self, now_ns: u64) -> u128 {
        let step = self.step(now_ns);
        step.work_before + u128::from(now_ns - step.at_ns) * u128::from(step.rate_bps)
    }

    /// The last instant, in whole nanoseconds, until which no more than `work` can be sent.
    pub(crate) fn time_ns(&self, work: u128) -> u64 {
        let step = self.0[self.0.partition_point(|step| step.work_before <= work) - 1];
        let ns = (work - step.work_before) / u128::from(step.rate_bps);
        let ns = u64::try_from(ns).unwrap_or(u64::MAX);
        step.at_ns.saturating_add(ns).min(NEVER_NS)
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

impl From<Rates> for Vec<(u64, u64)> {
    fn from(rates: Rates) -> Self {
        rates.0.iter().map(|step| (step.at_ns, step.rate_bps)).collect()
    }
}

impl TryFrom<Vec<(u64, u64)>> for Rates {
    type Error = &'static str;

    fn try_from(pairs: Vec<(u64, u64)>) -> Result<Self, Self::Error> {
        let mut steps: Vec<Step> = Vec::with_capacity(pairs.len());
        for (at_ns, rate_bps) in pairs {
            let (is_next, work_before) = match steps.last() {
                None => (at_ns == 0, 0),
                Some(last) => {
                    let stretch_ns = at_ns.saturating_sub(last.at_ns);
                    let work = u128::from(stretch_ns) * u128::from(last.rate_bps);
                    (stretch_ns > 0, last.work_before + work)
                }
            };
            if !is_next || rate_bps == 0 {
                return Err("rates begin at 0, their instants ascend, and none is 0");
            }
            steps.push(Step {
                at_ns,
                rate_bps,
                work_before,
            });
        }
        if steps.is_empty() {
            return Err("there is no rate");
        }
        Ok(Self(steps))
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
        assert_eq!(rates.first_bps(), 8_000);
        assert_eq!(rates.time_ns(u128::MAX), NEVER_NS);
    }
}
