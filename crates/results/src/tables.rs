//! The Parquet tables: what their rows are and what their columns mean.

pub mod answers;
pub mod completions;
mod coordinates;
pub mod drops;
pub mod histograms;
pub mod tunnels;
pub mod watched;

use std::path::Path;

use fadelab_path::counters::LinkCounters;
use fadelab_run::record::FlowCounters;

use crate::columns::{Column, Format, Table, Value};
use crate::counters::{self, Counted, Counter};
use crate::measure::{self, Figures, METRICS};
use crate::shares::{self, FlowGroup, SHARE_METRICS, SHARE_METRICS_N};
use crate::swept::{self, SweptKey};
use crate::{Error, Experiment, Run};

/// What every row begins with: the run it belongs to.
#[derive(Clone, Copy, Debug)]
pub struct RunKey<'a> {
    ground: &'a str,
    index: u64,
    law: &'a str,
    point: &'a str,
    coordinates: &'a [(String, String)],
    seed: u64,
}

/// Rows that say which run they belong to.
pub trait Keyed {
    fn key(&self) -> &RunKey<'_>;
}

/// What the column `sender` means.
const SENDER: &str = "law of the sender; `udp` without congestion control";

fn key_columns<R: Keyed>() -> Vec<Column<R>> {
    vec![
        Column::text(
            "ground",
            "where it was run: `sim` is the simulator, `virtual` a kernel in virtual time, `live` one in real time",
            |row: &R| row.key().ground,
        ),
        Column::key("run", "number of the run in the plan, from 0", |row: &R| {
            row.key().index
        }),
        Column::key("seed", "seed of all random streams of the run", |row: &R| {
            row.key().seed
        }),
        Column::text(
            "law",
            "label of the law or of the laws that were compared",
            |row: &R| row.key().law,
        ),
        Column::text(
            "point",
            "other coordinates of the sweep, `key=value` each; empty without a sweep",
            |row: &R| row.key().point,
        ),
    ]
}

/// A row of `links.parquet` or `flows.parquet`: a sample.
pub struct SampleRow<'a, C> {
    key: RunKey<'a>,
    name: &'a str,
    sender: &'a str,
    time_ns: u64,
    counters: &'a C,
}

/// A row of `runs.parquet`.
pub struct RunRow<'a> {
    key: RunKey<'a>,
    link: &'a str,
    measured_ns: u64,
    counters: LinkCounters,
    figures: Figures,
}

/// A row of `flow_totals.parquet`.
pub struct FlowTotalRow<'a> {
    key: RunKey<'a>,
    flow: &'a str,
    group: &'a str,
    sender: &'a str,
    measured_ns: u64,
    counters: FlowCounters,
}

/// A row of `groups.parquet`.
pub struct GroupRow<'a> {
    key: RunKey<'a>,
    link: &'a str,
    group: FlowGroup,
    figures: [Option<f64>; SHARE_METRICS_N],
}

macro_rules! keyed {
    ($($row:ty),*) => {$(
        impl Keyed for $row {
            fn key(&self) -> &RunKey<'_> {
                &self.key
            }
        }
    )*};
}
keyed!(RunRow<'_>, FlowTotalRow<'_>, GroupRow<'_>);

impl<C> Keyed for SampleRow<'_, C> {
    fn key(&self) -> &RunKey<'_> {
        &self.key
    }
}

impl<C> Counted<C> for SampleRow<'_, C> {
    fn counters(&self) -> &C {
        self.counters
    }
}

impl Counted<LinkCounters> for RunRow<'_> {
    fn counters(&self) -> &LinkCounters {
        &self.counters
    }
}

impl Counted<FlowCounters> for FlowTotalRow<'_> {
    fn counters(&self) -> &FlowCounters {
        &self.counters
    }
}

/// Columns of samples: what grows is counted from the beginning of the run.
fn sampled<R: Counted<C>, C>(counters: &'static [Counter<C>]) -> impl Iterator<Item = Column<R>> {
    let so_far = |grows: bool, about: &str| {
        if grows {
            format!("{about}, so far")
        } else {
            about.to_owned()
        }
    };
    counters
        .iter()
        .map(move |counter| Column::counter(counter, so_far(counter.grows, counter.about)))
}

/// Columns of totals over the measured interval.
fn totals<R: Counted<C>, C>(counters: &'static [Counter<C>]) -> impl Iterator<Item = Column<R>> {
    let grows = counters.iter().filter(|counter| counter.grows);
    grows.map(|counter| Column::counter(counter, counter.about.to_owned()))
}

/// `links.parquet`.
pub fn links<'a>() -> Table<SampleRow<'a, LinkCounters>> {
    let mut columns = key_columns();
    columns.extend([
        Column::text("link", "name of the link", |row: &SampleRow<_>| row.name),
        Column::count("time_ns", "ns", "virtual time of the sample", |row: &SampleRow<_>| {
            row.time_ns
        }),
    ]);
    columns.extend(sampled(counters::LINK));
    Table {
        name: "links",
        about: "A sample of a shown link. Counters are cumulative; rates are differences.",
        columns,
    }
}

