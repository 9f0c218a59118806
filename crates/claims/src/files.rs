//! What a run says of its transfers: how long they took, whether they ended together, and how evenly they got on.

use fadelab_path::counters::LinkCounters;
use fadelab_results::bins::{self, Bin};
use fadelab_results::fairness::jain;
use fadelab_results::measure;
use fadelab_results::{Run, spec::Sends};
use fadelab_run::record::Series;

/// Names and meanings. All are of the flows of one transfer each whose data cross the link.
pub const NAMES: [(&str, &str); 6] = [
    (
        "files_s_mean",
        "mean time of all transfers; one that did not end counts from its start to the end of the run, so that it is \
         at least that",
    ),
    (
        "files_s_last",
        "when the last transfer ended, from the start of the run",
    ),
    (
        "files_spread",
        "time between the ends of the first and the last transfer over the mean time of all",
    ),
    (
        "files_utilisation",
        "utilisation of the link from the start of the run until the last transfer ended",
    ),
    (
        "files_even",
        "Jain's index of what transfers got in bins of 2 s, mean over those from 10 s until the first transfer ended",
    ),
    (
        "files_dip",
        "utilisation of the lowest bin of 2 s from the end of the first transfer until more than half have ended",
    ),
];

const NS_PER_S: f64 = 1e9;
/// Five round trips of the papers' testbeds: shorter bins count packets, not shares.
const BIN_NS: u64 = 2_000_000_000;
/// When laws are past their start in the papers' testbeds.
const FROM_NS: u64 = 10_000_000_000;

/// One of them of a run, seen at its link `link`; absent where it has no transfer or they say nothing about it.
pub fn measure(name: &str, run: &Run, link: usize) -> Option<f64> {
    if !NAMES.iter().any(|(known, _)| *known == name) {
        return None;
    }
    let mut flows = measure::crossing_flows(run, link);
    flows.retain(|&flow| run.spec.flows[flow].sends == Sends::Transfer);
    let files = Files::of(run, &flows)?;
    match name {
        "files_s_mean" => Some(files.mean_s),
        "files_s_last" => files.all_ended.then_some(files.last_ns as f64 / NS_PER_S),
        "files_spread" => files
            .all_ended
            .then(|| (files.last_ns - files.first_ns) as f64 / NS_PER_S / files.mean_s),
        "files_utilisation" => utilisation(run, link, files.last_ns),
        "files_dip" => dip(run, link, &files),
        "files_even" => even(run, &flows, files.first_ns),
        _ => None,
    }
}

struct Files {
    mean_s: f64,
    /// When the first of them, more than half of them and the last ended. One that did not end counts as if it had with
    /// the run.
    first_ns: u64,
    half_ns: u64,
    last_ns: u64,
    all_ended: bool,
}

impl Files {
    fn of(run: &Run, flows: &[usize]) -> Option<Self> {
        let ended = |flow: usize| {
            let mut all = run.record.completions.iter();
            all.find(|completion| completion.flow as usize == flow)
        };
        let end_ns = run.spec.duration_ns;
        let time_ns = |&flow: &usize| match ended(flow) {
            Some(completion) => completion.end_ns - completion.start_ns,
            None => end_ns.saturating_sub(run.spec.flows[flow].start_ns_max),
        };
        let end = |&flow: &usize| ended(flow).map_or(end_ns, |completion| completion.end_ns);
        let mut ends: Vec<u64> = flows.iter().map(end).collect();
        ends.sort_unstable();
        Some(Self {
            mean_s: flows.iter().map(time_ns).sum::<u64>() as f64 / flows.len() as f64 / NS_PER_S,
            first_ns: *ends.first()?,
            half_ns: ends[ends.len() / 2],
            last_ns: *ends.last()?,
            all_ended: flows.iter().all(|&flow| ended(flow).is_some()),
        })
    }
}

/// What was recorded of the link.
fn samples(series: &Series, link: usize) -> Option<&[LinkCounters]> {
    let place = series.link_ids.iter().position(|&id| id as usize == link)?;
    series.links.get(place).map(Vec::as_slice)
}

fn utilisation(run: &Run, link: usize, until_ns: u64) -> Option<f64> {
    let series = &run.record.series;
    let to = series.time_ns.partition_point(|&time| time < until_ns);
    let to = to.min(series.time_ns.len().checked_sub(1)?);
    (to > 0).then(|| measure::utilisation(samples(series, link)?, Bin { from: 0, to }))?
}

fn dip(run: &Run, link: usize, files: &Files) -> Option<f64> {
    let series = &run.record.series;
    let samples = samples(series, link)?;
    let bins = bins::cut(&series.time_ns, files.first_ns, files.half_ns, BIN_NS);
    let used = bins
        .into_iter()
        .flatten()
        .filter_map(|bin| measure::utilisation(samples, bin));
    used.reduce(f64::min)
}

