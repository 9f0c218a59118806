//! Spot checks of trust: figures that others published or that ns-2 gives for the same network.

mod common;

use common::{Dumbbell, MS, S, random_loss, wire};
use fadelab_path::counters::LinkCounters;
use fadelab_run::app::{App, Span};
use fadelab_run::record::RunRecord;
use fadelab_run::transport::Recovery;
use fadelab_sim::run;

/// What link 0 did after the warm-up: (utilisation, mean queue in packets, drops per arrival).
fn bottleneck(record: &RunRecord, warmup_ns: u64, end_ns: u64) -> (f64, f64, f64) {
    let (a, b): (&LinkCounters, &LinkCounters) = (&record.links_warmup[0], &record.links_end[0]);
    let sent = (b.sent_bytes - a.sent_bytes) as f64 / (b.offered_bytes - a.offered_bytes) as f64;
    let queue_pkts = (b.queue_pkt_ns - a.queue_pkt_ns) as f64 / (end_ns - warmup_ns) as f64;
    let drops = (b.dropped_full_pkts - a.dropped_full_pkts) as f64 / (b.arrived_pkts - a.arrived_pkts) as f64;
    (sent, queue_pkts, drops)
}

fn measure(dumbbell: &Dumbbell<'_>) -> (f64, f64, f64) {
    let mut spec = dumbbell.spec();
    spec.warmup_ns = 50 * S;
    bottleneck(
        &run(&spec, |_| true).expect("a sound run"),
        spec.warmup_ns,
        spec.duration_ns,
    )
}

/// 54 Mbit/s, 80 ms, access 108 Mbit/s and 8 ms, one BDP (1246 packets): `tests/differential/ns2`.
fn dumbbell54<'a>(law: &'a str, router: &'a str) -> Dumbbell<'a> {
    Dumbbell {
        flows: 10,
        law,
        router,
        rate_bps: 54_000_000,
        delay_ns: 80 * MS,
        buffer_pkts: 1246,
        duration_ns: 200 * S,
    }
}

#[test]
fn xcp_meets_ns2_on_the_dumbbell() {
    // Goal: ns-2's XCP on the 54 Mbit/s dumbbell (utilisation 0.9994, mean queue 1.4 packets), within 0.01 and 3
    // packets.
    let (utilisation, queue_pkts, drops) = measure(&dumbbell54("xcp", "xcp"));
    assert!((utilisation - 0.9994).abs() <= 0.01, "utilisation {utilisation}");
    assert!((queue_pkts - 1.4).abs() <= 3.0, "mean queue {queue_pkts}");
    assert!(drops == 0.0, "drops {drops}");
}

#[test]
fn sack_meets_ns2_on_the_dumbbell() {
    // Goal: ns-2's SACK with drop-tail there (1.0000, 702 packets, 4.1e-5), within 0.01, 10 % and 25 %.
    let (utilisation, queue_pkts, drops) = measure(&dumbbell54("reno", "droptail"));
    assert!((utilisation - 1.0).abs() <= 0.01, "utilisation {utilisation}");
    assert!((queue_pkts - 702.0).abs() <= 70.2, "mean queue {queue_pkts}");
    assert!((drops - 4.1e-5).abs() <= 1.0e-5, "drops {drops}");
}

#[test]
fn new_reno_meets_ns2_on_the_dumbbell() {
    // Goal: ns-2's NewReno with drop-tail there (1.0000, 700.7 packets, 4.1e-5), within 0.01, 10 % and 25 %.
    let mut spec = dumbbell54("reno", "droptail").spec();
    spec.warmup_ns = 50 * S;
    for flow in &mut spec.flows {
        flow.transport.recovery = Recovery::NewReno;
    }
    let record = run(&spec, |_| true).expect("a sound run");
    let (utilisation, queue_pkts, drops) = bottleneck(&record, spec.warmup_ns, spec.duration_ns);
    assert!((utilisation - 1.0).abs() <= 0.01, "utilisation {utilisation}");
    assert!((queue_pkts - 700.7).abs() <= 70.0, "mean queue {queue_pkts}");
    assert!((drops - 4.1e-5).abs() <= 1.0e-5, "drops {drops}");
}

