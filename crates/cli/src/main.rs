//! `fadelab`: runs scenarios, shows them with everything filled in, and answers questions about channels.
//!
//! Exit status: 0 done, 1 a run or the writing of its result failed, 2 invalid input, 130 interrupted.

mod args;
mod channel;
mod check;
mod compare;
mod completions;
mod diff;
mod explain;
mod explain_run;
mod export;
mod interrupt;
mod kept;
mod kernel;
mod laws;
mod new_law;
mod output;
mod progress;
mod replay;
mod replay_kernel;
mod report;
mod reproduce;
mod run;
mod scenarios;
mod shell;
mod show;
mod testbed;
mod trace;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};
use fadelab_lab::Failure;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match &cli.command {
        Command::Run(args) => run::run(args),
        Command::Show(args) => show::show(args),
        Command::Check(args) => check::check(args),
        Command::Scenarios(args) => scenarios::scenarios(args),
        Command::Schema => output::print(&fadelab_scenario::json::text()),
        Command::Completions(args) => completions::completions(args),
        Command::Man(args) => completions::man(args),
        Command::Compare(args) => compare::compare(args),
        Command::Diff(args) => diff::diff(args),
        Command::Report(args) => report::report(args),
        Command::Export(args) => export::export(args),
        Command::Reproduce(args) => reproduce::reproduce(args),
        Command::NewLaw(args) => new_law::new_law(args),
        Command::Replay(args) => replay::replay(args),
        Command::Testbed { command } => testbed::testbed(command),
        Command::Channel(args) => channel::channel(args),
        Command::Kernel { command } => kernel::kernel(command),
        Command::Laws(args) => laws::laws(args),
        Command::Explain(args) => explain::explain(args),
        Command::Trace {
            command: args::TraceCommand::Generate(args),
        } => trace::generate(args),
    };
    let (status, message) = match done {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Invalid(message)) => (2, message),
        Err(Failure::Failed(message)) => (1, message),
        Err(Failure::Interrupted(message)) => (130, message),
    };
    output::tell(format!(
        "{} {message}",
        console::style("error:").red().bold().for_stderr()
    ));
    ExitCode::from(status)
}
