//! The figures of a run that claims and studies speak of.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use fadelab_path::counters::LinkCounters;
use fadelab_results::Run;
use fadelab_results::bins::{self, Bin};
use fadelab_results::interval::{Stat, deviation};
use fadelab_results::measure::{self, METRICS, Metric};
use fadelab_run::record::FlowCounters;

use super::files;
use super::groups::{self, Grouped};
use super::over_time::{self, OverTime};

/// What there is besides the metrics of `summary.json`.
const OWN: [(&str, &str); 8] = [
    (
        "delivered_pkts",
        "payload that all applications would get in 1000 s at the mean rate of the measured interval, in units of 1000 \
         bytes, the payload of a packet of 1040",
    ),
    ("queue_share", "mean queue over the limit of the buffer"),
    (
        "converged_s",
        "when the utilisation of the last 10 s first reached nine tenths of that of the measured interval",
    ),
    (
        "settled_sd",
        "deviation over time of the utilisation in bins of 10 s, from then on",
    ),
    ("settled_sd_2s", "the same in bins of 2 s"),
    ("settled_min", "utilisation of the lowest bin of 10 s, from then on"),
    (
        "overrun_share",
        "share of the seconds from then on in which a twentieth more arrived than the link could send",
    ),
    (
        "falling_share",
        "share of the seconds from then on over which the windows of all flows together fell by a twentieth",
    ),
];
/// What [`super::channels`] computes, without a run.
const OF_CHANNEL: [(&str, &str); 4] = [
    ("packet_error", "exact packet error at the SNR after @"),
    (
        "snr_db_1pc",
        "SNR of the good state at which one packet of a hundred is lost, dB",
    ),
    ("burst_good_bits", "mean stay in the good state"),
    ("burst_bad_bits", "mean stay in the bad state"),
];

const NS_PER_S: u64 = 1_000_000_000;
const WINDOW_NS: u64 = 10 * NS_PER_S;
/// Nine tenths of what it will be: a law that oscillates passes there on its way.
const CONVERGED_SHARE: f64 = 0.9;
/// What counts as an overrun of the link, or as windows that fall: a packet more or less in a second is neither.
const MOVED_SHARE: f64 = 0.05;
const PAYLOAD_BYTES: f64 = 1000.0;
const PAPER_RUN_S: f64 = 1000.0;

/// One run, seen at one link.
#[derive(Debug)]
pub struct Figures {
    /// Name of the run in the paper's file.
    pub run: String,
    /// Label of the law.
    pub law: String,
    /// Coordinates of the sweep.
    pub point: String,
    /// Their values as a [`super::quantity::Quantity`] names them.
    pub at: String,
    /// Its seed; absent for what holds for every seed.
    pub seed: Option<u64>,
    values: BTreeMap<String, f64>,
}

/// Refuses a metric that does not exist.
///
/// # Errors
/// Names it and all that there are.
pub fn check(name: &str) -> Result<(), String> {
    let names = || {
        METRICS.iter().map(|info| info.name).chain(
            OWN.iter()
                .chain(&OF_CHANNEL)
                .chain(&files::NAMES)
                .map(|(name, _)| *name),
        )
    };
    if names().any(|known| known == name) || Grouped::parse(name).is_some() || OverTime::parse(name).is_some() {
        return Ok(());
    }
    let all: Vec<&str> = names().collect();
    Err(format!(
        "there is no metric \"{name}\": allowed are {}, {}, and {}",
        all.join(", "),
        groups::NAMES,
        over_time::NAMES
    ))
}

/// The values that a metric which [`check`] accepts can have.
pub fn range(name: &str) -> RangeInclusive<f64> {
    if let Some(info) = METRICS.iter().find(|info| info.name == name) {
        return info.metric.range();
    }
    match name {
        "queue_share" | "settled_sd" | "settled_sd_2s" | "settled_min" | "overrun_share" | "falling_share"
        | "packet_error" | "files_utilisation" | "files_even" | "files_dip" => 0.0..=1.0,
        "snr_db_1pc" => f64::NEG_INFINITY..=f64::INFINITY,
        _ if Grouped::parse(name).is_some_and(|grouped| grouped.is_part()) => 0.0..=1.0,
        _ => 0.0..=f64::INFINITY,
    }
}

/// A mean with its interval, in as many digits as the interval supports, or with the ends of one that is cut.
pub fn shown(stat: Option<Stat>) -> String {
    let Some(stat) = stat else { return "-".to_owned() };
    match stat.ci95_half_width {
        Some(half) if half > 0.0 => {
            let digits = (1.0 - libm::floor(libm::log10(half))).clamp(0.0, 4.0) as usize;
            match stat.cut() {
                Some((low, high)) => format!("{:.digits$} ({low:.digits$}..{high:.digits$})", stat.mean),
                None => format!("{:.digits$} ± {half:.digits$}", stat.mean),
            }
        }
        _ => format!("{:.4}", stat.mean),
    }
}

