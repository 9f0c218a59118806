//! `fadelab trace generate`: a synthetic trace of a cellular link.

use std::fmt::Write;

use fadelab_scenario::trace::Cellular;
use fadelab_scenario::unit::{Duration, Rate, parse};

use crate::args::TraceArgs;
use crate::{Failure, output};

/// Prints the trace, one opportunity a line.
///
/// # Errors
/// A length or rate that makes no trace.
pub fn generate(args: &TraceArgs) -> Result<(), Failure> {
    let invalid = |option: &str, given: &str, why: &str| Failure::Invalid(format!("--{option} {given}: {why}"));
    let duration: Duration = parse(&args.duration).map_err(|why| invalid("duration", &args.duration, &why))?;
    let rate: Rate = parse(&args.rate).map_err(|why| invalid("rate", &args.rate, &why))?;
    let cellular = Cellular {
        duration_ms: duration.0 / 1_000_000,
        rate_bps_mean: rate.0,
        seed: args.seed,
    };
    let times_ms = cellular.opportunities_ms().map_err(Failure::Invalid)?;
    let mut text = String::new();
    for time_ms in times_ms {
        let _ = writeln!(text, "{time_ms}");
    }
    output::print(&text)
}
