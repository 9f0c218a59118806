//! Every call of a law at the ends of connections, of a router's or of a gateway's law, as a kernel made them: bytes
//! in, bytes out. The same header is called with them again here and must come to the same windows, feedback and
//! marks, bit for bit.
//!
//! A file begins with one line of JSON ([`RecordedHead`]) and its checksum; the calls follow, each as `struct call`,
//! `struct receipt`, `struct passage` or `struct transit` of the kernel's programs (`crates/kernel/bpf/call.h`,
//! `passage.h`, `transit.h`) with the checksum of the file up to there, and one that ends the file ([`END`]).
//! [`Writer`] and [`Reader`] are its two ends.

mod file;
mod passage;
mod receipt;
mod transit;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Map;

use crate::guard::{CallRecord, Kind, Outcome, fields_of, read, to_hex};
use crate::own::Source;
use crate::shadow::Shadows;
use crate::{Capacity, Gateway, ParamInfo, Params, Receiver, Router, Sender, abi};

pub use file::{Damage, Reader, Refusal, Step, Writer};
pub use passage::{Passage, RouterLaws};
pub use receipt::Receipt;
pub use transit::Transit;

/// Version of the format.
pub const RECORDED_VERSION: u32 = 3;
/// The function of the call that ends a file: it tells how many calls there are, and how many found no room.
pub const END: u32 = u32::MAX;
/// Bytes that each call of a sender has for its event; of one that the law may write the second half is for it
/// afterwards.
const EVENT_BYTES: usize = 208;
/// What all calls begin with.
const HEAD_BYTES: usize = 64;
/// Head, the event, control before and after.
const SENDER_BYTES: usize = HEAD_BYTES + EVENT_BYTES + 2 * size_of::<abi::Control>();

/// `enum call_role`.
const SENDER: u32 = 0;
const RECEIVER: u32 = 1;
const ROUTER: u32 = 2;
const GATEWAY: u32 = 3;

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
    /// Those of its receiver's half, if it has one.
    pub receiver_state_bytes: Option<usize>,
    /// Version of the kernel.
    pub kernel: String,
    /// The law's text where it is not built in, and that of its capacity part.
    pub laws: Vec<Source>,
    /// Of a router's law.
    #[serde(default)]
    pub router: Option<RouterHead>,
    /// Of a gateway's law; where neither is there the law is a sender's.
    #[serde(default)]
    pub gateway: Option<GatewayHead>,
}

/// What the first line has of a gateway besides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewayHead {
    /// Where it stands, as it was named.
    pub place: String,
    /// Its tunnels, in the order of their numbers, which begin with 1.
    pub tunnels: Vec<String>,
}

/// What the first line has of a router besides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouterHead {
    /// The device, as it was named.
    pub device: String,
    /// Name of the capacity part.
    pub part: String,
    /// Its parameters, as the integers that it computes with.
    pub part_params: BTreeMap<String, u64>,
    /// Bytes of its state, a multiple of 8.
    pub part_state_bytes: usize,
    /// Those of the host of the law.
    pub host_bytes: usize,
}

impl RecordedHead {
    /// Of a law with parameters, for a kernel.
    pub fn new(law: &Sender, params: &Params, kernel: String) -> Self {
        Self {
            fadelab_kernel_calls: RECORDED_VERSION,
            law: law.name().to_owned(),
            params: named(law.params(), params),
            state_bytes: words_bytes(law.state_bytes()),
            receiver_state_bytes: crate::receiver(law.name()).map(|law| words_bytes(law.state_bytes())),
            kernel,
            laws: texts(&[law.name()]),
            router: None,
            gateway: None,
        }
    }

    /// Of a gateway's law with parameters, for a kernel.
    pub fn of_gateway(law: &Gateway, params: &Params, gateway: GatewayHead, kernel: String) -> Self {
        Self {
            fadelab_kernel_calls: RECORDED_VERSION,
            law: law.name().to_owned(),
            params: named(law.params(), params),
            state_bytes: words_bytes(law.state_bytes()),
            receiver_state_bytes: None,
            kernel,
            laws: texts(&[law.name()]),
            router: None,
            gateway: Some(gateway),
        }
    }

    /// Of a router's law and its capacity part, each with its parameters, at a device, for a kernel.
    pub fn of_router(
        (law, params): (&Router, &Params),
        (part, part_params): (&Capacity, &Params),
        device: &str,
        kernel: String,
    ) -> Self {
        Self {
            fadelab_kernel_calls: RECORDED_VERSION,
            law: law.name().to_owned(),
            params: named(law.params(), params),
            state_bytes: words_bytes(law.state_bytes()),
            receiver_state_bytes: None,
            kernel,
            laws: texts(&[law.name(), part.name()]),
            router: Some(RouterHead {
                device: device.to_owned(),
                part: part.name().to_owned(),
                part_params: named(part.params(), part_params),
                part_state_bytes: words_bytes(part.state_bytes()),
                host_bytes: passage::HOST_BYTES,
            }),
            gateway: None,
        }
    }

