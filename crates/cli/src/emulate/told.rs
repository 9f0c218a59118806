//! What an emulator says when it ends.

use fadelab_emu::outcome::{Outcome, WayOutcome};

/// What there is to say at the end: a line for each way, and one of the machine.
pub fn told(outcome: &Outcome) -> String {
    let seconds = outcome.duration_ns as f64 / 1e9;
    let mut lines: Vec<String> = outcome.ways.iter().map(|way| way_told(way, seconds)).collect();
    let late = outcome.punctuality;
    let [p50, p99, p999, max] =
        [late.late_ns_p50, late.late_ns_p99, late.late_ns_p999, late.late_ns_max].map(|ns| ns as f64 / 1e3);
    lines.push(format!(
        "packets left {p50:.0} us late (half of them), {p99:.0} us (99 %), {p999:.0} us (99.9 %), at most {max:.0} us"
    ));
    lines.join("\n")
}

fn way_told(way: &WayOutcome, seconds: f64) -> String {
    let (tally, counters) = (way.tally, way.counters);
    format!(
        "{}: {} packets arrived in {seconds:.1} s, {:.2} Mbit/s; {} dropped, {} lost, {} marked; mean queue {:.1} pkt",
        way.name,
        tally.delivered_pkts,
        tally.delivered_bytes as f64 * 8e-6 / seconds,
        tally.dropped_pkts,
        tally.lost_pkts,
        counters.marked_pkts,
        counters.queue_pkt_ns as f64 / (seconds * 1e9),
    )
}
