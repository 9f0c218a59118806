//! `fadelab channel`: packet error of a fading channel, without simulating anything.

use std::fmt::Write;

use fadelab_phy::channel::{ChannelSpec, CodeMode, CodeSpec, Model, PacketKind};
use fadelab_phy::symbol_error::symbol_error;
use fadelab_scenario::channel::{ANTENNAS, MODULATIONS};

use crate::args::ChannelArgs;
use crate::{Failure, output};

/// Bytes of a data packet where no size is given: 1000 of payload and the headers, as ns-2 and the VCP papers have it.
const DATA_BYTES: u32 = 1_040;

/// Bytes of a pure ACK where no size is given: IP and TCP headers without options.
const ACK_BYTES: u32 = 40;

/// Most rows of the table.
const ROWS_MAX: usize = 1_000;

/// Prints a table of SNR, symbol error in both states and packet error.
///
/// # Errors
/// Arguments that make no channel.
pub fn channel(args: &ChannelArgs) -> Result<(), Failure> {
    let kind = if args.ack { PacketKind::Ack } else { PacketKind::Data };
    let ip_bytes = size(args)?;
    let rows = snrs(args)?;
    let spec = spec(args, rows[0])?;
    if spec.recursion_steps(kind, ip_bytes) > ChannelSpec::STEPS_MAX {
        let given = format!("{ip_bytes} at --code-rate {}", args.code_rate);
        let allowed = "a word whose bytes times correctable errors stay below 2e8; shorten it or try --mode gf256";
        return Err(invalid("size", &given, allowed));
    }
    for snr_db in &rows {
        self::spec(args, *snr_db)?;
    }
    output::print(&format!(
        "{}\n{}",
        heading(args, &spec, kind, ip_bytes),
        table(args, &rows, kind, ip_bytes)?
    ))
}

fn invalid(option: &str, given: &str, allowed: &str) -> Failure {
    Failure::Invalid(format!("--{option} {given}: allowed is {allowed}"))
}

/// The value of a name in a list of choices.
fn choice<T: Copy>(option: &str, given: &str, choices: &[(&str, T)]) -> Result<T, Failure> {
    let found = choices.iter().find(|(name, _)| *name == given).map(|(_, value)| *value);
    let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
    found.ok_or_else(|| invalid(option, given, &names.join(", ")))
}

fn size(args: &ChannelArgs) -> Result<u32, Failure> {
    let Some(given) = &args.size else {
        return Ok(if args.ack { ACK_BYTES } else { DATA_BYTES });
    };
    let bytes = given.trim().trim_end_matches('B').trim().parse().ok();
    bytes
        .filter(|bytes| (1..=65_535).contains(bytes))
        .ok_or_else(|| invalid("size", given, "1 to 65535 bytes"))
}

/// The SNRs of the rows, in dB.
fn snrs(args: &ChannelArgs) -> Result<Vec<f64>, Failure> {
    let wrong = || {
        invalid(
            "snr",
            &args.snr,
            "one value such as 20, or a range such as 5..30, in dB",
        )
    };
    let number = |text: &str| {
        let text = text.trim().trim_end_matches("dB").trim();
        text.parse::<f64>()
            .ok()
            .filter(|value| value.is_finite())
            .ok_or_else(wrong)
    };
    let Some((first, last)) = args.snr.split_once("..") else {
        return Ok(vec![number(&args.snr)?]);
    };
    let (first, last) = (number(first)?, number(last)?);
    if last < first {
        return Err(wrong());
    }
    let is_step = args.step > 0.0 && args.step.is_finite();
    let rows = if is_step {
        ((last - first) / args.step + 1e-9).floor()
    } else {
        f64::INFINITY
    };
    if rows >= ROWS_MAX as f64 {
        return Err(invalid(
            "step",
            &args.step.to_string(),
            &format!("a positive one that gives at most {ROWS_MAX} rows"),
        ));
    }
    Ok((0..=rows as usize).map(|row| first + row as f64 * args.step).collect())
}

