//! Timeouts that are taken back, and those that are not (F-RTO, RFC 5682).

mod common;

use common::row::{row, tunnel};
use common::{DROP, MS, S, kth, record_of, seen, wire};
use fadelab_run::spec::RunSpec;
use fadelab_run::transport::Recovery;
use fadelab_run::tunnel::Rekey;
use fadelab_sim::tap::Sighting;

const RECOVERIES: [Recovery; 4] = [Recovery::Sack, Recovery::Rack, Recovery::NewReno, Recovery::Reno];

/// The number of the first segment that gets through where all ten are lost that the first ten ACKs let out, and with
/// RACK the one that probes the end of these (TLP).
fn through(recovery: Recovery) -> u32 {
    20 + u32::from(recovery == Recovery::Rack)
}

/// Segments as they leave behind these, first and again.
fn sent_behind_loss(recovery: Recovery, frto: bool, segments: u32) -> Vec<u32> {
    let mut spec = wire("reno", u64::from(segments) * 1000);
    let tcp = &mut spec.flows[0].transport;
    (tcp.recovery, tcp.frto) = (recovery, frto);
    (tcp.cwnd_pkts_initial, tcp.ssthresh_pkts_initial) = (10, 10);
    spec.network.links[0].router = kth(11, 1, through(recovery), DROP);
    let (record, packets) = seen(&spec);
    assert_eq!(record.completions.len(), 1, "{recovery:?}: it ends");
    assert_eq!(record.flows_end[0].timeouts, 1, "{recovery:?}");
    let sent = packets
        .iter()
        .filter(|packet| packet.is_data)
        .map(|packet| packet.segment);
    sent.skip(through(recovery) as usize).collect()
}

#[test]
fn new_data_tell_that_a_timeout_was_right() {
    // Goal: behind a timeout the ACK of the oldest segment lets two new ones out, and their duplicates the lost ones;
    // without F-RTO, or where there is nothing new to send, the lost ones follow at once.
    for recovery in RECOVERIES {
        let sent = |frto, segments| sent_behind_loss(recovery, frto, segments);
        let new = through(recovery);
        assert_eq!(sent(true, 100)[..5], [10, new, new + 1, 11, 12], "{recovery:?}");
        assert_eq!(sent(false, 100)[..5], [10, 11, 12, 13, 14], "{recovery:?}");
        if recovery != Recovery::Rack {
            assert_eq!(sent(true, 20)[..5], [10, 11, 12, 13, 14], "{recovery:?}");
        }
    }
}

/// One flow through a tunnel that has no association for 300 ms of each second, for five.
fn through_gaps(recovery: Recovery, frto: bool) -> RunSpec {
    let mut through = tunnel(1, 2);
    through.rekey = Some(Rekey {
        lasts_ns: 700 * MS,
        gap_ns: 300 * MS,
    });
    let mut spec = row(vec![through], "reno", 1);
    let tcp = &mut spec.flows[0].transport;
    (tcp.recovery, tcp.frto, tcp.rto_ns_min) = (recovery, frto, 200 * MS);
    (tcp.cwnd_pkts_initial, tcp.ssthresh_pkts_initial) = (40, 40);
    spec.duration_ns = 5 * S;
    spec
}

#[test]
fn what_arrived_and_was_not_acknowledged_is_not_lost() {
    // Goal: where nothing comes through either way for 300 ms, segments arrive whose ACKs do not. With SACK the window
    // is then not one segment, and what arrived is not sent again; without SACK nobody can tell, and nothing is taken
    // back.
    for recovery in RECOVERIES {
        let [without, with] = [false, true].map(|frto| record_of(&through_gaps(recovery, frto)).flows_end[0]);
        assert!(without.timeouts >= 4 && with.timeouts >= 4, "{recovery:?}");
        let gain = with.delivered_bytes as f64 / without.delivered_bytes as f64;
        assert_eq!(gain > 1.05, recovery.has_sack(), "{recovery:?}: {with:?}, {without:?}");
    }
}

#[test]
fn rack_waits_as_long_as_the_last_arrival_was_under_way() {
    // Goal: the ACK that takes a timeout back covers segments that left before the gap, and RACK's round trip is as
    // long: what left behind them may come as late, so that new data go out before any of it is sent again. It echoes
    // what arrived in order before, not the repetition, which the receiver has: a sample of the round trip of its own.
    let packets = seen(&through_gaps(Recovery::Rack, true)).1;
    let of_data = packets.iter().filter(|packet| packet.is_data);
    let sent: Vec<u32> = of_data.map(|packet| packet.segment).collect();
    let again = sent.windows(2).position(|pair| pair[1] < pair[0]).expect("a timeout") + 1;
    let (highest, behind) = (sent[again - 1], &sent[again + 1..again + 4]);
    assert!(
        behind.iter().all(|&segment| segment > highest),
        "{behind:?} behind {highest}"
    );
    let is_again = |packet: &&Sighting| packet.is_data && packet.segment == sent[again];
    let first = packets.iter().find(is_again).expect("it was sent").time_ns;
    let repeated = packets.iter().filter(is_again).nth(1).expect("and again").time_ns;
    let answer = packets
        .iter()
        .find(|packet| !packet.is_data && packet.time_ns > repeated);
    let echoed_us = answer.expect("an ACK").echo_us;
    assert!(u64::from(echoed_us) * 1000 > repeated - first, "{echoed_us}");
}
