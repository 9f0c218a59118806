//! What laws do to each other: each group of flows beside another one, and by itself.
//!
//! Harm is that of Ware, Mukerjee, Seshan and Sherry (`HotNets` 2019): the part of what flows have when they are alone
//! that the others take from them. A law may be deployed beside another, they propose, if it harms that one no more
//! than it harms itself; so both are told, and their difference under the same seeds.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::Run;
use crate::convergence;
use crate::distinct::in_order;
use crate::interval::{Stat, Times};
use crate::measure::{self, Metric};
use crate::shares::{self, FlowGroup};

/// One law beside another at a link: means over seeds, each absent where no run says it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Beside {
    /// Sweep coordinates besides laws and seed.
    pub point: Vec<(String, String)>,
    /// Name of the link.
    pub link: String,
    /// Name of the ground.
    #[serde(skip)]
    pub ground: String,
    /// Name of the group, where it matters which of the two it is: they differ in more than their laws.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Law of its senders.
    pub law: String,
    /// How many flows it has.
    pub flows: usize,
    /// Law of the others; the same as `law` where it is beside itself.
    pub beside: String,
    /// How many they are.
    pub beside_flows: usize,
    /// Part of the payload of both; absent beside itself, where the two are alike.
    pub share: Option<Stat>,
    /// Part of the goodput it has alone that the others take.
    pub harm: Option<Stat>,
    /// The same of its round trips, which are better when they are short: 1 - alone / beside.
    pub harm_rtt: Option<Stat>,
    /// How much more goodput the others take than as many of its own kind in their place do.
    pub harm_beyond_itself: Option<Stat>,
    /// From the last start until it stays near its fair share, see `groups.parquet`.
    pub convergence: Times,
    /// Seeds of its runs.
    pub seeds: usize,
    /// Labels of the runs in which the two met.
    #[serde(skip)]
    pub labels: Vec<String>,
}

/// Names and units of what is told of a law beside another.
pub const FIGURES: [(&str, &str); 4] = [
    ("share", "1"),
    ("harm", "1"),
    ("harm_rtt", "1"),
    ("harm_beyond_itself", "1"),
];

impl Beside {
    /// In the order of [`FIGURES`].
    pub fn figures(&self) -> [Option<Stat>; 4] {
        [self.share, self.harm, self.harm_rtt, self.harm_beyond_itself]
    }
}

/// Two groups of flows in a run at a link, or one that is alone there.
struct Met<'a> {
    run: &'a Run,
    link: usize,
    groups: Vec<FlowGroup>,
}

/// What a group had in a run.
struct Had {
    seed: u64,
    label: String,
    share: Option<f64>,
    harm: Option<f64>,
    harm_rtt: Option<f64>,
    convergence_s: Option<f64>,
}

/// What tells the entries of a point and link apart: group, law, flows, other law, its flows.
type Who = (Option<String>, String, usize, String, usize);

/// Every law beside every other one that it shared `link` with, at one point of the sweep; none where no group was also
/// alone there.
pub(crate) fn besides(point: &[(String, String)], link: &str, runs: &[&Run]) -> Vec<Beside> {
    // A law that is beside another in one run and alone in another is of two labels.
    if in_order(runs.iter().map(|run| &run.law)).len() < 2 {
        return Vec::new();
    }
    let mut all = Vec::new();
    for ground in in_order(runs.iter().map(|run| run.ground.as_str())) {
        let here = runs.iter().copied().filter(|run| run.ground == ground);
        let here: Vec<Met> = here.filter_map(|run| met(run, link)).collect();
        all.extend(on_ground(point, link, ground, &here));
    }
    all
}

/// The groups of flows that share the link in a run: one or two, all with congestion control.
fn met<'a>(run: &'a Run, link: &str) -> Option<Met<'a>> {
    let link = run.spec.links.iter().position(|spec| spec.name.as_ref() == link)?;
    let groups = shares::flow_groups(run, link);
    let has_law = |group: &FlowGroup| group.flows.iter().all(|&flow| run.spec.flows[flow].law.is_some());
    ((1..=2).contains(&groups.len()) && groups.iter().all(has_law)).then_some(Met { run, link, groups })
}