fn even(run: &Run, flows: &[usize], until_ns: u64) -> Option<f64> {
    let series = &run.record.series;
    let index = |bin: Bin| {
        let got = |&flow: &usize| {
            let samples = series.flows.get(flow)?;
            Some((samples.get(bin.to)?.delivered_bytes - samples.get(bin.from)?.delivered_bytes) as f64)
        };
        jain(&flows.iter().map(got).collect::<Option<Vec<f64>>>()?)
    };
    let bins = bins::cut(&series.time_ns, FROM_NS, until_ns, BIN_NS);
    let all: Vec<f64> = bins.into_iter().flatten().filter_map(index).collect();
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use fadelab_results::spec::Flow;
    use fadelab_run::record::{Completion, FlowCounters};

    use super::*;
    use crate::groups;

    const S: u64 = 1_000_000_000;

    /// Two transfers over 40 s, sampled each second: one gets 300 B a second, the other 100 and from 14 s on 300.
    fn run(ends_s: &[u64]) -> Run {
        let mut run = groups::tests::run();
        let spec = Arc::make_mut(&mut run.spec);
        spec.duration_ns = 40 * S;
        spec.flows.truncate(2);
        let transfer = |flow: &Flow| Flow {
            sends: Sends::Transfer,
            route: vec![0],
            ..flow.clone()
        };
        spec.flows = spec.flows.iter().map(transfer).collect();
        let flow = |bytes: fn(u64) -> u64| -> Vec<FlowCounters> {
            let sample = |s| FlowCounters {
                delivered_bytes: bytes(s),
                ..Default::default()
            };
            (0..=40).map(sample).collect()
        };
        let series = &mut run.record.series;
        series.time_ns = (0..=40).map(|s| s * S).collect();
        series.flows = vec![flow(|s| 300 * s), flow(|s| 100 * s + 200 * s.saturating_sub(14))];
        series.link_ids = vec![0];
        let sample = |s: u64| LinkCounters {
            offered_bytes: 1000 * s,
            sent_bytes: 1000 * s.min(16),
            ..Default::default()
        };
        series.links = vec![(0..=40).map(sample).collect()];
        let completion = |(flow, &end_s): (usize, &u64)| Completion {
            flow: flow as u32,
            start_ns: S,
            end_ns: end_s * S,
            bytes: 1,
        };
        run.record.completions = ends_s.iter().enumerate().map(completion).collect();
        run
    }

    fn value(name: &str, ends_s: &[u64]) -> Option<f64> {
        measure(name, &run(ends_s), 0)
    }

    #[test]
    fn transfers_are_timed_from_their_own_start_to_their_end() {
        // Goal: of 17 and 19 s, both begun at 1 s, the mean and what lies between their ends; the link was used for 16
        // of the 20 s until the last one ended.
        let ends = [18, 20];
        assert_eq!(value("files_s_mean", &ends), Some(18.0));
        assert_eq!(value("files_s_last", &ends), Some(20.0));
        assert_eq!(value("files_spread", &ends), Some(2.0 / 18.0));
        assert_eq!(value("files_utilisation", &ends), Some(0.8));
    }

    #[test]
    fn one_that_does_not_end_is_not_forgotten() {
        // Goal: it counts with the 40 s of the run, and nobody says when all had ended.
        assert_eq!(value("files_s_mean", &[18]), Some(28.5));
        assert_eq!(value("files_s_last", &[18]), None);
        assert_eq!(value("files_spread", &[18]), None);
    }

    #[test]
    fn evenness_is_that_of_short_stretches() {
        // Goal: 3 to 1 for two bins of 2 s, index 16/20, then 1 to 1 for two; what comes after the first end, or before
        // laws are past their start, says nothing.
        assert_eq!(value("files_even", &[18, 20]), Some((2.0 * 0.8 + 2.0) / 4.0));
        assert_eq!(value("files_even", &[9, 20]), None);
    }

    #[test]
    fn a_dip_is_what_the_end_of_the_first_leaves_unused() {
        // Goal: the link is full until 16 s and idle from then on; between the two ends its lowest stretch counts.
        assert_eq!(value("files_dip", &[12, 16]), Some(1.0));
        assert_eq!(value("files_dip", &[12, 20]), Some(0.0));
        assert_eq!(value("files_dip", &[18, 18]), None);
    }

    #[test]
    fn transfers_over_other_links_are_none_of_this_one() {
        // Goal: a link that no transfer crosses has none.
        let mut elsewhere = run(&[18, 20]);
        Arc::make_mut(&mut elsewhere.spec)
            .flows
            .iter_mut()
            .for_each(|flow| flow.route.clear());
        assert_eq!(measure("files_s_mean", &elsewhere, 0), None);
    }

    #[test]
    fn a_run_without_transfers_says_nothing_of_them() {
        // Goal: no zero that a criterion could hold by.
        let greedy = groups::tests::run();
        for (name, _) in NAMES {
            assert_eq!(measure(name, &greedy, 0), None, "{name}");
        }
    }
}
