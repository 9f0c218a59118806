//! Which link is the bottleneck: what headlines and first charts are of.

use std::collections::BTreeMap;

use crate::measure::{self, Metric};
use crate::summary::Group;
use crate::{Run, distinct::in_order};

/// A scenario that has a link of this name has said it.
const NAME: &str = "bottleneck";

/// The links that data cross, by what they are for a reader.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranked {
    /// All of them: the bottleneck, then the other links that data of several flows cross, then the rest.
    pub data: Vec<String>,
    /// Those that data of a single flow cross while others are shared: access links.
    pub access: Vec<String>,
}

/// Ranks the links of `groups`. The bottleneck is the link called `bottleneck`; where there is none, the one with the
/// highest utilisation, mean over all runs, of those that data of several flows cross, or of all where no link is shared.
pub fn ranked(runs: &[Run], groups: &[Group]) -> Ranked {
    let carried = groups.iter().filter(|group| group.stat(Metric::Goodput).is_some());
    let mut data: Vec<String> = in_order(carried.map(|group| group.link.clone()));
    let flows = flows_most(runs, &data);
    let is_shared = |link: &String| flows.get(link).is_some_and(|&n| n > 1);
    let (shared, access): (Vec<String>, Vec<String>) = data.iter().cloned().partition(is_shared);
    let rivals = if shared.is_empty() { &data } else { &shared };
    let named = data.iter().find(|link| *link == NAME).cloned();
    let Some(first) = named.or_else(|| most_utilised(rivals, groups)) else {
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
    for run in runs {
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
fn most_utilised(links: &[String], groups: &[Group]) -> Option<String> {
    let utilisation = |link: &String| {
        let here = groups.iter().filter(|group| group.link == *link);
        let values: Vec<f64> = here
            .filter_map(|group| Some(group.stat(Metric::Utilisation)?.mean))
            .collect();
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
