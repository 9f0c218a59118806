//! `fadelab completions` and `fadelab man`: what shells and `man` know of the command line.

use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;
use fadelab_lab::Failure;

use crate::output;

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

/// Prints the script that the shell reads to complete `command`.
///
/// # Errors
/// When the output cannot be written.
pub fn completions(args: &CompletionsArgs, command: &mut Command) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, command, "fadelab", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}

/// Writes `fadelab.1`, about `command`, and a page for each subcommand.
///
/// # Errors
/// When they cannot be written.
pub fn man(args: &ManArgs, command: Command) -> Result<(), Failure> {
    let written = clap_mangen::generate_to(command, &args.folder);
    written.map_err(|error| Failure::Failed(format!("{}: {error}", args.folder.display())))
}
