//! Links whose flows send small packets.

use super::common::guest::possible;
use super::common::{Scratch, column};
use super::memory::watched;
use super::{fadelab, run, said, scenario};

/// Two links in a row, of which the second one is the narrow one.
pub(super) const ROW: &str = r#"
[topology]
nodes = ["a", "r", "b"]

[link.access]
from = "a"
to = "r"
rate = "100 Mbit/s"
delay = "1 ms"
show = false
"#;

/// What a run in a kernel and one in the simulator have to show.
pub(super) fn on_both_grounds<T>(scratch: &Scratch, shown: impl Fn(&str) -> T) -> [T; 2] {
    run(scratch, "out", &[]);
    let arguments = ["run", "net.toml", "--quiet", "--csv", "--out", "sim"];
    let output = fadelab(scratch, &arguments).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    ["out", "sim"].map(shown)
}

/// A link that marks, for small packets.
const SMALL_PACKETS: &str = r#"
[run]
duration = "5 s"
warmup = "0 s"
seeds = 1
record = "100 ms"

[link.narrow]
from = "r"
to = "b"
rate = "10 Mbit/s"
delay = "20 ms"
buffer = "90 kB"

[transport]
preset = "linux"
packet = "1040 B"

[flow]
law = "reno+cw"

[flow.long]
from = "a"
to = "b"

[flow.call]             # results show the way back for its sake
app = "cbr"
rate = "20 kbit/s"
from = "b"
to = "a"
"#;

#[test]
fn a_link_of_small_packets_is_the_same_to_laws_and_receivers() {
    // Goal: a law at a kernel's link counts its limit in packets of the flows' size, and a receiver hurries with as
    // many ACKs while its window grows and behind marks, as in the simulator: the same threshold, and ACKs within 3 %.
    if !possible("6.1") {
        return;
    }
    let scratch = scenario(&format!("{ROW}{SMALL_PACKETS}"));
    let [kernel, sim] = on_both_grounds(&scratch, |out| {
        let threshold = ("narrow".to_owned(), "router.threshold_pkts".to_owned());
        let threshold_q16 = watched(&scratch, out)[&threshold][0];
        let sent_pkts = column(&scratch, &format!("{out}/csv/runs.csv"), "sent_pkts");
        assert_eq!(sent_pkts.len(), 2, "the link, and back: {sent_pkts:?}");
        (threshold_q16, sent_pkts[1])
    });
    let third_q16 = (86 << 16) / 3;
    assert_eq!((kernel.0, sim.0), (third_q16, third_q16), "a third of 86 packets");
    let apart = kernel.1 / sim.1 - 1.0;
    assert!(apart.abs() < 0.03, "ACKs: {} and {}", kernel.1, sim.1);
}

/// ACKs that have a hundredth of the rate of their data, and a queue of ten.
const NARROW_BACK: &str = r#"
[run]
duration = "12 s"
warmup = "4 s"
seeds = 3
record = "100 ms"

[link.narrow]
from = "r"
to = "b"
rate = "5 Mbit/s"
rate_back = "60 kbit/s"
delay = "20 ms"
buffer = "60 pkt"
buffer_back = "10 pkt"

[transport]
preset = "linux"
packet = "1040 B"

[flow]
law = "reno"

[flow.long]
from = "a"
to = "b"
"#;

#[test]
fn acks_wait_as_long_as_in_the_simulator() {
    // Goal: a queue of ten holds ten of what is small, too, though a link must be able to carry full packets: data and
    // ACKs wait together as long as in the simulator, and as many packets go out.
    if !possible("6.1") {
        return;
    }
    let scratch = scenario(&format!("{ROW}{NARROW_BACK}"));
    let [kernel, sim] = on_both_grounds(&scratch, |out| {
        ["rtt_ms_mean", "goodput_bps"].map(|name| column(&scratch, &format!("{out}/csv/runs.csv"), name)[0])
    });
    for (kernel, sim) in kernel.into_iter().zip(sim) {
        assert!((kernel / sim - 1.0).abs() < 0.1, "{kernel} for {sim}");
    }
}

/// A file of 24 packets of 300 bytes, all of its first window, before a queue of six.
const BURST: &str = r#"
[run]
duration = "3 s"
warmup = "0 s"
seeds = 3

[transport]
preset = "linux"
packet = "300 B"
initial_window = "24 pkt"

[flow]
law = "reno"

[flow.file]
app = "transfer"
size = "6000 B"
from = "a"
to = "b"

[channel.late]
jitter = { delay = "uniform 0 s..1 us" }

[link.narrow]
from = "r"
to = "b"
rate = "1 Mbit/s"
delay = "20 ms"
buffer = "6 pkt"
"#;

#[test]
fn a_burst_finds_room_for_as_many_small_packets_as_in_the_simulator() {
    // Goal: a kernel's link sends one packet and lets those of its limit wait, however small they are, also before a
    // channel: a burst loses as many as in the simulator.
    if !possible("6.1") {
        return;
    }
    for channel in ["", "channel = \"late\"\n"] {
        let scratch = scenario(&format!("{}{BURST}{channel}", ROW.replace("100 Mbit/s", "50 Mbit/s")));
        let [kernel, sim] = on_both_grounds(&scratch, |out| {
            column(&scratch, &format!("{out}/csv/runs.csv"), "dropped_full_pkts")[0]
        });
        assert!(
            sim > 10.0 && (kernel - sim).abs() < 0.5,
            "{channel}: {kernel} for {sim} dropped"
        );
    }
}
