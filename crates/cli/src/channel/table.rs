//! Packet errors as tables on the terminal.

use std::fmt::Write;

use fadelab_lab::channel::Curve;
use fadelab_phy::channel::CodeMode;

use crate::channel::{ChannelArgs, kind_name, probability, rounded};
use crate::output;

/// One combination: SNR, symbol error in both states, packet error and a bar.
pub fn single(args: &ChannelArgs, curve: &Curve, snrs: &[f64]) -> String {
    let mut text = format!(
        "{}\n{:>7}  {:>11}  {:>11}  {:>12}  1e-9{:>16}\n",
        heading(args, curve),
        "SNR",
        "good symbol",
        "bad symbol",
        "packet error",
        "1"
    );
    for &snr_db in snrs {
        let [good, bad] = curve
            .symbol_errors(snr_db)
            .expect("the command makes channels of symbols");
        let packet_error = curve.packet_error(snr_db);
        let _ = writeln!(
            text,
            "{:>4} dB  {good:>11.3e}  {bad:>11.3e}  {:>12}  {}",
            rounded(snr_db),
            probability(packet_error),
            bar(packet_error)
        );
    }
    text
}

/// Several combinations side by side, in as many blocks as the terminal needs.
pub fn several(args: &ChannelArgs, curves: &[Curve], snrs: &[f64]) -> String {
    const LABEL_COLUMNS: usize = 9;
    const CELL_COLUMNS: usize = 14;
    let first = &curves[0];
    let mut text = format!(
        "packet error of a {} of {} bytes, {}, {}\n",
        kind_name(first.kind),
        first.ip_bytes,
        args.mode,
        channel_text(args)
    );
    let per_block = ((output::columns() - LABEL_COLUMNS) / CELL_COLUMNS).max(1);
    for block in curves.chunks(per_block) {
        let names: Vec<String> = block
            .iter()
            .map(|curve| format!("{:>CELL_COLUMNS$}", curve.antennas))
            .collect();
        let rates: Vec<String> = block
            .iter()
            .map(|curve| format!("{:>CELL_COLUMNS$}", rate_text(curve.rate)))
            .collect();
        let _ = write!(
            text,
            "\n{:>7}  {}\n{:>7}  {}\n",
            "",
            names.concat(),
            "SNR",
            rates.concat()
        );
        for &snr_db in snrs {
            let cells = block.iter().map(|curve| probability(curve.packet_error(snr_db)));
            let cells: Vec<String> = cells.map(|cell| format!("{cell:>CELL_COLUMNS$}")).collect();
            let _ = writeln!(text, "{:>4} dB  {}", rounded(snr_db), cells.concat());
        }
    }
    text
}

/// A code rate in words.
pub fn rate_text(rate: f64) -> String {
    if (rate - 1.0).abs() < f64::EPSILON {
        "no code".to_owned()
    } else {
        format!("rate {rate}")
    }
}

/// What all combinations have in common.
pub fn channel_text(args: &ChannelArgs) -> String {
    format!(
        "{}, bursts of {} good and {} bad bits, bad state {} dB below",
        args.modulation(),
        args.burst_good(),
        args.burst_bad(),
        args.bad_below()
    )
}

fn heading(args: &ChannelArgs, curve: &Curve) -> String {
    let (spec, kind, ip_bytes) = (&curve.spec, curve.kind, curve.ip_bytes);
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
        let correctable = correctable.join(", ");
        format!(
            "code rate {}, {}: {words} correcting {correctable} bytes",
            curve.rate, args.mode
        )
    };
    let what = kind_name(kind);
    format!(
        "{} {}\n{what} of {ip_bytes} bytes, {air_bytes} on the air; {code}\n",
        curve.antennas,
        channel_text(args)
    )
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
