//! `fadelab reproduce`: runs what a paper's claims speak of, prints the ledger and says whether recorded verdicts hold.

mod channels;
mod criterion;
mod embedded;
mod figures;
mod groups;
mod ledger;
mod paper;
mod pictures;
mod quantity;
mod study;
mod told;
mod variants;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use fadelab_lab::{Ground as _, Kept, Simulator};
use fadelab_results::{Error, Experiment, Host, Provenance, Summary, Target};
use fadelab_scenario::plan::Plan;

use crate::progress::Terminal;
use crate::{Failure, kept, output};
use figures::Figures;
use ledger::Entry;
use paper::{Claims, Runs, Studies};
use pictures::Drawings;
use quantity::Quantity;

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
    let drawings = drawings(&folder, &claims)?;
    let plans = plans(args, &folder, &claims)?;
    let (merged, wall) = (merged(&claims, &plans), Instant::now());
    let kept = Kept::of(&merged, &target, false)?;
    output::note(&kept::greeting(kept.as_ref()));
    let mut experiment = simulate(&merged, kept.as_ref())?;
    let figures = figures(&claims, &drawings, &experiment)?;
    let entries = ledger::entries(&claims, &figures);
    experiment.pictures = drawings.pictures(&claims, &experiment, &figures)?;
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

/// The figures of the paper whose runs are all wanted.
fn drawings(folder: &Path, claims: &Claims) -> Result<Drawings, Failure> {
    let mut drawings: Drawings = paper::read_if_there(folder, "figures.toml")?;
    pictures::check(&drawings)?;
    let runs = claims.run.iter().map(|runs| runs.id.as_str());
    let known: Vec<&str> = runs
        .chain(claims.channel.iter().map(|channel| channel.id.as_str()))
        .collect();
    drawings.keep(|id| known.contains(&id));
    Ok(drawings)
}

fn plans(args: &ReproduceArgs, folder: &Path, claims: &Claims) -> Result<Vec<Plan>, Failure> {
    let plan = |runs: &Runs| paper::plan(folder, &runs.scenario, &runs.set, args.seeds);
    let plans: Vec<Plan> = claims.run.iter().map(plan).collect::<Result<_, _>>()?;
    for claim in &claims.claim {
        for quantity in claim.quantities() {
            let allowed = places(quantity, claims, &plans);
            if !allowed.contains(&(quantity.at.clone(), quantity.law.clone())) {
                let mut allowed: Vec<String> = allowed
                    .iter()
                    .map(|(at, law)| {
                        if at.is_empty() {
                            law.clone()
                        } else {
                            format!("@{at}.{law}")
                        }
                    })
                    .collect();
                allowed.dedup();
                return Err(Failure::Invalid(format!(
                    "claim \"{}\": {quantity}: run \"{}\" has no such law or point, allowed are {}",
                    claim.id,
                    quantity.run,
                    allowed.join(", ")
                )));
            }
        }
    }
    Ok(plans)
}

/// Points and laws of the run or channel that a quantity names. One that does not exist would leave its criterion open
/// for ever.
fn places(quantity: &Quantity, claims: &Claims, plans: &[Plan]) -> Vec<(String, String)> {
    let place = claims.run.iter().position(|runs| runs.id == quantity.run);
    let planned = place.map_or(&[][..], |place| plans[place].runs.as_slice()).iter();
    let planned = planned.map(|run| (point_values(&run.point), run.law_label.clone()));
    let channels = claims.channel.iter().filter(|channel| channel.id == quantity.run);
    let exact = channels.flat_map(|channel| {
        let points = channel.snr_db.iter().map(|snr_db| format!("{snr_db}dB"));
        let points: Vec<String> = std::iter::once(String::new()).chain(points).collect();
        points
            .into_iter()
            .flat_map(|at| channels::KINDS.map(|(kind, _, _)| (at.clone(), kind.to_owned())))
    });
    planned.chain(exact).collect()
}

/// The values of a point as criteria name them: without spaces, with commas between.
fn point_values(point: &[(String, String)]) -> String {
    let values: Vec<String> = point.iter().map(|(_, value)| value.replace(' ', "")).collect();
    values.join(",")
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
        if claims.first_like(&runs.id) != runs.id {
            continue;
        }
        let _ = writeln!(merged.text, "# {}\n{}", runs.id, plan.text);
        merged
            .warnings
            .extend(plan.warnings.iter().map(|warning| format!("{}: {warning}", runs.id)));
        for run in &plan.runs {
            let mut run = run.clone();
            run.index = merged.runs.len() as u32;
            run.point.insert(0, ("run".to_owned(), runs.id.clone()));
            merged.runs.push(run);
        }
    }
    merged
}

