//! Printing that does not panic when nobody reads it: a pipe that is closed, a file on a full disk.

use std::io::{ErrorKind, Write};
use std::path::Path;

use fadelab_lab::Failure;
use fadelab_results::Experiment;

use comfy_table::{ContentArrangement, Table, presets};

/// Columns of text where there is no terminal to measure.
const COLUMNS: usize = 100;

/// Least columns that are worth wrapping to.
const COLUMNS_MIN: usize = 40;

/// Columns of standard output.
pub fn columns() -> usize {
    let measured = console::Term::stdout().size_checked();
    measured.map_or(COLUMNS, |(_, columns)| usize::from(columns).max(COLUMNS_MIN))
}

/// A table without lines that fits standard output by wrapping its cells.
pub fn table() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(columns() as u16);
    table
}

/// The table as text; its first line is bold on a terminal.
pub fn with_bold_header(table: &mut Table) -> String {
    table.column_iter_mut().for_each(|column| {
        column.set_padding((0, 2));
    });
    let text = table.trim_fmt();
    let (header, rows) = text.split_once('\n').unwrap_or((&text, ""));
    format!("{}\n{rows}", console::style(header).bold())
}

/// Prints to standard output. A closed pipe, as in `fadelab show x.toml | head`, is no failure.
///
/// # Errors
/// When the output cannot be written.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(not_written(&error)),
        _ => Ok(()),
    }
}

/// What is said when the output cannot be written.
pub fn not_written(error: &std::io::Error) -> Failure {
    Failure::Failed(format!("cannot write the output: {error}"))
}

/// Reads a result.
///
/// # Errors
/// A folder that holds none.
pub fn result(folder: &Path) -> Result<Experiment, Failure> {
    Ok(fadelab_results::read(folder)?)
}

/// Prints a line to standard error. Where it cannot be written there is nobody left to tell, and what is done or its
/// exit status stays the same.
pub fn tell(mut line: String) {
    line.push('\n');
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Prints remarks to standard error.
pub fn note(lines: &[String]) {
    for line in lines {
        tell(line.clone());
    }
}

/// Prints warnings to standard error.
pub fn warn(warnings: &[String]) {
    for warning in warnings {
        tell(format!(
            "{} {warning}",
            console::style("warning:").yellow().bold().for_stderr()
        ));
    }
}
