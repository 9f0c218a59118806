//! What applications send, and how often it is acknowledged.

use super::common::guest::possible;
use super::common::{Scratch, column};
use super::small::{ROW, on_both_grounds};
use super::{SCENARIO, run, scenario};

#[test]
fn transfers_end_and_losses_are_random() {
    // Goal: a transfer ends when its last byte is acknowledged, not before its bytes can have crossed the link, and
    // loss on the air is as frequent as the scenario says.
    if !possible("6.1") {
        return;
    }
    let text = SCENARIO.replace(
        "[flow]\n",
        "[channel]\nmodel = \"random\"\nloss_data = 0.02\nloss_ack = 0.0\n\n[flow]\n",
    );
    let scratch = scenario(&text);
    let app = [
        "--set",
        "flow.app=transfer",
        "--set",
        "flow.size=1 MB",
        "--set",
        "flow.law=linux:cubic",
    ];
    run(&scratch, "out", &[&app[..], &["--set", "run.duration=8 s"]].concat());
    let [start, end] = ["start_ns", "end_ns"].map(|name| column(&scratch, "out/csv/completions.csv", name));
    assert_eq!(start.len(), 2, "both transfers end");
    for (start, end) in start.iter().zip(&end) {
        let took_s = (end - start) / 1e9;
        assert!(took_s > 1e6 * 8.0 / 10e6 && took_s < 8.0, "it took {took_s} s");
    }
    let end = |name: &str| {
        column(&scratch, "out/csv/links.csv", name)
            .into_iter()
            .fold(0.0, f64::max)
    };
    let share = end("lost_air_pkts") / end("sent_pkts");
    // 1,400 packets: four standard deviations are 1.5 %.
    assert!((share - 0.02).abs() < 0.015, "lost {share}");
}

#[test]
fn a_transfer_begins_with_its_handshake() {
    // Goal: as in the simulator, one segment takes two round trips of 44 ms: the SYN's and its own.
    if !possible("6.1") {
        return;
    }
    let scratch = scenario(SCENARIO);
    let app = ["--set", "flow.app=transfer", "--set", "flow.size=1 kB"];
    run(&scratch, "out", &app);
    let [start, end] = ["start_ns", "end_ns"].map(|name| column(&scratch, "out/csv/completions.csv", name));
    assert_eq!(start.len(), 2, "both transfers end");
    for (start, end) in start.iter().zip(&end) {
        let took_ms = (end - start) / 1e6;
        assert!((88.0..95.0).contains(&took_ms), "it took {took_ms} ms");
    }
}

/// A session that writes for ten seconds, and the other way an application that writes a segment at a time.
const WRITERS: &str = r#"
[run]
duration = "12 s"
warmup = "0 s"
seeds = 1
record = "100 ms"

[link.narrow]
from = "r"
to = "b"
rate = "10 Mbit/s"
delay = "20 ms"
buffer = "1 BDP"

[transport]
preset = "linux"
packet = "1040 B"

[flow]
law = "reno"

[flow.session]
app = "sessions"
on = "10 s"
from = "a"
to = "b"

[flow.steady]
app = "cbr"
law = "reno"
rate = "2 Mbit/s"
from = "b"
to = "a"
"#;

#[test]
fn what_applications_write_is_acknowledged_as_often_as_in_the_simulator() {
    // Goal: behind the first 1,575 packets every second one of a session has an ACK, which always has more to write
    // though it keeps little in the socket, and each one of an application that writes one at a time (PSH), on both
    // grounds: ACKs per packet within 3 %.
    if !possible("6.1") {
        return;
    }
    let scratch = scenario(&format!("{ROW}{WRITERS}"));
    let [kernel, sim] = on_both_grounds(&scratch, |out| acks_per_packet(&scratch, out));
    for (kernel, sim, at_least, at_most) in [(kernel[0], sim[0], 0.5, 0.65), (kernel[1], sim[1], 0.95, 1.01)] {
        assert!((at_least..at_most).contains(&sim), "{sim} in the simulator");
        assert!((kernel / sim - 1.0).abs() < 0.03, "{kernel} for {sim}");
    }
}

/// Of the session and of the other one. What arrives at a link beside data of the one is ACKs for the other.
fn acks_per_packet(scratch: &Scratch, out: &str) -> [f64; 2] {
    let sent_pkts = column(scratch, &format!("{out}/csv/flow_totals.csv"), "sent_pkts");
    let arrived_pkts = column(scratch, &format!("{out}/csv/runs.csv"), "arrived_pkts");
    assert_eq!(
        (sent_pkts.len(), arrived_pkts.len()),
        (2, 2),
        "{sent_pkts:?} {arrived_pkts:?}"
    );
    [0, 1].map(|flow| (arrived_pkts[1 - flow] - sent_pkts[1 - flow]) / sent_pkts[flow])
}
