//! The statistics of synthetic runs against values computed by hand.

mod common;

use common::{Lab, spec, two_laws};
use fadelab_results::Summary;
use fadelab_results::measure::Metric;

#[track_caller]
fn close(got: f64, expected: f64) {
    assert!(
        (got - expected).abs() < 1e-9 * expected.abs().max(1.0),
        "got {got}, expected {expected}"
    );
}

#[test]
fn figures_equal_the_hand_computed_ones() {
    // Every metric of the steady law over the 50 measured seconds, from the definition of the synthetic record.
    let lab = two_laws();
    let summary = Summary::of(&lab.experiment());
    let steady = &summary.groups[0];
    assert_eq!(
        (steady.law.as_str(), steady.link.as_str(), &steady.seeds[..]),
        ("steady", "bottleneck", &[1, 2, 3][..])
    );
    let mean = |metric| steady.stat(metric).unwrap().mean;
    close(mean(Metric::Utilisation), 0.89);
    // Loads 900, 890, 880; each flow's share is rounded down to whole packets: 675+225, 667+222, 660+220.
    close(mean(Metric::Goodput), (900.0 + 889.0 + 880.0) / 3.0 * 960.0 * 8.0);
    close(mean(Metric::QueuePkts), 10.0);
    close(
        mean(Metric::QueueWait),
        1000.0 * 10.0 * (1.0 / 900.0 + 1.0 / 890.0 + 1.0 / 880.0) / 3.0,
    );
    close(mean(Metric::DropRate), (9.0 / 909.0 + 8.0 / 898.0 + 8.0 / 888.0) / 3.0);
    close(mean(Metric::MarkRate), 0.1);
    close(
        mean(Metric::AirLoss),
        (18.0 / 900.0 + 17.0 / 890.0 + 17.0 / 880.0) / 3.0,
    );
    close(mean(Metric::AirLossExact), 0.02);
    close(mean(Metric::Rtt), 100.0);
    close(mean(Metric::Timeouts), 0.0);
    // Of four completions one ended in the warm-up and one belongs to a flow that does not cross the link.
    close(mean(Metric::Completions), 2.0);
    close(mean(Metric::CompletionTime), 15.0);
}

#[test]
fn packets_of_different_sizes_have_no_exact_loss() {
    // A longer packet is lost more often on a channel with bit errors, so that no single figure is exact for both.
    let (mut lab, mut spec) = (Lab::default(), spec(1, 60));
    spec.flows[1].transport.packet_bytes = 500;
    lab.add("steady", spec, |_| 900);
    assert_eq!(
        Summary::of(&lab.experiment()).groups[0].stat(Metric::AirLossExact),
        None
    );
}

#[test]
fn drops_by_the_law_count_as_drops() {
    // A law that drops nine packets in each of the 50 measured seconds, as many as find the queue full, doubles them.
    let mut lab = Lab::default();
    lab.add("steady", spec(1, 60), |_| 900);
    let link = &mut lab.runs[0].record.links_end[0];
    link.dropped_law_pkts += 50 * 9;
    link.arrived_pkts += 50 * 9;
    let summary = Summary::of(&lab.experiment());
    close(summary.groups[0].stat(Metric::DropRate).unwrap().mean, 18.0 / 918.0);
}

#[test]
fn jain_is_over_the_flows_that_cross_the_link() {
    // Shares of 3/4 and 1/4 give 1 / (2 * 10/16); the third flow, which gets nothing here, must not count.
    let mut lab = Lab::default();
    lab.add("steady", spec(1, 60), |_| 900);
    close(
        Summary::of(&lab.experiment()).groups[0]
            .stat(Metric::Jain)
            .unwrap()
            .mean,
        0.8,
    );
}

#[test]
fn swing_is_measured_in_bins_of_ten_seconds() {
    // Measured from 10 s to 60 s: bins of 0.5, 1, 0.5, 1, 0.5; mean 0.7, deviation sqrt(0.06).
    let summary = Summary::of(&two_laws().experiment());
    let swinging = &summary.groups[1];
    close(swinging.stat(Metric::UtilisationMin).unwrap().mean, 0.5);
    close(swinging.stat(Metric::UtilisationMax).unwrap().mean, 1.0);
    close(swinging.stat(Metric::UtilisationSd).unwrap().mean, 0.06_f64.sqrt());
    close(swinging.stat(Metric::Utilisation).unwrap().mean, 0.7);
}

