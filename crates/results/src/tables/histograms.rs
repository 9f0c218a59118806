//! The table of how often which delay came.

use fadelab_path::histogram::{Bin, Histogram};

use super::{Keyed, RunKey, key_columns};
use crate::Run;
use crate::columns::{Column, Table};

/// What the column `quantity` says.
pub(crate) const WAIT: &str = "wait";
pub(crate) const RTT: &str = "rtt";

/// RTT samples are counted in microseconds.
pub(crate) const RTT_UNIT_NS: u64 = 1000;

/// A row of `histograms.parquet`: a bin that holds something.
pub struct BinRow<'a> {
    key: RunKey<'a>,
    quantity: &'static str,
    link: &'a str,
    group: &'a str,
    lower_ns: u64,
    upper_ns: u64,
    count: u64,
}

impl Keyed for BinRow<'_> {
    fn key(&self) -> &RunKey<'_> {
        &self.key
    }
}

/// `histograms.parquet`.
pub fn table<'a>() -> Table<BinRow<'a>> {
    let mut columns = key_columns();
    columns.extend([
        Column::text(
            "quantity",
            "`wait`: how long packets waited that left the queue of the link; `rtt`: RTT samples of the group's \
             senders, whole microseconds",
            |row: &BinRow| row.quantity,
        ),
        Column::text("link", "name of the link; empty for round trips", |row: &BinRow| {
            row.link
        }),
        Column::text(
            "group",
            "name of the group of flows whose data it is about; empty for what is no group's data, such as ACKs",
            |row: &BinRow| row.group,
        ),
        Column::count("lower_ns", "ns", "the least delay of the bin", |row: &BinRow| {
            row.lower_ns
        }),
        Column::count("upper_ns", "ns", "the largest delay of the bin", |row: &BinRow| {
            row.upper_ns
        }),
        Column::count("count", "1", "how many there were", |row: &BinRow| row.count),
    ]);
    Table {
        name: "histograms",
        about: "How often which delay came in the measured interval, of all samples: a bin that holds some, at most \
                1/128 of its least delay wide. The simulator's alone.",
        columns,
    }
}

pub(super) fn rows<'a>(run: &'a Run, key: RunKey<'a>) -> Vec<BinRow<'a>> {
    let mut rows = Vec::new();
    let mut add = |quantity, link: &'a str, group: &'a str, unit_ns: u64, histogram: &Histogram| {
        rows.extend(histogram.bins().map(|Bin { lower, upper, count }| BinRow {
            key,
            quantity,
            link,
            group,
            lower_ns: lower * unit_ns,
            upper_ns: upper * unit_ns,
            count,
        }));
    };
    let delays = &run.record.delays;
    for (&link, waits) in run.record.link_ids.iter().zip(&delays.waits_ns) {
        let link = run.spec.links[link as usize].name.as_ref();
        for group in &waits.groups {
            add(WAIT, link, &group.group, 1, &group.histogram);
        }
        let told: Vec<&Histogram> = waits.groups.iter().map(|group| &group.histogram).collect();
        add(WAIT, link, "", 1, &waits.all.without(&told));
    }
    for group in &delays.rtts_us {
        add(RTT, "", &group.group, RTT_UNIT_NS, &group.histogram);
    }
    rows
}
