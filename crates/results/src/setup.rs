//! `setup.json`: links, flows and routes of each run, which with the tables is all that tables and page are made from.

use std::sync::Arc;

use fadelab_path::punctuality::Punctuality;
use fadelab_run::record::ProcessorLoad;
use serde::{Deserialize, Serialize};

use crate::{Experiment, Run, SIM, Spec};

/// The content of `setup.json`.
#[derive(Debug, Serialize, Deserialize)]
pub struct Setup {
    /// The distinct specs: runs that differ in their seed alone share one.
    pub specs: Vec<Arc<Spec>>,
    /// In the order of the plan.
    pub runs: Vec<Entry>,
}

/// What a run was.
#[derive(Debug, Serialize, Deserialize)]
pub struct Entry {
    /// Where it was run; left out where that was the simulator, as in results from before there was anything else.
    #[serde(default = "sim", skip_serializing_if = "is_sim")]
    pub ground: String,
    /// Label of its law.
    pub law: String,
    /// Sweep coordinates besides law and seed.
    pub point: Vec<(String, String)>,
    pub seed: u64,
    /// Its place in [`Setup::specs`].
    pub spec: usize,
    /// Events that the simulator processed.
    pub events: u64,
    /// How punctual the emulator was, where one carried packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub punctuality: Option<Punctuality>,
    /// How busy the guest's processor was, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<ProcessorLoad>,
}

fn sim() -> String {
    SIM.to_owned()
}

fn is_sim(ground: &str) -> bool {
    ground == SIM
}

impl Setup {
    /// Of the runs of an experiment.
    pub fn of(experiment: &Experiment) -> Self {
        let mut specs: Vec<Arc<Spec>> = Vec::new();
        let mut entry = |run: &Run| {
            let known = specs.iter().rposition(|spec| Arc::ptr_eq(spec, &run.spec));
            Entry {
                ground: run.ground.clone(),
                law: run.law.clone(),
                point: run.point.clone(),
                seed: run.seed,
                spec: known.unwrap_or_else(|| {
                    specs.push(Arc::clone(&run.spec));
                    specs.len() - 1
                }),
                events: run.record.events,
                punctuality: run.record.punctuality,
                processor: run.record.processor,
            }
        };
        let runs = experiment.runs.iter().map(&mut entry).collect();
        Self { specs, runs }
    }
}
