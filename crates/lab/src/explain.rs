//! Why the window of a flow moved: the event, the branch that the law took, what the host made of it.
//!
//! The run is simulated again, which gives the same run, with the flow's sender in the build that tells its steps.

mod changes;

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use fadelab_laws::Sender;
use fadelab_laws::guard::{self, Seen};
use fadelab_laws::own::{self, Source, SourceFile};
use fadelab_laws::replay::Explained;
use fadelab_results::OwnLaw;
use fadelab_scenario::plan::{Plan, PlannedRun};
use fadelab_sim::RunError;
use serde::Deserialize;

use crate::Failure;
use crate::packets::place;

pub use changes::{Change, Changes};

/// Which flow of which run of a result; the first where nothing is said.
#[derive(Clone, Debug, Default)]
pub struct Which {
    /// Its name or its number, from 1; by default the first with a law.
    pub flow: Option<String>,
    /// Label of the law of its run.
    pub law: Option<String>,
    /// Seed of its run.
    pub seed: Option<u64>,
    /// `KEY=VALUE` of swept keys of its run, as the scenario spells them.
    pub sets: Vec<String>,
}

/// A flow whose window can be explained.
#[derive(Clone, Debug)]
pub struct Subject {
    pub run: PlannedRun,
    /// Its place among the flows of the run, from 0.
    pub flow: usize,
    /// Its law.
    pub sender: &'static Sender,
}

/// What is needed of `manifest.json`.
#[derive(Deserialize)]
struct Manifest {
    version: String,
    scenario: String,
    #[serde(default)]
    scenario_path: PathBuf,
    #[serde(default)]
    own_laws: Vec<OwnLaw>,
}

/// Whether a path is the folder of a result, even one that lacks its manifest.
pub fn is_result(folder: &Path) -> bool {
    ["manifest.json", "setup.json"]
        .iter()
        .any(|file| folder.join(file).is_file())
}

impl Subject {
    /// The flow of a result. The result's own laws are loaded as it keeps them; `warn` is told where the result is of
    /// another version.
    ///
    /// # Errors
    /// A result that cannot be read or does not have what is asked for.
    pub fn of(folder: &Path, which: &Which, warn: &dyn Fn(String)) -> Result<Self, Failure> {
        let plan = plan(folder, warn)?;
        let run = choose(&plan, which)?;
        let flow = flow(run, which.flow.as_deref())?;
        let spec = &run.spec.flows[flow];
        let Some(sender) = spec.sender else {
            return Err(Failure::Invalid(format!("flow {} has no law: it is UDP", spec.name)));
        };
        Ok(Self {
            run: run.clone(),
            flow,
            sender,
        })
    }

    /// The changes of its window around a virtual time, ns: the run is simulated until enough is known.
    ///
    /// # Errors
    /// A law that has no build that tells its steps, or a run that fails before that time.
    pub fn around(&self, at_ns: u64) -> Result<Changes, Failure> {
        let own = own::loaded()
            .into_iter()
            .find(|law| law.source.name == self.sender.name());
        let explained = match own {
            Some(law) => Explained::own(&law.source)?,
            None => Explained::builtin("sender", self.sender.name()).unwrap_or_default(),
        };
        let Some(explained) = explained.sender else {
            return Err(Failure::Failed(format!(
                "law {} has no build that tells its steps",
                self.sender.name()
            )));
        };
        let mut spec = self.run.spec.clone();
        let explained: &'static Sender = Box::leak(Box::new(explained));
        spec.flows[self.flow].sender = Some(explained);
        spec.record_interval_ns = None;
        let changes = Rc::new(RefCell::new(Changes::around(at_ns / 1000)));
        let gathered = Rc::clone(&changes);
        let observer = move |seen: &Seen<'_>| {
            // A law that a user brought is guarded in the other flows too.
            if seen.is_of(explained) {
                gathered.borrow_mut().see(seen, explained.watch());
            }
        };
        let done = guard::observe(observer, || {
            fadelab_sim::run(&spec, |_| !changes.borrow().are_complete())
        });
        match done {
            // A law at fault after the moment that is asked for does not stand in the way.
            Ok(_) | Err(RunError::Stopped | RunError::Law(_)) => {}
            Err(error) => return Err(Failure::Failed(error.to_string())),
        }
        let mut changes = changes.take();
        changes.close(None);
        Ok(changes)
    }
}

