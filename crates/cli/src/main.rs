//! `fadelab`: runs scenarios, shows them with everything filled in, and answers questions about channels.
//!
//! Exit status: 0 done, 1 a run or the writing of its result failed, 2 invalid input, 130 interrupted.

mod args;
mod channel;
mod check;
mod commit;
mod compare;
mod completions;
mod diff;
mod emulate;
mod explain;
mod explain_run;
mod export;
mod figure;
mod interrupt;
mod kept;
mod kernel;
mod laws;
mod new_law;
mod output;
mod progress;
mod replay;
mod report;
mod reproduce;
mod run;
mod scenarios;
mod shell;
mod show;
mod table;
mod testbed;
mod trace;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use fadelab_lab::Failure;
use fadelab_results::Origin;

/// A laboratory for congestion control over links that fade.
#[derive(Debug, Parser)]
#[command(version = commit::version(), about, propagate_version = true, arg_required_else_help = true)]
struct Cli {
    /// What to do.
    #[command(subcommand)]
    command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
enum Command {
    /// Run a scenario: all its laws, sweeps and seeds, on all cores
    Run(run::RunArgs),
    /// Print a scenario with everything filled in
    Show(show::ShowArgs),
    /// Say whether scenarios are good, and what they amount to, without running them
    Check(check::CheckArgs),
    /// List the ready-made scenarios, or print one of them
    Scenarios(scenarios::ScenariosArgs),
    /// Print the JSON Schema of scenarios, for editors
    Schema,
    /// Print the completions of a shell: bash, zsh, fish, elvish or powershell
    Completions(completions::CompletionsArgs),
    /// Write the manual pages into a folder
    #[command(hide = true)]
    Man(completions::ManArgs),
    /// Run a scenario on several grounds, in the simulator and in a kernel, and say how far they are apart
    Compare(compare::CompareArgs),
    /// Compare two results, seed by seed: what moved beyond noise
    Diff(diff::DiffArgs),
    /// Make the page of a result again, or one page of several results
    Report(report::ReportArgs),
    /// Write the tables of a result as CSV
    Export(export::ExportArgs),
    /// Draw a figure of a result for a paper, as SVG or PDF, or list those that it has
    Figure(Box<figure::FigureArgs>),
    /// Print the tables of a result for a paper: LaTeX, Markdown or CSV
    Table(table::TableArgs),
    /// Run what a paper claims and print the ledger: claim, published, measured, verdict
    Reproduce(reproduce::ReproduceArgs),
    /// Run scenarios inside a Linux kernel
    Testbed {
        /// What to do.
        #[command(subcommand)]
        command: testbed::TestbedCommand,
    },
    /// Run a command behind a link of a scenario, in real time
    Emulate(Box<emulate::EmulateArgs>),
    /// Packet error of a fading channel: curves, the SNR or code rate for a target, the best code rates for a law
    Channel(Box<channel::ChannelArgs>),
    /// List the laws: senders, routers and capacity parts
    Laws(laws::LawsArgs),
    /// Explain a law: its equations, parameters, sources and divergences
    Explain(explain::ExplainArgs),
    /// Write the header of a new law, which compiles and runs as it is
    NewLaw(new_law::NewLawArgs),
    /// Make a recorded call of a law again: what went in, what came out
    Replay(replay::ReplayArgs),
    /// Load laws into the kernel of this machine, and see what they do there
    Kernel {
        /// What to do with it.
        #[command(subcommand)]
        command: kernel::KernelCommand,
    },
    /// Work with recorded capacity
    Trace {
        /// What to do with it.
        #[command(subcommand)]
        command: trace::TraceCommand,
    },
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let (hash, date) = commit::named();
    let origin = Origin {
        commit: hash.to_owned(),
        commit_date: date.to_owned(),
        command: shell::command(std::env::args_os()),
    };
    origin.declare();
    let done = match &cli.command {
        Command::Run(args) => run::run(args),
        Command::Show(args) => show::show(args),
        Command::Check(args) => check::check(args),
        Command::Scenarios(args) => scenarios::scenarios(args),
        Command::Schema => output::print(&fadelab_scenario::json::text()),
        Command::Completions(args) => completions::completions(args, &mut Cli::command()),
        Command::Man(args) => completions::man(args, Cli::command()),
        Command::Compare(args) => compare::compare(args),
        Command::Diff(args) => diff::diff(args),
        Command::Report(args) => report::report(args),
        Command::Export(args) => export::export(args),
        Command::Figure(args) => figure::figure(args),
        Command::Table(args) => table::table(args),
        Command::Reproduce(args) => reproduce::reproduce(args),
        Command::NewLaw(args) => new_law::new_law(args),
        Command::Replay(args) => replay::replay(args),
        Command::Testbed { command } => testbed::testbed(command),
        Command::Emulate(args) => match emulate::emulate(args) {
            Ok(status) => return ExitCode::from(status),
            Err(failure) => Err(failure),
        },
        Command::Channel(args) => channel::channel(args),
        Command::Kernel { command } => kernel::kernel(command),
        Command::Laws(args) => laws::laws(args),
        Command::Explain(args) => explain::explain(args),
        Command::Trace {
            command: trace::TraceCommand::Generate(args),
        } => trace::generate(args),
    };
    let (status, message) = match done {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Invalid(message)) => (2, message),
        Err(Failure::Failed(message)) => (1, message),
        Err(Failure::Undecided(message)) => (3, message),
        Err(Failure::Interrupted(message)) => (130, message),
    };
    output::tell(format!(
        "{} {message}",
        console::style("error:").red().bold().for_stderr()
    ));
    ExitCode::from(status)
}
