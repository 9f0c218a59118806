//! Percentiles of delays over every sample: round trips, waits at a link, and times of transfers and sessions.

use fadelab_path::histogram::Histogram;

use crate::Run;

/// Half a bin of counted delays, as a part of its middle, at most (`fadelab_path::histogram`: 128 bins an octave).
pub(crate) const HALF_BIN: f64 = 1.0 / 256.0;

/// The percentiles that figures are of.
pub(crate) const PERCENTS: [u64; 3] = [50, 95, 99];

/// Percentiles of the RTT samples of some flows, in ms. Samples are counted by groups of flows: absent where a group
/// has other flows besides, and where a ground sees only some of the samples.
pub(crate) fn rtts_ms(run: &Run, flows: &[usize]) -> [Option<f64>; 3] {
    rtts_us(run, flows).map_or([None; 3], |rtts_us| of(&rtts_us, 1e3))
}

/// All RTT samples of some flows; see [`rtts_ms`].
pub(crate) fn rtts_us(run: &Run, flows: &[usize]) -> Option<Histogram> {
    let mut joined = None;
    for group in &run.record.delays.rtts_us {
        let its = |flow: &usize| *run.spec.flows[*flow].group == *group.group;
        let inside = flows.iter().filter(|&flow| its(flow)).count();
        if inside == 0 {
            continue;
        }
        if inside < (0..run.spec.flows.len()).filter(its).count() {
            return None;
        }
        joined.get_or_insert_with(Histogram::default).add_all(&group.histogram);
    }
    joined
}

/// Percentiles of how long packets waited at a link, in ms: all packets, or data of a group.
pub(crate) fn waits_ms(run: &Run, link: usize, group: Option<&str>) -> [Option<f64>; 3] {
    waits_ns(run, link, group).map_or([None; 3], |waits_ns| of(waits_ns, 1e6))
}

/// How long packets waited at a link: all packets, or data of a group.
pub(crate) fn waits_ns<'a>(run: &'a Run, link: usize, group: Option<&str>) -> Option<&'a Histogram> {
    let waits = run.record.delays.waits_ns.get(run.record.place_of(link)?)?;
    let Some(name) = group else {
        return Some(&waits.all);
    };
    let group = waits.groups.iter().find(|group| group.group == name)?;
    Some(&group.histogram)
}

fn of(histogram: &Histogram, scale: f64) -> [Option<f64>; 3] {
    PERCENTS.map(|percent| Some(histogram.percentile(percent)? / scale))
}

/// Percentiles of values that are all known, by nearest rank.
pub(crate) fn of_values(mut values: Vec<f64>) -> [Option<f64>; 3] {
    values.sort_by(f64::total_cmp);
    PERCENTS.map(|percent| {
        let rank = (values.len() * percent as usize).div_ceil(100);
        values.get(rank.checked_sub(1)?).copied()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_values_are_those_of_their_ranks() {
        // Goal: of 1, 2, ... 20 in any order half are at most 10, 95 % at most 19, 99 % at most 20; none has none.
        let values = (1..=20).rev().map(f64::from).collect();
        assert_eq!(of_values(values), [10.0, 19.0, 20.0].map(Some));
        assert_eq!(of_values(Vec::new()), [None; 3]);
    }
}
