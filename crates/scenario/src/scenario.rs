//! From the text of a scenario to its plan.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use fadelab_laws::{Params, Router};
use fadelab_phy::channel::{CodeMode, PacketKind};
use fadelab_run::flow::FlowSpec;
use fadelab_run::network::NetworkSpec;
use fadelab_run::spec::RunSpec;
use fadelab_run::transport::Transport;

use crate::channel::Channel;
use crate::document::{self, Node, Raw};
use crate::elsewhere;
use crate::error::{Refusal, nearest, one_of};
use crate::flows;
use crate::ground;
use crate::groups;
use crate::laws::{self, Law};
use crate::memory::Budget;
use crate::named::Named;
use crate::network::{self, Parts};
use crate::plan::{Plan, PlannedRun};
use crate::reader::Reader;
use crate::resolve::{Resolved, rank};
use crate::schema;
use crate::seeds::Seeds;
use crate::sweep::{self, Axis};
use crate::topology::{self, Files, Hop, Topology, changes, trace_rules};
use crate::trace::Traces;
use crate::transport::LawChoices;
use crate::unit::Scalar;
use crate::versus::{self, Versus};
use crate::{capacity, memory, own_laws, queues, ready_made, run, title, transport, tunnels, warnings};

/// How a scenario is read.
#[derive(Clone, Debug)]
pub struct Options {
    /// Arguments of `--set`, each `key=value`, in order.
    pub sets: Vec<String>,
    /// Whether it is for the live ground, or for others beside it: `[ground.live]` then says what it has otherwise.
    pub is_live: bool,
    /// Most runs that a sweep may have.
    pub runs_max: usize,
    /// Most memory that the runs of a sweep may take before the first one begins.
    pub memory_bytes_max: u64,
    /// Names of laws that a user brought: those that the scenario does not name run beside those that it names.
    pub own_laws: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sets: Vec::new(),
            is_live: false,
            runs_max: 10_000,
            memory_bytes_max: memory::BYTES_MAX,
            own_laws: Vec::new(),
        }
    }
}

/// Reads a scenario file, or the ready-made scenario of that name where there is no such file.
///
/// # Errors
/// Everything that is wrong with it, one at a time.
pub fn load(path: &Path, options: &Options) -> Result<Plan, Refusal> {
    let name = path.display().to_string();
    let bytes = match (read_file(path), ready_made::find(path)) {
        (Ok(bytes), _) => bytes,
        (Err(error), Some(ready)) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::IsADirectory) => {
            ready.text.as_bytes().to_vec()
        }
        (Err(error), _) => return Err(unreadable(path, &error)),
    };
    parse(&bytes, &name, path.parent().unwrap_or(Path::new("")), options)
}

/// A file that cannot be read; a bare name that is none of a ready-made scenario is told those.
fn unreadable(path: &Path, error: &std::io::Error) -> Refusal {
    let name = path.display().to_string();
    if error.kind() != ErrorKind::NotFound || path.components().count() != 1 {
        return Refusal::new(&name, format!("cannot be read: {error}"));
    }
    let known: Vec<&str> = ready_made::all().map(|ready| ready.name).collect();
    let near = nearest(name.strip_suffix(".toml").unwrap_or(&name), &known);
    let message = format!(
        "cannot be read: {error}; ready-made scenarios are {}{near}",
        one_of(&known)
    );
    Refusal::new(&name, message)
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
    let mut changed = ground::lay(&mut root, options.is_live)?;
    for set in &options.sets {
        document::set(&mut root, set)?;
    }
    let chosen = schema::chosen_names(&root);
    let warnings = own_laws::add(&mut root, &chosen, &options.own_laws);
    schema::check(&root)?;
    let versus = Versus::read(&root, &chosen)?;
    let mut axes = sweep::axes(&root)?;
    axes.extend(versus.as_ref().map(|versus| Axis {
        path: versus::LAWS_PATH.to_owned(),
        len: versus.len(),
    }));
    axes.sort_by_key(|axis| rank(&axis.path, &chosen));
    let mut planner = Planner {
        root: &root,
        chosen: &chosen,
        folder,
        axes,
        versus,
        traces: Traces::default(),
        resolved: Resolved::new(chosen.clone()),
        warnings,
        memory: Budget::new(options.memory_bytes_max),
    };
    let mut plan = planner.plan(Path::new(name), options.runs_max)?;
    changed.extend(options.sets.iter().cloned());
    plan.about = about_changed(plan.about, &changed);
    Ok(plan)
}

/// What a scenario shows, as its author wrote it, and what was changed since: the two would contradict each other
/// unsaid.
fn about_changed(about: String, sets: &[String]) -> String {
    let said_anew = sets.iter().any(|set| set.starts_with("about"));
    if about.is_empty() || sets.is_empty() || said_anew {
        return about;
    }
    // The scenario beside the result has the values; paths among them are of one machine.
    let keys: Vec<&str> = sets
        .iter()
        .map(|set| set.split('=').next().unwrap_or(set).trim())
        .collect();
    format!("{} Changed for these runs: {}.", about.trim_end(), keys.join(", "))
}

