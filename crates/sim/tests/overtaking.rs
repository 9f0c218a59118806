//! Segments that others overtake, and senders that take them for lost.

mod common;

use common::{MS, RTT_NS, random_loss, record_of, seen, wire};
use fadelab_path::layer::Reorder;
use fadelab_run::record::FlowCounters;
use fadelab_run::spec::RunSpec;
use fadelab_run::transport::Recovery;

/// A window of 20 segments over [`wire`], of which some come 18 ms late: more than a quarter of the round trip, and
/// less than two.
fn late(undo: bool, dsack: bool) -> RunSpec {
    let mut spec = wire("reno", 5_000_000);
    let tcp = &mut spec.flows[0].transport;
    (tcp.recovery, tcp.undo, tcp.dsack) = (Recovery::Rack, undo, dsack);
    (tcp.cwnd_pkts_initial, tcp.rwnd_pkts) = (20, 20);
    spec.network.links[0].layer.reorder = Some(Reorder {
        probability: 0.1,
        delay_ns: 18 * MS,
        gap_pkts: None,
    });
    assert!((RTT_NS / 4..RTT_NS / 2).contains(&(18 * MS)));
    spec
}

fn end(undo: bool, dsack: bool) -> FlowCounters {
    record_of(&late(undo, dsack)).flows_end[0]
}

#[test]
fn reductions_for_what_came_late_are_taken_back() {
    // Goal: each late segment is sent again, and its own ACK tells that it was not lost, though others may be under way
    // again then: ssthresh is what it was in the end. Without, it is not.
    let (with, without) = (end(true, false), end(false, false));
    assert!(
        with.recoveries > 100 && without.recoveries > 100,
        "{with:?}, {without:?}"
    );
    assert!(with.ssthresh_pkts > 20, "{with:?}");
    assert!(without.ssthresh_pkts < 20, "{without:?}");
}

#[test]
fn what_is_lost_is_not_taken_for_late() {
    // Goal: where one packet in twenty of a window of 60 is lost and none is late, one recovery follows the other, and
    // what the first one repeated arrives in the second: that tells of no original, nothing is taken back, and each run
    // is that of a sender that never takes back.
    let [with, without] = [true, false].map(|undo| {
        let mut spec = wire("paced", 5_000_000);
        let flow = &mut spec.flows[0];
        let law = flow.sender.expect("a law");
        let params = law.params_from(&[("window_pkts", 60.0), ("rate_Bps", 1e8)]);
        flow.params = params.expect("valid parameters");
        let tcp = &mut flow.transport;
        (tcp.recovery, tcp.undo, tcp.dsack) = (Recovery::Rack, undo, undo);
        spec.network.links[0].channel = Some(random_loss(0.05, 0.0));
        record_of(&spec).flows_end[0]
    });
    assert!(with.recoveries > 40, "{with:?}");
    assert_eq!(with, without);
}

#[test]
fn duplicates_teach_how_late_segments_come() {
    // Goal: the first repetitions in vain come twice, of which receivers tell; from then on the sender waits longer,
    // and takes next to nothing for lost. A receiver tells only where it shall, of one segment, below what it has.
    let told = |dsack| {
        let (record, packets) = seen(&late(true, dsack));
        let acks = packets
            .iter()
            .filter(|packet| !packet.is_data && packet.sack_blocks > 0);
        let duplicates = acks.filter(|ack| ack.sack[0].0 < ack.segment);
        let ranges: Vec<_> = duplicates.map(|ack| ack.sack[0]).collect();
        assert!(ranges.iter().all(|(start, end)| start + 1 == *end), "{ranges:?}");
        (record.flows_end[0], ranges.len())
    };
    let ((with, duplicates), (without, none)) = (told(true), told(false));
    assert!(duplicates > 0 && none == 0, "{duplicates}, {none}");
    assert!(with.recoveries * 20 < without.recoveries, "{with:?}, {without:?}");
}
