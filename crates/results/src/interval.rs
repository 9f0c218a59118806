//! Means over seeds and their 95 % intervals.

use std::ops::RangeInclusive;

use serde::Serialize;

/// Two-sided 95 % quantiles of Student's t for 1 to 30 degrees of freedom (standard table, e.g. NIST/SEMATECH
/// e-Handbook of Statistical Methods, section 1.3.6.7.2).
const T95: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// The 97.5 % quantile of the normal distribution.
const Z95: f64 = 1.959_963_985;

/// The factor of a two-sided 95 % interval for `freedom` degrees of freedom, at least 1.
///
/// Beyond the table the Cornish-Fisher expansion in 1/freedom (Abramowitz and Stegun 26.7.5) is exact to 1e-5.
pub fn t95(freedom: usize) -> f64 {
    if let Some(&t) = T95.get(freedom.max(1) - 1) {
        return t;
    }
    let (n, z) = (freedom as f64, Z95);
    let (z3, z5) = (z * z * z, z * z * z * z * z);
    z + (z3 + z) / (4.0 * n) + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * n * n)
}

/// A mean over seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Stat {
    /// Seeds that have a value.
    pub n: usize,
    pub mean: f64,
    /// Half the width of the 95 % t-interval of the mean; absent with a single seed, and where all seeds have one
    /// value, which says nothing of how far another seed would be off.
    pub ci95_half_width: Option<f64>,
    /// Lower end of the interval, not below what the figure can be: a true mean that is impossible is not in it.
    pub ci95_low: Option<f64>,
    /// Upper end of the interval, not above what the figure can be.
    pub ci95_high: Option<f64>,
    /// Smallest value of a seed.
    pub min: f64,
    /// Largest value of a seed.
    pub max: f64,
}

impl Stat {
    /// Mean and interval of `values`; `None` when there is none.
    pub fn of(values: &[f64]) -> Option<Self> {
        Self::within(values, f64::NEG_INFINITY..=f64::INFINITY)
    }

    /// The same of a figure that can have the values of `range` alone. Where the t-interval reaches beyond, it ends
    /// there: what it leaves out cannot be the mean, so it holds the mean as often as the whole one.
    pub fn within(values: &[f64], range: RangeInclusive<f64>) -> Option<Self> {
        let n = values.len();
        if n == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / n as f64;
        let min = values.iter().copied().fold(f64::INFINITY, f64::min);
        let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let ci95_half_width =
            (min < max).then(|| t95(n - 1) * (sum_of_squares(values, mean) / (n - 1) as f64 / n as f64).sqrt());
        Some(Self {
            n,
            mean,
            ci95_half_width,
            ci95_low: ci95_half_width.map(|half| (mean - half).max(range.start().min(mean))),
            ci95_high: ci95_half_width.map(|half| (mean + half).min(range.end().max(mean))),
            min,
            max,
        })
    }

    /// The same of values that were counted in bins, each the middle of one whose half is at most this part of it: a
    /// mean may be off by so much whatever the seeds say, so the interval is that much longer on both sides.
    pub fn counted(values: &[f64], range: RangeInclusive<f64>, half_bin: f64) -> Option<Self> {
        let stat = Self::within(values, range.clone())?;
        let off = stat.mean.abs() * half_bin;
        Some(Self {
            ci95_half_width: stat.ci95_half_width.map(|half| half + off),
            ci95_low: stat.ci95_low.map(|low| (low - off).max(range.start().min(stat.mean))),
            ci95_high: stat.ci95_high.map(|high| (high + off).min(range.end().max(stat.mean))),
            ..stat
        })
    }

    /// The ends of an interval that is shorter on one side than on the other, since a figure cannot be what is beyond.
    pub fn cut(&self) -> Option<(f64, f64)> {
        let (low, high) = self.ci95_low.zip(self.ci95_high)?;
        let half = self.ci95_half_width?;
        // One that is not cut is as long as its halves but for what was rounded.
        (high - low < 2.0 * half * (1.0 - 1e-9)).then_some((low, high))
    }
}

