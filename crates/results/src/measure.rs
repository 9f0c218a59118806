//! The figures of one link in one run, over the measured interval (warm-up to end).

use std::ops::RangeInclusive;

use fadelab_path::counters::LinkCounters;
use fadelab_run::record::FlowCounters;

use crate::bins::{self, SWING_BIN_NS};
use crate::counters::per_us;
use crate::fairness;
use crate::interval::{self, Stat};
use crate::{Run, percentiles};

/// A figure of a link in a run. Those about flows are over the flows whose data cross the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// What was sent of what could have been sent, in on-air bytes.
    Utilisation,
    /// Standard deviation of the utilisation over time.
    UtilisationSd,
    /// Its lowest bin.
    UtilisationMin,
    /// Its highest bin.
    UtilisationMax,
    /// Payload that applications got.
    Goodput,
    /// Jain's index of the payload of the flows that have a law.
    Jain,
    /// Mean number of packets waiting.
    QueuePkts,
    /// Mean time a packet waited.
    QueueWait,
    /// Wait that 50 % do not exceed.
    QueueWaitP50,
    /// Wait that 95 % do not exceed.
    QueueWaitP95,
    /// Wait that 99 % do not exceed.
    QueueWaitP99,
    /// Dropped packets.
    DropRate,
    /// Marked packets.
    MarkRate,
    /// Data packets lost on the air.
    AirLoss,
    /// What the channel's mathematics say about it.
    AirLossExact,
    /// Mean round trip.
    Rtt,
    /// Round trip that 50 % do not exceed.
    RttP50,
    /// Round trip that 95 % do not exceed.
    RttP95,
    /// Round trip that 99 % do not exceed.
    RttP99,
    /// Retransmitted packets.
    RetransmitRate,
    /// Retransmission timeouts.
    Timeouts,
    /// Transfers that ended.
    Completions,
    /// Their mean time.
    CompletionTime,
    /// Time of them that 50 % do not exceed.
    CompletionTimeP50,
    /// Time of them that 95 % do not exceed.
    CompletionTimeP95,
    /// Time of them that 99 % do not exceed.
    CompletionTimeP99,
}

impl Metric {
    /// The values that it can have, in its unit.
    pub fn range(self) -> RangeInclusive<f64> {
        match self {
            Self::Utilisation
            | Self::UtilisationSd
            | Self::UtilisationMin
            | Self::UtilisationMax
            | Self::Jain
            | Self::DropRate
            | Self::MarkRate
            | Self::AirLoss
            | Self::AirLossExact
            | Self::RetransmitRate => 0.0..=1.0,
            _ => 0.0..=f64::INFINITY,
        }
    }
}

impl Metric {
    /// Half a bin of what was counted in bins, as a part of its middle; 0 of what was not.
    pub(crate) fn half_bin(self) -> f64 {
        match self {
            Self::RttP50
            | Self::RttP95
            | Self::RttP99
            | Self::QueueWaitP50
            | Self::QueueWaitP95
            | Self::QueueWaitP99 => percentiles::HALF_BIN,
            _ => 0.0,
        }
    }

    /// Mean and interval of its values.
    pub(crate) fn stat(self, values: &[f64]) -> Option<Stat> {
        Stat::counted(values, self.range(), self.half_bin())
    }
}

/// Name, unit and meaning of a metric.
#[derive(Clone, Copy, Debug)]
pub struct MetricInfo {
    /// Which one.
    pub metric: Metric,
    /// Key in `summary.json` and column in `runs.parquet`.
    pub name: &'static str,
    /// Its unit; `1` is a pure number.
    pub unit: &'static str,
    /// What it means.
    pub about: &'static str,
}

const fn info(metric: Metric, name: &'static str, unit: &'static str, about: &'static str) -> MetricInfo {
    MetricInfo {
        metric,
        name,
        unit,
        about,
    }
}

/// Number of metrics.
pub const METRICS_N: usize = 26;