/// `flows.parquet`.
pub fn flows<'a>() -> Table<SampleRow<'a, FlowCounters>> {
    let mut columns = key_columns();
    columns.extend([
        Column::text("flow", "name of the flow", |row: &SampleRow<_>| row.name),
        Column::text("sender", SENDER, |row: &SampleRow<_>| row.sender),
        Column::count("time_ns", "ns", "virtual time of the sample", |row: &SampleRow<_>| {
            row.time_ns
        }),
    ]);
    columns.extend(sampled(counters::FLOW));
    Table {
        name: "flows",
        about: "A sample of a flow. Counters are cumulative; rates are differences.",
        columns,
    }
}

/// `runs.parquet`.
pub fn runs<'a>() -> Table<RunRow<'a>> {
    let mut columns = key_columns();
    columns.extend([
        Column::text("link", "name of the link", |row: &RunRow| row.link),
        Column::count(
            "measured_ns",
            "ns",
            "length of the measured interval",
            |row: &RunRow| row.measured_ns,
        ),
    ]);
    columns.extend(totals(counters::LINK));
    columns.extend(METRICS.iter().map(|info| Column {
        name: info.name.into(),
        unit: info.unit.into(),
        about: info.about.to_owned(),
        value: Value::Real(Box::new(|row: &RunRow| row.figures.get(info.metric))),
    }));
    Table {
        name: "runs",
        about: "A shown link in a run: totals and figures over the measured interval (warm-up to end). \
                Figures about flows are over the flows whose data cross the link.",
        columns,
    }
}

/// `flow_totals.parquet`.
pub fn flow_totals<'a>() -> Table<FlowTotalRow<'a>> {
    let mut columns = key_columns();
    columns.extend([
        Column::text("flow", "name of the flow", |row: &FlowTotalRow| row.flow),
        Column::text("group", "group of the flow", |row: &FlowTotalRow| row.group),
        Column::text("sender", SENDER, |row: &FlowTotalRow| row.sender),
        Column::count(
            "measured_ns",
            "ns",
            "length of the measured interval",
            |row: &FlowTotalRow| row.measured_ns,
        ),
    ]);
    columns.extend(totals(counters::FLOW));
    Table {
        name: "flow_totals",
        about: "A flow in a run: totals over the measured interval.",
        columns,
    }
}

/// `groups.parquet`.
pub fn groups<'a>() -> Table<GroupRow<'a>> {
    let mut columns = key_columns();
    columns.extend([
        Column::text("link", "name of the link", |row: &GroupRow| row.link),
        Column::text("group", "name of the group of flows", |row: &GroupRow| &row.group.name),
        Column::text("sender", SENDER, |row: &GroupRow| &row.group.sender),
        Column::count("flows", "1", "how many flows it has there", |row: &GroupRow| {
            row.group.flows.len() as u64
        }),
    ]);
    columns.extend(SHARE_METRICS.iter().enumerate().map(|(place, metric)| Column {
        name: metric.name.into(),
        unit: metric.unit.into(),
        about: metric.about.to_owned(),
        value: Value::Real(Box::new(move |row: &GroupRow| row.figures[place])),
    }));
    Table {
        name: "groups",
        about: "A group of flows whose data cross a shown link: figures over the measured interval.",
        columns,
    }
}

/// The swept keys of an experiment.
fn swept(experiment: &Experiment) -> Vec<SweptKey> {
    let points: Vec<_> = experiment.runs.iter().map(|run| run.point.clone()).collect();
    swept::keys(&points)
}

/// The columns of all tables as CSV: what a CSV file cannot say of itself.
///
/// # Errors
/// Never, as far as a text in memory goes.
pub(crate) fn columns_csv(experiment: &Experiment) -> csv::Result<Vec<u8>> {
    let swept = swept(experiment);
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(["table", "column", "type", "unit", "meaning"])?;
    links().with_coordinates(&swept).describe(&mut writer)?;
    flows().with_coordinates(&swept).describe(&mut writer)?;
    watched::table().with_coordinates(&swept).describe(&mut writer)?;
    runs().with_coordinates(&swept).describe(&mut writer)?;
    flow_totals().with_coordinates(&swept).describe(&mut writer)?;
    groups().with_coordinates(&swept).describe(&mut writer)?;
    completions::table().with_coordinates(&swept).describe(&mut writer)?;
    histograms::table().with_coordinates(&swept).describe(&mut writer)?;
    drops::table().with_coordinates(&swept).describe(&mut writer)?;
    answers::table().with_coordinates(&swept).describe(&mut writer)?;
    tunnels::table().with_coordinates(&swept).describe(&mut writer)?;
    writer.into_inner().map_err(|error| error.into_error().into())
}

