//! Who got what: the flows that cross a link, group by group (`[flow.NAME]` of a scenario), over the measured interval.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::contender::Contender;
use crate::convergence::convergence_s;
use crate::distinct::in_order;
use crate::interval::Stat;
use crate::measure::{self, Metric, ratio};
use crate::{Run, percentiles};

/// A figure of a group of flows in a run.
#[derive(Clone, Copy, Debug)]
pub struct ShareMetric {
    /// Key in `summary.json` and column of `groups.parquet`.
    pub name: &'static str,
    /// Its unit; `1` is a pure number.
    pub unit: &'static str,
    /// What it means.
    pub about: &'static str,
    what: What,
}

/// Where a figure comes from.
#[derive(Clone, Copy, Debug)]
enum What {
    /// A figure that a whole link has too, here over the group's flows alone.
    Of(Metric),
    /// The group's part of what the link delivered.
    Part,
    /// The window of a flow.
    Window,
    /// How long it takes to its fair part.
    Convergence,
    /// How long its data waited at the link: the percentile at this place.
    Wait(usize),
}

impl What {
    /// Mean and interval of its values.
    fn stat(self, values: &[f64]) -> Option<Stat> {
        match self {
            Self::Of(metric) => metric.stat(values),
            Self::Part => Stat::within(values, 0.0..=1.0),
            Self::Window | Self::Convergence => Stat::within(values, 0.0..=f64::INFINITY),
            Self::Wait(_) => Stat::counted(values, 0.0..=f64::INFINITY, percentiles::HALF_BIN),
        }
    }
}

/// Number of figures.
pub const SHARE_METRICS_N: usize = 19;

/// All of them.
pub const SHARE_METRICS: [ShareMetric; SHARE_METRICS_N] = [
    info(
        "goodput_bps",
        "bit/s",
        "payload that its receiving applications got",
        What::Of(Metric::Goodput),
    ),
    info(
        "share",
        "1",
        "its part of the payload of all flows whose data cross the link",
        What::Part,
    ),
    info(
        "jain",
        "1",
        "Jain's index of the payload per flow within the group",
        What::Of(Metric::Jain),
    ),
    info(
        "rtt_ms_mean",
        "ms",
        "mean of the RTT samples of its senders",
        What::Of(Metric::Rtt),
    ),
    info(
        "rtt_ms_p50",
        "ms",
        "what half of them are at most; null where some of its flows do not cross the link, and on a kernel",
        What::Of(Metric::RttP50),
    ),
    info(
        "rtt_ms_p95",
        "ms",
        "what 95 % of them are at most",
        What::Of(Metric::RttP95),
    ),
    info(
        "rtt_ms_p99",
        "ms",
        "what 99 % of them are at most",
        What::Of(Metric::RttP99),
    ),
    info(
        "queue_wait_ms_p50",
        "ms",
        "what half of its data packets that left the queue of the link waited there at most; null on a kernel",
        What::Wait(0),
    ),
    info(
        "queue_wait_ms_p95",
        "ms",
        "what 95 % of them waited at most",
        What::Wait(1),
    ),
    info(
        "queue_wait_ms_p99",
        "ms",
        "what 99 % of them waited at most",
        What::Wait(2),
    ),
    info(
        "retransmit_rate",
        "1",
        "retransmissions / data packets sent",
        What::Of(Metric::RetransmitRate),
    ),
    info("timeouts", "1", "retransmission timeouts", What::Of(Metric::Timeouts)),
    info(
        "cwnd_pkts_mean",
        "pkt",
        "congestion window of a flow, mean over flows and samples; null where no series was recorded",
        What::Window,
    ),
    info(
        "completions",
        "1",
        "transfers and sessions that ended",
        What::Of(Metric::Completions),
    ),
    info(
        "completion_s_mean",
        "s",
        "mean time of those",
        What::Of(Metric::CompletionTime),
    ),
    info(
        "completion_s_p50",
        "s",
        "what half of these times are at most",
        What::Of(Metric::CompletionTimeP50),
    ),
    info(
        "completion_s_p95",
        "s",
        "what 95 % of them are at most",
        What::Of(Metric::CompletionTimeP95),
    ),
    info(
        "completion_s_p99",
        "s",
        "what 99 % of them are at most",
        What::Of(Metric::CompletionTimeP99),
    ),
    info(
        "convergence_s",
        "s",
        "from the last start until the group's part of the payload, and that of all others, stay for 5 s within 25 % \
         of their fair ones, the same for every flow (Dong et al., NSDI 2015); null where they never do and without a \
         series",
        What::Convergence,
    ),
];

const fn info(name: &'static str, unit: &'static str, about: &'static str, what: What) -> ShareMetric {
    ShareMetric {
        name,
        unit,
        about,
        what,
    }
}

/// The figures of a group of those that cross link `link`, in the order of [`SHARE_METRICS`]; one of which the run says
/// nothing is absent.
pub fn figures(run: &Run, link: usize, group: &FlowGroup, crossing: &[usize]) -> [Option<f64>; SHARE_METRICS_N] {
    let flows = &group.flows;
    let own = measure::of_flows(run, flows);
    let waits_ms = percentiles::waits_ms(run, link, Some(&group.name));
    SHARE_METRICS.map(|metric| match metric.what {
        What::Of(metric) => own.get(metric),
        What::Part => part(run, flows, crossing),
        What::Window => cwnd_pkts_mean(run, flows),
        What::Convergence => convergence_s(run, flows, crossing),
        What::Wait(place) => waits_ms[place],
    })
}

