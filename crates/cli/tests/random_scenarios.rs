//! Scenarios of chance end clean: dozens here, thousands with `make scenarios`.
//!
//! `FADELAB_RANDOM_SCENARIOS` says how many, `FADELAB_RANDOM_FIRST` with which number to begin (0). A scenario that
//! breaks something is written into the target folder; the command that is told with it runs it again.

mod random;

use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;
use std::sync::Mutex;

use rayon::prelude::*;

use fadelab_laws::catalogue::{self, Role};
use random::ranges;
use random::run::{Outcome, judge};
use random::scenario::{Scenario, pairs, scenario};

/// One in so many runs is made twice.
const TWICE_ONE_IN: u64 = 10;

/// What came out so far.
#[derive(Default)]
struct Tally {
    done: u64,
    refused: BTreeMap<String, u64>,
    delivering: u64,
    used: BTreeMap<String, u64>,
    failures: Vec<String>,
}

impl Tally {
    fn add(&mut self, scenario: &Scenario, outcome: Result<Outcome, String>, of: u64) {
        self.done += 1;
        match outcome {
            Ok(Outcome::Refused(refusal)) => *self.refused.entry(refusal).or_default() += 1,
            Ok(Outcome::Ran { delivered_bytes, used }) => {
                self.delivering += u64::from(delivered_bytes > 0);
                for name in used {
                    *self.used.entry(name).or_default() += 1;
                }
            }
            Err(why) => {
                let again = scenario.keep(&kept());
                let failure = format!("scenario {} ({}): {why}\n  {again}", scenario.seed, scenario.law);
                println!("{failure}");
                self.failures.push(failure);
            }
        }
        if of >= 500 && self.done.is_multiple_of(of / 20) {
            println!(
                "{} of {of}, {} refused, {} failed",
                self.done,
                self.refused_n(),
                self.failures.len()
            );
        }
    }

    fn refused_n(&self) -> u64 {
        self.refused.values().sum()
    }
}

fn kept() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("random-scenarios")
}

fn number(name: &str, default: u64) -> u64 {
    let given = env::var(name).ok();
    given.map_or(default, |given| {
        given
            .parse()
            .unwrap_or_else(|_| panic!("{name}={given}: a whole number is needed"))
    })
}

#[test]
fn random_scenarios_end_clean() {
    // Goal: whatever network, channel, law, transport and application meet, a run ends without a broken invariant, each
    // column is in its range, counters never fall, packets are conserved, and a second run gives the same bytes; or the
    // scenario is refused in a line that names the place. Most run, most of those deliver, and every law is among them.
    let (first, count) = (
        number("FADELAB_RANDOM_FIRST", 0),
        number("FADELAB_RANDOM_SCENARIOS", 2 * pairs()),
    );
    let tally = Mutex::new(Tally::default());
    (first..first + count).into_par_iter().for_each(|seed| {
        let scenario = scenario(seed);
        let folder = tempfile::tempdir().unwrap();
        let outcome = scenario.check(folder.path(), seed.is_multiple_of(TWICE_ONE_IN));
        tally.lock().unwrap().add(&scenario, outcome, count);
    });
    let tally = tally.into_inner().unwrap();
    let ran = count - tally.refused_n();
    println!(
        "{ran} of {count} ran, {} of them delivered, {:?}",
        tally.delivering, tally.used
    );
    for (refusal, times) in &tally.refused {
        println!("refused {times} times: {refusal}");
    }
    let failed = tally.failures.len();
    assert!(
        failed == 0,
        "{failed} of {count} failed:\n{}",
        tally.failures.join("\n")
    );
    if count >= 2 * pairs() {
        assert!(ran * 4 > count * 3, "{} of {count} refused", tally.refused_n());
        assert!(tally.delivering * 2 > ran, "{} of {ran} delivered", tally.delivering);
        let unused: Vec<String> = wanted().filter(|name| !tally.used.contains_key(name)).collect();
        assert!(unused.is_empty(), "in no scenario: {unused:?}");
    }
}

/// What must be among dozens of scenarios.
fn wanted() -> impl Iterator<Item = String> {
    let roles = [Role::Sender, Role::Router, Role::Capacity];
    let laws = roles
        .into_iter()
        .flat_map(|role| catalogue::names(role).map(move |name| format!("{} {name}", role.name())));
    let kinds = [
        "app Greedy",
        "app Transfer",
        "app Cbr",
        "app Sessions",
        "recovery Sack",
        "recovery Rack",
        "recovery NewReno",
        "recovery Reno",
        "rate Constant",
        "rate Trace",
        "queues One",
        "queues Fair",
        "channel Random",
        "channel PacketScale",
        "channel GilbertElliott",
        "code Ideal",
        "code Gf256",
        "arq",
        "jitter Uniform",
        "jitter Normal",
        "jitter Exponential",
        "reorder",
    ];
    laws.chain(kinds.map(str::to_owned))
}

/// A network in which every table has rows and every metric a value.
const WHOLE: &str = r#"
[run]
duration = "30 s"
record = "1 s"