fn on_ground(point: &[(String, String)], link: &str, ground: &str, here: &[Met]) -> Vec<Beside> {
    let mut had: Vec<(Who, Vec<Had>)> = Vec::new();
    for met in here.iter().filter(|met| met.groups.len() == 2) {
        for side in 0..2 {
            let Some(alone) = alone(here, met, side) else { continue };
            let (own, other) = (&met.groups[side], &met.groups[1 - side]);
            let are_alike = are_alike(here, met);
            let who = (
                (!are_alike).then(|| own.name.clone()),
                own.sender.clone(),
                own.flows.len(),
                other.sender.clone(),
                other.flows.len(),
            );
            let entry = had_beside(met, side, alone, are_alike && own.sender == other.sender);
            match had.iter_mut().find(|(known, _)| *known == who) {
                Some((_, seeds)) => seeds.push(entry),
                None => had.push((who, vec![entry])),
            }
        }
    }
    let itself = |who: &Who| {
        let found = had
            .iter()
            .find(|(other, _)| other.0 == who.0 && other.1 == who.1 && other.3 == who.1);
        found.map_or_else(BTreeMap::new, |(_, seeds)| by_seed(seeds, |had| had.harm))
    };
    had.iter()
        .map(|(who, seeds)| beside(point, link, ground, who, seeds, &itself(who)))
        .collect()
}

/// The run in which a group of `met` was alone under the same seed: the group of that name, or where the two sides are
/// alike as many flows of its law.
fn alone<'a, 'r>(here: &'a [Met<'r>], met: &Met, side: usize) -> Option<&'a Met<'r>> {
    let own = &met.groups[side];
    let is_like = |other: &&Met| {
        let [alone] = &other.groups[..] else { return false };
        other.run.seed == met.run.seed && alone.sender == own.sender && alone.flows.len() == own.flows.len()
    };
    let of_name = here
        .iter()
        .filter(is_like)
        .find(|other| other.groups[0].name == own.name);
    of_name.or_else(|| here.iter().find(is_like))
}

/// Whether the two sides differ in their laws alone: then a law was alone on one of them only.
fn are_alike(here: &[Met], met: &Met) -> bool {
    (0..2).any(|side| alone(here, met, side).is_some_and(|alone| alone.groups[0].name != met.groups[side].name))
}

/// `is_trivial`: the share says nothing but which of two that are alike came first.
fn had_beside(met: &Met, side: usize, alone: &Met, is_trivial: bool) -> Had {
    let own = &met.groups[side].flows;
    let crossing = measure::crossing_flows(met.run, met.link);
    let beside = measure::of_flows(met.run, own);
    let by_itself = measure::of_flows(alone.run, &alone.groups[0].flows);
    let taken = |(alone, beside): (f64, f64)| (alone > 0.0).then(|| (alone - beside) / alone);
    let added = |(alone, beside): (f64, f64)| (beside > 0.0).then(|| (beside - alone) / beside);
    let both = |metric| by_itself.get(metric).zip(beside.get(metric));
    Had {
        seed: met.run.seed,
        label: met.run.law.clone(),
        share: if is_trivial {
            None
        } else {
            shares::part(met.run, own, &crossing)
        },
        harm: both(Metric::Goodput).and_then(taken),
        harm_rtt: both(Metric::Rtt).and_then(added),
        convergence_s: convergence::convergence_s(met.run, own, &crossing),
    }
}

/// A value per seed: the mean, where both sides of a run say one.
fn by_seed(seeds: &[Had], value: impl Fn(&Had) -> Option<f64>) -> BTreeMap<u64, f64> {
    let mut values: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for had in seeds {
        values.entry(had.seed).or_default().extend(value(had));
    }
    let said = values.into_iter().filter(|(_, values)| !values.is_empty());
    said.map(|(seed, values)| (seed, values.iter().sum::<f64>() / values.len() as f64))
        .collect()
}

fn beside(
    point: &[(String, String)],
    link: &str,
    ground: &str,
    who: &Who,
    seeds: &[Had],
    itself: &BTreeMap<u64, f64>,
) -> Beside {
    let (group, law, flows, other, other_flows) = who.clone();
    let stat = |values: &BTreeMap<u64, f64>, least: f64| {
        Stat::within(&values.values().copied().collect::<Vec<_>>(), least..=1.0)
    };
    let harm = by_seed(seeds, |had| had.harm);
    let beyond = harm.iter().filter_map(|(seed, harm)| Some(harm - itself.get(seed)?));
    let beyond: Vec<f64> = beyond.filter(|_| law != other).collect();
    let convergence_s = by_seed(seeds, |had| had.convergence_s).into_values().collect();
    let seeds_n = in_order(seeds.iter().map(|had| had.seed)).len();
    Beside {
        point: point.to_vec(),
        link: link.to_owned(),
        ground: ground.to_owned(),
        group,
        law,
        flows,
        beside: other,
        beside_flows: other_flows,
        share: stat(&by_seed(seeds, |had| had.share), 0.0),
        // Flows may have more than alone: harm has no least.
        harm: stat(&harm, f64::NEG_INFINITY),
        harm_rtt: stat(&by_seed(seeds, |had| had.harm_rtt), f64::NEG_INFINITY),
        harm_beyond_itself: Stat::of(&beyond),
        convergence: Times::of(convergence_s, seeds_n),
        seeds: seeds_n,
        labels: in_order(seeds.iter().map(|had| had.label.clone())),
    }
}
