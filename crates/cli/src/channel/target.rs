//! `fadelab channel --target-per`: the SNR or the code rate that a packet error asks for.

use std::fmt::Write;

use fadelab_lab::Failure;
use fadelab_phy::channel::{CODE_RATE_MIN, ChannelSpec, CodeSpec, PacketKind};
use fadelab_phy::solve::{SNR_DB_RANGE, SolveError, code_rate_for_packet_error, snr_for_packet_error};

use crate::channel::table::{channel_text, rate_text};
use crate::channel::{
    ChannelArgs, Curve, curve, curves, invalid, kind_name, mode, probability, size, snrs, within_reach,
};

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
    match snr_for_packet_error(&curve.spec, curve.kind, curve.ip_bytes, target) {
        Ok(snr_db) => {
            // Rounded up, so that the SNR that is printed does reach the target.
            let shown = (snr_db * 100.0).ceil() / 100.0;
            format!(
                "{rate:>10}  {shown:>7.2} dB  {:>12}",
                probability(curve.packet_error(shown))
            )
        }
        Err(error) => format!("{rate:>10}  {}", none(&error)),
    }
}

fn rate_row(args: &ChannelArgs, curve: &Curve, snr_db: f64, target: f64) -> Result<String, Failure> {
    let mut spec = curve.at(snr_db);
    spec.validate().map_err(|error| super::refused(&error))?;
    spec.code = CodeSpec {
        data_rate: 1.0,
        ack_rate: 1.0,
        mode: mode(args)?,
    };
    // The search begins at both ends.
    let longest = at_least_rate(&spec);
    within_reach(&longest, curve.kind, curve.ip_bytes, longest.code.data_rate)?;
    let given = format!("{:>7} dB", super::rounded(snr_db));
    Ok(
        match code_rate_for_packet_error(&spec, curve.kind, curve.ip_bytes, target) {
            Ok(rate) => {
                // Rounded down: a little more parity than is needed, and at 1 none at all.
                let shown = (rate * 1e4).floor() / 1e4;
                let coded = self::curve(args, &curve.antennas, shown, curve.kind, curve.ip_bytes)?;
                format!(
                    "{given}  {shown:>10.4}  {:>12}",
                    probability(coded.packet_error(snr_db))
                )
            }
            Err(error) => format!("{given}  {}", none(&error)),
        },
    )
}

/// The same channel under the least code rate that there is.
fn at_least_rate(spec: &ChannelSpec) -> ChannelSpec {
    let code = CodeSpec {
        data_rate: CODE_RATE_MIN,
        ack_rate: CODE_RATE_MIN,
        ..spec.code
    };
    ChannelSpec { code, ..spec.clone() }
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
