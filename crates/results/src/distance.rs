//! How far the grounds of an experiment are apart, law by law: the simulator beside a kernel.
//!
//! A distance is the mean over seeds of the difference between the grounds, seed by seed, and what is said of it is
//! said of its 95 % interval: within the bound or beyond it as a whole, or undecided.

mod told;

use std::sync::Arc;

use serde::Serialize;

pub use told::{DistanceTable, in_words, table, terminal};

use crate::Run;
use crate::contender::grounds;
use crate::distinct::in_order;
use crate::interval::{Paired, Stat, t95};
use crate::measure::{self, Metric};
use crate::shares;

/// How far grounds may be apart.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bound {
    /// As a share of the first ground's mean.
    pub relative: f64,
    /// At least so much, in the figure's unit: below it a share says nothing.
    pub least: f64,
}

impl Bound {
    fn allowed(self, first: f64) -> f64 {
        (self.relative * first.abs()).max(self.least)
    }
}

/// A figure in which grounds are compared.
struct Measure {
    name: &'static str,
    unit: &'static str,
    /// What a reader's figure is multiplied by.
    factor: f64,
    decimals: usize,
    bound: Bound,
}

/// A figure of a whole link.
type OfLink = fn(&Run, usize) -> Option<f64>;

const fn bound(relative: f64, least: f64) -> Bound {
    Bound { relative, least }
}

const MEASURES: [(Measure, OfLink); 6] = [
    (
        Measure {
            name: "utilisation",
            unit: "%",
            factor: 100.0,
            decimals: 2,
            bound: bound(0.05, 0.0),
        },
        |run, link| measure::measure(run, link).get(Metric::Utilisation),
    ),
    (
        Measure {
            name: "completion time, mean",
            unit: "s",
            factor: 1.0,
            decimals: 2,
            bound: bound(0.10, 0.0),
        },
        |run, link| measure::measure(run, link).get(Metric::CompletionTime),
    ),
    (
        Measure {
            name: "transfers ended",
            unit: "",
            factor: 1.0,
            decimals: 0,
            bound: bound(0.10, 0.0),
        },
        transfers_ended,
    ),
    (
        Measure {
            name: "RTT, p95 of means over samples",
            unit: "ms",
            factor: 1.0,
            decimals: 1,
            bound: bound(0.10, 1.0),
        },
        rtt_ms_p95,
    ),
    (
        Measure {
            name: "queue, mean",
            unit: "pkt",
            factor: 1.0,
            decimals: 1,
            bound: bound(0.20, 2.0),
        },
        |run, link| measure::measure(run, link).get(Metric::QueuePkts),
    ),
    (
        Measure {
            name: "Jain's index",
            unit: "",
            factor: 1.0,
            decimals: 3,
            bound: bound(0.0, 0.05),
        },
        |run, link| measure::measure(run, link).get(Metric::Jain),
    ),
];

/// What a group of flows gets of a link that it shares; the bound is in percentage points.
const SHARE: Measure = Measure {
    name: "share",
    unit: "%",
    factor: 100.0,
    decimals: 1,
    bound: bound(0.0, 5.0),
};

/// How far a figure of one law is apart on two grounds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Distance {
    /// Sweep coordinates of both.
    pub point: Vec<(String, String)>,
    /// Link of both.
    pub link: String,
    /// Label of the law.
    pub law: String,
    /// The group of flows whose figure it is; absent for one of the whole link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Name of the figure.
    pub figure: &'static str,
    /// Its unit, in which the values are.
    pub unit: &'static str,
    /// The ground that the other is measured against.
    pub first_ground: String,
    /// The other one.
    pub second_ground: String,
    /// Mean over the seeds that both have.
    pub first: f64,
    /// Of the other.
    pub second: f64,
    /// Second minus first, seed by seed.
    pub difference: Stat,
    /// The mean difference as a share of the first mean; absent where that is zero.
    pub relative: Option<f64>,
    /// How far they may be apart.
    pub bound: Bound,
    /// What the interval of the difference says of the bound.
    pub agreement: Agreement,
    #[serde(skip)]
    decimals: usize,
}

/// Whether grounds agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Agreement {
    /// The interval lies wholly within the bound.
    Within,
    /// It lies wholly beyond.
    Beyond,
    /// It has the bound in it, or there is none: one seed.
    Undecided,
}

impl Agreement {
    fn of(difference: Stat, allowed: f64) -> Self {
        let half = match difference.ci95_half_width {
            None if difference.n == 1 => return Self::Undecided,
            half => half.unwrap_or(0.0),
        };
        let mean = difference.mean.abs();
        if mean + half <= allowed {
            Self::Within
        } else if mean - half > allowed {
            Self::Beyond
        } else {
            Self::Undecided
        }
    }
}

/// Most seeds that anyone is advised to run.
const SEEDS_MAX: usize = 10_000;

impl Distance {
    /// Whether more seeds would decide: it is undecided, and not for being at its bound.
    pub fn asks_for_seeds(&self) -> bool {
        self.agreement == Agreement::Undecided && (self.difference.n == 1 || self.seeds_to_decide().is_some())
    }

