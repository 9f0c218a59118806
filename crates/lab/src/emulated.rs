//! Links that are emulated in real time: each way of one is a link of a scenario.

use std::path::{Path, PathBuf};

use fadelab_emu::Lane;
use fadelab_path::spec::LinkSpec;
use fadelab_scenario::{Options, plan::Plan};
use serde::{Deserialize, Serialize};

use crate::Failure;

/// A scenario with one link, of which a way is made where no scenario is given.
const BASE: &str = r#"
title = "An emulated link"

[run]
duration = "1 s"

[topology]
preset = "dumbbell"

[topology.bottleneck]

[topology.access]
rate = "100 Gbit/s"
delay = "0 s"

[flow]
law = "reno+droptail"
"#;

/// The link's keys may be given as those of a table `link`.
const LINK_KEYS: [&str; 2] = ["link.", "topology.bottleneck."];

/// One way of an emulated link: a link of a scenario, under a name of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Way {
    /// It names the way's random streams.
    pub name: String,
    /// The scenario with everything filled in.
    pub scenario: String,
    /// From where its paths lead.
    pub folder: PathBuf,
    /// The link in it.
    pub link: String,
    /// Of every random stream.
    pub seed: u64,
    /// Of a full packet.
    pub packet_bytes: u16,
}

impl Way {
    /// A way of keys alone, each `key=value`, later ones before earlier ones.
    ///
    /// # Errors
    /// Keys that make no link.
    pub fn of_keys(name: &str, sets: &[String], seed: u64, packet_bytes: u16) -> Result<Self, Failure> {
        let [short, long] = LINK_KEYS;
        let spelt = |set: &String| {
            set.strip_prefix(short)
                .map_or_else(|| set.clone(), |rest| format!("{long}{rest}"))
        };
        let own = [
            format!("transport.packet={packet_bytes} B"),
            format!("run.seeds={seed}"),
        ];
        let sets = own.into_iter().chain(sets.iter().map(spelt)).collect();
        let options = Options {
            sets,
            ..Options::default()
        };
        let plan = fadelab_scenario::parse(BASE.as_bytes(), name, Path::new(""), &options)?;
        Self::of_plan(name, &plan, Path::new(""), None, packet_bytes)
    }

    /// A way that is a link of a plan; without a name the one that results show.
    ///
    /// # Errors
    /// No such link, or a plan of several runs, which are several links.
    pub fn of_plan(
        name: &str,
        plan: &Plan,
        folder: &Path,
        link: Option<&str>,
        packet_bytes: u16,
    ) -> Result<Self, Failure> {
        let [run] = plan.runs.as_slice() else {
            return Err(Failure::Invalid(format!(
                "the scenario has {} runs, over {}; an emulated link is of one: choose with --set, for example --set \
                 run.seeds=1",
                plan.runs.len(),
                plan.sweep_keys.join(", ")
            )));
        };
        let links = &run.spec.network.links;
        let found = match link {
            Some(link) => links.iter().find(|edge| &*edge.name == link),
            None => links.iter().find(|edge| edge.shown),
        };
        let names = || {
            links
                .iter()
                .map(|edge| edge.name.to_string())
                .collect::<Vec<_>>()
                .join(", ")
        };
        let found = found.ok_or_else(|| {
            let given = link.unwrap_or("a link that results show");
            Failure::Invalid(format!("{given}: there is no such link; allowed are {}", names()))
        })?;
        Ok(Self {
            name: name.to_owned(),
            scenario: plan.text.clone(),
            folder: folder.to_owned(),
            link: found.name.to_string(),
            seed: run.seed,
            packet_bytes,
        })
    }

    /// The link.
    ///
    /// # Errors
    /// A scenario that is none any more: a trace that is gone, or another version of fadelab.
    pub fn spec(&self) -> Result<LinkSpec, Failure> {
        let plan = fadelab_scenario::parse(self.scenario.as_bytes(), &self.name, &self.folder, &Options::default())?;
        let links = plan.runs.into_iter().next().map(|run| run.spec.network.links);
        let found = links.into_iter().flatten().find(|edge| *edge.name == *self.link);
        let mut spec = found
            .ok_or_else(|| Failure::Invalid(format!("{}: the scenario has no such link", self.link)))?
            .link;
        spec.name = self.name.as_str().into();
        Ok(spec)
    }

    /// Its lane, in which nothing has arrived yet.
    ///
    /// # Errors
    /// See [`Self::spec`].
    pub fn lane(&self) -> Result<Lane, Failure> {
        Ok(Lane::new(&self.spec()?, self.seed, self.packet_bytes))
    }
}

/// How a router's law is written as the law of a run: behind a sender that brings it along, or behind any.
pub fn run_law(router: &str) -> String {
    let brings_it = fadelab_laws::sender(router).is_some_and(|sender| sender.router() == Some(router));
    if brings_it {
        router.to_owned()
    } else {
        format!("reno+{router}")
    }
}
