//! What a person is told about the runs of an interrupted sweep.

use std::env;
use std::path::Path;

use fadelab_lab::{Failure, Kept, NoRecord, Stop};

use crate::shell;

const NOTHING: &str = "nothing was written";

/// What a person wants to know before the runs: what need not be run again, and what else lies there. All plans of
/// `kept` have one folder.
pub fn greeting(kept: &[Kept]) -> Vec<String> {
    let Some(first) = kept.first() else { return Vec::new() };
    let (found, (files, bytes)) = (sum(kept, Kept::found), first.count());
    let folder = first.folder().display();
    let mut lines = Vec::new();
    if found > 0 && !first.is_fresh() {
        lines.push(format!(
            "{found} of {} runs were finished before and are taken from {folder} (--fresh runs all again)",
            sum(kept, Kept::runs)
        ));
    }
    if files > found {
        lines.push(format!(
            "{folder} keeps {} of another scenario or version ({} in all); delete it if nobody goes on with them",
            runs(files - found),
            size(bytes)
        ));
    }
    lines
}

/// How many runs of `kept` were finished before; the time of those is not known.
pub fn taken(kept: &[Kept]) -> usize {
    sum(kept, Kept::taken)
}

/// What a line about the speed of runs says of those that were taken.
pub fn told(taken_n: usize) -> String {
    match taken_n {
        0 => String::new(),
        taken_n => format!(", {taken_n} of them taken from before"),
    }
}

fn sum(kept: &[Kept], of: fn(&Kept) -> usize) -> usize {
    kept.iter().map(of).sum()
}

/// What is left of a sweep that stops before its end, whether or not it keeps its runs.
fn left(kept: &[Kept]) -> String {
    match (kept.first(), sum(kept, Kept::found)) {
        (None, _) | (_, 0) => NOTHING.to_owned(),
        (Some(first), found) => format!(
            "{found} of {} runs are finished and kept in {} ({}); the same command goes on with them:\n  {}",
            sum(kept, Kept::runs),
            first.folder().display(),
            size(first.count().1),
            shell::same_command(env::args_os())
        ),
    }
}

/// What a person is told of runs that stay, since more seeds would decide what these did not. With `--out` the result
/// has the place that the next one wants.
pub fn for_more_seeds(kept: &[Kept], out: Option<&Path>) -> String {
    let Some(first) = kept.first().filter(|_| sum(kept, Kept::found) > 0) else {
        return String::new();
    };
    let once = out.map_or_else(String::new, |out| format!(", once {} is somewhere else", out.display()));
    format!(
        "These runs are kept in {} ({}): the same command with more seeds goes on with them{once}.\n",
        first.folder().display(),
        size(first.count().1)
    )
}

/// What a person is told of a sweep that gave no result: `name` says of a run which one it is, and what happened.
pub fn failure(stop: Stop, kept: &[Kept], name: impl FnOnce(usize, &NoRecord) -> String) -> Failure {
    match stop {
        Stop::Interrupted => Failure::Interrupted(format!("interrupted; {}", left(kept))),
        Stop::NotWritten(error) => not_written(&error, kept),
        Stop::NoThreads(error) => Failure::Failed(format!("{error}\n{}", left(kept))),
        Stop::Run { index, why, .. } => Failure::Failed(format!("{}\n{}", name(index, &why), left(kept))),
    }
}

/// What a person is told when something cannot be written.
pub fn not_written(error: &fadelab_results::Error, kept: &[Kept]) -> Failure {
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

fn size(bytes: u64) -> String {
    if bytes < 1_000_000 {
        return format!("{} kB", bytes.div_ceil(1000));
    }
    format!("{:.1} MB", bytes as f64 / 1e6)
}