#[test]
fn laws_are_compared_seed_by_seed() {
    // Differences 0.20, 0.19, 0.18: mean 0.19, sample deviation 0.01, t(2) = 4.303.
    let summary = Summary::of(&two_laws().experiment());
    let found = summary.differences.iter().find(|d| d.metric == "utilisation").unwrap();
    assert_eq!(
        (found.law.as_str(), found.minus.as_str(), found.difference.n),
        ("steady", "swinging", 3)
    );
    close(found.difference.mean, 0.19);
    close(found.difference.ci95_half_width.unwrap(), 4.303 * 0.01 / 3.0_f64.sqrt());
}

#[test]
fn differences_pair_only_seeds_that_both_laws_have() {
    // A law with other seeds met another channel: without a common seed there is nothing to subtract.
    let mut lab = Lab::default();
    lab.add("a", spec(1, 60), |_| 900);
    lab.add("a", spec(2, 60), |_| 900);
    lab.add("b", spec(2, 60), |_| 800);
    lab.add("c", spec(7, 60), |_| 700);
    let differences = Summary::of(&lab.experiment()).differences;
    assert_eq!(differences.len(), 2);
    assert!(
        differences
            .iter()
            .all(|d| d.law == "a" && d.minus == "b" && d.difference.n == 1)
    );
}

#[test]
fn one_seed_says_that_it_is_one() {
    // No interval is made up, and the words say why there is none.
    let mut lab = Lab::default();
    lab.add("a", spec(1, 60), |_| 900);
    let summary = Summary::of(&lab.experiment());
    assert_eq!(
        summary.groups[0].stat(Metric::Utilisation).unwrap().ci95_half_width,
        None
    );
    assert_eq!(summary.seeds_text(), "1 seed, no interval");
}

#[test]
fn points_of_a_sweep_stay_apart_and_in_order() {
    // Two points, two laws: four groups ordered by point then law; differences only within a point.
    let mut lab = Lab::default();
    for (law, load) in [("a", 900), ("b", 800)] {
        for snr in ["30 dB", "5 dB"] {
            lab.add_at(law, vec![("snr".into(), snr.into())], spec(1, 60), |_| load);
        }
    }
    let summary = Summary::of(&lab.experiment());
    let order: Vec<_> = summary
        .groups
        .iter()
        .map(|g| (g.point[0].1.as_str(), g.law.as_str()))
        .collect();
    assert_eq!(order, [("30 dB", "a"), ("30 dB", "b"), ("5 dB", "a"), ("5 dB", "b")]);
    assert_eq!(
        summary.differences.iter().filter(|d| d.metric == "utilisation").count(),
        2
    );
}

#[test]
fn links_of_a_kind_have_losses_of_their_own() {
    // Goal: what links have in common is kept once, but the exact loss, which is of the packets that cross a link, is
    // each link's own: absent where no data cross it.
    let mut spec = spec(1, 60);
    for (name, like) in [("unused", 0), ("access.1", 1), ("access.2", 1)] {
        let mut link = spec.network.links[like].clone();
        link.name = name.into();
        spec.network.links.push(link);
    }
    spec.network.links.swap(1, 2);
    for flow in &mut spec.flows {
        flow.route.retain(|&link| link == 0);
    }
    let kept = fadelab_results::Specs::default().of(&spec);
    let losses: Vec<bool> = kept
        .links
        .iter()
        .map(|link| link.air_loss_rate_exact.is_some())
        .collect();
    assert_eq!(losses, [true, false, false, false, false]);
    let is_shared = |a: usize, b: usize| std::sync::Arc::ptr_eq(&kept.links[a].kind, &kept.links[b].kind);
    assert!(is_shared(2, 3) && is_shared(3, 4) && !is_shared(0, 1));
}

#[test]
fn links_that_only_carry_acks_have_no_figures_of_flows_and_no_table() {
    // Nothing is delivered over them, which is not a goodput of zero; what they sent is in the summary all the same.
    let mut spec = spec(1, 60);
    spec.flows.truncate(2);
    spec.network.links[1].shown = true;
    let mut lab = Lab::default();
    lab.add("a", spec, |_| 900);
    let summary = Summary::of(&lab.experiment());
    assert_eq!(
        (summary.links().len(), summary.data_links()),
        (2, vec!["bottleneck".to_owned()])
    );
    assert_eq!(summary.groups[1].stat(Metric::Goodput), None);
    close(summary.groups[1].stat(Metric::QueuePkts).unwrap().mean, 0.0);
    assert_eq!(
        fadelab_results::table::views(&summary, fadelab_results::table::Columns::Usual).len(),
        1
    );
}
