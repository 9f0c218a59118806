//! The table of whose data links dropped.

use super::{Keyed, RunKey, key_columns};
use crate::Run;
use crate::columns::{Column, Table};

/// A row of `drops.parquet`.
pub struct DropRow<'a> {
    key: RunKey<'a>,
    link: &'a str,
    group: &'a str,
    dropped_pkts: u64,
}

impl Keyed for DropRow<'_> {
    fn key(&self) -> &RunKey<'_> {
        &self.key
    }
}

/// `drops.parquet`.
pub fn table<'a>() -> Table<DropRow<'a>> {
    let mut columns = key_columns();
    columns.extend([
        Column::text("link", "name of the link", |row: &DropRow| row.link),
        Column::text(
            "group",
            "name of the group of flows whose data they were",
            |row: &DropRow| row.group,
        ),
        Column::count(
            "dropped_pkts",
            "pkt",
            "data packets that the queue dropped, for want of room or by the router's law",
            |row: &DropRow| row.dropped_pkts,
        ),
    ]);
    Table {
        name: "drops",
        about: "Whose data the queue of a link dropped in the measured interval; no row: none. The simulator's alone.",
        columns,
    }
}

pub(super) fn rows<'a>(run: &'a Run, key: RunKey<'a>) -> Vec<DropRow<'a>> {
    let row = |dropped: &'a fadelab_run::record::DroppedOf| DropRow {
        key,
        link: run.spec.links[dropped.link as usize].name.as_ref(),
        group: &dropped.group,
        dropped_pkts: dropped.dropped_pkts,
    };
    run.record.dropped.iter().map(row).collect()
}
