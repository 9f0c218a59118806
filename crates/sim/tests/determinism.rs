//! The same spec gives the same record, and what one component draws does not depend on others.

mod common;

use common::{MS, RTT_NS, S, flow, link, network, plain_router, random_loss, record_of, wire};
use fadelab_path::spec::{CapacitySpec, LinkSpec};
use fadelab_phy::channel::{ChannelSpec, CodeSpec, Model};
use fadelab_run::app::{App, Span};
use fadelab_run::record::RunRecord;
use fadelab_run::spec::RunSpec;

/// Three flows of different kinds over a lossy bottleneck with a random router, both ways.
fn busy_spec() -> RunSpec {
    let mut spec = wire("reno", 1);
    for link in &mut spec.network.links {
        link.buffer.packets = Some(50);
        link.router = plain_router("red");
        link.channel = Some(random_loss(0.001, 0.001));
    }
    spec.duration_ns = 30 * S;
    spec.warmup_ns = 5 * S;
    let start = Span::Uniform { min_ns: 0, max_ns: S };
    spec.flows[0].app = App::Greedy { start };
    let mut against = flow("against", "cubic", vec![1], vec![0]);
    against.app = App::Greedy { start };
    let mut web = flow("web", "reno", vec![0], vec![1]);
    web.app = App::Sessions {
        start,
        on: Span::Exponential { mean_ns: S / 10 },
        off: Some(Span::Exponential { mean_ns: S / 2 }),
    };
    spec.flows.extend([against, web]);
    spec
}

#[test]
fn equal_specs_give_equal_records() {
    // Goal: one spec gives one record, also the series, and another seed another one.
    let mut spec = busy_spec();
    spec.record_interval_ns = Some(50 * MS);
    let record = record_of(&spec);
    assert_eq!(record, record_of(&spec));
    assert_eq!(record.series.time_ns.len(), 601);
    spec.seed = 2;
    assert_ne!(record.links_end, record_of(&spec).links_end);
}

/// All of a record but what recording adds.
fn totals(mut record: RunRecord) -> RunRecord {
    (record.series, record.events) = (fadelab_run::record::Series::default(), 0);
    record
}

#[test]
fn recording_changes_nothing() {
    // Goal: a run that records a series ends with the totals of one that does not, also on links whose law draws random
    // numbers and drops at departure.
    let mut spec = busy_spec();
    spec.network.links[0].router = common::kth(40, 97, 1_000_000, common::DROP);
    let silent = record_of(&spec);
    for interval_ns in [777_777, 10 * MS] {
        spec.record_interval_ns = Some(interval_ns);
        let recorded = record_of(&spec);
        assert_eq!(recorded.series.time_ns.len() as u64, 30 * S / interval_ns + 1);
        assert_eq!(totals(recorded), totals(silent.clone()));
    }
}

#[test]
fn links_that_are_not_shown_are_left_out() {
    // Goal: a record has the counters of shown links alone, each with its number, and hiding a link changes no other.
    let all = record_of(&busy_spec());
    let mut spec = busy_spec();
    spec.network.links[0].shown = false;
    let some = record_of(&spec);
    assert_eq!((some.link_ids.as_slice(), all.link_ids.len()), (&[1][..], 2));
    assert_eq!((some.links_warmup.len(), some.links_end.len()), (1, 1));
    assert_ne!(all.links_end[0], all.links_end[1]);
    assert_eq!((some.link(0), some.link(1)), (None, all.link(1)));
    assert_eq!((some.flows_end, some.events), (all.flows_end, all.events));
}

#[test]
fn strangers_do_not_shift_draws() {
    // Goal: an unrelated flow with links of its own, wherever it stands in the lists, leaves a flow's start, its losses
    // and its router's draws as they are, even if its packets are larger.
    let mut spec = busy_spec();
    for link in &mut spec.network.links {
        // The thresholds are shares of the buffer, in bytes of the packets that use it.
        link.router.params = link
            .router
            .law
            .params_from(&[("thresholds", 1.0), ("q_w", 0.2)])
            .expect("valid parameters");
    }
    let alone = record_of(&spec);
    assert!(
        alone.links_end[0].marked_pkts > 10,
        "RED draws and marks: {:?}",
        alone.links_end[0]
    );
    let mut crowded = spec.clone();
    for name in ["other there", "other back"] {
        crowded.network.join(0, 0, link(name, 10_000_000, MS, 10));
    }
    crowded.network.links[2].channel = Some(random_loss(0.1, 0.1));
    let mut stranger = flow("stranger", "reno", vec![2], vec![3]);
    stranger.transport.packet_bytes = 1500;
    stranger.app = App::Greedy {
        start: Span::Uniform { min_ns: 0, max_ns: S },
    };
    crowded.flows.push(stranger.clone());
    let after = record_of(&crowded);
    assert_eq!(after.links_end[..2], alone.links_end[..]);
    assert_eq!(after.flows_end[..3], alone.flows_end[..]);
    crowded.flows.rotate_right(1);
    let before = record_of(&crowded);
    assert_eq!(before.links_end[..2], alone.links_end[..]);
    assert_eq!(before.flows_end[1..], alone.flows_end[..]);
}

