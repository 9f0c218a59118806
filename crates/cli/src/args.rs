//! The command line.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// A laboratory for congestion control over links that fade.
#[derive(Debug, Parser)]
#[command(version, about, propagate_version = true, arg_required_else_help = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a scenario: all its laws, sweeps and seeds, on all cores
    Run(RunArgs),
    /// Print a scenario with everything filled in
    Show(ShowArgs),
    /// Say whether scenarios are good, and what they amount to, without running them
    Check(crate::check::CheckArgs),
    /// List the ready-made scenarios, or print one of them
    Scenarios(crate::scenarios::ScenariosArgs),
    /// Print the JSON Schema of scenarios, for editors
    Schema,
    /// Print the completions of a shell: bash, zsh, fish, elvish or powershell
    Completions(crate::completions::CompletionsArgs),
    /// Write the manual pages into a folder
    #[command(hide = true)]
    Man(crate::completions::ManArgs),
    /// Run a scenario on several grounds, in the simulator and in a kernel, and say how far they are apart
    Compare(crate::compare::CompareArgs),
    /// Compare two results, seed by seed: what moved beyond noise
    Diff(crate::diff::DiffArgs),
    /// Make the page of a result again, or one page of several results
    Report(crate::report::ReportArgs),
    /// Write the tables of a result as CSV
    Export(crate::export::ExportArgs),
    /// Run what a paper claims and print the ledger: claim, published, measured, verdict
    Reproduce(crate::reproduce::ReproduceArgs),
    /// Run scenarios inside a Linux kernel
    Testbed {
        /// What to do.
        #[command(subcommand)]
        command: crate::testbed::TestbedCommand,
    },
    /// Packet error of a fading channel: curves, the SNR or code rate for a target, the best code rates for a law
    Channel(Box<crate::channel::ChannelArgs>),
    /// List the laws: senders, routers and capacity parts
    Laws(crate::laws::LawsArgs),
    /// Explain a law: its equations, parameters, sources and divergences
    Explain(crate::explain::ExplainArgs),
    /// Write the header of a new law, which compiles and runs as it is
    NewLaw(crate::new_law::NewLawArgs),
    /// Make a recorded call of a law again: what went in, what came out
    Replay(crate::replay::ReplayArgs),
    /// Load laws into the kernel of this machine, and see what they do there
    Kernel {
        /// What to do with it.
        #[command(subcommand)]
        command: crate::kernel::KernelCommand,
    },
    /// Work with recorded capacity
    Trace {
        /// What to do with it.
        #[command(subcommand)]
        command: TraceCommand,
    },
}

/// What to do with recorded capacity.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Print a synthetic trace of a cellular link in the format of mahimahi
    Generate(TraceArgs),
}

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

/// Arguments of `fadelab run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// Folder for the result, which must be empty or not exist [default: results/NAME-001, numbered on]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub jobs: Option<NonZeroUsize>,
    /// Run everything again, also what an interrupted sweep had finished
    #[arg(long)]
    pub fresh: bool,
    /// Write the tables as CSV too, into the folder csv of the result
    #[arg(long)]
    pub csv: bool,
    /// Log the packets of one flow, by name or number, at its sender's host: packets/*.pcapng, for Wireshark
    #[arg(long, value_name = "FLOW")]
    pub pcap: Option<String>,
    /// Print only errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// A number of threads.
pub fn threads(text: &str) -> Result<NonZeroUsize, &'static str> {
    text.parse().map_err(|_| "a whole number from 1 on is needed")
}

/// Arguments of `fadelab show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    #[command(flatten)]
    pub scenario: ScenarioArgs,
}

/// Arguments of `fadelab trace generate`.
#[derive(Debug, Args)]
pub struct TraceArgs {
    /// Length of the trace before it repeats
    #[arg(long, default_value = "30 s")]
    pub duration: String,
    /// Mean rate
    #[arg(long, default_value = "10 Mbit/s")]
    pub rate: String,
    /// Seed
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}