fn spec(args: &ChannelArgs, snr_db: f64) -> Result<ChannelSpec, Failure> {
    let modes = [("ideal", CodeMode::Ideal), ("gf256", CodeMode::Gf256)];
    let mode = choice("mode", &args.mode, &modes)?;
    let is_coded = args.code_rate < 1.0 || args.code_rate.is_nan() || args.code_rate > 1.0;
    let spec = ChannelSpec {
        model: Model::GilbertElliott {
            modulation: choice("modulation", &args.modulation, MODULATIONS)?,
            antennas: choice("antennas", &args.antennas, ANTENNAS)?,
            snr_good_db: snr_db,
            snr_bad_db: snr_db - args.bad_below,
            burst_good_bits: args.burst_good,
            burst_bad_bits: args.burst_bad,
        },
        code: if is_coded {
            CodeSpec {
                data_rate: args.code_rate,
                ack_rate: args.code_rate,
                mode,
            }
        } else {
            CodeSpec::NONE
        },
    };
    spec.validate().map_err(|error| {
        let option = match error.field {
            "snr_good_db" => "snr",
            "snr_bad_db" => "bad-below",
            "burst_good_bits" => "burst-good",
            "burst_bad_bits" => "burst-bad",
            _ => "code-rate",
        };
        invalid(option, &error.given.to_string(), error.allowed)
    })?;
    Ok(spec)
}

fn heading(args: &ChannelArgs, spec: &ChannelSpec, kind: PacketKind, ip_bytes: u32) -> String {
    let air_bytes = spec.air_bytes(kind, ip_bytes);
    let words = spec.words(kind, ip_bytes);
    let code = if spec.code.mode == CodeMode::None {
        "no code: any bit error loses the packet".to_owned()
    } else {
        let correctable: Vec<String> = words.iter().map(|word| word.correctable().to_string()).collect();
        let words = if words.len() == 1 {
            "one word".to_owned()
        } else {
            format!("{} words", words.len())
        };
        format!(
            "code rate {}, {}: {words} correcting {} bytes",
            args.code_rate,
            args.mode,
            correctable.join(", ")
        )
    };
    let what = if kind == PacketKind::Ack { "ACK" } else { "data packet" };
    format!(
        "{} {}, bursts of {} good and {} bad bits, bad state {} dB below\n\
         {what} of {ip_bytes} bytes, {air_bytes} on the air; {code}\n",
        args.antennas, args.modulation, args.burst_good, args.burst_bad, args.bad_below
    )
}

fn table(args: &ChannelArgs, rows: &[f64], kind: PacketKind, ip_bytes: u32) -> Result<String, Failure> {
    let modulation = choice("modulation", &args.modulation, MODULATIONS)?;
    let antennas = choice("antennas", &args.antennas, ANTENNAS)?;
    let mut text = format!(
        "{:>7}  {:>11}  {:>11}  {:>12}  1e-9{:>16}\n",
        "SNR", "good symbol", "bad symbol", "packet error", "1"
    );
    for snr_db in rows {
        let packet_error = spec(args, *snr_db)?.packet_error(kind, ip_bytes);
        let [good, bad] = [*snr_db, snr_db - args.bad_below].map(|snr_db| symbol_error(modulation, antennas, snr_db));
        let _ = writeln!(
            text,
            "{:>4} dB  {good:>11.3e}  {bad:>11.3e}  {:>12}  {}",
            rounded(*snr_db),
            probability(packet_error),
            bar(packet_error)
        );
    }
    Ok(text)
}

/// An SNR without the dust of adding steps.
fn rounded(snr_db: f64) -> f64 {
    (snr_db * 1e6).round() / 1e6
}

/// A probability with three digits where it can be read, and its order of magnitude where it cannot.
fn probability(value: f64) -> String {
    if value < 1e-9 {
        "< 1e-9".to_owned()
    } else if value < 1e-3 {
        format!("{value:.2e}")
    } else {
        format!("{value:.4}")
    }
}

/// Cells of the bar: nine decades, from 1e-9 to 1.
const BAR_CELLS: f64 = 20.0;

/// A bar over the logarithm of a probability.
fn bar(value: f64) -> String {
    let filled = if value <= 1e-9 {
        0.0
    } else {
        (1.0 + value.log10() / 9.0) * BAR_CELLS
    };
    let eighths = (filled * 8.0).round() as usize;
    let partial = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    format!("{}{partial}", "█".repeat(eighths / 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_grow_with_the_logarithm() {
        // Goal: the bar is full at 1, half full at 10^-4.5 and empty from 10^-9 on.
        assert_eq!(bar(1.0), "█".repeat(20));
        assert_eq!(bar(10f64.powf(-4.5)), "█".repeat(10));
        assert_eq!(bar(1e-9), "");
        assert_eq!(bar(0.0), "");
    }
}
