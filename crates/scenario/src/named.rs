//! What the laws of a run are called, and which key chooses them.

use crate::reader::Reader;
use crate::versus::{self, Member};

/// The laws of a run.
pub(crate) struct Named {
    /// Where they stand in the sweep.
    pub path: String,
    /// The key and the value that choose them alone.
    pub key: String,
    pub value: String,
    /// What the run is called.
    pub label: String,
}

impl Named {
    /// Of a pairing of `[versus]`, whose keys the reader has seen then; else of a scenario that names its laws itself,
    /// at `path`.
    pub fn of(member: Option<&Member>, reader: &mut Reader<'_>, path: String, value: String, label: String) -> Self {
        let Some(member) = member else {
            let key = path.clone();
            return Self {
                path,
                key,
                value,
                label,
            };
        };
        reader.seen.retain(|seen| !versus::decides(&seen.path));
        reader.seen.extend(member.seen.iter().cloned());
        Self {
            path: versus::LAWS_PATH.to_owned(),
            key: versus::ONLY_PATH.to_owned(),
            value: member.label.clone(),
            label: member.label.clone(),
        }
    }
}
