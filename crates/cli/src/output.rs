//! Printing that does not panic when the reader of a pipe has gone.

use std::io::{ErrorKind, Write};

use crate::Failure;

/// Prints to standard output. A closed pipe, as in `fadelab show x.toml | head`, is no failure.
///
/// # Errors
/// When the output cannot be written.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Prints remarks to standard error.
pub fn note(lines: &[String]) {
    for line in lines {
        eprintln!("{line}");
    }
}

/// Prints warnings to standard error.
pub fn warn(warnings: &[String]) {
    for warning in warnings {
        eprintln!("{} {warning}", console::style("warning:").yellow().bold().for_stderr());
    }
}
