//! Packet logs as Wireshark opens them: of flows at their senders' hosts, and of what crosses links.
//!
//! In the simulator the runs are made a second time for it: they give the same packets again, and runs without a log
//! stay as they are. On a kernel packets are logged while the run goes on.

mod esp;
mod file;
mod headers;

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use fadelab_run::flow::FlowSpec;
use fadelab_run::packet_log::{Interface, Place};
use fadelab_run::spec::RunSpec;
use fadelab_scenario::plan::{Plan, PlannedRun};
use fadelab_sim::RunError;
use fadelab_testbed::{PacketFile, Recordings};
use tempfile::TempDir;

use crate::packets::file::LogFile;
use crate::packets::headers::Host;
use crate::{Failure, Watch, workers};

/// Most files of one command: more are rarely meant, and each may be large.
const FILES_MAX: usize = 100;

/// Folder of the logs in the folder of results.
const FOLDER: &str = "packets";

/// What is logged: for each run its interfaces.
#[derive(Clone, Debug)]
pub struct Log {
    runs: Vec<Vec<Interface>>,
}

impl Log {
    /// Of flows, by their names or their numbers from 1, and of links, by their names.
    ///
    /// # Errors
    /// A flow or a link that some run does not have, and more files than are allowed.
    pub fn of(names: &[String], plan: &Plan) -> Result<Self, Failure> {
        if plan.runs.len() > FILES_MAX {
            let hint = "choose some with --seeds and --set";
            let given = format!("--pcap with {} runs", plan.runs.len());
            return Err(Failure::Invalid(format!(
                "{given}: one file each, and allowed are {FILES_MAX}; {hint}"
            )));
        }
        let interfaces = |run: &PlannedRun| {
            let mut interfaces: Vec<Interface> = Vec::new();
            for name in names {
                let found = interface(name, &run.spec).ok_or_else(|| unknown(name, &run.spec))?;
                if !interfaces.contains(&found) {
                    interfaces.push(found);
                }
            }
            Ok(interfaces)
        };
        let runs = plan.runs.iter().map(interfaces).collect::<Result<_, Failure>>()?;
        Ok(Self { runs })
    }

    /// Says whether the simulator can make packets of what is logged.
    ///
    /// # Errors
    /// Headers that make no packet.
    pub fn check_simulated(&self, plan: &Plan) -> Result<(), Failure> {
        for (run, interfaces) in plan.runs.iter().zip(&self.runs) {
            hosts(&run.spec, interfaces).map_err(|why| Failure::Invalid(format!("--pcap: {why}")))?;
        }
        Ok(())
    }

    /// What is logged of a run of the plan, by its place there, and the name of its file.
    pub fn of_run(&self, plan: &Plan, index: usize) -> (&[Interface], String) {
        let interfaces = &self.runs[index];
        (interfaces, file_name(&plan.runs[index], interfaces))
    }

    /// Makes the runs again in the simulator and writes a log of each into the folder of results, which is complete
    /// already, on `threads` threads.
    ///
    /// # Errors
    /// A file that cannot be written, or an interrupt.
    pub fn write(&self, plan: &Plan, results: &Path, threads: usize, watch: &dyn Watch) -> Result<(), Failure> {
        let failed = |what: String| after(results, &what);
        let folder = folder_in(results)?;
        let order: Vec<usize> = (0..plan.runs.len()).collect();
        let one = |index: usize| {
            let (interfaces, name) = self.of_run(plan, index);
            let log = || log(&plan.runs[index], interfaces, &folder.join(name), watch);
            workers::caught(log).unwrap_or_else(|panic| Err(NotLogged::Failed(panic)))
        };
        let all = workers::share(&order, threads, one).map_err(failed)?.outcomes;
        all.into_iter()
            .collect::<Result<(), NotLogged>>()
            .map_err(|why| match why {
                NotLogged::Interrupted => Failure::Interrupted(format!(
                    "interrupted while packets were logged; the result is complete in {}",
                    results.display()
                )),
                NotLogged::Failed(what) => failed(what),
            })
    }
}

/// Logs that a kernel's ground writes while runs go on, before there is a folder of results.
#[derive(Debug)]
pub struct Written {
    folder: TempDir,
    files: Vec<(Vec<Interface>, String)>,
}

impl Written {
    /// Of the runs of a plan.
    ///
    /// # Errors
    /// No folder for them.
    pub fn begin(log: &Log, plan: &Plan) -> Result<Self, Failure> {
        let folder = TempDir::with_prefix("fadelab-packets-");
        let folder = folder.map_err(|error| Failure::Failed(format!("no folder for packet logs: {error}")))?;
        let file = |index| {
            let (interfaces, name) = log.of_run(plan, index);
            (interfaces.to_vec(), name)
        };
        Ok(Self {
            folder,
            files: (0..plan.runs.len()).map(file).collect(),
        })
    }

    /// The file of a run.
    fn of(&self, run: &PlannedRun) -> PacketFile {
        let (interfaces, name) = &self.files[run.index as usize];
        PacketFile {
            path: self.folder.path().join(name),
            interfaces: interfaces.clone(),
        }
    }

    /// Moves the logs into the folder of results.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn keep(&self, results: &Path) -> Result<(), Failure> {
        let folder = folder_in(results)?;
        for (_, name) in &self.files {
            let [from, to] = [self.folder.path().join(name), folder.join(name)];
            // Another file system takes a copy.
            fs::rename(&from, &to)
                .or_else(|_| fs::copy(&from, &to).map(drop))
                .map_err(|error| after(results, &format!("cannot write {}: {error}", to.display())))?;
        }
        Ok(())
    }
}

