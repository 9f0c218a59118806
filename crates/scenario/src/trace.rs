//! Reads recorded capacity in the format of mahimahi: one delivery opportunity a line, its time in ms.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fadelab_path::trace::Trace;

/// What one delivery opportunity carries in mahimahi: an Ethernet payload and the 4 bytes of its TUN header.
pub const OPPORTUNITY_BYTES: u32 = 1_504;

/// Longest line; a time of 20 digits fits, a file of another kind ends early.
const LINE_BYTES_MAX: u64 = 64;

/// Traces that were read, so that a sweep reads each file once.
#[derive(Default)]
pub struct Traces(BTreeMap<PathBuf, Arc<Trace>>);

impl Traces {
    /// The trace at a path.
    ///
    /// # Errors
    /// What is wrong with the file, with its line where there is one.
    pub fn get(&mut self, path: &Path) -> Result<Arc<Trace>, String> {
        if let Some(trace) = self.0.get(path) {
            return Ok(Arc::clone(trace));
        }
        let file = File::open(path).map_err(|error| format!("cannot open {}: {error}", path.display()))?;
        let trace = read(BufReader::new(file)).map_err(|why| format!("{}{why}", path.display()))?;
        let trace = Arc::new(trace);
        self.0.insert(path.to_owned(), Arc::clone(&trace));
        Ok(trace)
    }
}

/// Reads a trace, a line at a time. An error begins with `:LINE: ` or `: `.
///
/// # Errors
/// An empty trace, a line that is not a time in ms, a time before the one above it, or nothing after 0 ms.
pub fn read(mut input: impl BufRead) -> Result<Trace, String> {
    let mut opportunities_ms: Vec<u64> = Vec::new();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let length = input.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
        if length.map_err(|error| format!(": cannot be read: {error}"))? == 0 {
            break;
        }
        let text = line.trim_ascii();
        if text.is_empty() {
            continue;
        }
        let time_ms = time_of(text).ok_or_else(|| {
            let given = String::from_utf8_lossy(text).escape_default().to_string();
            format!(":{number}: `{given}` is not a time in whole ms; a trace has one number a line")
        })?;
        if let Some(before) = opportunities_ms.last().filter(|before| **before > time_ms) {
            return Err(format!(
                ":{number}: {time_ms} ms comes after {before} ms; times in a trace never go back"
            ));
        }
        opportunities_ms.push(time_ms);
    }
    match opportunities_ms.last() {
        None => Err(": the trace is empty; one number a line is needed".to_owned()),
        Some(0) => Err(": the trace ends at 0 ms; its last time is its length and must be greater than 0".to_owned()),
        Some(_) => Ok(Trace {
            opportunities_ms,
            opportunity_bytes: OPPORTUNITY_BYTES,
        }),
    }
}

/// A time of at most 10^12 ms, some thirty years, so that its value in ns fits.
fn time_of(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let digits_only = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse()
        .ok()
        .filter(|time_ms| digits_only && *time_ms <= 1_000_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_read_as_it_stands() {
        // Goal: repeated times, blank lines and a missing last line end are all fine.
        let trace = read(&b"0\n0\n\n1\r\n5"[..]).unwrap();
        assert_eq!(trace.opportunities_ms, [0, 0, 1, 5]);
        assert_eq!(trace.opportunity_bytes, 1504);
    }

    #[test]
    fn a_broken_trace_names_its_line() {
        // Goal: text, a step back, an empty file and binary noise are refused with the line where there is one.
        let refused = |bytes: &[u8]| read(bytes).unwrap_err();
        assert!(refused(b"0\n1\nabc\n").starts_with(":3: `abc` is not a time"));
        assert!(refused(b"0\n7\n6\n").starts_with(":3: 6 ms comes after 7 ms"));
        assert!(refused(b"1\n-2\n").starts_with(":2:"));
        assert!(refused(b"").contains("empty"));
        assert!(refused(b"0\n0\n").contains("ends at 0 ms"));
        assert!(refused(&[0xff; 1_000]).starts_with(":1:"));
        assert!(refused(b"99999999999999999999\n").starts_with(":1:"));
    }
}
