//! Reads recorded capacity in the format of mahimahi: one delivery opportunity a line, its time in ms.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fadelab_path::trace::{Trace, TraceRules};
use fadelab_phy::random::Stream;

use crate::ready_made;

/// What one delivery opportunity carries in mahimahi: an Ethernet payload and the 4 bytes of its TUN header.
pub const OPPORTUNITY_BYTES: u32 = 1_504;

/// Most opportunities of a trace, five hours at 100 Mbit/s: a pipe that never ends shall not fill the memory.
const OPPORTUNITIES_MAX: usize = 150_000_000;

/// Longest line; a time of 20 digits fits, a file of another kind ends early.
const LINE_BYTES_MAX: u64 = 64;

/// Traces that were read, so that a sweep reads each file once for either way to use it.
#[derive(Default)]
pub struct Traces(BTreeMap<(PathBuf, TraceRules), Arc<Trace>>);

impl Traces {
    /// The trace at a path, to be used by `rules`.
    ///
    /// # Errors
    /// What is wrong with the file, with its line where there is one.
    pub fn get(&mut self, path: &Path, rules: TraceRules) -> Result<Arc<Trace>, String> {
        let key = (path.to_owned(), rules);
        if let Some(trace) = self.0.get(&key) {
            return Ok(Arc::clone(trace));
        }
        let trace = match (File::open(path), ready_made::trace(path)) {
            (Ok(file), _) => read(BufReader::new(file)),
            (Err(error), Some(text)) if error.kind() == ErrorKind::NotFound => read(text.as_bytes()),
            (Err(error), _) => return Err(format!("cannot open {}: {error}", path.display())),
        };
        let trace = trace.map_err(|why| format!("{}{why}", path.display()))?;
        let trace = Arc::new(Trace { rules, ..trace });
        self.0.insert(key, Arc::clone(&trace));
        Ok(trace)
    }
}

/// Reads a trace with plain rules, a line at a time. An error begins with `:LINE: ` or `: `.
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
        if opportunities_ms.len() == OPPORTUNITIES_MAX {
            return Err(format!(
                ":{number}: a trace has at most {OPPORTUNITIES_MAX} opportunities"
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
            rules: TraceRules::Plain,
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

/// A synthetic cellular link: a rate that wanders, deep fades now and then, opportunities in whole ms.
///
/// It stands in for a recording where none may be shipped and claims no likeness beyond its spread: the logarithm of
/// the rate is a first-order autoregressive process, outages come at random and last up to a second.
#[derive(Clone, Copy, Debug)]
pub struct Cellular {
    /// Length before the trace repeats.
    pub duration_ms: u64,
    /// Mean rate outside outages.
    pub rate_bps_mean: u64,
    pub seed: u64,
}

impl Cellular {
    /// Spread of the logarithm of the rate: one standard deviation is a factor of two.
    const LOG_DEVIATION: f64 = 0.7;
    /// How long the rate remembers, in ms.
    const MEMORY_MS: f64 = 1_500.0;
    /// Mean time between outages, in ms.
    const OUTAGE_EVERY_MS: u64 = 10_000;
    /// Longest outage, in ms.
    const OUTAGE_MS_MAX: u64 = 1_000;

    /// When the opportunities come, ascending; the last one ends the period.
    ///
    /// # Errors
    /// A length or rate that gives no opportunity, or too many.
    pub fn opportunities_ms(&self) -> Result<Vec<u64>, String> {
        let bits = u128::from(self.duration_ms) * u128::from(self.rate_bps_mean) / 1_000;
        let expected = bits / u128::from(8 * OPPORTUNITY_BYTES);
        if !(1..=(OPPORTUNITIES_MAX as u128)).contains(&expected) {
            let allowed = format!("duration times rate must give 1 to {OPPORTUNITIES_MAX} of them");
            return Err(format!(
                "a trace of {expected} opportunities of {OPPORTUNITY_BYTES} bytes: {allowed}"
            ));
        }
        let mut random = Stream::new(self.seed, "trace.cellular");
        let keep = 1.0 - 1.0 / Self::MEMORY_MS;
        let kick = Self::LOG_DEVIATION * (1.0 - keep * keep).sqrt();
        let (mut log_rate, mut credit, mut outage_until_ms) = (0.0, 0.0, 0);
        let mut times_ms = Vec::new();
        for now_ms in 0..self.duration_ms {
            log_rate = keep * log_rate + kick * normal(&mut random);
            if random.below(Self::OUTAGE_EVERY_MS) == 0 {
                outage_until_ms = now_ms + random.below(Self::OUTAGE_MS_MAX);
            }
            if now_ms >= outage_until_ms {
                // The mean of a log-normal variable exceeds its median by half its variance.
                let factor = libm::exp(log_rate - Self::LOG_DEVIATION * Self::LOG_DEVIATION / 2.0);
                credit += factor * self.rate_bps_mean as f64 / f64::from(8_000 * OPPORTUNITY_BYTES);
            }
            while credit >= 1.0 {
                times_ms.push(now_ms);
                credit -= 1.0;
            }
        }
        times_ms.push(self.duration_ms);
        Ok(times_ms)
    }
}

/// Normal with mean 0 and deviation 1, near enough for a synthetic trace: the sum of twelve uniform draws.
fn normal(random: &mut Stream) -> f64 {
    (0..12).map(|_| random.uniform()).sum::<f64>() - 6.0
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

    #[test]
    fn a_generated_trace_is_a_trace() {
        // Goal: what is generated can be read back, repeats exactly, keeps its mean rate and has the length asked for.
        let cellular = Cellular {
            duration_ms: 600_000,
            rate_bps_mean: 6_000_000,
            seed: 1,
        };
        let times_ms = cellular.opportunities_ms().unwrap();
        let text = times_ms.iter().map(u64::to_string).collect::<Vec<_>>().join("\n");
        let trace = read(text.as_bytes()).unwrap();
        assert_eq!(trace.opportunities_ms, times_ms);
        assert_eq!(cellular.opportunities_ms().unwrap(), times_ms);
        assert_eq!(times_ms.last(), Some(&600_000));
        // Some 200 memories of a log-normal factor with deviation 0.8 leave about 0.08, outages take 0.05 off.
        let rate_bps = trace.rate_bps_mean() as f64;
        assert!((rate_bps / 6e6 - 0.95).abs() < 0.25, "{rate_bps}");
        assert!(
            Cellular {
                rate_bps_mean: 0,
                ..cellular
            }
            .opportunities_ms()
            .is_err()
        );
        assert!(
            Cellular {
                rate_bps_mean: u64::MAX,
                ..cellular
            }
            .opportunities_ms()
            .is_err()
        );
    }

    #[test]
    fn the_shipped_trace_is_the_generated_one() {
        // Goal: the trace of scenarios/lte.toml is what `fadelab trace generate` prints without arguments.
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/traces/generated-lte.down");
        let shipped = read(std::fs::read(path).unwrap().as_slice()).unwrap();
        let generated = Cellular {
            duration_ms: 30_000,
            rate_bps_mean: 10_000_000,
            seed: 1,
        }
        .opportunities_ms();
        assert_eq!(shipped.opportunities_ms, generated.unwrap());
    }
}