/// Writes all tables into `folder`.
pub(crate) fn write(experiment: &Experiment, folder: &Path, format: Format) -> Result<(), Error> {
    let swept = swept(experiment);
    let points: Vec<String> = experiment.runs.iter().map(Run::point_text).collect();
    let runs_keyed = || keyed(experiment, &points);
    links()
        .with_coordinates(&swept)
        .write(folder, format, runs_keyed().map(|(run, key)| link_rows(run, key)))?;
    flows()
        .with_coordinates(&swept)
        .write(folder, format, runs_keyed().map(|(run, key)| flow_rows(run, key)))?;
    watched::table().with_coordinates(&swept).write(
        folder,
        format,
        runs_keyed().flat_map(|(run, key)| watched::rows(run, key)),
    )?;
    runs()
        .with_coordinates(&swept)
        .write(folder, format, runs_keyed().map(|(run, key)| run_rows(run, key)))?;
    flow_totals().with_coordinates(&swept).write(
        folder,
        format,
        runs_keyed().map(|(run, key)| flow_total_rows(run, key)),
    )?;
    groups()
        .with_coordinates(&swept)
        .write(folder, format, runs_keyed().map(|(run, key)| group_rows(run, key)))?;
    completions::table().with_coordinates(&swept).write(
        folder,
        format,
        runs_keyed().map(|(run, key)| completions::rows(run, key)),
    )?;
    histograms::table().with_coordinates(&swept).write(
        folder,
        format,
        runs_keyed().map(|(run, key)| histograms::rows(run, key)),
    )?;
    drops::table().with_coordinates(&swept).write(
        folder,
        format,
        runs_keyed().map(|(run, key)| drops::rows(run, key)),
    )?;
    answers::table().with_coordinates(&swept).write(
        folder,
        format,
        runs_keyed().map(|(run, key)| answers::rows(run, key)),
    )?;
    tunnels::table().with_coordinates(&swept).write(
        folder,
        format,
        runs_keyed().map(|(run, key)| tunnels::rows(run, key)),
    )
}

/// Runs with what their rows begin with.
fn keyed<'a>(experiment: &'a Experiment, points: &'a [String]) -> impl Iterator<Item = (&'a Run, RunKey<'a>)> {
    let runs = (0..).zip(&experiment.runs).zip(points);
    runs.map(|((index, run), point)| {
        let key = RunKey {
            ground: &run.ground,
            index,
            law: &run.law,
            point,
            coordinates: &run.point,
            seed: run.seed,
        };
        (run, key)
    })
}

fn link_rows<'a>(run: &'a Run, key: RunKey<'a>) -> Vec<SampleRow<'a, LinkCounters>> {
    let series = &run.record.series;
    // A link has no sender.
    let name = |&id: &u32| (run.spec.links[id as usize].name.as_ref(), "");
    samples(
        key,
        &series.time_ns,
        series.link_ids.iter().map(name).zip(&series.links),
    )
}

fn flow_rows<'a>(run: &'a Run, key: RunKey<'a>) -> Vec<SampleRow<'a, FlowCounters>> {
    let series = &run.record.series;
    let names = run.spec.flows.iter().map(|flow| (flow.name.as_ref(), flow.sender()));
    samples(key, &series.time_ns, names.zip(&series.flows))
}

/// The samples of one name after the other, each in the order of time.
fn samples<'a, C>(
    key: RunKey<'a>,
    time_ns: &'a [u64],
    named: impl Iterator<Item = ((&'a str, &'a str), &'a Vec<C>)>,
) -> Vec<SampleRow<'a, C>> {
    let mut rows = Vec::new();
    for ((name, sender), samples) in named {
        let timed = time_ns.iter().zip(samples);
        rows.extend(timed.map(|(&time_ns, counters)| SampleRow {
            key,
            name,
            sender,
            time_ns,
            counters,
        }));
    }
    rows
}

fn run_rows<'a>(run: &'a Run, key: RunKey<'a>) -> Vec<RunRow<'a>> {
    let row = |(place, &link): (usize, &u32)| RunRow {
        key,
        link: &run.spec.links[link as usize].name,
        measured_ns: run.measured_ns(),
        counters: counters::growth(
            counters::LINK,
            &run.record.links_warmup[place],
            &run.record.links_end[place],
        ),
        figures: measure::measure(run, link as usize),
    };
    run.record.link_ids.iter().enumerate().map(row).collect()
}

fn flow_total_rows<'a>(run: &'a Run, key: RunKey<'a>) -> Vec<FlowTotalRow<'a>> {
    let (from, to) = (&run.record.flows_warmup, &run.record.flows_end);
    let row = |flow: usize| FlowTotalRow {
        key,
        flow: &run.spec.flows[flow].name,
        group: &run.spec.flows[flow].group,
        sender: run.spec.flows[flow].sender(),
        measured_ns: run.measured_ns(),
        counters: counters::growth(counters::FLOW, &from[flow], &to[flow]),
    };
    (0..run.spec.flows.len()).map(row).collect()
}

fn group_rows<'a>(run: &'a Run, key: RunKey<'a>) -> Vec<GroupRow<'a>> {
    let of_link = |&link: &u32| {
        let crossing = measure::crossing_flows(run, link as usize);
        let groups = shares::flow_groups(run, link as usize).into_iter();
        groups.map(move |group| GroupRow {
            key,
            link: &run.spec.links[link as usize].name,
            figures: shares::figures(run, link as usize, &group, &crossing),
            group,
        })
    };
    run.record.link_ids.iter().flat_map(of_link).collect()
}
