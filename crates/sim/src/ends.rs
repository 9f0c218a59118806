//! Ends of transfers and sessions, in the order in which they happened.

use fadelab_run::record::Completion;

use crate::schedule::SourceId;

/// Completions as the engine notes them, which does some things ahead of their time, each with the source of its event.
#[derive(Debug, Default)]
pub(crate) struct Ends(Vec<(SourceId, Completion)>);

impl Ends {
    /// Notes one that an event of `source` brought.
    pub fn add(&mut self, source: SourceId, completion: Completion) {
        self.0.push((source, completion));
    }

    /// All of them in the order of their events.
    pub fn in_order(mut self) -> Vec<Completion> {
        self.0.sort_by_key(|&(source, completion)| (completion.end_ns, source));
        self.0.into_iter().map(|(_, completion)| completion).collect()
    }
}
