//! The table of the values that laws declare as worth watching.

use super::{Keyed, RunKey, key_columns};
use crate::Run;
use crate::columns::{Column, Table, Value};
use crate::watch::{self, Declared};

/// A row of `watch.parquet`: a sample of a value.
pub struct WatchRow<'a> {
    key: RunKey<'a>,
    kind: &'static str,
    who: &'a str,
    declared: &'a Declared,
    value: &'a watch::Value,
    time_ns: u64,
    raw: u64,
}

impl Keyed for WatchRow<'_> {
    fn key(&self) -> &RunKey<'_> {
        &self.key
    }
}

/// `watch.parquet`.
pub fn table<'a>() -> Table<WatchRow<'a>> {
    let mut columns = key_columns();
    columns.extend([
        Column::text("kind", "`flow` or `link`", |row: &WatchRow| row.kind),
        Column::text("who", "name of the flow or link", |row: &WatchRow| row.who),
        Column::text(
            "role",
            "who declares the value: `sender`, `shadow` of a law that looks on, or `router` or `capacity` at a link",
            |row: &WatchRow| &row.declared.role,
        ),
        Column::text("declared_by", "name of that law or part", |row: &WatchRow| {
            &row.declared.law
        }),
        Column::text(
            "name",
            "name of the value; `fadelab explain LAW` says what it is",
            |row: &WatchRow| &row.value.name,
        ),
        Column::text(
            "unit",
            "its unit; `bool` is 0 or 1, and of names joined by a bar the value is a place, from 0",
            |row: &WatchRow| &row.value.unit,
        ),
        Column::count("time_ns", "ns", "virtual time of the sample", |row: &WatchRow| {
            row.time_ns
        }),
        Column {
            name: "value".into(),
            unit: "".into(),
            about: "the value, in the unit of the row".to_owned(),
            value: Value::Real(Box::new(|row: &WatchRow| Some(row.value.shown(row.raw)))),
        },
        Column {
            name: "raw".into(),
            unit: "1".into(),
            about: "the integer that the law computes with, of which that is made".to_owned(),
            value: Value::Signed(Box::new(|row: &WatchRow| row.raw as i64)),
        },
    ]);
    Table {
        name: "watch",
        about: "A sample of a value that a law declares as worth watching, at the instants of `flows` and `links`.",
        columns,
    }
}

/// A flow or link at a time: there may be many of them.
pub(super) fn rows<'a>(run: &'a Run, key: RunKey<'a>) -> impl Iterator<Item = Vec<WatchRow<'a>>> {
    watch::series(run).map(move |series| {
        let mut rows = Vec::new();
        for (place, &(declared, value)) in series.values.iter().enumerate() {
            let timed = run.record.series.time_ns.iter().zip(series.raw(place));
            rows.extend(timed.map(|(&time_ns, raw)| WatchRow {
                key,
                kind: series.kind,
                who: series.who,
                declared,
                value,
                time_ns,
                raw,
            }));
        }
        rows
    })
}