#[test]
fn xcp_meets_ns2_on_the_satellite_link() {
    // Goal: ns-2's XCP on 2 Mbit/s and 500 ms, one way (0.9994, 0.2 packets), within 0.01 and 3 packets.
    let dumbbell = Dumbbell {
        rate_bps: 2_000_000,
        delay_ns: 500 * MS,
        buffer_pkts: 248,
        duration_ns: 1000 * S,
        ..dumbbell54("xcp", "xcp")
    };
    let (utilisation, queue_pkts, _) = measure(&dumbbell);
    assert!((utilisation - 0.9994).abs() <= 0.01, "utilisation {utilisation}");
    assert!((queue_pkts - 0.2).abs() <= 3.0, "mean queue {queue_pkts}");
}

#[test]
fn vcp_settles_at_its_target() {
    // Goal: VCP without bounds on a clean 2 Mbit/s satellite link settles at its target, 0.98 of the capacity within
    // 0.02, without a loss. One flow: its additive increase of (srtt/t_d - 5) + 25 = 31 packets a round trip balances
    // the decrease by an eighth at 8 x 31 = 245 packets, which is the path's 258; ten flows ask for ten times that.
    // With its bounds it adds less, and uses 0.79 in the authors' release (docs/validation.md).
    let dumbbell = Dumbbell {
        flows: 1,
        rate_bps: 2_000_000,
        delay_ns: 500 * MS,
        buffer_pkts: 248,
        duration_ns: 1000 * S,
        ..dumbbell54("vcp", "vcp")
    };
    let with = |pairs: &[(&str, f64)]| {
        let mut spec = dumbbell.spec();
        spec.warmup_ns = 50 * S;
        let law = spec.flows[0].sender.expect("a law");
        spec.flows[0].params = law.params_from(pairs).expect("valid parameters");
        bottleneck(
            &run(&spec, |_| true).expect("a sound run"),
            spec.warmup_ns,
            spec.duration_ns,
        )
    };
    for (pairs, target) in [(&[("bound", 3.0)][..], 0.98), (&[], 0.79)] {
        let (utilisation, _, drops) = with(pairs);
        assert!(
            (utilisation - target).abs() <= 0.02,
            "{pairs:?}: utilisation {utilisation}"
        );
        assert!(drops == 0.0, "{pairs:?}: drops {drops}");
    }
}

/// Segments delivered, retransmissions and timeouts of a greedy Reno in 600 s on 8 Mbit/s and 20 ms, mean of three
/// seeds.
fn over_random_loss(recovery: Recovery, loss: f64) -> [f64; 3] {
    let mut sums = [0.0; 3];
    for seed in 1..=3 {
        let mut spec = wire("reno", 1);
        (spec.seed, spec.duration_ns) = (seed, 600 * S);
        spec.flows[0].app = App::Greedy {
            start: Span::Fixed { ns: 0 },
        };
        spec.network.links[0].channel = Some(random_loss(loss, 0.0));
        spec.flows[0].transport.recovery = recovery;
        let flow = run(&spec, |_| true).expect("a sound run").flows_end[0];
        let one = [flow.delivered_bytes / 1000, flow.retransmitted_pkts, flow.timeouts];
        for (sum, value) in sums.iter_mut().zip(one) {
            *sum += value as f64 / 3.0;
        }
    }
    sums
}

#[test]
fn random_losses_cost_what_they_cost_in_ns2() {
    // Goal: ns-2's SACK and NewReno over random losses (`tests/differential/ns2`): as many segments within 8 %, and
    // little more retransmissions than losses. Seeds of ns-2 differ by 3 %, and a law that halves whole packets loses a
    // quarter of a packet each time: 4 % of a window of six.
    let ns2 = [
        (Recovery::Sack, 0.03, 85_900.0),
        (Recovery::Sack, 0.01, 170_577.0),
        (Recovery::Sack, 0.003, 321_887.0),
        (Recovery::NewReno, 0.03, 86_768.0),
        (Recovery::NewReno, 0.01, 170_888.0),
        (Recovery::NewReno, 0.003, 322_094.0),
    ];
    for (recovery, loss, expected) in ns2 {
        let [segments, again, timeouts] = over_random_loss(recovery, loss);
        let what = format!("{recovery:?} at {loss}: {segments} segments, {again} again, {timeouts} timeouts");
        assert!((segments / expected - 1.0).abs() < 0.08, "{what}");
        // ns-2: 0.0308 and 0.0328 at 3 %, 0.0100 and 0.0102 at 1 %, 0.0031 at 0.3 %.
        assert!((0.97..1.12).contains(&(again / segments / loss)), "{what}");
        // ns-2: 0.10 % and 0.15 % of segments at 3 %.
        assert!(timeouts / segments < 0.002, "{what}");
    }
}
