//! What a kernel recorded, made again: every call of a law, and each change of a window that was not the law's.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use fadelab_laws::guard;
use fadelab_laws::own::{self, Source};
use fadelab_laws::recorded::{Damage, RECORDED_VERSION, Reader, Receipt, Recorded, RecordedHead, Refusal, Step};
use fadelab_laws::replay::Replayer;
use fadelab_laws::shadow::{Onlooker, Shadows, objection};
use fadelab_laws::{Params, Receiver, Sender, abi};

use super::Differences;
use crate::Failure;

/// A recording that was opened.
pub struct Recording {
    shown: String,
    reader: Reader<BufReader<File>>,
}

/// Opens a kernel's recording; `None` where the file is something else.
///
/// # Errors
/// A recording of another version, or one whose first line is damaged.
pub fn open(path: &Path) -> Result<Option<Recording>, Failure> {
    let Ok(file) = File::open(path) else { return Ok(None) };
    let shown = path.display().to_string();
    match Reader::new(BufReader::with_capacity(1 << 20, file)) {
        Ok(reader) => Ok(Some(Recording { shown, reader })),
        Err(Refusal::NotOne) => Ok(None),
        Err(Refusal::Version(version)) => Err(Failure::Invalid(format!(
            "{shown}: a recording of version {version}; this fadelab reads version {RECORDED_VERSION}: record it \
             again, or take the fadelab that wrote it"
        ))),
        Err(Refusal::Damaged(damage)) => Err(Failure::Failed(format!("{shown}: damaged: {damage}"))),
    }
}

impl Recording {
    pub fn head(&self) -> &RecordedHead {
        self.reader.head()
    }

    /// Its law, whose memory is as it was.
    fn law(&self) -> Result<&'static Sender, Failure> {
        let head = self.reader.head();
        let law = law(head)?;
        if head.fits(law, fadelab_laws::receiver(&head.law)) {
            return Ok(law);
        }
        Err(Failure::Invalid(format!(
            "{}: the law {} has memory of another size now than when it was recorded, {} bytes then; take that version",
            self.shown, head.law, head.state_bytes
        )))
    }

    /// What comes next in the file.
    pub(super) fn step(&mut self) -> Result<Step, Damage> {
        self.reader.step()
    }

    /// How messages name the file.
    pub fn shown(&self) -> &str {
        &self.shown
    }
}

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    /// Calls of the sender in the recording.
    pub calls_n: usize,
    /// Those of the receiver.
    pub receipts_n: usize,
    pub differences: Differences,
    /// Changes of windows that were the host's, by the state of recovery (`fadelab_laws::abi::CA_*`): how often, and
    /// the first of them.
    pub changes: BTreeMap<u32, (usize, Vec<Change>)>,
    /// The window that the law left, by flow, packets.
    left: BTreeMap<u64, u32>,
    /// Receiving ends.
    ends: BTreeSet<u64>,
    /// Calls that found no room when they were recorded; `None`: the end of the file was not reached.
    pub lost_n: Option<u64>,
    /// Where the file is not as it was written. What is behind was not made again.
    pub damage: Option<Damage>,
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

/// Makes all calls again, up to the end or the first damage, and keeps the first `shown_max` of what differs and of
/// each kind of change.
///
/// # Errors
/// A law that does not compile, or is another one now.
pub fn replay(mut recording: Recording, shown_max: usize) -> Result<Found, Failure> {
    let law = recording.law()?;
    let head = recording.reader.head().clone();
    let receiver = fadelab_laws::receiver(&head.law);
    let again = Again {
        params: params(law, &head)?,
        law,
        receiver,
        head: &head,
        shown_max,
    };
    let mut replayer = Replayer::new(head.laws.clone());
    let mut found = Found::default();
    loop {
        match recording.reader.step() {
            Ok(Step::Call(call)) => again.call(&mut found, &mut replayer, &call)?,
            Ok(Step::Receipt(receipt)) => again.receipt(&mut found, &mut replayer, &receipt)?,
            // A head of a sender has none of these.
            Ok(Step::Passage(_) | Step::Transit(_)) => {}
            Ok(Step::End { lost_n }) => {
                found.lost_n = Some(lost_n);
                return Ok(found);
            }
            Err(damage) => {
                found.damage = Some(damage);
                return Ok(found);
            }
        }
    }
}

/// A call after which a value to watch was another than after the one before.
#[derive(Clone, Debug)]
pub struct Watched {
    /// Time of the call, ns.
    pub time_ns: u64,
    /// The function that was called.
    pub function: &'static str,
    /// Why, of a loss.
    pub cause: u64,
    pub ack: Option<abi::Ack>,
    /// The values, as the integers that the law computes with, in the order in which it declares them.
    pub values: Vec<u64>,
}

/// What the values to watch of a flow were after each call that changed one of them.
#[derive(Debug)]
pub struct History {
    /// The law, with what it declares, and those that looked on.
    pub laws: Vec<&'static Sender>,
    /// Number of the flow.
    pub flow: u64,
    /// In the order of the calls; the first is there in any case.
    pub changes: Vec<Watched>,
    /// Calls that found no room in the recording, which nobody is shown.
    pub lost_n: u64,
}

