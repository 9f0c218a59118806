//! TCP over links that go step by step: fair queues, `codel`, ARQ, random delay, reordering.

mod common;

use common::{Dumbbell, MS, S, flow, plain_router, random_loss, record_of, wire};
use fadelab_path::layer::{Arq, DelayLaw, Jitter, LinkLayer, Reorder};
#[cfg(feature = "fault-injection")]
use fadelab_path::node::NodeFault;
use fadelab_path::spec::Queues;
use fadelab_run::app::{App, Span};
use fadelab_run::spec::RunSpec;
#[cfg(feature = "fault-injection")]
use fadelab_sim::fault::{Fault, FaultKind, run_with_fault};
use proptest::prelude::*;

const FAIR: Queues = Queues::Fair {
    hashed: None,
    quantum_bytes: 1514,
};

/// One or two of everything that a link can do step by step.
fn any_layer() -> impl Strategy<Value = LinkLayer> {
    let tries = prop_oneof![(1..5u32).prop_map(Some), Just(None)];
    let arq = (tries, 0..30 * MS, any::<bool>()).prop_map(|(tries_max, retry_ns, in_order)| Arq {
        tries_max,
        retry_ns,
        in_order,
    });
    let delay = prop_oneof![
        (0..5 * MS, 5 * MS..20 * MS).prop_map(|(min_ns, max_ns)| DelayLaw::Uniform { min_ns, max_ns }),
        (0..10 * MS, 0..10 * MS).prop_map(|(mean_ns, sd_ns)| DelayLaw::Normal { mean_ns, sd_ns }),
        (1..10 * MS).prop_map(|mean_ns| DelayLaw::Exponential { mean_ns }),
    ];
    let jitter = (delay, any::<bool>()).prop_map(|(delay, in_order)| Jitter { delay, in_order });
    let reorder =
        (0.0..0.3f64, 0..20 * MS, prop::option::of(1..10u32)).prop_map(|(probability, delay_ns, gap_pkts)| Reorder {
            probability,
            delay_ns,
            gap_pkts,
        });
    let parts = (
        prop::option::of(arq),
        prop::option::of(jitter),
        prop::option::of(reorder),
    );
    parts.prop_map(|(arq, jitter, reorder)| LinkLayer { arq, jitter, reorder })
}

