//! The curves of the page: per point of the sweep and link, each law over time.

use fadelab_sim::record::{FlowCounters, LinkCounters};
use serde::Serialize;

use crate::bins::{self, Bin};
use crate::counters::per_us;
use crate::measure::{self, ratio};
use crate::summary::in_order;
use crate::{Experiment, Run};

/// Most panels (point of the sweep and link) whose curves a page carries.
pub const PANELS_MAX: usize = 24;
/// Most flows whose windows a panel shows.
pub const WINDOW_FLOWS_MAX: usize = 12;
/// Most samples of a window.
const WINDOW_SAMPLES_MAX: usize = 250;
/// Most window samples of a page: as many seeds are selectable as this allows.
const WINDOW_BUDGET: usize = 150_000;

/// All curves of an experiment.
#[derive(Debug, Serialize)]
pub struct Curves {
    /// In the order of points, then links.
    pub panels: Vec<Panel>,
    /// Panels that found no room.
    pub panels_left_out: usize,
}

/// What happens at one link at one point of the sweep, law by law.
#[derive(Debug, Serialize)]
pub struct Panel {
    /// The point in one line; empty without a sweep.
    pub point: String,
    /// Name of the link.
    pub link: String,
    /// Width of the bins.
    pub bin_s: f64,
    /// Totals and figures leave out what is before.
    pub warmup_s: f64,
    /// End of the time axis.
    pub duration_s: f64,
    /// Middle of each bin.
    pub time_s: Vec<f64>,
    /// On a link with a recorded trace: what could have been sent, and then `used` is in Mbit/s too.
    pub capacity_mbps: Option<Vec<Option<f64>>>,
    /// Laws that have runs here.
    pub laws: Vec<LawCurves>,
    /// Instants of the windows.
    pub window_time_s: Vec<f64>,
    /// Names of the flows whose windows are shown.
    pub window_flows: Vec<String>,
    /// How many flows cross the link.
    pub flows_n: usize,
}

/// One law in a panel.
#[derive(Debug, Serialize)]
pub struct LawCurves {
    /// Its place among the laws of the experiment.
    pub law: usize,
    /// Utilisation, or Mbit/s sent if the panel has a capacity.
    pub used: Band,
    /// Packets waiting, mean over the bin.
    pub queue_pkts: Band,
    /// RTT in ms, mean over the samples in the bin.
    pub rtt_ms: Band,
    /// Windows of some seeds.
    pub windows: Vec<Windows>,
}

/// A curve over seeds.
#[derive(Debug, Serialize)]
pub struct Band {
    /// Mean of the seeds.
    pub mean: Vec<Option<f64>>,
    /// Lowest seed; empty with a single seed.
    pub low: Vec<Option<f64>>,
    /// Highest seed; empty with a single seed.
    pub high: Vec<Option<f64>>,
    /// The seeds that [`LawCurves::windows`] has, one by one; empty with a single seed.
    pub seeds: Vec<Vec<Option<f64>>>,
}

/// Congestion windows of the flows of one run, in packets.
#[derive(Debug, Serialize)]
pub struct Windows {
    /// Its seed.
    pub seed: u64,
    /// Per flow shown, per instant.
    pub cwnd_pkts: Vec<Vec<u32>>,
}

impl Curves {
    /// Computes the curves of the runs that recorded a series.
    pub fn of(experiment: &Experiment) -> Self {
        let laws = in_order(experiment.runs.iter().map(|run| run.law.as_str()));
        let recorded: Vec<&Run> = experiment
            .runs
            .iter()
            .filter(|run| run.record.series.time_ns.len() > 1)
            .collect();
        let mut places = Vec::new();
        for point in in_order(recorded.iter().map(|run| &run.point)) {
            let here: Vec<&Run> = recorded.iter().copied().filter(|run| run.point == *point).collect();
            for link in measure::shown_links(here[0]) {
                if !measure::crossing_flows(here[0], link).is_empty() {
                    places.push((here.clone(), link));
                }
            }
        }
        let panels_left_out = places.len().saturating_sub(PANELS_MAX);
        places.truncate(PANELS_MAX);
        let seeds = seeds_with_windows(places.len(), laws.len());
        let panels = places
            .into_iter()
            .map(|(runs, link)| panel(&runs, link, &laws, seeds))
            .collect();
        Self {
            panels,
            panels_left_out,
        }
    }
}

fn seeds_with_windows(panels: usize, laws: usize) -> usize {
    (WINDOW_BUDGET / (panels * laws * WINDOW_FLOWS_MAX * WINDOW_SAMPLES_MAX).max(1)).max(1)
}

