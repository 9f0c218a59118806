//! From the folder of a result back to the experiment: the same tables and the same page, byte by byte.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fadelab_path::counters::LinkCounters;
use fadelab_path::histogram::Histogram;
use fadelab_run::record::{AnswersOf, Completion, Delays, DroppedOf, FlowCounters, OfGroup, RunRecord, Series, Waits};
use fadelab_run::tunnel::TunnelRecord;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::folder::LAWS;
use crate::manifest::FORMAT;
use crate::rows::{self, Rows};
use crate::setup::Setup;
use crate::tables::answers;
use crate::tables::histograms::{RTT, RTT_UNIT_NS, WAIT};
use crate::watch::{self, Named};
use crate::{Claim, Error, Experiment, OwnLaw, Picture, Run, Source, counters};

/// Which fadelab wrote a result.
#[derive(Clone, Debug, Deserialize)]
pub struct Writer {
    pub version: String,
    /// The form of the files.
    #[serde(default)]
    pub format: u32,
}

impl Writer {
    /// Whether it was another one than this.
    pub fn is_other(&self) -> bool {
        self.version != env!("CARGO_PKG_VERSION") || self.format != FORMAT
    }

    /// Puts the blame for what is wrong with a result on its version, where it is another one.
    fn blame(self, folder: &Path, error: Error) -> Error {
        match error {
            Error::Unreadable { path, reason } if self.is_other() => {
                let file = path.file_name().unwrap_or_default().display().to_string();
                self.refusal(folder, format!("{file}: {reason}"))
            }
            Error::NotAResult { file, source, .. } if self.is_other() => {
                self.refusal(folder, format!("{file}: {source}"))
            }
            error => error,
        }
    }

    fn refusal(self, folder: &Path, reason: String) -> Error {
        Error::OtherVersion {
            path: folder.to_owned(),
            version: self.version,
            format: self.format,
            reason,
        }
    }
}

/// Reads `manifest.json`, and who wrote it.
///
/// # Errors
/// [`Error::NotAResult`] without one, [`Error::Unreadable`] where it is damaged, [`Error::OtherVersion`] where its form
/// is a later one than this fadelab knows.
pub fn manifest<T: DeserializeOwned>(folder: &Path) -> Result<(T, Writer), Error> {
    const FILE: &str = "manifest.json";
    let writer: Writer = json(folder, FILE)?;
    if writer.format > FORMAT {
        return Err(writer.refusal(folder, "its form is a later one".to_owned()));
    }
    let manifest = json(folder, FILE).map_err(|error| writer.clone().blame(folder, error))?;
    Ok((manifest, writer))
}

/// What is needed of `manifest.json`.
#[derive(Deserialize)]
struct Manifest {
    version: String,
    title: String,
    about: String,
    warnings: Vec<String>,
    scenario: String,
    #[serde(default)]
    scenario_path: String,
    #[serde(default)]
    own_laws: Vec<OwnLaw>,
}

/// What is needed of `summary.json`; the figures are computed again.
#[derive(Deserialize)]
struct Verdicts {
    claims: Vec<Claim>,
    #[serde(default)]
    pictures: Vec<Picture>,
}

/// Tables that older results do not have.
const WATCH: &str = "watch";
const DROPS: &str = "drops";
const HISTOGRAMS: &str = "histograms";
const ANSWERS: &str = "answers";
const TUNNELS: &str = "tunnels";

/// Puts the rows of a table where they belong.
type Take = fn(&mut [Run], &Rows) -> Result<(), String>;

/// Reads a result.
///
/// # Errors
/// [`Error::NotAResult`] when files of a result are missing, [`Error::Unreadable`] when one is damaged,
/// [`Error::OtherVersion`] instead where another fadelab wrote it.
pub fn read(folder: &Path) -> Result<Experiment, Error> {
    let (manifest, writer) = manifest(folder)?;
    experiment(folder, manifest).map_err(|error| writer.blame(folder, error))
}

