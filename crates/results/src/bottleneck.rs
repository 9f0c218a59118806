//! Which link is the bottleneck: what headlines and first charts are of.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::Run;
use crate::distinct::in_order;
use crate::measure;

/// A scenario that has a link of this name has said it.
const NAME: &str = "bottleneck";

/// A law at a point of the sweep, seen at a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen<'a> {
    /// Name of the link.
    pub link: &'a str,
    /// Whether data cross it, and not ACKs alone.
    pub carries_data: bool,
    /// Mean over the seeds.
    pub utilisation: Option<f64>,
}

/// The links that data cross, by what they are for a reader.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranked {
    /// All of them: the bottleneck, then the other links that data of several flows cross, then the rest.
    pub data: Vec<String>,
    /// Those that data of a single flow cross while others are shared: access links.
    pub access: Vec<String>,
}

/// Ranks the links that were seen. The bottleneck is the link called `bottleneck`; where there is none, of those that
/// data of several flows cross the one with the highest utilisation, mean over points and laws; where no link is
/// shared, of all.
pub fn ranked(runs: &[Run], seen: &[Seen]) -> Ranked {
    let carried = seen.iter().filter(|seen| seen.carries_data);
    let mut data: Vec<String> = in_order(carried.map(|seen| seen.link.to_owned()));
    let flows = flows_most(runs, &data);
    let is_shared = |link: &String| flows.get(link).is_some_and(|&n| n > 1);
    let (shared, access): (Vec<String>, Vec<String>) = data.iter().cloned().partition(is_shared);
    let rivals = if shared.is_empty() { &data } else { &shared };
    let named = data.iter().find(|link| *link == NAME).cloned();
    let Some(first) = named.or_else(|| most_utilised(rivals, seen)) else {
        return Ranked::default();
    };
    let is_access = |link: &String| !shared.is_empty() && access.contains(link);
    data.sort_by_key(|link| (*link != first, is_access(link)));
    let access = data.iter().filter(|link| is_access(link) && **link != first).cloned();
    Ranked {
        access: access.collect(),
        data,
    }
}

/// Per link the most flows whose data cross it in a run.
fn flows_most(runs: &[Run], links: &[String]) -> BTreeMap<String, usize> {
    let mut most = BTreeMap::new();
    let mut seen = BTreeSet::new();
    // Runs that differ in their seed alone share a spec.
    for run in runs.iter().filter(|run| seen.insert(Arc::as_ptr(&run.spec))) {
        for (id, link) in run.spec.links.iter().enumerate() {
            if links.iter().any(|name| **name == *link.name) {
                let flows = most.entry(link.name.to_string()).or_insert(0);
                *flows = (*flows).max(measure::crossing_flows(run, id).len());
            }
        }
    }
    most
}

/// The first of equals.
fn most_utilised(links: &[String], seen: &[Seen]) -> Option<String> {
    let utilisation = |link: &String| {
        let here = seen.iter().filter(|seen| seen.link == link);
        let values: Vec<f64> = here.filter_map(|seen| seen.utilisation).collect();
        values.iter().sum::<f64>() / values.len().max(1) as f64
    };
    let mut best = (utilisation(links.first()?), links.first()?);
    for link in &links[1..] {
        let used = utilisation(link);
        if used > best.0 {
            best = (used, link);
        }
    }
    Some(best.1.clone())
}