    /// The parameters with which the law was called, to the last digit.
    ///
    /// # Errors
    /// The name of one that the law does not have any more.
    pub fn values(&self, law: &Sender) -> Result<Params, String> {
        values(law.params(), &self.params)
    }

    /// Whether the law has memory of the same size now.
    pub fn fits(&self, law: &Sender, receiver: Option<&Receiver>) -> bool {
        let of_receiver = receiver.map(|law| words_bytes(law.state_bytes()));
        self.state_bytes == words_bytes(law.state_bytes())
            && self.receiver_state_bytes.is_none_or(|bytes| Some(bytes) == of_receiver)
    }

    /// Whether the router's law, its part and their host have memory of the same size now.
    pub fn fits_router(&self, laws: &RouterLaws) -> bool {
        let router = self.router.as_ref();
        self.state_bytes == words_bytes(laws.law.state_bytes())
            && router.is_some_and(|router| {
                let part_bytes = words_bytes(laws.part.state_bytes());
                (router.part_state_bytes, router.host_bytes) == (part_bytes, passage::HOST_BYTES)
            })
    }

    /// Whether the gateway's law has memory of the same size now.
    pub fn fits_gateway(&self, law: &Gateway) -> bool {
        self.state_bytes == words_bytes(law.state_bytes())
    }

    /// The same as [`Self::values`] of a gateway's law.
    ///
    /// # Errors
    /// See there.
    pub fn values_of_gateway(&self, law: &Gateway) -> Result<Params, String> {
        values(law.params(), &self.params)
    }

    /// Bytes of a call of that role without its checksum; `None`: no call has it.
    fn call_bytes(&self, role: u32) -> Option<usize> {
        let fixed_bytes = match (role, &self.router, &self.gateway) {
            (SENDER, None, None) => SENDER_BYTES,
            (RECEIVER, None, None) => receipt::FIXED_BYTES,
            (ROUTER, Some(_), None) => passage::FIXED_BYTES,
            (GATEWAY, None, Some(_)) => transit::FIXED_BYTES,
            _ => return None,
        };
        Some(fixed_bytes + 2 * self.memory_bytes(role)?)
    }

    /// Bytes of what an instance of that role remembers.
    fn memory_bytes(&self, role: u32) -> Option<usize> {
        match role {
            SENDER | GATEWAY => Some(self.state_bytes),
            RECEIVER => self.receiver_state_bytes,
            _ => {
                let router = self.router.as_ref()?;
                Some(router.host_bytes + self.state_bytes + router.part_state_bytes)
            }
        }
    }
}

/// Parameters by their names.
fn named(infos: &[ParamInfo], params: &Params) -> BTreeMap<String, u64> {
    let pairs = infos.iter().zip(params.values());
    pairs.map(|(info, value)| (info.name.to_owned(), *value)).collect()
}

/// The reverse, with the default of what has no value; the name of one that there is not any more.
fn values(infos: &[ParamInfo], named: &BTreeMap<String, u64>) -> Result<Params, String> {
    let is_known = |name: &&String| infos.iter().any(|info| info.name == name.as_str());
    if let Some(name) = named.keys().find(|name| !is_known(name)) {
        return Err(name.clone());
    }
    let value = |info: &ParamInfo| named.get(info.name).copied().unwrap_or(info.value);
    Ok(Params::from_values(&infos.iter().map(value).collect::<Vec<u64>>()))
}

/// The texts of laws that users brought under one of these names.
fn texts(names: &[&str]) -> Vec<Source> {
    let loaded = crate::own::loaded().into_iter();
    let wanted = loaded.filter(|own| names.contains(&own.source.name.as_str()));
    wanted.map(|own| own.source.clone()).collect()
}

/// Bytes of memory as the kernel keeps it: whole words, at least one.
fn words_bytes(bytes: u32) -> usize {
    bytes.div_ceil(8).max(1) as usize * 8
}

/// What each call begins with, `struct call_head`.
#[derive(Clone, Copy, Debug)]
struct CallHead {
    id: u64,
    sequence: u64,
    lost_n: u64,
    time_ns: u64,
    role: u32,
    function: u32,
    event_bytes: usize,
    arguments: [u64; 2],
}

