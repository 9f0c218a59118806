//! `manifest.json`: where a result came from. It is the only file that may differ between two equal runs.

use std::fs;
use std::num::NonZero;
use std::sync::OnceLock;
use std::thread;

use serde::Serialize;

use crate::distinct::in_order;
use crate::{Experiment, OwnLaw};

/// What made a result: a program of this commit, asked with this command. `unknown` where nobody told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Origin {
    /// Hash of the commit that the program was built from, with a `+` where its sources had been changed.
    pub commit: String,
    pub commit_date: String,
    /// The command as a shell takes it.
    pub command: String,
}

/// What the program told of itself.
static ORIGIN: OnceLock<Origin> = OnceLock::new();

impl Origin {
    /// Tells it for all results of this process; what was told first holds.
    pub fn declare(self) {
        let _ = ORIGIN.set(self);
    }

    /// What was told.
    pub fn of_process() -> Self {
        let unknown = || "unknown".to_owned();
        ORIGIN.get().cloned().unwrap_or_else(|| Self {
            commit: unknown(),
            commit_date: unknown(),
            command: unknown(),
        })
    }
}

/// Facts about a run that the caller knows.
#[derive(Clone, Debug, Serialize)]
pub struct Provenance {
    /// What made it.
    #[serde(flatten)]
    pub origin: Origin,
    /// Wall-clock time of all runs together.
    pub wall_time_s: f64,
    /// Threads that shared the runs.
    pub threads: usize,
    /// How they shared them; `None` where a result is made of several sweeps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sharing: Option<Sharing>,
    pub host: Host,
    /// The guest that runs of the virtual ground had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guest: Option<Guest>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Guest {
    /// Package of its kernel, with its version.
    pub kernel: String,
    /// What carries flows that always have data: `sockets` of fadelab, or `iperf3`.
    pub greedy: &'static str,
    /// Settings of its hosts and routers that the user asked for, as sysctl(8) writes them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sysctls: Vec<String>,
}

/// What the threads of a sweep spent.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Sharing {
    /// CPU time of all runs together, user and system.
    pub cpu_time_s: f64,
    /// Time that threads had nothing left to do while another one still ran, summed over threads.
    pub idle_s: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Host {
    /// Release of the kernel; empty where `/proc` does not tell.
    pub kernel: String,
    /// Model of the first processor; empty where `/proc` does not tell.
    pub cpu_model: String,
    /// Cores that this process may use.
    pub cores: usize,
}

impl Host {
    /// The host's name, for names of temporary files on shared folders.
    pub(crate) fn name() -> String {
        let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        name.trim().replace('/', "_")
    }

    /// Reads the facts of this host from `/proc`.
    pub fn read() -> Self {
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease")
            .unwrap_or_default()
            .trim()
            .to_owned();
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = cpuinfo
            .lines()
            .find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        Self {
            kernel,
            cpu_model: model.map_or_else(String::new, |(_, name)| name.trim().to_owned()),
            cores: thread::available_parallelism().map_or(1, NonZero::get),
        }
    }
}

/// The form of the files of a result. It is raised when a fadelab before the change could not read what one behind it
/// writes, or the other way round; results from before it was counted have none, which is 0.
pub const FORMAT: u32 = 2;

/// The content of `manifest.json`.
#[derive(Debug, Serialize)]
pub struct Manifest<'a> {
    tool: &'static str,
    version: &'a str,
    format: u32,
    #[serde(flatten)]
    provenance: &'a Provenance,
    title: &'a str,
    about: &'a str,
    grounds: Vec<&'a str>,
    laws: Vec<&'a str>,
    own_laws: &'a [OwnLaw],
    seeds: Vec<u64>,
    runs: usize,
    events: u64,
    warnings: &'a [String],
    /// The scenario as TOML with everything filled in: running it again gives the same tables.
    scenario: &'a str,
    scenario_path: &'a str,
}

impl<'a> Manifest<'a> {
    /// Of an experiment that was simulated.
    pub fn new(experiment: &'a Experiment, provenance: &'a Provenance) -> Self {
        Self {
            tool: "fadelab",
            version: &experiment.version,
            format: FORMAT,
            provenance,
            title: &experiment.title,
            about: &experiment.about,
            grounds: in_order(experiment.runs.iter().map(|run| run.ground.as_str())),
            laws: in_order(experiment.runs.iter().map(|run| run.law.as_str())),
            own_laws: &experiment.own_laws,
            seeds: in_order(experiment.runs.iter().map(|run| run.seed)),
            runs: experiment.runs.len(),
            events: experiment.runs.iter().map(|run| run.record.events).sum(),
            warnings: &experiment.warnings,
            scenario: &experiment.scenario,
            scenario_path: &experiment.scenario_path,
        }
    }
}
