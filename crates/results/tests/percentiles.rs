//! Percentiles of delays in summaries: by hand, and absent where nothing is known.

mod common;

use common::{Lab, spec};
use fadelab_results::Summary;
use fadelab_results::measure::Metric;
use fadelab_run::record::Delays;

/// Whether a percentile of delays of 1, 2, ... 100 ms is what it must be, within the width of a bin.
fn is_near(value: Option<f64>, expected: f64) -> bool {
    value.is_some_and(|value| (value / expected - 1.0).abs() < 0.005)
}

fn figure(summary: &Summary, metric: Metric) -> Option<f64> {
    summary.groups[0].stat(metric).map(|stat| stat.mean)
}

#[test]
fn percentiles_are_over_all_samples() {
    // Goal: of 1, 2, ... 100 ms half are at most 50, 95 % at most 95, 99 % at most 99, round trips and waits; of
    // transfers of 10 s and 20 s, the one that ended before the measured interval left out, half take at most 10 s.
    let mut lab = Lab::default();
    lab.add("reno", spec(1, 60), |_| 900);
    let summary = Summary::of(&lab.experiment());
    let expected = [
        (Metric::RttP50, 50.0),
        (Metric::RttP95, 95.0),
        (Metric::RttP99, 99.0),
        (Metric::QueueWaitP50, 50.0),
        (Metric::QueueWaitP95, 95.0),
        (Metric::QueueWaitP99, 99.0),
        (Metric::CompletionTimeP50, 10.0),
        (Metric::CompletionTimeP95, 20.0),
    ];
    for (metric, expected) in expected {
        assert!(
            is_near(figure(&summary, metric), expected),
            "{metric:?}: {:?}",
            figure(&summary, metric)
        );
    }
}

#[test]
fn round_trips_of_a_part_of_a_group_are_not_known() {
    // Goal: where one of a group's two flows does not cross the link, the link has no percentiles of round trips, which
    // are counted for both; waits are counted there and stay.
    let mut lab = Lab::default();
    let mut part = spec(1, 60);
    part.flows[1].route = vec![1];
    lab.add("reno", part, |_| 900);
    let summary = Summary::of(&lab.experiment());
    assert_eq!(figure(&summary, Metric::RttP50), None);
    assert!(is_near(figure(&summary, Metric::QueueWaitP50), 50.0));
}

#[test]
fn a_ground_that_sees_no_samples_has_no_percentiles() {
    // Goal: without counted delays, as in a kernel, those of round trips and waits are absent, and those of transfers
    // are there.
    let mut lab = Lab::default();
    lab.add("reno", spec(1, 60), |_| 900);
    lab.runs[0].record.delays = Delays::default();
    let summary = Summary::of(&lab.experiment());
    assert_eq!(figure(&summary, Metric::RttP99), None);
    assert_eq!(figure(&summary, Metric::QueueWaitP99), None);
    assert!(figure(&summary, Metric::CompletionTimeP99).is_some());
}
