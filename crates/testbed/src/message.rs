//! What a guest tells its host: a line of JSON each.

use fadelab_run::record::RunRecord;
use serde::{Deserialize, Serialize};

/// What a guest tells.
#[derive(Debug, Serialize, Deserialize)]
pub enum Message {
    /// The kernel runs, and so does fadelab in it.
    Booted { release: String },
    /// The network stands and the run has come so far.
    Reached {
        /// Virtual time since applications may begin.
        time_ns: u64,
    },
    /// Something went wrong.
    Failed {
        /// In words.
        why: String,
    },
    /// The run is over.
    Done {
        /// What was measured.
        record: Box<RunRecord>,
    },
}
