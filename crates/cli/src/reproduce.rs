//! `fadelab reproduce`: runs what a paper's claims speak of, prints the ledger and says whether recorded verdicts hold.

mod criterion;
mod embedded;
mod figures;
mod ledger;
mod paper;
mod study;

use std::fmt::Write;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use fadelab_results::{Error, Experiment, Host, Provenance, Summary, Target};
use fadelab_scenario::plan::Plan;
use fadelab_sim::record::RunRecord;

use crate::kept::{self, Kept};
use crate::{Failure, output, run, sweep};
use criterion::Criterion;
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
    #[arg(long, value_name = "DIR", default_value = paper::FOLDER)]
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
    let kept = Kept::of(&merged, &target, false)?;
    output::note(&kept.as_ref().map_or_else(Vec::new, Kept::greeting));
    let experiment = run::experiment(&merged, simulate(&merged, kept.as_ref())?);
    let entries = ledger::entries(&claims, &figures(&claims.run, &experiment)?);
    let page = write(&target, experiment, &entries, wall).map_err(|error| kept::not_written(&error, kept.as_ref()))?;
    if let Some(kept) = kept {
        kept.remove();
    }
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
        let plan = paper::plan(folder, &runs.scenario, &runs.set, args.seeds)?;
        match plan.runs.iter().find(|run| !run.point.is_empty()) {
            Some(run) => Err(Failure::Invalid(format!(
                "run \"{}\" sweeps over {}: only laws and seeds may have several values, sweeps belong in studies.toml",
                runs.id, run.point[0].0
            ))),
            None => Ok(plan),
        }
    };
    let plans: Vec<Plan> = claims.run.iter().map(plan).collect::<Result<_, _>>()?;
    check_laws(claims, &plans)?;
    Ok(plans)
}

/// A law that a run does not have would leave its criterion open for ever.
fn check_laws(claims: &Claims, plans: &[Plan]) -> Result<(), Failure> {
    for claim in &claims.claim {
        for quantity in claim.all_criteria().flat_map(Criterion::quantities) {
            let place = claims.run.iter().position(|runs| runs.id == quantity.run);
            let mut laws: Vec<&str> = place.map_or_else(Vec::new, |place| {
                plans[place].runs.iter().map(|run| run.law_label.as_str()).collect()
            });
            if !laws.contains(&quantity.law.as_str()) {
                laws.dedup();
                return Err(Failure::Invalid(format!(
                    "claim \"{}\": {quantity}: run \"{}\" has no law \"{}\", allowed are {}",
                    claim.id,
                    quantity.run,
                    quantity.law,
                    laws.join(", ")
                )));
            }
        }
    }
    Ok(())
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

fn simulate(plan: &Plan, kept: Option<&Kept>) -> Result<Vec<RunRecord>, Failure> {
    let swept = sweep::simulate(plan, threads(), false, kept);
    swept.map(|swept| swept.records).map_err(|stop| {
        stop.failure(kept, |index, message| {
            let run = &plan.runs[index];
            let point = fadelab_results::point_text(&run.point);
            format!("{point}, law {}, seed {}: {message}", run.law_label, run.seed)
        })
    })
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

fn figures(runs: &[Runs], experiment: &Experiment) -> Result<Vec<Figures>, Failure> {
    let measure = |run: &fadelab_results::Run| {
        let id = &run.point[0].1;
        let link = runs.iter().find(|runs| runs.id == *id).map_or("", |runs| &runs.link);
        Figures::measure(id, run, link).map_err(Failure::Invalid)
    };
    experiment.runs.iter().map(measure).collect()
}

fn write(target: &Target, experiment: Experiment, entries: &[Entry], wall: Instant) -> Result<PathBuf, Error> {
    let experiment = Experiment {
        claims: entries.iter().map(Entry::claim).collect(),
        ..experiment
    };
    let provenance = Provenance {
        wall_time_s: wall.elapsed().as_secs_f64(),
        threads: threads(),
        sharing: None,
        host: Host::read(),
    };
    let folder = fadelab_results::write(target, &experiment, &Summary::of(&experiment), &provenance, false);
    Ok(folder?.join("report.html"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn args(seeds: u32) -> ReproduceArgs {
        ReproduceArgs {
            paper: "vcp-ton-2010".to_owned(),
            claims: Vec::new(),
            studies: Vec::new(),
            seeds: Some(seeds),
            out: None,
            papers: Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers"),
        }
    }

    fn refusal(claims: &Claims, folder: &Path) -> String {
        match plans(&args(1), folder, claims) {
            Err(Failure::Invalid(message)) => message,
            _ => panic!("it should be refused"),
        }
    }

    #[test]
    fn what_could_never_be_decided_is_refused() {
        // Goal: a law that is not run and a sweep without a place in the ledger end with a message, not with "open".
        let folder = args(1).papers.join("vcp-ton-2010");
        let read = || -> Claims { paper::read(&folder, "claims.toml").ok().unwrap() };
        let mut claims = read();
        claims.claim[0].criteria[0].left.law = "vpc".to_owned();
        let message = refusal(&claims, &folder);
        assert!(
            message.ends_with("has no law \"vpc\", allowed are vcp, xcp, reno+rem"),
            "{message}"
        );
        let mut claims = read();
        claims.run[0].set.push("flow.count=[1, 2]".to_owned());
        let message = refusal(&claims, &folder);
        assert!(message.contains("run \"one-way\" sweeps over flow.count"), "{message}");
        let mut claims = read();
        assert!(ledger::select(&mut claims, &["fig3.none".to_owned()]).is_err());
        ledger::select(&mut claims, &["fig3.vcp-converges".to_owned()])
            .ok()
            .unwrap();
        assert_eq!((claims.claim.len(), claims.run.len()), (1, 1));
    }

    #[test]
    fn a_wrong_record_is_found_out() {
        // Goal: a verdict that the runs contradict is broken, also where few seeds decide.
        let folder = args(1).papers.join("vcp-ton-2010");
        let mut claims: Claims = paper::read(&folder, "claims.toml").ok().unwrap();
        ledger::select(&mut claims, &["fig3.vcp-converges".to_owned()])
            .ok()
            .unwrap();
        claims.claim[0].verdict = fadelab_results::Verdict::Differs;
        claims.run[0].set = vec!["flow.law=vcp".to_owned(), "run.duration=100 s".to_owned()];
        let plan = merged(&claims, &plans(&args(2), &folder, &claims).ok().unwrap());
        let experiment = run::experiment(&plan, simulate(&plan, None).ok().unwrap());
        let entries = ledger::entries(&claims, &figures(&claims.run, &experiment).ok().unwrap());
        assert!(
            entries[0].is_broken(false) && entries[0].is_broken(true),
            "{}",
            entries[0].measured
        );
        let text = ledger::text(&claims, &entries, true);
        assert!(text.contains("fig3.vcp-converges: differs, NO LONGER HOLDS"), "{text}");
    }

    #[test]
    fn recorded_verdicts_hold() {
        // Goal: what papers/ says about every claim is what three of its seeds show, or those cannot decide it.
        for entry in std::fs::read_dir(args(3).papers).unwrap().flatten() {
            if !entry.path().is_dir() {
                continue;
            }
            let claims: Claims = paper::read(&entry.path(), "claims.toml").ok().unwrap();
            let plan = merged(&claims, &plans(&args(3), &entry.path(), &claims).ok().unwrap());
            let experiment = run::experiment(&plan, simulate(&plan, None).ok().unwrap());
            let entries = ledger::entries(&claims, &figures(&claims.run, &experiment).ok().unwrap());
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