/// All metrics, in the order of [`Metric`].
pub const METRICS: [MetricInfo; METRICS_N] = [
    info(
        Metric::Utilisation,
        "utilisation",
        "1",
        "on-air bytes sent / on-air bytes that could have been sent",
    ),
    info(
        Metric::UtilisationSd,
        "utilisation_sd",
        "1",
        "standard deviation over time of the utilisation in bins of 10 s; null with fewer than two bins",
    ),
    info(
        Metric::UtilisationMin,
        "utilisation_min",
        "1",
        "utilisation of the lowest bin of 10 s",
    ),
    info(
        Metric::UtilisationMax,
        "utilisation_max",
        "1",
        "utilisation of the highest bin of 10 s",
    ),
    info(
        Metric::Goodput,
        "goodput_bps",
        "bit/s",
        "payload that the receiving applications got, in order and once",
    ),
    info(
        Metric::Jain,
        "jain",
        "1",
        "Jain's index of the payload per flow while all of them were under way: 1 is an equal share for each, 1/n all \
         to one of n; over two greedy flows or transfers at least that have one law, datagrams aside, else null",
    ),
    info(
        Metric::QueuePkts,
        "queue_pkts_mean",
        "pkt",
        "mean over time of the packets waiting",
    ),
    info(
        Metric::QueueWait,
        "queue_wait_ms_mean",
        "ms",
        "mean time a packet waited, by Little's law: integral of the packets waiting / packets sent",
    ),
    info(
        Metric::QueueWaitP50,
        "queue_wait_ms_p50",
        "ms",
        "what half of the packets that left the queue waited at most, ACKs included; null on a kernel",
    ),
    info(
        Metric::QueueWaitP95,
        "queue_wait_ms_p95",
        "ms",
        "what 95 % of them waited at most",
    ),
    info(
        Metric::QueueWaitP99,
        "queue_wait_ms_p99",
        "ms",
        "what 99 % of them waited at most",
    ),
    info(
        Metric::DropRate,
        "drop_rate",
        "1",
        "packets dropped by the full queue or by the law / packets dropped or sent, both in the measured interval",
    ),
    info(
        Metric::MarkRate,
        "mark_rate",
        "1",
        "packets sent whose ECN field the law changed, at their arrival or departure / packets sent",
    ),
    info(
        Metric::AirLoss,
        "air_loss_rate",
        "1",
        "data packets lost on the air, for good where the link repeats them / data packets sent, each counted with its \
         last try; null on a wire",
    ),
    info(
        Metric::AirLossExact,
        "air_loss_rate_exact",
        "1",
        "exact packet error of the channel for a full data packet; null on a wire, with ARQ, if packet sizes differ",
    ),
    info(
        Metric::Rtt,
        "rtt_ms_mean",
        "ms",
        "mean of the RTT samples of the senders, one per ACK that advances: few while losses are repaired",
    ),
    info(
        Metric::RttP50,
        "rtt_ms_p50",
        "ms",
        "what half of the RTT samples are at most; null where not all flows of a group cross the link, and on a kernel",
    ),
    info(Metric::RttP95, "rtt_ms_p95", "ms", "what 95 % of them are at most"),
    info(Metric::RttP99, "rtt_ms_p99", "ms", "what 99 % of them are at most"),
    info(
        Metric::RetransmitRate,
        "retransmit_rate",
        "1",
        "retransmissions / data packets sent by the senders",
    ),
    info(Metric::Timeouts, "timeouts", "1", "retransmission timeouts"),
    info(
        Metric::Completions,
        "completions",
        "1",
        "transfers and sessions that ended",
    ),
    info(
        Metric::CompletionTime,
        "completion_s_mean",
        "s",
        "mean time of those until all was acknowledged, handshake included",
    ),
    info(
        Metric::CompletionTimeP50,
        "completion_s_p50",
        "s",
        "what half of these times are at most",
    ),
    info(
        Metric::CompletionTimeP95,
        "completion_s_p95",
        "s",
        "what 95 % of them are at most",
    ),
    info(
        Metric::CompletionTimeP99,
        "completion_s_p99",
        "s",
        "what 99 % of them are at most",
    ),
];

/// The figures of one link in one run. Absent: the run says nothing about it (no packet sent, no series, no channel).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures([Option<f64>; METRICS_N]);

impl Figures {
    /// One of them.
    pub fn get(&self, metric: Metric) -> Option<f64> {
        self.0[metric as usize]
    }

    fn set(&mut self, metric: Metric, value: impl Into<Option<f64>>) {
        self.0[metric as usize] = value.into();
    }

    /// Sets the percentiles, of which `first` is the first metric and the others follow.
    fn set_percentiles(&mut self, first: Metric, values: [Option<f64>; 3]) {
        let first = first as usize;
        self.0[first..first + values.len()].copy_from_slice(&values);
    }
}

/// Indices of the links that results show, in the order of the spec.
pub fn shown_links(run: &Run) -> Vec<usize> {
    (0..run.spec.links.len()).filter(|&i| run.spec.links[i].shown).collect()
}

/// Indices of the flows whose data packets cross link `link`.
pub fn crossing_flows(run: &Run, link: usize) -> Vec<usize> {
    let crosses = |flow: &usize| run.spec.flows[*flow].route.iter().any(|&id| id as usize == link);
    (0..run.spec.flows.len()).filter(crosses).collect()
}

/// The figures of link `link` (index into the spec's links).
pub fn measure(run: &Run, link: usize) -> Figures {
    let mut figures = Figures([None; METRICS_N]);
    let flows = crossing_flows(run, link);
    link_figures(run, link, &mut figures);
    swing_figures(run, link, &mut figures);
    figures.set(Metric::AirLossExact, run.spec.links[link].air_loss_rate_exact);
    flow_figures(run, &flows, &mut figures);
    completion_figures(run, &flows, &mut figures);
    figures
}

/// What the flows say by themselves, of some of them: the figures of a link that are about flows.
pub(crate) fn of_flows(run: &Run, flows: &[usize]) -> Figures {
    let mut figures = Figures([None; METRICS_N]);
    flow_figures(run, flows, &mut figures);
    completion_figures(run, flows, &mut figures);
    figures
}

