//! From the text of a scenario to its plan.

use std::collections::BTreeMap;
use std::path::Path;

use fadelab_laws::{Params, Sender};
use fadelab_sim::spec::{RunSpec, Transport};

use crate::document::{self, Node, Raw};
use crate::error::{Refusal, one_of};
use crate::flows::{self, Group, Way};
use crate::laws::{self, Law};
use crate::network::{self, CapacityParts, Parts};
use crate::plan::{Plan, PlannedRun};
use crate::reader::Reader;
use crate::resolve::{Resolved, rank};
use crate::schema;
use crate::seeds::Seeds;
use crate::sweep::{self, Axis};
use crate::topology::{self, Topology};
use crate::trace::Traces;
use crate::unit::{Duration, Scalar, Switch, positive};
use crate::{channel, transport};

/// How a scenario is read.
#[derive(Clone, Debug)]
pub struct Options {
    /// Arguments of `--set`, each `key=value`, in order.
    pub sets: Vec<String>,
    /// Most runs that a sweep may have.
    pub runs_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sets: Vec::new(),
            runs_max: 10_000,
        }
    }
}

/// Reads a scenario file.
///
/// # Errors
/// Everything that is wrong with it, one at a time.
pub fn load(path: &Path, options: &Options) -> Result<Plan, Refusal> {
    let name = path.display().to_string();
    let bytes = read_file(path).map_err(|error| Refusal::new(&name, format!("cannot be read: {error}")))?;
    parse(&bytes, &name, path.parent().unwrap_or(Path::new("")), options)
}

