//! Transports of chance: a preset, and some of its values replaced.

use super::draw::{Draw, Text};
use super::network::Network;
use super::scenario::{Frame, PACKETS_MAX};

/// IP bytes of a full data packet.
pub fn packet_bytes(draw: &mut Draw) -> u64 {
    match draw.below(10) {
        0 => draw.magnitude(150, 65_535),
        1..4 => 1_040,
        _ => 1_500,
    }
}

pub fn write(draw: &mut Draw, text: &mut Text, network: &Network, frame: &Frame) {
    text.table("transport");
    text.text("preset", draw.pick(&["rfc", "ns2", "linux"]));
    text.text("packet", format_args!("{} B", frame.packet_bytes));
    windows(draw, text, network, frame);
    switches(draw, text);
    times(draw, text, frame);
}

/// Where links could carry more, or what they cannot carry is sent nevertheless, windows see to it that all flows
/// together do not send too much.
fn windows(draw: &mut Draw, text: &mut Text, network: &Network, frame: &Frame) {
    if frame.is_idle || frame.is_guided {
        let round_trips = (frame.duration_ns / network.round_trip_ns_min.max(1)).max(1);
        let packets = if frame.is_idle { PACKETS_MAX } else { 20 * PACKETS_MAX };
        let window_max = (packets / round_trips / frame.flows).max(1);
        text.text(
            "receive_window",
            format_args!("{} pkt", draw.magnitude(window_max / 50, window_max)),
        );
    } else if draw.one_in(4) {
        text.text("receive_window", format_args!("{} pkt", draw.magnitude(1, 5_000)));
    }
    if draw.one_in(4) {
        text.text("initial_window", format_args!("{} pkt", draw.magnitude(1, 5_000)));
    }
    if draw.one_in(4) {
        text.text("initial_ssthresh", format_args!("{} pkt", draw.magnitude(1, 5_000)));
    }
}

fn switches(draw: &mut Draw, text: &mut Text) {
    let recovery = draw.pick(&["", "", "sack", "rack", "newreno", "reno"]);
    if !recovery.is_empty() {
        text.text("recovery", recovery);
    }
    for key in [
        "sack_on_wire",
        "limited_transmit",
        "handshake",
        "option_space",
        "rate_reduction",
        "receive_window_grows",
        "send_buffer",
        "small_queue",
        "rto_min_over_srtt",
        "rto_whole_ticks",
        "timestamps",
        "ecn_after_recovery",
        "keeps_recovery_point",
        "frto",
        "dsack",
    ] {
        if draw.one_in(4) {
            text.bare(key, draw.one_in(2));
        }
    }
    if draw.one_in(4) {
        text.text("feedback", draw.pick(&["exact", "option"]));
    }
    if draw.one_in(4) {
        text.text("partial_acks", draw.pick(&["first", "each"]));
    }
    if draw.one_in(4) {
        text.bare("ecn", draw.pick(&["true", "false", "\"auto\""]));
    }
    if draw.one_in(5) {
        text.bare("dupthresh", draw.magnitude(1, 1_000));
    }
    if draw.one_in(5) {
        text.bare("quick_acks", draw.magnitude(1, 10_000));
    }
    for (key, highest) in [("header", 120), ("ack", 120)] {
        if draw.one_in(5) {
            text.text(key, format_args!("{} B", draw.between(40, highest)));
        }
    }
}

fn times(draw: &mut Draw, text: &mut Text, frame: &Frame) {
    let time_ns = |draw: &mut Draw, min: u64| draw.magnitude(min.max(frame.duration_ns / 2_000), 100_000_000_000);
    match draw.below(4) {
        0 => text.bare("delayed_ack", false),
        1 => text.time("delayed_ack", time_ns(draw, 1_000)),
        _ => {}
    }
    // The smallest of these would leave no room for the preset's largest timeout to be the larger one.
    if draw.one_in(4) {
        let rto_max_ns = time_ns(draw, 1_000_000);
        text.time("rto_max", rto_max_ns);
        text.time("rto_min", draw.magnitude(1, rto_max_ns));
    } else if draw.one_in(3) {
        text.time("rto_min", draw.magnitude(1, 60_000_000_000));
    }
    if draw.one_in(4) {
        text.time("rto_initial", time_ns(draw, 1_000));
    }
    if draw.one_in(4) {
        text.time("clock_tick", draw.magnitude(1_000, 1_000_000_000));
    }
    if draw.one_in(4) {
        text.time("timer_tick", draw.magnitude(1, 1_000_000_000));
    }
}
