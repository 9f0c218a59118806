//! Curves of what laws declare as worth watching.

use serde::Serialize;

use super::Place;
use super::link::Grid;
use crate::Run;
use crate::contender::Contender;
use crate::distinct::in_order;
use crate::pack::Packed;
use crate::watch::{Declared, Series, Value, of_flow, of_link};

/// A value that a law declares, at the link of a panel or at its flows.
#[derive(Debug, Serialize)]
pub struct Watched {
    /// `link` or `flow`.
    kind: &'static str,
    /// `sender`, `shadow`, `router` or `capacity`.
    role: String,
    /// The law that declares it.
    declared_by: String,
    name: String,
    unit: String,
    meaning: String,
    laws: Vec<WatchedCurves>,
}

/// The curves of such a value under one law of the experiment.
#[derive(Debug, Serialize)]
struct WatchedCurves {
    /// Its place among the laws of the experiment.
    law: usize,
    /// Seeds that have curves: the first.
    seeds: Vec<String>,
    /// Of flows, those that have the value, as places among those of the panel.
    flows: Vec<usize>,
    /// What every number is less by: 0, or the lowest where that is below.
    base: f64,
    /// A row per seed, or per seed and flow: the mean of the samples in the bin, of choices the last of them.
    values: Packed,
}

/// How many seeds and flows have curves.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The first of a law.
    pub seeds_max: usize,
    /// The first of a panel, of those that have curves at all.
    pub flows_max: usize,
}

/// Values that a page carries for these curves, about.
const VALUES_MAX: usize = 600_000;

