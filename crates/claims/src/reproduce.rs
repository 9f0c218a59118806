//! A ledger from its runs to its verdicts.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use fadelab_results::{Error, Experiment, Guest, Host, Origin, Provenance, Run, Summary, Target};
use fadelab_scenario::plan::Plan;

use crate::figures::Figures;
use crate::ledger::{self, Entry};
use crate::paper::{self, Claims, Ground, Runs};
use crate::pictures::{self, Drawings};
use crate::quantity::Quantity;
use crate::{Failure, channels, variants};

/// Claims of a paper, with the runs and the figures that belong to them.
#[derive(Debug)]
pub struct Ledger {
    claims: Claims,
    drawings: Drawings,
    plan: Plan,
    parts: Vec<Part>,
}

/// The runs of a ledger that are made in one place.
#[derive(Debug)]
pub struct Part {
    /// Where.
    pub ground: Ground,
    /// Settings of hosts and routers in its kernel.
    pub sysctls: Vec<String>,
    /// The runs: their name is the first coordinate.
    pub plan: Plan,
}

/// What became of the claims.
#[derive(Debug)]
pub struct Judged<'a> {
    /// The runs, with claims and pictures.
    pub experiment: Experiment,
    /// The claims, in the order of the paper.
    pub entries: Vec<Entry<'a>>,
}

impl Ledger {
    /// Of claims in the folder of a paper, with `seeds_n` seeds, 1 to that number; `None` keeps those of the scenarios,
    /// with which the recorded verdicts were reached.
    ///
    /// # Errors
    /// Figures or scenarios that are not valid, or a claim about something that is not run.
    pub fn of(folder: &Path, claims: Claims, seeds_n: Option<u32>) -> Result<Self, Failure> {
        let drawings = drawings(folder, &claims)?;
        let plans = plans(folder, &claims, seeds_n)?;
        Ok(Self {
            plan: merged(&claims, &plans, |_| true),
            parts: parts(&claims, &plans),
            claims,
            drawings,
        })
    }

    pub fn claims(&self) -> &Claims {
        &self.claims
    }

    /// All that is run for them.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Holds the runs of all its parts against the claims.
    ///
    /// # Errors
    /// A link or a channel of the claims that does not exist.
    pub fn judge(&self, runs: Vec<Run>) -> Result<Judged<'_>, Failure> {
        let experiment = fadelab_lab::experiment(&self.plan, runs);
        let figures = figures(&self.claims, &self.drawings, &experiment.runs)?;
        let entries = ledger::entries(&self.claims, &figures);
        let experiment = Experiment {
            pictures: self.drawings.pictures(&self.claims, &experiment, &figures)?,
            claims: entries.iter().map(Entry::claim).collect(),
            ..experiment
        };
        Ok(Judged { experiment, entries })
    }
}

impl Judged<'_> {
    /// Writes page and data and gives the page; the runs took `wall_time_s` seconds on `threads` threads, those in a
    /// kernel in `guest`.
    ///
    /// # Errors
    /// The folder is occupied or cannot be written.
    pub fn write(
        &self,
        target: &Target,
        wall_time_s: f64,
        threads: usize,
        guest: Option<Guest>,
    ) -> Result<PathBuf, Error> {
        let provenance = Provenance {
            origin: Origin::of_process(),
            guest,
            wall_time_s,
            threads,
            sharing: None,
            host: Host::read(),
        };
        let summary = Summary::of(&self.experiment);
        let folder = fadelab_results::write(target, &self.experiment, &summary, &provenance, false)?;
        Ok(folder.join("report.html"))
    }

    /// Ids of claims whose record the runs contradict. `complete` says whether the seeds are those with which it was
    /// made; fewer may leave open what those decide.
    pub fn broken(&self, complete: bool) -> Vec<&str> {
        let broken = self.entries.iter().filter(|entry| entry.is_broken(complete));
        broken.map(|entry| entry.claim.id.as_str()).collect()
    }
}

