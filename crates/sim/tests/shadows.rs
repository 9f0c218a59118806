//! Laws that look on: they change nothing, and see what the law that decides sees.

mod common;

use common::{Dumbbell, MS, S, random_loss, record_of};
use fadelab_laws::sender;
use fadelab_laws::shadow::Onlooker;
use fadelab_run::app::{App, Span};
use fadelab_run::record::RunRecord;
use fadelab_run::spec::RunSpec;

/// Two flows of a law over a link that loses one packet in a hundred, with marks, sampled ten times a second.
fn lossy(law: &str) -> RunSpec {
    let mut spec = Dumbbell {
        flows: 2,
        law,
        router: "red",
        rate_bps: 8_000_000,
        delay_ns: 10 * MS,
        buffer_pkts: 50,
        duration_ns: 20 * S,
    }
    .spec();
    spec.record_interval_ns = Some(100 * MS);
    spec.network.links[0].channel = Some(random_loss(0.01, 0.01));
    // Sessions begin anew, and so do those that look on.
    spec.flows[1].app = App::Sessions {
        start: Span::Fixed { ns: 0 },
        on: Span::Exponential { mean_ns: 2 * S },
        off: Some(Span::Exponential { mean_ns: S }),
    };
    spec
}

fn with(mut spec: RunSpec, flow: usize, laws: &[&str]) -> RunSpec {
    spec.flows[flow].onlookers = laws
        .iter()
        .map(|name| {
            let law = sender(name).expect("registered");
            Onlooker {
                law,
                params: law.default_params(),
            }
        })
        .collect();
    spec
}

/// Without what laws show of themselves.
fn unwatched(mut record: RunRecord) -> RunRecord {
    record.series.flows_watched.clear();
    record
}

#[test]
fn who_looks_on_changes_nothing() {
    // Goal: every counter of a run is the same to the packet, whoever looks on: laws that read more of ACKs than the
    // one that decides, and laws that are told of each lost segment; beside one flow alone or beside both.
    for law in ["reno", "cubic", "westwood", "new_jersey", "vcp"] {
        let alone = record_of(&lossy(law));
        let others = ["westwood", "jersey", "new_jersey", "veno", "westwood_plus"];
        let one = with(lossy(law), 0, &others);
        assert_eq!(unwatched(record_of(&one)), unwatched(alone.clone()), "{law}");
        let both = with(one, 1, &["new_jersey"]);
        assert_eq!(unwatched(record_of(&both)), unwatched(alone), "{law}");
    }
}

#[test]
fn who_looks_on_sees_what_the_law_sees() {
    // Goal: a law beside itself has the same memory at each sample, through losses, timeouts, marks and sessions; of
    // two that look on each has its own.
    for law in ["westwood", "westwood_plus", "jersey", "new_jersey", "veno", "cubic"] {
        let values_n = sender(law).unwrap().watch().len();
        if values_n == 0 {
            continue;
        }
        let spec = with(with(lossy(law), 0, &[law, "jersey", law]), 1, &[law]);
        let record = record_of(&spec);
        assert!(
            record.flows_end[0].recoveries > 10 && record.flows_end[1].sent_pkts > 1000,
            "{:?}",
            record.flows_end
        );
        let jersey_n = sender("jersey").unwrap().watch().len();
        let seen = &record.series.flows_watched[0];
        for sample in seen.chunks(3 * values_n + jersey_n) {
            let own = &sample[..values_n];
            assert_eq!(own, &sample[values_n..2 * values_n], "{law}");
            assert_eq!(own, &sample[2 * values_n + jersey_n..], "{law}");
        }
        let distinct: std::collections::BTreeSet<_> = seen.chunks(3 * values_n + jersey_n).collect();
        assert!(distinct.len() > 100, "{law}: {}", distinct.len());
        for sample in record.series.flows_watched[1].chunks(2 * values_n) {
            assert_eq!(sample[..values_n], sample[values_n..], "{law}");
        }
    }
}

#[test]
fn who_looks_on_sees_more_of_an_ack_than_the_law_reads() {
    // Goal: beside Reno, which reads no timestamps, New Jersey has the estimate that needs them: the link's rate.
    let mut spec = with(lossy("reno"), 0, &["new_jersey"]);
    spec.network.links[0].channel = None;
    spec.flows.truncate(1);
    let record = record_of(&spec);
    let own_n = sender("reno").unwrap().watch().len();
    let watch = sender("new_jersey").unwrap().watch();
    let rate = own_n + watch.iter().position(|info| info.name == "rate").unwrap();
    let last = record.series.flows_watched[0]
        .chunks(own_n + watch.len())
        .last()
        .unwrap();
    assert!((800_000..=1_100_000).contains(&last[rate]), "{last:?}");
}
