//! What each column may hold, whatever was simulated. A column that is not declared here fails the test, so that a new
//! one cannot come without its range.

use std::collections::BTreeMap;

use serde_json::Value;

use super::table::{Table, Tables};

/// The values of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range {
    /// A text that is not empty.
    Name,
    /// A text that may be empty.
    Text,
    /// A whole number from 0 on.
    Count,
    /// A whole number that never falls from one sample of a link or flow to the next.
    Grows,
    /// A time that comes after that of the sample before.
    Clock,
    /// A whole number from 1 on.
    Positive,
    /// Absent, or a real number between these two.
    Real(f64, f64),
}

use Range::{Clock, Count, Grows, Name, Positive, Real, Text};

/// A part of a whole. Ratios of counts are exact at both ends.
const SHARE: Range = Real(0.0, 1.0);

const ANY: Range = Real(0.0, f64::MAX);

/// A part of what could be sent, in whole bytes: over an interval in which a handful could, one too many may be
/// counted. The relations say how little that is.
const UTILISATION: Range = Real(0.0, 2.0);

/// A column has one meaning in whichever table it stands. Metrics of `summary.json` are columns of `runs`.
pub const RANGES: [(&str, Range); 89] = [
    ("ground", Name),
    ("run", Count),
    ("seed", Count),
    ("law", Name),
    ("point", Text),
    ("link", Name),
    ("tunnel", Name),
    ("flow", Name),
    ("group", Name),
    ("sender", Name),
    ("flows", Positive),
    ("time_ns", Clock),
    ("measured_ns", Positive),
    ("arrived_pkts", Grows),
    ("arrived_bytes", Grows),
    ("sent_pkts", Grows),
    ("sent_bytes", Grows),
    ("offered_bytes", Grows),
    ("dropped_full_pkts", Grows),
    ("dropped_law_pkts", Grows),
    ("dropped_pkts", Count),
    ("no_sa_entering_pkts", Count),
    ("no_sa_leaving_pkts", Count),
    ("entered_pkts", Count),
    ("left_pkts", Count),
    ("dropped_bytes", Grows),
    ("lost_air_pkts", Grows),
    ("marked_pkts", Grows),
    ("queue_byte_us", Grows),
    ("queue_pkt_us", Grows),
    ("queue_bytes", Count),
    ("queue_pkts", Count),
    ("sent_data_pkts", Grows),
    ("lost_air_data_pkts", Grows),
    ("retransmitted_pkts", Grows),
    ("recovered_pkts", Grows),
    ("reordered_pkts", Grows),
    ("delivered_bytes", Grows),
    ("timeouts", Grows),
    ("recoveries", Grows),
    ("ecn_reductions", Grows),
    ("rtt_samples", Grows),
    ("rtt_us_sum", Grows),
    ("cwnd_pkts", Count),
    ("ssthresh_pkts", Count),
    ("srtt_us", Count),
    ("in_flight_pkts", Count),
    ("utilisation", UTILISATION),
    // The deviation of two bins at either end of that.
    ("utilisation_sd", Real(0.0, std::f64::consts::SQRT_2)),
    ("utilisation_min", UTILISATION),
    ("utilisation_max", UTILISATION),
    ("goodput_bps", ANY),
    ("jain", SHARE),
    ("queue_pkts_mean", ANY),
    ("queue_wait_ms_mean", ANY),
    ("queue_wait_ms_p50", ANY),
    ("queue_wait_ms_p95", ANY),
    ("queue_wait_ms_p99", ANY),
    ("drop_rate", SHARE),
    ("mark_rate", SHARE),
    ("air_loss_rate", SHARE),
    ("air_loss_rate_exact", SHARE),
    ("rtt_ms_mean", ANY),
    ("rtt_ms_p50", ANY),
    ("rtt_ms_p95", ANY),
    ("rtt_ms_p99", ANY),
    ("retransmit_rate", SHARE),
    ("share", SHARE),
    ("cwnd_pkts_mean", ANY),
    ("completions", Grows),
    ("completion_s_mean", ANY),
    ("convergence_s", ANY),
    ("completion_s_p50", ANY),
    ("completion_s_p95", ANY),
    ("completion_s_p99", ANY),
    ("start_ns", Count),
    ("end_ns", Count),
    ("bytes", Count),
    ("quantity", Name),
    ("lower_ns", Count),
    ("upper_ns", Count),
    ("count", Positive),
    // What `summary.json` says of a metric.
    ("n", Positive),
    ("mean", ANY),
    ("ci95_half_width", ANY),
    ("ci95_high", ANY),
    ("ci95_low", ANY),
    ("min", ANY),
    ("max", ANY),
];