/// The plan of a result, its own laws loaded as the result keeps them.
fn plan(folder: &Path, warn: &dyn Fn(String)) -> Result<Plan, Failure> {
    let path = folder.join("manifest.json");
    let (manifest, _): (Manifest, _) = fadelab_results::manifest(folder)?;
    let version = env!("CARGO_PKG_VERSION");
    if manifest.version != version {
        warn(format!(
            "{}: the result is of fadelab {}, and this is {version}: its runs may have gone another way",
            folder.display(),
            manifest.version
        ));
    }
    for law in &manifest.own_laws {
        load(folder, law)?;
    }
    let options = fadelab_scenario::Options {
        runs_max: usize::MAX,
        ..fadelab_scenario::Options::default()
    };
    let name = path.display().to_string();
    // Paths of traces are relative to the scenario's folder.
    let origin = manifest.scenario_path.parent().unwrap_or(Path::new(""));
    Ok(fadelab_scenario::parse(
        manifest.scenario.as_bytes(),
        &name,
        origin,
        &options,
    )?)
}

/// Loads a law as the result keeps it.
fn load(folder: &Path, law: &OwnLaw) -> Result<(), Failure> {
    let read = |name: &String| {
        let path = folder.join("laws").join(&law.name).join(name);
        let text = fs::read_to_string(&path)
            .map_err(|error| Failure::Invalid(format!("{}: cannot be read: {error}", path.display())))?;
        Ok(SourceFile {
            name: name.clone(),
            text,
        })
    };
    let loaded = own::load_text(&Source {
        name: law.name.clone(),
        sha256: law.sha256.clone(),
        path: law.path.clone().into(),
        files: law.files.iter().map(read).collect::<Result<_, Failure>>()?,
    })?;
    if loaded.source.sha256 != law.sha256 {
        return Err(Failure::Invalid(format!(
            "{}: the law was changed after the run, which it can therefore not explain: its sha256 is {}, that of the \
             run {}; put the header back, or run the scenario again",
            folder.join("laws").join(&law.name).display(),
            loaded.source.sha256,
            law.sha256
        )));
    }
    Ok(())
}

/// The run that is asked for.
fn choose<'a>(plan: &'a Plan, which: &Which) -> Result<&'a PlannedRun, Failure> {
    let mut runs: Vec<&PlannedRun> = plan.runs.iter().collect();
    let mut keep = |given: String, what: &str, value: &dyn Fn(&PlannedRun) -> String| {
        let mut known: Vec<String> = Vec::new();
        for run in &runs {
            let value = value(run);
            if !known.contains(&value) {
                known.push(value);
            }
        }
        runs.retain(|run| value(run) == given);
        if runs.is_empty() {
            let known = known.join(", ");
            return Err(Failure::Invalid(format!(
                "no run of the result has {what} {given}; there is {known}"
            )));
        }
        Ok(())
    };
    if let Some(law) = &which.law {
        keep(law.clone(), "--law", &|run| run.law_label.clone())?;
    }
    for set in &which.sets {
        let Some((key, value)) = set.split_once('=') else {
            return Err(Failure::Invalid(format!("--set {set}: KEY=VALUE is needed")));
        };
        let of = |run: &PlannedRun| {
            let found = run.point.iter().find(|(known, _)| known == key.trim());
            found.map_or_else(|| "nothing".to_owned(), |(_, value)| value.clone())
        };
        keep(value.trim().to_owned(), &format!("--set {key}"), &of)?;
    }
    if let Some(seed) = which.seed {
        keep(seed.to_string(), "--seed", &|run| run.seed.to_string())?;
    }
    runs.first()
        .copied()
        .ok_or_else(|| Failure::Invalid("the result has no runs".to_owned()))
}

/// Position of the flow that is named or numbered.
fn flow(run: &PlannedRun, given: Option<&str>) -> Result<usize, Failure> {
    let flows = &run.spec.flows;
    let Some(given) = given else {
        let first = flows.iter().position(|flow| flow.sender.is_some());
        return first.ok_or_else(|| Failure::Invalid("no flow of the run has a law".to_owned()));
    };
    place(given, flows).ok_or_else(|| {
        let names: Vec<&str> = flows.iter().take(10).map(|flow| flow.name.as_ref()).collect();
        let more = if flows.len() > names.len() { ", ..." } else { "" };
        let names = names.join(", ");
        Failure::Invalid(format!(
            "no flow {given}: allowed is 1 to {}, or a name: {names}{more}",
            flows.len()
        ))
    })
}