fn experiment(folder: &Path, manifest: Manifest) -> Result<Experiment, Error> {
    let setup: Setup = json(folder, "setup.json")?;
    let verdicts: Verdicts = json(folder, "summary.json")?;
    let mut runs = runs(setup).map_err(unreadable(folder.join("setup.json")))?;
    let tables: [(&str, Take); 10] = [
        ("links", take_link_samples),
        ("flows", take_flow_samples),
        (WATCH, take_watched),
        ("runs", take_link_totals),
        ("flow_totals", take_flow_totals),
        ("completions", take_completions),
        (HISTOGRAMS, take_delays),
        (DROPS, take_drops),
        (ANSWERS, take_answers),
        (TUNNELS, take_tunnels),
    ];
    for (table, take) in tables {
        let path = folder.join(format!("{table}.parquet"));
        // Results from before laws declared values, delays, drops of groups or answers to losses were counted, or there
        // were tunnels, have none.
        if [WATCH, HISTOGRAMS, DROPS, ANSWERS, TUNNELS].contains(&table) && !path.exists() {
            continue;
        }
        rows::each(&path, |rows| take(&mut runs, rows)).map_err(unreadable(path))?;
    }
    Ok(Experiment {
        version: manifest.version,
        title: manifest.title,
        about: manifest.about,
        scenario: manifest.scenario,
        scenario_path: manifest.scenario_path,
        warnings: manifest.warnings,
        sources: sources(folder)?,
        own_laws: manifest.own_laws,
        runs,
        claims: verdicts.claims,
        pictures: verdicts.pictures,
    })
}

fn unreadable(path: PathBuf) -> impl FnOnce(String) -> Error {
    move |reason| Error::Unreadable { path, reason }
}

fn json<T: DeserializeOwned>(folder: &Path, file: &'static str) -> Result<T, Error> {
    let path = folder.join(file);
    let text = fs::read(&path).map_err(|source| Error::NotAResult {
        path: folder.to_owned(),
        file,
        source,
    })?;
    serde_json::from_slice(&text).map_err(|error| unreadable(path)(error.to_string()))
}

/// The files below `laws`, by their paths there.
fn sources(folder: &Path) -> Result<Vec<Source>, Error> {
    let laws = folder.join(LAWS);
    let mut sources = Vec::new();
    let mut folders = vec![laws.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.map_err(Error::io("read the folder", &folder))?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).map_err(Error::io("read", &path))?;
            let file = path.strip_prefix(&laws).unwrap_or(&path).to_string_lossy().into_owned();
            sources.push(Source { file, text });
        }
    }
    sources.sort_by(|a, b| a.file.cmp(&b.file));
    Ok(sources)
}

/// The runs, with nothing counted yet.
fn runs(setup: Setup) -> Result<Vec<Run>, String> {
    let Setup { specs, runs } = setup;
    let run = |entry: crate::setup::Entry| {
        let spec = specs
            .get(entry.spec)
            .ok_or_else(|| format!("there is no spec {}", entry.spec))?;
        if spec
            .flows
            .iter()
            .flat_map(|flow| &flow.route)
            .any(|&link| link as usize >= spec.links.len())
        {
            return Err("a route leads over a link that does not exist".to_owned());
        }
        let link_ids: Vec<u32> = (0..)
            .zip(&spec.links)
            .filter(|(_, link)| link.shown)
            .map(|(id, _)| id)
            .collect();
        Ok(Run {
            ground: entry.ground,
            law: entry.law,
            point: entry.point,
            seed: entry.seed,
            record: RunRecord {
                links_warmup: vec![LinkCounters::default(); link_ids.len()],
                links_end: vec![LinkCounters::default(); link_ids.len()],
                link_ids,
                flows_warmup: vec![FlowCounters::default(); spec.flows.len()],
                flows_end: vec![FlowCounters::default(); spec.flows.len()],
                completions: Vec::new(),
                delays: Delays::default(),
                dropped: Vec::new(),
                answers: Vec::new(),
                tunnels: Vec::new(),
                series: Series {
                    flows: vec![Vec::new(); spec.flows.len()],
                    flows_watched: vec![Vec::new(); spec.flows.len()],
                    ..Series::default()
                },
                events: entry.events,
                punctuality: entry.punctuality,
                processor: entry.processor,
            },
            spec: Arc::clone(spec),
        })
    };
    runs.into_iter().map(run).collect()
}

/// Walks over the rows: the run of each and the place of what it names among the links or flows of that run.
fn walk(
    runs: &mut [Run],
    rows: &Rows,
    kind: &str,
    place: fn(&Run, &str) -> Option<usize>,
    mut take: impl FnMut(&mut Run, usize, usize),
) -> Result<(), String> {
    let (numbers, names) = (rows.numbers("run")?, rows.texts(kind)?);
    let mut last: Option<(i64, &str, usize)> = None;
    for (row, (&number, &name)) in numbers.iter().zip(&names).enumerate() {
        let run = usize::try_from(number).ok().and_then(|number| runs.get_mut(number));
        let run = run.ok_or_else(|| format!("row {row} belongs to run {number}, which does not exist"))?;
        // Rows of one name stand together, so that the search is seldom.
        let known = last
            .filter(|last| (last.0, last.1) == (number, name))
            .map(|last| last.2);
        let found = known.or_else(|| place(run, name));
        let found = found.ok_or_else(|| format!("row {row} names the {kind} {name}, which does not exist"))?;
        last = Some((number, name, found));
        take(run, found, row);
    }
    Ok(())
}

