//! Curves of a link, a row per run.

use fadelab_path::counters::LinkCounters;
use fadelab_run::record::FlowCounters;

use super::Member;
use crate::Run;
use crate::bins::{self, Bin};
use crate::counters::per_us;
use crate::measure::{self, ratio};
use crate::pack::Packed;

/// Bins from 0 on over the length of a run.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    pub width_ns: u64,
    duration_ns: u64,
}

impl Grid {
    /// At most `bins_max` bins with a round width, none finer than the samples.
    pub fn new(duration_ns: u64, sample_ns: u64, bins_max: u64) -> Self {
        Self {
            width_ns: bins::curve_width_ns(duration_ns, sample_ns, bins_max),
            duration_ns,
        }
    }

    /// How many bins there are.
    pub fn count(self) -> usize {
        (self.duration_ns / self.width_ns) as usize
    }

    /// The bins of a run.
    pub fn cut(self, run: &Run) -> Vec<Option<Bin>> {
        bins::cut(&run.record.series.time_ns, 0, self.duration_ns, self.width_ns)
    }
}

/// Length of a bin of `run` in seconds.
pub fn seconds(run: &Run, bin: Bin) -> f64 {
    let time_ns = &run.record.series.time_ns;
    (time_ns[bin.to] - time_ns[bin.from]) as f64 / 1e9
}

/// A row per run of `value` of the samples of `link`; a run that did not record the link has gaps.
fn rows(runs: &[&Run], link: usize, grid: Grid, value: impl Fn(&Run, &[LinkCounters], Bin) -> Option<f64>) -> Packed {
    let row = |run: &&Run| {
        let series = &run.record.series;
        let shown = series.link_ids.iter().position(|&id| id as usize == link);
        let samples = shown.map_or(&[][..], |place| &series.links[place]);
        let point = |bin: Option<Bin>| value(run, samples, bin.filter(|_| !samples.is_empty())?);
        grid.cut(run).into_iter().map(point).collect::<Vec<_>>()
    };
    Packed::of(&runs.iter().flat_map(row).collect::<Vec<_>>())
}

fn mbps(run: &Run, samples: &[LinkCounters], bin: Bin, bytes: fn(&LinkCounters) -> u64) -> f64 {
    (bytes(&samples[bin.to]) - bytes(&samples[bin.from])) as f64 * 8e-6 / seconds(run, bin)
}

/// Utilisation, or Mbit/s on the air on a trace.
pub fn used(runs: &[&Run], link: usize, grid: Grid, varies: bool) -> Packed {
    rows(runs, link, grid, |run, samples, bin| {
        if varies {
            Some(mbps(run, samples, bin, |c| c.sent_bytes))
        } else {
            measure::utilisation(samples, bin)
        }
    })
}

/// What a trace offers; the same to every law under every seed, so one run tells it.
pub fn capacity_mbps(run: &Run, link: usize, grid: Grid) -> Packed {
    rows(&[run], link, grid, |run, samples, bin| {
        Some(mbps(run, samples, bin, |c| c.offered_bytes))
    })
}

/// Packets waiting, mean over the bin.
pub fn queue_pkts(runs: &[&Run], link: usize, grid: Grid) -> Packed {
    rows(runs, link, grid, |run, samples, bin| {
        let integral_us = per_us(samples[bin.to].queue_pkt_ns) - per_us(samples[bin.from].queue_pkt_ns);
        Some(integral_us as f64 / 1e6 / seconds(run, bin))
    })
}

/// Mean of the RTT samples of all flows in the bin, in ms.
pub fn rtt_ms(members: &[Member], grid: Grid) -> Packed {
    let row = |Member { run, flows, .. }: &Member| {
        let point = |bin: Option<Bin>| {
            let bin = bin?;
            let total = |field: fn(&FlowCounters) -> u64| {
                let grown = |&flow: &usize| {
                    let samples = &run.record.series.flows[flow];
                    field(&samples[bin.to]) - field(&samples[bin.from])
                };
                flows.iter().map(grown).sum::<u64>() as f64
            };
            ratio(total(|c| c.rtt_us_sum) / 1e3, total(|c| c.rtt_samples))
        };
        grid.cut(run).into_iter().map(point).collect::<Vec<_>>()
    };
    Packed::of(&members.iter().flat_map(row).collect::<Vec<_>>())
}
