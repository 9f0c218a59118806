//! Packet logs of one flow at its sender's host, as Wireshark opens them.
//!
//! The runs are made a second time for it: they give the same packets again, and runs without a log stay as they are.

mod file;
mod headers;

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use fadelab_run::flow::FlowSpec;
use fadelab_scenario::plan::{Plan, PlannedRun};
use fadelab_sim::RunError;

use crate::packets::file::LogFile;
use crate::packets::headers::Host;
use crate::{Failure, Watch, workers};

/// Most files of one command: more are rarely meant, and each may be large.
const FILES_MAX: usize = 100;

/// Folder of the logs in the folder of results.
const FOLDER: &str = "packets";

/// Which flow is logged: its place among the flows of each run.
#[derive(Clone, Debug)]
pub struct Log {
    places: Vec<u32>,
}

impl Log {
    /// Of a flow by its name or its number, from 1.
    ///
    /// # Errors
    /// A flow that some run does not have, more files than are allowed, headers that make no packet.
    pub fn of(flow: &str, plan: &Plan) -> Result<Self, Failure> {
        if plan.runs.len() > FILES_MAX {
            let hint = "choose some with --seeds and --set";
            let given = format!("--pcap with {} runs", plan.runs.len());
            return Err(Failure::Invalid(format!(
                "{given}: one file each, and allowed are {FILES_MAX}; {hint}"
            )));
        }
        let place = |run: &PlannedRun| {
            let flows = &run.spec.flows;
            let place = place(flow, flows).ok_or_else(|| unknown(flow, flows))?;
            Host::of(&flows[place], place as u32).map_err(|why| Failure::Invalid(format!("--pcap {flow}: {why}")))?;
            Ok(place as u32)
        };
        let places = plan.runs.iter().map(place).collect::<Result<_, Failure>>()?;
        Ok(Self { places })
    }

    /// Makes the runs again in the simulator and writes a log of each into the folder of results, which is complete
    /// already, on `threads` threads.
    ///
    /// # Errors
    /// A file that cannot be written, or an interrupt.
    pub fn write(&self, plan: &Plan, results: &Path, threads: usize, watch: &dyn Watch) -> Result<(), Failure> {
        let folder = results.join(FOLDER);
        let failed = |what: String| Failure::Failed(format!("{what}; the result is complete in {}", results.display()));
        std::fs::create_dir(&folder).map_err(|error| failed(format!("cannot create {}: {error}", folder.display())))?;
        let order: Vec<usize> = (0..plan.runs.len()).collect();
        let one = |index: usize| {
            let log = || log(&plan.runs[index], self.places[index], &folder, watch);
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

fn unknown(flow: &str, flows: &[FlowSpec]) -> Failure {
    const NAMES_SHOWN: usize = 6;
    let names: Vec<&str> = flows.iter().take(NAMES_SHOWN).map(|flow| flow.name.as_ref()).collect();
    let more = if flows.len() > NAMES_SHOWN { ", ..." } else { "" };
    Failure::Invalid(format!(
        "--pcap {flow}: no such flow; allowed are {}{more}, or a number from 1 to {}",
        names.join(", "),
        flows.len()
    ))
}

/// Makes one run again and logs it. The file has its name when it is complete.
fn log(run: &PlannedRun, place: u32, folder: &Path, watch: &dyn Watch) -> Result<(), NotLogged> {
    let flow = &run.spec.flows[place as usize];
    let path = folder.join(file_name(run, flow));
    let failed = |error: &dyn std::fmt::Display| {
        NotLogged::Failed(format!("the log {} was not written: {error}", path.display()))
    };
    let host = Host::of(flow, place).map_err(|why| failed(&why))?;
    let about = format!(
        "fadelab, simulated: flow {} at the host of its sender, law {}, seed {}. Payload is not recorded.",
        flow.name, run.law_label, run.seed
    );
    let file = LogFile::create(&path, &about, host).map_err(|error| failed(&error))?;
    let shared = Rc::new(RefCell::new(file));
    let sink = Rc::clone(&shared);
    let outcome = fadelab_sim::run_tapped(
        &run.spec,
        &[place],
        Box::new(move |sighting| sink.borrow_mut().add(sighting)),
        |_| !watch.is_interrupted(),
    );
    match outcome {
        Ok(_) => shared.borrow_mut().finish().map_err(|error| failed(&error)),
        Err(RunError::Stopped) => Err(NotLogged::Interrupted),
        Err(error) => Err(failed(&error)),
    }
}

/// `run3-vcp-seed1-flow.1.pcapng`: the run as in the column `run`, its law, its seed and the flow.
fn file_name(run: &PlannedRun, flow: &FlowSpec) -> String {
    let plain = |text: &str| -> String {
        let keep = |letter: char| {
            if letter.is_ascii_alphanumeric() || "._+-".contains(letter) {
                letter
            } else {
                '_'
            }
        };
        text.chars().map(keep).collect()
    };
    format!(
        "run{}-{}-seed{}-{}.pcapng",
        run.index,
        plain(&run.law_label),
        run.seed,
        plain(&flow.name)
    )
}