/// Reads no more of a file than decides that it is too long.
fn read_file(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read;
    let mut bytes = Vec::new();
    std::fs::File::open(path)?
        .take(document::FILE_BYTES_MAX as u64 + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads the text of a scenario. `name` stands for it in messages, paths in it are relative to `folder`.
///
/// # Errors
/// Everything that is wrong with it, one at a time.
pub fn parse(bytes: &[u8], name: &str, folder: &Path, options: &Options) -> Result<Plan, Refusal> {
    let mut root = document::parse(bytes, name)?;
    for set in &options.sets {
        document::set(&mut root, set)?;
    }
    schema::check(&root)?;
    let mut axes = sweep::axes(&root)?;
    axes.sort_by_key(|axis| rank(&axis.path));
    let mut planner = Planner {
        root: &root,
        folder,
        axes,
        traces: Traces::default(),
        resolved: Resolved::default(),
        warnings: Vec::new(),
    };
    planner.plan(Path::new(name), options.runs_max)
}

struct Planner<'a> {
    root: &'a Node,
    folder: &'a Path,
    axes: Vec<Axis>,
    traces: Traces,
    resolved: Resolved,
    warnings: Vec<String>,
}

/// One point of the sweep, seeds aside.
struct Point {
    law_label: String,
    law_order: u32,
    coordinates: Vec<(String, String)>,
    seeds: Vec<u64>,
    spec: RunSpec,
}

impl Planner<'_> {
    fn plan(&mut self, path: &Path, runs_max: usize) -> Result<Plan, Refusal> {
        let (title, about) = self.texts(path)?;
        let points = self.points_within(runs_max)?;
        let mut runs = Vec::new();
        for index in 0..points {
            let point = self.point(&sweep::picks(&self.axes, index))?;
            for seed in point.seeds {
                runs.push(PlannedRun {
                    index: runs.len() as u32,
                    law_label: point.law_label.clone(),
                    law_order: point.law_order,
                    point: point.coordinates.clone(),
                    seed,
                    spec: RunSpec {
                        seed,
                        ..point.spec.clone()
                    },
                });
            }
        }
        self.warn_of_unread();
        let seeds_swept = runs.windows(2).any(|pair| pair[0].seed != pair[1].seed);
        let mut sweep_keys: Vec<String> = self
            .axes
            .iter()
            .filter(|axis| axis.len > 1)
            .map(|axis| axis.path.clone())
            .collect();
        if seeds_swept {
            sweep_keys.push("run.seeds".to_owned());
        } else {
            self.warn("one seed only: a mean over seeds has no interval, give run.seeds = \"1..10\"".to_owned());
        }
        let warnings = std::mem::take(&mut self.warnings);
        Ok(Plan {
            title,
            about,
            text: self.resolved.text(),
            sweep_keys,
            warnings,
            runs,
        })
    }

    fn texts(&mut self, path: &Path) -> Result<(String, String), Refusal> {
        let picks = BTreeMap::new();
        let mut reader = Reader::new(self.root, &picks);
        let stem = path
            .file_stem()
            .map_or_else(|| "scenario".to_owned(), |stem| stem.to_string_lossy().into_owned());
        let texts = (reader.or("title", stem)?, reader.or("about", String::new())?);
        self.resolved.add(&reader.seen, &[], &picks);
        Ok(texts)
    }

    /// Number of points, seeds aside; refuses a sweep with more than `runs_max` runs before any of them is built.
    fn points_within(&self, runs_max: usize) -> Result<usize, Refusal> {
        let seeds = match self.root.at("run.seeds") {
            Some(node) if !self.axes.iter().any(|axis| axis.path == "run.seeds") => {
                Seeds::read(&node.raw).map_or(1, |seeds| seeds.0.len())
            }
            _ => 1,
        };
        match sweep::points(&self.axes, seeds) {
            Some(runs) if runs <= runs_max => Ok(runs / seeds),
            runs => {
                let given = runs.map_or_else(|| "more than 2^64".to_owned(), |runs| runs.to_string());
                let mut factors: Vec<String> = self
                    .axes
                    .iter()
                    .map(|axis| format!("{} of {}", axis.len, axis.path))
                    .collect();
                factors.push(format!("{seeds} of run.seeds"));
                let message = format!(
                    "the sweep has {given} runs ({}), allowed are {runs_max}: shorten a list or raise --max-runs",
                    factors.join(" x ")
                );
                Err(Refusal::new(&self.root.place, message))
            }
        }
    }

    fn point(&mut self, picks: &BTreeMap<String, usize>) -> Result<Point, Refusal> {
        let mut reader = Reader::new(self.root, picks);
        let law_path = flows::law_path(&reader);
        let law = flows::run_law(&mut reader)?;
        let run = run_section(&mut reader)?;
        let topology = topology::read(&mut reader, &mut self.traces, self.folder)?;
        let channel = channel::read(&mut reader)?;
        let is_marking = marks_plain_packets(&law);
        let (transport, ecn) = transport::read(&mut reader)?;
        let mut groups = Vec::new();
        for name in flows::group_names(&reader) {
            let group = flows::group(&mut reader, &name, &law, run.duration_ns)?;
            check_way(&reader, &name, &group, &topology)?;
            let wants_ecn = group
                .sender
                .is_some_and(|sender| sender.ecn_mode() != fadelab_laws::abi::ECN_MODE_NONE);
            let transport = Transport {
                ecn: ecn.unwrap_or(is_marking && wants_ecn),
                ..transport
            };
            groups.push((group, transport));
        }
        let capacity = capacity_parts(&mut reader, &law, &topology)?;
        let router_params = laws::params(
            &mut reader,
            &format!("router.{}", law.router.name()),
            law.router.params(),
            |pairs| law.router.params_from(pairs),
        )?;
        let groups = with_params(&mut reader, groups)?;
        unused_laws(&mut reader)?;
        warn_of_routers(&mut reader, &law, &groups);
        let (links, flows) = network::build(&Parts {
            topology: &topology,
            channel,
            router: law.router,
            router_params,
            capacity,
            groups,
        });
        self.resolved.add(&reader.seen, &self.axes, picks);
        let coordinates = coordinates(&self.axes, &law_path, &reader);
        for warning in std::mem::take(&mut reader.warnings) {
            self.warn(warning);
        }
        Ok(Point {
            law_order: picks.get(&law_path).copied().unwrap_or(0) as u32,
            law_label: law.label,
            coordinates,
            seeds: run.seeds,
            spec: RunSpec {
                seed: 0,
                duration_ns: run.duration_ns,
                warmup_ns: run.warmup_ns,
                record_interval_ns: run.record_interval_ns,
                links,
                flows,
            },
        })
    }

    fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// Keys that exist, are given, and that nothing asked for.
    fn warn_of_unread(&mut self) {
        let mut unread = Vec::new();
        leaves(self.root, "", &mut unread);
        for (path, node) in unread {
            if !self.resolved.has(&path) {
                self.warn(format!("{}: `{path}` has no effect in this scenario", node.place));
            }
        }
    }
}

