//! One CSV table over all links: keys, then four columns of numbers for each figure.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::{Asked, Tables};
use crate::Summary;
use crate::distinct::in_order;
use crate::interval::Stat;
use crate::measure::METRICS;
use crate::shares::SHARE_METRICS;
use crate::versus::{self, Beside};

/// A row: its point, its other keys, and its figures by name.
struct Row<'a> {
    point: &'a [(String, String)],
    keys: Vec<String>,
    metrics: Cow<'a, BTreeMap<&'static str, Stat>>,
}

/// The table; empty without rows.
///
/// # Errors
/// A name that none has: what was given, and what there is.
pub fn table(summary: &Summary, links: &[String], which: Tables, asked: &Asked) -> Result<String, String> {
    let is_law = |law: &String| asked.laws.is_empty() || asked.laws.contains(law);
    let is_asked = |link: &String| links.contains(link);
    let (keys, metrics, rows): (&[&str], Vec<(&str, &str)>, Vec<Row>) = match which {
        Tables::Laws => (
            &["link", "law"],
            METRICS.iter().map(|info| (info.name, info.unit)).collect(),
            summary
                .groups
                .iter()
                .filter(|group| is_asked(&group.link) && is_law(&group.law))
                .map(|group| Row {
                    point: &group.point,
                    keys: vec![group.link.clone(), group.law.clone()],
                    metrics: Cow::Borrowed(&group.metrics),
                })
                .collect(),
        ),
        Tables::Groups => (
            &["link", "law", "group", "sender", "flows"],
            SHARE_METRICS.iter().map(|info| (info.name, info.unit)).collect(),
            summary
                .shares
                .iter()
                .filter(|share| is_asked(&share.link) && is_law(&share.law))
                .map(|share| Row {
                    point: &share.point,
                    keys: vec![
                        share.link.clone(),
                        share.law.clone(),
                        share.group.clone(),
                        share.sender.clone(),
                        share.flows.to_string(),
                    ],
                    metrics: Cow::Borrowed(&share.metrics),
                })
                .collect(),
        ),
        Tables::Versus => (
            &VERSUS_KEYS,
            versus::FIGURES.to_vec(),
            summary
                .versus
                .iter()
                .filter(|beside| is_asked(&beside.link))
                .map(beside_row)
                .collect(),
        ),
    };
    if rows.is_empty() {
        return Ok(String::new());
    }
    Ok(written(keys, &chosen(metrics, &asked.columns)?, &rows))
}

/// Those of `metrics` that are asked for, in the order in which they are.
fn chosen<'a>(metrics: Vec<(&'a str, &'a str)>, columns: &[String]) -> Result<Vec<(&'a str, &'a str)>, String> {
    if columns.is_empty() {
        return Ok(metrics);
    }
    let mut all = Vec::new();
    for name in columns {
        let of_name: Vec<_> = metrics
            .iter()
            .copied()
            .filter(|(metric, _)| metric.starts_with(name.as_str()))
            .collect();
        if of_name.is_empty() {
            let there: Vec<&str> = metrics.iter().map(|(metric, _)| *metric).collect();
            return Err(format!(
                "no figure of the CSV is called {name}; there are: {}",
                there.join(", ")
            ));
        }
        all.extend(of_name);
    }
    Ok(in_order(all.into_iter()))
}

/// Times have no interval, so they are no figures of four columns.
const VERSUS_KEYS: [&str; 12] = [
    "link",
    "ground",
    "group",
    "law",
    "flows",
    "beside",
    "beside_flows",
    "runs",
    "converged",
    "convergence_s median (s)",
    "convergence_s min (s)",
    "convergence_s max (s)",
];

fn beside_row(beside: &Beside) -> Row<'_> {
    let times = &beside.convergence;
    let seconds = |time: Option<f64>| time.map_or_else(String::new, |time| time.to_string());
    let figures = versus::FIGURES.iter().zip(beside.figures());
    Row {
        point: &beside.point,
        keys: vec![
            beside.link.clone(),
            beside.ground.clone(),
            beside.group.clone().unwrap_or_default(),
            beside.law.clone(),
            beside.flows.to_string(),
            beside.beside.clone(),
            beside.beside_flows.to_string(),
            times.of.to_string(),
            times.reached.to_string(),
            seconds(times.median_s),
            seconds(times.min_s),
            seconds(times.max_s),
        ],
        metrics: Cow::Owned(figures.filter_map(|((name, _), stat)| Some((*name, stat?))).collect()),
    }
}

fn written(keys: &[&str], metrics: &[(&str, &str)], rows: &[Row]) -> String {
    let swept = in_order(
        rows.iter()
            .flat_map(|row| row.point.iter().map(|(key, _)| key.as_str())),
    );
    let known: Vec<_> = metrics
        .iter()
        .filter(|(name, _)| rows.iter().any(|row| row.metrics.contains_key(name)))
        .collect();
    let headings = known.iter().flat_map(|(name, unit)| {
        [
            format!("{name} ({unit})"),
            format!("{name} ci95_low ({unit})"),
            format!("{name} ci95_high ({unit})"),
            format!("{name} n"),
        ]
    });
    let first = swept.iter().chain(keys).map(|&key| key.to_owned());
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut write = |record: Vec<String>| writer.write_record(record).expect("a vector takes all that is written");
    write(first.chain(headings).collect());
    for row in rows {
        let coordinate = |key: &&str| {
            let found = row.point.iter().find(|(name, _)| name == key);
            found.map_or_else(String::new, |(_, value)| value.clone())
        };
        let figures = known.iter().flat_map(|(name, _)| {
            row.metrics.get(name).map_or_else(Default::default, |stat| {
                let end = |end: Option<f64>| end.map_or_else(String::new, |end| end.to_string());
                let [low, high] = [end(stat.ci95_low), end(stat.ci95_high)];
                [stat.mean.to_string(), low, high, stat.n.to_string()]
            })
        });
        write(
            swept
                .iter()
                .map(coordinate)
                .chain(row.keys.clone())
                .chain(figures)
                .collect(),
        );
    }
    let bytes = writer.into_inner().expect("a vector takes all that is written");
    String::from_utf8(bytes).expect("CSV of texts is text")
}
