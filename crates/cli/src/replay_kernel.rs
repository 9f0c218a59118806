//! `fadelab replay` of what a kernel recorded: every call of a law again, and each change of a window that was not the
//! law's.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use fadelab_laws::abi;
use fadelab_laws::own::{self, Source};
use fadelab_laws::recorded::{END, RECORDED_VERSION, Recorded, RecordedHead, state_bytes};
use fadelab_laws::replay::Replayer;
use fadelab_laws::{Params, Sender};

use crate::{Failure, output};

/// Differences and changes of which each is shown; of more, only how many there are.
const SHOWN_MAX: usize = 10;

/// The head of a kernel's recording, if the file is one.
pub fn head(path: &Path) -> Option<RecordedHead> {
    let mut line = String::new();
    let file = BufReader::new(File::open(path).ok()?);
    file.take(1 << 22).read_line(&mut line).ok()?;
    serde_json::from_str(&line).ok()
}

/// What was found.
#[derive(Default)]
struct Found {
    calls_n: usize,
    different: Vec<Recorded>,
    different_n: usize,
    /// By state of recovery: how often, and the first of them.
    changes: BTreeMap<u32, (usize, Vec<String>)>,
    /// The window that the law left, and the state then, by flow.
    left: BTreeMap<u64, u32>,
    /// Calls without room, when the file says so; `None`: the recording was cut off.
    lost_n: Option<u64>,
}

/// Makes all calls again.
///
/// # Errors
/// A file that is cut or of another version, a law that does not compile, or a call that comes to another window.
pub fn replay(path: &Path, head: &RecordedHead) -> Result<(), Failure> {
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
    let found = make_again(path, head, law, &params)?;
    output::print(&told(&found, head)?)?;
    if found.different_n > 0 {
        return Err(Failure::Failed(format!(
            "{} of {} calls come to another window here than in the kernel",
            found.different_n, found.calls_n
        )));
    }
    Ok(())
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
    let mut pairs = Vec::new();
    for (name, value) in &head.params {
        let info = law.params().iter().find(|info| info.name == name.as_str());
        let info =
            info.ok_or_else(|| Failure::Invalid(format!("law {} has no parameter {name} any more", head.law)))?;
        pairs.push((info.name, info.to_user(*value)));
    }
    law.params_from(&pairs)
        .map_err(|error| Failure::Invalid(error.to_string()))
}

fn make_again(path: &Path, head: &RecordedHead, law: &Sender, params: &Params) -> Result<Found, Failure> {
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
        found.see(&call);
        if !call.agrees(law, params) {
            found.different_n += 1;
            if found.different.len() < SHOWN_MAX {
                found.different.push(call);
            }
        }
    }
    Ok(found)
}

impl Found {
    /// Between two calls of a flow the window is the host's. In a recovery it is its own, whatever the law says.
    fn see(&mut self, call: &Recorded) {
        if let Some(&left) = self.left.get(&call.flow)
            && left != call.before.cwnd_pkts
        {
            let (count, shown) = self.changes.entry(call.before.ca_state).or_default();
            *count += 1;
            if shown.len() < SHOWN_MAX {
                shown.push(format!(
                    "flow {} at {:.6} s, before {}: {left} -> {} packets",
                    call.flow,
                    call.time_ns as f64 / 1e9,
                    call.name(),
                    call.before.cwnd_pkts
                ));
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

fn told(found: &Found, head: &RecordedHead) -> Result<String, Failure> {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "law {} in Linux {}: {} calls of {} flows; {} come to the same window and state here, {} differ",
        head.law,
        head.kernel,
        found.calls_n,
        found.left.len(),
        found.calls_n - found.different_n,
        found.different_n
    );
    match found.lost_n {
        Some(0) => {}
        Some(lost_n) => {
            let _ = writeln!(text, "{lost_n} calls found no room in the recording");
        }
        None => text += "the recording was cut off\n",
    }
    let mut replayer = Replayer::new(head.laws.clone());
    for call in &found.different {
        let record = call.record(head);
        let outcome = replayer
            .replay(&record)
            .map_err(|error| Failure::Invalid(error.to_string()))?;
        crate::replay::one(&mut text, &record, &outcome);
    }
    if found.changes.is_empty() {
        text += "every change of a window was the law's\n";
    }
    for (state, (count, shown)) in &found.changes {
        let _ = writeln!(
            text,
            "{count} changes of the window that were not the law's, {}",
            reason(*state)
        );
        for line in shown {
            let _ = writeln!(text, "  {line}");
        }
        if *count > shown.len() {
            let _ = writeln!(text, "  and {} more", count - shown.len());
        }
    }
    Ok(text)
}

/// Why a host changes a window in this state.
fn reason(ca_state: u32) -> &'static str {
    match ca_state {
        abi::CA_CWR => "in CWR: the host reduces towards ssthresh (RFC 6937)",
        abi::CA_RECOVERY => "in a fast recovery: the host paces retransmissions towards ssthresh (RFC 6937)",
        abi::CA_LOSS => "after a timeout: the host begins at one packet",
        _ => "outside of recoveries: the end of one at ssthresh, one taken back as spurious, a restart",
    }
}
