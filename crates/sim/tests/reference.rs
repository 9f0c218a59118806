//! Spot checks of trust: figures that others published or that ns-2 gives for the same network.

mod common;

use common::{Dumbbell, MS, S};
use fadelab_sim::record::{LinkCounters, RunRecord};
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
    // Goal: ns-2's XCP on the 54 Mbit/s dumbbell (utilisation 0.999, mean queue 2.5 packets), within 0.01 and 3
    // packets.
    let (utilisation, queue_pkts, drops) = measure(&dumbbell54("xcp", "xcp"));
    assert!((utilisation - 0.999).abs() <= 0.01, "utilisation {utilisation}");
    assert!((queue_pkts - 2.5).abs() <= 3.0, "mean queue {queue_pkts}");
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
fn xcp_meets_ns2_on_the_satellite_link() {
    // Goal: ns-2's XCP on 2 Mbit/s and 500 ms, one way (0.9968, 1.4 packets), within 0.01 and 3 packets.
    let dumbbell = Dumbbell {
        rate_bps: 2_000_000,
        delay_ns: 500 * MS,
        buffer_pkts: 248,
        duration_ns: 1000 * S,
        ..dumbbell54("xcp", "xcp")
    };
    let (utilisation, queue_pkts, _) = measure(&dumbbell);
    assert!((utilisation - 0.9968).abs() <= 0.01, "utilisation {utilisation}");
    assert!((queue_pkts - 1.4).abs() <= 3.0, "mean queue {queue_pkts}");
}

#[test]
fn vcp_settles_at_its_target() {
    // Goal: VCP on a clean 2 Mbit/s satellite link settles at its target, 0.98 of the capacity within 0.02, without a
    // loss. One flow: its additive increase of (srtt/t_d - 5) + 25 = 31 packets a round trip balances the decrease by
    // an eighth at 8 x 31 = 245 packets, which is the path's 258. Ten flows ask for ten times that, see the ledger of
    // vcp-ton-2010.
    let dumbbell = Dumbbell {
        flows: 1,
        rate_bps: 2_000_000,
        delay_ns: 500 * MS,
        buffer_pkts: 248,
        duration_ns: 1000 * S,
        ..dumbbell54("vcp", "vcp")
    };
    let (utilisation, _, drops) = measure(&dumbbell);
    assert!((utilisation - 0.98).abs() <= 0.02, "utilisation {utilisation}");
    assert!(drops == 0.0, "drops {drops}");
}
