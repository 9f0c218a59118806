//! `fadelab channel --target-per`: the SNR or the code rate that a packet error asks for.

use std::fmt::Write;

use fadelab_lab::Failure;
use fadelab_lab::channel::Curve;
use fadelab_phy::channel::PacketKind;
use fadelab_phy::solve::{SNR_DB_RANGE, SolveError};

use crate::channel::table::{channel_text, rate_text};
use crate::channel::{ChannelArgs, curves, invalid, kind_name, mode, probability, size, snrs};

/// What is needed for a packet error of `target`, for data packets and ACKs of each combination.
///
/// # Errors
/// A target that is no probability, or both or several of what could be solved for.
pub fn solve(args: &ChannelArgs, target: f64) -> Result<String, Failure> {
    if !(target > 0.0 && target < 1.0) {
        return Err(invalid(
            "target-per",
            &target.to_string(),
            "a probability between 0 and 1",
        ));
    }
    let snr_db = match &args.snr {
        Some(_) if !args.code_rate.is_empty() => {
            let hint = "leave out --snr to find it for the code rate, or --code-rate to find that for the SNR";
            return Err(Failure::Invalid(format!(
                "--target-per with both --snr and --code-rate: {hint}"
            )));
        }
        Some(given) if given.contains("..") => {
            return Err(invalid(
                "snr",
                given,
                "one value with --target-per; leave it out to find it",
            ));
        }
        Some(_) => Some(snrs(args, 1.0)?[0]),
        None => None,
    };
    let kinds = if args.ack || args.size.is_some() {
        vec![if args.ack { PacketKind::Ack } else { PacketKind::Data }]
    } else {
        vec![PacketKind::Data, PacketKind::Ack]
    };
    let found = if snr_db.is_some() { "code rate" } else { "SNR" };
    let mut text = format!(
        "{found} for a packet error of {target}; {}, {}\n\n",
        args.mode,
        channel_text(args)
    );
    let given = if snr_db.is_some() { "SNR" } else { "code rate" };
    let _ = writeln!(
        text,
        "{:8}  {:24}  {given:>10}  {found:>10}  {:>12}",
        "antennas", "packet", "packet error"
    );
    for kind in kinds {
        let bytes = size(args, kind)?;
        for curve in curves(args, kind, bytes)? {
            let row = match snr_db {
                Some(snr_db) => rate_row(args, &curve, snr_db, target)?,
                None => snr_row(&curve, target),
            };
            let what = format!("{} of {bytes} bytes", kind_name(kind));
            let _ = writeln!(text, "{:8}  {what:24}  {row}", curve.antennas);
        }
    }
    Ok(text)
}

fn snr_row(curve: &Curve, target: f64) -> String {
    let rate = rate_text(curve.rate);
    match curve.snr_for(target) {
        Ok(needed) => format!(
            "{rate:>10}  {:>7.2} dB  {:>12}",
            needed.value,
            probability(needed.packet_error)
        ),
        Err(error) => format!("{rate:>10}  {}", none(&error)),
    }
}

fn rate_row(args: &ChannelArgs, curve: &Curve, snr_db: f64, target: f64) -> Result<String, Failure> {
    let mode = mode(args)?;
    curve.at(snr_db).validate().map_err(|error| super::refused(&error))?;
    let given = format!("{:>7} dB", super::rounded(snr_db));
    Ok(match curve.rate_for(mode, snr_db, target)? {
        Ok(needed) => format!(
            "{given}  {:>10.4}  {:>12}",
            needed.value,
            probability(needed.packet_error)
        ),
        Err(error) => format!("{given}  {}", none(&error)),
    })
}

/// Why there is no answer, in the width of a table.
fn none(error: &SolveError) -> String {
    match error {
        SolveError::OutOfRange { from, to, best, .. } => {
            let of_snr = (from - SNR_DB_RANGE.0).abs() < f64::EPSILON;
            let unit = if of_snr { " dB" } else { "" };
            format!(
                "none between {from} and {to}{unit}: the least packet error is {}",
                probability(*best)
            )
        }
        other => other.to_string(),
    }
}
