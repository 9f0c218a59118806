//! Calls of a law's receiver.

use std::collections::BTreeMap;

use serde_json::Map;

use super::{CallHead, HEAD_BYTES, RecordedHead, is_same, own_bytes};
use crate::guard::{CallRecord, Kind, Outcome, fields_of, read};
use crate::{Receiver, abi};

/// Bytes for the event; of one that the law may write the second half is for it afterwards.
const EVENT_BYTES: usize = 96;
pub(super) const FIXED_BYTES: usize = HEAD_BYTES + EVENT_BYTES;

/// Functions of a receiver, in the order of its table.
const FUNCTIONS: [&str; 4] = ["init", "on_data", "fill_ack", "ack_written"];

/// One call of a receiver.
#[derive(Clone, Debug)]
pub struct Receipt {
    /// Which receiving end of the law.
    pub end: u64,
    /// When, by the kernel's clock.
    pub time_ns: u64,
    function: usize,
    argument: u64,
    event: Vec<u8>,
    written: Vec<u8>,
    state_before: Vec<u8>,
    state_after: Vec<u8>,
}

impl Receipt {
    /// From the bytes of a call; `None` where they are none of a receiver's.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let head = CallHead::parse(bytes.get(..HEAD_BYTES)?);
        let state_bytes = bytes.len().checked_sub(FIXED_BYTES)? / 2;
        let function = head.function as usize;
        if kind(FUNCTIONS.get(function)?).bytes() != head.event_bytes {
            return None;
        }
        let (events, states) = bytes[HEAD_BYTES..].split_at(EVENT_BYTES);
        let event = |at: usize| events[at..].get(..head.event_bytes).unwrap_or_default().to_vec();
        Some(Self {
            end: head.id,
            time_ns: head.time_ns,
            function,
            argument: head.arguments[0],
            event: event(0),
            written: event(EVENT_BYTES / 2),
            state_before: states[..state_bytes].to_vec(),
            state_after: states[state_bytes..].to_vec(),
        })
    }

    /// Its function's name.
    pub fn name(&self) -> &'static str {
        FUNCTIONS[self.function]
    }

    /// Whether the option was written, of a call that tells the law so.
    pub fn was_written(&self) -> Option<bool> {
        (self.name() == "ack_written").then_some(self.argument != 0)
    }

    /// Makes the call again and says whether it comes to the same feedback and state.
    ///
    /// A law that users brought may be found at fault, which [`crate::guard::catch`] tells.
    pub fn agrees(&self, law: &Receiver) -> bool {
        let mut state = law.new_state();
        state.fill(&self.state_before[..state.bytes().min(self.state_before.len())]);
        let mut is_written = true;
        match self.name() {
            "init" => law.init(&mut state, self.argument),
            "on_data" => law.on_data(&mut state, &read(&self.event)),
            "fill_ack" => {
                let mut fill: abi::Fill = read(&self.event);
                law.fill_ack(&mut state, &mut fill);
                is_written = fields_of(fill) == Kind::Fill.fields(&self.written);
            }
            _ => law.ack_written(&mut state, self.argument != 0),
        }
        is_written && is_same(&state, &self.state_after)
    }

    /// The call of a law as text, for [`crate::replay::Replayer`], which tells the law's steps.
    pub fn record(&self, head: &RecordedHead, law: &Receiver) -> CallRecord {
        let argument = match self.name() {
            "init" => Some("now_us"),
            "ack_written" => Some("written"),
            _ => None,
        };
        let arguments = argument.map(|name| (name.to_owned(), self.argument));
        let fields = |bytes: &[u8]| match kind(self.name()) {
            Kind::None => Map::new(),
            kind => kind.fields(bytes),
        };
        let written = match self.name() {
            "fill_ack" => fields(&self.written),
            _ => Map::new(),
        };
        CallRecord {
            law: head.law.clone(),
            role: "receiver".to_owned(),
            function: self.name().to_owned(),
            place: format!("receiving end {}", self.end),
            time_ns: self.time_ns,
            params: BTreeMap::new(),
            state: own_bytes(&self.state_before, law.state_bytes()),
            arguments: arguments.into_iter().collect(),
            event: fields(&self.event),
            queue: Map::new(),
            decision: Map::new(),
            outcome: Some(Outcome {
                state: own_bytes(&self.state_after, law.state_bytes()),
                event: written,
                ..Outcome::default()
            }),
        }
    }
}

fn kind(function: &str) -> Kind {
    match function {
        "on_data" => Kind::Data,
        "fill_ack" => Kind::Fill,
        _ => Kind::None,
    }
}
