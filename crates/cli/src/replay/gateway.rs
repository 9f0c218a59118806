//! `fadelab replay` of what a kernel recorded of a gateway's law.

use std::fmt::Write;

use fadelab_lab::Failure;
use fadelab_lab::replay::gateway::{self, Found};
use fadelab_lab::replay::kernel::Recording;
use fadelab_laws::recorded::{GatewayHead, RecordedHead};

use super::{SHOWN_MAX, recorded};
use crate::output;

/// Makes all calls again and prints what was found.
///
/// # Errors
/// A file that is cut, damaged or of another version, a law that does not compile or is at fault, or a call that comes
/// to another header or memory.
pub fn replay(recording: Recording, of: &GatewayHead) -> Result<(), Failure> {
    let (head, shown) = (recording.head().clone(), recording.shown().to_owned());
    let found = gateway::replay(recording, SHOWN_MAX)?;
    output::print(&told(&found, &head, of))?;
    let calls_n = found.calls_n();
    if found.differences.at_fault_n > 0 {
        return Err(Failure::Failed(format!(
            "gateway's law {} is at fault in {} of {calls_n} calls",
            head.law, found.differences.at_fault_n
        )));
    }
    if let Some(damage) = &found.damage {
        return Err(Failure::Failed(format!("{shown}: damaged: {damage}")));
    }
    if found.differences.different_n > 0 {
        return Err(Failure::Failed(format!(
            "{} of {calls_n} calls come to something else here than in the kernel",
            found.differences.different_n
        )));
    }
    Ok(())
}

fn told(found: &Found, head: &RecordedHead, of: &GatewayHead) -> String {
    let mut text = String::new();
    let faults = match found.differences.at_fault_n {
        0 => String::new(),
        at_fault_n => format!(", {at_fault_n} at fault"),
    };
    let _ = writeln!(
        text,
        "gateway's law {} at {} in Linux {}: {} packets into {} and {} out ({} of both with another ECN field); {} \
         calls come to the same header and memory here, {} differ{faults}",
        head.law,
        of.place,
        head.kernel,
        found.entered_n,
        of.tunnels.join(", "),
        found.left_n,
        found.marked_n,
        found.calls_n() - found.differences.calls_n(),
        found.differences.different_n
    );
    text += &recorded::ended(found.lost_n);
    for (record, outcome) in &found.differences.first {
        super::one(&mut text, record, outcome);
    }
    text
}

/// Prints what the values to watch of its tunnels were.
///
/// # Errors
/// As [`replay`]; also where the law declares none, or a flow or senders are asked for.
pub fn watch(recording: Recording, of: &GatewayHead, flow: Option<u64>, shadows: &[String]) -> Result<(), Failure> {
    super::no_flows_of("gateway", &recording, flow, shadows)?;
    let law = recording.head().law.clone();
    let (watch, changes) = gateway::history(recording)?;
    let rows = changes.iter().map(|change| {
        let event = match change.function {
            "encapsulate" => "a packet entered",
            "decapsulate" => "a packet left",
            _ => "a new tunnel",
        };
        let event = format!("{}: {event}", change.place);
        (change.time_ns, event, change.values.as_slice())
    });
    let columns: Vec<_> = watch.iter().map(|value| (value.name.to_owned(), value)).collect();
    output::print(&format!(
        "gateway at {}, law {law}: what it declares to be watched, after each packet that changed any of it\n{}\n",
        of.place,
        recorded::watched(&columns, rows)
    ))
}
