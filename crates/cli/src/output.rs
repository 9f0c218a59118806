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

/// Columns of standard output, where it is a terminal.
pub fn width() -> Option<usize> {
    let measured = console::Term::stdout().size_checked();
    measured.map(|(_, columns)| usize::from(columns).max(COLUMNS_MIN))
}

/// Columns of text on standard output.
pub fn columns() -> usize {
    width().unwrap_or(COLUMNS)
}

/// What is told with its sentences broken to fit a terminal of that width, if it is one. Commands stay in one piece:
/// they are there to be copied.
fn fitted(text: &str, width: Option<usize>) -> String {
    let Some(width) = width else {
        return text.to_owned();
    };
    let line = |line: &str| {
        let is_short = console::measure_text_width(line) <= width;
        if is_short || line.trim_start().starts_with("fadelab ") {
            return line.to_owned();
        }
        let body = line.trim_start();
        let indent = &line[..line.len() - body.len()];
        let further = format!("{indent}  ");
        let options = textwrap::Options::new(width)
            .initial_indent(indent)
            .subsequent_indent(&further);
        textwrap::fill(
            body,
            options
                .break_words(false)
                .word_splitter(textwrap::WordSplitter::NoHyphenation),
        )
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Prints what a person is told to standard output: in a terminal no line is wider than it.
///
/// # Errors
/// When the output cannot be written.
pub fn print_told(text: &str) -> Result<(), Failure> {
    print(&fitted(text, width()))
}

/// A table without lines whose rows are a line each, however wide that is.
pub fn wide_table() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table
}

/// A table without lines that fits standard output by wrapping its cells.
pub fn table() -> Table {
    let mut table = wide_table();
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

/// Reads a result, and says where another fadelab wrote it.
///
/// # Errors
/// A folder that holds none, a damaged one, or one of a version that this cannot read.
pub fn result(folder: &Path) -> Result<Experiment, Failure> {
    let experiment = fadelab_results::read(folder)?;
    let (own, version) = (env!("CARGO_PKG_VERSION"), &experiment.version);
    if version != own {
        let folder = folder.display();
        warn(&[format!(
            "{folder}: the result is of fadelab {version}, and this is {own}: its figures are computed as this one \
             does; run its scenario again to compare"
        )]);
    }
    Ok(experiment)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_fit_the_terminal_and_commands_stay_whole() {
        // Goal: at 40 columns a sentence has lines of at most 40, with its indentation and every word; a command keeps
        // its line, and without a terminal nothing is touched.
        let told = "  first run: 10 flows over 42 links, shown: bottleneck; delay 1032 ms\n\n  fadelab run \
                    scenarios/satellite.toml --set flow.law=vcp --seeds 5\n";
        let text = fitted(told, Some(40));
        let (sentence, command) = text.split_once("\n\n").unwrap();
        assert!(
            sentence.lines().all(|line| line.len() <= 40 && line.starts_with("  ")),
            "{text}"
        );
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words(&text), words(told));
        assert_eq!(command.lines().count(), 1, "{text}");
        assert_eq!(fitted(told, None), told);
    }
}
