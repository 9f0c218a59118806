//! `fadelab explain RUN`: why the window of a flow moved: the event, the branch that the law took, the equation.

use std::fmt::Write;
use std::path::Path;

use clap::Args;
use console::style;
use fadelab_lab::Failure;
use fadelab_lab::explain::{self, Change, Changes, Subject, Which};
use fadelab_laws::{Params, Sender, abi};
use fadelab_scenario::unit::{Duration, parse};

use crate::output;

/// What to look at in a result.
#[derive(Debug, Args)]
pub struct MomentArgs {
    /// In a result: the flow, by its name or its number from 1 [default: the first with a law]
    #[arg(long, value_name = "FLOW")]
    flow: Option<String>,
    /// In a result: the time, for example 12.4s
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
    /// In a result of several laws: which of them [default: the first]
    #[arg(long, value_name = "LAW")]
    law: Option<String>,
    /// In a result of several seeds: which of them [default: the first]
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,
    /// In a result of a sweep: the value of a key, for example --set 'channel.snr=5 dB'; repeatable
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
}

impl MomentArgs {
    /// Whether any of them is given, which only makes sense with a result.
    pub fn is_given(&self) -> bool {
        let one = self.flow.is_some() || self.at.is_some() || self.law.is_some() || self.seed.is_some();
        one || !self.sets.is_empty()
    }
}

/// Whether a path is the folder of a result.
pub fn is_result(path: &str) -> bool {
    explain::is_result(Path::new(path))
}

/// Prints why the window moved.
///
/// # Errors
/// A result that cannot be read or does not have what is asked for.
pub fn explain(folder: &str, args: &MomentArgs) -> Result<(), Failure> {
    let which = Which {
        flow: args.flow.clone(),
        law: args.law.clone(),
        seed: args.seed,
        sets: args.sets.clone(),
    };
    let subject = Subject::of(Path::new(folder), &which, &|remark| output::warn(&[remark]))?;
    let at = args.at.as_deref().ok_or_else(|| {
        let message = "--at is missing: give the time in the run, for example --at 12.4s";
        Failure::Invalid(message.to_owned())
    })?;
    let Duration(at_ns) = parse(at).map_err(|why| Failure::Invalid(format!("--at {at}: {why}")))?;
    let Subject { run, flow, .. } = &subject;
    if at_ns > run.spec.duration_ns {
        let end_s = run.spec.duration_ns as f64 / 1e9;
        return Err(Failure::Invalid(format!("--at {at}: the run ends at {end_s} s")));
    }
    let changes = subject.around(at_ns)?;
    let spec = &run.spec.flows[*flow];
    let mut text = format!(
        "{}\n\n",
        style(format!(
            "flow {} ({}), law {}, seed {}",
            flow + 1,
            spec.name,
            law_in_run(subject.sender.name(), &run.law_label),
            run.seed
        ))
        .bold()
    );
    show(&mut text, &changes, subject.sender, &spec.params, at_ns);
    output::print_told(&text)
}

/// The law of the flow, and of what mixture it is one.
fn law_in_run(sender: &str, label: &str) -> String {
    if label.contains('/') {
        format!("{sender} of {label}")
    } else {
        label.to_owned()
    }
}

fn seconds(time_us: u64) -> String {
    format!("{:.6} s", time_us as f64 / 1e6)
}

fn show(text: &mut String, changes: &Changes, sender: &Sender, params: &Params, at_ns: u64) {
    let Some(asked) = changes.until.back() else {
        let _ = writeln!(text, "the flow had not begun at {}", seconds(at_ns / 1000));
        return;
    };
    for change in &changes.until {
        let mark = if std::ptr::eq(change, asked) { ">" } else { " " };
        let _ = writeln!(text, "{mark} {}", line(change));
    }
    for change in &changes.after {
        let _ = writeln!(text, "  {}", line(change));
    }
    let _ = writeln!(
        text,
        "\n{}",
        style(format!("{}: {}", seconds(asked.time_us), moved(asked))).bold()
    );
    let mut row = |title: &str, value: String| {
        let _ = writeln!(text, "  {title:<10}  {value}");
    };
    row("event", event(asked));
    for step in &asked.steps {
        row("law", step.clone());
    }
    if let Some(host) = host(asked) {
        row("host", host);
    }
    let (then, now) = (asked.before.ssthresh_pkts, asked.after.ssthresh_pkts);
    let from = if then == now {
        String::new()
    } else {
        format!("{then} -> ")
    };
    row("ssthresh", format!("{from}{now} packets"));
    row("recovery", ca_state(asked.before.ca_state).to_owned());
    if let Some(ack) = &asked.ack {
        let rtt = if ack.rtt_us == 0 {
            "no sample".to_owned()
        } else {
            format!("{} us", ack.rtt_us)
        };
        row(
            "round trip",
            format!("{rtt}, smoothed {} us, smallest {} us", ack.srtt_us, ack.rtt_us_min),
        );
        row("in flight", format!("{} packets", ack.in_flight_pkts));
        if ack.feedback.len > 0 {
            row("feedback", feedback(&ack.feedback));
        }
    }
    for (info, (then, now)) in sender.watch().iter().zip(&asked.watched) {
        let (then, now) = (info.written(*then), info.written(*now));
        let from = if then == now {
            String::new()
        } else {
            format!("{then} -> ")
        };
        row(info.name, format!("{from}{now}"));
    }
    if asked.after.pacing_Bps > 0 {
        row("pacing", format!("{} bytes/s", asked.after.pacing_Bps));
    }
    let values = sender.params().iter().zip(params.values());
    let values: Vec<String> = values
        .map(|(info, value)| format!("{} {}", info.name, info.written(*value)))
        .collect();
    if !values.is_empty() {
        row("parameters", values.join(", "));
    }
}

