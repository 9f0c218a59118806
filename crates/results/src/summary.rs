//! Every figure that a person reads: means over seeds with intervals, and paired differences between laws.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::bottleneck::{self, Ranked, Seen};
use crate::contender::{Contender, contenders, grounds, sender_looks};
use crate::distance::{Distance, distances};
use crate::distinct::in_order;
use crate::interval::Stat;
use crate::measure::{self, Figures, METRICS, Metric};
use crate::shares::{self, Share};
use crate::versus::{self, Beside};
use crate::{Claim, Experiment, Picture, Run};

/// What an experiment showed. Equal experiments give equal summaries, byte by byte as JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Title of the scenario.
    pub title: String,
    /// What the scenario shows.
    pub about: String,
    /// Grounds of the runs, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub grounds: Vec<String>,
    /// Labels of the laws, in the order of the scenario; on several grounds, of each law on each.
    pub laws: Vec<String>,
    /// What stands behind each of `laws`.
    #[serde(skip)]
    pub contenders: Vec<Contender>,
    /// Laws of the senders where several share the links, and their looks on the page.
    #[serde(skip)]
    pub senders: Vec<(String, usize)>,
    /// Name of the link that comes first: see [`crate::bottleneck`].
    #[serde(skip)]
    pub bottleneck: Option<String>,
    /// See [`Summary::data_links`].
    #[serde(skip)]
    data_links: Vec<String>,
    /// Links that data of a single flow cross while others are shared.
    #[serde(skip)]
    pub access_links: Vec<String>,
    /// Seeds in the order of the runs.
    pub seeds: Vec<u64>,
    /// Length of the measured interval of the first run.
    pub measured_s: f64,
    /// Ordered by point, then link, then law.
    pub groups: Vec<Group>,
    /// What each group of flows had of a link, where several share it; ordered as `groups`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<Share>,
    /// What laws do to each other; empty where none was both beside another and alone. Ordered as `groups`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub versus: Vec<Beside>,
    /// Differences between laws under the same seeds.
    pub differences: Vec<Difference>,
    /// How far the grounds are apart, law by law; empty on one ground.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub distances: Vec<Distance>,
    /// Verdicts on published claims.
    pub claims: Vec<Claim>,
    /// Figures of the paper that they are about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<Picture>,
}

/// One law at one point of the sweep, seen at one link: means over seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// Sweep coordinates besides law and seed.
    pub point: Vec<(String, String)>,
    /// Name of the link.
    pub link: String,
    /// Label of the law.
    pub law: String,
    /// Seeds of its runs.
    pub seeds: Vec<u64>,
    /// Whether several seeds gave the same result: nothing in it depends on the seed, and no interval says anything.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub seeds_are_alike: bool,
    /// By name of the metric; a metric that no seed has a value for is absent.
    pub metrics: BTreeMap<&'static str, Stat>,
    /// Values per seed, in the order of `seeds`.
    #[serde(skip)]
    figures: Vec<Figures>,
}

impl Group {
    /// One metric over the seeds.
    pub fn stat(&self, metric: Metric) -> Option<Stat> {
        self.metrics.get(METRICS[metric as usize].name).copied()
    }

    fn new(point: &[(String, String)], link: &str, law: &str) -> Self {
        Self {
            point: point.to_vec(),
            link: link.to_owned(),
            law: law.to_owned(),
            seeds: Vec::new(),
            seeds_are_alike: false,
            metrics: BTreeMap::new(),
            figures: Vec::new(),
        }
    }

    fn add(&mut self, run: &Run, link: usize) {
        self.seeds.push(run.seed);
        self.figures.push(measure::measure(run, link));
    }

    fn close(&mut self) {
        for info in &METRICS {
            let values: Vec<f64> = self
                .figures
                .iter()
                .filter_map(|figures| figures.get(info.metric))
                .collect();
            if let Some(stat) = info.metric.stat(&values) {
                self.metrics.insert(info.name, stat);
            }
        }
    }

    /// What it has more of a metric than another, seed by seed; `None` if no seed has both.
    pub(crate) fn minus(&self, other: &Self, metric: Metric) -> Option<Stat> {
        let value = |seed: &u64| Some(self.value(*seed, metric)? - other.value(*seed, metric)?);
        Stat::of(&self.seeds.iter().filter_map(value).collect::<Vec<_>>())
    }

