//! Results: what a set of runs showed, as a folder of files, a table for the terminal and a page with the curves.
//!
//! The caller hands over an [`Experiment`], its runs beside the specs they came from. [`summary::Summary`] holds every
//! figure that a person reads; the terminal's table, `summary.json` and `report.html` are three views of it.
//! [`folder::write`] writes all of it, complete or not at all.

pub mod bins;
pub mod claim;
pub mod columns;
pub mod curves;
pub mod docs;
pub mod error;
pub mod folder;
pub mod interval;
pub mod manifest;
pub mod measure;
pub mod report;
pub mod summary;
pub mod table;
pub mod tables;

use fadelab_sim::record::RunRecord;
use fadelab_sim::spec::RunSpec;

pub use claim::{Claim, Verdict};
pub use error::Error;
pub use folder::{Target, check_target, write};
pub use manifest::{Host, Provenance};
pub use summary::Summary;

/// Everything that was run for one scenario, in the order of the plan.
#[derive(Clone, Debug)]
pub struct Experiment<'a> {
    /// Title of the scenario.
    pub title: &'a str,
    /// One or two sentences on what the scenario shows; may be empty.
    pub about: &'a str,
    /// The scenario as TOML with everything filled in.
    pub scenario: &'a str,
    /// What the reader of the scenario remarked.
    pub warnings: &'a [String],
    /// The runs. Laws, points and links are shown in the order in which they first appear here.
    pub runs: Vec<Run<'a>>,
    /// Verdicts on published claims; empty when the scenario belongs to no paper.
    pub claims: &'a [Claim],
}

/// One run beside what it was made from.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// Label of the law or of the combination of laws that is compared, e.g. `VCP` or `Reno + REM/ECN`.
    pub law: &'a str,
    /// Coordinates in the sweep besides law and seed: key and value as the scenario spells them.
    pub point: &'a [(String, String)],
    /// What was simulated. Runs with equal `spec.seed` are pairs when laws are compared.
    pub spec: &'a RunSpec,
    /// What came out.
    pub record: &'a RunRecord,
}

impl Run<'_> {
    /// The sweep coordinates in one line, e.g. `channel.snr=5 dB, fec=0.9`; empty without a sweep.
    pub fn point_text(&self) -> String {
        point_text(self.point)
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
