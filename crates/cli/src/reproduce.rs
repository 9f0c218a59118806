//! `fadelab reproduce`: runs what a paper's claims speak of, prints the ledger and says whether recorded verdicts hold.

mod criterion;
mod figures;
mod ledger;
mod paper;
mod study;

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use clap::Args;
use fadelab_results::{Claim, Experiment, Host, Provenance, Summary, Target};
use fadelab_scenario::plan::Plan;
use fadelab_sim::record::RunRecord;

use crate::progress::Progress;
use crate::sweep::{Stop, sweep};
use crate::{Failure, output, run};
use figures::Figures;
use ledger::Entry;
use paper::{Claims, Runs, Studies};

/// Arguments of `fadelab reproduce`.
#[derive(Debug, Args)]
pub struct ReproduceArgs {
    /// Key of the paper: the name of its folder, such as vcp-ton-2010
    pub paper: String,
    /// Check only this claim; repeatable
    #[arg(long = "claim", value_name = "ID")]
    pub claims: Vec<String>,
    /// Print this study of causes instead of the ledger, as Markdown; repeatable
    #[arg(long = "study", value_name = "ID", conflicts_with_all = ["claims", "out"])]
    pub studies: Vec<String>,
    /// Seeds 1 to N [default: those of the scenarios]; verdicts were reached with the default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub seeds: Option<u32>,
    /// Folder for the page and its data, which must be empty or not exist [default: results/PAPER-001, numbered on]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Folder that holds the papers
    #[arg(long, value_name = "DIR", default_value = "papers")]
    pub papers: PathBuf,
}

/// Runs a paper's claims or studies.
///
/// # Errors
/// Files of the paper or of its scenarios that are not valid, a failed run, a result that cannot be written, or
/// recorded verdicts that no longer hold.
pub fn reproduce(args: &ReproduceArgs) -> Result<(), Failure> {
    let folder = paper::folder(&args.papers, &args.paper)?;
    if !args.studies.is_empty() {
        let studies: Studies = paper::read(&folder, "studies.toml")?;
        return study::print(args, &folder, &studies);
    }
    let mut claims: Claims = paper::read(&folder, "claims.toml")?;
    ledger::select(&mut claims, &args.claims)?;
    let target = args.out.clone().map_or_else(
        || Target::Numbered {
            parent: PathBuf::from("results"),
            name: args.paper.clone(),
        },
        Target::Exact,
    );
    target.check().map_err(|error| Failure::Invalid(error.to_string()))?;
    let plans = plans(args, &folder, &claims)?;
    let (merged, wall) = (merged(&claims, &plans), Instant::now());
    let records = simulate(&merged)?;
    let figures = figures(&claims.run, &merged, &records)?;
    let entries = ledger::entries(&claims, &figures);
    let page = write(&target, &merged, &records, &entries, wall)?;
    let complete = args.seeds.is_none();
    output::print(&format!(
        "{}\n{}\n",
        ledger::text(&claims, &entries, complete),
        page.display()
    ))?;
    let broken: Vec<&str> = entries
        .iter()
        .filter(|e| e.is_broken(complete))
        .map(|e| e.claim.id.as_str())
        .collect();
    if broken.is_empty() {
        return Ok(());
    }
    Err(Failure::Failed(format!(
        "what is recorded no longer holds for {}: find out why, then correct {}",
        broken.join(", "),
        folder.join("claims.toml").display()
    )))
}

fn plans(args: &ReproduceArgs, folder: &std::path::Path, claims: &Claims) -> Result<Vec<Plan>, Failure> {
    let plan = |runs: &Runs| {
        let plan = paper::plan(&folder.join(&runs.scenario), &runs.set, args.seeds)?;
        match plan.runs.iter().find(|run| !run.point.is_empty()) {
            Some(run) => Err(Failure::Invalid(format!(
                "run \"{}\" sweeps over {}: only laws and seeds may have several values, sweeps belong in studies.toml",
                runs.id, run.point[0].0
            ))),
            None => Ok(plan),
        }
    };
    claims.run.iter().map(plan).collect()
}