/// The values to watch of a flow of a recording, by default of the first. The law is not called for it: its memories
/// are in the file. Each of `names` is a law that is shown the same calls, with the defaults of its parameters.
///
/// # Errors
/// As [`replay`]; also where no law declares any, one cannot look on, or the flow is not there.
pub fn history(mut recording: Recording, flow: Option<u64>, names: &[String]) -> Result<History, Failure> {
    let law = recording.law()?;
    let onlookers = onlookers(law, names)?;
    if law.watch().is_empty() && onlookers.is_empty() {
        return Err(no_watch(law.name()));
    }
    let mut shadows = Shadows::new(&onlookers);
    let mut asked = flow;
    let mut seen = BTreeSet::new();
    let mut changes: Vec<Watched> = Vec::new();
    let lost_n = loop {
        let call = match recording.reader.step() {
            Ok(Step::Call(call)) => call,
            Ok(Step::Receipt(_) | Step::Passage(_) | Step::Transit(_)) => continue,
            Ok(Step::End { lost_n }) => break lost_n,
            Err(damage) => return Err(Failure::Failed(format!("{}: damaged: {damage}", recording.shown))),
        };
        seen.insert(call.flow);
        if *asked.get_or_insert(call.flow) != call.flow {
            continue;
        }
        if changes.is_empty() && !onlookers.is_empty() && call.name() != "init" {
            return Err(Failure::Failed(format!(
                "{}: init of flow {} is not in it, which who looks on needs; name another flow, or a law with init",
                recording.shown, call.flow
            )));
        }
        guard::catch(|| call.show(&mut shadows)).map_err(|fault| Failure::Failed(fault.to_string()))?;
        let values = law.watch().iter().map(|info| info.raw_of(call.state_after()));
        let mut values: Vec<u64> = values.map(Option::unwrap_or_default).collect();
        for (law, state) in shadows.iter() {
            values.extend(law.watch().iter().map(|info| info.raw(state.words())));
        }
        if changes.last().is_none_or(|last| last.values != values) {
            changes.push(Watched {
                time_ns: call.time_ns,
                function: call.name(),
                cause: call.arguments[0],
                ack: call.ack(),
                values,
            });
        }
    };
    let laws = [law].into_iter().chain(onlookers.iter().map(|one| one.law)).collect();
    match (asked, changes.is_empty()) {
        (Some(flow), false) => Ok(History {
            laws,
            flow,
            changes,
            lost_n,
        }),
        _ => Err(Failure::Invalid(match (seen.first(), seen.last()) {
            (Some(first), Some(last)) => {
                let flow = asked.unwrap_or_default();
                format!("--flow {flow}: the recording has none of that number; allowed are {first} to {last}")
            }
            _ => format!("{}: the recording has no calls", recording.shown),
        })),
    }
}

/// The laws of these names, which can look on at what a kernel shows `law`.
fn onlookers(law: &Sender, names: &[String]) -> Result<Vec<Onlooker>, Failure> {
    let one = |name: &String| {
        let refuse = |why: String| Failure::Invalid(format!("--shadow {name}: {why}"));
        let Some(shadow) = fadelab_laws::sender(name) else {
            let known: Vec<&str> = fadelab_laws::senders().iter().map(Sender::name).collect();
            return Err(refuse(format!("unknown law; known are {}", known.join(", "))));
        };
        if let Some(why) = objection(shadow, law) {
            return Err(refuse(why));
        }
        if shadow.name() == law.name() {
            return Err(refuse(
                "it is the law of the recording, whose values --watch shows".to_owned(),
            ));
        }
        if shadow.has_on_lost() || (shadow.has_on_send() && !law.has_on_send()) {
            let why = "it wants to be told of each segment that leaves or is lost, and the recording has none of \
                       these; `flow.shadow` does in the simulator";
            return Err(refuse(why.to_owned()));
        }
        Ok(Onlooker {
            law: shadow,
            params: shadow.default_params(),
        })
    };
    names.iter().map(one).collect()
}

/// Of a law whose values nobody can be shown.
pub(super) fn no_watch(law: &str) -> Failure {
    Failure::Invalid(format!(
        "--watch: law {law} declares no values to watch; rows of LAW_WATCH_LIST in its header do"
    ))
}

/// What calls are made again with.
struct Again<'a> {
    law: &'static Sender,
    receiver: Option<&'static Receiver>,
    params: Params,
    head: &'a RecordedHead,
    shown_max: usize,
}

impl Again<'_> {
    fn call(&self, found: &mut Found, replayer: &mut Replayer, call: &Recorded) -> Result<(), Failure> {
        found.calls_n += 1;
        found.see(call, self.shown_max);
        let again = guard::catch(|| call.agrees(self.law, &self.params));
        let differences = &mut found.differences;
        differences.judge(&again, (replayer, self.shown_max), || call.record(self.head, self.law))
    }

    fn receipt(&self, found: &mut Found, replayer: &mut Replayer, receipt: &Receipt) -> Result<(), Failure> {
        // The head has a receiver's memory, or no call would have been one of a receiver.
        let Some(law) = self.receiver else { return Ok(()) };
        found.receipts_n += 1;
        found.ends.insert(receipt.end);
        let again = guard::catch(|| receipt.agrees(law));
        let differences = &mut found.differences;
        differences.judge(&again, (replayer, self.shown_max), || receipt.record(self.head, law))
    }
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

impl Found {
    /// Flows in the recording.
    pub fn flows_n(&self) -> usize {
        self.left.len()
    }

    /// Receiving ends in the recording.
    pub fn ends_n(&self) -> usize {
        self.ends.len()
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