struct Planner<'a> {
    root: &'a Node,
    chosen: &'a [String],
    folder: &'a Path,
    axes: Vec<Axis>,
    versus: Option<Versus>,
    traces: Traces,
    resolved: Resolved,
    warnings: Vec<String>,
    memory: Budget,
}

/// One point of the sweep, seeds aside.
struct Point {
    law_label: String,
    law_key: String,
    law_value: String,
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
                    law_key: point.law_key.clone(),
                    law_value: point.law_value.clone(),
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
        self.warn_of_unread()?;
        // A list of one value that nothing read names no point: the resolved text leaves it out, and so do its runs.
        for run in &mut runs {
            run.point.retain(|(path, _)| self.resolved.has(path));
        }
        if self.versus.is_some() {
            warnings::of_pairs(&mut self.warnings, &runs);
        }
        let seeds_swept = runs.windows(2).any(|pair| pair[0].seed != pair[1].seed);
        let named = runs.first().map_or(&[][..], |run| &run.point);
        let is_swept = |axis: &&Axis| axis.len > 1 || named.iter().any(|(path, _)| *path == axis.path);
        let swept = self.axes.iter().filter(is_swept);
        let mut sweep_keys: Vec<String> = swept.map(|axis| axis.path.clone()).collect();
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
        let mut reader = Reader::new(self.root, self.chosen, &picks);
        let texts = title::read(&mut reader, path)?;
        self.resolved.add(&reader.seen, &[], &picks);
        if let Some(versus) = &mut self.versus {
            self.resolved.add(&versus.seen, &[], &picks);
            self.warnings.append(&mut versus.warnings);
        }
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
                let mut factors: Vec<(usize, &str)> = vec![(seeds, "run.seeds")];
                factors.extend(self.axes.iter().rev().map(|axis| (axis.len, axis.path.as_str())));
                factors.reverse();
                let listed: Vec<String> = factors.iter().map(|(len, path)| format!("{len} of {path}")).collect();
                let message = format!(
                    "the sweep has {given} runs ({}), allowed are {runs_max}: shorten a list or raise --max-runs",
                    listed.join(" x ")
                );
                // The longest list is the one to look at.
                let longest = factors.into_iter().max_by_key(|(len, _)| *len);
                let node = longest.and_then(|(_, path)| self.root.at(path)).unwrap_or(self.root);
                Err(Refusal::new(&node.place, message))
            }
        }
    }

    fn point(&mut self, picks: &BTreeMap<String, usize>) -> Result<Point, Refusal> {
        let member = self
            .versus
            .as_ref()
            .map(|versus| versus.member(self.root, self.chosen, picks));
        let member = member.transpose()?;
        let names = member.as_ref().map(|member| schema::chosen_names(&member.root));
        let root = member.as_ref().map_or(self.root, |member| &member.root);
        let chosen = names.as_deref().unwrap_or(self.chosen);
        let mut reader = Reader::new(root, chosen, picks);
        let law_path = flows::law_path(&reader);
        let law = flows::run_law(&mut reader)?;
        let run = run::read(&mut reader)?;
        let mut files = Files {
            traces: &mut self.traces,
            folder: self.folder,
        };
        let topology = topology::read(&mut reader, &mut files)?;
        let tunnels = tunnels::read(&mut reader, &topology, law.router)?;
        let stack = transport::read(&mut reader)?;
        check_channels(&mut reader, &topology, &stack.transport)?;
        let groups = groups::read(&mut reader, &law, &topology, &stack, run.duration_ns)?;
        let run_bytes = memory::of_run(groups.iter().map(|(group, _)| group), &topology);
        let place = &self.root.at("flow").unwrap_or(self.root).place;
        self.memory.take(run_bytes, run.seeds.len(), place)?;
        let routers = routers(&law, &topology);
        let capacity = capacity::read(&mut reader, &routers, &topology)?;
        let queueing = queues::read(
            &mut reader,
            law.router_is_fair,
            stack.vcp_acks_first,
            &with_names(&law, &topology),
        )?;
        let routers = with_router_params(&mut reader, routers, stack.laws)?;
        let label = flows::mixture(&law, groups.iter().map(|(group, _)| group));
        let groups = groups::with_params(&mut reader, groups, stack.laws)?;
        laws::unused(&mut reader, stack.laws)?;
        let (network, flows) = network::build(&Parts {
            topology: &topology,
            tunnels,
            routers,
            queueing,
            capacity,
            groups,
        });
        check_network(&mut reader, &topology, &network, &flows, &stack.transport)?;
        let named = Named::of(member.as_ref(), &mut reader, law_path, law.label, label);
        self.resolved.add(&reader.seen, &self.axes, picks);
        let coordinates = coordinates(&self.axes, &named.path, &reader);
        for warning in std::mem::take(&mut reader.warnings) {
            self.warn(warning);
        }
        Ok(Point {
            law_order: picks.get(&named.path).copied().unwrap_or(0) as u32,
            law_label: named.label,
            law_key: named.key,
            law_value: named.value,
            coordinates,
            seeds: run.seeds,
            spec: RunSpec {
                seed: 0,
                duration_ns: run.duration_ns,
                warmup_ns: run.warmup_ns,
                record_interval_ns: run.record_interval_ns,
                network,
                flows,
            },
        })
    }

    fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// Keys that exist, are given, and that nothing asked for. A sweep of one would run the same again and again under
    /// other names.
    fn warn_of_unread(&mut self) -> Result<(), Refusal> {
        let mut unread = Vec::new();
        leaves(self.root, "", &mut unread);
        unread.retain(|(path, _)| !self.resolved.has(path));
        for (path, node) in unread {
            if let Some(axis) = self.axes.iter().find(|axis| axis.path == path && axis.len > 1) {
                let why = "has no effect in this scenario and cannot be swept: give one value or none";
                return Err(Refusal::new(
                    &node.place,
                    format!("`{path}` with its {} values {why}", axis.len),
                ));
            }
            if let Some(refusal) = elsewhere::refusal(&path, node, self.root) {
                return Err(refusal);
            }
            self.warn(format!("{}: `{path}` has no effect in this scenario", node.place));
        }
        Ok(())
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

/// Refuses codes whose exact packet error would take minutes to compute, and warns of channels over which hardly
/// anything arrives: most likely antennas, SNR and code were not meant together.
fn check_channels(reader: &mut Reader<'_>, topology: &Topology, transport: &Transport) -> Result<(), Refusal> {
    let mut seen = Vec::new();
    for Channel { table, spec } in topology.hops.iter().filter_map(|hop| hop.channel.as_ref()) {
        if seen.contains(&table) {
            continue;
        }
        seen.push(table);
        let sizes = [
            ("data", PacketKind::Data, transport.packet_bytes),
            ("ack", PacketKind::Ack, transport.ack_bytes),
        ];
        for (key, kind, bytes) in sizes {
            let bytes_max = spec.ip_bytes_max(kind, bytes);
            if bytes_max < bytes {
                let other = match spec.code.mode {
                    CodeMode::Ideal => " or take \"gf256\"",
                    CodeMode::Gf256 | CodeMode::None => "",
                };
                let why = format!(
                    "the loss of a packet of {bytes} B at this rate takes too long to compute; allowed are {bytes_max} \
                     B: raise the rate, shorten the packet{other}"
                );
                return Err(reader.refuse(&format!("{table}.code.{key}"), &why));
            }
        }
        let error = spec.packet_error(PacketKind::Data, transport.packet_bytes);
        if error >= 0.5 {
            reader.warnings.push(format!(
                "[{table}] loses {:.3} % of the data packets; `fadelab channel` shows which SNR and code rate would do",
                100.0 * error
            ));
        }
    }
    Ok(())
}

/// Refuses what shows once routes are known, and warns of what is odd.
fn check_network(
    reader: &mut Reader<'_>,
    topology: &Topology,
    network: &NetworkSpec,
    flows: &[FlowSpec],
    transport: &Transport,
) -> Result<(), Refusal> {
    changes::check(reader, topology)?;
    tunnels::check(reader, network, flows)?;
    let packet_bytes_on = tunnels::packet_bytes_on(network, flows, transport.packet_bytes);
    trace_rules::check(reader, topology, &network.links, &packet_bytes_on)?;
    warnings::of_network(&mut reader.warnings, topology, &network.links, flows);
    warnings::of_tunnels(&mut reader.warnings, &network.tunnels);
    Ok(())
}

/// The laws of routers in use, that of the run first, each once.
fn routers(law: &Law, topology: &Topology) -> Vec<&'static Router> {
    let mut routers = vec![law.router];
    for router in topology.hops.iter().filter_map(|hop| hop.router) {
        if routers.iter().all(|known| known.name() != router.name()) {
            routers.push(router);
        }
    }
    routers
}

/// The law of each router in use, and whether its name asks for fair queues.
fn with_names(law: &Law, topology: &Topology) -> Vec<(&'static Router, bool)> {
    let own = |hop: &Hop| hop.router.zip(hop.router_is_fair);
    let own = topology.hops.iter().filter_map(own);
    std::iter::once((law.router, law.router_is_fair)).chain(own).collect()
}

fn with_router_params(
    reader: &mut Reader<'_>,
    routers: Vec<&'static Router>,
    choices: LawChoices,
) -> Result<Vec<(&'static Router, Params)>, Refusal> {
    let with = |router: &'static Router| {
        let table = format!("router.{}", router.name());
        laws::params(reader, &table, router.params(), choices, |pairs| {
            router.params_from(pairs)
        })
        .map(|params| (router, params))
    };
    routers.into_iter().map(with).collect()
}

/// Values of the swept keys besides law and seed. A list of one value is a sweep of one point, which has a name.
fn coordinates(axes: &[Axis], law_path: &str, reader: &Reader<'_>) -> Vec<(String, String)> {
    axes.iter()
        .filter(|axis| axis.path != law_path)
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
