//! What routers' laws and their capacity parts may do beside one queue and a spare rate, with laws that do it.

mod common;

use common::{Dumbbell, MS, S, record_of, used};
use fadelab_laws::{capacity, receiver, sender};

#[test]
fn a_law_with_queues_keeps_one_flow_from_another_s_queue() {
    // Goal: under strict priority by codepoint a flow with a window of 20 packets, whose packets are ECT(1), has its
    // round trip for itself and what it sends, while another that fills the buffer has the rest of the link.
    let mut spec = Dumbbell {
        flows: 2,
        law: "reno",
        router: "dual",
        rate_bps: 10_000_000,
        delay_ns: 20 * MS,
        buffer_pkts: 100,
        duration_ns: 60 * S,
    }
    .spec();
    spec.warmup_ns = 30 * S;
    // Nothing is marked: VCP would read an overload.
    for link in &mut spec.network.links[..2] {
        let pairs = [("target_us", 1e7)];
        link.router.params = link.router.law.params_from(&pairs).expect("valid");
    }
    // Its packets are ECT(1), for VCP reads "low" there; the window of the receiver alone holds it.
    let law = sender("vcp").expect("registered");
    spec.flows[0].sender = Some(law);
    spec.flows[0].params = law.default_params();
    spec.flows[0].receiver = receiver("vcp");
    spec.flows[0].transport.rwnd_pkts = 20;
    spec.flows[0].transport.ts_tick_ns = 1000;
    let record = record_of(&spec);
    let delivered = record.flows_warmup.iter().zip(&record.flows_end);
    let goodput = delivered.map(|(a, b)| (b.delivered_bytes - a.delivered_bytes) as f64 * 8.0 / 30.0);
    // Two ways of 20 + 8 + 8 ms, and the packet in transmission.
    let (own_us, both_us) = (72_000.0, 72_000.0 + 5_000.0);
    assert!(
        (own_us..both_us).contains(&f64::from(record.flows_end[0].srtt_us)),
        "{:?}",
        record.flows_end[0]
    );
    let expected = [20.0 * 8000.0 / 0.0745, 10e6 * 1000.0 / 1040.0 - 20.0 * 8000.0 / 0.0745];
    for (goodput, expected) in goodput.zip(expected) {
        assert!((goodput / expected - 1.0).abs() < 0.05, "{goodput}, not {expected}");
    }
    assert!(used(&record, 0) > 0.99 && record.links_end[0].dropped_full_pkts > 10);
}

#[test]
fn a_capacity_part_gives_the_aggregate_feedback() {
    // Goal: under a part that gives F by itself, aiming at an eighth of the buffer, XCP's flows fill that and nothing
    // but that, though the buffer is limited in packets and no capacity is known; under `configured` they drain it.
    let queue_pkts = |part: &str| {
        let mut spec = Dumbbell {
            flows: 5,
            law: "xcp",
            router: "xcp",
            rate_bps: 10_000_000,
            delay_ns: 20 * MS,
            buffer_pkts: 200,
            duration_ns: 60 * S,
        }
        .spec();
        spec.warmup_ns = 30 * S;
        let part = capacity(part).expect("a part");
        for link in &mut spec.network.links[..2] {
            (link.router.capacity, link.router.capacity_params) = (part, part.default_params());
        }
        let record = record_of(&spec);
        let (before, after) = (&record.links_warmup[0], &record.links_end[0]);
        assert!(used(&record, 0) > 0.97, "{}", used(&record, 0));
        (after.queue_byte_ns - before.queue_byte_ns) as f64 / (30 * S) as f64 / 1040.0
    };
    let (aimed, configured) = (queue_pkts("aimed"), queue_pkts("configured"));
    assert!((15.0..35.0).contains(&aimed), "{aimed} packets, not about 25");
    assert!(configured < 10.0, "{configured}");
}