fn leaves<'a>(node: &'a Node, path: &str, out: &mut Vec<(String, &'a Node)>) {
    match &node.raw {
        Raw::Table(entries) => {
            for (name, child) in entries {
                let path = if path.is_empty() {
                    name.clone()
                } else {
                    format!("{path}.{name}")
                };
                leaves(child, &path, out);
            }
        }
        _ => out.push((path.to_owned(), node)),
    }
}

/// `[run]`.
struct Run {
    duration_ns: u64,
    warmup_ns: u64,
    seeds: Vec<u64>,
    record_interval_ns: Option<u64>,
}

/// Most samples of a time series, so that a slip of a unit does not fill the memory.
const SAMPLES_MAX: u64 = 1_000_000;

fn run_section(reader: &mut Reader<'_>) -> Result<Run, Refusal> {
    let duration_ns = reader.map("run.duration", Some(Duration(60_000_000_000)), "", |time| {
        positive(time.0, "a run")
    })?;
    let warmup_ns = reader.or("run.warmup", Duration(0))?.0;
    if warmup_ns >= duration_ns {
        return Err(reader.refuse("run.warmup", "the warm-up must end before run.duration"));
    }
    if warmup_ns > duration_ns / 2 {
        reader
            .warnings
            .push("run.warmup takes more than half of run.duration".to_owned());
    }
    let seeds = reader.or("run.seeds", Seeds(vec![1]))?.0;
    let record = reader.or("run.record", Switch(Some(Duration(1_000_000_000))))?.0;
    let record_interval_ns = match record {
        Some(Duration(0)) => return Err(reader.refuse("run.record", "the interval must be greater than zero")),
        Some(Duration(interval_ns)) if duration_ns / interval_ns > SAMPLES_MAX => {
            let message = format!("a run would have more than {SAMPLES_MAX} samples: take a longer interval");
            return Err(reader.refuse("run.record", &message));
        }
        record => record.map(|interval| interval.0),
    };
    Ok(Run {
        duration_ns,
        warmup_ns,
        seeds,
        record_interval_ns,
    })
}

/// Whether routers mark packets that ask for ECN: a law for all packets that does more than drop-tail.
fn marks_plain_packets(law: &Law) -> bool {
    law.router.wire() == fadelab_laws::abi::WIRE_NONE && law.router.name() != "droptail"
}

fn check_way(reader: &Reader<'_>, name: &str, group: &Group, topology: &Topology) -> Result<(), Refusal> {
    let hops = topology.hops.len() as u32;
    match group.way {
        Way::Hops { last, .. } if last > hops => {
            let path = if reader.node(&format!("flow.{name}.path")).is_some() {
                format!("flow.{name}.path")
            } else {
                "flow.path".to_owned()
            };
            Err(reader.refuse(&path, &format!("the topology has hops 1 to {hops}")))
        }
        _ => Ok(()),
    }
}

/// The capacity parts of constant and recorded links.
fn capacity_parts(reader: &mut Reader<'_>, law: &Law, topology: &Topology) -> Result<CapacityParts, Refusal> {
    let parts = fadelab_laws::capacities();
    let mut choices = vec![("auto", None)];
    choices.extend(parts.iter().map(|part| (part.name(), Some(part))));
    let path = "router.capacity";
    let chosen = reader.choice(path, Some("auto"), &choices)?;
    let registered = |name: &str| fadelab_laws::capacity(name).expect("both parts are registered");
    let has_trace = topology.hops.iter().any(|hop| {
        let is_trace = |capacity| matches!(capacity, &fadelab_sim::spec::CapacitySpec::Trace(_));
        is_trace(&hop.capacity) || is_trace(&hop.capacity_back)
    });
    let (constant, trace) = chosen.map_or_else(
        || (registered("configured"), registered("measured")),
        |part| (part, part),
    );
    let needs_capacity = law.router.flags() & fadelab_laws::abi::ROUTER_NEEDS_CAPACITY != 0;
    if has_trace && trace.name() == "configured" {
        let why = "nothing is configured for a link that replays a trace: take \"measured\" or \"auto\"";
        return Err(reader.refuse(path, why));
    }
    if needs_capacity && !(constant.knows_capacity() && (trace.knows_capacity() || !has_trace)) {
        let knowing: Vec<&str> = parts
            .iter()
            .filter(|part| part.knows_capacity())
            .map(|part| part.name())
            .collect();
        let router = law.router.name();
        let why = format!(
            "router {router} must know the capacity of its link: allowed is auto, {}",
            one_of(&knowing)
        );
        return Err(reader.refuse(path, &why));
    }
    let mut with_params = |part: &'static fadelab_laws::Capacity| {
        let table = format!("capacity.{}", part.name());
        laws::params(reader, &table, part.params(), |pairs| part.params_from(pairs)).map(|params| (part, params))
    };
    let constant = with_params(constant)?;
    let trace = if has_trace {
        with_params(trace)?
    } else {
        constant.clone()
    };
    Ok(CapacityParts { constant, trace })
}

