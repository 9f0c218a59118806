//! One call of a law as text: what it was given, and what came of it. A file of calls is JSON, one object a line.
//!
//! The format serves a single call that went wrong as well as all calls of a run, whoever made them: a record names the
//! law, the function and the instance, and carries everything that the call depends on, so that each can be made again
//! by itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::functions::Function;

/// Version of the format.
pub const CALLS_VERSION: u32 = 1;

/// First line of a file of calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallsHead {
    /// [`CALLS_VERSION`].
    pub fadelab_calls: u32,
    /// Own laws that were called, with their text; laws that are built in need none.
    #[serde(default)]
    pub laws: Vec<crate::source::Source>,
}

/// One call. Structs are given by their fields' names as in `law.h`, memory in hexadecimal digits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallRecord {
    /// Name of the law.
    pub law: String,
    /// `sender`, `receiver`, `router`, `capacity` or `gateway`.
    pub role: String,
    /// Name of the function in the role's table.
    pub function: String,
    /// Which instance was called, e.g. `flow 3 (down.3)`.
    #[serde(default)]
    pub place: String,
    /// When, in nanoseconds of virtual time or of the host's clock.
    #[serde(default)]
    pub time_ns: u64,
    /// Parameters, as the integers that the law computes with.
    #[serde(default)]
    pub params: BTreeMap<String, u64>,
    /// The state before the call.
    pub state: String,
    /// Arguments that are plain numbers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arguments: BTreeMap<String, u64>,
    /// The event: the ACK, segment, packet, link, interval or tunnel.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub event: Map<String, Value>,
    /// The queue that a router sees, or the packet that a gateway only reads.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub queue: Map<String, Value>,
    /// What the law may change, before the call: a sender's control, a router's timers, an estimate.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub decision: Map<String, Value>,
    /// What came of it, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

/// What came of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// Why the call was at fault; none where it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// What the function returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<u64>,
    /// The state after the call.
    pub state: String,
    /// The event after the call, where the law may write into it.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub event: Map<String, Value>,
    /// What the law may change, after the call.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub decision: Map<String, Value>,
    /// The steps that the law named on its way (`LAW_STEP`), where it was built to tell them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<String>,
}

impl Outcome {
    /// Whether both are the same decision; steps are told by some builds only, and fields by some versions of `law.h`.
    pub fn agrees(&self, other: &Self) -> bool {
        let same_end = self.fault.is_some() == other.fault.is_some();
        let same_numbers = (self.result, &self.state) == (other.result, &other.state);
        let same_fields = agree(&self.event, &other.event) && agree(&self.decision, &other.decision);
        same_end && (self.fault.is_some() || (same_numbers && same_fields))
    }
}

/// Whether both have the same fields, one that only one of them has being zero.
fn agree(one: &Map<String, Value>, other: &Map<String, Value>) -> bool {
    let names = one.keys().chain(other.keys());
    names.into_iter().all(|name| match (one.get(name), other.get(name)) {
        (Some(Value::Object(one)), Some(Value::Object(other))) => agree(one, other),
        (Some(one), Some(other)) => one == other,
        (Some(value), None) | (None, Some(value)) => *value == 0,
        (None, None) => true,
    })
}

impl CallRecord {
    /// Arguments that the function takes and the record lacks, or the reverse.
    pub(crate) fn check(&self) -> Result<&'static Function, String> {
        let index = Function::find(&self.role, &self.function);
        let function = index
            .map(|index| &super::functions::FUNCTIONS[index])
            .ok_or_else(|| format!("no law has a function `{}` of role `{}`", self.function, self.role))?;
        match function.words.iter().find(|name| !self.arguments.contains_key(**name)) {
            Some(name) => Err(format!("{} lacks its argument `{name}`", self.function)),
            None => Ok(function),
        }
    }
}