fn link_place(run: &Run, name: &str) -> Option<usize> {
    run.spec.links.iter().position(|link| link.name.as_ref() == name)
}

fn flow_place(run: &Run, name: &str) -> Option<usize> {
    run.spec.flows.iter().position(|flow| flow.name.as_ref() == name)
}

fn take_link_samples(runs: &mut [Run], rows: &Rows) -> Result<(), String> {
    let (time_ns, samples) = (rows.numbers("time_ns")?, rows.counters(counters::LINK, |_| true)?);
    walk(runs, rows, "link", link_place, |run, link, row| {
        let series = &mut run.record.series;
        if series.link_ids.last() != Some(&(link as u32)) {
            series.link_ids.push(link as u32);
            series.links.push(Vec::new());
            series.links_watched.push(Vec::new());
        }
        if let Some(last) = series.links.last_mut() {
            last.push(samples[row]);
        }
        // Links and flows are sampled at the same instants: the first link tells them.
        if series.links.len() == 1 {
            series.time_ns.push(time_ns[row] as u64);
        }
    })
}

fn take_flow_samples(runs: &mut [Run], rows: &Rows) -> Result<(), String> {
    let (time_ns, samples) = (rows.numbers("time_ns")?, rows.counters(counters::FLOW, |_| true)?);
    walk(runs, rows, "flow", flow_place, |run, flow, row| {
        let series = &mut run.record.series;
        series.flows[flow].push(samples[row]);
        if series.links.is_empty() && flow == 0 {
            series.time_ns.push(time_ns[row] as u64);
        }
    })
}

fn take_watched(runs: &mut [Run], rows: &Rows) -> Result<(), String> {
    let (numbers, time_ns, raw) = (rows.numbers("run")?, rows.numbers("time_ns")?, rows.numbers("raw")?);
    let texts = ["kind", "who", "role", "declared_by", "name"].map(|column| rows.texts(column));
    let [kind, who, role, law, name] = texts;
    let (kind, who, role, law, name) = (kind?, who?, role?, law?, name?);
    let mut last = None;
    for row in 0..rows.len {
        let run = usize::try_from(numbers[row])
            .ok()
            .and_then(|number| runs.get_mut(number));
        let run = run.ok_or_else(|| format!("row {row} belongs to run {}, which does not exist", numbers[row]))?;
        let named = Named {
            kind: kind[row],
            who: who[row],
            role: role[row],
            law: law[row],
            name: name[row],
        };
        // Rows of one value stand together, so that the search is seldom.
        let known = last
            .filter(|&(number, same, _)| (number, same) == (numbers[row], named))
            .map(|(_, _, found)| found);
        let found = known.or_else(|| watch::place_of(run, named));
        let unknown = || {
            format!(
                "row {row} has the value {} of {}, which nothing declares",
                named.name, named.who
            )
        };
        let (place, at, count) = found.ok_or_else(unknown)?;
        last = Some((numbers[row], named, (place, at, count)));
        let sample = run.record.series.time_ns.binary_search(&(time_ns[row] as u64));
        let sample = sample.map_err(|_| format!("row {row} is of an instant that is no sample"))?;
        watch::put(run, place, at, count, sample, raw[row] as u64).ok_or_else(unknown)?;
    }
    Ok(())
}

fn take_link_totals(runs: &mut [Run], rows: &Rows) -> Result<(), String> {
    let totals = rows.counters(counters::LINK, |counter| counter.grows)?;
    walk(runs, rows, "link", link_place, |run, link, row| {
        if let Some(place) = run.record.place_of(link) {
            run.record.links_end[place] = totals[row];
        }
    })
}

fn take_flow_totals(runs: &mut [Run], rows: &Rows) -> Result<(), String> {
    let totals = rows.counters(counters::FLOW, |counter| counter.grows)?;
    walk(runs, rows, "flow", flow_place, |run, flow, row| {
        run.record.flows_end[flow] = totals[row];
    })
}

fn take_completions(runs: &mut [Run], rows: &Rows) -> Result<(), String> {
    let (start_ns, end_ns) = (rows.numbers("start_ns")?, rows.numbers("end_ns")?);
    let bytes = rows.numbers("bytes")?;
    walk(runs, rows, "flow", flow_place, |run, flow, row| {
        run.record.completions.push(Completion {
            flow: flow as u32,
            start_ns: start_ns[row] as u64,
            end_ns: end_ns[row] as u64,
            bytes: bytes[row] as u64,
        });
    })
}

