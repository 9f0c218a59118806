//! The reference of all columns and metrics, made from the tables that write them.

use std::fmt::Write;

use crate::columns::Table;
use crate::measure::METRICS;
use crate::tables;

/// The generated part of `docs/results.md`.
pub fn reference() -> String {
    let mut text = String::new();
    table(&mut text, &tables::links());
    table(&mut text, &tables::flows());
    table(&mut text, &tables::watched::table());
    table(&mut text, &tables::runs());
    table(&mut text, &tables::flow_totals());
    table(&mut text, &tables::groups());
    table(&mut text, &tables::completions::table());
    table(&mut text, &tables::histograms::table());
    table(&mut text, &tables::drops::table());
    table(&mut text, &tables::answers::table());
    table(&mut text, &tables::tunnels::table());
    let _ = writeln!(
        text,
        "### Metrics of `summary.json`\n\n| name | unit | meaning |\n|---|---|---|"
    );
    for info in &METRICS {
        let _ = writeln!(text, "| `{}` | {} | {} |", info.name, info.unit, info.about);
    }
    let _ = writeln!(
        text,
        "\nWhere several groups of flows share a link, `shares` has the figures of `groups.parquet` over the seeds."
    );
    text
}

fn table<R>(text: &mut String, table: &Table<R>) {
    let _ = writeln!(text, "### `{}.parquet`\n\n{}\n", table.name, table.about);
    let _ = writeln!(text, "| column | type | unit | meaning |\n|---|---|---|---|");
    for column in &table.columns {
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} |",
            column.name,
            column.type_name(),
            column.unit,
            column.about
        );
    }
    text.push('\n');
}