impl CallHead {
    fn parse(bytes: &[u8]) -> Self {
        let long = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        Self {
            id: long(0),
            sequence: long(8),
            lost_n: long(16),
            time_ns: long(24),
            role: word(32),
            function: word(36),
            event_bytes: word(40) as usize,
            arguments: [long(48), long(56)],
        }
    }

    /// Of the call that ends a file.
    fn end(calls_n: u64, lost_n: u64) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        bytes[8..16].copy_from_slice(&calls_n.to_ne_bytes());
        bytes[16..24].copy_from_slice(&lost_n.to_ne_bytes());
        bytes[36..40].copy_from_slice(&END.to_ne_bytes());
        bytes
    }
}

/// One call of a sender.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Which flow of the law.
    pub flow: u64,
    /// When, by the kernel's clock.
    pub time_ns: u64,
    /// Index into [`FUNCTIONS`].
    pub function: u32,
    /// The cause of a loss; the two times of a restart.
    pub arguments: [u64; 2],
    /// The window before.
    pub before: abi::Control,
    /// The window after.
    pub after: abi::Control,
    event: Vec<u8>,
    written: Vec<u8>,
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
    /// From the bytes of a call; `None` where they are none of a sender's.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let head = CallHead::parse(bytes.get(..HEAD_BYTES)?);
        let state_bytes = bytes.len().checked_sub(SENDER_BYTES)? / 2;
        if kind(head.function)?.bytes() != head.event_bytes {
            return None;
        }
        let (events, rest) = bytes[HEAD_BYTES..].split_at(EVENT_BYTES);
        let (before, rest) = rest.split_at(size_of::<abi::Control>());
        let (after, states) = rest.split_at(size_of::<abi::Control>());
        Some(Self {
            flow: head.id,
            time_ns: head.time_ns,
            function: head.function,
            arguments: head.arguments,
            before: read(before),
            after: read(after),
            event: events.get(..head.event_bytes)?.to_vec(),
            written: events[EVENT_BYTES / 2..]
                .get(..head.event_bytes)
                .unwrap_or_default()
                .to_vec(),
            state_before: states[..state_bytes].to_vec(),
            state_after: states[state_bytes..].to_vec(),
        })
    }

    /// The law's memory after it.
    pub fn state_after(&self) -> &[u8] {
        &self.state_after
    }

    /// Its function's name.
    pub fn name(&self) -> &'static str {
        FUNCTIONS[self.function as usize]
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
        let mut is_written = true;
        match self.name() {
            "init" => law.init(&mut state, params, &read(&self.event), &mut control),
            "on_send" => {
                let mut send: abi::Send = read(&self.event);
                law.on_send(&mut state, params, &mut send, &mut control);
                is_written = fields_of(send) == Kind::Send.fields(&self.written);
            }
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
        is_written && control_bytes(&control) == control_bytes(&self.after) && is_same(&state, &self.state_after)
    }

    /// Shows the call to laws that look on.
    pub fn show(&self, shadows: &mut Shadows) {
        let before = &self.before;
        let cause = self.arguments[0] as u32;
        match self.name() {
            "init" => shadows.init(&read(&self.event), before),
            "on_send" => shadows.on_send(&read(&self.event), before),
            "on_ack" => shadows.on_ack(&read(&self.event), before),
            "on_loss" => shadows.on_loss(&read(&self.event), cause, before),
            "on_rto" => shadows.on_rto(&read(&self.event), before),
            "on_undo" => shadows.on_undo(&read(&self.event), cause, before),
            _ => shadows.on_restart(self.arguments[0], self.arguments[1], before),
        }
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
        let own = |state: &[u8]| own_bytes(state, law.state_bytes());
        CallRecord {
            law: head.law.clone(),
            role: "sender".to_owned(),
            function: self.name().to_owned(),
            place: format!("flow {}", self.flow),
            time_ns: self.time_ns,
            params: head.params.clone(),
            state: own(&self.state_before),
            arguments: arguments.collect(),
            event,
            queue: Map::new(),
            decision: fields(&self.before),
            outcome: Some(Outcome {
                state: own(&self.state_after),
                event: match self.name() {
                    "on_send" => Kind::Send.fields(&self.written),
                    _ => Map::new(),
                },
                decision: fields(&self.after),
                ..Outcome::default()
            }),
        }
    }
}

/// A kernel keeps whole words, at least one, and the law knows of its own bytes alone.
fn own_bytes(state: &[u8], bytes: u32) -> String {
    to_hex(&state[..state.len().min(bytes as usize)])
}

/// Whether a law's memory is what a kernel kept of it.
fn is_same(state: &crate::State, kept: &[u8]) -> bool {
    let words = state.words().iter().flat_map(|word| word.to_ne_bytes());
    words.eq(kept.iter().take(state.bytes()).copied())
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