fn line(change: &Change) -> String {
    // The branch comes first, what it entails after it.
    let step = change
        .steps
        .first()
        .cloned()
        .or_else(|| host(change))
        .unwrap_or_default();
    let (from, to) = (change.before.cwnd_pkts, change.after.cwnd_pkts);
    format!(
        "{:>14}  {from:>6} -> {to:<6}  {:<28}  {step}",
        seconds(change.time_us),
        event_short(change)
    )
}

fn moved(change: &Change) -> String {
    match (change.before.cwnd_pkts, change.after.cwnd_pkts) {
        (from, to) if from == to => format!("the window stayed at {to} packets"),
        (from, to) => format!("the window went from {from} to {to} packets"),
    }
}

fn event_short(change: &Change) -> String {
    event_of(change.function, change.cause, change.ack.as_ref())
}

/// What happened when a law's function was called, in a few words.
pub fn event_of(function: &str, cause: Option<u64>, ack: Option<&abi::Ack>) -> String {
    let acked = ack.map_or(0, |ack| ack.acked_pkts);
    match function {
        "init" => "a new connection".to_owned(),
        "on_loss" if cause == Some(u64::from(abi::LOSS_ECN)) => "a congestion mark".to_owned(),
        "on_loss" => "a loss".to_owned(),
        "on_rto" => "a timeout".to_owned(),
        "on_restart" => "sending again after idleness".to_owned(),
        "on_send" => "a segment sent".to_owned(),
        "on_lost" => "a segment lost".to_owned(),
        "on_undo" => "a reduction taken back".to_owned(),
        _ if acked == 0 => "a duplicate ACK".to_owned(),
        _ => format!("an ACK of {acked} packet{}", if acked == 1 { "" } else { "s" }),
    }
}

fn event(change: &Change) -> String {
    let short = event_short(change);
    let Some(ack) = &change.ack else {
        return change
            .idle_us
            .map_or(short.clone(), |idle_us| format!("{short} of {idle_us} us"));
    };
    let mut parts = vec![short];
    for (count, what) in [
        (ack.sacked_pkts, "acknowledged selectively"),
        (ack.lost_pkts, "found lost"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    let flags = [
        (abi::ACK_ECE, "with an echo of a mark (ECE)"),
        (abi::ACK_APP_LIMITED, "limited by the application"),
    ];
    parts.extend(
        flags
            .iter()
            .filter(|(flag, _)| ack.flags & flag != 0)
            .map(|(_, what)| (*what).to_owned()),
    );
    parts.join(", ")
}

/// What the host did with the window by itself.
fn host(change: &Change) -> Option<String> {
    let (law, after) = (change.law.cwnd_pkts, change.after.cwnd_pkts);
    if law == after {
        return None;
    }
    Some(match change.function {
        "on_rto" => format!("after a timeout the host sends one packet: cwnd {law} -> {after} (RFC 5681 section 3.1)"),
        "on_loss" => format!("the host brings the window to ssthresh: cwnd {law} -> {after} (RFC 5681 section 3.2)"),
        _ => format!("the host, not the law: cwnd {law} -> {after}, a new connection or its own recovery"),
    })
}

fn ca_state(state: u32) -> &'static str {
    match state {
        abi::CA_OPEN => "none (open)",
        abi::CA_DISORDER => "duplicate ACKs, not yet a loss (disorder)",
        abi::CA_CWR => "reduced for an ECN echo (CWR)",
        abi::CA_RECOVERY => "fast retransmit (recovery)",
        _ => "after a timeout (loss)",
    }
}

fn feedback(feedback: &abi::Feedback) -> String {
    let bytes = &feedback.bytes[..usize::from(feedback.len).min(feedback.bytes.len())];
    let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let age = if feedback.present == 1 {
        "came with this ACK".to_owned()
    } else {
        format!("came {} us ago", feedback.age_us)
    };
    format!("{} ({age})", hex.join(" "))
}