impl Figures {
    /// The figures of `run` at the link `link`, and those of its groups that are `wanted`.
    ///
    /// # Errors
    /// There is no such link among those that results show.
    pub fn measure(id: &str, run: &Run, link: &str, wanted: &BTreeSet<&str>) -> Result<Self, String> {
        let shown = measure::shown_links(run);
        let index = shown
            .iter()
            .copied()
            .find(|&i| run.spec.links[i].name.as_ref() == link)
            .ok_or_else(|| {
                let names: Vec<&str> = shown.iter().map(|&i| run.spec.links[i].name.as_ref()).collect();
                format!("run \"{id}\" has no link \"{link}\": allowed are {}", names.join(", "))
            })?;
        let mut figures = Self::of(id, &run.law, Some(run.seed), &[]);
        figures.point = run.point_text();
        let measured = measure::measure(run, index);
        for info in &METRICS {
            figures.set(info.name, measured.get(info.metric));
        }
        if let (Some(queue), Some(limit)) = (measured.get(Metric::QueuePkts), run.spec.links[index].buffer_pkts) {
            figures.set("queue_share", Some(queue / f64::from(limit)));
        }
        figures.settle(run, index, measured.get(Metric::Utilisation));
        figures.set("delivered_pkts", Some(delivered_pkts(run)));
        for name in wanted {
            figures.set(
                name,
                Grouped::parse(name).and_then(|grouped| grouped.measure(run, index)),
            );
            figures.set(name, OverTime::parse(name).and_then(|over_time| over_time.measure(run)));
            figures.set(name, files::measure(name, run, index));
        }
        Ok(figures)
    }

    /// Figures with given values.
    pub fn of(run: &str, law: &str, seed: Option<u64>, values: &[(&str, f64)]) -> Self {
        Self {
            run: run.to_owned(),
            law: law.to_owned(),
            point: String::new(),
            at: String::new(),
            seed,
            values: values
                .iter()
                .map(|(name, value)| ((*name).to_owned(), *value))
                .collect(),
        }
    }

    /// One figure; absent where the run says nothing about it.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.values.get(name).copied()
    }

    fn set(&mut self, name: &str, value: Option<f64>) {
        self.values.extend(value.map(|value| (name.to_owned(), value)));
    }

    /// When the law got going, and how steady it was from then on: its start is no oscillation.
    fn settle(&mut self, run: &Run, link: usize, mean: Option<f64>) {
        let series = &run.record.series;
        let shown = series.link_ids.iter().position(|&id| id as usize == link);
        let (Some(samples), Some(mean)) = (shown.map(|place| &series.links[place]), mean) else {
            return;
        };
        let Some(converged_ns) = converged_ns(&series.time_ns, samples, mean * CONVERGED_SHARE) else {
            return;
        };
        self.set("converged_s", Some(converged_ns as f64 / 1e9));
        let from_ns = converged_ns.max(run.spec.warmup_ns);
        for (name, width_ns) in [("settled_sd", WINDOW_NS), ("settled_sd_2s", 2 * NS_PER_S)] {
            let bins = bins::cut(&series.time_ns, from_ns, run.spec.duration_ns, width_ns);
            let used = bins
                .into_iter()
                .flatten()
                .filter_map(|bin| measure::utilisation(samples, bin));
            let used: Vec<f64> = used.collect();
            if used.len() > 1 {
                self.set(name, Some(deviation(&used)));
            }
            if width_ns == WINDOW_NS {
                self.set("settled_min", used.into_iter().reduce(f64::min));
            }
        }
        let seconds = bins::cut(&series.time_ns, from_ns, run.spec.duration_ns, NS_PER_S);
        let overrun = |bin| Some(arrivals(samples, bin)? > 1.0 + MOVED_SHARE);
        self.set(
            "overrun_share",
            share(seconds.iter().flatten().map(|&bin| overrun(bin))),
        );
        let fell = |bin| Some(window_change(&series.flows, bin)? < -MOVED_SHARE);
        self.set("falling_share", share(seconds.iter().flatten().map(|&bin| fell(bin))));
    }
}

/// Bytes that arrived over those that could be sent; absent where nothing could.
fn arrivals(samples: &[LinkCounters], bin: Bin) -> Option<f64> {
    let (from, to) = (&samples[bin.from], &samples[bin.to]);
    let ratio = (to.arrived_bytes - from.arrived_bytes) as f64 / (to.offered_bytes - from.offered_bytes) as f64;
    ratio.is_finite().then_some(ratio)
}

/// By which share the windows of all flows together changed; absent where none is recorded.
fn window_change(flows: &[Vec<FlowCounters>], bin: Bin) -> Option<f64> {
    let sum = |at: usize| -> Option<f64> { flows.iter().map(|flow| Some(f64::from(flow.get(at)?.cwnd_pkts))).sum() };
    let (from, to) = (sum(bin.from)?, sum(bin.to)?);
    (from > 0.0).then(|| to / from - 1.0)
}

