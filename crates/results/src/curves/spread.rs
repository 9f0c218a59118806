//! How completion times and round trips spread: quantiles for a distribution function.

use serde::Serialize;

use crate::Run;
use crate::pack::floats;

/// Quantiles of a distribution function: one per hundredth.
const QUANTILES_N: usize = 101;

/// A distribution as 101 quantiles, from the smallest value to the largest.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Quantiles {
    /// Values behind it.
    pub n: u64,
    /// The quantiles at 0, 0.01, ... 1, as [`floats`].
    pub at: String,
}

/// Times in seconds of the transfers of `flows` that ended in the measured interval.
pub fn completions_s(runs: &[&Run], flows: &[usize]) -> Option<Quantiles> {
    let ended = |run: &&Run| {
        let (warmup_ns, completions) = (run.spec.warmup_ns, &run.record.completions);
        let mine = completions
            .iter()
            .filter(move |c| c.end_ns >= warmup_ns && flows.binary_search(&(c.flow as usize)).is_ok());
        mine.map(|c| c.end_ns - c.start_ns).collect::<Vec<_>>()
    };
    let mut times_ns: Vec<u64> = runs.iter().flat_map(ended).collect();
    times_ns.sort_unstable();
    let last = times_ns.len().checked_sub(1)?;
    let quantile = |k: usize| Some(times_ns[(last * k + 50) / (QUANTILES_N - 1)] as f64 / 1e9);
    Some(Quantiles {
        n: times_ns.len() as u64,
        at: floats((0..QUANTILES_N).map(quantile)),
    })
}

/// Round trips in ms of `flows` in the measured interval.
pub fn rtt_ms(runs: &[&Run], flows: &[usize]) -> Option<Quantiles> {
    let mut histogram = Histogram::new();
    for run in runs {
        let series = &run.record.series;
        let from = series.time_ns.partition_point(|&t| t < run.spec.warmup_ns);
        for &flow in flows {
            for pair in series.flows[flow][from.min(series.time_ns.len())..].windows(2) {
                let n = pair[1].rtt_samples - pair[0].rtt_samples;
                let sum = pair[1].rtt_us_sum - pair[0].rtt_us_sum;
                if let Some(mean) = sum.checked_div(n) {
                    histogram.add(mean, n);
                }
            }
        }
    }
    (histogram.n > 0).then(|| Quantiles {
        n: histogram.n,
        at: floats(histogram.quantiles().into_iter().map(|us| Some(us / 1e3))),
    })
}

/// Parts of an octave in a histogram: values are told apart that differ by 1/256.
const PARTS_LOG2: u32 = 8;

/// A histogram of integers whose bins are as wide as the values are large, so that it is small and never sorted.
struct Histogram {
    counts: Vec<u64>,
    n: u64,
}

impl Histogram {
    fn new() -> Self {
        Self {
            counts: vec![0; (u64::BITS as usize + 1) << PARTS_LOG2],
            n: 0,
        }
    }

    /// Values below 256 have a bin each; then each octave has 256.
    fn bin(value: u64) -> usize {
        let octave = (u64::BITS - value.leading_zeros()).saturating_sub(PARTS_LOG2 + 1);
        ((u64::from(octave) << PARTS_LOG2) + (value >> octave)) as usize
    }

    /// Smallest value of a bin.
    fn value(bin: usize) -> f64 {
        let parts = 1_usize << PARTS_LOG2;
        let octave = (bin / parts).saturating_sub(1);
        (bin - octave * parts) as f64 * (octave as f64).exp2()
    }

    fn add(&mut self, value: u64, times: u64) {
        self.counts[Self::bin(value)] += times;
        self.n += times;
    }

    /// The quantiles: middles of the bins in which they fall.
    fn quantiles(&self) -> Vec<f64> {
        let mut quantiles = Vec::with_capacity(QUANTILES_N);
        let mut below = 0;
        for (bin, &count) in self.counts.iter().enumerate() {
            let rank = |k: usize| (u128::from(self.n - 1) * k as u128 / (QUANTILES_N as u128 - 1)) as u64;
            below += count;
            while quantiles.len() < QUANTILES_N && rank(quantiles.len()) < below {
                quantiles.push(f64::midpoint(Self::value(bin), Self::value(bin + 1) - 1.0));
            }
        }
        quantiles
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_of_a_histogram_are_at_most_a_256th_wide() {
        // Each value lies in its bin, whose width is at most 1/256 of it.
        for value in [0, 1, 255, 256, 511, 512, 1000, 12_345_678, 1 << 40] {
            let bin = Histogram::bin(value);
            let (from, to) = (Histogram::value(bin), Histogram::value(bin + 1));
            assert!(from <= value as f64 && (value as f64) < to, "{value} in {from}..{to}");
            assert!(to - from <= 1.0_f64.max(from / 256.0), "{value} in {from}..{to}");
        }
    }

    #[test]
    fn quantiles_of_a_histogram_equal_those_of_the_sorted_values() {
        // 0..=50 once each and 60 as often as all of them: the median is 50, the upper half is 60.
        let mut histogram = Histogram::new();
        for value in 0..=50 {
            histogram.add(value, 1);
        }
        histogram.add(60, 51);
        let quantiles = histogram.quantiles();
        assert_eq!(quantiles.len(), QUANTILES_N);
        assert_eq!(
            (quantiles[0], quantiles[50], quantiles[51], quantiles[100]),
            (0.0, 50.0, 60.0, 60.0)
        );
    }
}