/// Adds the parameters of each group's sender.
fn with_params(
    reader: &mut Reader<'_>,
    groups: Vec<(Group, Transport)>,
) -> Result<Vec<(Group, Params, Transport)>, Refusal> {
    // UDP has no parameters; those of a law without any stand in for them.
    let none = fadelab_laws::router("droptail")
        .expect("drop-tail is registered")
        .default_params();
    let of = |reader: &mut Reader<'_>, sender: &'static Sender| {
        let table = format!("law.{}", sender.name());
        laws::params(reader, &table, sender.params(), |pairs| sender.params_from(pairs))
    };
    let with = |(group, transport): (Group, Transport)| {
        let params = group
            .sender
            .map_or_else(|| Ok(none.clone()), |sender| of(reader, sender))?;
        Ok((group, params, transport))
    };
    groups.into_iter().map(with).collect()
}

/// Reads the parameters of laws that are given but not used at this point, so that a wrong value is refused all the
/// same and a later `--set flow.law=` brings no surprise.
fn unused_laws(reader: &mut Reader<'_>) -> Result<(), Refusal> {
    let names = |reader: &Reader<'_>, section: &str| -> Vec<String> {
        let entries = reader.node(section).map_or(&[][..], Node::entries);
        entries.iter().map(|(name, _)| name.clone()).collect()
    };
    for name in names(reader, "law") {
        if let Some(law) = fadelab_laws::sender(&name) {
            laws::params(reader, &format!("law.{name}"), law.params(), |pairs| {
                law.params_from(pairs)
            })?;
        }
    }
    for name in names(reader, "router") {
        if let Some(law) = fadelab_laws::router(&name) {
            laws::params(reader, &format!("router.{name}"), law.params(), |pairs| {
                law.params_from(pairs)
            })?;
        }
    }
    for name in names(reader, "capacity") {
        if let Some(part) = fadelab_laws::capacity(&name) {
            laws::params(reader, &format!("capacity.{name}"), part.params(), |pairs| {
                part.params_from(pairs)
            })?;
        }
    }
    Ok(())
}

fn warn_of_routers(reader: &mut Reader<'_>, law: &Law, groups: &[(Group, Params, Transport)]) {
    for (group, _, _) in groups {
        let Some(sender) = group.sender else { continue };
        if let Some(needed) = sender.router()
            && needed != law.router.name()
        {
            reader.warnings.push(format!(
                "{} flows of `{}` cross routers with `{}`, but the law works only with router `{needed}` on its path",
                sender.name(),
                group.name,
                law.router.name()
            ));
        }
    }
}

/// Values of the swept keys besides law and seed.
fn coordinates(axes: &[Axis], law_path: &str, reader: &Reader<'_>) -> Vec<(String, String)> {
    axes.iter()
        .filter(|axis| axis.len > 1 && axis.path != law_path)
        .map(|axis| {
            let seen = reader
                .seen
                .iter()
                .find(|seen| seen.path == axis.path)
                .map(|seen| seen.text.clone());
            let raw = || {
                reader
                    .node(&axis.path)
                    .map_or_else(String::new, |node| node.raw.shown())
            };
            let text = seen.unwrap_or_else(raw);
            (axis.path.clone(), text.trim_matches('"').to_owned())
        })
        .collect()
}
