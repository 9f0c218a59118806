//! Curves of flows, a row per run and flow; a gap all along where the run has no such flow.

use fadelab_run::record::FlowCounters;

use super::Member;
use super::link::{Grid, seconds};
use crate::Run;
use crate::bins::Bin;
use crate::measure::ratio;
use crate::pack::Packed;

/// A row per run and flow of `value` of a flow's samples in a bin.
fn rows(members: &[Member], grid: Grid, value: impl Fn(&Run, &[FlowCounters], Bin) -> Option<f64>) -> Packed {
    let mut table = Vec::new();
    for Member { run, shown, .. } in members {
        let bins = grid.cut(run);
        for &flow in shown {
            let samples = flow.map(|flow| &run.record.series.flows[flow]);
            table.extend(bins.iter().map(|bin| value(run, samples?, (*bin)?)));
        }
    }
    Packed::of(&table)
}

/// Congestion windows, `pick` of the samples in the bin (the one at its beginning belongs to the bin before).
pub fn cwnd_pkts(members: &[Member], grid: Grid, pick: fn(&[FlowCounters]) -> f64) -> Packed {
    rows(members, grid, |_, samples, bin| {
        Some(pick(&samples[bin.from + 1..=bin.to]))
    })
}

/// Mean window of some samples, at least one.
pub fn mean(samples: &[FlowCounters]) -> f64 {
    let sum: u64 = samples.iter().map(|c| u64::from(c.cwnd_pkts)).sum();
    sum as f64 / samples.len() as f64
}

/// Smallest window of some samples.
pub fn lowest(samples: &[FlowCounters]) -> f64 {
    samples.iter().map(|c| c.cwnd_pkts).min().unwrap_or_default().into()
}

/// Largest window of some samples.
pub fn highest(samples: &[FlowCounters]) -> f64 {
    samples.iter().map(|c| c.cwnd_pkts).max().unwrap_or_default().into()
}

/// Payload that the receiving application got in the bin.
pub fn goodput_mbps(members: &[Member], grid: Grid) -> Packed {
    rows(members, grid, |run, samples, bin| {
        let bytes = samples[bin.to].delivered_bytes - samples[bin.from].delivered_bytes;
        Some(bytes as f64 * 8e-6 / seconds(run, bin))
    })
}

/// Mean of the flow's RTT samples in the bin; a gap where it had none.
pub fn rtt_ms(members: &[Member], grid: Grid) -> Packed {
    rows(members, grid, |_, samples, bin| {
        let grown = |field: fn(&FlowCounters) -> u64| (field(&samples[bin.to]) - field(&samples[bin.from])) as f64;
        ratio(grown(|c| c.rtt_us_sum) / 1e3, grown(|c| c.rtt_samples))
    })
}

/// Payload delivered to each flow in the measured interval, a row per run.
pub fn share_mbps(members: &[Member]) -> Packed {
    let mut table = Vec::new();
    for Member { run, shown, .. } in members {
        let (from, to) = (&run.record.flows_warmup, &run.record.flows_end);
        let bytes = |flow: usize| (to[flow].delivered_bytes - from[flow].delivered_bytes) as f64;
        let measured_s = run.measured_ns() as f64 / 1e9;
        table.extend(shown.iter().map(|flow| ratio(bytes((*flow)?) * 8e-6, measured_s)));
    }
    Packed::of(&table)
}
