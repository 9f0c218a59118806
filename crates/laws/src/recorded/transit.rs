//! Calls of a gateway's law.

use std::collections::BTreeMap;

use serde_json::Map;

use super::{CallHead, HEAD_BYTES, RecordedHead, is_same, own_bytes};
use crate::guard::{CallRecord, Kind, Outcome, fields_of, read};
use crate::{Gateway, Params, abi};

const PACKET_BYTES: usize = size_of::<abi::Packet>();
/// `struct transit_event` of the kernel's programs: the header that the law reads, or its tunnel; the one that it
/// writes, before and after.
const EVENT_BYTES: usize = 3 * PACKET_BYTES;
/// Most tunnels of a gateway; the numbers of flows come behind.
const TUNNELS_MAX: u64 = 15;
pub(super) const FIXED_BYTES: usize = HEAD_BYTES + EVENT_BYTES;

/// Functions of a gateway, in the order of its table.
const FUNCTIONS: [&str; 3] = ["init", "encapsulate", "decapsulate"];

/// One call of a gateway's law.
#[derive(Clone, Debug)]
pub struct Transit {
    /// Number of the memory that was used, from 1: of a tunnel or, beyond 15, of a flow in one.
    pub tunnel: u64,
    /// When, by the kernel's clock.
    pub time_ns: u64,
    function: usize,
    now_us: u64,
    event: Vec<u8>,
    state_before: Vec<u8>,
    state_after: Vec<u8>,
}

impl Transit {
    /// From the bytes of a call; `None` where they are none of a gateway's.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let head = CallHead::parse(bytes.get(..HEAD_BYTES)?);
        let state_bytes = bytes.len().checked_sub(FIXED_BYTES)? / 2;
        FUNCTIONS.get(head.function as usize)?;
        let (event, states) = bytes[HEAD_BYTES..].split_at(EVENT_BYTES);
        (head.event_bytes == EVENT_BYTES).then(|| Self {
            tunnel: head.id,
            time_ns: head.time_ns,
            function: head.function as usize,
            now_us: head.arguments[0],
            event: event.to_vec(),
            state_before: states[..state_bytes].to_vec(),
            state_after: states[state_bytes..].to_vec(),
        })
    }

    /// Its function's name.
    pub fn name(&self) -> &'static str {
        FUNCTIONS[self.function]
    }

    /// The header that the law read, and the one that it wrote, before and after.
    pub fn packets(&self) -> Option<[abi::Packet; 3]> {
        (self.name() != "init").then(|| [0, 1, 2].map(|place| read(self.packet(place))))
    }

    /// The law's memory after it.
    pub fn state_after(&self) -> &[u8] {
        &self.state_after
    }

    fn packet(&self, place: usize) -> &[u8] {
        &self.event[place * PACKET_BYTES..(place + 1) * PACKET_BYTES]
    }

    /// Makes the call again and says whether it comes to the same header and state.
    ///
    /// A law that users brought may be found at fault, which [`crate::guard::catch`] tells.
    pub fn agrees(&self, law: &Gateway, params: &Params) -> bool {
        // The guard of such a law looks at zones around its memory.
        let mut state = law.new_state();
        state.fill(&self.state_before[..state.bytes().min(self.state_before.len())]);
        let mut is_written = true;
        if let Some([given, mut packet, written]) = self.packets() {
            match self.name() {
                "encapsulate" => law.encapsulate(&mut state, params, self.now_us, &given, &mut packet),
                _ => law.decapsulate(&mut state, params, self.now_us, &given, &mut packet),
            }
            is_written = fields_of(packet) == fields_of(written);
        } else {
            law.init(&mut state, params, &read(&self.event[..Kind::Tunnel.bytes()]));
        }
        is_written && is_same(&state, &self.state_after)
    }

    /// The call of a law as text, for [`crate::replay::Replayer`], which tells the law's steps.
    pub fn record(&self, head: &RecordedHead, law: &Gateway) -> CallRecord {
        let is_init = self.name() == "init";
        let packet = |place: usize| Kind::Packet.fields(self.packet(place));
        let (event, queue, written) = if is_init {
            (Kind::Tunnel.fields(&self.event), Map::new(), Map::new())
        } else {
            (packet(1), packet(0), packet(2))
        };
        let now = (!is_init).then(|| ("now_us".to_owned(), self.now_us));
        CallRecord {
            law: head.law.clone(),
            role: "gateway".to_owned(),
            function: self.name().to_owned(),
            place: self.place(head),
            time_ns: self.time_ns,
            params: head.params.clone(),
            state: own_bytes(&self.state_before, law.state_bytes()),
            arguments: now.into_iter().collect::<BTreeMap<_, _>>(),
            event,
            queue,
            decision: Map::new(),
            outcome: Some(Outcome {
                state: own_bytes(&self.state_after, law.state_bytes()),
                event: written,
                ..Outcome::default()
            }),
        }
    }

    /// Its tunnel by its name.
    pub fn place(&self, head: &RecordedHead) -> String {
        let gateway = head.gateway.as_ref();
        let name = gateway.and_then(|gateway| gateway.tunnels.get((self.tunnel as usize).checked_sub(1)?));
        match (name, self.tunnel.checked_sub(TUNNELS_MAX)) {
            (Some(name), _) => format!("tunnel {name}"),
            (None, Some(flow @ 1..)) => format!("flow {flow} inside"),
            (None, _) => format!("tunnel {}", self.tunnel),
        }
    }
}
