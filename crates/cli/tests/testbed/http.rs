//! Downloads in a guest, by curl from nginx.

use super::common::{FADING, column, has_programs};
use super::{run, scenario, twice_of};

/// Two clients that download one file after the other.
pub const SCENARIO: &str = r#"
[run]
duration = "6 s"
warmup = "0 s"
seeds = 3
record = "100 ms"

[topology.bottleneck]
rate = "10 Mbit/s"
delay = "20 ms"
buffer = "60 pkt"

[topology.access]
rate = "100 Mbit/s"
delay = "1 ms"

[transport]
preset = "linux"

[flow]
law = "vcp"
app = "http"
size = "100 kB"
off = "exponential 200 ms"
count = 2
"#;

#[test]
fn downloads_give_the_same_bytes_twice() {
    // Goal: programs that know of no law, over a fading, coded link, one download after the other on two flows: the
    // same bytes twice, each download has its bytes, what nginx's sockets counted is all of them, and the law at work
    // is that of the scenario, by the routes alone: its memory is there to be seen.
    if !has_programs(&["curl", "nginx"]) {
        return;
    }
    // Long enough for several, whatever the pauses and the time that a process takes to start come to.
    let scenario = format!("{SCENARIO}{FADING}").replace("duration = \"6 s\"", "duration = \"9 s\"");
    let Some(scratch) = twice_of(&scenario, "6.1", &[]) else {
        return;
    };
    let bytes = column(&scratch, "one/csv/completions.csv", "bytes");
    assert!(
        bytes.len() >= 6 && bytes.iter().all(|&bytes| bytes as u64 == 100_000),
        "{bytes:?}"
    );
    let sum = |name: &str| column(&scratch, "one/csv/flow_totals.csv", name).iter().sum::<f64>();
    // Sent again are a few; what is under way at the end is less than a file of each.
    let (sent, again) = (sum("sent_pkts"), sum("retransmitted_pkts"));
    let whole_pkts = bytes.len() as f64 * 70.0;
    assert!(
        sent - again >= whole_pkts && sent - again <= whole_pkts + 2.0 * 70.0,
        "{sent} - {again}"
    );
    let delivered = sum("delivered_bytes");
    assert!(delivered > bytes.len() as f64 * 100e3 && delivered < (bytes.len() + 2) as f64 * 101e3);
    let watched = std::fs::read_to_string(scratch.0.join("one/csv/watch.csv")).unwrap();
    assert!(watched.contains("flow.1,"), "{watched}");
}

#[test]
fn downloads_take_as_long_as_in_the_simulator() {
    // Goal: curl's own time of a download of a few packets, of some windows and of hundreds agrees with the
    // simulator's within a hundredth, or a round trip where it takes fewer than a hundred; for a law of ours and one of
    // Linux's own, of which the simulator has a counterpart.
    if !has_programs(&["curl", "nginx"]) || !super::possible("6.1") {
        return;
    }
    for (size, duration, law, simulated) in [
        ("5 kB", "2 s", "vcp", "vcp"),
        ("300 kB", "4 s", "vcp", "vcp"),
        ("6 MB", "14 s", "vcp", "vcp"),
        ("300 kB", "4 s", "linux:reno", "reno"),
    ] {
        let scratch = scenario(SCENARIO);
        let (size, duration) = (format!("flow.size={size}"), format!("run.duration={duration}"));
        let laws = [law, simulated].map(|law| format!("flow.law={law}"));
        let once = [
            "--set",
            &size,
            "--set",
            &duration,
            "--set",
            "flow.count=1",
            "--set",
            "flow.off=false",
            "--set",
        ];
        run(&scratch, "guest", &[&once[..], &[&laws[0]]].concat());
        let simulator = ["run", "net.toml", "--quiet", "--csv", "--out", "sim"];
        let output = super::fadelab(&scratch, &simulator)
            .args(once)
            .arg(&laws[1])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", super::said(&output));
        let [guest_s, sim_s] = ["guest", "sim"].map(|out| {
            let file = format!("{out}/csv/runs.csv");
            column(&scratch, &file, "completion_s_mean")[0]
        });
        let rtt_s = 0.044;
        let bound_s = if sim_s < 100.0 * rtt_s { rtt_s } else { 0.01 * sim_s };
        assert!(
            (guest_s - sim_s).abs() <= bound_s,
            "{size}, {law}: {guest_s} s and {sim_s} s"
        );
    }
}