fn take_delays(runs: &mut [Run], rows: &Rows) -> Result<(), String> {
    let (numbers, lower_ns, count) = (rows.numbers("run")?, rows.numbers("lower_ns")?, rows.numbers("count")?);
    let (quantity, link, group) = (rows.texts("quantity")?, rows.texts("link")?, rows.texts("group")?);
    for row in 0..rows.len {
        let number = numbers[row];
        let run = usize::try_from(number).ok().and_then(|number| runs.get_mut(number));
        let run = run.ok_or_else(|| format!("row {row} belongs to run {number}, which does not exist"))?;
        let (lower_ns, count) = (lower_ns[row] as u64, count[row] as u64);
        if quantity[row] == RTT {
            let rtts_us = &mut run.record.delays.rtts_us;
            of_group(rtts_us, group[row]).add(lower_ns / RTT_UNIT_NS, count);
            continue;
        }
        if quantity[row] != WAIT {
            return Err(format!(
                "row {row} has the quantity {}: it is {WAIT} or {RTT}",
                quantity[row]
            ));
        }
        let place = link_place(run, link[row]).and_then(|link| run.record.place_of(link));
        let place = place.ok_or_else(|| format!("row {row} names the link {}, which does not exist", link[row]))?;
        let waits_ns = &mut run.record.delays.waits_ns;
        waits_ns.resize(run.record.link_ids.len(), Waits::default());
        let waits = &mut waits_ns[place];
        waits.all.add(lower_ns, count);
        if !group[row].is_empty() {
            of_group(&mut waits.groups, group[row]).add(lower_ns, count);
        }
    }
    Ok(())
}

fn take_drops(runs: &mut [Run], rows: &Rows) -> Result<(), String> {
    let (group, dropped_pkts) = (rows.texts("group")?, rows.numbers("dropped_pkts")?);
    walk(runs, rows, "link", link_place, |run, link, row| {
        run.record.dropped.push(DroppedOf {
            link: link as u32,
            group: group[row].to_owned(),
            dropped_pkts: dropped_pkts[row] as u64,
        });
    })
}

fn take_answers(runs: &mut [Run], rows: &Rows) -> Result<(), String> {
    let (group, cause) = (rows.texts("group")?, rows.texts("cause")?);
    let numbers = ["recoveries", "reduced", "cwnd_pkts_before", "cwnd_pkts_after"].map(|column| rows.numbers(column));
    let [recoveries, reduced, before, after] = numbers;
    let (recoveries, reduced, before, after) = (recoveries?, reduced?, before?, after?);
    if let Some(row) = cause.iter().position(|cause| answers::is_drop(cause).is_none()) {
        return Err(format!("row {row} has the cause {}: it is drop or other", cause[row]));
    }
    let of_run = |_: &Run, _: &str| Some(0);
    walk(runs, rows, "group", of_run, |run, _, row| {
        run.record.answers.push(AnswersOf {
            group: group[row].to_owned(),
            after_drop: answers::is_drop(cause[row]) == Some(true),
            recoveries: recoveries[row] as u64,
            reduced: reduced[row] as u64,
            cwnd_pkts_before: before[row] as u64,
            cwnd_pkts_after: after[row] as u64,
        });
    })
}

fn take_tunnels(runs: &mut [Run], rows: &Rows) -> Result<(), String> {
    let columns = [
        "entered_pkts",
        "left_pkts",
        "dropped_pkts",
        "no_sa_entering_pkts",
        "no_sa_leaving_pkts",
    ];
    let numbers: Vec<_> = columns
        .into_iter()
        .map(|column| rows.numbers(column))
        .collect::<Result<_, _>>()?;
    let name = rows.texts("tunnel")?;
    // A record has them by their names, in the order of the rows.
    walk(
        runs,
        rows,
        "tunnel",
        |_, _| Some(0),
        |run, _, row| {
            let count = |column: usize| numbers[column][row] as u64;
            run.record.tunnels.push(TunnelRecord {
                name: name[row].to_owned(),
                entered_pkts: count(0),
                left_pkts: count(1),
                dropped_pkts: count(2),
                no_sa_entering_pkts: count(3),
                no_sa_leaving_pkts: count(4),
            });
        },
    )
}

/// The histogram of a group, whose rows stand together.
fn of_group<'a>(groups: &'a mut Vec<OfGroup>, name: &str) -> &'a mut Histogram {
    if groups.last().is_none_or(|last| last.group != name) {
        groups.push(OfGroup {
            group: name.to_owned(),
            histogram: Histogram::default(),
        });
    }
    let last = groups.len() - 1;
    &mut groups[last].histogram
}
