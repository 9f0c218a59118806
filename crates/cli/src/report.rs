//! `fadelab report`: the page of a result made again, or one page of several results.

use std::path::{Path, PathBuf};

use clap::Args;
use fadelab_lab::Failure;
use fadelab_results::{Experiment, Summary, report};

use crate::output;

/// Arguments of `fadelab report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Folders of results; of several, one page is made, which needs --out
    #[arg(required = true)]
    pub folders: Vec<PathBuf>,
    /// File for the page, which must not exist [default: report.html of the folder, made again]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Makes a page.
///
/// # Errors
/// Folders that hold no results or results that do not fit together, a file that exists, or one that cannot be written.
pub fn report(args: &ReportArgs) -> Result<(), Failure> {
    let path = page_path(args)?;
    let parts = args.folders.iter().map(|folder| output::result(folder));
    let mut parts: Vec<Experiment> = parts.collect::<Result<_, _>>()?;
    let experiment = if parts.len() == 1 {
        parts.remove(0)
    } else {
        let parts = names(&args.folders).into_iter().zip(parts).collect();
        fadelab_results::combine(parts).map_err(Failure::Invalid)?
    };
    let page = report::html(&experiment, &Summary::of(&experiment))?;
    fadelab_results::write_page(&path, &page)?;
    output::print(&format!("{}\n", path.display()))
}

fn page_path(args: &ReportArgs) -> Result<PathBuf, Failure> {
    match &args.out {
        Some(path) if path.exists() => Err(Failure::Invalid(format!(
            "{} exists: give --out a file that does not, or move this one away",
            path.display()
        ))),
        Some(path) => Ok(path.clone()),
        None if args.folders.len() == 1 => Ok(args.folders[0].join("report.html")),
        None => Err(Failure::Invalid(
            "one page of several results belongs to none of them: say where it goes, e.g. --out page.html".to_owned(),
        )),
    }
}

/// What tells the results apart: the names of their folders, or the whole paths where names are alike.
fn names(folders: &[PathBuf]) -> Vec<String> {
    let short = |folder: &Path| folder.file_name().map(|name| name.to_string_lossy().into_owned());
    let is_own = |name: &str| {
        folders
            .iter()
            .filter(|folder| short(folder).as_deref() == Some(name))
            .count()
            == 1
    };
    let name = |folder: &PathBuf| {
        short(folder)
            .filter(|name| is_own(name))
            .unwrap_or_else(|| folder.display().to_string())
    };
    folders.iter().map(name).collect()
}