/// The share of those that are true; absent where there are none.
fn share(all: impl Iterator<Item = Option<bool>>) -> Option<f64> {
    let all: Vec<bool> = all.flatten().collect();
    let n = all.iter().filter(|&&is_so| is_so).count();
    (!all.is_empty()).then(|| n as f64 / all.len() as f64)
}

fn delivered_pkts(run: &Run) -> f64 {
    let (warmup, end) = (&run.record.flows_warmup, &run.record.flows_end);
    let bytes = warmup
        .iter()
        .zip(end)
        .map(|(from, to)| to.delivered_bytes - from.delivered_bytes);
    bytes.sum::<u64>() as f64 / PAYLOAD_BYTES * PAPER_RUN_S * NS_PER_S as f64 / run.measured_ns() as f64
}

/// The end of the first stretch of 10 s in which the utilisation is at least `wanted`.
fn converged_ns(time_ns: &[u64], samples: &[LinkCounters], wanted: f64) -> Option<u64> {
    let stretch = |to: usize| {
        let from = time_ns
            .partition_point(|&t| t + WINDOW_NS <= time_ns[to])
            .checked_sub(1)?;
        measure::utilisation(samples, Bin { from, to })
    };
    let place = (0..time_ns.len()).find(|&to| stretch(to).is_some_and(|used| used >= wanted))?;
    Some(time_ns[place])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn convergence_is_the_end_of_the_first_full_stretch() {
        // Goal: idle for 20 s, then full; the 10 s before 28 s are 8/10 used, those before 29 s 9/10.
        let time_ns: Vec<u64> = (0..60).map(|s| s * NS_PER_S).collect();
        let sample = |s: u64| LinkCounters {
            offered_bytes: s * 100,
            sent_bytes: s.saturating_sub(20) * 100,
            ..Default::default()
        };
        let samples: Vec<LinkCounters> = (0..60).map(sample).collect();
        assert_eq!(converged_ns(&time_ns, &samples, 0.8), Some(28 * NS_PER_S));
        assert_eq!(converged_ns(&time_ns, &samples, 0.9), Some(29 * NS_PER_S));
        assert_eq!(converged_ns(&time_ns, &samples, 1.1), None);
    }

    #[test]
    fn overruns_and_falls_are_more_than_a_packet_in_a_second() {
        // Goal: 5 % more than fits is none, 6 % is one; windows that fall by 1 of 40 do not count, by 2 of 39 do.
        let link = |arrived_bytes, offered_bytes| LinkCounters {
            arrived_bytes,
            offered_bytes,
            ..Default::default()
        };
        let samples = [link(0, 0), link(105, 100), link(211, 200), link(300, 200)];
        let bin = |from| Bin { from, to: from + 1 };
        let over = [0, 1, 2].map(|from| arrivals(&samples, bin(from)).map(|ratio| ratio > 1.0 + MOVED_SHARE));
        assert_eq!(over, [Some(false), Some(true), None]);
        let flow = |pkts: [u32; 3]| {
            pkts.map(|cwnd_pkts| FlowCounters {
                cwnd_pkts,
                ..Default::default()
            })
            .to_vec()
        };
        let flows = [flow([20, 19, 17]), flow([20, 20, 20])];
        let fell = [0, 1].map(|from| window_change(&flows, bin(from)).map(|change| change < -MOVED_SHARE));
        assert_eq!(fell, [Some(false), Some(true)]);
        assert_eq!(window_change(&[], bin(0)), None);
        assert_eq!(share([Some(true), None, Some(false)].into_iter()), Some(0.5));
        assert_eq!(share([None].into_iter()), None);
    }

    #[test]
    fn packets_are_counted_as_over_the_length_of_the_paper() {
        // Goal: 2400 + 1480 bytes in the 6 s that are measured, in packets of 1000 bytes over 1000 s.
        let packets = delivered_pkts(&groups::tests::run());
        assert!((packets - 3880.0 / 6.0).abs() < 1e-9, "{packets}");
    }

    #[test]
    fn figures_have_the_digits_that_their_interval_supports() {
        // Goal: two digits of the interval, and the mean to the same place; no interval reaches below a figure's least.
        let stat = |mean: f64, half: Option<f64>| {
            Some(Stat {
                n: 2,
                mean,
                ci95_half_width: half,
                ci95_low: half.map(|half| (mean - half).max(0.0)),
                ci95_high: half.map(|half| mean + half),
                min: 0.0,
                max: 0.0,
            })
        };
        assert_eq!(shown(stat(0.98765, Some(0.0123))), "0.988 ± 0.012");
        assert_eq!(shown(stat(151.26, Some(1.84))), "151.3 ± 1.8");
        assert_eq!(shown(stat(12.0, Some(13.4))), "12 (0..25)");
        assert_eq!(shown(stat(0.5, None)), "0.5000");
        assert_eq!(shown(None), "-");
    }
}
