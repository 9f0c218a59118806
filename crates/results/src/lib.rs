//! Results: what a set of runs showed, as a folder of files, a table for the terminal and a page with the curves.
//!
//! The caller hands over an [`Experiment`], its runs beside what they were made from. [`summary::Summary`] holds every
//! figure that a person reads; the terminal's table, `summary.json` and `report.html` are three views of it.
//! [`folder::write`] writes all of it, complete or not at all.

pub mod bins;
pub mod bottleneck;
pub mod channel;
pub mod claim;
pub mod columns;
pub mod combine;
pub mod compare;
pub mod contender;
mod convergence;
pub mod counters;
pub mod curves;
pub mod distance;
mod distinct;
pub mod docs;
pub mod error;
pub mod fairness;
pub mod folder;
pub mod interval;
mod layout;
pub mod manifest;
pub mod measure;
pub mod pack;
mod percentiles;
pub mod picture;
pub mod print;
pub mod read;
pub mod report;
mod rows;
mod setup;
pub mod shares;
pub mod spec;
pub mod summary;
pub mod swept;
pub mod table;
pub mod tables;
mod unfinished;
pub mod versus;
pub mod watch;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use fadelab_run::record::RunRecord;

pub use claim::{Claim, Verdict};
pub use combine::combine;
pub use error::Error;
pub use folder::{Format, Target, check_target, export, write, write_page};
pub use manifest::{Guest, Host, Origin, Provenance, Sharing};
pub use picture::Picture;
pub use read::{manifest, read};
pub use spec::{Spec, Specs};
pub use summary::Summary;
pub use unfinished::Unfinished;

/// Everything that was run for one scenario, in the order of the plan.
#[derive(Clone, Debug, Default)]
pub struct Experiment {
    /// Version of fadelab that simulated it.
    pub version: String,
    /// Title of the scenario.
    pub title: String,
    /// One or two sentences on what the scenario shows; may be empty.
    pub about: String,
    /// The scenario as TOML with everything filled in.
    pub scenario: String,
    /// The scenario's file as its user named it, to which paths of traces are relative; empty if there was none.
    pub scenario_path: String,
    /// What the reader of the scenario remarked.
    pub warnings: Vec<String>,
    /// The text of each law that is not fadelab's own, so that the result can be made again.
    pub sources: Vec<Source>,
    /// Where each of those laws came from.
    pub own_laws: Vec<OwnLaw>,
    /// The runs. Laws, points and links are shown in the order in which they first appear here.
    pub runs: Vec<Run>,
    /// Verdicts on published claims; empty when the scenario belongs to no paper.
    pub claims: Vec<Claim>,
    /// Figures of the paper, drawn from the runs; empty when the scenario belongs to none.
    pub pictures: Vec<Picture>,
}

/// Where a law that its user wrote came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnLaw {
    pub name: String,
    /// The header as the user named it.
    pub path: String,
    /// SHA-256 over names and texts of its files.
    pub sha256: String,
    /// The header and what it includes, below `laws/NAME/` in the result.
    pub files: Vec<String>,
}

/// A file of a law that its user wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its path below `laws` in the result, e.g. `mine/mine.h`.
    pub file: String,
    pub text: String,
}

/// The ground of runs of the simulator.
pub const SIM: &str = "sim";

/// One run: what was run and what came out.
#[derive(Clone, Debug)]
pub struct Run {
    /// Where it was run: [`SIM`] or the name of another ground, e.g. `virtual`.
    pub ground: String,
    /// Label of the law or of the combination of laws that is compared, e.g. `VCP` or `Reno + REM/ECN`.
    pub law: String,
    /// Coordinates in the sweep besides law and seed: key and value as the scenario spells them.
    pub point: Vec<(String, String)>,
    /// Seed of all random streams. Runs with equal seeds are pairs when laws are compared.
    pub seed: u64,
    /// What was simulated.
    pub spec: Arc<Spec>,
    /// What came out.
    pub record: RunRecord,
}

impl Run {
    /// The sweep coordinates in one line, e.g. `channel.snr=5 dB, fec=0.9`; empty without a sweep.
    pub fn point_text(&self) -> String {
        point_text(&self.point)
    }

    /// Laws of its senders, in the order of their first appearance.
    pub fn senders(&self) -> Vec<&str> {
        let mut senders = Vec::new();
        for law in self.spec.flows.iter().filter_map(|flow| flow.law.as_deref()) {
            if !senders.contains(&law) {
                senders.push(law);
            }
        }
        senders
    }

    /// Length of the measured interval in nanoseconds.
    pub fn measured_ns(&self) -> u64 {
        self.spec.duration_ns.saturating_sub(self.spec.warmup_ns)
    }
}

/// Sweep coordinates in one line.
pub fn point_text(point: &[(String, String)]) -> String {
    let parts: Vec<String> = point.iter().map(|(key, value)| format!("{key}={value}")).collect();
    parts.join(", ")
}