    /// How many seeds would decide, if they scatter as those that there are; `None`: it is decided, or one seed does
    /// not tell how far seeds scatter, or the mean is too near to the bound for ten thousand.
    pub fn seeds_to_decide(&self) -> Option<usize> {
        let Stat { n, mean, .. } = self.difference;
        let half = self
            .difference
            .ci95_half_width
            .filter(|_| self.agreement == Agreement::Undecided)?;
        let deviation = half * (n as f64).sqrt() / t95(n - 1);
        let room = (mean.abs() - self.bound.allowed(self.first)).abs();
        (n + 1..=SEEDS_MAX).find(|&n| t95(n - 1) * deviation / (n as f64).sqrt() < room)
    }
}

/// Distances of each further ground from the first one, by point, link, law and figure.
pub fn distances(runs: &[Run]) -> Vec<Distance> {
    let grounds = grounds(runs);
    let Some((first, others)) = grounds.split_first() else {
        return Vec::new();
    };
    let mut distances = Vec::new();
    for point in in_order(runs.iter().map(|run| &run.point)) {
        for law in in_order(runs.iter().map(|run| run.law.as_str())) {
            let on = |ground: &str| -> Vec<&Run> {
                let is_here = |run: &&Run| run.ground == ground && run.law == law && run.point == *point;
                runs.iter().filter(is_here).collect()
            };
            for other in others {
                distances.extend(between(&on(first), &on(other)));
            }
        }
    }
    distances
}

/// Runs of one law at one point on two grounds: the links that data cross, figure by figure.
fn between(first: &[&Run], second: &[&Run]) -> Vec<Distance> {
    let of_seed = |seed: u64| second.iter().copied().find(|run| run.seed == seed);
    let pairs: Vec<(&Run, &Run)> = first
        .iter()
        .filter_map(|run| Some((*run, of_seed(run.seed)?)))
        .collect();
    let Some((one, _)) = pairs.first() else {
        return Vec::new();
    };
    let crossed = |link: &usize| !measure::crossing_flows(one, *link).is_empty();
    let links = measure::shown_links(one).into_iter().filter(crossed);
    links.flat_map(|link| at_link(&pairs, link)).collect()
}

/// The figures of one link, then the shares of the groups that are mixed there.
fn at_link(pairs: &[(&Run, &Run)], link: usize) -> Vec<Distance> {
    let one = pairs[0].0;
    let name = Arc::clone(&one.spec.links[link].name);
    let place = |run: &Run| run.spec.links.iter().position(|other| other.name == name);
    let of_link = MEASURES.iter().filter_map(|(measure, of)| {
        let value = |run: &Run| of(run, place(run)?);
        distance(pairs, &name, None, measure, &value)
    });
    let groups = shares::flow_groups(one, link);
    let mixed = groups.iter().filter(|_| groups.len() > 1);
    let of_groups = mixed.filter_map(|group| {
        let value = |run: &Run| shares::part(run, &group.flows, &measure::crossing_flows(run, place(run)?));
        distance(pairs, &name, Some(&group.name), &SHARE, &value)
    });
    of_link.chain(of_groups).collect()
}

fn distance(
    pairs: &[(&Run, &Run)],
    link: &str,
    group: Option<&str>,
    measure: &Measure,
    value: &dyn Fn(&Run) -> Option<f64>,
) -> Option<Distance> {
    let scaled = |run: &Run| Some(measure.factor * value(run)?);
    let both = |(one, other): &(&Run, &Run)| Some((scaled(one)?, scaled(other)?));
    let values: Vec<(f64, f64)> = pairs.iter().filter_map(both).collect();
    let Paired {
        first,
        second,
        difference,
    } = Paired::of(&values)?;
    let (one, other) = pairs[0];
    Some(Distance {
        point: one.point.clone(),
        link: link.to_owned(),
        law: one.law.clone(),
        group: group.map(str::to_owned),
        figure: measure.name,
        unit: measure.unit,
        first_ground: one.ground.clone(),
        second_ground: other.ground.clone(),
        first,
        second,
        difference,
        relative: measure::ratio(second - first, first),
        bound: measure.bound,
        agreement: Agreement::of(difference, measure.bound.allowed(first)),
        decimals: measure.decimals,
    })
}

fn transfers_ended(run: &Run, link: usize) -> Option<f64> {
    let ended = measure::measure(run, link).get(Metric::Completions);
    ended.filter(|&ended| ended > 0.0)
}

/// The 95th percentile of the RTT as far as counters tell it, which is all that a kernel gives: of the means of a flow
/// over the distance of two samples, each as often as it has RTT samples. Nearest rank, in the measured interval.
/// `None` where a run keeps no samples (`run.record = false`).
fn rtt_ms_p95(run: &Run, link: usize) -> Option<f64> {
    let series = &run.record.series;
    let from = series
        .time_ns
        .partition_point(|&t| t < run.spec.warmup_ns)
        .min(series.time_ns.len());
    let mut means: Vec<(u64, u64)> = Vec::new();
    for flow in measure::crossing_flows(run, link) {
        let samples = series.flows.get(flow).and_then(|samples| samples.get(from..));
        for pair in samples.unwrap_or_default().windows(2) {
            let n = pair[1].rtt_samples - pair[0].rtt_samples;
            means.extend(
                (pair[1].rtt_us_sum - pair[0].rtt_us_sum)
                    .checked_div(n)
                    .map(|mean| (mean, n)),
            );
        }
    }
    means.sort_unstable();
    let rank = (means.iter().map(|(_, n)| n).sum::<u64>() * 95).div_ceil(100);
    let mut below = 0;
    let reaches = |&(_, n): &&(u64, u64)| {
        below += n;
        below >= rank
    };
    means.iter().find(reaches).map(|(mean, _)| *mean as f64 / 1e3)
}
