//! Two results beside each other: what moved between them, seed by seed.

use crate::distinct::in_order;
use crate::interval::{Judged, Paired, Stat};
use crate::layout::Grid;
use crate::measure::{METRICS, MetricInfo};
use crate::shares::{SHARE_METRICS, SHARE_METRICS_N, Share, ShareMetric};
use crate::summary::Group;
use crate::table::with_interval;
use crate::{Summary, point_text};

/// How a figure moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// Every seed has the same value in both.
    Not,
    /// The 95 % interval of the difference contains zero.
    WithinNoise,
    /// It does not.
    BeyondNoise,
    /// One seed differs: whether by chance is not known.
    OneSeed,
}

/// A figure that both results have.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Sweep coordinates, link and law in one line each.
    pub point: String,
    /// Name of the link.
    pub link: String,
    /// Label of the law.
    pub law: String,
    /// The group of flows whose figure it is; `None`: all that cross the link.
    pub group: Option<String>,
    /// Name of the figure.
    pub figure: &'static str,
    pub unit: &'static str,
    /// Mean in the first result over the seeds that both have.
    pub first: f64,
    /// Mean in the second.
    pub second: f64,
    /// Second minus first.
    pub difference: Stat,
}

impl Change {
    /// Whether it moved.
    pub fn moved(&self) -> Moved {
        match self.difference.judged() {
            Judged::Equal => Moved::Not,
            Judged::OneSeed => Moved::OneSeed,
            Judged::More | Judged::Less => Moved::BeyondNoise,
            Judged::Noise => Moved::WithinNoise,
        }
    }
}

/// What two results have in common, and what only one has.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// In the order of the first result, figure by figure.
    pub changes: Vec<Change>,
    /// What stands in the first result only: a law at a point, a figure, or seeds.
    pub only_first: Vec<String>,
    /// What stands in the second only.
    pub only_second: Vec<String>,
}

impl Comparison {
    /// Compares two results.
    pub fn of(first: &Summary, second: &Summary) -> Self {
        let mut changes = Vec::new();
        for group in &first.groups {
            if let Some(other) = counterpart(group, second) {
                changes.extend(METRICS.iter().filter_map(|info| change(group, other, info)));
            }
        }
        for share in &first.shares {
            if let Some(other) = counterpart_of_share(share, second) {
                changes.extend((0..SHARE_METRICS_N).filter_map(|place| change_of_share(share, other, place)));
            }
        }
        Self {
            changes,
            only_first: only(first, second),
            only_second: only(second, first),
        }
    }

    /// How many figures moved so.
    pub fn count(&self, moved: Moved) -> usize {
        self.changes.iter().filter(|change| change.moved() == moved).count()
    }

    /// Whether the results tell the same story: nothing moved beyond noise and nothing stands in one of them only.
    pub fn is_same(&self) -> bool {
        self.only_first.is_empty()
            && self.only_second.is_empty()
            && self.count(Moved::BeyondNoise) == 0
            && self.count(Moved::OneSeed) == 0
    }
}

fn counterpart<'a>(group: &Group, summary: &'a Summary) -> Option<&'a Group> {
    let is_same = |other: &&Group| (&other.point, &other.link, &other.law) == (&group.point, &group.link, &group.law);
    summary.groups.iter().find(is_same)
}

fn counterpart_of_share<'a>(share: &Share, summary: &'a Summary) -> Option<&'a Share> {
    let is_same = |other: &&Share| {
        (&other.point, &other.link, &other.law, &other.group) == (&share.point, &share.link, &share.law, &share.group)
    };
    summary.shares.iter().find(is_same)
}

fn change(first: &Group, second: &Group, info: &MetricInfo) -> Option<Change> {
    let pair = |&seed: &u64| Some((first.value(seed, info.metric)?, second.value(seed, info.metric)?));
    let pairs: Vec<(f64, f64)> = first.seeds.iter().filter_map(pair).collect();
    let place = (point_text(&first.point), &first.link, &first.law, None);
    changed(place, (info.name, info.unit), &pairs)
}

fn change_of_share(first: &Share, second: &Share, place: usize) -> Option<Change> {
    let pair = |seed: u64| Some((first.value(seed, place)?, second.value(seed, place)?));
    let pairs: Vec<(f64, f64)> = first.seeds().filter_map(pair).collect();
    let ShareMetric { name, unit, .. } = SHARE_METRICS[place];
    let place = (point_text(&first.point), &first.link, &first.law, Some(&first.group));
    changed(place, (name, unit), &pairs)
}