/// How long something takes that does not come in every run: what is cut off at the end, and never negative, has no
/// t-interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Times {
    /// Runs in which it came.
    pub reached: usize,
    /// All runs.
    pub of: usize,
    /// Median over all runs, where those in which it never came are longer than any; absent if it is one of them.
    pub median_s: Option<f64>,
    /// The least of those in which it came.
    pub min_s: Option<f64>,
    /// The largest of those.
    pub max_s: Option<f64>,
}

impl Times {
    /// Of `of` runs, `reached_s` are the times of those in which it came.
    pub fn of(mut reached_s: Vec<f64>, of: usize) -> Self {
        reached_s.sort_by(f64::total_cmp);
        let middle = |place: usize| reached_s.get(place).copied();
        let middles = of.checked_sub(1).and_then(|last| middle(last / 2).zip(middle(of / 2)));
        Self {
            reached: reached_s.len(),
            of,
            median_s: middles.map(|(low, high)| f64::midpoint(low, high)),
            min_s: reached_s.first().copied(),
            max_s: reached_s.last().copied(),
        }
    }
}

/// What differences between two things under the same seeds say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// No seed differs.
    Equal,
    /// The first is larger: zero is below the 95 % interval, or all of several seeds differ by the same.
    More,
    /// The first is smaller.
    Less,
    /// The interval contains zero.
    Noise,
    /// One seed: whether by chance is not known.
    OneSeed,
}

impl Stat {
    /// What it says, if it is of paired differences.
    pub fn judged(&self) -> Judged {
        let half = match self.ci95_half_width {
            _ if self.min == 0.0 && self.max == 0.0 => return Judged::Equal,
            None if self.n == 1 => return Judged::OneSeed,
            half => half.unwrap_or(0.0),
        };
        match self.mean {
            mean if mean > half => Judged::More,
            mean if mean < -half => Judged::Less,
            _ => Judged::Noise,
        }
    }
}

/// Pairs of values, one pair for each seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Paired {
    /// Mean of the first values.
    pub first: f64,
    /// Mean of the second ones.
    pub second: f64,
    /// Second minus first.
    pub difference: Stat,
}

impl Paired {
    /// `None` without a pair.
    pub fn of(pairs: &[(f64, f64)]) -> Option<Self> {
        let differences: Vec<f64> = pairs.iter().map(|(one, other)| other - one).collect();
        let mean = |pick: fn(&(f64, f64)) -> f64| pairs.iter().map(pick).sum::<f64>() / pairs.len() as f64;
        Some(Self {
            difference: Stat::of(&differences)?,
            first: mean(|pair| pair.0),
            second: mean(|pair| pair.1),
        })
    }
}

/// Standard deviation of a sequence of values, all of which were seen (divisor n).
pub fn deviation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (sum_of_squares(values, mean) / values.len() as f64).sqrt()
}

