//! The table of what laws made of losses.

use fadelab_run::record::AnswersOf;

use super::{Keyed, RunKey, key_columns};
use crate::Run;
use crate::columns::{Column, Table};

/// Losses with which a queue had to do, and all others.
const CAUSES: [&str; 2] = ["other", "drop"];

/// A row of `answers.parquet`.
pub struct AnswerRow<'a> {
    key: RunKey<'a>,
    answers: &'a AnswersOf,
}

impl Keyed for AnswerRow<'_> {
    fn key(&self) -> &RunKey<'_> {
        &self.key
    }
}

/// `answers.parquet`.
pub fn table<'a>() -> Table<AnswerRow<'a>> {
    let mut columns = key_columns();
    columns.extend([
        Column::text("group", "name of the group of flows", |row: &AnswerRow| {
            &row.answers.group
        }),
        Column::text(
            "cause",
            "`drop`: a queue had dropped one of the segments that the sender missed, for want of room or by the \
             router's law; `other`: none, so they were lost on a channel or only late",
            |row: &AnswerRow| CAUSES[usize::from(row.answers.after_drop)],
        ),
        Column::count(
            "recoveries",
            "1",
            "fast recoveries at whose beginning the law was asked",
            |row: &AnswerRow| row.answers.recoveries,
        ),
        Column::count(
            "reduced",
            "1",
            "those of them for which the law made the window smaller",
            |row: &AnswerRow| row.answers.reduced,
        ),
        Column::count(
            "cwnd_pkts_before",
            "pkt",
            "sum of the windows before",
            |row: &AnswerRow| row.answers.cwnd_pkts_before,
        ),
        Column::count(
            "cwnd_pkts_after",
            "pkt",
            "sum of the windows to which the answers led",
            |row: &AnswerRow| row.answers.cwnd_pkts_after,
        ),
    ]);
    Table {
        name: "answers",
        about: "What the laws of senders made of losses in the measured interval, beside what only the network knows; \
                no row: no recovery began. Timeouts are not here: no law chooses there. The simulator's alone.",
        columns,
    }
}

pub(super) fn rows<'a>(run: &'a Run, key: RunKey<'a>) -> Vec<AnswerRow<'a>> {
    let row = |answers| AnswerRow { key, answers };
    run.record.answers.iter().map(row).collect()
}

/// Whether a cause is a drop; `None`: it is not a cause.
pub(crate) fn is_drop(cause: &str) -> Option<bool> {
    CAUSES.iter().position(|name| *name == cause).map(|place| place == 1)
}
