//! How far the grounds of an experiment are apart, law by law: the simulator beside a kernel.
//!
//! Grounds see no common randomness, so a distance is one between means over the seeds that both have.

use std::fmt::Write;
use std::sync::Arc;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use serde::Serialize;

use crate::contender::grounds;
use crate::distinct::in_order;
use crate::measure::{self, Metric};
use crate::{Run, point_text};

/// A figure in which grounds are compared.
struct Measure {
    name: &'static str,
    unit: &'static str,
    /// What a reader's figure is multiplied by.
    factor: f64,
    decimals: usize,
    /// The largest share of the first ground's value by which the other may differ; some figures are only told.
    bound: Option<f64>,
    of: fn(&Run, usize) -> Option<f64>,
}

const MEASURES: [Measure; 6] = [
    Measure {
        name: "utilisation",
        unit: "%",
        factor: 100.0,
        decimals: 2,
        bound: Some(0.05),
        of: |run, link| measure::measure(run, link).get(Metric::Utilisation),
    },
    Measure {
        name: "completion time, mean",
        unit: "s",
        factor: 1.0,
        decimals: 2,
        bound: Some(0.10),
        of: |run, link| measure::measure(run, link).get(Metric::CompletionTime),
    },
    Measure {
        name: "transfers ended",
        unit: "",
        factor: 1.0,
        decimals: 0,
        bound: None,
        of: |run, link| {
            measure::measure(run, link)
                .get(Metric::Completions)
                .filter(|&ended| ended > 0.0)
        },
    },
    Measure {
        name: "RTT, p95 of means over samples",
        unit: "ms",
        factor: 1.0,
        decimals: 1,
        bound: None,
        of: rtt_ms_p95,
    },
    Measure {
        name: "queue, mean",
        unit: "pkt",
        factor: 1.0,
        decimals: 1,
        bound: None,
        of: |run, link| measure::measure(run, link).get(Metric::QueuePkts),
    },
    Measure {
        name: "Jain's index",
        unit: "",
        factor: 1.0,
        decimals: 3,
        bound: None,
        of: |run, link| measure::measure(run, link).get(Metric::Jain),
    },
];

/// How far a figure of one law is apart on two grounds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Distance {
    /// Sweep coordinates of both.
    pub point: Vec<(String, String)>,
    /// Link of both.
    pub link: String,
    /// Label of the law.
    pub law: String,
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
    /// Second minus first, as a share of the first; absent where the first is zero.
    pub relative: Option<f64>,
    /// The largest share that is allowed; absent for figures that are only told.
    pub bound: Option<f64>,
    #[serde(skip)]
    decimals: usize,
}

/// Whether grounds agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// Within the bound.
    Within,
    /// Beyond it.
    Beyond,
    /// There is no bound.
    Told,
}

