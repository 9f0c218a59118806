//! What a tap shows, and that it changes nothing.

mod common;

use std::cell::RefCell;
use std::rc::Rc;

use common::{DROP, Dumbbell, MARK, MS, RTT_NS, S, kth, plain_router, record_of, wire};
use fadelab_laws::abi;
use fadelab_run::record::RunRecord;
use fadelab_run::spec::RunSpec;
use fadelab_sim::tap::{Place, Sighting};

fn tapped(spec: &RunSpec, flows: &[u32]) -> (RunRecord, Vec<Sighting>) {
    tapped_at(spec, flows, &[])
}

fn tapped_at(spec: &RunSpec, flows: &[u32], links: &[u32]) -> (RunRecord, Vec<Sighting>) {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let sink = Rc::clone(&seen);
    let add = move |sighting: &Sighting| sink.borrow_mut().push(*sighting);
    let record = fadelab_sim::run_tapped(spec, flows, links, Box::new(add), |_| true).unwrap();
    let seen = seen.borrow().clone();
    (record, seen)
}

/// Three XCP flows over a lossy bottleneck.
fn lossy() -> RunSpec {
    let mut spec = Dumbbell {
        flows: 3,
        law: "xcp",
        router: "xcp",
        rate_bps: 2_000_000,
        delay_ns: 50 * MS,
        buffer_pkts: 50,
        duration_ns: 30 * S,
    }
    .spec();
    spec.network.links[0].channel = Some(common::random_loss(0.01, 0.01));
    spec
}

#[test]
fn a_tap_changes_nothing() {
    // Goal: the record of a run is the same with a tap on any of its flows.
    let spec = lossy();
    let plain = record_of(&spec);
    for flow in 0..3 {
        let (record, seen) = tapped(&spec, &[flow]);
        assert!(record == plain, "flow {flow}");
        let data = seen.iter().filter(|packet| packet.is_data);
        assert_eq!(
            data.count() as u64,
            plain.flows_end[flow as usize].sent_pkts,
            "flow {flow}"
        );
    }
}

#[test]
fn acks_echo_marks_where_ends_agreed_to_that() {
    // Goal: CE is a mark to ends that agreed to ECN, whose ACKs say ECE; to VCP it is a load, and no ACK does, as in a
    // kernel.
    for (law, router, echoes) in [
        ("reno", kth(30, 10, 1_000, MARK), true),
        ("vcp", plain_router("vcp"), false),
    ] {
        let mut spec = Dumbbell {
            flows: 3,
            law,
            router: "droptail",
            rate_bps: 2_000_000,
            delay_ns: 50 * MS,
            buffer_pkts: 50,
            duration_ns: 30 * S,
        }
        .spec();
        spec.network.links[0].router = router;
        let (_, seen) = tapped_at(&spec, &[0], &[0]);
        let is_marked = |packet: &&Sighting| packet.is_data && u32::from(packet.ecn) == abi::ECN_CE;
        assert!(seen.iter().filter(is_marked).count() > 20, "{law}");
        assert_eq!(seen.iter().any(|packet| packet.ece), echoes, "{law}");
    }
}

#[test]
fn a_tap_behind_a_link_sees_what_crossed_it() {
    // Goal: a tap behind a link changes nothing; it sees each packet that was sent and not lost on the air, a delay
    // after it was sent at the earliest, with the numbers and the timestamps that the host showed.
    let spec = lossy();
    let (mut record, seen) = tapped_at(&spec, &[], &[0, 1]);
    let plain = record_of(&spec);
    // It takes more events of its own: none is dealt with together with others.
    assert!(record.events > plain.events);
    record.events = plain.events;
    assert!(record == plain);
    assert!(seen.is_sorted_by_key(|packet| packet.time_ns));
    for link in [0, 1] {
        let crossed = seen.iter().filter(|packet| packet.place == Place::Link(link));
        let crossed = crossed.filter(|packet| packet.greeting.is_none()).count() as u64;
        let counted = &record.links_end[record
            .link_ids
            .iter()
            .position(|&id| id == link)
            .unwrap_or(link as usize)];
        // What is on its way when the run ends.
        let arrived = counted.sent_pkts - counted.lost_air_pkts;
        assert!(
            crossed > 500 && arrived - crossed < 50,
            "link {link}: {crossed} of {arrived}"
        );
    }
    let key = |packet: &Sighting| (packet.flow, packet.segment, packet.ip_id, packet.ts_val, packet.ts_ecr);
    let at_host: Vec<&Sighting> = seen
        .iter()
        .filter(|packet| packet.place == Place::Host && packet.is_data)
        .collect();
    for packet in seen
        .iter()
        .filter(|packet| packet.place == Place::Link(0) && packet.is_data)
    {
        let left = at_host
            .iter()
            .find(|left| key(left) == key(packet))
            .expect("it left a host");
        assert!(packet.time_ns >= left.time_ns + 50 * MS, "{packet:?}");
    }
}

#[test]
fn a_tap_shows_the_samples_of_several_flows() {
    // Goal: echoes of ACKs that are above all before them are the RTT samples that each sender counted, to the
    // microsecond; a flow that is not asked for is not shown.
    let (record, seen) = tapped(&lossy(), &[0, 2]);
    for flow in [0, 2] {
        let (mut una, mut samples, mut sum_us) = (0, 0, 0);
        for ack in seen.iter().filter(|packet| packet.flow == flow && !packet.is_data) {
            if ack.segment > una {
                (una, samples, sum_us) = (ack.segment, samples + 1, sum_us + u64::from(ack.echo_us));
            }
        }
        let counted = &record.flows_end[flow as usize];
        assert!(samples > 100, "flow {flow}: {samples} samples");
        assert_eq!(
            (samples, sum_us),
            (counted.rtt_samples, counted.rtt_us_sum),
            "flow {flow}"
        );
    }
    assert!(seen.iter().all(|packet| packet.flow != 1));
}

#[test]
fn a_tap_shows_what_the_sender_sees() {
    // Goal: data when they leave, ACKs when they arrive, with numbers, timestamps and SACK blocks.
    let mut spec = wire("reno", 6_000);
    spec.network.links[0].router = kth(3, 0, 3, DROP);
    let (record, seen) = tapped(&spec, &[0]);
    assert!(seen.is_sorted_by_key(|packet| packet.time_ns));
    let data: Vec<&Sighting> = seen.iter().filter(|packet| packet.is_data).collect();
    let acks: Vec<&Sighting> = seen.iter().filter(|packet| !packet.is_data).collect();
    assert_eq!((data[0].time_ns, data[0].segment, data[0].ip_bytes), (0, 0, 1_040));
    assert_eq!((acks[0].time_ns, acks[0].segment, acks[0].ip_bytes), (RTT_NS, 1, 40));
    assert_eq!(acks.last().unwrap().segment, 6);
    assert_eq!(acks.last().unwrap().time_ns, record.completions[0].end_ns);
    // Segment 2 is lost once, so those behind it are reported above it.
    assert_eq!(data.iter().filter(|packet| packet.segment == 2).count(), 2);
    let above = acks
        .iter()
        .find(|ack| ack.sack_blocks > 0)
        .expect("a hole was reported");
    assert_eq!((above.segment, above.sack[0]), (2, (3, 4)));
    // The clock of ns-2 ticks every 10 ms; the first ACK echoes tick 0 and was sent 20 ms before it arrived.
    let tick_ns = 10 * MS;
    assert_eq!(
        (u64::from(acks[0].ts_val), acks[0].ts_ecr),
        ((RTT_NS - 20 * MS - 40_000) / tick_ns, 0)
    );
}
