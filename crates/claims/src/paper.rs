//! What a folder under `papers/` says: claims with their criteria and recorded verdicts, and studies of causes.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use fadelab_results::Verdict;
use fadelab_scenario::plan::Plan;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::channels::Channel;
use super::criterion::Criterion;
use super::embedded;
use super::quantity::Quantity;
use super::told::Told;
use crate::Failure;

/// `claims.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claims {
    /// Who published it where.
    pub paper: String,
    /// Which part of it the claims are about.
    pub subject: String,
    /// What is run for the claims.
    pub run: Vec<Runs>,
    /// What else claims are looked at under.
    #[serde(default)]
    pub variant: Vec<Variant>,
    /// Channels whose mathematics claims speak of.
    #[serde(default)]
    pub channel: Vec<Channel>,
    /// In the order of the ledger.
    pub claim: Vec<Claimed>,
    /// What is left out.
    #[serde(skip)]
    pub away: Away,
}

/// What is left out because of where it runs, each with its ground.
#[derive(Debug, Default)]
pub struct Away {
    pub runs: BTreeMap<String, Ground>,
    pub variants: BTreeMap<String, Ground>,
    pub claims: BTreeMap<String, Ground>,
}

/// Where something is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ground {
    /// The simulator.
    #[default]
    Sim,
    /// A Linux kernel in virtual time.
    Virtual,
    /// This machine's kernel in real time.
    Live,
}

impl Ground {
    /// As in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sim => "sim",
            Self::Virtual => "virtual",
            Self::Live => "live",
        }
    }
}

impl Claims {
    /// The first run with the scenario and the settings of the run `id`: what is simulated once for all of them.
    pub fn first_like<'a>(&'a self, id: &'a str) -> &'a str {
        let wanted = self.run.iter().find(|runs| runs.id == id);
        let like = wanted.and_then(|wanted| self.run.iter().find(|runs| runs.is_like(wanted)));
        like.map_or(id, |runs| &runs.id)
    }
}

/// A scenario under a name that criteria refer to.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Runs {
    /// Name of the run.
    pub id: String,
    /// Path relative to the paper's folder.
    pub scenario: PathBuf,
    /// As `--set` of `fadelab run`.
    #[serde(default)]
    pub set: Vec<String>,
    /// Name of the link that is looked at.
    pub link: String,
    /// Where it is run.
    #[serde(default)]
    pub ground: Ground,
    /// Settings of hosts and routers in a kernel, as `--sysctl` of `fadelab testbed run`.
    #[serde(default)]
    pub sysctl: Vec<String>,
}

impl Runs {
    /// Whether the other runs the same; the links that are looked at may differ.
    pub fn is_like(&self, other: &Self) -> bool {
        (&self.scenario, &self.set) == (&other.scenario, &other.set) && self.is_beside(other)
    }

    /// Whether both can be runs of one plan: on one ground, with the same settings of its kernel.
    pub fn is_beside(&self, other: &Self) -> bool {
        (self.ground, &self.sysctl) == (other.ground, &other.sysctl)
    }
}

/// Settings that any run may be given behind its own: as the authors did not run it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Name of the variant.
    pub id: String,
    /// What it stands for.
    pub what: String,
    /// As `--set` of `fadelab run`.
    pub set: Vec<String>,
    /// Where it is run; absent: where the run itself is.
    #[serde(default)]
    pub ground: Option<Ground>,
    /// As of a run, behind its own.
    #[serde(default)]
    pub sysctl: Vec<String>,
}

/// A sentence of a paper, how it is checked, and what came of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claimed {
    /// Unique in the paper.
    pub id: String,
    /// Section, figure or table.
    #[serde(rename = "where")]
    pub place: String,
    /// What was published, in our words.
    pub published: String,
    /// What the sentence comes to; all must hold.
    pub criteria: Vec<Criterion>,
    /// What `why` rests on; all must hold, whatever the verdict.
    #[serde(default)]
    pub evidence: Vec<Criterion>,
    /// Why the criteria are what they are.
    pub reason: String,
    /// The verdict that was reached.
    #[serde(deserialize_with = "verdict")]
    pub verdict: Verdict,
    /// What became of it under variants.
    #[serde(default, deserialize_with = "verdicts")]
    pub beside: BTreeMap<String, Verdict>,
    /// What we make of it.
    pub why: Told,
}

impl Claimed {
    /// Criteria, then evidence.
    pub fn all_criteria(&self) -> impl Iterator<Item = &Criterion> {
        self.criteria.iter().chain(&self.evidence)
    }

    /// All that it speaks of.
    pub fn quantities(&self) -> impl Iterator<Item = &Quantity> {
        self.all_criteria()
            .flat_map(Criterion::quantities)
            .chain(self.why.quantities())
    }
}