/// `part / whole`, absent when there is no whole.
pub(crate) fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

fn link_figures(run: &Run, link: usize, figures: &mut Figures) {
    let Some((from, to)) = run.record.link(link) else {
        return;
    };
    let count = |field: fn(&LinkCounters) -> u64| (field(to) - field(from)) as f64;
    let sent_pkts = count(|c| c.sent_pkts);
    let queue_pkt_us = (per_us(to.queue_pkt_ns) - per_us(from.queue_pkt_ns)) as f64;
    figures.set(
        Metric::Utilisation,
        ratio(count(|c| c.sent_bytes), count(|c| c.offered_bytes)),
    );
    figures.set(Metric::QueuePkts, ratio(queue_pkt_us * 1e3, run.measured_ns() as f64));
    figures.set(Metric::QueueWait, ratio(queue_pkt_us / 1e3, sent_pkts));
    figures.set_percentiles(Metric::QueueWaitP50, percentiles::waits_ms(run, link, None));
    let dropped = count(|c| c.dropped_full_pkts) + count(|c| c.dropped_law_pkts);
    figures.set(Metric::DropRate, ratio(dropped, dropped + sent_pkts));
    figures.set(Metric::MarkRate, ratio(count(|c| c.marked_pkts), sent_pkts));
    if run.spec.links[link].has_channel {
        let lost = count(|c| c.lost_air_data_pkts);
        figures.set(Metric::AirLoss, ratio(lost, count(|c| c.sent_data_pkts)));
    }
}

/// How much the link's utilisation swings, from the time series.
fn swing_figures(run: &Run, link: usize, figures: &mut Figures) {
    let series = &run.record.series;
    let Some(shown) = series.link_ids.iter().position(|&id| id as usize == link) else {
        return;
    };
    let bins = bins::cut(&series.time_ns, run.spec.warmup_ns, run.spec.duration_ns, SWING_BIN_NS);
    let values: Vec<f64> = bins
        .into_iter()
        .flatten()
        .filter_map(|bin| utilisation(&series.links[shown], bin))
        .collect();
    if values.len() < 2 {
        return;
    }
    figures.set(Metric::UtilisationSd, interval::deviation(&values));
    figures.set(
        Metric::UtilisationMin,
        values.iter().copied().fold(f64::INFINITY, f64::min),
    );
    figures.set(
        Metric::UtilisationMax,
        values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    );
}

/// Utilisation of one bin; absent when nothing could be sent (a trace with a gap).
pub fn utilisation(samples: &[LinkCounters], bin: bins::Bin) -> Option<f64> {
    let (from, to) = (&samples[bin.from], &samples[bin.to]);
    ratio(
        (to.sent_bytes - from.sent_bytes) as f64,
        (to.offered_bytes - from.offered_bytes) as f64,
    )
}

fn flow_figures(run: &Run, flows: &[usize], figures: &mut Figures) {
    if flows.is_empty() {
        return;
    }
    let count = |flow: usize, field: fn(&FlowCounters) -> u64| {
        (field(&run.record.flows_end[flow]) - field(&run.record.flows_warmup[flow])) as f64
    };
    let total = |field: fn(&FlowCounters) -> u64| flows.iter().map(|&flow| count(flow, field)).sum::<f64>();
    figures.set(
        Metric::Goodput,
        ratio(total(|c| c.delivered_bytes) * 8.0, run.measured_ns() as f64 / 1e9),
    );
    figures.set(Metric::Jain, fairness::jain_of(run, flows));
    figures.set(
        Metric::Rtt,
        ratio(total(|c| c.rtt_us_sum) / 1e3, total(|c| c.rtt_samples)),
    );
    figures.set_percentiles(Metric::RttP50, percentiles::rtts_ms(run, flows));
    figures.set(
        Metric::RetransmitRate,
        ratio(total(|c| c.retransmitted_pkts), total(|c| c.sent_pkts)),
    );
    figures.set(Metric::Timeouts, total(|c| c.timeouts));
}

fn completion_figures(run: &Run, flows: &[usize], figures: &mut Figures) {
    if flows.is_empty() {
        return;
    }
    let ended: Vec<f64> = run
        .record
        .completions
        .iter()
        .filter(|c| c.end_ns >= run.spec.warmup_ns && flows.binary_search(&(c.flow as usize)).is_ok())
        .map(|c| (c.end_ns - c.start_ns) as f64 / 1e9)
        .collect();
    figures.set(Metric::Completions, ended.len() as f64);
    figures.set(Metric::CompletionTime, ratio(ended.iter().sum(), ended.len() as f64));
    figures.set_percentiles(Metric::CompletionTimeP50, percentiles::of_values(ended));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_stand_at_the_place_their_name_says() {
        // `Figures` is indexed by the enum, `METRICS` by position: the two orders must be one.
        for (place, info) in METRICS.iter().enumerate() {
            assert_eq!(info.metric as usize, place, "{}", info.name);
        }
    }
}
