//! What the page's script reads.

use serde::Serialize;

use super::versus;
use crate::curves::Curves;
use crate::interval::t95;
use crate::measure::{METRICS, Metric};
use crate::pack::floats;
use crate::swept::{self, SweptKey};
use crate::{Picture, Summary, point_text};

/// Everything the script draws.
#[derive(Serialize)]
pub struct Data<'a> {
    /// Title, for the names of files.
    title: &'a str,
    laws: &'a [String],
    /// Per law its look: a colour, and for each round through the colours another kind of line.
    looks: Vec<usize>,
    /// As text, because a script's numbers end at 2^53.
    seeds: Vec<String>,
    /// Whether all seeds of each law gave the same result.
    alike: bool,
    /// The points of the sweep in one line each; one empty line without a sweep.
    points: Vec<String>,
    /// Per point, per key: the place of its value among those of the key; absent if the point has none.
    places: Vec<Vec<Option<usize>>>,
    keys: Vec<SweptKey>,
    metrics: Vec<Shown>,
    /// Factors of the 95 % interval of a mean of 2, 3, ... values.
    t95: Vec<f64>,
    groups: Vec<Values<'a>>,
    /// Name of the link that is shown first.
    bottleneck: Option<&'a str>,
    pictures: &'a [Picture],
    versus: Vec<versus::Panel>,
    /// Of laws beside each other what a sweep shows.
    pair_metrics: Vec<Shown>,
    pairs: Vec<versus::Pair<'a>>,
    #[serde(flatten)]
    curves: &'a Curves,
}

/// A metric as the page shows it.
#[derive(Serialize)]
pub struct Shown {
    pub name: &'static str,
    pub label: &'static str,
    pub unit: &'static str,
    /// What a value is multiplied by.
    pub factor: f64,
    /// The most that it can be, in the unit that is shown.
    pub most: Option<f64>,
    /// Half a bin of what was counted in bins, as a part of its middle; 0 of what was not.
    pub half_bin: f64,
    pub about: &'static str,
}

/// The figures of one law at one point and link.
#[derive(Serialize)]
struct Values<'a> {
    point: usize,
    link: &'a str,
    law: usize,
    /// Places of its seeds among those of the experiment.
    seeds: Vec<usize>,
    /// A row per metric, a column per seed, as [`floats`].
    rows: String,
}

impl<'a> Data<'a> {
    /// Collects them.
    pub fn of(summary: &'a Summary, curves: &'a Curves) -> Self {
        let points = summary.points();
        let keys = swept::keys(&points);
        let seeds_most = summary.groups.iter().map(|group| group.seeds.len()).max().unwrap_or(0);
        let place = |point: &Vec<(String, String)>, key: &SweptKey| {
            let value = &point.iter().find(|(name, _)| *name == key.key)?.1;
            key.values.iter().position(|other| other == value)
        };
        Self {
            title: &summary.title,
            laws: &summary.laws,
            looks: summary.contenders.iter().map(|contender| contender.look).collect(),
            seeds: summary.seeds.iter().map(u64::to_string).collect(),
            alike: summary.groups.iter().all(|group| group.seeds_are_alike),
            points: points.iter().map(|point| point_text(point)).collect(),
            places: points
                .iter()
                .map(|point| keys.iter().map(|key| place(point, key)).collect())
                .collect(),
            metrics: METRICS.iter().map(|info| shown(info.metric)).collect(),
            t95: (1..seeds_most).map(t95).collect(),
            groups: groups(summary, &points),
            bottleneck: summary.bottleneck.as_deref(),
            pictures: &summary.pictures,
            versus: versus::panels(summary),
            pair_metrics: versus::metrics(),
            pairs: versus::pairs(summary),
            keys,
            curves,
        }
    }
}

/// Of the links that data cross, as in the tables.
fn groups<'a>(summary: &'a Summary, points: &[Vec<(String, String)>]) -> Vec<Values<'a>> {
    let links = summary.data_links();
    let shown = summary.groups.iter().filter(|group| links.contains(&group.link));
    let values = shown.map(|group| {
        let metric = |info: &crate::measure::MetricInfo| {
            let metric = info.metric;
            group.seeds.iter().map(move |&seed| group.value(seed, metric))
        };
        let seed_place = |seed| summary.seeds.iter().position(|other| other == seed);
        Values {
            point: points
                .iter()
                .position(|point| *point == group.point)
                .unwrap_or_default(),
            link: &group.link,
            law: summary
                .laws
                .iter()
                .position(|law| *law == group.law)
                .unwrap_or_default(),
            seeds: group.seeds.iter().filter_map(seed_place).collect(),
            rows: floats(METRICS.iter().flat_map(metric)),
        }
    });
    values.collect()
}

/// Heading, unit and factor of a metric on an axis.
fn shown(metric: Metric) -> Shown {
    let (label, unit, factor) = match metric {
        Metric::Utilisation => ("Utilisation", "%", 100.0),
        Metric::UtilisationSd => ("Utilisation, SD over time", "%", 100.0),
        Metric::UtilisationMin => ("Utilisation, lowest 10 s", "%", 100.0),
        Metric::UtilisationMax => ("Utilisation, highest 10 s", "%", 100.0),
        Metric::Goodput => ("Goodput", "Mbit/s", 1e-6),
        Metric::Jain => ("Jain's fairness index", "", 1.0),
        Metric::QueuePkts => ("Queue", "pkt", 1.0),
        Metric::QueueWait => ("Queueing delay", "ms", 1.0),
        Metric::QueueWaitP50 => ("Queueing delay, 50 % at most", "ms", 1.0),
        Metric::QueueWaitP95 => ("Queueing delay, 95 % at most", "ms", 1.0),
        Metric::QueueWaitP99 => ("Queueing delay, 99 % at most", "ms", 1.0),
        Metric::DropRate => ("Packets dropped", "%", 100.0),
        Metric::MarkRate => ("Packets marked", "%", 100.0),
        Metric::AirLoss => ("Lost on the air", "%", 100.0),
        Metric::AirLossExact => ("Lost on the air, exact", "%", 100.0),
        Metric::Rtt => ("Round-trip time", "ms", 1.0),
        Metric::RttP50 => ("Round-trip time, 50 % at most", "ms", 1.0),
        Metric::RttP95 => ("Round-trip time, 95 % at most", "ms", 1.0),
        Metric::RttP99 => ("Round-trip time, 99 % at most", "ms", 1.0),
        Metric::RetransmitRate => ("Retransmissions", "%", 100.0),
        Metric::Timeouts => ("Timeouts", "", 1.0),
        Metric::Completions => ("Transfers ended", "", 1.0),
        Metric::CompletionTime => ("Completion time", "s", 1.0),
        Metric::CompletionTimeP50 => ("Completion time, 50 % at most", "s", 1.0),
        Metric::CompletionTimeP95 => ("Completion time, 95 % at most", "s", 1.0),
        Metric::CompletionTimeP99 => ("Completion time, 99 % at most", "s", 1.0),
    };
    let info = &METRICS[metric as usize];
    Shown {
        name: info.name,
        label,
        unit,
        factor,
        half_bin: metric.half_bin(),
        most: Some(metric.range().end() * factor).filter(|most| most.is_finite()),
        about: info.about,
    }
}
