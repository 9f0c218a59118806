//! `fadelab trace generate`: a synthetic trace of a cellular link.

use std::fmt::Write;

use clap::{Args, Subcommand};
use fadelab_lab::Failure;
use fadelab_scenario::trace::Cellular;
use fadelab_scenario::unit::{Duration, Rate, parse};

use crate::output;

/// What to do with recorded capacity.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Print a synthetic trace of a cellular link in the format of mahimahi
    Generate(TraceArgs),
}

/// Arguments of `fadelab trace generate`.
#[derive(Debug, Args)]
pub struct TraceArgs {
    /// Length of the trace before it repeats
    #[arg(long, default_value = "30 s")]
    pub duration: String,
    /// Mean rate
    #[arg(long, default_value = "10 Mbit/s")]
    pub rate: String,
    /// Seed
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

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
