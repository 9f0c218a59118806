//! `fadelab replay` of what a kernel recorded: every call of a law again, and each change of a window that was not the
//! law's.

use std::fmt::Write;

use comfy_table::CellAlignment;
use fadelab_lab::Failure;
use fadelab_lab::replay::kernel::{self, Found, History, Recording};
use fadelab_laws::recorded::RecordedHead;
use fadelab_laws::{Sender, WatchInfo, abi};

use super::SHOWN_MAX;
use crate::explain_run::event_of;
use crate::output;

/// Makes all calls again and prints what was found.
///
/// # Errors
/// A file that is cut, damaged or of another version, a law that does not compile or is at fault, or a call that comes
/// to another window.
pub fn replay(recording: Recording) -> Result<(), Failure> {
    let (head, shown) = (recording.head().clone(), recording.shown().to_owned());
    let found = kernel::replay(recording, SHOWN_MAX)?;
    output::print(&told(&found, &head))?;
    let calls_n = found.calls_n + found.receipts_n;
    if found.differences.at_fault_n > 0 {
        let why = found
            .differences
            .first
            .iter()
            .find_map(|(_, outcome)| outcome.fault.as_deref());
        return Err(Failure::Failed(format!(
            "law {} is at fault in {} of {calls_n} calls: {}",
            head.law,
            found.differences.at_fault_n,
            why.unwrap_or("its faults are behind the calls that are shown")
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

/// Prints what the values to watch of a flow were.
///
/// # Errors
/// As [`replay`]; also where no law declares any, one of `shadows` cannot look on, or the flow is not there.
pub fn watch(recording: Recording, flow: Option<u64>, shadows: &[String]) -> Result<(), Failure> {
    output::print(&history(&kernel::history(recording, flow, shadows)?))
}

fn history(history: &History) -> String {
    let rows = history.changes.iter().map(|change| {
        let cause = (change.function == "on_loss").then_some(change.cause);
        let event = event_of(change.function, cause, change.ack.as_ref());
        (change.time_ns, event, change.values.as_slice())
    });
    let (law, shadows) = (history.laws[0], &history.laws[1..]);
    let names: Vec<&str> = shadows.iter().map(|law| law.name()).collect();
    let shown = if names.is_empty() {
        "what it declares to be watched".to_owned()
    } else {
        format!("what it and {}, which look on, declare to be watched", names.join(", "))
    };
    let name = |law: &Sender, value: &WatchInfo| match shadows {
        [] => value.name.to_owned(),
        _ => format!("{}\n{}", law.name(), value.name),
    };
    let laws = history.laws.iter();
    let columns = laws.flat_map(|law| law.watch().iter().map(|value| (name(law, value), value)));
    format!(
        "flow {}, law {}: {shown}, after each call that changed any of it\n{}\n{}",
        history.flow,
        law.name(),
        watched(&columns.collect::<Vec<_>>(), rows),
        ended(Some(history.lost_n))
    )
}

/// A table of values to watch: when, after what, and what they were as the law computes with them.
pub(super) fn watched<'a>(
    columns: &[(String, &WatchInfo)],
    rows: impl Iterator<Item = (u64, String, &'a [u64])>,
) -> String {
    let mut table = output::wide_table();
    let names = columns.iter().map(|(name, _)| name.as_str());
    table.set_header(["time", "event"].into_iter().chain(names));
    for (time_ns, event, raw) in rows {
        let values = columns.iter().zip(raw).map(|((_, info), raw)| info.written(*raw));
        let time = format!("{:.6} s", time_ns as f64 / 1e9);
        table.add_row([time, event].into_iter().chain(values));
    }
    for (_, column) in table.column_iter_mut().enumerate().filter(|(place, _)| *place != 1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    output::with_bold_header(&mut table)
}

fn told(found: &Found, head: &RecordedHead) -> String {
    let mut text = String::new();
    let faults = match found.differences.at_fault_n {
        0 => String::new(),
        at_fault_n => format!(", {at_fault_n} at fault"),
    };
    let receipts = match found.receipts_n {
        0 => String::new(),
        receipts_n => format!(" and {receipts_n} of {} receiving ends", found.ends_n()),
    };
    let _ = writeln!(
        text,
        "law {} in Linux {}: {} calls of {} flows{receipts}; {} come to the same window, feedback and state here, \
         {} differ{faults}",
        head.law,
        head.kernel,
        found.calls_n,
        found.flows_n(),
        found.calls_n + found.receipts_n - found.differences.calls_n(),
        found.differences.different_n
    );
    text += &ended(found.lost_n);
    for (record, outcome) in &found.differences.first {
        super::one(&mut text, record, outcome);
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
        for change in shown {
            let _ = writeln!(
                text,
                "  flow {} at {:.6} s, before {}: {} -> {} packets",
                change.flow,
                change.time_ns as f64 / 1e9,
                change.before,
                change.from_pkts,
                change.to_pkts
            );
        }
        if *count > shown.len() {
            let _ = writeln!(text, "  and {} more", count - shown.len());
        }
    }
    text
}

/// What a recording's end says of those that are not in it.
pub(super) fn ended(lost_n: Option<u64>) -> String {
    match lost_n {
        Some(0) => String::new(),
        Some(lost_n) => format!("{lost_n} calls found no room in the recording\n"),
        None => "these are the calls before the damage\n".to_owned(),
    }
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