impl Limits {
    /// What fits where a page has at most so many of each otherwise: seeds are given up before flows. `places` with the
    /// bins of the curves of their links and flows.
    pub fn of(places: &[(&Place<'_>, [Grid; 2])], seeds_max: usize, flows_max: usize) -> Self {
        let sizes: Vec<Size> = places
            .iter()
            .flat_map(|(place, grids)| Size::all(place, *grids, flows_max))
            .collect();
        let values = |seeds: usize, flows: usize| -> usize {
            let few = sizes.iter().filter(|size| size.seed < seeds);
            few.map(|size| size.values(flows)).sum()
        };
        let seeds_max = (1..=seeds_max)
            .rev()
            .find(|&seeds| values(seeds, flows_max) <= VALUES_MAX);
        let seeds_max = seeds_max.unwrap_or(1);
        let mut flows_max = flows_max;
        while flows_max > 1 && values(seeds_max, flows_max) > VALUES_MAX {
            flows_max /= 2;
        }
        Self { seeds_max, flows_max }
    }
}

/// How many values the curves of a run are.
struct Size {
    /// Place of its seed.
    seed: usize,
    at_link: usize,
    /// Of the first flow, of the first two, and so on.
    at_flows: Vec<usize>,
}

impl Size {
    fn all<'a>(place: &'a Place<'_>, [link, flow]: [Grid; 2], flows_max: usize) -> impl Iterator<Item = Self> + 'a {
        let seeds = in_order(place.runs.iter().map(|run| run.seed));
        let (link, flow) = (link.count(), flow.count());
        place.runs.iter().map(move |run| Self {
            seed: seeds.iter().position(|seed| *seed == run.seed).unwrap_or_default(),
            at_link: link * of_link(run, place.link).map_or(0, |series| series.values.len()),
            at_flows: place
                .flows
                .iter()
                .take(flows_max)
                .scan(0, |sum, &id| {
                    let series = place.place_in(run, id).and_then(|id| of_flow(run, id));
                    *sum += flow * series.map_or(0, |series| series.values.len());
                    Some(*sum)
                })
                .collect(),
        })
    }

    fn values(&self, flows: usize) -> usize {
        let last = flows.min(self.at_flows.len()).checked_sub(1);
        self.at_link + last.map_or(0, |last| self.at_flows[last])
    }
}

/// What is declared at the link of a place and at its `shown` flows, each value once, those of the link first.
pub fn watched(
    place: &Place<'_>,
    shown: &[usize],
    laws: &[Contender],
    grids: [Grid; 2],
    limits: Limits,
) -> Vec<Watched> {
    let [link_grid, flow_grid] = grids;
    let shown = &shown[..shown.len().min(limits.flows_max)];
    let mut all = Vec::new();
    for (law, contender) in laws.iter().enumerate() {
        let runs = place.runs.iter().copied().filter(|run| contender.has(run));
        let runs: Vec<&Run> = runs.take(limits.seeds_max).collect();
        let at_link: Vec<Series<'_>> = runs.iter().filter_map(|run| of_link(run, place.link)).collect();
        if at_link.len() == runs.len() {
            add(&mut all, "link", law, &runs, &at_link, &[], link_grid);
        }
        let Some(first) = runs.first() else { continue };
        let flows = shown
            .iter()
            .enumerate()
            .filter_map(|(at, &flow)| Some((at, flow, of_flow(first, place.place_in(first, flow)?)?)));
        let flows: Vec<_> = flows.collect();
        for declared in in_order(flows.iter().map(|(_, _, series)| who_declares(series))) {
            let same = flows.iter().filter(|(_, _, series)| who_declares(series) == declared);
            let (places, ids): (Vec<usize>, Vec<usize>) = same.map(|&(at, flow, _)| (at, flow)).unzip();
            let rows = runs.iter().flat_map(|&run| ids.iter().map(move |&flow| (run, flow)));
            let rows = rows.map(|(run, flow)| of_flow(run, place.place_in(run, flow)?));
            if let Some(rows) = rows.collect::<Option<Vec<_>>>() {
                add(&mut all, "flow", law, &runs, &rows, &places, flow_grid);
            }
        }
    }
    all.sort_by_key(|value| value.kind != "link");
    all
}

/// The laws that declare the values of a flow.
fn who_declares<'a>(series: &Series<'a>) -> Vec<(&'a str, &'a str)> {
    let laws = series
        .values
        .iter()
        .map(|(declared, _)| (declared.role.as_str(), declared.law.as_str()));
    in_order(laws)
}

/// Adds the curves of a law, whose rows all have the same values.
fn add(
    all: &mut Vec<Watched>,
    kind: &'static str,
    law: usize,
    runs: &[&Run],
    rows: &[Series<'_>],
    flows: &[usize],
    grid: Grid,
) {
    let Some(first) = rows.first() else { return };
    let per_run = flows.len().max(1);
    for (at, &(declared, value)) in first.values.iter().enumerate() {
        let table: Vec<Option<f64>> = rows
            .iter()
            .enumerate()
            .flat_map(|(row, series)| curve(runs[row / per_run], series, at, value, grid))
            .collect();
        let base = table.iter().flatten().copied().fold(0.0, f64::min);
        let above: Vec<Option<f64>> = table.iter().map(|number| number.map(|number| number - base)).collect();
        let curves = WatchedCurves {
            law,
            seeds: runs.iter().map(|run| run.seed.to_string()).collect(),
            flows: flows.to_vec(),
            base,
            values: Packed::of(&above),
        };
        let is_same = |known: &&mut Watched| known.is_of(kind, declared, value);
        match all.iter_mut().find(is_same) {
            Some(known) => known.laws.push(curves),
            None => all.push(Watched {
                kind,
                role: declared.role.clone(),
                declared_by: declared.law.clone(),
                name: value.name.clone(),
                unit: value.unit.clone(),
                meaning: value.meaning.clone(),
                laws: vec![curves],
            }),
        }
    }
}

impl Watched {
    /// By which it is told from others.
    pub fn key(&self) -> [&str; 4] {
        [self.kind, &self.role, &self.declared_by, &self.name]
    }

    fn is_of(&self, kind: &str, declared: &Declared, value: &Value) -> bool {
        self.key() == [kind, &declared.role, &declared.law, &value.name]
    }
}

/// One value over the bins of a run. The sample at the beginning of a bin belongs to the bin before.
fn curve(run: &Run, series: &Series<'_>, at: usize, value: &Value, grid: Grid) -> Vec<Option<f64>> {
    let samples: Vec<f64> = series.raw(at).map(|raw| value.shown(raw)).collect();
    let of_bin = |bin: crate::bins::Bin| {
        let samples = &samples[bin.from + 1..=bin.to];
        if value.is_choice() {
            samples.last().copied()
        } else {
            Some(samples.iter().sum::<f64>() / samples.len() as f64)
        }
    };
    grid.cut(run).into_iter().map(|bin| of_bin(bin?)).collect()
}
