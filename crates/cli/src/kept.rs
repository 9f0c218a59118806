//! Runs of an interrupted sweep: which of them may be taken for which, and what a person is told about them.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs};

use fadelab_results::{Target, Unfinished};
use fadelab_scenario::plan::{Plan, PlannedRun};
use fadelab_sim::record::RunRecord;
use fadelab_sim::spec::{CapacitySpec, RunSpec};
use twox_hash::XxHash3_128;

use crate::{Failure, shell};

const NOTHING: &str = "nothing was written";

/// The runs of one plan that are kept, by their place in the plan.
pub struct Kept {
    store: Unfinished,
    keys: Vec<u128>,
    fresh: bool,
    taken: AtomicUsize,
}

impl Kept {
    /// Those beside `target`; none for a single run, which has nothing to take up. With `fresh` what is there is left
    /// alone until it is replaced.
    ///
    /// # Errors
    /// The target has no name.
    pub fn of(plan: &Plan, target: &Target, fresh: bool) -> Result<Option<Self>, Failure> {
        if plan.runs.len() < 2 {
            return Ok(None);
        }
        let store = Unfinished::of(target).map_err(|error| Failure::Invalid(error.to_string()))?;
        let base = scenario_hash(plan);
        let keys = plan.runs.iter().map(|run| key(&base, run)).collect();
        Ok(Some(Self {
            store,
            keys,
            fresh,
            taken: AtomicUsize::new(0),
        }))
    }

    /// The run at `index`, if it was finished before.
    pub fn take(&self, index: usize) -> Option<RunRecord> {
        let record = (!self.fresh).then(|| self.store.take(self.keys[index])).flatten()?;
        self.taken.fetch_add(1, Ordering::Relaxed);
        Some(record)
    }

    /// How many were taken.
    pub fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    /// Keeps the run at `index`.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep(&self, index: usize, record: &RunRecord) -> Result<(), fadelab_results::Error> {
        self.store.keep(self.keys[index], record)
    }

    /// The result is written: its runs need not be kept any longer.
    pub fn remove(&self) {
        self.store.remove(&self.keys);
    }

    fn found(&self) -> usize {
        self.keys.iter().filter(|key| self.store.has(**key)).count()
    }

    /// What a person wants to know before the runs: what need not be run again, and what else lies there.
    pub fn greeting(&self) -> Vec<String> {
        let (found, (files, bytes)) = (self.found(), self.store.count());
        let folder = self.store.folder().display();
        let mut lines = Vec::new();
        if found > 0 && !self.fresh {
            lines.push(format!(
                "{found} of {} runs were finished before and are taken from {folder} (--fresh runs all again)",
                self.keys.len()
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

    /// What is left when the sweep stops before its end.
    pub fn left(&self) -> String {
        match self.found() {
            0 => NOTHING.to_owned(),
            found => format!(
                "{found} of {} runs are finished and kept in {} ({}); the same command goes on with them:\n  {}",
                self.keys.len(),
                self.store.folder().display(),
                megabytes(self.store.count().1),
                shell::same_command(env::args_os())
            ),
        }
    }
}

/// What is left of a sweep that keeps its runs, or of one that does not.
pub fn left(kept: Option<&Kept>) -> String {
    kept.map_or_else(|| NOTHING.to_owned(), Kept::left)
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

/// A hash of all that the runs of a plan have in common. Seeds are left out: each run has its own, and a sweep that is
/// repeated with more seeds, or without the one that fails, takes up the others.
fn scenario_hash(plan: &Plan) -> XxHash3_128 {
    let mut hash = XxHash3_128::new();
    hash.write(env!("CARGO_PKG_VERSION").as_bytes());
    // Between releases the version stands still while the code moves on: the program file itself tells builds apart.
    if let Ok(facts) = env::current_exe().and_then(fs::metadata) {
        hash.write(format!("{} {:?}", facts.len(), facts.modified().ok()).as_bytes());
    }
    for line in plan.text.lines().filter(|line| !line.starts_with("seeds = ")) {
        hash.write(line.as_bytes());
        hash.write(b"\n");
    }
    let mut seen = BTreeSet::new();
    for run in &plan.runs {
        write_files(&mut hash, &run.spec, &mut seen);
    }
    for law in fadelab_laws::own::loaded() {
        hash.write(law.source.sha256.as_bytes());
    }
    hash
}

/// What a spec takes from files that the scenario only names: the text of laws, the opportunities of traces.
fn write_files(hash: &mut XxHash3_128, spec: &RunSpec, seen: &mut BTreeSet<usize>) {
    let mut write = |bytes: &[u8]| {
        if seen.insert(bytes.as_ptr() as usize) {
            hash.write(bytes);
        }
    };
    for flow in &spec.flows {
        write(flow.sender.map_or("", |law| law.header()).as_bytes());
        write(flow.receiver.map_or("", |law| law.header()).as_bytes());
    }
    for link in &spec.links {
        write(link.router.law.header().as_bytes());
        write(link.router.capacity.header().as_bytes());
    }
    for link in &spec.links {
        if let CapacitySpec::Trace(trace) = &link.capacity
            && seen.insert(trace.opportunities_ms.as_ptr() as usize)
        {
            for time_ms in &trace.opportunities_ms {
                hash.write(&time_ms.to_le_bytes());
            }
        }
    }
}

fn key(base: &XxHash3_128, run: &PlannedRun) -> u128 {
    let mut hash = base.clone();
    for text in [&run.law_label, &fadelab_results::point_text(&run.point)] {
        hash.write(text.as_bytes());
        hash.write(b"\n");
    }
    hash.write(&run.seed.to_le_bytes());
    hash.finish_128()
}
