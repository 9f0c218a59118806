//! Why something was not done, and whose turn it is.

use std::fmt;

use fadelab_laws::own::OwnLawError;

/// Why something was not done. Each text is for a person and says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The input is not valid: nothing was run.
    #[error("{0}")]
    Invalid(String),
    /// A run, or the writing of its result, failed.
    #[error("{0}")]
    Failed(String),
    /// All ran, and what was asked cannot be said from it.
    #[error("{0}")]
    Undecided(String),
    /// Somebody asked for an end: what was kept.
    #[error("{0}")]
    Interrupted(String),
}

impl Failure {
    /// Of invalid input, in the words of what found it.
    pub fn invalid(error: impl fmt::Display) -> Self {
        Self::Invalid(error.to_string())
    }

    /// Of something that was tried, in its words.
    pub fn failed(error: impl fmt::Display) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<fadelab_scenario::Refusal> for Failure {
    fn from(refusal: fadelab_scenario::Refusal) -> Self {
        Self::invalid(refusal)
    }
}

impl From<OwnLawError> for Failure {
    fn from(error: OwnLawError) -> Self {
        Self::invalid(error)
    }
}

/// A result that is not there, or in the way, is invalid input; one that cannot be written is a failure.
impl From<fadelab_results::Error> for Failure {
    fn from(error: fadelab_results::Error) -> Self {
        use fadelab_results::Error::{Csv, Io, Json, Parquet};
        match error {
            Io { .. } | Parquet { .. } | Csv { .. } | Json { .. } => Self::failed(error),
            _ => Self::invalid(error),
        }
    }
}

impl From<fadelab_testbed::Error> for Failure {
    fn from(error: fadelab_testbed::Error) -> Self {
        if error.is_invalid_input() {
            Self::invalid(error)
        } else {
            Self::failed(error)
        }
    }
}
