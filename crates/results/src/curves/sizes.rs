//! Completion times of transfers by their size.

use serde::Serialize;

use super::Member;
use crate::pack::floats;

/// Most dots of a law: more hide each other.
const DOTS_MAX: usize = 1500;
/// Up to so many sizes each has a class of its own.
const SIZES_MAX: usize = 12;
/// Classes to a factor of ten in size, where there are more.
const CLASSES_PER_DECADE: f64 = 4.0;

/// Transfers that ended in the measured interval, of all seeds of a law.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Transfers {
    /// How many there are.
    pub n: usize,
    /// Payloads of those that are shown as dots, every so many of all in order of size, as [`floats`].
    pub bytes: String,
    /// Their times in seconds, as [`floats`].
    pub time_s: String,
    /// All of them in classes of like sizes.
    pub classes: Vec<SizeClass>,
}

/// Transfers of like sizes; times by nearest rank.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SizeClass {
    /// How many there are.
    pub n: usize,
    /// Geometric mean of their payloads.
    pub bytes: f64,
    /// A tenth took at most so long.
    pub p10_s: f64,
    /// Half took at most so long.
    pub p50_s: f64,
    /// Nine tenths took at most so long.
    pub p90_s: f64,
}

/// The transfers and sessions of all flows; absent if there are fewer than two sizes.
pub fn transfers(members: &[Member]) -> Option<Transfers> {
    let ended = |Member { run, flows, .. }: &Member| {
        let (warmup_ns, completions) = (run.spec.warmup_ns, &run.record.completions);
        let mine = completions.iter().filter(move |c| {
            let is_known = c.bytes > 0 && c.end_ns > c.start_ns;
            is_known && c.end_ns >= warmup_ns && flows.binary_search(&(c.flow as usize)).is_ok()
        });
        mine.map(|c| (c.bytes, c.end_ns - c.start_ns)).collect::<Vec<_>>()
    };
    let mut all: Vec<(u64, u64)> = members.iter().flat_map(ended).collect();
    all.sort_unstable();
    let sizes = all.chunk_by(|a, b| a.0 == b.0).count();
    if sizes < 2 {
        return None;
    }
    let class = |bytes: u64| {
        if sizes <= SIZES_MAX {
            return bytes;
        }
        (libm::log10(bytes as f64) * CLASSES_PER_DECADE) as u64
    };
    let classes = all.chunk_by(|a, b| class(a.0) == class(b.0)).map(SizeClass::of);
    let every = all.len().div_ceil(DOTS_MAX);
    let dots = || all.iter().step_by(every);
    Some(Transfers {
        n: all.len(),
        bytes: floats(dots().map(|&(bytes, _)| Some(bytes as f64))),
        time_s: floats(dots().map(|&(_, time_ns)| Some(time_ns as f64 / 1e9))),
        classes: classes.collect(),
    })
}

impl SizeClass {
    fn of(transfers: &[(u64, u64)]) -> Self {
        let n = transfers.len();
        let mut times_ns: Vec<u64> = transfers.iter().map(|&(_, time_ns)| time_ns).collect();
        times_ns.sort_unstable();
        let rank = |percent: usize| times_ns[(n * percent).div_ceil(100).max(1) - 1] as f64 / 1e9;
        let logarithms: f64 = transfers.iter().map(|&(bytes, _)| libm::log(bytes as f64)).sum();
        Self {
            n,
            bytes: libm::exp(logarithms / n as f64),
            p10_s: rank(10),
            p50_s: rank(50),
            p90_s: rank(90),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_has_the_ranks_of_its_times() {
        // Goal: of ten times the first is the tenth, the fifth the median, and the ninth what nine tenths stay below.
        let transfers: Vec<(u64, u64)> = (1..=10).rev().map(|k| (1000, k * 1_000_000_000)).collect();
        let class = SizeClass::of(&transfers);
        assert_eq!((class.n, class.p10_s, class.p50_s, class.p90_s), (10, 1.0, 5.0, 9.0));
        assert!((class.bytes - 1000.0).abs() < 1e-9);
        let one = SizeClass::of(&transfers[..1]);
        assert_eq!((one.p10_s, one.p50_s, one.p90_s), (10.0, 10.0, 10.0));
    }
}
