//! Logs in the format of `mm-link`, against lines worked out by hand.

mod common;

use std::fs;
use std::sync::Arc;

use common::{MS, PACKET_BYTES, fading, link};
use fadelab_emu::{Left, LinkLog};
use fadelab_path::spec::{CapacitySpec, LinkSpec};
use fadelab_path::trace::{Trace, TraceRules};

/// What is logged of a link to which so many IP bytes come at such instants, and which is served each ms until the end.
fn logged(spec: &LinkSpec, arrivals: &[(u64, usize)], end_ms: u64) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log");
    let mut log = LinkLog::new(&path, spec).expect("a file");
    let mut lane = common::lane(spec, 1, PACKET_BYTES);
    let mut waiting = arrivals.iter().peekable();
    for now_ns in (0..=end_ms).map(|ms| ms * MS) {
        while let Some(&(came_ns, ip_bytes)) = waiting.next_if(|arrival| arrival.0 <= now_ns) {
            log.arrived(came_ns, ip_bytes);
            // 20 bytes of IP and 8 of UDP.
            let packet = common::datagram(ip_bytes - 28);
            let mut sink = |left: &Left<'_>| log.left(left);
            lane.arrive(came_ns, &packet, &mut sink).expect("no invariant breaks");
        }
        let mut sink = |left: &Left<'_>| log.left(left);
        lane.serve(now_ns, &mut sink).expect("no invariant breaks");
        log.served(now_ns);
    }
    assert!(log.finish(end_ms * MS).expect("a disk"), "it is whole");
    let text = fs::read_to_string(&path).expect("it was written");
    let mut lines = text.lines().map(str::to_owned);
    let head: Vec<String> = lines.by_ref().take(2).collect();
    assert!(head[0].starts_with("# fadelab link (link) > "), "{head:?}");
    assert_eq!(head[1], "# base timestamp: 0");
    lines.collect()
}

fn recorded(opportunities_ms: &[u64]) -> LinkSpec {
    let mut spec = link("droptail");
    spec.capacity = CapacitySpec::Trace(Arc::new(Trace {
        opportunities_ms: opportunities_ms.to_vec(),
        opportunity_bytes: 1504,
        rules: TraceRules::ExactMahimahi,
    }));
    spec
}

#[test]
fn the_lines_of_a_trace_are_those_of_mm_link() {
    // Goal: opportunities of 1504 bytes, several packets in one and one over two, with the 4 bytes of TUN; what a
    // packet waited leaves out the 20 ms of the way, and lines stand in the order of time although packets arrive so
    // much later.
    let arrivals = [(0, 252), (MS, 500), (2 * MS, 748), (5 * MS + 1, 1500), (8 * MS, 50)];
    let mut lines = logged(&recorded(&[4, 7, 9, 60]), &arrivals, 40);
    let expected = [
        "0 + 256",
        "1 + 504",
        "2 + 752",
        "4 # 1504",
        "4 - 256 4",
        "4 - 504 3",
        "5 + 1504",
        "7 # 1504",
        "7 - 752 5",
        "8 + 54",
        "9 # 1504",
        "9 - 1504 4",
        "9 - 54 1",
    ];
    assert_eq!(lines, expected);
    // What leaves at an instant leaves before what comes then.
    lines = logged(&recorded(&[4, 7]), &[(MS, 1500), (4 * MS, 1500)], 30);
    assert_eq!(lines[..4], ["1 + 1504", "4 # 1504", "4 - 1504 3", "4 + 1504"]);
}

#[test]
fn a_rate_offers_bytes_each_ms() {
    // Goal: 10 Mbit/s are 1250 bytes a ms; 1250 bytes take one; of a queue of 30 packets the 32nd at an instant is
    // dropped, since one is in transmission.
    let mut arrivals = vec![(0, 1250); 32];
    arrivals.push((100 * MS, 1250));
    let lines = logged(&link("droptail"), &arrivals, 130);
    let of = |mark: &str| -> Vec<&String> { lines.iter().filter(|line| line.contains(mark)).collect() };
    assert_eq!(of(" # 1250").len(), of("#").len());
    assert_eq!(of("#").len(), 131);
    assert_eq!(of(" d "), ["0 d 1 1250"]);
    assert_eq!(of(" + ").len(), 33);
    let left = of(" - ");
    assert_eq!(left.len(), 32);
    assert_eq!(
        [left[0], left[30], left[31]],
        ["1 - 1250 1", "31 - 1250 31", "101 - 1250 1"]
    );
}

#[test]
fn what_is_lost_on_the_air_has_left_the_queue() {
    // Goal: of packets on a fading link each has left or was lost, when its transmission was over.
    let arrivals: Vec<(u64, usize)> = (0..400).map(|number| (number * 2 * MS, 1250)).collect();
    let lines = logged(&fading("droptail"), &arrivals, 1000);
    let count = |mark: &str| lines.iter().filter(|line| line.contains(mark)).count();
    assert!(count(" d 1 1250") > 0, "it fades");
    assert_eq!(count(" - ") + count(" d "), 400);
    assert_eq!(count(" + "), 400);
}
