//! Each invariant stops a run that breaks it, and names itself.

mod common;

use common::{Dumbbell, MS, S};
use fadelab_path::node::NodeFault;
use fadelab_sim::RunError;
use fadelab_sim::fault::{Fault, FaultKind, run_with_fault};

/// A small network whose queue overflows now and then.
fn lossy_dumbbell() -> Dumbbell<'static> {
    Dumbbell {
        flows: 3,
        law: "reno",
        router: "droptail",
        rate_bps: 10_000_000,
        delay_ns: 20 * MS,
        buffer_pkts: 50,
        duration_ns: 20 * S,
    }
}

fn stopped_by(kind: FaultKind) -> String {
    let error = run_with_fault(&lossy_dumbbell().spec(), Fault { at_ns: 5 * S, kind })
        .expect_err("the fault must stop the run");
    let RunError::Violation { violation, seed } = error else {
        panic!("stopped otherwise: {error}")
    };
    assert_eq!(seed, 1, "the seed that replays it is named");
    assert!(
        violation.time_ns >= 5 * S && !violation.detail.is_empty(),
        "{violation}"
    );
    violation.invariant.to_owned()
}

#[test]
fn a_sound_run_is_not_stopped() {
    // Goal: the invariants hold over a run with losses, so that the faults below are what stops theirs.
    let record = fadelab_sim::run(&lossy_dumbbell().spec(), |_| true).expect("a sound run");
    assert!(record.links_end[0].dropped_full_pkts > 0);
}

#[test]
fn packets_do_not_vanish_at_a_node() {
    // Goal: a packet that leaves a link uncounted stops the run.
    assert_eq!(
        stopped_by(FaultKind::Link(NodeFault::Vanishes)),
        "packets are conserved at a node"
    );
}

#[test]
fn bytes_do_not_vanish_at_a_node() {
    // Goal: a byte missing from a queue's count stops the run.
    assert_eq!(
        stopped_by(FaultKind::Link(NodeFault::LosesBytes)),
        "bytes are conserved at a node"
    );
}

#[test]
fn packets_do_not_vanish_in_the_whole() {
    // Goal: a packet missing from the count of the whole network stops the run.
    assert_eq!(stopped_by(FaultKind::LosesCount), "packets are conserved in the whole");
}

#[test]
fn links_do_not_exceed_their_capacity() {
    // Goal: more bytes in a busy period than the rate allows stop the run.
    assert_eq!(
        stopped_by(FaultKind::Link(NodeFault::Overlaps)),
        "a link never exceeds its capacity"
    );
}

#[test]
fn nothing_is_early() {
    // Goal: a packet that skips half of its propagation stops the run.
    let expected = "nothing leaves before its delay, and nothing late";
    assert_eq!(stopped_by(FaultKind::Link(NodeFault::Early)), expected);
}

#[test]
fn queues_stay_within_their_limits() {
    // Goal: a queue longer than its buffer stops the run.
    assert_eq!(
        stopped_by(FaultKind::Link(NodeFault::Overfills)),
        "a queue stays within its limit"
    );
}

#[test]
fn time_does_not_go_back() {
    // Goal: an event in the past stops the run.
    assert_eq!(stopped_by(FaultKind::TimeGoesBack), "time never goes back");
}

#[test]
fn flight_equals_what_is_unacknowledged() {
    // Goal: a count of packets in flight that is off by one stops the run.
    assert_eq!(
        stopped_by(FaultKind::Miscount),
        "what is in flight is what is unacknowledged"
    );
}

#[test]
fn acknowledgements_stay_within_what_was_sent() {
    // Goal: an ACK of the future stops the run.
    assert_eq!(
        stopped_by(FaultKind::AcknowledgesTheFuture),
        "only what was sent is acknowledged"
    );
}

#[test]
fn nothing_counts_as_sent_before_it_is() {
    // Goal: at any instant a link has sent what its rate allows and not a packet more, on a link where one takes 8 s.
    let mut spec = Dumbbell {
        flows: 1,
        law: "reno",
        router: "droptail",
        rate_bps: 1_000,
        delay_ns: 20 * MS,
        buffer_pkts: 50,
        duration_ns: 100 * S,
    }
    .spec();
    spec.record_interval_ns = Some(S);
    let record = fadelab_sim::run(&spec, |_| true).expect("a sound run");
    let samples = &record.series.links[0];
    assert!(samples.iter().all(|at| at.sent_bytes <= at.offered_bytes));
    let (first, last) = (&samples[10], &samples[60]);
    let (sent, offered) = (
        last.sent_bytes - first.sent_bytes,
        last.offered_bytes - first.offered_bytes,
    );
    assert!(
        sent.abs_diff(offered) <= 1,
        "a busy link sends all the time: {sent} of {offered} B"
    );
    assert_eq!(last.sent_pkts, last.sent_bytes / 1040);
}
