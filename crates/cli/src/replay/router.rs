//! `fadelab replay` of what a kernel recorded of a router's law.

use std::fmt::Write;

use fadelab_lab::Failure;
use fadelab_lab::replay::kernel::Recording;
use fadelab_lab::replay::router::{self, Found};
use fadelab_laws::recorded::{RecordedHead, RouterHead};

use super::{SHOWN_MAX, recorded};
use crate::output;

/// Does all of it again and prints what was found.
///
/// # Errors
/// A file that is cut, damaged or of another version, a law that does not compile or is at fault, or something that
/// comes to another packet or memory.
pub fn replay(recording: Recording, router: &RouterHead) -> Result<(), Failure> {
    let (head, shown) = (recording.head().clone(), recording.shown().to_owned());
    let found = router::replay(recording, router, SHOWN_MAX)?;
    output::print(&told(&found, &head, router))?;
    let steps_n = found.steps_n();
    if found.at_fault_n > 0 {
        let at_fault_n = found.at_fault_n;
        return Err(Failure::Failed(format!(
            "law {} or its capacity part {} is at fault in {at_fault_n} of {steps_n} records",
            head.law, router.part
        )));
    }
    if let Some(damage) = &found.damage {
        return Err(Failure::Failed(format!("{shown}: damaged: {damage}")));
    }
    if found.different_n > 0 {
        return Err(Failure::Failed(format!(
            "{} of {steps_n} records come to something else here than in the kernel",
            found.different_n
        )));
    }
    Ok(())
}

fn told(found: &Found, head: &RecordedHead, router: &RouterHead) -> String {
    let mut text = String::new();
    let faults = match found.at_fault_n {
        0 => String::new(),
        at_fault_n => format!(", {at_fault_n} at fault"),
    };
    let _ = writeln!(
        text,
        "router law {} with the capacity part {} at {} in Linux {}: {} packets ({} with another ECN field, {} dropped) \
         and {} runs of timers; {} come to the same packet and memory here, {} differ{faults}",
        head.law,
        router.part,
        router.device,
        head.kernel,
        found.packets_n,
        found.marked_n,
        found.dropped_n,
        found.timers_n,
        found.steps_n() - found.different_n - found.at_fault_n,
        found.different_n
    );
    text += &recorded::ended(found.lost_n);
    for different in &found.different {
        let _ = writeln!(
            text,
            "record {}, {} at {:.6} s",
            different.number,
            different.what,
            different.time_ns as f64 / 1e9
        );
        for what in &different.told {
            let _ = writeln!(text, "  {what}");
        }
    }
    text
}

/// Prints what the values to watch were.
///
/// # Errors
/// As [`replay`]; also where the law declares none, or a flow or senders are asked for.
pub fn watch(recording: Recording, router: &RouterHead, flow: Option<u64>, shadows: &[String]) -> Result<(), Failure> {
    super::no_flows_of("router", &recording, flow, shadows)?;
    let law = recording.head().law.clone();
    let (watch, changes) = router::history(recording, router)?;
    let rows = changes.iter().map(|change| {
        let event = event(change.what).to_owned();
        (change.time_ns, event, change.values.as_slice())
    });
    let columns: Vec<_> = watch.iter().map(|value| (value.name.to_owned(), value)).collect();
    output::print(&format!(
        "router at {}, law {law}: what it declares to be watched, after each packet and timer that changed any of \
         it\n{}\n",
        router.device,
        recorded::watched(&columns, rows)
    ))
}

fn event(what: &str) -> &str {
    match what {
        "packet" => "a packet passed",
        "timers" => "timers ran",
        _ => "a new link",
    }
}
