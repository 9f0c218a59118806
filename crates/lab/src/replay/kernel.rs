//! What a kernel recorded, made again: every call of a law, and each change of a window that was not the law's.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use fadelab_laws::guard::{self, CallRecord, Outcome};
use fadelab_laws::own::{self, Source};
use fadelab_laws::recorded::{END, RECORDED_VERSION, Recorded, RecordedHead, state_bytes};
use fadelab_laws::replay::Replayer;
use fadelab_laws::{Params, Sender};

use crate::Failure;

/// The head of a kernel's recording, if the file is one.
pub fn head(path: &Path) -> Option<RecordedHead> {
    let mut line = String::new();
    let file = BufReader::new(File::open(path).ok()?);
    file.take(1 << 22).read_line(&mut line).ok()?;
    serde_json::from_str(&line).ok()
}

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    /// Calls in the recording.
    pub calls_n: usize,
    /// Calls that come to another window or state here.
    pub different_n: usize,
    /// Calls in which a law that users brought is at fault here, whatever the kernel made of them.
    pub at_fault_n: usize,
    /// The first of both, and what came of them.
    pub different: Vec<(CallRecord, Outcome)>,
    /// Changes of windows that were the host's, by the state of recovery (`fadelab_laws::abi::CA_*`): how often, and
    /// the first of them.
    pub changes: BTreeMap<u32, (usize, Vec<Change>)>,
    /// The window that the law left, by flow, packets.
    left: BTreeMap<u64, u32>,
    /// Calls without room, when the file says so; `None`: the recording was cut off.
    pub lost_n: Option<u64>,
}

/// A window that was another at a call than after the one before it.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// Number of the flow.
    pub flow: u64,
    /// Time of the call, ns.
    pub time_ns: u64,
    /// The function that was called.
    pub before: &'static str,
    /// What the law had left, packets.
    pub from_pkts: u32,
    /// What the law was given, packets.
    pub to_pkts: u32,
}

/// Makes all calls again, and keeps the first `shown_max` of what differs and of each kind of change.
///
/// # Errors
/// A file that is cut or of another version, or a law that does not compile.
pub fn replay(path: &Path, head: &RecordedHead, shown_max: usize) -> Result<Found, Failure> {
    let shown = path.display();
    if head.fadelab_kernel_calls != RECORDED_VERSION {
        return Err(Failure::Invalid(format!(
            "{shown}: a recording of version {}; this fadelab reads version {RECORDED_VERSION}",
            head.fadelab_kernel_calls
        )));
    }
    let law = law(head)?;
    if state_bytes(law) != head.state_bytes {
        return Err(Failure::Invalid(format!(
            "{shown}: the law {} had {} bytes of state when it was recorded and has {} now; take that version",
            head.law,
            head.state_bytes,
            state_bytes(law)
        )));
    }
    let params = params(law, head)?;
    make_again(path, head, (law, &params), shown_max)
}

fn law(head: &RecordedHead) -> Result<&'static Sender, Failure> {
    let sources: &[Source] = &head.laws;
    if let Some(source) = sources.iter().find(|source| source.name == head.law) {
        own::load_text(source)?;
    }
    fadelab_laws::sender(&head.law).ok_or_else(|| {
        Failure::Invalid(format!(
            "no law is named {}, and the recording keeps no text of it",
            head.law
        ))
    })
}

fn params(law: &Sender, head: &RecordedHead) -> Result<Params, Failure> {
    let unknown = |name| Failure::Invalid(format!("law {} has no parameter {name} any more", head.law));
    head.values(law).map_err(unknown)
}

fn make_again(
    path: &Path,
    head: &RecordedHead,
    (law, params): (&Sender, &Params),
    shown_max: usize,
) -> Result<Found, Failure> {
    let mut replayer = Replayer::new(head.laws.clone());
    let failed = |error: std::io::Error| Failure::Invalid(format!("{}: {error}", path.display()));
    let mut file = BufReader::with_capacity(1 << 20, File::open(path).map_err(failed)?);
    file.skip_until(b'\n').map_err(failed)?;
    let mut found = Found::default();
    let mut bytes = vec![0; head.call_bytes()];
    while file.read_exact(&mut bytes).is_ok() {
        let Some(call) = Recorded::parse(&bytes) else {
            return Err(Failure::Invalid(format!(
                "{}: call {} is none",
                path.display(),
                found.calls_n + 1
            )));
        };
        if call.function == END {
            found.lost_n = Some(call.arguments[0]);
            break;
        }
        found.calls_n += 1;
        found.see(&call, shown_max);
        let again = guard::catch(|| call.agrees(law, params));
        if !matches!(again, Ok(true)) {
            found.different_n += usize::from(again.is_ok());
            found.at_fault_n += usize::from(again.is_err());
            if found.different.len() < shown_max {
                let record = call.record(head, law);
                let outcome = replayer.replay(&record).map_err(Failure::invalid)?;
                found.different.push((record, outcome));
            }
        }
    }
    Ok(found)
}

impl Found {
    /// Flows in the recording.
    pub fn flows_n(&self) -> usize {
        self.left.len()
    }

    /// Between two calls of a flow the window is the host's. In a recovery it is its own, whatever the law says.
    fn see(&mut self, call: &Recorded, shown_max: usize) {
        if let Some(&left) = self.left.get(&call.flow)
            && left != call.before.cwnd_pkts
        {
            let (count, shown) = self.changes.entry(call.before.ca_state).or_default();
            *count += 1;
            if shown.len() < shown_max {
                shown.push(Change {
                    flow: call.flow,
                    time_ns: call.time_ns,
                    before: call.name(),
                    from_pkts: left,
                    to_pkts: call.before.cwnd_pkts,
                });
            }
        }
        // A timeout is told with the window before it, which is not the host's any more.
        let left = if call.name() == "on_rto" {
            1
        } else {
            call.after.cwnd_pkts
        };
        self.left.insert(call.flow, left);
    }
}
