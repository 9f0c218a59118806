//! How completion times, waits and round trips spread: quantiles for a distribution function.

use fadelab_path::histogram::Histogram;
use serde::Serialize;

use super::Member;
use crate::distinct::in_order;
use crate::pack::floats;
use crate::{Run, percentiles};

/// Where a distribution function is told: at each hundredth, and near its upper end at each thousandth and ten
/// thousandth, or it would end in a straight line from 99 % on.
fn shares() -> impl Iterator<Item = u64> {
    let hundredths = (0..100).map(|k| k * 100);
    let thousandths = (991..1000).map(|k| k * 10);
    hundredths.chain(thousandths).chain(9991..=WHOLE)
}

/// In parts of ten thousand.
const WHOLE: u64 = 10_000;

/// A distribution as quantiles, from the smallest value to the largest.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Quantiles {
    /// Values behind it.
    pub n: u64,
    /// The quantiles at 0, 1, ... 99, 99.1, ... 99.9, 99.91, ... 100 %, as [`floats`].
    pub at: String,
}

/// Times in seconds of the transfers that ended in the measured interval.
pub fn completions_s(members: &[Member]) -> Option<Quantiles> {
    let ended = |Member { run, flows, .. }: &Member| {
        let (warmup_ns, completions) = (run.spec.warmup_ns, &run.record.completions);
        let mine = completions
            .iter()
            .filter(move |c| c.end_ns >= warmup_ns && flows.binary_search(&(c.flow as usize)).is_ok());
        mine.map(|c| c.end_ns - c.start_ns).collect::<Vec<_>>()
    };
    let mut times_ns: Vec<u64> = members.iter().flat_map(ended).collect();
    times_ns.sort_unstable();
    let last = times_ns.len().checked_sub(1)? as u64;
    let quantile = |share: u64| Some(times_ns[((last * share + WHOLE / 2) / WHOLE) as usize] as f64 / 1e9);
    Some(Quantiles {
        n: times_ns.len() as u64,
        at: floats(shares().map(quantile)),
    })
}

/// Most groups that are told apart: more lines nobody tells apart, either.
const GROUPS_MAX: usize = 8;

/// What a group of flows had of a distribution.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupQuantiles {
    /// Name of the group and law of its senders; absent where a run has one group alone, or too many.
    pub group: Option<(String, String)>,
    /// Look of that law.
    pub look: usize,
    #[serde(flatten)]
    quantiles: Quantiles,
}

/// Round trips in ms of each group of flows in the measured interval: of every sample where they were counted, else
/// means of a flow over the distance of two samples of the time series.
pub fn rtt_ms(members: &[Member], looks: &[(String, usize)]) -> Vec<GroupQuantiles> {
    by_group(members, looks, 1e3, |Member { run, flows, .. }, group| {
        let is_its = |flow: &usize| group.is_none_or(|group| *run.spec.flows[*flow].group == *group);
        let flows: Vec<usize> = flows.iter().copied().filter(is_its).collect();
        percentiles::rtts_us(run, &flows).unwrap_or_else(|| means_us(run, &flows))
    })
}

/// How long packets waited at a link in ms, of each group its data, of one alone all packets; none on a kernel.
pub fn wait_ms(members: &[Member], looks: &[(String, usize)]) -> Vec<GroupQuantiles> {
    by_group(members, looks, 1e6, |member, group| {
        percentiles::waits_ns(member.run, member.link, group)
            .cloned()
            .unwrap_or_default()
    })
}

/// The same of each group, or where there is one alone, or too many, of all; `per_ms` units are a millisecond.
fn by_group(
    members: &[Member],
    looks: &[(String, usize)],
    per_ms: f64,
    values: impl Fn(&Member, Option<&str>) -> Histogram,
) -> Vec<GroupQuantiles> {
    let named = |member: &Member| {
        let specs = member.flows.iter().map(|&flow| &member.run.spec.flows[flow]);
        let name = |spec: &crate::spec::Flow| (spec.group.to_string(), spec.sender().to_owned());
        specs.map(name).collect::<Vec<_>>()
    };
    let groups = in_order(members.iter().flat_map(named));
    let of_group = |group: Option<(String, String)>| {
        let mut joined = Histogram::default();
        for member in members {
            joined.add_all(&values(member, group.as_ref().map(|(name, _)| name.as_str())));
        }
        let count = joined.count();
        let look =
            |(_, law): &(String, String)| looks.iter().find(|(name, _)| name == law).map_or(0, |(_, look)| *look);
        (count > 0).then(|| GroupQuantiles {
            look: group.as_ref().map_or(0, look),
            group,
            quantiles: Quantiles {
                n: count,
                at: floats(quantiles(&joined, count).into_iter().map(|value| Some(value / per_ms))),
            },
        })
    };
    match groups.len() {
        2..=GROUPS_MAX => groups.into_iter().map(Some).filter_map(of_group).collect(),
        _ => of_group(None).into_iter().collect(),
    }
}

fn means_us(run: &Run, flows: &[usize]) -> Histogram {
    let mut rtts_us = Histogram::default();
    let series = &run.record.series;
    let from = series.time_ns.partition_point(|&t| t < run.spec.warmup_ns);
    for &flow in flows {
        for pair in series.flows[flow][from.min(series.time_ns.len())..].windows(2) {
            let n = pair[1].rtt_samples - pair[0].rtt_samples;
            let sum = pair[1].rtt_us_sum - pair[0].rtt_us_sum;
            if let Some(mean) = sum.checked_div(n) {
                rtts_us.add(mean, n);
            }
        }
    }
    rtts_us
}

/// The quantiles of `count` values: middles of the bins in which they fall.
fn quantiles(histogram: &Histogram, count: u64) -> Vec<f64> {
    let mut ranks = shares().map(|share| (u128::from(count - 1) * u128::from(share) / u128::from(WHOLE)) as u64);
    let (mut quantiles, mut next, mut below) = (Vec::new(), ranks.next(), 0);
    for bin in histogram.bins() {
        below += bin.count;
        while next.is_some_and(|rank| rank < below) {
            quantiles.push(f64::midpoint(bin.lower as f64, bin.upper as f64));
            next = ranks.next();
        }
    }
    quantiles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_a_histogram_equal_those_of_the_sorted_values() {
        // Goal: of 0 to 50 once each and 60 as often as all of them the median is 50 and the upper half 60; of 10 000
        // values, of which ten are slow, the upper end is told in ten thousandths.
        let mut histogram = Histogram::default();
        (0..=50).for_each(|value| histogram.add(value, 1));
        histogram.add(60, 51);
        let of_half = quantiles(&histogram, 102);
        assert_eq!(of_half.len(), shares().count());
        assert_eq!(
            (of_half[0], of_half[50], of_half[51], of_half[118]),
            (0.0, 50.0, 60.0, 60.0)
        );
        let mut slow = Histogram::default();
        slow.add(1, 9_990);
        (1..=10).for_each(|k| slow.add(100 + k, 1));
        let upper = quantiles(&slow, 10_000);
        assert_eq!(upper[100 + 8..110], [1.0, 101.0]);
        assert_eq!(upper[upper.len() - 3..], [108.0, 109.0, 110.0]);
    }
}
