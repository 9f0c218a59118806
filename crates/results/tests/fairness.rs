//! Jain's index: of which flows, and over which time.

mod common;

use std::sync::Arc;

use common::{Lab, SECOND, flow, spec};
use fadelab_results::Summary;
use fadelab_results::measure::Metric;
use fadelab_run::app::{App, Span};
use fadelab_run::spec::RunSpec;

/// The index that is told of the bottleneck, with samples and without them.
fn told(change: impl Fn(&mut RunSpec), begin: Option<usize>) -> [Option<f64>; 2] {
    [true, false].map(|is_recorded| {
        let mut spec = spec(1, 60);
        change(&mut spec);
        let mut lab = Lab::default();
        lab.add("steady", spec, |_| 900);
        let record = &mut lab.runs[0].record;
        record.completions.retain(|completion| completion.end_ns > 10 * SECOND);
        if let Some(begin) = begin {
            // The second flow sends nothing before; from then on it has as much as the first has.
            let [first, second, ..] = &mut record.series.flows[..] else {
                panic!("two flows")
            };
            for (place, (of_first, at)) in first.iter().zip(second).enumerate() {
                at.delivered_bytes = of_first.delivered_bytes;
                if place <= begin {
                    (at.sent_pkts, at.delivered_bytes) = (0, 0);
                }
            }
        }
        if !is_recorded {
            lab.runs[0].record.series = fadelab_run::record::Series::default();
        }
        Summary::of(&lab.experiment()).groups[0]
            .stat(Metric::Jain)
            .map(|stat| stat.mean)
    })
}

fn app(spec: &mut RunSpec, flow: usize, app: App) {
    Arc::make_mut(&mut spec.flows[flow].kind).app = app;
}

const AT_ONCE: Span = Span::Fixed { ns: 0 };

#[test]
fn flows_that_last_are_compared_as_a_whole() {
    // Goal: three quarters and one quarter over the whole interval give 0.8, whether samples are kept or not.
    assert_eq!(
        told(|_| (), None).map(|jain| (jain.unwrap() * 1e6).round() as u64),
        [800_000; 2]
    );
}

#[test]
fn a_late_flow_is_compared_from_its_start() {
    // Goal: one that begins at 30 s and has as much as the other from then on is treated evenly; without samples that
    // cannot be said, and it is not said that the share was uneven.
    let late = |spec: &mut RunSpec| {
        let start = Span::Fixed { ns: 30 * SECOND };
        app(spec, 1, App::Greedy { start });
    };
    let [recorded, bare] = told(late, Some(30));
    assert!((recorded.unwrap() - 1.0).abs() < 1e-9, "{recorded:?}");
    assert_eq!(bare, None);
}

#[test]
fn there_is_none_where_it_means_nothing() {
    // Goal: sessions, calls and mixtures of laws have no index, and neither has a flow by itself.
    let sessions = App::Sessions {
        start: AT_ONCE,
        on: AT_ONCE,
        off: None,
    };
    assert_eq!(told(|spec| app(spec, 1, sessions), None), [None; 2]);
    let mixed = |spec: &mut RunSpec| {
        let mut other = flow("other.1", "other", 0);
        let kind = Arc::make_mut(&mut other.kind);
        let cubic = fadelab_laws::sender("cubic").unwrap();
        (kind.sender, kind.params) = (Some(cubic), cubic.default_params());
        spec.flows[1] = other;
    };
    assert_eq!(told(mixed, None), [None; 2]);
    let alone = |spec: &mut RunSpec| Arc::make_mut(&mut spec.flows[1].kind).sender = None;
    assert_eq!(told(alone, None), [None; 2]);
}

#[test]
fn transfers_are_compared_until_the_first_ends() {
    // Goal: transfers of one size all got the same in the end; what counts is the time when both were under way, here
    // until the first ends at 15 s.
    let transfers = |spec: &mut RunSpec| {
        for flow in 0..2 {
            app(
                spec,
                flow,
                App::Transfer {
                    start: AT_ONCE,
                    bytes: 1_000_000,
                },
            );
        }
    };
    let [recorded, bare] = told(transfers, None);
    assert!((recorded.unwrap() - 0.8).abs() < 1e-3, "{recorded:?}");
    assert_eq!(bare, None);
}