fn simulate(plan: &Plan, kept: Option<&Kept>) -> Result<Experiment, Failure> {
    let swept = fadelab_lab::sweep(&Simulator, plan, threads(), kept, &Terminal::new(false));
    let swept = swept.map_err(|stop| {
        kept::failure(stop, kept, |index, why| {
            let run = &plan.runs[index];
            let point = fadelab_results::point_text(&run.point);
            format!("{point}, law {}, seed {}: {why}", run.law_label, run.seed)
        })
    })?;
    let runs = fadelab_lab::runs(plan, Simulator.name(), swept.records);
    Ok(fadelab_lab::experiment(plan, runs))
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// What all runs and channels show. A run that stands under several names is seen at the link of each.
fn figures(claims: &Claims, drawings: &Drawings, experiment: &Experiment) -> Result<Vec<Figures>, Failure> {
    let quantities = claims.claim.iter().flat_map(paper::Claimed::quantities);
    let metrics = quantities.map(|quantity| quantity.metric.as_str());
    let wanted: BTreeSet<&str> = metrics.chain(drawings.metrics()).collect();
    let mut all = Vec::new();
    for run in &experiment.runs {
        for runs in &claims.run {
            if claims.first_like(&runs.id) != run.point[0].1 {
                continue;
            }
            let mut figures = Figures::measure(&runs.id, run, &runs.link, &wanted).map_err(Failure::Invalid)?;
            figures.at = point_values(&run.point[1..]);
            all.push(figures);
        }
    }
    for channel in &claims.channel {
        all.extend(channel.figures()?);
    }
    Ok(all)
}

fn write(target: &Target, experiment: Experiment, entries: &[Entry], wall: Instant) -> Result<PathBuf, Error> {
    let experiment = Experiment {
        claims: entries.iter().map(Entry::claim).collect(),
        ..experiment
    };
    let provenance = Provenance {
        guest: None,
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
    use super::*;
    use criterion::Criterion;

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
        claims.claim[0].criteria[0].left = quantity::Side::parse(&["one-way.vpc.utilisation"]).unwrap();
        let message = refusal(&claims, &folder);
        assert!(
            message.ends_with("has no such law or point, allowed are vcp, xcp, reno+rem"),
            "{message}"
        );
        let mut claims = read();
        claims.claim[0].criteria[0].left = quantity::Side::parse(&["fig2a-1x1@99dB.vcp.utilisation"]).unwrap();
        let message = refusal(&claims, &folder);
        assert!(
            message.contains("no such law or point, allowed are @14dB.vcp, "),
            "{message}"
        );
        let mut claims = read();
        assert!(ledger::select(&mut claims, &["fig3.none".to_owned()]).is_err());
        ledger::select(&mut claims, &["fig3.vcp-converges".to_owned()])
            .ok()
            .unwrap();
        // The run and its three variants.
        assert_eq!((claims.claim.len(), claims.run.len()), (1, 4));
    }

    #[test]
    fn a_wrong_record_is_found_out() {
        // Goal: a verdict that the runs contradict is broken, also where few seeds decide.
        let folder = args(1).papers.join("vcp-ton-2010");
        let mut claims: Claims = paper::read(&folder, "claims.toml").ok().unwrap();
        claims.claim.iter_mut().for_each(|claim| claim.beside.clear());
        ledger::select(&mut claims, &["fig3.vcp-converges".to_owned()])
            .ok()
            .unwrap();
        claims.claim[0].verdict = fadelab_results::Verdict::Differs;
        claims.run[0].set = vec!["flow.law=vcp".to_owned(), "run.duration=100 s".to_owned()];
        let plan = merged(&claims, &plans(&args(2), &folder, &claims).ok().unwrap());
        let experiment = simulate(&plan, None).ok().unwrap();
        let entries = ledger::entries(
            &claims,
            &figures(&claims, &Drawings::default(), &experiment).ok().unwrap(),
        );
        assert!(
            entries[0].is_broken(false) && entries[0].is_broken(true),
            "{}",
            entries[0].measured
        );
        let text = ledger::text(&claims, &entries, true);
        assert!(text.contains("fig3.vcp-converges: differs, NO LONGER HOLDS"), "{text}");
    }

    fn folders() -> Vec<PathBuf> {
        let entries = std::fs::read_dir(args(3).papers).unwrap().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
    }

    #[test]
    fn readers_find_every_verdict() {
        // Goal: the table of a paper's README has a row for each claim with the verdict that is recorded, and no other.
        for folder in folders() {
            let claims: Claims = paper::read(&folder, "claims.toml").ok().unwrap();
            let text = std::fs::read_to_string(folder.join("README.md")).unwrap();
            let row = |id: &str| text.lines().find(|line| line.starts_with(&format!("| `{id}` |")));
            for claim in &claims.claim {
                let row = row(&claim.id).unwrap_or_else(|| panic!("{} is missing", claim.id));
                assert!(row.ends_with(&format!("| **{}** |", claim.verdict.text())), "{row}");
                let of_variant = |variant: &paper::Variant| claim.beside.get(&variant.id).map_or("-", |v| v.text());
                let beside: Vec<&str> = claims.variant.iter().map(of_variant).collect();
                let row = format!(
                    "| `{}` | {} | {} |\n",
                    claim.id,
                    claim.verdict.text(),
                    beside.join(" | ")
                );
                assert!(claim.beside.is_empty() || text.contains(&row), "{row} is missing");
            }
            let rows = text
                .lines()
                .filter(|line| line.starts_with("| `") && line.ends_with("** |"));
            assert_eq!(rows.count(), claims.claim.len());
        }
    }

    #[test]
    fn every_figure_has_its_runs() {
        // Goal: no picture is left out because of a slip in the name of a run, and each has claims beside it.
        for folder in folders() {
            let mut claims: Claims = paper::read(&folder, "claims.toml").ok().unwrap();
            ledger::select(&mut claims, &[]).ok().unwrap();
            let all: Drawings = paper::read_if_there(&folder, "figures.toml").ok().unwrap();
            let drawn = drawings(&folder, &claims).ok().unwrap();
            assert_eq!(drawn.ids(), all.ids());
            for id in all.ids() {
                let prefix = format!("{id}.");
                assert!(claims.claim.iter().any(|claim| claim.id.starts_with(&prefix)), "{id}");
            }
        }
    }

    #[test]
    fn what_is_named_twice_is_run_once() {
        // Goal: two names for one scenario share its runs and are each seen at their own link.
        let folder = args(1).papers.join("vcp-ton-2010");
        let mut claims: Claims = paper::read(&folder, "claims.toml").ok().unwrap();
        claims.claim.iter_mut().for_each(|claim| claim.beside.clear());
        ledger::select(&mut claims, &["fig5.xcp-2to1".to_owned()]).ok().unwrap();
        for runs in &mut claims.run {
            runs.set = vec!["flow.law=xcp".to_owned(), "run.duration=20 s".to_owned()];
        }
        let plan = merged(&claims, &plans(&args(1), &folder, &claims).ok().unwrap());
        assert_eq!((claims.run.len(), plan.runs.len()), (3, 1));
        let experiment = simulate(&plan, None).ok().unwrap();
        let figures = figures(&claims, &Drawings::default(), &experiment).ok().unwrap();
        let names: Vec<&str> = figures
            .iter()
            .filter(|f| f.seed.is_some())
            .map(|f| f.run.as_str())
            .collect();
        assert_eq!(names, ["lot", "lot-bc", "lot-de"]);
        assert_ne!(figures[0].get("queue_pkts_mean"), figures[1].get("queue_pkts_mean"));
    }

    #[test]
    fn recorded_verdicts_hold() {
        // Goal: what papers/ says about every claim is what three of its seeds show, or those cannot decide it.
        // The whole ledger takes minutes of this build: here are figure 3, what needs no run, and one more.
        for folder in folders() {
            let mut claims: Claims = paper::read(&folder, "claims.toml").ok().unwrap();
            let quick = |claim: &paper::Claimed| {
                let mut runs = claim.all_criteria().flat_map(Criterion::runs);
                let is_exact = runs.all(|id| claims.channel.iter().any(|channel| channel.id == id));
                is_exact || claim.id.starts_with("fig3.") || claim.id == "fig2c.timeouts"
            };
            let ids = claims
                .claim
                .iter()
                .filter(|claim| quick(claim))
                .map(|claim| claim.id.clone());
            let ids: Vec<String> = ids.collect();
            assert!(ids.len() > 15, "{ids:?}");
            // Variants of one claim stand for those of all.
            for claim in claims.claim.iter_mut().filter(|claim| claim.id != "fig3.vcp-queue") {
                claim.beside.clear();
            }
            ledger::select(&mut claims, &ids).ok().unwrap();
            let plan = merged(&claims, &plans(&args(3), &folder, &claims).ok().unwrap());
            let experiment = simulate(&plan, None).ok().unwrap();
            let entries = ledger::entries(
                &claims,
                &figures(&claims, &Drawings::default(), &experiment).ok().unwrap(),
            );
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
