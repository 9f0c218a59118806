//! Whose data links drop: against what the links count themselves.

mod common;

use std::collections::BTreeMap;

use common::{Dumbbell, MS, S, link, plain_router, record_of};
use fadelab_path::layer::Arq;
use fadelab_run::record::RunRecord;
use fadelab_run::spec::RunSpec;

/// Three flows, one to itself in a group, over a bottleneck of 20 packets that nothing but data crosses one way.
fn crowded(router: &str) -> RunSpec {
    let mut spec = Dumbbell {
        flows: 3,
        law: "cubic",
        router,
        rate_bps: 8_000_000,
        delay_ns: 10 * MS,
        buffer_pkts: 20,
        duration_ns: 20 * S,
    }
    .spec();
    spec.warmup_ns = 5 * S;
    "long".clone_into(&mut spec.flows[0].group);
    // Laws that would mark drop.
    spec.flows.iter_mut().for_each(|flow| flow.transport.ecn = false);
    spec
}

/// Drops by link and group.
fn dropped(record: &RunRecord) -> BTreeMap<(u32, &str), u64> {
    let all = record.dropped.iter();
    all.map(|of| ((of.link, of.group.as_str()), of.dropped_pkts)).collect()
}

fn counted(record: &RunRecord, link: usize) -> u64 {
    let (from, to) = record.link(link).unwrap();
    to.dropped_full_pkts + to.dropped_law_pkts - from.dropped_full_pkts - from.dropped_law_pkts
}

#[test]
fn drops_of_all_groups_are_those_of_the_link() {
    // Goal: whichever way a link is simulated and whatever drops there, at an arrival or a departure, the groups' drops
    // in the measured interval come to what the link counted, each group's above none.
    let planned = |router: &str| ("planned", router.to_owned(), crowded(router));
    let evented = |router: &str| {
        let mut spec = crowded(router);
        spec.network.links[0].layer.arq = Some(Arq {
            tries_max: Some(2),
            retry_ns: MS,
            in_order: false,
        });
        ("evented", router.to_owned(), spec)
    };
    let mut cases = ["droptail", "red", "rem"].map(planned).to_vec();
    cases.extend(["droptail", "codel"].map(evented));
    for (way, router, spec) in cases {
        let record = record_of(&spec);
        let dropped = dropped(&record);
        let at = |group: &'static str| dropped.get(&(0, group)).copied().unwrap_or(0);
        assert!(at("long") > 0 && at("all") > 0, "{way} {router}: {dropped:?}");
        assert_eq!(at("long") + at("all"), counted(&record, 0), "{way} {router}");
    }
}

#[test]
fn links_that_nobody_sees_and_acks_are_not_counted() {
    // Goal: an access link that drops but is not shown has no row; ACKs that a link drops are nobody's data.
    let mut spec = crowded("droptail");
    let narrow = |name: &str, packets| {
        let mut link = link(name, 200_000, 8 * MS, packets);
        link.router = plain_router("droptail");
        link
    };
    // The first link of the first flow, and the way back of all.
    let mut first = narrow("first", 5);
    first.shown = false;
    spec.network.links[2].link = first;
    let mut back = narrow("back", 2);
    back.shown = true;
    spec.network.links[1].link = back;
    let record = record_of(&spec);
    assert!(counted(&record, 1) > 100, "ACKs are dropped");
    assert!(
        dropped(&record).keys().all(|(link, _)| *link == 0),
        "{:?}",
        record.dropped
    );
}