/// The panel of link `link` of `runs`, all at one point of the sweep.
fn panel(runs: &[&Run], link: usize, laws: &[&str], window_seeds: usize) -> Panel {
    let first = runs[0];
    let (spec, time_ns) = (&first.spec, &first.record.series.time_ns);
    let width_ns = bins::curve_width_ns(spec.duration_ns, time_ns[1] - time_ns[0]);
    let flows = measure::crossing_flows(first, link);
    let mut window_flows: Vec<usize> = flows.iter().copied().filter(|&f| spec.flows[f].law.is_some()).collect();
    window_flows.truncate(WINDOW_FLOWS_MAX);
    let stride = time_ns.len().div_ceil(WINDOW_SAMPLES_MAX);
    let sampled: Vec<SampledRun> = runs
        .iter()
        .filter_map(|run| SampledRun::new(run, link, width_ns))
        .collect();
    let is_trace = spec.links[link].is_trace;
    // A trace offers the same to every law under every seed, so one run tells it.
    let capacity_of = sampled.first().filter(|_| is_trace);
    let curves = |law: &&str| {
        let mine: Vec<&SampledRun> = sampled.iter().filter(|sampled| sampled.run.law == *law).collect();
        (!mine.is_empty()).then(|| LawCurves {
            law: laws.iter().position(|other| other == law).unwrap_or_default(),
            used: Band::of(&mine, window_seeds, |run, bin| {
                if is_trace {
                    Some(run.mbps(bin, |c| c.sent_bytes))
                } else {
                    run.used(bin)
                }
            }),
            queue_pkts: Band::of(&mine, window_seeds, |run, bin| Some(run.queue_pkts(bin))),
            rtt_ms: Band::of(&mine, window_seeds, |run, bin| run.rtt_ms(bin, &flows)),
            windows: mine
                .iter()
                .take(window_seeds)
                .map(|s| windows(s.run, &window_flows, stride))
                .collect(),
        })
    };
    let middle = |k: usize| round((k as f64 + 0.5) * width_ns as f64 / 1e9);
    Panel {
        point: first.point_text(),
        link: spec.links[link].name.clone(),
        bin_s: width_ns as f64 / 1e9,
        warmup_s: spec.warmup_ns as f64 / 1e9,
        duration_s: spec.duration_ns as f64 / 1e9,
        time_s: (0..(spec.duration_ns / width_ns) as usize).map(middle).collect(),
        capacity_mbps: capacity_of
            .map(|run| Band::of(&[run], 1, |run, bin| Some(run.mbps(bin, |c| c.offered_bytes))).mean),
        laws: laws.iter().filter_map(curves).collect(),
        window_time_s: time_ns.iter().step_by(stride).map(|&t| round(t as f64 / 1e9)).collect(),
        window_flows: window_flows.iter().map(|&flow| spec.flows[flow].name.clone()).collect(),
        flows_n: flows.len(),
    }
}

fn windows(run: &Run, flows: &[usize], stride: usize) -> Windows {
    let cwnd = |&flow: &usize| {
        run.record.series.flows[flow]
            .iter()
            .step_by(stride)
            .map(|c| c.cwnd_pkts)
            .collect()
    };
    Windows {
        seed: run.seed,
        cwnd_pkts: flows.iter().map(cwnd).collect(),
    }
}

/// A run, the samples of its link and its bins.
struct SampledRun<'a> {
    run: &'a Run,
    samples: &'a [LinkCounters],
    bins: Vec<Option<Bin>>,
}

impl<'a> SampledRun<'a> {
    fn new(run: &'a Run, link: usize, width_ns: u64) -> Option<Self> {
        let series = &run.record.series;
        let shown = series.link_ids.iter().position(|&id| id as usize == link)?;
        let bins = bins::cut(&series.time_ns, 0, run.spec.duration_ns, width_ns);
        Some(Self {
            run,
            samples: &series.links[shown],
            bins,
        })
    }

    fn seconds(&self, bin: Bin) -> f64 {
        let time_ns = &self.run.record.series.time_ns;
        (time_ns[bin.to] - time_ns[bin.from]) as f64 / 1e9
    }

    fn used(&self, bin: Bin) -> Option<f64> {
        measure::utilisation(self.samples, bin)
    }

    fn mbps(&self, bin: Bin, bytes: fn(&LinkCounters) -> u64) -> f64 {
        let sent = bytes(&self.samples[bin.to]) - bytes(&self.samples[bin.from]);
        sent as f64 * 8e-6 / self.seconds(bin)
    }

    fn queue_pkts(&self, bin: Bin) -> f64 {
        let integral_us = |sample: usize| per_us(self.samples[sample].queue_pkt_ns);
        (integral_us(bin.to) - integral_us(bin.from)) as f64 / 1e6 / self.seconds(bin)
    }

    fn rtt_ms(&self, bin: Bin, flows: &[usize]) -> Option<f64> {
        let total = |field: fn(&FlowCounters) -> u64| {
            let grown = |&flow: &usize| {
                let samples = &self.run.record.series.flows[flow];
                field(&samples[bin.to]) - field(&samples[bin.from])
            };
            flows.iter().map(grown).sum::<u64>() as f64
        };
        ratio(total(|c| c.rtt_us_sum) / 1e3, total(|c| c.rtt_samples))
    }
}

impl Band {
    /// Over all of `runs`; the first `single` of them also one by one.
    fn of(runs: &[&SampledRun], single: usize, value: impl Fn(&SampledRun, Bin) -> Option<f64>) -> Self {
        let bins_n = runs.iter().map(|run| run.bins.len()).min().unwrap_or(0);
        let values: Vec<Vec<f64>> = (0..bins_n)
            .map(|k| runs.iter().filter_map(|run| value(run, run.bins[k]?)).collect())
            .collect();
        let fold = |pick: fn(f64, f64) -> f64| -> Vec<Option<f64>> {
            values
                .iter()
                .map(|v| v.iter().copied().reduce(pick).map(round))
                .collect()
        };
        let mean = values
            .iter()
            .map(|v| ratio(v.iter().sum(), v.len() as f64).map(round))
            .collect();
        if runs.len() == 1 {
            return Self {
                mean,
                low: Vec::new(),
                high: Vec::new(),
                seeds: Vec::new(),
            };
        }
        let one = |run: &&SampledRun| (0..bins_n).map(|k| value(run, run.bins[k]?).map(round)).collect();
        Self {
            mean,
            low: fold(f64::min),
            high: fold(f64::max),
            seeds: runs.iter().take(single).map(one).collect(),
        }
    }
}

/// Four significant digits: more cannot be seen, and each costs a byte of the page.
fn round(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}
