//! Where the instructions of a packet go, by what the source files are for.

use std::collections::BTreeMap;
use std::fmt;
use std::fmt::Write as _;

use crate::cases::{BESIDE_NS2, Case};
use crate::page::Table;
use crate::profile::Profile;
use crate::simulators::{Bench, Fadelab};

/// Parts and their files or folders. Of several that fit the longest counts.
const PARTS: [(&str, &[&str]); 10] = [
    (
        "sender: ACKs, recovery, timers, segments",
        &["crates/sim/src/tcp", "crates/sim/src/flow.rs"],
    ),
    ("receiver", &["crates/sim/src/tcp/receiver"]),
    (
        "links: transmitters, queues, counters",
        &["crates/path/src", "crates/phy/src/channel"],
    ),
    ("network: where to next, what goes ahead", &["crates/sim/src/network"]),
    ("pipes behind transmitters", &["crates/sim/src/pipe"]),
    (
        "event loop and schedule",
        &[
            "crates/sim/src/engine",
            "crates/sim/src/schedule",
            "crates/sim/src/clock",
            // What the compiler makes itself counts as the crate's root.
            "crates/sim/src/lib",
        ],
    ),
    ("packets written and read", &["crates/sim/src/packet"]),
    ("laws (C), and what they are shown", &["laws/", "crates/laws/src"]),
    ("random words", &["crates/phy/src/random"]),
    // A longer run fills more bins of the histograms.
    ("tables of the result", &["crates/results/src"]),
];

/// Instructions of a packet that a file may take without a part.
const LEAST: f64 = 0.5;

/// Instructions per packet by part, for some laws.
pub struct Parts {
    laws: Vec<&'static str>,
    /// Name of the part, and the instructions of each law.
    rows: Vec<(&'static str, Vec<f64>)>,
}

/// The part of the file at `path` in the project.
fn part_of(path: &str) -> Option<&'static str> {
    let fits = PARTS
        .iter()
        .flat_map(|(part, files)| files.iter().map(move |file| (*part, *file)))
        .filter(|(_, file)| path.starts_with(file));
    fits.max_by_key(|(_, file)| file.len()).map(|(part, _)| part)
}

/// Instructions per packet of a case in its steady state, by part, and of what belongs to none under "".
fn steady(bench: &Bench, case: &Case) -> Result<BTreeMap<&'static str, f64>, String> {
    let fadelab = Fadelab::of(case);
    let profile = |seconds| {
        bench.clear(fadelab.folder)?;
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        let root = std::fs::canonicalize(root).map_err(|error| format!("{root}: {error}"))?;
        let profile = Profile::of(&fadelab.words(bench, seconds), &root.to_string_lossy(), bench.scratch())?;
        Ok::<_, String>((profile, bench.sent_pkts(fadelab.folder)?))
    };
    let [(short, short_pkts), (long, long_pkts)] =
        [profile(case.seconds_counted[0])?, profile(case.seconds_counted[1])?];
    by_part(&short, &long, long_pkts - short_pkts)
}

/// The difference of two profiles, for each of `pkts`.
fn by_part(short: &Profile, long: &Profile, pkts: f64) -> Result<BTreeMap<&'static str, f64>, String> {
    let mut parts = BTreeMap::from([("", (long.foreign - short.foreign) / pkts)]);
    for (path, count) in &long.files {
        let per_pkt = (count - short.files.get(path).unwrap_or(&0.0)) / pkts;
        match part_of(path) {
            None if per_pkt > LEAST => {
                return Err(format!(
                    "{path} takes {per_pkt:.0} instructions of a packet and belongs to no part; give it one in \
                     crates/bench/src/parts.rs"
                ));
            }
            part => *parts.entry(part.unwrap_or_default()).or_default() += per_pkt,
        }
    }
    Ok(parts)
}

/// The table of those of [`BESIDE_NS2`] with ten greedy flows.
///
/// # Errors
/// In words, where a run fails or a file that takes time belongs to no part.
pub fn measure(bench: &Bench) -> Result<Parts, String> {
    let cases = BESIDE_NS2
        .iter()
        .filter(|case| case.flows == 10 && case.settings.is_empty());
    let mut laws = Vec::new();
    let mut columns = Vec::new();
    for case in cases {
        eprintln!("bench: the parts of {}", case.law);
        laws.push(case.law);
        columns.push(steady(bench, case)?);
    }
    let row = |part: &str| {
        columns
            .iter()
            .map(|column| column.get(part).copied().unwrap_or_default())
            .collect()
    };
    let mut rows: Vec<_> = PARTS.iter().map(|(part, _)| (*part, row(part))).collect();
    rows.push(("what belongs to no part", row("")));
    rows.push(("all", columns.iter().map(|column| column.values().sum()).collect()));
    Ok(Parts { laws, rows })
}

impl Table for Parts {
    fn name(&self) -> &'static str {
        "parts"
    }

    fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let laws = self.laws.iter().map(|law| format!("`{law}`"));
        let mut text = line(std::iter::once("part".to_owned()).chain(laws).collect());
        writeln!(text, "|---|{}", "---:|".repeat(self.laws.len())).expect("a string takes all");
        for (part, counts) in &self.rows {
            // The sum takes the sign off a zero.
            let counts = counts.iter().map(|count| format!("{:.0}", count.round() + 0.0));
            text.push_str(&line(std::iter::once((*part).to_owned()).chain(counts).collect()));
        }
        text
    }
}

impl fmt::Display for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Instructions per packet by part\n{}", self.markdown())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(files: [(&str, f64); 3], foreign: f64) -> Profile {
        let files = files.map(|(path, count)| (path.to_owned(), count)).into();
        Profile { files, foreign }
    }

    #[test]
    fn the_nearest_part_counts_what_is_added() {
        // Goal: the receiver is no part of the sender in whose folder it lies, only what the longer run has more of
        // counts, and a file that belongs to no part is told and not left out.
        let files = |sender, receiver, other| {
            [
                ("crates/sim/src/tcp/sender.rs", sender),
                ("crates/sim/src/tcp/receiver.rs", receiver),
                ("crates/sim/src/other.rs", other),
            ]
        };
        let short = profile(files(100.0, 10.0, 0.0), 7.0);
        let parts = by_part(&short, &profile(files(300.0, 50.0, 1.0), 8.0), 10.0).unwrap();
        let [sender, receiver] = [0, 1].map(|number| parts[PARTS[number].0]);
        let counts = [sender, receiver, parts[""]].map(|count| format!("{count:.1}"));
        assert_eq!(counts, ["20.0", "4.0", "0.2"]);
        let missed = by_part(&short, &profile(files(300.0, 50.0, 60.0), 8.0), 10.0);
        assert!(
            missed
                .unwrap_err()
                .contains("crates/sim/src/other.rs takes 6 instructions")
        );
    }

    #[test]
    fn a_law_has_a_column() {
        // Goal: the table is one of Markdown, with a law's figures below its name.
        let parts = Parts {
            laws: vec!["reno", "vcp"],
            rows: vec![("links", vec![-0.4, 2.6])],
        };
        let expected = "| part | `reno` | `vcp` |\n|---|---:|---:|\n| links | 0 | 3 |\n";
        assert_eq!(parts.markdown(), expected);
    }
}
