//! `fadelab export`: the tables of a result for tools that do not read Parquet.

use std::path::PathBuf;

use clap::Args;
use fadelab_lab::Failure;

use crate::output;

/// Arguments of `fadelab export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Folder of a result
    pub folder: PathBuf,
    /// As CSV, with or without this option: a file per table, and columns.csv with the unit and the meaning of each
    /// column
    #[arg(long)]
    pub csv: bool,
    /// Folder for the files, which must be empty or not exist [default: csv in the folder of the result]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Writes the tables.
///
/// # Errors
/// A folder that holds no result, or one that cannot be written.
pub fn export(args: &ExportArgs) -> Result<(), Failure> {
    let experiment = output::result(&args.folder)?;
    let folder = fadelab_results::export(&experiment, &args.folder, args.out.clone())?;
    output::print(&format!("{}\n", folder.display()))
}
