//! `fadelab-validate`: compares the simulator with closed forms and with ns-2.
//!
//! Exit status: 0 every bound holds, 1 one is missed or a run failed, 2 invalid input.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use clap::builder::PossibleValuesParser;

use fadelab_validate::lab::{self, Lab};
use fadelab_validate::outcome::Outcome;
use fadelab_validate::section::Section;
use fadelab_validate::{forms, modules, ns2, page, release, table};

/// A section's name and what computes it.
type Entry = (&'static str, fn(&Lab) -> Result<Section, String>);

/// In the order of the page.
const SECTIONS: [Entry; 11] = [
    ("path", forms::path::run),
    ("reno", forms::reno::run),
    ("xcp", forms::xcp::run),
    ("vcp", forms::vcp::run),
    ("rem", forms::rem::run),
    ("queues", forms::queues::run),
    ("channel", forms::channel::run),
    ("ns2", ns2::run),
    ("senders", ns2::senders::run),
    ("release", release::run),
    ("modules", modules::run),
];

/// Compares the simulator with closed forms and with ns-2, prints tables and writes docs/validation.md.
#[derive(Debug, Parser)]
struct Args {
    /// Sections to run; without a name all of them
    #[arg(value_parser = PossibleValuesParser::new(SECTIONS.map(|(name, _)| name)))]
    sections: Vec<String>,
    /// Folder of the page; without a section the project's docs, with one no page is written
    #[arg(long, value_name = "DIR")]
    page: Option<PathBuf>,
    /// Lay KEY=VALUE over every scenario of the closed forms, to see rows fail
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let began = Instant::now();
    let outcome = sections(&args).and_then(|sections| conclude(&args, &sections));
    match outcome {
        Ok(holds) => {
            println!("it took {:.0} s", began.elapsed().as_secs_f64());
            ExitCode::from(u8::from(!holds))
        }
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Runs what was asked for and prints each table as soon as it is there.
fn sections(args: &Args) -> Result<Vec<Section>, String> {
    let mut lab = Lab::new(args.sets.clone());
    lab.is_asked_by_name = !args.sections.is_empty();
    let wanted = |name: &str| args.sections.is_empty() || args.sections.iter().any(|section| section == name);
    let mut done = Vec::new();
    for (name, run) in SECTIONS.iter().filter(|(name, _)| wanted(name)) {
        lab.begin(name);
        let section = run(&lab)?;
        lab.print(&table::terminal(&section));
        done.push(section);
    }
    lab.close();
    Ok(done)
}

/// Writes the page, and says what holds: whether all does.
fn conclude(args: &Args, sections: &[Section]) -> Result<bool, String> {
    let whole = args.sections.is_empty() && args.sets.is_empty();
    let folder = args.page.clone().or_else(|| whole.then(|| lab::top().join("docs")));
    if let Some(folder) = folder {
        println!("{}", page::write(&folder, sections)?.display());
    }
    let outcome = Outcome::of(sections);
    println!("{outcome}");
    Ok(outcome.holds())
}