/// What some flows got of the payload of all that cross a link.
pub(crate) fn part(run: &Run, flows: &[usize], crossing: &[usize]) -> Option<f64> {
    let goodput = |flows| measure::of_flows(run, flows).get(Metric::Goodput);
    ratio(goodput(flows)?, goodput(crossing)?)
}

fn cwnd_pkts_mean(run: &Run, flows: &[usize]) -> Option<f64> {
    let series = &run.record.series;
    let from = series.time_ns.partition_point(|&time_ns| time_ns < run.spec.warmup_ns);
    let samples = flows.iter().filter_map(|&flow| series.flows.get(flow)?.get(from..));
    let windows: Vec<f64> = samples.flatten().map(|at| f64::from(at.cwnd_pkts)).collect();
    ratio(windows.iter().sum(), windows.len() as f64)
}

/// A group of flows whose data cross a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowGroup {
    /// Name of the group.
    pub name: String,
    /// Name of its senders' law; `udp` without congestion control.
    pub sender: String,
    /// Indices of its flows, in order.
    pub flows: Vec<usize>,
}

/// The groups whose data cross link `link` of a run, in the order of the scenario.
pub fn flow_groups(run: &Run, link: usize) -> Vec<FlowGroup> {
    let mut groups: Vec<FlowGroup> = Vec::new();
    for flow in measure::crossing_flows(run, link) {
        let spec = &run.spec.flows[flow];
        match groups.iter_mut().find(|group| group.name == *spec.group) {
            Some(group) => group.flows.push(flow),
            None => groups.push(FlowGroup {
                name: spec.group.to_string(),
                sender: spec.sender().to_owned(),
                flows: vec![flow],
            }),
        }
    }
    groups
}

/// What one group of flows had of a link: means over seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Share {
    /// Sweep coordinates besides law and seed.
    pub point: Vec<(String, String)>,
    /// Name of the link.
    pub link: String,
    /// Label of the law of the run, or of its mixture.
    pub law: String,
    /// Name of the group.
    pub group: String,
    /// Law of its senders; `udp` without congestion control.
    pub sender: String,
    /// How many flows it has.
    pub flows: usize,
    /// By name of the figure; one that no seed has a value for is absent.
    pub metrics: BTreeMap<&'static str, Stat>,
    /// Values by seed, in the order of [`SHARE_METRICS`].
    #[serde(skip)]
    values: BTreeMap<u64, [Option<f64>; SHARE_METRICS_N]>,
}

impl Share {
    /// One figure over the seeds.
    pub fn stat(&self, name: &str) -> Option<Stat> {
        self.metrics.get(name).copied()
    }

    /// The value of one seed, of the figure at this place of [`SHARE_METRICS`].
    pub(crate) fn value(&self, seed: u64, place: usize) -> Option<f64> {
        self.values.get(&seed)?[place]
    }

    /// Its seeds, ascending.
    pub(crate) fn seeds(&self) -> impl Iterator<Item = u64> {
        self.values.keys().copied()
    }
}

/// The shares of `contender` at a link, over its runs there; none where a single group of flows has the whole link.
pub(crate) fn shares(point: &[(String, String)], link: &str, contender: &Contender, runs: &[&Run]) -> Vec<Share> {
    let placed = |run: &&&Run| run.spec.links.iter().any(|spec| spec.name.as_ref() == link);
    let mut figures_of: BTreeMap<String, BTreeMap<u64, [Option<f64>; SHARE_METRICS_N]>> = BTreeMap::new();
    let mut groups: Vec<FlowGroup> = Vec::new();
    for run in runs.iter().filter(placed) {
        let id = run.spec.links.iter().position(|spec| spec.name.as_ref() == link);
        let Some(id) = id else { continue };
        let (here, crossing) = (flow_groups(run, id), measure::crossing_flows(run, id));
        for group in &here {
            let figures = figures(run, id, group, &crossing);
            figures_of
                .entry(group.name.clone())
                .or_default()
                .insert(run.seed, figures);
        }
        groups = in_order(groups.into_iter().chain(here));
    }
    if groups.len() < 2 {
        return Vec::new();
    }
    let mut share = |group: FlowGroup| {
        let values = figures_of.remove(&group.name).unwrap_or_default();
        let stat = |place: usize| {
            let known: Vec<f64> = values.values().filter_map(|run| run[place]).collect();
            let stat = SHARE_METRICS[place].what.stat(&known)?;
            let is_time = matches!(SHARE_METRICS[place].what, What::Convergence);
            // Where it never comes in some runs there is no mean of all; and what is never negative and mostly short
            // has no interval on both sides of its mean.
            (!is_time || stat.n == values.len()).then_some(Stat {
                ci95_half_width: stat.ci95_half_width.filter(|_| !is_time),
                ci95_low: stat.ci95_low.filter(|_| !is_time),
                ci95_high: stat.ci95_high.filter(|_| !is_time),
                ..stat
            })
        };
        let metrics = SHARE_METRICS.iter().enumerate();
        Share {
            point: point.to_vec(),
            link: link.to_owned(),
            law: contender.label.clone(),
            metrics: metrics
                .filter_map(|(place, metric)| Some((metric.name, stat(place)?)))
                .collect(),
            group: group.name,
            sender: group.sender,
            flows: group.flows.len(),
            values,
        }
    };
    groups.into_iter().map(&mut share).collect()
}
