//! Arguments that several commands have.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

/// Which scenario, and what to change in it.
#[derive(Clone, Debug, Args)]
pub struct ScenarioArgs {
    /// Scenario file (TOML; docs/scenario.md describes every key), or the name of a ready-made one
    #[arg(value_hint = clap::ValueHint::FilePath)]
    pub file: PathBuf,
    /// Override a key, for example --set flow.law=xcp; repeatable
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Run your own law beside the others: a header in C, compiled now (docs/own-law.md); repeatable
    #[arg(long = "law", value_name = "FILE.h")]
    pub laws: Vec<PathBuf>,
    /// Override the seeds: 7, 1..10 or [1,2,3]
    #[arg(long, alias = "seed", value_name = "SEEDS")]
    pub seeds: Option<String>,
    /// Refuse sweeps with more runs than this
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub max_runs: usize,
}

/// How runs are made, and where their result goes.
#[derive(Clone, Debug, Args)]
pub struct ResultArgs {
    /// Folder for the result, which must be empty or not exist [default: results/NAME-001, numbered on]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Runs at the same time: threads, guests, or runs in real time [default: one per core, in real time 1]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub jobs: Option<NonZeroUsize>,
    /// Run everything again, also what an interrupted sweep had finished
    #[arg(long)]
    pub fresh: bool,
    /// Write the tables as CSV too, into the folder csv of the result
    #[arg(long)]
    pub csv: bool,
    /// Print only errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// A number of threads.
pub fn threads(text: &str) -> Result<NonZeroUsize, &'static str> {
    text.parse().map_err(|_| "a whole number from 1 on is needed")
}
