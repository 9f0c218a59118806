//! How long packets wait and round trips take, each sample counted: against waits worked out by hand.

mod common;

use common::{DATA_NS, MS, RTT_NS, S, flow, link, network, record_of, transport, wire};
use fadelab_path::histogram::{Bin, Histogram};
use fadelab_path::layer::Arq;
use fadelab_run::app::{App, Span};
use fadelab_run::flow::FlowSpec;
use fadelab_run::spec::RunSpec;

/// Datagrams of 1040 bytes, one in 10 ms from `start_ns` on.
fn datagrams(name: &str, start_ns: u64) -> FlowSpec {
    let mut flow = flow(name, "reno", vec![0], vec![1]);
    (flow.sender, flow.receiver) = (None, None);
    name.clone_into(&mut flow.group);
    flow.app = App::Cbr {
        start: Span::Fixed { ns: start_ns },
        stop_ns: u64::MAX,
        rate_bps: 1012 * 8 * 100,
    };
    flow.transport = transport();
    flow
}

/// Two flows whose packets come to a link of a byte per microsecond at the same instants, and a third alone.
fn three_flows() -> RunSpec {
    let links = ["there", "back"].map(|name| link(name, 8_000_000, 20 * MS, 1000));
    RunSpec {
        seed: 1,
        duration_ns: 10 * S,
        warmup_ns: 4 * S,
        record_interval_ns: None,
        network: network(links),
        flows: vec![datagrams("a", 0), datagrams("b", 0), datagrams("c", 5 * MS)],
    }
}

fn bins(histogram: &Histogram) -> Vec<(u64, u64)> {
    histogram
        .bins()
        .map(|Bin { lower, count, .. }| (lower, count))
        .collect()
}

/// The bin in which a value is counted.
fn bin_of(value: u64) -> u64 {
    let mut one = Histogram::default();
    one.add(value, 1);
    bins(&one)[0].0
}

#[test]
fn each_group_has_the_waits_of_its_own_packets_in_the_measured_interval() {
    // Goal: in 6 s after the warm-up each flow sends 600 packets. Those of `b` come behind those of `a` and wait for
    // one transmission, the others never; the link has all of them. On a link that goes step by step it is the same.
    let planned = three_flows();
    let mut evented = planned.clone();
    let arq = Arq {
        tries_max: Some(2),
        retry_ns: 0,
        in_order: false,
    };
    evented.network.links[0].layer.arq = Some(arq);
    for spec in [planned, evented] {
        let record = record_of(&spec);
        let waits = &record.delays.waits_ns[0];
        let of_group: Vec<_> = waits
            .groups
            .iter()
            .map(|group| (group.group.as_str(), bins(&group.histogram)))
            .collect();
        let behind = bin_of(DATA_NS);
        let expected = [("a", vec![(0, 600)]), ("b", vec![(behind, 600)]), ("c", vec![(0, 600)])];
        assert_eq!(of_group, expected);
        assert_eq!(bins(&waits.all), [(0, 1200), (behind, 600)]);
        // Nothing comes back, and datagrams have no round trips.
        assert_eq!(bins(&record.delays.waits_ns[1].all), []);
        assert!(record.delays.rtts_us.iter().all(|group| group.histogram.count() == 0));
    }
}

#[test]
fn a_link_on_which_nobody_waits_has_waits_of_none() {
    // Goal: packets that find the transmitter idle are counted, as waits of 0 ns, in the one group and on the link.
    let mut spec = three_flows();
    spec.flows.truncate(1);
    let record = record_of(&spec);
    let waits = &record.delays.waits_ns[0];
    assert_eq!(bins(&waits.all), [(0, 600)]);
    assert_eq!(bins(&waits.groups[0].histogram), [(0, 600)]);
}

#[test]
fn every_round_trip_is_counted() {
    // Goal: a window of one packet meets no queue, so that all round trips are alike, as many as the counter says; the
    // longest wait of a transfer from a window of two on is as long as its packets in front take.
    let mut spec = wire("reno", 100_000);
    spec.flows[0].transport.rwnd_pkts = 1;
    let record = record_of(&spec);
    let samples = record.flows_end[0].rtt_samples;
    let rtts_us = &record.delays.rtts_us[0];
    assert_eq!((rtts_us.group.as_str(), samples), ("all", 100));
    assert_eq!(bins(&rtts_us.histogram), [(bin_of(RTT_NS / 1000), samples)]);
}

#[test]
fn waits_add_up_to_the_integral_of_the_queue() {
    // Goal: over a whole run the waits of all packets are the integral over time of the packets waiting, within the
    // width of a bin, and there are as many as packets left.
    let record = record_of(&wire("reno", 2_000_000));
    let (counters, waits) = (&record.links_end[0], &record.delays.waits_ns[0].all);
    let sum: f64 = waits
        .bins()
        .map(|bin| f64::midpoint(bin.lower as f64, bin.upper as f64) * bin.count as f64)
        .sum();
    let integral = counters.queue_pkt_ns as f64;
    assert!(
        integral > 0.0 && (sum / integral - 1.0).abs() < 0.004,
        "{sum} and {integral}"
    );
    assert_eq!(waits.count(), counters.sent_pkts);
}