    pub(crate) fn value(&self, seed: u64, metric: Metric) -> Option<f64> {
        let place = self.seeds.iter().position(|&s| s == seed)?;
        self.figures[place].get(metric)
    }
}

/// How much more of a metric one law has than another, seed by seed on the same channel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Sweep coordinates of both.
    pub point: Vec<(String, String)>,
    /// Link of both.
    pub link: String,
    /// Name of the metric.
    pub metric: &'static str,
    /// The law whose value is taken.
    pub law: String,
    /// The law whose value is subtracted.
    pub minus: String,
    /// Over the seeds that both have.
    pub difference: Stat,
}

/// Metrics in which laws are compared pair by pair.
const PAIRED: [Metric; 2] = [Metric::Utilisation, Metric::Goodput];

impl Summary {
    /// Computes the summary of an experiment.
    pub fn of(experiment: &Experiment) -> Self {
        let contenders = contenders(&experiment.runs);
        let (groups, shares) = groups(&experiment.runs, &contenders);
        let ranked = ranked(&experiment.runs, &groups);
        let grounds = grounds(&experiment.runs);
        let several = |ground: &str| (grounds.len() > 1).then(|| ground.to_owned());
        Self {
            title: experiment.title.clone(),
            about: experiment.about.clone(),
            grounds: grounds.iter().copied().filter_map(several).collect(),
            laws: contenders.iter().map(|contender| contender.label.clone()).collect(),
            bottleneck: ranked.data.first().cloned(),
            data_links: ranked.data,
            access_links: ranked.access,
            seeds: in_order(experiment.runs.iter().map(|run| run.seed)),
            measured_s: experiment
                .runs
                .first()
                .map_or(0.0, |run| run.measured_ns() as f64 / 1e9),
            differences: differences(&groups, &contenders),
            distances: distances(&experiment.runs),
            groups,
            shares,
            versus: besides(&experiment.runs),
            senders: sender_looks(&experiment.runs, &contenders),
            contenders,
            claims: experiment.claims.clone(),
            pictures: experiment.pictures.clone(),
        }
    }

    /// Names of the links shown, in order.
    pub fn links(&self) -> Vec<String> {
        in_order(self.groups.iter().map(|group| group.link.clone()))
    }

    /// Names of the links that data cross, the bottleneck first: what tables and curves show. Links that only carry
    /// ACKs back are in `summary.json` and in the Parquet tables.
    pub fn data_links(&self) -> Vec<String> {
        self.data_links.clone()
    }

    /// Points of the sweep, in order; a single empty one without a sweep.
    pub fn points(&self) -> Vec<Vec<(String, String)>> {
        in_order(self.groups.iter().map(|group| group.point.clone()))
    }

    /// The look of a law that shares links with others: as a law by itself, if it is one.
    pub(crate) fn sender_look(&self, sender: &str) -> usize {
        let shared = self
            .senders
            .iter()
            .find(|(law, _)| law == sender)
            .map(|(_, look)| *look);
        let alone = self.contenders.iter().find(|contender| contender.law == sender);
        shared.or(alone.map(|contender| contender.look)).unwrap_or_default()
    }

    /// How many seeds stand behind the means, in words.
    pub fn seeds_text(&self) -> String {
        match self.seeds.len() {
            1 => "1 seed, no interval".to_owned(),
            n if self.groups.iter().all(|group| group.seeds_are_alike) => {
                format!("{n} seeds, the same result from each: no interval")
            }
            n if self.has_cut() => format!("{n} seeds, ± and (..): 95 % t-interval of the mean"),
            n => format!("{n} seeds, ± is the 95 % t-interval of the mean"),
        }
    }

    /// Whether a table shows an interval that ends at what a figure can be.
    fn has_cut(&self) -> bool {
        let is_told = |group: &Group| {
            group
                .stat(Metric::Utilisation)
                .into_iter()
                .chain(group.stat(Metric::Goodput))
        };
        let of_laws = self.groups.iter().flat_map(is_told);
        let of_groups = self.shares.iter().flat_map(|share| share.metrics.values());
        let of_pairs = self.versus.iter().flat_map(Beside::figures);
        let mut all = of_laws.chain(of_groups.copied()).chain(of_pairs.flatten());
        all.any(|stat| stat.cut().is_some())
    }

