//! Verdicts on what a paper claims, as `papers/<key>/` keeps them.

use serde::{Deserialize, Serialize};

/// A published value or ordering, what we measured, and how the two compare.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Short and unique within the paper, e.g. `fig3.vcp-stays-high`.
    pub id: String,
    /// What was published.
    pub published: String,
    /// What we measured.
    pub measured: String,
    /// How the two compare.
    pub verdict: Verdict,
    /// Why they differ, or why the tolerance is what it is.
    pub why: String,
}

/// How a claim ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Within its tolerance.
    Reproduced,
    /// Outside of it; the claim says why.
    Differs,
    /// The paper contradicts itself or what it cites, so that nothing could reproduce it.
    CannotBeAsPrinted,
    /// The interval over all seeds includes the edge of the tolerance.
    NotDecided,
}

impl Verdict {
    /// All of them, in the order in which they are counted.
    pub const ALL: [Self; 4] = [
        Self::Reproduced,
        Self::Differs,
        Self::CannotBeAsPrinted,
        Self::NotDecided,
    ];

    /// As the ledgers and pages spell it.
    pub fn text(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Differs => "differs",
            Self::CannotBeAsPrinted => "cannot be as printed",
            Self::NotDecided => "not decided",
        }
    }
}