pub fn range(column: &str) -> Result<Range, String> {
    let known = RANGES.iter().find(|(name, _)| *name == column);
    let missing = || format!("column {column} has no range: declare it in crates/cli/tests/random/ranges.rs");
    known.map(|(_, range)| *range).ok_or_else(missing)
}

impl Range {
    /// What is wrong with a cell.
    fn fault(self, cell: &str) -> Option<String> {
        let is_good = match self {
            Text => true,
            Name => !cell.is_empty(),
            Count | Grows | Clock => cell.parse::<u64>().is_ok_and(|value| i64::try_from(value).is_ok()),
            Positive => cell.parse::<u64>().is_ok_and(|value| value > 0),
            Real(min, max) => cell.is_empty() || cell.parse().is_ok_and(|value: f64| (min..=max).contains(&value)),
        };
        (!is_good).then(|| format!("is {cell}, which is not in {self:?}"))
    }

    /// What is wrong with a cell that follows another of the same link or flow.
    fn fall(self, before: u64, now: u64) -> Option<String> {
        match self {
            Grows if now < before => Some(format!("fell from {before} to {now}")),
            Clock if now <= before => Some(format!("is {now} after {before}")),
            _ => None,
        }
    }
}

/// Checks each cell of each table, and that samples never fall.
pub fn check(tables: &Tables, findings: &mut Vec<String>) {
    for table in tables.iter() {
        for (place, column) in table.columns.iter().enumerate() {
            match range(column) {
                // Of what is no group's data, and of round trips, which belong to no link.
                Ok(Name) if table.name == "histograms" => check_column(table, place, Text, findings),
                Ok(range) => check_column(table, place, range, findings),
                Err(missing) => findings.push(missing),
            }
        }
    }
}

fn check_column(table: &Table, place: usize, range: Range, findings: &mut Vec<String>) {
    let column = &table.columns[place];
    let mut faults = |row: usize, fault: Option<String>| {
        findings.extend(fault.map(|fault| format!("{}: {column} {fault}", table.about(row))));
    };
    for (row, cells) in table.rows.iter().enumerate() {
        faults(row, range.fault(cells.get(place).map_or("missing", String::as_str)));
    }
    let key = match table.name {
        "links" => "link",
        "flows" => "flow",
        _ => return,
    };
    for row in 1..table.rows.len() {
        if table.text(row, key) == table.text(row - 1, key) {
            faults(row, range.fall(table.count(row - 1, column), table.count(row, column)));
        }
    }
}

/// Checks the metrics of `summary.json`: each in its range over the seeds, mean and ends in order.
pub fn check_summary(summary: &Value, tables: &Tables, findings: &mut Vec<String>) {
    let groups = summary["groups"].as_array().cloned().unwrap_or_default();
    if groups.len() != tables.get("runs").rows.len() {
        findings.push(format!("summary.json has {} groups", groups.len()));
    }
    for group in groups {
        let metrics: BTreeMap<String, BTreeMap<String, Option<f64>>> =
            serde_json::from_value(group["metrics"].clone()).unwrap_or_default();
        for (name, stat) in metrics {
            let place = format!("summary.json, link {}, {name}", group["link"]);
            let of = |key: &str| stat.get(key).copied().flatten();
            for (key, value) in &stat {
                let cell = value.map_or(String::new(), |value| value.to_string());
                let ranges =
                    range(key).and_then(|own| Ok([Some(own), is_value(key).then(|| range(&name)).transpose()?]));
                match ranges {
                    Ok(ranges) => {
                        let faults = ranges
                            .into_iter()
                            .flatten()
                            .filter_map(|range| range.of_seeds().fault(&cell));
                        findings.extend(faults.map(|fault| format!("{place}: {key} {fault}")));
                    }
                    Err(missing) => findings.push(missing),
                }
            }
            let ordered = [of("min"), of("mean"), of("max")];
            if !ordered
                .windows(2)
                .all(|pair| matches!(pair, [Some(a), Some(b)] if *a <= b * (1.0 + 1e-12)))
            {
                findings.push(format!("{place}: min, mean and max are {ordered:?}"));
            }
        }
    }
}

fn is_value(key: &str) -> bool {
    ["mean", "min", "max"].contains(&key)
}

impl Range {
    /// The same for what is a mean over seeds.
    fn of_seeds(self) -> Self {
        match self {
            Count | Grows => ANY,
            range => range,
        }
    }
}