    /// Which laws depend on no seed, in words, where others do.
    pub fn alike_text(&self) -> Option<String> {
        let alike = self.groups.iter().filter(|group| group.seeds_are_alike);
        let laws = in_order(alike.map(|group| group.law.as_str()));
        let is_told = !laws.is_empty() && !self.groups.iter().all(|group| group.seeds_are_alike);
        is_told.then(|| format!("The same result from every seed, so no interval: {}.", laws.join(", ")))
    }
}

fn ranked(runs: &[Run], groups: &[Group]) -> Ranked {
    let seen = groups.iter().map(|group| Seen {
        link: &group.link,
        carries_data: group.stat(Metric::Goodput).is_some(),
        utilisation: group.stat(Metric::Utilisation).map(|stat| stat.mean),
    });
    bottleneck::ranked(runs, &seen.collect::<Vec<_>>())
}

fn groups(runs: &[Run], contenders: &[Contender]) -> (Vec<Group>, Vec<Share>) {
    let points = in_order(runs.iter().map(|run| &run.point));
    let (mut groups, mut shares) = (Vec::new(), Vec::new());
    for point in points {
        let here: Vec<&Run> = runs.iter().filter(|run| run.point == *point).collect();
        for link in shown_links(&here) {
            for contender in contenders {
                let mut group = Group::new(point, link, &contender.label);
                let runs: Vec<&Run> = here.iter().copied().filter(|run| contender.has(run)).collect();
                shares.extend(shares::shares(point, link, contender, &runs));
                for run in &runs {
                    if let Some(id) = run.spec.links.iter().position(|spec| spec.name.as_ref() == link) {
                        group.add(run, id);
                    }
                }
                group.close();
                group.seeds_are_alike = group.figures.len() > 1 && are_alike(&group.figures, &runs);
                if !group.seeds.is_empty() {
                    groups.push(group);
                }
            }
        }
    }
    (groups, shares)
}

fn besides(runs: &[Run]) -> Vec<Beside> {
    let mut besides = Vec::new();
    for point in in_order(runs.iter().map(|run| &run.point)) {
        let here: Vec<&Run> = runs.iter().filter(|run| run.point == *point).collect();
        for link in shown_links(&here) {
            besides.extend(versus::besides(point, link, &here));
        }
    }
    besides
}

/// Names of the links that the runs show, in order.
fn shown_links<'a>(runs: &[&'a Run]) -> Vec<&'a str> {
    let of_run = |run: &&'a Run| {
        let links = measure::shown_links(run).into_iter();
        let run: &'a Run = run;
        links
            .map(move |link| run.spec.links[link].name.as_ref())
            .collect::<Vec<_>>()
    };
    in_order(runs.iter().flat_map(of_run))
}

/// Whether runs, with these figures of a link, do not differ in anything that results keep of their flows and the link.
fn are_alike(figures: &[Figures], runs: &[&Run]) -> bool {
    let got = |run: &Run, flow: usize| {
        run.record.flows_end[flow].delivered_bytes - run.record.flows_warmup[flow].delivered_bytes
    };
    let flows_n = runs[0].record.flows_end.len();
    let is_like_first = |run: &&Run| {
        run.record.flows_end.len() == flows_n && (0..flows_n).all(|flow| got(run, flow) == got(runs[0], flow))
    };
    figures.windows(2).all(|pair| pair[0] == pair[1]) && runs[1..].iter().all(is_like_first)
}

/// Of two laws on one ground, or one law on two.
fn differences(groups: &[Group], contenders: &[Contender]) -> Vec<Difference> {
    let contender = |group: &Group| contenders.iter().find(|contender| contender.label == group.law);
    let is_pair = |first: &Group, second: &Group| {
        let pair = contender(first).zip(contender(second));
        pair.is_some_and(|(one, other)| one.law == other.law || one.ground == other.ground)
    };
    let mut differences = Vec::new();
    for (place, first) in groups.iter().enumerate() {
        for second in groups[place + 1..]
            .iter()
            .take_while(|g| g.point == first.point && g.link == first.link)
            .filter(|second| is_pair(first, second))
        {
            for metric in PAIRED {
                let Some(difference) = first.minus(second, metric) else {
                    continue;
                };
                differences.push(Difference {
                    point: first.point.clone(),
                    link: first.link.clone(),
                    metric: METRICS[metric as usize].name,
                    law: first.law.clone(),
                    minus: second.law.clone(),
                    difference,
                });
            }
        }
    }
    differences
}