#[test]
fn laws_meet_the_same_channel() {
    // Goal: under one seed, laws that send at different times meet the same bad stays of a packet-scale channel: with
    // an error-free good state and a hopeless bad one, losses of all laws fall into the same intervals.
    let bad_intervals = |law: &str| {
        let mut spec = wire(law, 1);
        spec.flows[0].app = App::Greedy {
            start: Span::Fixed { ns: 0 },
        };
        spec.flows[0].transport.rto_ns_max = 300 * MS;
        spec.duration_ns = 200 * S;
        spec.record_interval_ns = Some(10 * MS);
        let model = Model::PacketScale {
            good_ns_mean: 4e9,
            bad_ns_mean: 0.5e9,
            bit_error_good: 0.0,
            bit_error_bad: 0.01,
        };
        spec.network.links[0].channel = Some(ChannelSpec {
            model,
            code: CodeSpec::NONE,
        });
        let record = record_of(&spec);
        let counters = &record.series.links[0];
        let (mut lost, mut received) = (Vec::new(), Vec::new());
        for pair in counters.windows(2) {
            let (sent, gone) = (
                pair[1].sent_pkts - pair[0].sent_pkts,
                pair[1].lost_air_pkts - pair[0].lost_air_pkts,
            );
            lost.push(gone > 0);
            received.push(sent > gone);
        }
        (lost, received)
    };
    let (reno, cubic) = (bad_intervals("reno"), bad_intervals("cubic"));
    assert!(
        reno.0.iter().filter(|&&lost| lost).count() > 20,
        "the channel was bad at times"
    );
    assert_ne!(reno.1, cubic.1, "the laws send at different times");
    // Within 10 ms the state rarely changes: an interval that one law only lost in and the other only received in would
    // be a contradiction; changes within an interval allow for a few.
    let contradictions = (0..reno.0.len())
        .filter(|&k| {
            (reno.0[k] && !reno.1[k] && cubic.1[k] && !cubic.0[k])
                || (cubic.0[k] && !cubic.1[k] && reno.1[k] && !reno.0[k])
        })
        .count();
    let shared = (0..reno.0.len()).filter(|&k| reno.0[k] && cubic.0[k]).count();
    assert!(shared > 5, "{shared} intervals in which both lost");
    assert!(
        contradictions * 10 <= shared.max(20),
        "{contradictions} contradictions, {shared} shared"
    );
}

#[test]
fn ties_go_to_the_first_in_the_spec() {
    // Goal: of two flows that start at the same nanosecond the one that stands first in the spec sends first: its
    // packet reaches the link first, and the other's waits for it; swapped, the other way round.
    for swapped in [false, true] {
        let mut spec = wire("reno", 1000);
        let second = spec.flows[0].clone();
        spec.flows.push(second);
        (spec.flows[0].name, spec.flows[1].name) = ("a".into(), "b".into());
        if swapped {
            spec.flows.swap(0, 1);
        }
        let done = record_of(&spec).completions;
        let order: Vec<_> = done.iter().map(|done| (done.flow, done.end_ns)).collect();
        assert_eq!(order, [(0, RTT_NS), (1, RTT_NS + common::DATA_NS)]);
    }
}

#[test]
fn ties_of_links_go_to_the_first_in_the_spec() {
    // Goal: of two packets that reach a third link at the same nanosecond the one from the link that stands first in
    // the spec is served first, whatever the order of the flows.
    for (first, second) in [(0, 1), (1, 0)] {
        let mut spec = wire("reno", 1000);
        let joint: Vec<LinkSpec> = ["one", "two", "joint", "back"]
            .map(|name| link(name, 8_000_000, MS, 100))
            .into();
        spec.network = network(joint);
        let mut flows = [first, second].map(|entry| {
            let mut flow = spec.flows[0].clone();
            (flow.name, flow.route, flow.route_back) = (format!("from {entry}").into(), vec![entry, 2], vec![3]);
            flow
        });
        flows[0].app = spec.flows[0].app;
        spec.flows = flows.into();
        let done = record_of(&spec).completions;
        let through_first = u32::from(first != 0);
        assert_eq!(done[0].flow, through_first, "the packet from link 0 is served first");
        assert!(done[0].end_ns < done[1].end_ns);
    }
}

#[test]
fn totals_cover_the_whole_run_without_a_warmup() {
    // Goal: with a warm-up of 0 the measured interval is the whole run, what leaves at time 0 included.
    let record = record_of(&wire("reno", 10_000));
    let sent = record.flows_end[0].sent_pkts - record.flows_warmup[0].sent_pkts;
    assert_eq!(sent, 10);
    assert_eq!(record.links_end[0].sent_pkts - record.links_warmup[0].sent_pkts, 10);
    let CapacitySpec::Constant { rate_bps } = wire("reno", 1).network.links[0].capacity else {
        unreachable!("a wire")
    };
    assert_eq!(record.links_end[0].offered_bytes, 60 * rate_bps / 8);
}