[topology.bottleneck]
rate = "2 Mbit/s"
delay = "20 ms"
buffer = "20 pkt"

[channel]
model = "random"
loss_data = 0.01

[channel.arq]
tries = 2
retry = "5 ms"

[flow]
law = "reno+red"

[flow.down]
count = 2

[flow.file]
app = "transfer"
size = "200 kB"
start = "1 s"
"#;

/// A table, a column, a value that a row cannot have there, and what is said of it.
const WRONG: &[(&str, &str, &str, &str)] = &[
    ("links", "time_ns", "5", "time_ns is 5 after"),
    ("links", "sent_pkts", "5", "sent_pkts fell from"),
    ("links", "arrived_pkts", "99999999", "at most one in transmission"),
    ("links", "arrived_bytes", "99999999", "the rest of one in transmission"),
    ("links", "sent_bytes", "99999999", "sent_bytes <= offered_bytes"),
    ("links", "queue_pkts", "21", "within the buffer"),
    ("links", "queue_bytes", "999999", "those of queue_pkts"),
    ("links", "queue_pkt_us", "999999999999999", "each for the whole time"),
    ("links", "dropped_bytes", "99999999", "those of the packets dropped"),
    ("links", "lost_air_pkts", "99999999", "lost_air_pkts <= sent_pkts"),
    (
        "links",
        "lost_air_data_pkts",
        "99999999",
        "lost_air_data_pkts <= lost_air_pkts",
    ),
    ("links", "marked_pkts", "99999999", "marked_pkts <= sent_pkts"),
    ("links", "sent_data_pkts", "99999999", "sent_data_pkts <= sent_pkts"),
    (
        "links",
        "recovered_pkts",
        "99999999",
        "recovered_pkts <= retransmitted_pkts",
    ),
    ("links", "reordered_pkts", "99999999", "reordered_pkts <= sent_pkts"),
    (
        "flows",
        "retransmitted_pkts",
        "99999999",
        "retransmitted_pkts <= sent_pkts",
    ),
    ("flows", "delivered_bytes", "200001", "no more than its size"),
    ("flows", "in_flight_pkts", "99999999", "in_flight_pkts <= sent_pkts"),
    ("flows", "srtt_us", "7", "at least the delay of the path"),
    ("flows", "rtt_us_sum", "99999999999999999999", "is not in Grows"),
    ("runs", "measured_ns", "0", "is not in Positive"),
    (
        "runs",
        "utilisation",
        "0.123",
        "utilisation = sent_bytes / offered_bytes",
    ),
    ("runs", "utilisation_min", "-0.5", "is not in Real"),
    ("runs", "utilisation_max", "1.5", "the rounding of a byte"),
    ("runs", "goodput_bps", "8", "that of the flows"),
    ("runs", "jain", "NaN", "is not in Real"),
    ("runs", "queue_pkts_mean", "30", "queue_pkts_mean is within the buffer"),
    (
        "runs",
        "drop_rate",
        "0.9",
        "drop_rate = dropped / (dropped + sent_pkts)",
    ),
    ("runs", "mark_rate", "8", "is not in Real"),
    ("runs", "air_loss_rate", "2", "is not in Real"),
    ("runs", "rtt_ms_mean", "1", "the shortest delay of a path"),
    ("runs", "completion_s_mean", "", "if something completed"),
    ("flow_totals", "group", "", "is not in Name"),
    ("flow_totals", "rtt_us_sum", "1", "the mean RTT sample"),
    ("completions", "start_ns", "29999999999", "start_ns <= end_ns"),
    ("completions", "end_ns", "1000000001", "faster than the path"),
    ("completions", "bytes", "3", "with its size"),
];

#[test]
fn what_is_wrong_is_noticed() {
    // Goal: a sound result has no findings; with one cell wrong it has the one that is about it; and a column that has
    // no range is one.
    let folder = tempfile::tempdir().unwrap();
    let whole = Scenario {
        seed: 0,
        text: WHOLE.to_owned(),
        traces: Vec::new(),
        law: String::new(),
    };
    whole.check(folder.path(), true).unwrap_or_else(|why| panic!("{why}"));
    let sound = judge(folder.path(), "out").unwrap();
    for &(name, column, value, said) in WRONG {
        let mut tables = sound.tables.clone();
        let table = tables.get_mut(name);
        // The first link carries data, the last sample has others before it.
        let row = if name == "runs" { 0 } else { table.rows.len() - 1 };
        table.set(row, column, value);
        let findings = sound.findings_of(&tables);
        let is_said = findings.iter().any(|finding| finding.contains(said));
        assert!(is_said, "{name}.{column} = {value}: {findings:?}");
    }
    let (mut tables, mut findings) = (sound.tables.clone(), Vec::new());
    tables.get_mut("completions").columns.push("new_pkts".to_owned());
    ranges::check(&tables, &mut findings);
    assert!(
        findings.iter().any(|finding| finding.contains("new_pkts has no range")),
        "{findings:?}"
    );
}
