//! Channels of chance: what they lose, their codes, and what a link does behind them.

use super::draw::{Draw, Text};
use super::network::Network;
use super::scenario::Frame;

/// Largest packet for which fading is computed: the exact law of a packet takes a time that grows with its bits.
const FADING_BYTES_MAX: u64 = 3_000;

pub fn write(draw: &mut Draw, text: &mut Text, network: &Network, frame: &Frame) {
    if !draw.one_in(3) {
        one(draw, text, "channel", network, frame);
    }
    if network.is_graph() && text.0.contains("\"radio\"") {
        one(draw, text, "channel.radio", network, frame);
    }
}

fn one(draw: &mut Draw, text: &mut Text, table: &str, network: &Network, frame: &Frame) {
    text.table(table);
    match draw.below(4) {
        0 if frame.packet_bytes <= FADING_BYTES_MAX => fading(draw, text, table),
        0 | 1 => {
            text.text("model", "random");
            text.bare("loss_data", draw.probability());
            if draw.one_in(2) {
                text.bare("loss_ack", draw.probability());
            }
            code(draw, text, table);
        }
        2 => {
            packet_scale(draw, text, frame);
            code(draw, text, table);
        }
        _ => text.text("model", "none"),
    }
    if !network.is_mahimahi || draw.one_in(20) {
        layer(draw, text, table, frame);
    }
}

fn fading(draw: &mut Draw, text: &mut Text, table: &str) {
    text.text("model", "gilbert-elliott");
    text.text("antennas", draw.pick(&["1x1", "2x1", "1x2", "2x2"]));
    text.text("modulation", draw.pick(&["bpsk", "qpsk", "8psk", "16psk"]));
    text.text("snr", format_args!("{} dB", draw.between(0, 40)));
    if draw.one_in(2) {
        text.text("snr_bad", format_args!("snr - {} dB", draw.between(0, 30)));
        text.text("burst_good", format_args!("{} bit", draw.magnitude(1, 1_000_000)));
        text.text("burst_bad", format_args!("{} bit", draw.magnitude(1, 10_000)));
    }
    code(draw, text, table);
}

fn packet_scale(draw: &mut Draw, text: &mut Text, frame: &Frame) {
    text.text("model", "packet-scale");
    // States that change within a packet, within a run, or never.
    text.time(
        "good",
        draw.magnitude(frame.duration_ns / 10_000, frame.duration_ns * 10),
    );
    text.time("bad", draw.magnitude(frame.duration_ns / 10_000, frame.duration_ns));
    for (key, highest) in [("bit_error_good", 1_000), ("bit_error_bad", 500_000)] {
        let error = if draw.one_in(4) {
            0.0
        } else {
            draw.fraction(1, highest) / 100.0
        };
        text.bare(key, format_args!("{error:?}"));
    }
}

fn code(draw: &mut Draw, text: &mut Text, table: &str) {
    if draw.one_in(2) {
        return;
    }
    text.table(&format!("{table}.code"));
    text.text("mode", draw.pick(&["ideal", "gf256", "none"]));
    text.bare("data", format_args!("{:?}", draw.between(100, 1_000) as f64 / 1_000.0));
    text.bare("ack", format_args!("{:?}", draw.between(100, 1_000) as f64 / 1_000.0));
}

fn layer(draw: &mut Draw, text: &mut Text, table: &str, frame: &Frame) {
    // From a packet's time on the air to a good part of the run.
    let time_ns = |draw: &mut Draw| draw.magnitude(1, (frame.duration_ns / 4).min(100_000_000_000));
    if draw.one_in(3) {
        text.table(&format!("{table}.arq"));
        if draw.one_in(2) {
            text.text("preset", draw.pick(&["lte-harq", "lte-rlc-am", "wifi"]));
        } else {
            // A link that could carry many more packets would be kept busy with those that it loses.
            match draw.below(6) {
                0 if !frame.is_idle => text.text("tries", "unlimited"),
                _ => text.bare("tries", draw.magnitude(1, if frame.is_idle { 10 } else { 1_000 })),
            }
            let retry_ns = if draw.one_in(3) { 0 } else { time_ns(draw) };
            text.time("retry", retry_ns);
        }
        text.bare("in_order", draw.one_in(2));
    }
    if draw.one_in(4) {
        text.table(&format!("{table}.jitter"));
        let (first_ns, second_ns) = (time_ns(draw), time_ns(draw));
        match draw.below(5) {
            0 => text.text("preset", draw.pick(&["lte-uplink", "nr-tdd"])),
            1 => text.text("delay", format_args!("uniform 0 ns..{first_ns} ns")),
            2 => text.text(
                "delay",
                format_args!("uniform {first_ns} ns..{} ns", first_ns + second_ns),
            ),
            3 => text.text("delay", format_args!("normal {first_ns} ns +- {second_ns} ns")),
            _ => text.text("delay", format_args!("exponential {first_ns} ns")),
        }
        text.bare("in_order", draw.one_in(2));
    }
    if draw.one_in(4) {
        text.table(&format!("{table}.reorder"));
        if draw.one_in(4) {
            text.text("preset", "internet");
            return;
        }
        text.bare("probability", draw.probability());
        text.time("delay", time_ns(draw));
        if draw.one_in(2) {
            text.text("gap", format_args!("{} pkt", draw.magnitude(1, 100)));
        }
    }
}
