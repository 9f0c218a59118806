//! `fadelab reproduce`: runs what a paper's claims speak of, prints the ledger and says whether recorded verdicts hold.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::slice;
use std::time::Instant;

use clap::Args;
use fadelab_claims::{Entry, Ledger, Part, Studies};
use fadelab_lab::{Failure, Kept, Simulator};
use fadelab_results::{Run, Target};
use fadelab_scenario::plan::Plan;
use fadelab_testbed::Sysctl;

use crate::compare::Ground;
use crate::progress::Terminal;
use crate::testbed::{self, GuestArgs, KERNEL};
use crate::{args, kept, output, run};

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
    /// Grounds to run it on; what a claim needs on another one is left out
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "sim",
        conflicts_with = "studies"
    )]
    pub ground: Vec<Ground>,
    /// Runs at the same time: threads, guests, or runs in real time [default: one per core, in real time 1]
    #[arg(long, value_name = "N", value_parser = args::threads)]
    pub jobs: Option<NonZeroUsize>,
    /// Run everything again, also what an interrupted ledger had finished
    #[arg(long, conflicts_with = "studies")]
    pub fresh: bool,
    /// Seeds 1 to N [default: those of the scenarios]; verdicts were reached with the default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub seeds: Option<u32>,
    /// Folder for the page and its data, which must be empty or not exist [default: results/PAPER-001, numbered on]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Folder that holds the papers
    #[arg(long, value_name = "DIR", default_value = fadelab_claims::FOLDER)]
    pub papers: PathBuf,
}

/// Runs a paper's claims or studies.
///
/// # Errors
/// Files of the paper or of its scenarios that are not valid, a failed run, a result that cannot be written, or
/// recorded verdicts that no longer hold.
pub fn reproduce(args: &ReproduceArgs) -> Result<(), Failure> {
    let folder = fadelab_claims::folder(&args.papers, &args.paper)?;
    if !args.studies.is_empty() {
        return studies(args, &folder);
    }
    let grounds: Vec<_> = args.ground.iter().map(|ground| ground.of_claims()).collect();
    let claims = fadelab_claims::read(&folder, &args.claims, &grounds)?;
    let target = args.out.clone().map_or_else(
        || Target::Numbered {
            parent: PathBuf::from("results"),
            name: args.paper.clone(),
        },
        Target::Exact,
    );
    target.check().map_err(Failure::invalid)?;
    let ledger = Ledger::of(&folder, claims, args.seeds)?;
    let wall = Instant::now();
    let parts = made(&ledger, &args.ground, &target)?;
    let kept: Vec<Kept> = (ledger.parts().iter().zip(&parts))
        .map(|(part, ground)| Kept::of(&part.plan, &**ground, &target, args.fresh))
        .collect::<Result<_, _>>()?;
    output::note(&kept::greeting(&kept));
    let (mut all, mut guest) = (Vec::new(), None);
    for ((part, ground), kept) in ledger.parts().iter().zip(&parts).zip(&kept) {
        all.extend(runs(&**ground, &part.plan, args.jobs, slice::from_ref(kept))?);
        guest = guest.or_else(|| ground.guest());
    }
    let judged = ledger.judge(all)?;
    let page = judged
        .write(
            &target,
            wall.elapsed().as_secs_f64(),
            args.jobs.map_or_else(run::cores, NonZeroUsize::get),
            guest,
        )
        .map_err(|error| kept::not_written(&error, &kept))?;
    kept.iter().for_each(Kept::remove);
    let complete = args.seeds.is_none();
    let heading = |id: &str| console::style(id).bold().to_string();
    let text = fadelab_claims::text(ledger.claims(), &judged.entries, complete, &heading);
    output::print_told(&format!("{text}\n{}\n", page.display()))?;
    let broken = judged.broken(complete);
    if broken.is_empty() {
        return if complete && ledger.claims().away.runs.is_empty() {
            stated(&folder, &judged.entries)
        } else {
            Ok(())
        };
    }
    Err(Failure::Failed(format!(
        "what is recorded no longer holds for {}: find out why, then correct {}",
        broken.join(", "),
        folder.join("claims.toml").display()
    )))
}

/// Refuses figures of the paper's README that no run gave: they were typed, and what they were typed from has moved.
fn stated(folder: &Path, entries: &[Entry]) -> Result<(), Failure> {
    let readme = folder.join("README.md");
    // A paper that somebody is at work on has none yet.
    let text = std::fs::read_to_string(&readme).unwrap_or_default();
    let stale = fadelab_claims::unmeasured(&text, entries);
    if stale.is_empty() {
        return Ok(());
    }
    Err(Failure::Failed(format!(
        "{} states what was not measured: {}; write there what the ledger above says",
        readme.display(),
        stale.join(", ")
    )))
}

/// Prints the studies that were asked for.
fn studies(args: &ReproduceArgs, folder: &Path) -> Result<(), Failure> {
    let studies = Studies::read(folder)?;
    for id in &args.studies {
        let study = studies.named(id)?;
        let plan = study.plan(folder, args.seeds)?;
        output::print(&study.table(&runs(&Simulator, &plan, args.jobs, &[])?)?)?;
    }
    Ok(())
}

/// The grounds of a ledger's parts, in their order, ready to run them; those of parts are among those asked for.
fn made(ledger: &Ledger, asked: &[Ground], target: &Target) -> Result<Vec<Box<dyn fadelab_lab::Ground>>, Failure> {
    let made = |part: &Part| {
        let guest = GuestArgs {
            kernel: KERNEL.to_owned(),
            iperf3: false,
            sysctls: part.sysctls.iter().map(|text| sysctl(text)).collect::<Result<_, _>>()?,
            no_snapshot: false,
        };
        let is_it = |ground: &&Ground| ground.of_claims() == part.ground;
        let ground = asked.iter().find(is_it).expect("others were left out");
        let mut ground = ground.made(&guest)?;
        fadelab_lab::prepare(&part.plan, target, &mut [&mut *ground], &testbed::step)?;
        Ok(ground)
    };
    ledger.parts().iter().map(made).collect()
}

fn sysctl(text: &str) -> Result<Sysctl, Failure> {
    text.parse()
        .map_err(|error| Failure::Invalid(format!("claims.toml, sysctl \"{text}\": {error}")))
}

fn runs(
    ground: &dyn fadelab_lab::Ground,
    plan: &Plan,
    jobs: Option<NonZeroUsize>,
    kept: &[Kept],
) -> Result<Vec<Run>, Failure> {
    let threads = if ground.is_alone() {
        run::threads_alone(jobs)
    } else {
        run::threads(jobs, plan)
    };
    let swept = fadelab_lab::sweep(ground, plan, threads, kept.first(), &Terminal::new(false));
    swept.map(|swept| swept.runs).map_err(|stop| {
        kept::failure(stop, kept, |index, why| {
            let run = &plan.runs[index];
            let point = fadelab_results::point_text(&run.point);
            format!("{point}, law {}, seed {}: {why}", run.law_label, run.seed)
        })
    })
}
