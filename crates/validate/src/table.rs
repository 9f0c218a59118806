//! The rows of a section for the terminal.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use crate::section::{Row, Section, number};

/// Title, table and notes.
pub fn terminal(section: &Section) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled);
    let heads = [
        "case",
        "quantity",
        "unit",
        "reference",
        "ours",
        "difference",
        "tolerance",
        "verdict",
    ];
    table.set_header(heads);
    for row in &section.rows {
        table.add_row(cells(row));
    }
    for column in 3..7 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    format!("{}\n{table}\n", console::style(&section.title).bold())
}

fn cells(row: &Row) -> [String; 8] {
    [
        row.case.clone(),
        row.quantity.clone(),
        row.unit.to_owned(),
        number(row.reference),
        row.ours_text(),
        row.difference(),
        row.tolerance.text(),
        row.verdict.text(),
    ]
}