/// The figures of the paper whose runs are all wanted.
fn drawings(folder: &Path, claims: &Claims) -> Result<Drawings, Failure> {
    let mut drawings: Drawings = paper::read_if_there(folder, "figures.toml")?;
    pictures::check(&drawings)?;
    let runs = claims.run.iter().map(|runs| runs.id.as_str());
    let known: Vec<&str> = runs
        .chain(claims.channel.iter().map(|channel| channel.id.as_str()))
        .collect();
    drawings.keep(|id| known.contains(&id), |id| claims.away.runs.contains_key(id));
    Ok(drawings)
}

fn plans(folder: &Path, claims: &Claims, seeds_n: Option<u32>) -> Result<Vec<Plan>, Failure> {
    let plan = |runs: &Runs| paper::plan(folder, &runs.scenario, &runs.set, seeds_n, runs.ground);
    let plans: Vec<Plan> = claims.run.iter().map(plan).collect::<Result<_, _>>()?;
    for claim in &claims.claim {
        for quantity in claim.quantities() {
            check_place(claims, &plans, &claim.id, quantity)?;
        }
        for variant in claim.beside.keys() {
            for criterion in variants::criteria(claims, claim, variant)? {
                for quantity in criterion.quantities() {
                    check_place(claims, &plans, &claim.id, quantity)?;
                }
            }
        }
    }
    Ok(plans)
}

/// What a quantity of a claim names has to be run, unless it is left out because of its ground: otherwise its criterion
/// were open for ever.
fn check_place(claims: &Claims, plans: &[Plan], claim: &str, quantity: &Quantity) -> Result<(), Failure> {
    let allowed = places(quantity, claims, plans);
    let is_away = claims.away.runs.contains_key(&quantity.run);
    if is_away || allowed.contains(&(quantity.at.clone(), quantity.law.clone())) {
        return Ok(());
    }
    let shown = |(at, law): &(String, String)| {
        if at.is_empty() {
            law.clone()
        } else {
            format!("@{at}.{law}")
        }
    };
    let mut allowed: Vec<String> = allowed.iter().map(shown).collect();
    allowed.dedup();
    Err(Failure::Invalid(format!(
        "claim \"{claim}\": {quantity}: run \"{}\" has no such law or point, allowed are {}",
        quantity.run,
        allowed.join(", ")
    )))
}

/// Points and laws of the run or channel that a quantity names.
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

/// Runs of one ground with the same settings of its kernel go together.
fn parts(claims: &Claims, plans: &[Plan]) -> Vec<Part> {
    let mut parts = Vec::new();
    for (place, first) in claims.run.iter().enumerate() {
        if claims.run[..place].iter().any(|earlier| earlier.is_beside(first)) {
            continue;
        }
        parts.push(Part {
            ground: first.ground,
            sysctls: first.sysctl.clone(),
            plan: merged(claims, plans, |runs| runs.is_beside(first)),
        });
    }
    parts
}

