//! The table of transfers and sessions that ended.

use fadelab_run::record::Completion;

use super::{Keyed, RunKey, SENDER, key_columns};
use crate::Run;
use crate::columns::{Column, Table};

/// A row of `completions.parquet`.
pub struct CompletionRow<'a> {
    key: RunKey<'a>,
    flow: &'a str,
    group: &'a str,
    sender: &'a str,
    completion: Completion,
}

impl Keyed for CompletionRow<'_> {
    fn key(&self) -> &RunKey<'_> {
        &self.key
    }
}

/// `completions.parquet`.
pub fn table<'a>() -> Table<CompletionRow<'a>> {
    let mut columns = key_columns();
    columns.extend([
        Column::text("flow", "name of the flow", |row: &CompletionRow| row.flow),
        Column::text("group", "group of the flow", |row: &CompletionRow| row.group),
        Column::text("sender", SENDER, |row: &CompletionRow| row.sender),
        Column::count(
            "start_ns",
            "ns",
            "when the application began, by a handshake where there is one",
            |row: &CompletionRow| row.completion.start_ns,
        ),
        Column::count(
            "end_ns",
            "ns",
            "when the last byte was acknowledged",
            |row: &CompletionRow| row.completion.end_ns,
        ),
        Column::count(
            "bytes",
            "B",
            "payload of the transfer or session",
            |row: &CompletionRow| row.completion.bytes,
        ),
    ]);
    Table {
        name: "completions",
        about: "A transfer or session that ended, also before the measured interval, in order of the ends.",
        columns,
    }
}

pub(super) fn rows<'a>(run: &'a Run, key: RunKey<'a>) -> Vec<CompletionRow<'a>> {
    let row = |completion: &Completion| {
        let spec = &run.spec.flows[completion.flow as usize];
        CompletionRow {
            key,
            flow: &spec.name,
            group: &spec.group,
            sender: spec.sender(),
            completion: *completion,
        }
    };
    run.record.completions.iter().map(row).collect()
}
