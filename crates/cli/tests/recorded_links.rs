//! Laws over recorded cellular links as a table that a person reads, with the plain rules and with mahimahi's.
//!
//! The recordings are no part of fadelab: `FADELAB_TRACES` names the folder that has them, and without it
//! `../shared/traces` beside the source tree is tried. Where there is none the test is skipped.

mod golden;

use std::env;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use golden::rows::table;
use golden::text::Table;

const TRACES: [&str; 4] = [
    "ATT-LTE-driving",
    "TMobile-LTE-short",
    "Verizon-EVDO-driving",
    "Verizon-LTE-short",
];
const RULES: [&str; 2] = ["plain", "exact-mahimahi"];
const LAWS: [&str; 5] = ["reno", "cubic", "bic", "vcp", "xcp"];

/// The folder of the recordings, if this machine has them.
fn folder() -> Option<PathBuf> {
    if let Some(given) = env::var_os("FADELAB_TRACES") {
        return Some(PathBuf::from(given));
    }
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    beside.is_dir().then_some(beside)
}

/// What a recording is, so that another one of the same name is told from a law that changed.
fn description(name: &str, path: &Path) -> String {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let trace = fadelab_scenario::trace::read(BufReader::new(file)).unwrap_or_else(|why| panic!("{name}{why}"));
    let period_ms = trace.opportunities_ms.last().expect("it is not empty");
    format!(
        "{name}: {} opportunities in {:.3} s, {:.3} Mbit/s",
        trace.opportunities_ms.len(),
        *period_ms as f64 / 1e3,
        trace.rate_bps_mean() as f64 / 1e6
    )
}

/// The rows of one trace under one of the rules, the link's name replaced by theirs.
fn rows_of(name: &str, path: &Path, rules: &str) -> Table {
    let by_hand = "fadelab run tests/golden/recorded-links.toml \\\n  --set topology.bottleneck.trace=TRACE.down \
                   --set topology.bottleneck.trace_rules=RULES --set flow.law=LAW";
    let sets = [
        format!("topology.bottleneck.trace='{}'", path.display()),
        format!("topology.bottleneck.trace_rules='{rules}'"),
    ];
    let laws = LAWS.map(str::to_owned);
    let mut table = table(&golden::path("recorded-links.toml"), by_hand, &laws, &sets);
    table.heading.splice(0..2, ["trace", "rules", "law"]);
    table.keys = 3;
    for row in &mut table.rows {
        let law = row[0].clone();
        row.splice(0..2, [name.to_owned(), rules.to_owned(), law]);
    }
    table
}

#[test]
fn recorded_links() {
    // Goal: VCP, XCP, CUBIC, Reno and BIC over four recorded links give the numbers of the golden table, under the
    // plain rules and under mahimahi's.
    let Some(folder) = folder() else {
        println!("skipped: recorded_links: FADELAB_TRACES names no folder with recorded traces");
        return;
    };
    let mut all: Option<Table> = None;
    let mut descriptions = Vec::new();
    for name in TRACES {
        let path = folder.join(format!("{name}.down"));
        descriptions.push(description(name, &path));
        for rules in RULES {
            let part = rows_of(name, &path, rules);
            match &mut all {
                Some(all) => all.rows.extend(part.rows),
                None => all = Some(part),
            }
        }
    }
    let mut all = all.expect("there are traces");
    all.introduction = format!("{}\n\n{}", all.introduction.trim_end(), descriptions.join("\n"));
    golden::compare("recorded-links.txt", &all.text(), |before, now| all.moved(before, now));
}