impl Distance {
    /// Whether it is within its bound. Where the first value is zero, only zero is.
    pub fn agreement(&self) -> Agreement {
        let Some(bound) = self.bound else {
            return Agreement::Told;
        };
        let is_within = match self.relative {
            Some(relative) => relative.abs() <= bound,
            None => self.second == 0.0,
        };
        if is_within {
            Agreement::Within
        } else {
            Agreement::Beyond
        }
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
    let links: Vec<usize> = measure::shown_links(one).into_iter().filter(crossed).collect();
    let distance = |link: usize, measure: &Measure| {
        let name = Arc::clone(&one.spec.links[link].name);
        let place = |run: &Run| run.spec.links.iter().position(|other| other.name == name);
        let value = |run: &Run| (measure.of)(run, place(run)?);
        let values: Vec<(f64, f64)> = pairs
            .iter()
            .filter_map(|(one, other)| Some((value(one)?, value(other)?)))
            .collect();
        let mean =
            |pick: fn(&(f64, f64)) -> f64| measure.factor * values.iter().map(pick).sum::<f64>() / values.len() as f64;
        let (first, second) = (mean(|pair| pair.0), mean(|pair| pair.1));
        (!values.is_empty()).then(|| Distance {
            point: one.point.clone(),
            link: name.to_string(),
            law: one.law.clone(),
            figure: measure.name,
            unit: measure.unit,
            first_ground: one.ground.clone(),
            second_ground: pairs[0].1.ground.clone(),
            first,
            second,
            relative: measure::ratio(second - first, first),
            bound: measure.bound,
            decimals: measure.decimals,
        })
    };
    links
        .iter()
        .flat_map(|&link| MEASURES.iter().filter_map(move |measure| distance(link, measure)))
        .collect()
}

/// The 95th percentile of the RTT as far as counters tell it, which is all that a kernel gives: of the means of a flow
/// over the distance of two samples, each as often as it has RTT samples. Nearest rank, in the measured interval.
fn rtt_ms_p95(run: &Run, link: usize) -> Option<f64> {
    let series = &run.record.series;
    let from = series
        .time_ns
        .partition_point(|&t| t < run.spec.warmup_ns)
        .min(series.time_ns.len());
    let mut means: Vec<(u64, u64)> = Vec::new();
    for flow in measure::crossing_flows(run, link) {
        for pair in series.flows[flow].get(from..).unwrap_or_default().windows(2) {
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

/// What a person wants to know first: how many of the bounds hold, and which do not.
pub fn in_words(distances: &[Distance]) -> String {
    let bounded: Vec<&Distance> = distances.iter().filter(|distance| distance.bound.is_some()).collect();
    let beyond: Vec<String> = bounded
        .iter()
        .filter(|distance| distance.agreement() == Agreement::Beyond)
        .map(|distance| {
            let relative = distance
                .relative
                .map_or_else(String::new, |share| format!(" {:+.1} %", share * 100.0));
            let point = point_text(&distance.point);
            let at = if point.is_empty() {
                String::new()
            } else {
                format!(" at {point}")
            };
            format!(
                "{} of {} over {}{at}{relative}",
                distance.figure, distance.law, distance.link
            )
        })
        .collect();
    let within = bounded.len() - beyond.len();
    let mut text = format!("{within} of {} distances are within their bounds", bounded.len());
    if !beyond.is_empty() {
        let _ = write!(text, "; beyond: {}", beyond.join("; "));
    }
    text + "."
}

/// Headings and rows of the table of distances: cells as text, and how each row's grounds agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DistanceTable {
    /// Headings; the first `texts` of them are over text.
    pub headings: Vec<String>,
    /// How many columns from the left hold text.
    pub texts: usize,
    /// The rows.
    pub rows: Vec<(Vec<String>, Agreement)>,
}

/// The distances as a table, a column for the value on each of two grounds.
pub fn table(distances: &[Distance]) -> DistanceTable {
    let has_point = distances.iter().any(|distance| !distance.point.is_empty());
    let has_links = in_order(distances.iter().map(|distance| &distance.link)).len() > 1;
    let others = in_order(distances.iter().map(|distance| distance.second_ground.as_str()));
    let first = distances.first().map_or("", |distance| distance.first_ground.as_str());
    let second = if others.len() == 1 { others[0] } else { "other" };
    let keys = |point: String, link: String, ground: String| {
        let shown = [(has_point, point), (has_links, link), (others.len() > 1, ground)];
        shown
            .into_iter()
            .filter(|(is_shown, _)| *is_shown)
            .map(|(_, text)| text)
            .collect::<Vec<_>>()
    };
    let mut headings = keys("point".to_owned(), "link".to_owned(), "ground".to_owned());
    headings.extend(["law", "figure", "", first, second, "difference", "bound", ""].map(str::to_owned));
    let row = |distance: &Distance| {
        let decimals = distance.decimals;
        let percent = |share: f64| format!("{:+.1} %", share * 100.0);
        let verdict = match distance.agreement() {
            Agreement::Within => "within",
            Agreement::Beyond => "BEYOND",
            Agreement::Told => "",
        };
        let mut cells = keys(
            point_text(&distance.point),
            distance.link.clone(),
            distance.second_ground.clone(),
        );
        cells.extend([
            distance.law.clone(),
            distance.figure.to_owned(),
            distance.unit.to_owned(),
            format!("{:.decimals$}", distance.first),
            format!("{:.decimals$}", distance.second),
            distance.relative.map_or_else(|| "-".to_owned(), percent),
            distance
                .bound
                .map_or_else(String::new, |bound| format!("{:.0} %", bound * 100.0)),
            verdict.to_owned(),
        ]);
        (cells, distance.agreement())
    };
    DistanceTable {
        texts: headings.len() - 5,
        headings,
        rows: distances.iter().map(row).collect(),
    }
}

/// The distances as text that ends with a new line.
pub fn terminal(distances: &[Distance]) -> String {
    let DistanceTable { headings, texts, rows } = table(distances);
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled);
    let columns = headings.len();
    table.add_row(headings);
    for (cells, _) in rows {
        table.add_row(cells);
    }
    for (place, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, if place + 1 == columns { 0 } else { 2 }));
        if (texts..columns - 1).contains(&place) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}
