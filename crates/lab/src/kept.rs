//! Runs of an interrupted sweep: which of them may be taken for which.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs};

use fadelab_path::spec::CapacitySpec;
use fadelab_results::{Target, Unfinished};
use fadelab_run::record::RunRecord;
use fadelab_run::spec::RunSpec;
use fadelab_scenario::plan::{Plan, PlannedRun};
use twox_hash::XxHash3_128;

use crate::{Failure, Ground};

/// The runs of one plan on one ground that are kept, by their place in the plan.
#[derive(Debug)]
pub struct Kept {
    store: Unfinished,
    keys: Vec<u128>,
    fresh: bool,
    taken: AtomicUsize,
}

impl Kept {
    /// Those of a prepared ground beside `target`; none for a single run, which has nothing to take up. With `fresh`
    /// what is there is left alone until it is replaced.
    ///
    /// # Errors
    /// The target has no name.
    pub fn of(plan: &Plan, ground: &dyn Ground, target: &Target, fresh: bool) -> Result<Self, Failure> {
        let store = Unfinished::of(target).map_err(Failure::invalid)?;
        let base = scenario_hash(plan, ground);
        let several = Some(&plan.runs).filter(|runs| runs.len() > 1);
        Ok(Self {
            store,
            keys: several.into_iter().flatten().map(|run| key(&base, run)).collect(),
            fresh,
            taken: AtomicUsize::new(0),
        })
    }

    /// The run at `index`, if it was finished before.
    pub fn take(&self, index: usize) -> Option<RunRecord> {
        let key = self.keys.get(index).filter(|_| !self.fresh)?;
        let record = self.store.take(*key)?;
        self.taken.fetch_add(1, Ordering::Relaxed);
        Some(record)
    }

    /// How many were taken.
    pub fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    /// Keeps the run at `index`, if there are others.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep(&self, index: usize, record: &RunRecord) -> Result<(), fadelab_results::Error> {
        (self.keys.get(index)).map_or(Ok(()), |key| self.store.keep(*key, record))
    }

    /// The result is written: its runs need not be kept any longer.
    pub fn remove(&self) {
        self.store.remove(&self.keys);
    }

    /// How many of the plan's runs are there, finished by an earlier sweep or by this one.
    pub fn found(&self) -> usize {
        self.keys.iter().filter(|key| self.store.has(**key)).count()
    }

    /// Runs of the plan that are kept.
    pub fn runs(&self) -> usize {
        self.keys.len()
    }

    /// Whether what is there is left alone.
    pub fn is_fresh(&self) -> bool {
        self.fresh
    }

    /// Where they are.
    pub fn folder(&self) -> &Path {
        self.store.folder()
    }

    /// How many runs lie there, of this plan and of others, and their bytes.
    pub fn count(&self) -> (usize, u64) {
        self.store.count()
    }
}

/// A hash of all that the runs of a plan have in common. Seeds are left out: each run has its own, and a sweep that is
/// repeated with more seeds, or without the one that fails, takes up the others.
fn scenario_hash(plan: &Plan, ground: &dyn Ground) -> XxHash3_128 {
    let mut hash = XxHash3_128::new();
    hash.write(env!("CARGO_PKG_VERSION").as_bytes());
    // A kernel and its settings decide what a run gives as much as the scenario does.
    hash.write(format!("{} {:?}", ground.name(), ground.guest()).as_bytes());
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
    for link in &spec.network.links {
        write(link.router.law.header().as_bytes());
        write(link.router.capacity.header().as_bytes());
    }
    for link in &spec.network.links {
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
