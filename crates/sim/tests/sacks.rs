//! Round trips that SACK blocks tell of.

mod common;

use common::{DROP, RTT_NS, kth, record_of, wire};
use fadelab_run::record::FlowCounters;
use fadelab_run::transport::RttSamples;

/// A transfer of 60 segments whose receive window is `rwnd_pkts`, which loses each eighth data packet from number 21 to
/// number `last`, counted from 1.
fn counted(rwnd_pkts: u32, last: u32, rtt_samples: RttSamples) -> FlowCounters {
    let mut spec = wire("reno", 60_000);
    spec.network.links[0].router = kth(21, 8, last, DROP);
    let tcp = &mut spec.flows[0].transport;
    (tcp.rwnd_pkts, tcp.rtt_samples) = (rwnd_pkts, rtt_samples);
    record_of(&spec).flows_end[0]
}

#[test]
fn each_segment_sent_once_gives_a_sample() {
    // Goal: of a window of four of which the first is lost, the three duplicate ACKs each tell of the round trip of the
    // segment that they report, which met no queue; the run is the same to the packet.
    let [mut without, with] = [RttSamples::PerAck, RttSamples::PerSack].map(|samples| counted(4, 21, samples));
    assert_eq!((without.retransmitted_pkts, without.timeouts), (1, 0));
    without.rtt_samples += 3;
    without.rtt_us_sum += 3 * RTT_NS / 1000;
    without.srtt_us = with.srtt_us;
    assert_eq!(with, without);
}

#[test]
fn what_was_repeated_gives_none() {
    // Goal: a SACK of a segment that was sent twice does not tell which of the two arrived (Karn's algorithm).
    //
    // Of a window of 16, segments 20 to 35, 20 and 28 are lost, and so is the repetition of 20, the 37th data packet.
    // SACK blocks tell of 14 others, and of the repetition of 28; then the timer repeats 20.
    let [without, with] = [RttSamples::PerAck, RttSamples::PerSack].map(|samples| counted(16, 37, samples));
    for flow in [without, with] {
        assert_eq!((flow.retransmitted_pkts, flow.timeouts), (3, 1), "{flow:?}");
    }
    assert_eq!(with.rtt_samples, without.rtt_samples + 14);
}