/// All `wanted` runs under one progress bar and on one page: the name of the run is the coordinate.
fn merged(claims: &Claims, plans: &[Plan], wanted: impl Fn(&Runs) -> bool) -> Plan {
    let mut merged = Plan {
        title: format!("{}: {}", claims.paper, claims.subject),
        about: String::new(),
        text: String::new(),
        sweep_keys: vec!["run".to_owned()],
        warnings: Vec::new(),
        runs: Vec::new(),
    };
    for (runs, plan) in claims.run.iter().zip(plans) {
        if claims.first_like(&runs.id) != runs.id || !wanted(runs) {
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

/// What all runs and channels show. A run that stands under several names is seen at the link of each.
fn figures(claims: &Claims, drawings: &Drawings, runs: &[Run]) -> Result<Vec<Figures>, Failure> {
    let quantities = claims.claim.iter().flat_map(paper::Claimed::quantities);
    let metrics = quantities.map(|quantity| quantity.metric.as_str());
    let wanted: BTreeSet<&str> = metrics.chain(drawings.metrics()).collect();
    let mut all = Vec::new();
    for run in runs {
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

#[cfg(test)]
mod tests {
    use fadelab_lab::{Simulator, Unwatched, sweep};

    use super::*;
    use crate::criterion::Criterion;
    use crate::quantity::Side;

    fn papers() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers")
    }

    fn read(folder: &Path) -> Claims {
        paper::read_file(folder, "claims.toml").unwrap()
    }

    /// The claims judged under so many seeds, without pictures.
    fn judged<T>(folder: &Path, claims: Claims, seeds_n: u32, look: impl FnOnce(&[Entry<'_>], &[Figures]) -> T) -> T {
        let plans = plans(folder, &claims, Some(seeds_n)).unwrap();
        let ledger = Ledger {
            plan: merged(&claims, &plans, |_| true),
            parts: Vec::new(),
            drawings: Drawings::default(),
            claims,
        };
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let runs = sweep(&Simulator, &ledger.plan, threads, None, &Unwatched).unwrap().runs;
        let figures = figures(&ledger.claims, &ledger.drawings, &runs).unwrap();
        look(&ledger.judge(runs).unwrap().entries, &figures)
    }

    fn refusal(claims: &Claims, folder: &Path) -> String {
        match plans(folder, claims, Some(1)) {
            Err(Failure::Invalid(message)) => message,
            _ => panic!("it should be refused"),
        }
    }

    #[test]
    fn what_could_never_be_decided_is_refused() {
        // Goal: a law that is not run and a sweep without a place in the ledger end with a message, not with "open".
        let folder = papers().join("vcp-ton-2010");
        let mut claims = read(&folder);
        claims.claim[0].criteria[0].left = Side::parse(&["one-way.vpc.utilisation"]).unwrap();
        let message = refusal(&claims, &folder);
        assert!(
            message.ends_with("has no such law or point, allowed are vcp, xcp, reno+rem"),
            "{message}"
        );
        let mut claims = read(&folder);
        claims.claim[0].criteria[0].left = Side::parse(&["fig2a-1x1@99dB.vcp.utilisation"]).unwrap();
        let message = refusal(&claims, &folder);
        assert!(
            message.contains("no such law or point, allowed are @14dB.vcp, "),
            "{message}"
        );
        let mut claims = read(&folder);
        assert!(ledger::select(&mut claims, &["fig3.none".to_owned()], &[Ground::Sim]).is_err());
        ledger::select(&mut claims, &["fig3.vcp-converges".to_owned()], &[Ground::Sim]).unwrap();
        // The run and its three variants.
        assert_eq!((claims.claim.len(), claims.run.len()), (1, 4));
        // A variant that does not run what the claim is about.
        let mut claims = read(&folder);
        claims.variant[0].set = vec!["flow.law=xcp".to_owned()];
        ledger::select(&mut claims, &["fig3.vcp-converges".to_owned()], &[Ground::Sim]).unwrap();
        let message = refusal(&claims, &folder);
        assert!(
            message.contains("~sack\" has no such law or point, allowed are xcp"),
            "{message}"
        );
    }

    #[test]
    fn a_wrong_record_is_found_out() {
        // Goal: a verdict that the runs contradict is broken, also where few seeds decide.
        let folder = papers().join("vcp-ton-2010");
        let mut claims = read(&folder);
        claims.claim.iter_mut().for_each(|claim| claim.beside.clear());
        ledger::select(&mut claims, &["fig3.vcp-converges".to_owned()], &[Ground::Sim]).unwrap();
        claims.claim[0].verdict = fadelab_results::Verdict::Differs;
        claims.run[0].set = vec!["flow.law=vcp".to_owned(), "run.duration=100 s".to_owned()];
        judged(&folder, claims, 2, |entries, _| {
            assert!(
                entries[0].is_broken(false) && entries[0].is_broken(true),
                "{}",
                entries[0].measured
            );
            assert_eq!(entries[0].standing(true), "NO LONGER HOLDS");
        });
    }

    fn folders() -> Vec<PathBuf> {
        let entries = std::fs::read_dir(papers()).unwrap().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
    }

    #[test]
    fn readers_find_every_verdict() {
        // Goal: the table of a paper's README has a row for each claim with the verdict that is recorded, and no other.
        for folder in folders() {
            let claims = read(&folder);
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
            let mut claims = read(&folder);
            ledger::select(&mut claims, &[], &[Ground::Sim, Ground::Virtual, Ground::Live]).unwrap();
            let all: Drawings = paper::read_if_there(&folder, "figures.toml").unwrap();
            let drawn = drawings(&folder, &claims).unwrap();
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
        let folder = papers().join("vcp-ton-2010");
        let mut claims = read(&folder);
        claims.claim.iter_mut().for_each(|claim| claim.beside.clear());
        ledger::select(&mut claims, &["fig5.xcp-2to1".to_owned()], &[Ground::Sim]).unwrap();
        for runs in &mut claims.run {
            runs.set = vec!["flow.law=xcp".to_owned(), "run.duration=20 s".to_owned()];
        }
        let plan = merged(&claims, &plans(&folder, &claims, Some(1)).unwrap(), |_| true);
        assert_eq!((claims.run.len(), plan.runs.len()), (3, 1));
        judged(&folder, claims, 1, |_, figures| {
            let of_runs = figures.iter().filter(|f| f.seed.is_some());
            let names: Vec<&str> = of_runs.map(|f| f.run.as_str()).collect();
            assert_eq!(names, ["lot", "lot-bc", "lot-de"]);
            assert_ne!(figures[0].get("queue_pkts_mean"), figures[1].get("queue_pkts_mean"));
        });
    }

    #[test]
    fn recorded_verdicts_hold() {
        // Goal: what papers/ says about every claim is what some of its seeds show, or those cannot decide it.
        // Whole ledgers take minutes of this build: of each, here is what needs no run, and what needs short ones.
        let short: &[(&str, u32, &[&str])] = &[
            (
                "vcp-milcom-2007",
                10,
                &["fig3.", "fig4.", "fig5.", "fig6.", "fig10.faster"],
            ),
            ("vcp-ton-2010", 3, &["fig3.", "fig2c.timeouts"]),
        ];
        for (key, seeds_n, prefixes) in short {
            let folder = papers().join(key);
            let mut claims = read(&folder);
            let quick = |claim: &paper::Claimed| {
                let mut runs = claim.all_criteria().flat_map(Criterion::runs);
                let is_exact = runs.all(|id| claims.channel.iter().any(|channel| channel.id == id));
                is_exact || prefixes.iter().any(|prefix| claim.id.starts_with(prefix))
            };
            let ids = claims
                .claim
                .iter()
                .filter(|claim| quick(claim))
                .map(|claim| claim.id.clone());
            let ids: Vec<String> = ids.collect();
            assert!(ids.len() > 13, "{ids:?}");
            // Variants of one claim stand for those of all.
            for claim in claims
                .claim
                .iter_mut()
                .filter(|claim| !["fig3.vcp-queue", "fig3.red-time"].contains(&&*claim.id))
            {
                claim.beside.clear();
            }
            ledger::select(&mut claims, &ids, &[Ground::Sim]).unwrap();
            judged(&folder, claims, *seeds_n, |entries, _| {
                let decided = entries.iter().filter(|entry| !entry.is_open()).count();
                assert!(
                    decided * 2 > entries.len(),
                    "{seeds_n} seeds should decide most claims: {decided}"
                );
                for entry in entries {
                    assert!(!entry.is_broken(false), "{}: {}", entry.claim.id, entry.measured);
                }
            });
        }
    }
}