/// Two transfers over a lossy path with any layer, queue and law.
fn any_path() -> impl Strategy<Value = RunSpec> {
    let queues = prop_oneof![
        Just(Queues::One),
        (prop::option::of(1..4u32), 64..3000u32)
            .prop_map(|(hashed, quantum_bytes)| Queues::Fair { hashed, quantum_bytes }),
    ];
    let router = prop_oneof![Just("droptail"), Just("codel"), Just("red")];
    let path = (0.0..0.3f64, 0.0..0.3f64, 3..40u32, 300_000..20_000_000u64, any::<u64>());
    (any_layer(), queues, router, path).prop_map(|(layer, queues, router, path)| {
        let (loss, loss_back, buffer_pkts, rate_bps, seed) = path;
        let mut spec = wire("reno", 300_000);
        (spec.seed, spec.duration_ns) = (seed, 40_000 * S);
        for (link, loss) in spec.network.links.iter_mut().zip([loss, loss_back]) {
            link.capacity = fadelab_path::spec::CapacitySpec::Constant { rate_bps };
            link.buffer.packets = Some(buffer_pkts);
            link.channel = Some(random_loss(loss, loss));
            (link.layer, link.queues, link.router) = (layer.clone(), queues, plain_router(router));
        }
        let mut other = spec.flows[0].clone();
        other.name = "other".into();
        other.app = App::Transfer {
            start: Span::Uniform { min_ns: 0, max_ns: S },
            bytes: 150_000,
        };
        spec.flows.push(other);
        spec
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn transfers_arrive_whole(spec in any_path()) {
        // Goal: over any combination of queues, laws, ARQ, random delay and reordering two transfers deliver all their
        // bytes, no invariant breaks, and the same seed gives the same record.
        let record = record_of(&spec);
        let delivered: Vec<u64> = record.flows_end.iter().map(|flow| flow.delivered_bytes).collect();
        prop_assert_eq!(&delivered, &[300_000, 150_000]);
        prop_assert_eq!(record.completions.len(), 2);
        prop_assert_eq!(record_of(&spec), record);
    }
}

#[test]
fn a_way_back_without_room_is_survived() {
    // Goal: 100 Mbit/s there, 1 Mbit/s back, fair queues with room for one packet: an ACK that comes costs an older one
    // and itself, time and again, and the run goes on.
    for seed in 1..=20 {
        let mut spec = wire("cubic", 1);
        (spec.seed, spec.duration_ns) = (seed, 8 * S);
        spec.flows[0].app = App::Greedy {
            start: Span::Fixed { ns: 0 },
        };
        // SACK blocks make the later ACK the longer one, so that the older one alone is less than half of both.
        spec.flows[0].transport.sack_on_wire = true;
        for (link, (rate_bps, buffer_pkts)) in spec.network.links.iter_mut().zip([(100_000_000, 100), (1_000_000, 1)]) {
            link.capacity = fadelab_path::spec::CapacitySpec::Constant { rate_bps };
            (link.delay_ns, link.buffer.packets) = (10 * MS, Some(buffer_pkts));
            (link.queues, link.router) = (FAIR, plain_router("codel"));
            link.channel = Some(random_loss(0.01, 0.01));
        }
        let record = record_of(&spec);
        assert!(record.links_end[1].dropped_full_pkts > 20, "{:?}", record.links_end[1]);
    }
}

#[test]
fn codel_keeps_the_standing_queue_near_its_target() {
    // Goal: ten flows over seven bandwidth-delay products of buffer: drop-tail makes packets wait for several round
    // trips, CoDel for about its target of 5 ms (RFC 8289: the least wait of an interval stays below it, peaks lie
    // above), at no loss of utilisation to speak of.
    for law in ["reno", "cubic"] {
        let wait_ms = |router: &str| {
            let mut spec = Dumbbell {
                flows: 10,
                law,
                router,
                rate_bps: 20_000_000,
                delay_ns: 12 * MS,
                buffer_pkts: 960,
                duration_ns: 60 * S,
            }
            .spec();
            spec.warmup_ns = 10 * S;
            spec.flows.iter_mut().for_each(|flow| flow.transport.ecn = false);
            let record = record_of(&spec);
            let (from, to) = (record.links_warmup[0], record.links_end[0]);
            let sent = to.sent_pkts - from.sent_pkts;
            let busy = (to.sent_bytes - from.sent_bytes) as f64 / (to.offered_bytes - from.offered_bytes) as f64;
            let wait_ns = (to.queue_pkt_ns - from.queue_pkt_ns) as f64 / sent as f64;
            (wait_ns / 1e6, busy)
        };
        let (codel, tail) = (wait_ms("codel"), wait_ms("droptail"));
        assert!((3.0..10.0).contains(&codel.0) && codel.1 > 0.97, "{law}: {codel:?}");
        assert!(tail.0 > 200.0, "{law}: {tail:?}");
    }
}

#[test]
fn fair_queues_share_without_being_asked() {
    // Goal: beside a constant bit rate of twice the link, a TCP flow gets its half under fair queues and next to
    // nothing under drop-tail.
    let share = |queues| {
        let mut spec = wire("reno", 1);
        spec.duration_ns = 30 * S;
        spec.network.links[0].queues = queues;
        spec.network.links[0].buffer.packets = Some(100);
        spec.flows[0].app = App::Greedy {
            start: Span::Fixed { ns: 0 },
        };
        let mut flood = flow("flood", "reno", vec![0], vec![1]);
        flood.sender = None;
        flood.app = App::Cbr {
            start: Span::Fixed { ns: 0 },
            stop_ns: 30 * S,
            rate_bps: 16_000_000,
        };
        spec.flows.push(flood);
        let flows = record_of(&spec).flows_end;
        flows[0].delivered_bytes as f64 / (flows[0].delivered_bytes + flows[1].delivered_bytes) as f64
    };
    let (fair, tail) = (share(FAIR), share(Queues::One));
    assert!((0.45..0.52).contains(&fair), "{fair}");
    assert!(tail < 0.1, "{tail}");
}

#[test]
fn reordering_reaches_tcp_as_duplicate_acks() {
    // Goal: a packet that two others overtake makes two duplicate ACKs, which are no loss yet (RFC 5681); one that
    // three overtake makes a third, and a retransmission that nobody needed.
    let outcome = |gap_pkts| {
        let mut spec = wire("reno", 2_000_000);
        spec.network.links[0].layer.reorder = Some(Reorder {
            probability: 0.005,
            delay_ns: 100 * MS,
            gap_pkts: Some(gap_pkts),
        });
        // Without a threshold the first overshoot would lose packets.
        spec.flows[0].transport.rwnd_pkts = 40;
        let record = record_of(&spec);
        let link = record.links_end[0];
        assert_eq!((link.dropped_full_pkts, link.lost_air_pkts), (0, 0));
        assert!(link.reordered_pkts >= 5, "{link:?}");
        (record.flows_end[0].recoveries, record.flows_end[0].retransmitted_pkts)
    };
    assert_eq!(outcome(2), (0, 0));
    let (recoveries, retransmitted) = outcome(3);
    assert!(
        recoveries >= 3 && retransmitted >= recoveries,
        "{recoveries} {retransmitted}"
    );
}

#[test]
fn arq_hides_losses_from_tcp() {
    // Goal: of 2 % lost on the air, five tries leave 3 in 10^9: TCP retransmits nothing, and the link says what it
    // repaired; in order, no duplicate ACKs come of it either.
    let mut spec = wire("reno", 3_000_000);
    spec.flows[0].transport.rwnd_pkts = 100;
    spec.network.links[0].channel = Some(random_loss(0.02, 0.0));
    let bare = record_of(&spec).flows_end[0];
    spec.network.links[0].layer.arq = Some(Arq {
        tries_max: Some(5),
        retry_ns: 8 * MS,
        in_order: true,
    });
    let record = record_of(&spec);
    let (flow, link) = (record.flows_end[0], record.links_end[0]);
    assert!(bare.recoveries > 20, "{bare:?}");
    assert_eq!((flow.recoveries, flow.retransmitted_pkts), (0, 0));
    assert!(
        link.recovered_pkts > 30 && link.retransmitted_pkts >= link.recovered_pkts,
        "{link:?}"
    );
}

#[cfg(feature = "fault-injection")]
#[test]
fn invariants_hold_here_too() {
    // Goal: each fault inside a link that goes step by step stops the run and names what broke, with fair queues and
    // with ARQ; without a fault the same run ends.
    let mut fair = Dumbbell {
        flows: 3,
        law: "reno",
        router: "codel",
        rate_bps: 10_000_000,
        delay_ns: 20 * MS,
        buffer_pkts: 50,
        duration_ns: 20 * S,
    }
    .spec();
    let mut arq = fair.clone();
    fair.network.links[0].queues = FAIR;
    arq.network.links[0].channel = Some(random_loss(0.05, 0.0));
    arq.network.links[0].layer.arq = Some(Arq {
        tries_max: Some(3),
        retry_ns: 8 * MS,
        in_order: true,
    });
    for spec in [fair, arq] {
        record_of(&spec);
        for (fault, invariant) in [
            (NodeFault::Vanishes, "packets are conserved at a node"),
            (NodeFault::LosesBytes, "bytes are conserved at a node"),
            (NodeFault::Overlaps, "a link never exceeds its capacity"),
            (NodeFault::Early, "nothing leaves before its delay, and nothing late"),
            (NodeFault::Overfills, "a queue stays within its limit"),
        ] {
            let fault = Fault {
                at_ns: 5 * S,
                kind: FaultKind::Link(fault),
            };
            let error = run_with_fault(&spec, fault).expect_err("the fault must stop the run");
            assert!(error.to_string().contains(invariant), "{fault:?}: {error}");
        }
    }
}
