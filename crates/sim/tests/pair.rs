//! DPCP and DCP-EW over whole paths: where roles come from, and what halves of a load do to flows.

mod common;

use common::{Dumbbell, MS, S, record_of, seen, used};
use fadelab_run::spec::RunSpec;
use fadelab_run::transport::IpId;

fn dumbbell(law: &str, router: &str, flows: u32, ids: IpId) -> RunSpec {
    let mut spec = Dumbbell {
        flows,
        law,
        router,
        rate_bps: 10_000_000,
        delay_ns: 20 * MS,
        buffer_pkts: 200,
        duration_ns: 60 * S,
    }
    .spec();
    spec.warmup_ns = 20 * S;
    for flow in &mut spec.flows {
        flow.transport.ip_id = ids;
    }
    spec
}

/// Packets of a new connection until its sender has heard both halves.
fn packets_until_known(law: &str, ids: IpId, seed: u64) -> u32 {
    const BOTH: u8 = 16 | 32;
    let mut spec = dumbbell(law, "droptail", 1, ids);
    (spec.seed, spec.warmup_ns, spec.duration_ns) = (seed, 0, 4 * S);
    let (_, seen) = seen(&spec);
    let mut acks = seen.iter().filter(|packet| !packet.is_data);
    let known = acks.position(|ack| ack.feedback[0] & BOTH == BOTH);
    known.expect("in a connection of seconds") as u32 + 1
}

#[test]
fn both_halves_are_known_after_two_or_three_packets() {
    // Goal: with IDs that count, and under DPCP, the second packet always completes the first; with random ones it
    // takes 1 + 2 packets on average (a coin until it shows the other side), within 1 %.
    for seed in 1..=50 {
        for (law, ids) in [
            ("dcp_ew", IpId::Counting),
            ("dpcp", IpId::Counting),
            ("dpcp", IpId::Random),
            ("dpcp", IpId::Zero),
        ] {
            assert_eq!(packets_until_known(law, ids, seed), 2, "{law}, {ids:?}, seed {seed}");
        }
    }
    let mut spec = dumbbell("dcp_ew", "droptail", 1, IpId::Random);
    spec.duration_ns = 200 * S;
    let (_, seen) = seen(&spec);
    let roles: Vec<u16> = seen.iter().filter(|p| p.is_data).map(|p| p.ip_id & 1).collect();
    let waits = roles.windows(40).map(|from| {
        let other = from.iter().position(|role| role != &from[0]);
        other.expect("in 40 tries") + 1
    });
    let (sum, n) = waits.fold((0, 0), |(sum, n), wait| (sum + wait, n + 1));
    let mean = sum as f64 / f64::from(n);
    assert!(n > 100_000 && (mean - 3.0).abs() < 0.03, "{mean} of {n}");
    let heard: u32 = (1..=50)
        .map(|seed| packets_until_known("dcp_ew", IpId::Random, seed))
        .sum();
    // The mean of 50 has a standard deviation of 0.2.
    assert!((100..=200).contains(&heard), "{heard} packets in 50 connections");
}

#[test]
fn halves_keep_a_link_loaded_and_its_queue_short() {
    // Goal: one flow and three, by either role and any IDs, keep the link between 80 % and 100 % used and lose nothing;
    // without IDs that tell halves apart the region alone does.
    for flows in [1, 3] {
        for (law, ids) in [
            ("dcp_ew", IpId::Counting),
            ("dcp_ew", IpId::Random),
            ("dcp_ew", IpId::Zero),
            ("dpcp", IpId::Zero),
        ] {
            let record = record_of(&dumbbell(law, law, flows, ids));
            let (share, link) = (used(&record, 0), &record.links_end[0]);
            assert!((0.8..=1.0).contains(&share), "{law}, {ids:?}, {flows} flows: {share}");
            assert_eq!(link.dropped_full_pkts, 0, "{law}, {ids:?}");
            assert!(link.marked_pkts > 100, "{law}, {ids:?}");
            let queue_pkt_ns = link.queue_pkt_ns - record.links_warmup[0].queue_pkt_ns;
            assert!(queue_pkt_ns / u128::from(40 * S) < 20, "{law}, {ids:?}");
        }
    }
}

/// What the sender of flow 0 knew of the load, sampled each 100 ms: of nothing, the region, the level.
fn known(spec: &mut RunSpec) -> [usize; 3] {
    spec.record_interval_ns = Some(100 * MS);
    let record = record_of(spec);
    let watch = fadelab_laws::sender("dcp_ew").expect("registered").watch();
    let place = watch.iter().position(|info| info.name == "known").expect("declared");
    let samples = record.series.flows_watched[0].chunks(watch.len());
    samples.skip(100).fold([0; 3], |mut counts, sample| {
        counts[sample[place] as usize] += 1;
        counts
    })
}

#[test]
fn ids_of_zero_leave_the_region() {
    // Goal: with IDs that count the level is known nearly always; with IDs of zero never, and the region always; behind
    // routers of another law nothing is.
    let [nothing, region, level] = known(&mut dumbbell("dcp_ew", "dcp_ew", 3, IpId::Counting));
    assert!(nothing == 0 && level > 9 * region, "{nothing} {region} {level}");
    let [nothing, region, level] = known(&mut dumbbell("dcp_ew", "dcp_ew", 3, IpId::Zero));
    assert!((nothing, level) == (0, 0) && region > 400, "{nothing} {region} {level}");
    let [nothing, region, level] = known(&mut dumbbell("dcp_ew", "dpcp", 3, IpId::Counting));
    assert!((region, level) == (0, 0) && nothing > 400, "{nothing} {region} {level}");
}