/// All runs under one progress bar and on one page: the name of the run is the coordinate.
fn merged(claims: &Claims, plans: &[Plan]) -> Plan {
    let mut merged = Plan {
        title: format!("{}: {}", claims.paper, claims.subject),
        about: String::new(),
        text: String::new(),
        sweep_keys: vec!["run".to_owned()],
        warnings: Vec::new(),
        runs: Vec::new(),
    };
    for (runs, plan) in claims.run.iter().zip(plans) {
        let _ = writeln!(merged.text, "# {}\n{}", runs.id, plan.text);
        merged
            .warnings
            .extend(plan.warnings.iter().map(|warning| format!("{}: {warning}", runs.id)));
        for run in &plan.runs {
            let mut run = run.clone();
            run.index = merged.runs.len() as u32;
            run.point = vec![("run".to_owned(), runs.id.clone())];
            merged.runs.push(run);
        }
    }
    merged
}

fn simulate(plan: &Plan) -> Result<Vec<RunRecord>, Failure> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&interrupted);
    // Without a handler Ctrl-C still ends the program; with several studies the first handler stays.
    let _ = ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed));
    let total_ns = plan.runs.iter().map(|run| run.spec.duration_ns).sum();
    let progress = Progress::new(total_ns, plan.runs.len(), false);
    let records = sweep(plan, threads(), &interrupted, &progress);
    progress.finish();
    records.map_err(|stop| match stop {
        Stop::Interrupted => Failure::Interrupted,
        Stop::Run(index, message) => {
            let run = &plan.runs[index];
            let point = fadelab_results::point_text(&run.point);
            Failure::Failed(format!("{point}, law {}, seed {}: {message}", run.law_label, run.seed))
        }
    })
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

fn figures(runs: &[Runs], plan: &Plan, records: &[RunRecord]) -> Result<Vec<Figures>, Failure> {
    let experiment = run::experiment(plan, records);
    let measure = |run: &fadelab_results::Run| {
        let id = &run.point[0].1;
        let link = runs.iter().find(|runs| runs.id == *id).map_or("", |runs| &runs.link);
        Figures::measure(id, run, link).map_err(Failure::Invalid)
    };
    experiment.runs.iter().map(measure).collect()
}

fn write(
    target: &Target,
    plan: &Plan,
    records: &[RunRecord],
    entries: &[Entry],
    wall: Instant,
) -> Result<PathBuf, Failure> {
    let claims: Vec<Claim> = entries.iter().map(Entry::claim).collect();
    let experiment = Experiment {
        claims: &claims,
        ..run::experiment(plan, records)
    };
    let provenance = Provenance {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        wall_time_s: wall.elapsed().as_secs_f64(),
        threads: threads(),
        host: Host::read(),
    };
    let folder = fadelab_results::write(target, &experiment, &Summary::of(&experiment), &provenance);
    Ok(folder
        .map_err(|error| Failure::Failed(error.to_string()))?
        .join("report.html"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn recorded_verdicts_hold() {
        // Goal: what papers/ says about every claim is what three of its seeds show, or those cannot decide it.
        let papers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
        for entry in std::fs::read_dir(&papers).unwrap().flatten() {
            if !entry.path().is_dir() {
                continue;
            }
            let claims: Claims = paper::read(&entry.path(), "claims.toml").ok().unwrap();
            let args = ReproduceArgs {
                paper: String::new(),
                claims: Vec::new(),
                studies: Vec::new(),
                seeds: Some(3),
                out: None,
                papers: papers.clone(),
            };
            let plan = merged(&claims, &plans(&args, &entry.path(), &claims).ok().unwrap());
            let records = simulate(&plan).ok().unwrap();
            let entries = ledger::entries(&claims, &figures(&claims.run, &plan, &records).ok().unwrap());
            let decided = entries.iter().filter(|entry| !entry.is_open()).count();
            assert!(
                decided * 2 > entries.len(),
                "three seeds should decide most claims: {decided}"
            );
            for entry in &entries {
                assert!(!entry.is_broken(false), "{}: {}", entry.claim.id, entry.measured);
            }
        }
    }
}
