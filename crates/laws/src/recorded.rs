//! Every call of a sender's law, as a kernel made them: bytes in, bytes out. The same header is called with them again
//! here and must come to the same windows, bit for bit.
//!
//! A file begins with one line of JSON ([`RecordedHead`]); the calls follow, each as `struct call` of the kernel's
//! programs (`crates/kernel/bpf/record.h`), and one that ends the file ([`END`]).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Map;

use crate::guard::{CallRecord, Kind, Outcome, read, to_hex};
use crate::own::Source;
use crate::{Params, Sender, abi};

/// Version of the format.
pub const RECORDED_VERSION: u32 = 1;
/// The function of the call that ends a file; its first argument is how many calls found no room.
pub const END: u32 = u32::MAX;
/// Bytes that each call has for its event.
const EVENT_BYTES: usize = 208;
/// Flow, time, function, size of the event, two arguments, the event, control before and after.
const FIXED_BYTES: usize = 8 + 8 + 4 + 4 + 16 + EVENT_BYTES + 2 * size_of::<abi::Control>();

/// First line of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedHead {
    /// [`RECORDED_VERSION`].
    pub fadelab_kernel_calls: u32,
    /// Name of the law.
    pub law: String,
    /// Its parameters, as the integers that it computes with.
    pub params: BTreeMap<String, u64>,
    /// Bytes of its state, a multiple of 8.
    pub state_bytes: usize,
    /// Version of the kernel.
    pub kernel: String,
    /// The law's text where it is not built in.
    pub laws: Vec<Source>,
}

impl RecordedHead {
    /// Of a law with parameters, for a kernel.
    pub fn new(law: &Sender, params: &Params, kernel: String) -> Self {
        let infos = law.params().iter().zip(params.values());
        let is_own = |own: &&crate::own::OwnLaw| own.source.name == law.name();
        Self {
            fadelab_kernel_calls: RECORDED_VERSION,
            law: law.name().to_owned(),
            params: infos.map(|(info, value)| (info.name.to_owned(), *value)).collect(),
            state_bytes: state_bytes(law),
            kernel,
            laws: crate::own::loaded()
                .into_iter()
                .filter(is_own)
                .map(|own| own.source.clone())
                .collect(),
        }
    }

    /// The parameters with which the law was called, to the last digit.
    ///
    /// # Errors
    /// The name of one that the law does not have any more.
    pub fn values(&self, law: &Sender) -> Result<Params, String> {
        let is_known = |name: &str| law.params().iter().any(|info| info.name == name);
        if let Some(name) = self.params.keys().find(|name| !is_known(name)) {
            return Err(name.clone());
        }
        let value = |info: &crate::ParamInfo| self.params.get(info.name).copied().unwrap_or(info.value);
        Ok(Params::from_values(
            &law.params().iter().map(value).collect::<Vec<u64>>(),
        ))
    }

    /// Bytes of one call.
    pub fn call_bytes(&self) -> usize {
        FIXED_BYTES + 2 * self.state_bytes
    }
}

/// Bytes of a law's state as the kernel keeps it: whole words, at least one.
pub fn state_bytes(law: &Sender) -> usize {
    law.state_bytes().div_ceil(8).max(1) as usize * 8
}

/// One call.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Which flow of the law.
    pub flow: u64,
    /// When, by the kernel's clock.
    pub time_ns: u64,
    /// Index into [`FUNCTIONS`], or [`END`].
    pub function: u32,
    /// The cause of a loss; the two times of a restart.
    pub arguments: [u64; 2],
    /// The window before.
    pub before: abi::Control,
    /// The window after.
    pub after: abi::Control,
    event: Vec<u8>,
    state_before: Vec<u8>,
    state_after: Vec<u8>,
}

/// Functions of a sender, in the order of its table.
pub const FUNCTIONS: [&str; 8] = [
    "init",
    "on_send",
    "on_ack",
    "on_loss",
    "on_rto",
    "on_restart",
    "on_lost",
    "on_undo",
];

