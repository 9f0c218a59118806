//! The columns of the table of laws: headings, units, and how a cell reads.

use crate::measure::Metric;
use crate::summary::Group;
use crate::table::{digits, percentiles_text, stat_text, with_interval};

/// A column of the table: its heading, and how a group's cell reads.
pub(super) struct Column {
    pub heading: &'static str,
    pub unit: &'static str,
    /// Where room is short on a page, columns of a low rank are hidden.
    pub rank: u8,
    pub cell: fn(&Group) -> Option<String>,
}

/// Rank of a column that always stays.
const STAYS: u8 = u8::MAX;

pub(super) const COLUMNS: [Column; 15] = [
    Column {
        heading: "utilisation",
        unit: "%",
        rank: STAYS,
        cell: |g| percent_with_interval(g, Metric::Utilisation),
    },
    Column {
        heading: "10 s bins",
        unit: "% low..high",
        rank: 8,
        cell: swing,
    },
    Column {
        heading: "sd",
        unit: "%",
        rank: 1,
        cell: |g| percent(g, Metric::UtilisationSd),
    },
    Column {
        heading: "goodput",
        unit: "Mbit/s",
        rank: 9,
        cell: goodput,
    },
    Column {
        heading: "Jain",
        unit: "1",
        rank: 6,
        cell: |g| Some(format!("{:.3}", g.stat(Metric::Jain)?.mean)),
    },
    Column {
        heading: "queue",
        unit: "pkt",
        rank: 7,
        cell: |g| plain(g, Metric::QueuePkts),
    },
    Column {
        heading: "wait",
        unit: "ms",
        rank: 2,
        cell: |g| plain(g, Metric::QueueWait),
    },
    Column {
        heading: "RTT",
        unit: "ms",
        rank: 4,
        cell: |g| plain(g, Metric::Rtt),
    },
    Column {
        heading: "drops",
        unit: "%",
        rank: 5,
        cell: |g| percent(g, Metric::DropRate),
    },
    Column {
        heading: "marks",
        unit: "%",
        rank: 0,
        cell: |g| percent(g, Metric::MarkRate),
    },
    Column {
        heading: "air loss",
        unit: "% (exact)",
        rank: 10,
        cell: air_loss,
    },
    Column {
        heading: "transfers",
        unit: "ended, mean s",
        rank: 3,
        cell: transfers,
    },
    Column {
        heading: "RTT p50/95/99",
        unit: "ms",
        rank: 0,
        cell: |g| percentiles(g, [Metric::RttP50, Metric::RttP95, Metric::RttP99]),
    },
    Column {
        heading: "wait p50/95/99",
        unit: "ms",
        rank: 0,
        cell: |g| percentiles(g, [Metric::QueueWaitP50, Metric::QueueWaitP95, Metric::QueueWaitP99]),
    },
    Column {
        heading: "times p50/95/99",
        unit: "s",
        rank: 0,
        cell: |g| {
            let metrics = [
                Metric::CompletionTimeP50,
                Metric::CompletionTimeP95,
                Metric::CompletionTimeP99,
            ];
            percentiles(g, metrics)
        },
    },
];

/// Columns that a table has only where columns are asked for: with intervals, also those that it has without them
/// otherwise.
pub(super) const ASKED: [Column; 16] = [
    asked("sd", "%", |g| asked_percent(g, Metric::UtilisationSd)),
    asked("Jain", "1", |g| asked_cell(g, Metric::Jain)),
    asked("queue", "pkt", |g| asked_cell(g, Metric::QueuePkts)),
    asked("wait", "ms", |g| asked_cell(g, Metric::QueueWait)),
    asked("RTT", "ms", |g| asked_cell(g, Metric::Rtt)),
    asked("drops", "%", |g| asked_percent(g, Metric::DropRate)),
    asked("marks", "%", |g| asked_percent(g, Metric::MarkRate)),
    asked("RTT p50", "ms", |g| asked_cell(g, Metric::RttP50)),
    asked("RTT p95", "ms", |g| asked_cell(g, Metric::RttP95)),
    asked("RTT p99", "ms", |g| asked_cell(g, Metric::RttP99)),
    asked("wait p50", "ms", |g| asked_cell(g, Metric::QueueWaitP50)),
    asked("wait p95", "ms", |g| asked_cell(g, Metric::QueueWaitP95)),
    asked("wait p99", "ms", |g| asked_cell(g, Metric::QueueWaitP99)),
    asked("times p50", "s", |g| asked_cell(g, Metric::CompletionTimeP50)),
    asked("times p95", "s", |g| asked_cell(g, Metric::CompletionTimeP95)),
    asked("times p99", "s", |g| asked_cell(g, Metric::CompletionTimeP99)),
];

const fn asked(heading: &'static str, unit: &'static str, cell: fn(&Group) -> Option<String>) -> Column {
    Column {
        heading,
        unit,
        rank: 0,
        cell,
    }
}

fn asked_percent(group: &Group, metric: Metric) -> Option<String> {
    Some(stat_text(group.stat(metric)?, 100.0))
}

fn asked_cell(group: &Group, metric: Metric) -> Option<String> {
    Some(stat_text(group.stat(metric)?, 1.0))
}

fn plain(group: &Group, metric: Metric) -> Option<String> {
    Some(digits(group.stat(metric)?.mean))
}

fn percent(group: &Group, metric: Metric) -> Option<String> {
    Some(digits(group.stat(metric)?.mean * 100.0))
}

fn percent_with_interval(group: &Group, metric: Metric) -> Option<String> {
    Some(with_interval(group.stat(metric)?, 100.0, false))
}

fn swing(group: &Group) -> Option<String> {
    let (low, high) = (
        group.stat(Metric::UtilisationMin)?.min,
        group.stat(Metric::UtilisationMax)?.max,
    );
    Some(format!("{:.0}..{:.0}", low * 100.0, high * 100.0))
}

fn goodput(group: &Group) -> Option<String> {
    Some(stat_text(group.stat(Metric::Goodput)?, 1e-6))
}

fn air_loss(group: &Group) -> Option<String> {
    let exact = group.stat(Metric::AirLossExact)?;
    Some(format!(
        "{} ({})",
        percent(group, Metric::AirLoss)?,
        digits(exact.mean * 100.0)
    ))
}

fn transfers(group: &Group) -> Option<String> {
    let time = group.stat(Metric::CompletionTime)?;
    Some(format!(
        "{:.0}, {}",
        group.stat(Metric::Completions)?.mean,
        digits(time.mean)
    ))
}

/// Percentiles in one cell; where one is absent all are.
fn percentiles(group: &Group, metrics: [Metric; 3]) -> Option<String> {
    percentiles_text(metrics.map(|metric| group.stat(metric)))
}