/// What is recorded of a run on a kernel.
pub(crate) fn recordings_of(run: &PlannedRun, laws: &Recordings, packets: Option<&Written>) -> Recordings {
    Recordings {
        packets: packets.map(|written| written.of(run)),
        ..laws.clone()
    }
}

/// The folder of logs in a folder of results, made.
fn folder_in(results: &Path) -> Result<PathBuf, Failure> {
    let folder = results.join(FOLDER);
    let made = fs::create_dir(&folder);
    made.map_err(|error| after(results, &format!("cannot create {}: {error}", folder.display())))?;
    Ok(folder)
}

/// What went wrong when the result was there already.
fn after(results: &Path, what: &str) -> Failure {
    Failure::Failed(format!("{what}; the result is complete in {}", results.display()))
}

/// Why there is no log of a run.
enum NotLogged {
    Interrupted,
    Failed(String),
}

/// Place of a flow by its name or its number. Flows count from one, as they do in their names.
pub(crate) fn place(flow: &str, flows: &[FlowSpec]) -> Option<usize> {
    let by_name = flows.iter().position(|known| known.name.as_ref() == flow);
    let number = || flow.parse::<usize>().ok()?.checked_sub(1);
    by_name.or_else(|| number().filter(|&place| place < flows.len()))
}

fn interface(name: &str, spec: &RunSpec) -> Option<Interface> {
    let flow = || {
        let place = place(name, &spec.flows)?;
        Some((Place::Flow(place as u32), &spec.flows[place].name))
    };
    let link = || {
        let links = &spec.network.links;
        let place = links.iter().position(|edge| edge.link.name.as_ref() == name)?;
        Some((Place::Link(place as u32), &links[place].link.name))
    };
    let (place, name) = flow().or_else(link)?;
    let name = name.to_string();
    Some(Interface { place, name })
}

fn unknown(given: &str, spec: &RunSpec) -> Failure {
    const NAMES_SHOWN: usize = 6;
    let listed = |names: Vec<&str>| {
        let more = if names.len() > NAMES_SHOWN { ", ..." } else { "" };
        format!("{}{more}", names[..names.len().min(NAMES_SHOWN)].join(", "))
    };
    let flows = listed(spec.flows.iter().map(|flow| flow.name.as_ref()).collect());
    let links = listed(spec.network.links.iter().map(|edge| edge.link.name.as_ref()).collect());
    Failure::Invalid(format!(
        "--pcap {given}: no such flow or link; allowed are the flows {flows}, or a number from 1 to {}, and the links \
         {links}",
        spec.flows.len()
    ))
}

/// By flow: what makes packets of those that are logged.
fn hosts(spec: &RunSpec, interfaces: &[Interface]) -> Result<Vec<Option<Host>>, String> {
    let is_logged = |number: u32, flow: &FlowSpec| {
        interfaces.iter().any(|interface| match interface.place {
            Place::Flow(logged) => logged == number,
            Place::Link(link) => flow.route.contains(&link) || flow.route_back.contains(&link),
        })
    };
    let flows = (0..).zip(&spec.flows);
    let host = |(number, flow): (u32, &FlowSpec)| {
        let host = is_logged(number, flow).then(|| Host::of(flow, number)).transpose();
        host.map_err(|why| format!("{}: {why}", flow.name))
    };
    flows.map(host).collect()
}

/// Makes one run again and logs it. The file has its name when it is complete.
fn log(run: &PlannedRun, interfaces: &[Interface], path: &Path, watch: &dyn Watch) -> Result<(), NotLogged> {
    let failed = |error: &dyn std::fmt::Display| {
        NotLogged::Failed(format!("the log {} was not written: {error}", path.display()))
    };
    let hosts = hosts(&run.spec, interfaces).map_err(|why| failed(&why))?;
    let about = format!(
        "fadelab, simulated: law {}, seed {}. Of a flow what the host of its sender sees, of a link what arrives over \
         it. Payload is not recorded, or zeros.",
        run.law_label, run.seed
    );
    let [mut flows, mut links] = [Vec::new(), Vec::new()];
    for interface in interfaces {
        match interface.place {
            Place::Flow(flow) => flows.push(flow),
            Place::Link(link) => links.push(link),
        }
    }
    let tunnels = &run.spec.network.tunnels;
    let file = LogFile::create(path, &about, tunnels, interfaces, hosts).map_err(|error| failed(&error))?;
    let shared = Rc::new(RefCell::new(file));
    let sink = Rc::clone(&shared);
    let outcome = fadelab_sim::run_tapped(
        &run.spec,
        &flows,
        &links,
        Box::new(move |sighting| sink.borrow_mut().add(sighting)),
        |_| !watch.is_interrupted(),
    );
    match outcome {
        Ok(_) => shared.borrow_mut().finish().map_err(|error| failed(&error)),
        Err(RunError::Stopped) => Err(NotLogged::Interrupted),
        Err(error) => Err(failed(&error)),
    }
}

/// `run3-vcp-seed1-flow.1+bottleneck.pcapng`: the run as in the column `run`, its law, its seed, what is logged of it.
fn file_name(run: &PlannedRun, interfaces: &[Interface]) -> String {
    const NAMES_BYTES_MAX: usize = 100;
    let names: Vec<String> = interfaces.iter().map(|interface| plain(&interface.name)).collect();
    let names = Some(names.join("+")).filter(|names| names.len() <= NAMES_BYTES_MAX);
    let names = names.unwrap_or_else(|| format!("{}-places", interfaces.len()));
    let law = plain(&run.law_label);
    format!("run{}-{law}-seed{}-{names}.pcapng", run.index, run.seed)
}

fn plain(text: &str) -> String {
    let keep = |letter: char| {
        if letter.is_ascii_alphanumeric() || "._+-".contains(letter) {
            letter
        } else {
            '_'
        }
    };
    text.chars().map(keep).collect()
}