impl Recorded {
    /// From the bytes of a file; `None` where they are no call.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let state_bytes = bytes.len().checked_sub(FIXED_BYTES)? / 2;
        let mut rest = bytes;
        let mut take = |count: usize| {
            let (taken, left) = rest.split_at(count);
            rest = left;
            taken
        };
        let long = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().expect("eight bytes"));
        let word = |bytes: &[u8]| u32::from_ne_bytes(bytes.try_into().expect("four bytes"));
        let (flow, time_ns) = (long(take(8)), long(take(8)));
        let (function, event_bytes) = (word(take(4)), word(take(4)) as usize);
        let arguments = [long(take(8)), long(take(8))];
        let event = take(EVENT_BYTES).get(..event_bytes)?.to_vec();
        let (before, after) = (
            read(take(size_of::<abi::Control>())),
            read(take(size_of::<abi::Control>())),
        );
        let is_known = function == END || event.len() == kind(function)?.bytes();
        is_known.then(|| Self {
            flow,
            time_ns,
            function,
            arguments,
            before,
            after,
            event,
            state_before: take(state_bytes).to_vec(),
            state_after: take(state_bytes).to_vec(),
        })
    }

    /// Its function's name.
    pub fn name(&self) -> &'static str {
        FUNCTIONS.get(self.function as usize).copied().unwrap_or("end")
    }

    /// What the law was told, where it is an ACK.
    pub fn ack(&self) -> Option<abi::Ack> {
        (kind(self.function) == Some(Kind::Ack)).then(|| read(&self.event))
    }

    /// Makes the call again and says whether it comes to the same control and state.
    ///
    /// A law that users brought may be found at fault, which [`crate::guard::catch`] tells.
    pub fn agrees(&self, law: &Sender, params: &Params) -> bool {
        // With the zones around it that the guard of such a law looks at.
        let mut state = law.new_state();
        state.fill(&self.state_before[..state.bytes().min(self.state_before.len())]);
        let mut control = self.before;
        match self.name() {
            "init" => law.init(&mut state, params, &read(&self.event), &mut control),
            "on_send" => law.on_send(&mut state, params, &mut read(&self.event), &mut control),
            "on_ack" => law.on_ack(&mut state, params, &read(&self.event), &mut control),
            "on_loss" => {
                law.on_loss(
                    &mut state,
                    params,
                    &read(&self.event),
                    self.arguments[0] as u32,
                    &mut control,
                );
            }
            "on_rto" => law.on_rto(&mut state, params, &read(&self.event), &mut control),
            "on_undo" => {
                law.on_undo(
                    &mut state,
                    params,
                    &read(&self.event),
                    self.arguments[0] as u32,
                    &mut control,
                );
            }
            _ => law.on_restart(&mut state, params, self.arguments[0], self.arguments[1], &mut control),
        }
        let words = state.words().iter().flat_map(|word| word.to_ne_bytes());
        control_bytes(&control) == control_bytes(&self.after)
            && words.eq(self.state_after.iter().take(state.bytes()).copied())
    }

    /// The call of a law as text, for [`crate::replay::Replayer`], which tells the law's steps.
    pub fn record(&self, head: &RecordedHead, law: &Sender) -> CallRecord {
        let names: &[&str] = match self.name() {
            "on_loss" | "on_undo" => &["cause"],
            "on_restart" => &["now_us", "idle_us"],
            _ => &[],
        };
        let arguments = names
            .iter()
            .zip(self.arguments)
            .map(|(name, value)| ((*name).to_owned(), value));
        let fields = |control: &abi::Control| Kind::Control.fields(&control_bytes(control));
        let event = match kind(self.function) {
            Some(kind) if !self.event.is_empty() => kind.fields(&self.event),
            _ => Map::new(),
        };
        // A kernel keeps whole words, at least one, and the law knows of its own bytes alone.
        let own = |state: &[u8]| to_hex(&state[..state.len().min(law.state_bytes() as usize)]);
        CallRecord {
            law: head.law.clone(),
            role: "sender".to_owned(),
            function: self.name().to_owned(),
            place: format!("flow {}", self.flow),
            time_ns: self.time_ns,
            params: head.params.clone(),
            state: own(&self.state_before),
            arguments: arguments.collect(),
            event: event.clone(),
            queue: Map::new(),
            decision: fields(&self.before),
            outcome: Some(Outcome {
                state: own(&self.state_after),
                event,
                decision: fields(&self.after),
                ..Outcome::default()
            }),
        }
    }
}

fn control_bytes(control: &abi::Control) -> Vec<u8> {
    let words = [control.size, control.cwnd_pkts, control.ssthresh_pkts, control.ca_state];
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    bytes.extend(control.pacing_Bps.to_ne_bytes());
    bytes.extend(
        [
            control.ecn,
            control.flags,
            control.cwnd_fraction,
            control.ssthresh_fraction,
        ]
        .iter()
        .flat_map(|word| word.to_ne_bytes()),
    );
    bytes
}

fn kind(function: u32) -> Option<Kind> {
    match *FUNCTIONS.get(function as usize)? {
        "init" => Some(Kind::Start),
        "on_send" => Some(Kind::Send),
        "on_restart" => Some(Kind::None),
        "on_lost" => Some(Kind::Lost),
        _ => Some(Kind::Ack),
    }
}
