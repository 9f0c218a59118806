//! A law at fault: what it was asked, by whom and when, and what went wrong.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use serde_json::Value;

use super::{Before, Call, CallRecord, describe, outcome};

/// A call of a law that trapped, did not come back, or returned nonsense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The call; its outcome says what went wrong.
    pub record: Box<CallRecord>,
    /// Where the state of the instance lies, for [`State::address`](crate::State::address) to find it by.
    pub state_address: usize,
}

impl Fault {
    /// What went wrong.
    pub fn why(&self) -> &str {
        let outcome = self.record.outcome.as_ref();
        outcome
            .and_then(|outcome| outcome.fault.as_deref())
            .unwrap_or("nothing")
    }
}

/// Fields of events that say most, in this order; those that are zero are left out, except where zero is the news.
fn inputs(record: &CallRecord) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    texts.extend(record.arguments.iter().map(|(name, value)| format!("{name} {value}")));
    for fields in [&record.event, &record.decision, &record.queue] {
        let plain = fields.iter().filter(|(_, value)| !value.is_object());
        texts.extend(
            plain
                .filter(|(name, _)| *name != "random")
                .map(|(name, value)| match value {
                    Value::String(text) => format!("{name} {text}"),
                    value => format!("{name} {value}"),
                }),
        );
    }
    texts
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CallRecord {
            law, function, role, ..
        } = &*self.record;
        let place = if self.record.place.is_empty() {
            role
        } else {
            &self.record.place
        };
        let seconds = self.record.time_ns as f64 / 1e9;
        writeln!(f, "law {law}, {function} of {place} at {seconds} s: {}", self.why())?;
        let params = self.record.params.iter().map(|(name, value)| format!("{name} {value}"));
        let params: Vec<String> = params.collect();
        if !params.is_empty() {
            writeln!(f, "  parameters: {}", params.join(", "))?;
        }
        write!(f, "  input: {}", inputs(&self.record).join(", "))
    }
}

impl std::error::Error for Fault {}

/// Ends the call, and the run with it.
pub(super) fn raise(call: &Call, before: &Before, why: String) -> ! {
    let mut record = Box::new(describe(call, before));
    record.outcome = Some(outcome(call, before, Some(why)));
    // No message of a panic: the fault has its own.
    resume_unwind(Box::new(Fault {
        record,
        state_address: call.state as usize,
    }))
}

/// Runs `run`; a law at fault in it is an error, any other panic goes on.
///
/// # Errors
/// The fault.
pub fn catch<R>(run: impl FnOnce() -> R) -> Result<R, Fault> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic: Box<dyn Any + Send>| match panic.downcast::<Fault>() {
        Ok(fault) => *fault,
        Err(other) => resume_unwind(other),
    })
}

/// Runs `run`; a law at fault in it is one of the instance at `place`.
pub fn in_place<R>(place: impl FnOnce() -> String, run: impl FnOnce() -> R) -> R {
    catch(run).unwrap_or_else(|mut fault| {
        fault.record.place = place();
        resume_unwind(Box::new(fault))
    })
}