/// A figure of a law, or of a group of its flows, at a point and link.
fn changed(
    (point, link, law, group): (String, &String, &String, Option<&String>),
    (figure, unit): (&'static str, &'static str),
    pairs: &[(f64, f64)],
) -> Option<Change> {
    let paired = Paired::of(pairs)?;
    Some(Change {
        point,
        link: link.clone(),
        law: law.clone(),
        group: group.cloned(),
        figure,
        unit,
        first: paired.first,
        second: paired.second,
        difference: paired.difference,
    })
}

/// What `summary` has and `other` has not, a sentence each.
fn only(summary: &Summary, other: &Summary) -> Vec<String> {
    let missing = |group: &Group| {
        let place = place_text(&point_text(&group.point), &group.link, &group.law);
        let Some(found) = counterpart(group, other) else {
            return vec![place];
        };
        let seeds: Vec<String> = group
            .seeds
            .iter()
            .filter(|seed| !found.seeds.contains(seed))
            .map(u64::to_string)
            .collect();
        let figures = METRICS
            .iter()
            .filter(|info| group.stat(info.metric).is_some() && found.stat(info.metric).is_none())
            .map(|info| format!("{place}: {}", info.name));
        let seeds = (!seeds.is_empty()).then(|| format!("{place}: seeds {}", seeds.join(", ")));
        seeds.into_iter().chain(figures).collect()
    };
    let is_missing = |share: &&Share| counterpart_of_share(share, other).is_none();
    let shares = summary.shares.iter().filter(is_missing);
    let groups = shares.map(|share| {
        let place = place_text(&point_text(&share.point), &share.link, &share.law);
        format!("{place}: group {}", share.group)
    });
    in_order(summary.groups.iter().flat_map(missing).chain(groups))
}

fn place_text(point: &str, link: &str, law: &str) -> String {
    let comma = if point.is_empty() { "" } else { ", " };
    format!("{law} at {link}{comma}{point}")
}

/// The unit in which a person reads a figure, and the factor to it.
fn shown(change: &Change) -> (&'static str, f64) {
    match (change.figure, change.unit) {
        ("jain" | "timeouts" | "completions", _) => ("", 1.0),
        (_, "1") => ("%", 100.0),
        (_, "bit/s") => ("Mbit/s", 1e-6),
        (_, unit) => (unit, 1.0),
    }
}

/// The changes as a table that ends with a new line, a row for each, at most `width` wide if that is given.
pub fn table(changes: &[&Change], first: &str, second: &str, width: Option<usize>) -> String {
    let has_point = changes.iter().any(|change| !change.point.is_empty());
    let heading = ["link", "law", "figure", "", first, second, "difference", ""];
    let with_point = |point: &str, cells: Vec<String>| {
        let point = has_point.then(|| point.to_owned());
        point.into_iter().chain(cells).collect::<Vec<_>>()
    };
    let headings = with_point("point", heading.map(str::to_owned).to_vec());
    let row = |change: &&Change| {
        let (unit, scale) = shown(change);
        let only = |mean: f64| Stat {
            mean,
            ..change.difference
        };
        let mean = |mean| with_interval(only(mean), scale, false);
        let bare = |text: String| text.split(' ').next().unwrap_or_default().to_owned();
        let verdict = match change.moved() {
            Moved::Not => "equal",
            Moved::WithinNoise => "within noise",
            Moved::BeyondNoise => "moved",
            Moved::OneSeed => "one seed",
        };
        let cells = [
            change.link.clone(),
            change
                .group
                .as_ref()
                .map_or_else(|| change.law.clone(), |group| format!("{}: {group}", change.law)),
            change.figure.to_owned(),
            unit.to_owned(),
            bare(mean(change.first)),
            bare(mean(change.second)),
            with_interval(change.difference, scale, true),
            verdict.to_owned(),
        ];
        with_point(&change.point, cells.to_vec())
    };
    let keys = headings.len() - 4;
    let grid = Grid {
        keys,
        numbers: keys..headings.len() - 1,
        headings,
        rows: changes.iter().map(row).collect(),
    };
    grid.text(width)
}
