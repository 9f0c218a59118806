//! `fadelab completions` and `fadelab man`: what shells and `man` know of the command line.

use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::args::Cli;
use crate::{Failure, output};

/// Arguments of `fadelab completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Arguments of `fadelab man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Folder that exists
    #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    folder: PathBuf,
}

/// Prints the script that the shell reads.
///
/// # Errors
/// When the output cannot be written.
pub fn completions(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "fadelab", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}

/// Writes `fadelab.1` and a page for each subcommand.
///
/// # Errors
/// When they cannot be written.
pub fn man(args: &ManArgs) -> Result<(), Failure> {
    let written = clap_mangen::generate_to(Cli::command(), &args.folder);
    written.map_err(|error| Failure::Failed(format!("{}: {error}", args.folder.display())))
}
