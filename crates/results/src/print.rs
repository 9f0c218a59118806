//! The tables of a result for papers: those of the terminal as LaTeX or Markdown, and every figure of them as CSV.

mod csv;
mod markup;

use crate::Summary;

/// How a table is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `tabular` with the rules of the package booktabs.
    Latex,
    /// A pipe table.
    Markdown,
    /// Numbers alone: of each figure its mean, half the width of its interval, and how many seeds.
    Csv,
}

/// Which tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tables {
    /// A row per point of the sweep and law.
    Laws,
    /// A row per group of flows that share a link.
    Groups,
    /// What laws do to each other: a row per law, a column per law that it was beside; as CSV a row per pair.
    Versus,
}

/// The tables of some links as text that ends with a new line; empty where there is nothing of the kind. `columns`
/// names the columns of figures that a table shows, all where it names none; CSV has them all.
///
/// # Errors
/// A name of `columns` that no table has: what was given, and what there is.
pub fn tables(
    summary: &Summary,
    links: &[String],
    tables: &[Tables],
    form: Form,
    columns: &[String],
) -> Result<String, String> {
    match form {
        Form::Csv => Ok(tables.iter().map(|&which| csv::table(summary, links, which)).collect()),
        Form::Latex | Form::Markdown => markup::tables(summary, links, tables, form, columns),
    }
}
