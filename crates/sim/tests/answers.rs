//! What laws made of losses, beside what queues dropped.

mod common;

use common::{DROP, Dumbbell, MS, S, kth, random_loss, record_of, wire};
use fadelab_run::record::{AnswersOf, RunRecord};
use fadelab_run::spec::RunSpec;
use fadelab_run::transport::Recovery;

const RECOVERIES: [Recovery; 4] = [Recovery::Reno, Recovery::NewReno, Recovery::Sack, Recovery::Rack];

/// Recoveries without a drop and with one, and how many of each were answered by a smaller window.
fn counted(record: &RunRecord) -> [(u64, u64); 2] {
    let of = |after_drop| record.answers.iter().filter(move |of| of.after_drop == after_drop);
    let sum = |after_drop, value: fn(&AnswersOf) -> u64| of(after_drop).map(value).sum();
    [false, true].map(|drop| (sum(drop, |of| of.recoveries), sum(drop, |of| of.reduced)))
}

/// A flow of `law` over a link with room, and with losses on its channel.
fn lossy(law: &str, recovery: Recovery) -> RunSpec {
    let mut spec = Dumbbell {
        flows: 1,
        law,
        router: if law == "reno" { "droptail" } else { law },
        rate_bps: 8_000_000,
        delay_ns: 10 * MS,
        buffer_pkts: 1000,
        duration_ns: 40 * S,
    }
    .spec();
    spec.network.links[0].channel = Some(random_loss(0.005, 0.0));
    spec.flows[0].transport.recovery = recovery;
    spec
}

#[test]
fn a_drop_is_known_as_one() {
    // Goal: a single packet that a queue drops begins one recovery after a drop, whose answer halves the window; the
    // same packet lost with nobody dropping it would be of the other kind, of which there is none here.
    for recovery in RECOVERIES {
        let mut spec = wire("reno", 400_000);
        spec.flows[0].transport.recovery = recovery;
        spec.network.links[0].router = kth(200, 0, 200, DROP);
        let record = record_of(&spec);
        assert_eq!(counted(&record), [(0, 0), (1, 1)], "{recovery:?}");
        let answers = &record.answers[0];
        // Reno halves what is in flight, which is the window or a packet less.
        let halves = [0, 1].map(|less| (answers.cwnd_pkts_before - less) / 2);
        assert!(halves.contains(&answers.cwnd_pkts_after), "{recovery:?}: {answers:?}");
    }
}

#[test]
fn errors_are_answered_as_the_law_has_it() {
    // Goal: where no queue drops anything no recovery is after a drop. Reno answers each as congestion, DCP-EW, whose
    // link has no more than its load, hardly any.
    for recovery in RECOVERIES {
        let [(recoveries, reduced), after_drop] = counted(&record_of(&lossy("reno", recovery)));
        assert_eq!(after_drop, (0, 0), "{recovery:?}");
        assert!(
            recoveries > 20 && reduced == recoveries,
            "{recovery:?}: {reduced} of {recoveries}"
        );
    }
    let [(recoveries, reduced), after_drop] = counted(&record_of(&lossy("dcp_ew", Recovery::Sack)));
    assert_eq!(after_drop, (0, 0));
    assert!(
        recoveries > 20 && reduced * 10 < recoveries,
        "{reduced} of {recoveries}"
    );
}

#[test]
fn recoveries_are_all_there() {
    // Goal: with both kinds of losses, and several groups, each recovery of the measured interval is of one kind.
    for recovery in RECOVERIES {
        let mut spec = Dumbbell {
            flows: 3,
            law: "reno",
            router: "droptail",
            rate_bps: 8_000_000,
            delay_ns: 10 * MS,
            buffer_pkts: 20,
            duration_ns: 60 * S,
        }
        .spec();
        spec.warmup_ns = 10 * S;
        spec.network.links[0].channel = Some(random_loss(0.002, 0.001));
        "long".clone_into(&mut spec.flows[0].group);
        spec.flows
            .iter_mut()
            .for_each(|flow| flow.transport.recovery = recovery);
        let record = record_of(&spec);
        let [(others, _), (drops, _)] = counted(&record);
        let flows = record.flows_warmup.iter().zip(&record.flows_end);
        let all: u64 = flows.map(|(from, to)| to.recoveries - from.recoveries).sum();
        assert!(others > 10 && drops > 10, "{recovery:?}: {others}, {drops}");
        assert_eq!(others + drops, all, "{recovery:?}");
    }
}
