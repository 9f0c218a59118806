//! `fadelab table`: the tables of a result for papers.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use fadelab_lab::Failure;
use fadelab_results::print::{self, Asked, Form, Tables};
use fadelab_results::table::versus::NAMES;
use fadelab_results::{Summary, write_page};

use crate::output;

/// Which tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Which {
    /// A row per point of the sweep and law
    Laws,
    /// A row per group of flows that share a link
    Groups,
    /// What laws do to each other: shares, harm, time to a fair share
    Versus,
}

/// Arguments of `fadelab table`.
#[derive(Debug, Args)]
pub struct TableArgs {
    /// Folder of a result
    pub folder: PathBuf,
    /// Of laws, of groups of flows, or of laws beside each other [default: all that there are; with --csv the laws]
    #[arg(value_enum)]
    pub which: Option<Which>,
    /// As tabular with the rules of booktabs
    #[arg(long, group = "form")]
    pub latex: bool,
    /// As a Markdown table, which is the default
    #[arg(long, group = "form")]
    pub markdown: bool,
    /// As numbers: of every figure the mean, the ends of its 95 % interval and the number of seeds
    #[arg(long, group = "form")]
    pub csv: bool,
    /// Only these columns of figures, by heading or its beginning: goodput,share,'wait p99'; with --csv by name:
    /// `goodput_bps,queue_wait_ms_p99`; not of versus [default: all but p50, p95 and p99 one by one]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Only this law, by its label; repeatable; not of versus [default: all]
    #[arg(long = "law", value_name = "LAW")]
    pub laws: Vec<String>,
    /// Of versus only this matrix
    #[arg(long, value_parser = NAMES, conflicts_with = "csv")]
    pub metric: Option<String>,
    /// Only this link; repeatable [default: all but access links]
    #[arg(long = "link", value_name = "NAME")]
    pub links: Vec<String>,
    /// File for the tables, which is written over [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Writes tables.
///
/// # Errors
/// A folder that holds no result, a result without what is asked for, or a file that cannot be written.
pub fn table(args: &TableArgs) -> Result<(), Failure> {
    let experiment = output::result(&args.folder)?;
    output::warn(&experiment.warnings);
    let summary = Summary::of(&experiment);
    let links = links(args, &summary)?;
    let form = match (args.latex, args.csv) {
        (true, _) => Form::Latex,
        (_, true) => Form::Csv,
        _ => Form::Markdown,
    };
    let tables: &[Tables] = match args.which {
        Some(Which::Laws) => &[Tables::Laws],
        Some(Which::Groups) => &[Tables::Groups],
        Some(Which::Versus) => &[Tables::Versus],
        None if form == Form::Csv => &[Tables::Laws],
        None if args.metric.is_some() => &[Tables::Versus],
        None => &[Tables::Laws, Tables::Groups, Tables::Versus],
    };
    let asked = Asked {
        columns: args.columns.clone(),
        laws: laws(args, &summary)?,
        metric: args.metric.clone(),
    };
    let text = print::tables(&summary, &links, tables, form, &asked)
        .map_err(|error| Failure::Invalid(format!("{}: --columns: {error}", args.folder.display())))?;
    if text.is_empty() {
        let what = match args.which {
            Some(Which::Groups) => "no link of it is shared by several groups of flows: ask for laws",
            Some(Which::Versus) => "no law of it runs beside another and alone: [versus] makes such runs",
            _ if args.metric.is_some() => "it has no matrix of this figure",
            _ => "data cross none of its links",
        };
        return Err(Failure::Invalid(format!(
            "{} has no such table: {what}",
            args.folder.display()
        )));
    }
    match &args.out {
        Some(path) => {
            write_page(path, &text)?;
            output::print(&format!("{}\n", path.display()))
        }
        None => output::print(&text),
    }
}

fn laws(args: &TableArgs, summary: &Summary) -> Result<Vec<String>, Failure> {
    match args.laws.iter().find(|law| !summary.laws.contains(law)) {
        None => Ok(args.laws.clone()),
        Some(unknown) => Err(Failure::Invalid(format!(
            "{}: --law {unknown} is none of its laws: {}",
            args.folder.display(),
            summary.laws.join(", ")
        ))),
    }
}

fn links(args: &TableArgs, summary: &Summary) -> Result<Vec<String>, Failure> {
    let all = summary.data_links();
    if let Some(unknown) = args.links.iter().find(|link| !all.contains(link)) {
        return Err(Failure::Invalid(format!(
            "{}: --link {unknown} is none of its links that data cross: {}",
            args.folder.display(),
            all.join(", ")
        )));
    }
    Ok(if args.links.is_empty() {
        all.into_iter()
            .filter(|link| !summary.access_links.contains(link))
            .collect()
    } else {
        args.links.clone()
    })
}