fn sum_of_squares(values: &[f64], mean: f64) -> f64 {
    values.iter().map(|v| (v - mean) * (v - mean)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_without_an_end_count_as_the_longest() {
        // Goal: the median of times of which some never come is that of all runs, and none where it is one of these.
        let times = |reached: &[f64], of| Times::of(reached.to_vec(), of);
        assert_eq!(times(&[9.0, 1.0, 3.0], 3).median_s, Some(3.0));
        assert_eq!(times(&[9.0, 1.0, 3.0], 4).median_s, Some(6.0));
        assert_eq!(times(&[9.0, 1.0, 3.0], 5).median_s, Some(9.0));
        let half = times(&[9.0, 1.0, 3.0], 6);
        assert_eq!((half.median_s, half.min_s, half.max_s), (None, Some(1.0), Some(9.0)));
        assert_eq!((times(&[], 2).median_s, times(&[], 0).min_s), (None, None));
    }

    #[test]
    fn quantiles_continue_smoothly_beyond_the_table() {
        // The expansion meets the published values for 40, 60 and 120 degrees of freedom and joins the table at 30.
        for (freedom, published) in [(31, 2.040), (40, 2.021), (60, 2.000), (120, 1.980), (1_000_000, 1.960)] {
            assert!((t95(freedom) - published).abs() < 6e-4, "{freedom}: {}", t95(freedom));
        }
    }

    #[test]
    fn mean_and_interval_equal_a_hand_computed_example() {
        // 1, 2, 3, 4: mean 2.5, sample variance 5/3, standard error 0.645497, t(3) = 3.182.
        let stat = Stat::of(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert!((stat.mean - 2.5).abs() < 1e-12);
        assert!((stat.ci95_half_width.unwrap() - 2.053_972).abs() < 1e-5);
        assert_eq!((stat.n, stat.min, stat.max), (4, 1.0, 4.0));
    }

    #[test]
    fn an_interval_ends_where_the_figure_does() {
        // Goal: no interval says that a share may be above all or a count below none; one within bounds is as it was.
        let nearly_all = Stat::within(&[1.0, 0.99, 1.0], 0.0..=1.0).unwrap();
        let half = nearly_all.ci95_half_width.unwrap();
        assert!(nearly_all.mean + half > 1.0);
        assert_eq!(nearly_all.cut(), Some((nearly_all.mean - half, 1.0)));
        let few = Stat::within(&[0.0, 0.0, 1.0], 0.0..=f64::INFINITY).unwrap();
        assert_eq!(few.cut(), Some((0.0, few.mean + few.ci95_half_width.unwrap())));
        let inside = Stat::within(&[0.4, 0.5, 0.6], 0.0..=1.0).unwrap();
        assert_eq!((inside, inside.cut()), (Stat::of(&[0.4, 0.5, 0.6]).unwrap(), None));
    }

    #[test]
    fn an_interval_is_no_finer_than_the_bins_of_its_values() {
        // Goal: where seeds fall into two neighbouring bins the interval is of the bins too, and not of rounding alone.
        let seeds = [71.565, 72.09, 72.09, 72.09];
        let (plain, counted) = (
            Stat::of(&seeds).unwrap(),
            Stat::counted(&seeds, 0.0..=f64::INFINITY, 0.004).unwrap(),
        );
        let half = counted.ci95_half_width.unwrap();
        assert!((half - plain.ci95_half_width.unwrap() - 0.004 * plain.mean).abs() < 1e-12);
        assert!((counted.ci95_high.unwrap() - counted.mean - half).abs() < 1e-12);
        let cuts = (1..1000).filter(|k| {
            Stat::counted(&seeds.map(|seed| seed * f64::from(*k)), 0.0..=1e9, 0.004)
                .unwrap()
                .cut()
                .is_some()
        });
        assert_eq!(cuts.count(), 0, "what is rounded is not cut");
        assert_eq!(
            Stat::counted(&[72.09; 3], 0.0..=1e9, 0.004).unwrap().ci95_half_width,
            None
        );
    }

    #[test]
    fn equal_values_have_no_interval() {
        // Goal: seeds that all gave the same do not look like certainty to the last digit.
        let stat = Stat::of(&[0.7, 0.7, 0.7]).unwrap();
        assert_eq!((stat.n, stat.ci95_half_width), (3, None));
    }

    #[test]
    fn differences_are_judged_by_their_interval() {
        // Goal: an interval that contains zero is noise, however large the mean; the same difference at every seed is
        // none by chance, and a single one nobody knows.
        let judged = |values: &[f64]| Stat::of(values).unwrap().judged();
        assert_eq!(judged(&[1.0, 1.1, 0.9]), Judged::More);
        assert_eq!(judged(&[-1.0, -1.1, -0.9]), Judged::Less);
        assert_eq!(judged(&[9.0, -1.0, 2.0]), Judged::Noise);
        assert_eq!(judged(&[0.0, 0.0]), Judged::Equal);
        assert_eq!(judged(&[0.5, 0.5]), Judged::More);
        assert_eq!(judged(&[0.5]), Judged::OneSeed);
    }

    #[test]
    fn one_seed_has_no_interval_and_none_has_no_mean() {
        // An interval from one value would be made up.
        assert_eq!(Stat::of(&[0.7]).unwrap().ci95_half_width, None);
        assert_eq!(Stat::of(&[]), None);
    }
}
