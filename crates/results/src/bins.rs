//! Equal stretches of time, cut out of cumulative counters.

/// Width of the bins in which the swing of a link's utilisation is measured, as in figure 3 of the VCP paper for
/// wireless links (`vcp-ton-2010`).
pub const SWING_BIN_NS: u64 = 10_000_000_000;

/// A stretch of a series: indices of the samples at its two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// Sample at its beginning.
    pub from: usize,
    /// Sample at its end, later than `from`.
    pub to: usize,
}

/// Cuts `[start_ns, end_ns]` into bins of `width_ns`, each from the last sample at or before its beginning to the last
/// one at or before its end; `None` for a bin without a sample of its own. A remainder shorter than a bin is left out.
pub fn cut(time_ns: &[u64], start_ns: u64, end_ns: u64, width_ns: u64) -> Vec<Option<Bin>> {
    let sample_at = |t: u64| time_ns.partition_point(|&sample| sample <= t).checked_sub(1);
    let count = end_ns.saturating_sub(start_ns) / width_ns.max(1);
    let bin = |k: u64| {
        let begin = start_ns + k * width_ns;
        let (from, to) = (sample_at(begin)?, sample_at(begin + width_ns)?);
        (from < to).then_some(Bin { from, to })
    };
    (0..count).map(bin).collect()
}

/// The width of the bins of a curve over `duration_ns`: the smallest of 1, 2, 5 times a power of ten that keeps the
/// number of bins at or below `bins_max` and is not below the distance of the samples.
pub fn curve_width_ns(duration_ns: u64, sample_interval_ns: u64, bins_max: u64) -> u64 {
    let wanted = duration_ns.div_ceil(bins_max).max(sample_interval_ns).max(1);
    let mut decade = 1_u64;
    loop {
        for step in [1, 2, 5] {
            if decade * step >= wanted {
                return decade * step;
            }
        }
        decade *= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_begin_and_end_at_the_samples_of_their_edges() {
        // Samples every 2 s, bins of 10 s from 5 s on: the edges 5, 15 and 25 s fall between samples.
        let time: Vec<u64> = (0..=15).map(|k| k * 2).collect();
        assert_eq!(
            cut(&time, 5, 30, 10),
            [Some(Bin { from: 2, to: 7 }), Some(Bin { from: 7, to: 12 })]
        );
    }

    #[test]
    fn a_sample_at_an_edge_ends_one_bin_and_begins_the_next() {
        // The usual case: the width of the bins is a multiple of the distance of the samples.
        let first = Some(Bin { from: 1, to: 3 });
        let second = Some(Bin { from: 3, to: 5 });
        assert_eq!(cut(&[0, 5, 10, 15, 20, 25], 5, 25, 10), [first, second]);
    }

    #[test]
    fn stretches_without_samples_give_no_bin() {
        // A series that begins late has nothing to say about what was before.
        assert_eq!(
            cut(&[25, 35], 0, 40, 10),
            [None, None, None, Some(Bin { from: 0, to: 1 })]
        );
        assert_eq!(cut(&[], 0, 20, 10), [None, None]);
        assert_eq!(cut(&[0, 10], 20, 10, 10), []);
    }

    #[test]
    fn curves_have_round_bins() {
        // 1000 s at 1 s samples are shown in 10 s bins, 140 s at 0.1 s in 1 s bins, and never finer than the samples.
        let s = 1_000_000_000;
        assert_eq!(curve_width_ns(1000 * s, s, 150), 10 * s);
        assert_eq!(curve_width_ns(1000 * s, s, 500), 2 * s);
        assert_eq!(curve_width_ns(140 * s, s / 10, 150), s);
        assert_eq!(curve_width_ns(10 * s, s, 150), s);
    }
}
