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
    /// Numbers alone: of each figure its mean, the ends of its interval, and how many seeds.
    Csv,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tables {
    /// A row per point of the sweep and law.
    Laws,
    /// A row per group of flows that share a link.
    Groups,
    /// What laws do to each other: a row per law, a column per law that it was beside; as CSV a row per pair.
    Versus,
}

/// What is left out of tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The columns of figures that a table shows, by heading or its beginning; in CSV by the name of the figure. All
    /// usual ones where it names none.
    pub columns: Vec<String>,
    /// Labels of the only laws, as the table of laws has them; all where there is none. Matrices have all.
    pub laws: Vec<String>,
    /// The only figure of laws beside each other, one of [`crate::table::versus::NAMES`].
    pub metric: Option<String>,
}

/// The tables of some links as text that ends with a new line; empty where there is nothing of the kind.
///
/// # Errors
/// A name of a column that no table has: what was given, and what there is.
pub fn tables(
    summary: &Summary,
    links: &[String],
    tables: &[Tables],
    form: Form,
    asked: &Asked,
) -> Result<String, String> {
    match form {
        Form::Csv => {
            let all = tables.iter().map(|&which| csv::table(summary, links, which, asked));
            all.collect()
        }
        Form::Latex | Form::Markdown => markup::tables(summary, links, tables, form, asked),
    }
}
