//! What a person is told about the runs of an interrupted sweep.

use std::env;

use fadelab_lab::{Failure, Kept, NoRecord, Stop};

use crate::shell;

const NOTHING: &str = "nothing was written";

/// What a person wants to know before the runs: what need not be run again, and what else lies there. All plans of
/// `kept` have one folder.
pub fn greeting<'k>(kept: impl Iterator<Item = &'k Kept>) -> Vec<String> {
    let all: Vec<&Kept> = kept.collect();
    let Some(kept) = all.first() else { return Vec::new() };
    let sum = |of: fn(&Kept) -> usize| all.iter().map(|kept| of(kept)).sum::<usize>();
    let (found, (files, bytes)) = (sum(Kept::found), kept.count());
    let folder = kept.folder().display();
    let mut lines = Vec::new();
    if found > 0 && !kept.is_fresh() {
        lines.push(format!(
            "{found} of {} runs were finished before and are taken from {folder} (--fresh runs all again)",
            sum(Kept::runs)
        ));
    }
    if files > found {
        lines.push(format!(
            "{folder} keeps {} of another scenario or version ({} in all); delete it if nobody goes on with them",
            runs(files - found),
            megabytes(bytes)
        ));
    }
    lines
}

/// What is left of a sweep that stops before its end, whether or not it keeps its runs.
fn left(kept: Option<&Kept>) -> String {
    match kept.map(|kept| (kept, kept.found())) {
        None | Some((_, 0)) => NOTHING.to_owned(),
        Some((kept, found)) => format!(
            "{found} of {} runs are finished and kept in {} ({}); the same command goes on with them:\n  {}",
            kept.runs(),
            kept.folder().display(),
            megabytes(kept.count().1),
            shell::same_command(env::args_os())
        ),
    }
}

/// What a person is told of a sweep that gave no result: `name` says of a run which one it is, and what happened.
pub fn failure(stop: Stop, kept: Option<&Kept>, name: impl FnOnce(usize, &NoRecord) -> String) -> Failure {
    match stop {
        Stop::Interrupted => Failure::Interrupted(format!("interrupted; {}", left(kept))),
        Stop::NotWritten(error) => not_written(&error, kept),
        Stop::NoThreads(error) => Failure::Failed(format!("{error}\n{}", left(kept))),
        Stop::Run { index, why, .. } => Failure::Failed(format!("{}\n{}", name(index, &why), left(kept))),
    }
}

/// What a person is told when something cannot be written.
pub fn not_written(error: &fadelab_results::Error, kept: Option<&Kept>) -> Failure {
    let left = match left(kept) {
        left if !error.is_full() => left,
        nothing if nothing == NOTHING => format!("{NOTHING}; make room there and give the same command again"),
        left => format!("make room there: {left}"),
    };
    Failure::Failed(format!("{error}\n{left}"))
}

fn runs(count: usize) -> String {
    format!("{count} run{}", if count == 1 { "" } else { "s" })
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
