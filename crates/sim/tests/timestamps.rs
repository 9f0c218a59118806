//! Connections whose ACKs have no timestamps.

mod common;

use common::{MS, S, plain_router, random_loss, record_of, wire};
use fadelab_run::record::RunRecord;
use fadelab_run::spec::RunSpec;

/// A transfer that loses one packet in two hundred, whose timer is far longer than any round trip.
fn lossy(law: &str, timestamps: bool) -> RunSpec {
    let mut spec = wire(law, 2_000_000);
    spec.network.links[0].channel = Some(random_loss(0.005, 0.0));
    spec.network.links[0].router = plain_router("cw");
    spec.record_interval_ns = Some(100 * MS);
    let tcp = &mut spec.flows[0].transport;
    (tcp.timestamps, tcp.rto_ns_min, tcp.rto_ns_initial) = (timestamps, 20 * S, 20 * S);
    (tcp.cwnd_pkts_initial, tcp.rwnd_pkts) = (10, 60);
    spec
}

/// The value to watch at each sample while the transfer runs.
fn watched(record: &RunRecord, law: &str, name: &str) -> Vec<u64> {
    let watch = fadelab_laws::sender(law).unwrap().watch();
    let place = watch.iter().position(|info| info.name == name).unwrap();
    let end_ns = record.completions[0].end_ns;
    let samples = record.series.flows_watched[0].chunks(watch.len());
    let during = record.series.time_ns.iter().zip(samples);
    let during = during.filter(|(time_ns, _)| (S..end_ns).contains(*time_ns));
    during.map(|(_, values)| values[place]).collect()
}

#[test]
fn an_ack_of_a_retransmission_gives_no_sample_without_timestamps() {
    // Goal: Karn's algorithm: where no timer depends on it the run is the same to the packet, and as many samples are
    // missing as there were ACKs of retransmissions.
    let [with, without] = [true, false].map(|timestamps| record_of(&lossy("reno", timestamps)));
    let [mut flow, other] = [with.flows_end[0], without.flows_end[0]];
    assert!(flow.retransmitted_pkts > 3 && flow.timeouts == 0, "{flow:?}");
    let missing = flow.rtt_samples - other.rtt_samples;
    assert!(
        (1..=flow.retransmitted_pkts).contains(&missing),
        "{missing} of {}",
        flow.retransmitted_pkts
    );
    (flow.rtt_samples, flow.rtt_us_sum) = (other.rtt_samples, other.rtt_us_sum);
    flow.srtt_us = other.srtt_us;
    assert_eq!(flow, other);
    assert_eq!(with.links_end, without.links_end);
}

#[test]
fn a_law_that_needs_them_is_newreno_without() {
    // Goal: New Jersey beside a router that marks goes by its estimate with timestamps and is NewReno's without, and
    // says so; its estimate stays at nothing then.
    for (timestamps, is_newreno) in [(true, 0), (false, 1)] {
        let record = record_of(&lossy("new_jersey", timestamps));
        let seen = watched(&record, "new_jersey", "is_newreno");
        assert!(seen.len() > 10, "{}", seen.len());
        assert!(seen.iter().all(|&seen| seen == is_newreno), "{timestamps}: {seen:?}");
        let rates = watched(&record, "new_jersey", "rate");
        assert!(rates.iter().all(|&rate| (rate > 0) == timestamps), "{rates:?}");
    }
}