/// `studies.toml`: sweeps behind what the ledger says about causes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Studies {
    /// In the order of the account.
    pub study: Vec<Study>,
}

/// One table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Unique in the paper.
    pub id: String,
    /// What the table answers.
    pub question: String,
    /// Path relative to the paper's folder.
    pub scenario: PathBuf,
    /// As `--set` of `fadelab run`; a sweep gives the rows.
    #[serde(default)]
    pub set: Vec<String>,
    /// Name of the link that is looked at.
    pub link: String,
    /// Columns.
    pub show: Vec<String>,
}

fn verdict<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Verdict, D::Error> {
    named(&String::deserialize(deserializer)?)
}

fn verdicts<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, Verdict>, D::Error> {
    let texts = BTreeMap::<String, String>::deserialize(deserializer)?;
    texts.into_iter().map(|(id, text)| Ok((id, named(&text)?))).collect()
}

fn named<E: serde::de::Error>(text: &str) -> Result<Verdict, E> {
    Verdict::ALL
        .into_iter()
        .find(|verdict| verdict.text() == text)
        .ok_or_else(|| {
            E::custom(format!(
                "verdict \"{text}\" is not known: allowed are \"reproduced\", \"differs\", \"cannot be as \
             printed\" and \"not decided\""
            ))
        })
}

/// Where papers are looked for unless a folder is named.
pub const FOLDER: &str = "papers";

/// The folder of a paper; where the default has none, that of one that comes with the program is named all the same.
///
/// # Errors
/// There is none under that key.
pub fn folder(papers: &Path, key: &str) -> Result<PathBuf, Failure> {
    let folder = papers.join(key);
    if folder.join("claims.toml").is_file() {
        return Ok(folder);
    }
    let is_default = papers == Path::new(FOLDER);
    let embedded = if is_default { embedded::keys() } else { Vec::new() };
    if embedded.contains(&key) {
        return Ok(folder);
    }
    let mut keys: Vec<String> = fs::read_dir(papers)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.path().join("claims.toml").is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    keys.extend(embedded.into_iter().map(str::to_owned));
    keys.sort();
    keys.dedup();
    let known = match keys.as_slice() {
        [] => "there are no papers there, name their folder with --papers".to_owned(),
        keys => format!("there are {}", keys.join(", ")),
    };
    Err(Failure::Invalid(format!(
        "no paper \"{key}\" in {}: {known}",
        papers.display()
    )))
}

/// Reads a file that a paper may lack.
///
/// # Errors
/// As [`read_file`], but for a file that is not there.
pub fn read_if_there<T: DeserializeOwned + Default>(folder: &Path, name: &str) -> Result<T, Failure> {
    let is_there = folder.join(name).exists() || embedded::text(folder, Path::new(name)).is_some();
    if is_there {
        read_file(folder, name)
    } else {
        Ok(T::default())
    }
}

/// Reads one of the files.
///
/// # Errors
/// It cannot be read, or says something that it must not.
pub fn read_file<T: DeserializeOwned>(folder: &Path, name: &str) -> Result<T, Failure> {
    let path = folder.join(name);
    let shown = path.display();
    let text = match (fs::read_to_string(&path), embedded::text(folder, Path::new(name))) {
        (Ok(text), _) => text,
        (Err(error), Some(text)) if error.kind() == ErrorKind::NotFound => text.to_owned(),
        (Err(error), _) => return Err(Failure::Invalid(format!("{shown}: {error}"))),
    };
    toml::from_str(&text).map_err(|error| Failure::Invalid(format!("{shown}: {error}")))
}

/// The plan of a scenario for a ground, named from the paper's folder, with `seeds_n` seeds, 1 to that number; `None`
/// keeps the scenario's.
///
/// # Errors
/// An invalid scenario.
pub fn plan(
    folder: &Path,
    scenario: &Path,
    sets: &[String],
    seeds_n: Option<u32>,
    ground: Ground,
) -> Result<Plan, Failure> {
    let mut sets = sets.to_vec();
    sets.extend(seeds_n.map(|n| match n {
        1 => "run.seeds=1".to_owned(),
        n => format!("run.seeds=1..{n}"),
    }));
    let options = fadelab_scenario::Options {
        sets,
        is_live: ground == Ground::Live,
        ..Default::default()
    };
    let path = folder.join(scenario);
    match embedded::scenario(folder, scenario).filter(|_| !path.exists()) {
        Some(text) => {
            let name = path.display().to_string();
            Ok(fadelab_scenario::parse(text.as_bytes(), &name, folder, &options)?)
        }
        None => Ok(fadelab_scenario::load(&path, &options)?),
    }
}
