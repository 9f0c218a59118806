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
    /// Run what a paper claims and print the ledger: claim, published, measured, verdict
    Reproduce(crate::reproduce::ReproduceArgs),
    /// Print the packet error of a fading channel over a range of SNRs
    Channel(ChannelArgs),
    /// List the laws: senders, routers and capacity parts
    Laws(crate::laws::LawsArgs),
    /// Explain a law: its equations, parameters, sources and divergences
    Explain(crate::explain::ExplainArgs),
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
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// Print only errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// Arguments of `fadelab show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    #[command(flatten)]
    pub scenario: ScenarioArgs,
}

/// Arguments of `fadelab channel`.
#[derive(Debug, Args)]
pub struct ChannelArgs {
    /// Antennas, transmitting x receiving: 1x1, 2x1, 1x2 or 2x2
    #[arg(long, default_value = "1x1")]
    pub antennas: String,
    /// SNR of the good state in dB, one value or a range: 20 or 5..30
    #[arg(long, value_name = "DB", default_value = "0..30", allow_hyphen_values = true)]
    pub snr: String,
    /// Distance between the rows of a range, in dB
    #[arg(long, value_name = "DB", default_value_t = 1.0)]
    pub step: f64,
    /// How far the SNR of the bad state lies below that of the good one, in dB
    #[arg(long, value_name = "DB", default_value_t = 10.0)]
    pub bad_below: f64,
    /// Code rate, data bytes over bytes on the air; 1 is no code
    #[arg(long, value_name = "R", default_value_t = 1.0)]
    pub code_rate: f64,
    /// IP bytes of the packet [default: 1040, of an ACK 40]
    #[arg(long, value_name = "BYTES")]
    pub size: Option<String>,
    /// The packet is an ACK
    #[arg(long)]
    pub ack: bool,
    /// ideal: one word a packet; gf256: interleaved words of at most 255 bytes, which can be built
    #[arg(long, default_value = "ideal")]
    pub mode: String,
    /// Modulation: bpsk, qpsk, 8psk or 16psk
    #[arg(long, default_value = "bpsk")]
    pub modulation: String,
    /// Mean stay in the good state, in bits
    #[arg(long, value_name = "BITS", default_value_t = 800.0)]
    pub burst_good: f64,
    /// Mean stay in the bad state, in bits
    #[arg(long, value_name = "BITS", default_value_t = 8.0)]
    pub burst_bad: f64,
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
