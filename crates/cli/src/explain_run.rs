//! `fadelab explain RUN`: why the window of a flow moved: the event, the branch that the law took, the equation.
//!
//! The run is simulated again, which gives the same run, with the flow's sender in the build that tells its steps.

mod changes;

use std::cell::RefCell;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use clap::Args;
use console::style;
use fadelab_laws::guard::{self, Seen};
use fadelab_laws::own::{self, Source, SourceFile};
use fadelab_laws::replay::Explained;
use fadelab_laws::{Params, Sender, abi};
use fadelab_results::OwnLaw;
use fadelab_scenario::plan::{Plan, PlannedRun};
use fadelab_scenario::unit::{Duration, parse};
use fadelab_sim::RunError;
use serde::Deserialize;

use crate::{Failure, output};

use changes::{Change, Changes};

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

/// What is needed of `manifest.json`.
#[derive(Deserialize)]
struct Manifest {
    version: String,
    scenario: String,
    #[serde(default)]
    scenario_path: PathBuf,
    #[serde(default)]
    own_laws: Vec<OwnLaw>,
}

/// Whether a path is the folder of a result.
pub fn is_result(path: &str) -> bool {
    Path::new(path).join("manifest.json").is_file()
}

/// Prints why the window moved.
///
/// # Errors
/// A result that cannot be read or does not have what is asked for.
pub fn explain(folder: &str, args: &MomentArgs) -> Result<(), Failure> {
    let plan = plan(Path::new(folder))?;
    let run = choose(&plan, args)?;
    let flow = flow(run, args.flow.as_deref())?;
    let spec = &run.spec.flows[flow];
    let Some(sender) = spec.sender else {
        return Err(Failure::Invalid(format!("flow {} has no law: it is UDP", spec.name)));
    };
    let at = args.at.as_deref().ok_or_else(|| {
        let message = "--at is missing: give the time in the run, for example --at 12.4s";
        Failure::Invalid(message.to_owned())
    })?;
    let Duration(at_ns) = parse(at).map_err(|why| Failure::Invalid(format!("--at {at}: {why}")))?;
    if at_ns > run.spec.duration_ns {
        let end_s = run.spec.duration_ns as f64 / 1e9;
        return Err(Failure::Invalid(format!("--at {at}: the run ends at {end_s} s")));
    }
    let changes = changes(run, flow, sender, at_ns)?;
    let mut text = format!(
        "{}\n\n",
        style(format!(
            "flow {} ({}), law {}, seed {}",
            flow + 1,
            spec.name,
            run.law_label,
            run.seed
        ))
        .bold()
    );
    show(&mut text, &changes, sender, &spec.params, at_ns);
    output::print(&text)
}

/// The plan of a result, its own laws loaded as the result keeps them.
fn plan(folder: &Path) -> Result<Plan, Failure> {
    let path = folder.join("manifest.json");
    let damaged = |why: String| Failure::Invalid(format!("{}: {why}", path.display()));
    let text = fs::read_to_string(&path).map_err(|error| damaged(format!("cannot be read: {error}")))?;
    let manifest: Manifest = serde_json::from_str(&text).map_err(|error| damaged(format!("is damaged: {error}")))?;
    let version = env!("CARGO_PKG_VERSION");
    if manifest.version != version {
        output::warn(&[format!(
            "{}: the result is of fadelab {}, and this is {version}: its runs may have gone another way",
            folder.display(),
            manifest.version
        )]);
    }
    for law in &manifest.own_laws {
        load(folder, law)?;
    }
    let options = fadelab_scenario::Options {
        runs_max: usize::MAX,
        ..fadelab_scenario::Options::default()
    };
    let name = path.display().to_string();
    // Paths of traces are relative to the scenario's folder.
    let origin = manifest.scenario_path.parent().unwrap_or(Path::new(""));
    Ok(fadelab_scenario::parse(
        manifest.scenario.as_bytes(),
        &name,
        origin,
        &options,
    )?)
}

/// Loads a law as the result keeps it.
fn load(folder: &Path, law: &OwnLaw) -> Result<(), Failure> {
    let read = |name: &String| {
        let path = folder.join("laws").join(&law.name).join(name);
        let text = fs::read_to_string(&path)
            .map_err(|error| Failure::Invalid(format!("{}: cannot be read: {error}", path.display())))?;
        Ok(SourceFile {
            name: name.clone(),
            text,
        })
    };
    let loaded = own::load_text(&Source {
        name: law.name.clone(),
        sha256: law.sha256.clone(),
        path: law.path.clone().into(),
        files: law.files.iter().map(read).collect::<Result<_, Failure>>()?,
    })?;
    if loaded.source.sha256 != law.sha256 {
        return Err(Failure::Invalid(format!(
            "{}: the law was changed after the run, which it can therefore not explain: its sha256 is {}, that of the \
             run {}; put the header back, or run the scenario again",
            folder.join("laws").join(&law.name).display(),
            loaded.source.sha256,
            law.sha256
        )));
    }
    Ok(())
}

/// The run that the arguments select.
fn choose<'a>(plan: &'a Plan, args: &MomentArgs) -> Result<&'a PlannedRun, Failure> {
    let mut runs: Vec<&PlannedRun> = plan.runs.iter().collect();
    let mut keep = |given: String, what: &str, value: &dyn Fn(&PlannedRun) -> String| {
        let mut known: Vec<String> = Vec::new();
        for run in &runs {
            let value = value(run);
            if !known.contains(&value) {
                known.push(value);
            }
        }
        runs.retain(|run| value(run) == given);
        if runs.is_empty() {
            let known = known.join(", ");
            return Err(Failure::Invalid(format!(
                "no run of the result has {what} {given}; there is {known}"
            )));
        }
        Ok(())
    };
    if let Some(law) = &args.law {
        keep(law.clone(), "--law", &|run| run.law_label.clone())?;
    }
    for set in &args.sets {
        let Some((key, value)) = set.split_once('=') else {
            return Err(Failure::Invalid(format!("--set {set}: KEY=VALUE is needed")));
        };
        let of = |run: &PlannedRun| {
            let found = run.point.iter().find(|(known, _)| known == key.trim());
            found.map_or_else(|| "nothing".to_owned(), |(_, value)| value.clone())
        };
        keep(value.trim().to_owned(), &format!("--set {key}"), &of)?;
    }
    if let Some(seed) = args.seed {
        keep(seed.to_string(), "--seed", &|run| run.seed.to_string())?;
    }
    runs.first()
        .copied()
        .ok_or_else(|| Failure::Invalid("the result has no runs".to_owned()))
}

/// Position of the flow that is named or numbered.
fn flow(run: &PlannedRun, given: Option<&str>) -> Result<usize, Failure> {
    let flows = &run.spec.flows;
    let Some(given) = given else {
        let first = flows.iter().position(|flow| flow.sender.is_some());
        return first.ok_or_else(|| Failure::Invalid("no flow of the run has a law".to_owned()));
    };
    let named = flows.iter().position(|flow| flow.name.as_ref() == given);
    let numbered = || {
        given
            .parse()
            .ok()
            .filter(|number| (1..=flows.len()).contains(number))
            .map(|number| number - 1)
    };
    named.or_else(numbered).ok_or_else(|| {
        let names: Vec<&str> = flows.iter().take(10).map(|flow| flow.name.as_ref()).collect();
        let more = if flows.len() > names.len() { ", ..." } else { "" };
        let names = names.join(", ");
        Failure::Invalid(format!(
            "no flow {given}: allowed is 1 to {}, or a name: {names}{more}",
            flows.len()
        ))
    })
}

/// Simulates the run until enough is known.
fn changes(run: &PlannedRun, flow: usize, sender: &'static Sender, at_ns: u64) -> Result<Changes, Failure> {
    let own = own::loaded().into_iter().find(|law| law.source.name == sender.name());
    let explained = match own {
        Some(law) => Explained::own(&law.source)?,
        None => Explained::builtin("sender", sender.name()).unwrap_or_default(),
    };
    let Some(explained) = explained.sender else {
        return Err(Failure::Failed(format!(
            "law {} has no build that tells its steps",
            sender.name()
        )));
    };
    let mut spec = run.spec.clone();
    let explained: &'static Sender = Box::leak(Box::new(explained));
    spec.flows[flow].sender = Some(explained);
    spec.record_interval_ns = None;
    let changes = Rc::new(RefCell::new(Changes::around(at_ns / 1000)));
    let gathered = Rc::clone(&changes);
    let observer = move |seen: &Seen<'_>| {
        // A law that a user brought is guarded in the other flows too.
        if seen.is_of(explained) {
            gathered.borrow_mut().see(seen);
        }
    };
    let done = guard::observe(observer, || {
        fadelab_sim::run(&spec, |_| !changes.borrow().are_complete())
    });
    match done {
        // A law at fault after the moment that is asked for does not stand in the way.
        Ok(_) | Err(RunError::Stopped | RunError::Law(_)) => {}
        Err(error) => return Err(Failure::Failed(error.to_string())),
    }
    let mut changes = changes.take();
    changes.close(None);
    Ok(changes)
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
    let acked = change.ack.as_ref().map_or(0, |ack| ack.acked_pkts);
    match change.function {
        "init" => "a new connection".to_owned(),
        "on_loss" if change.cause == Some(u64::from(abi::LOSS_ECN)) => "a congestion mark".to_owned(),
        "on_loss" => "a loss".to_owned(),
        "on_rto" => "a timeout".to_owned(),
        "on_restart" => "sending again after idleness".to_owned(),
        "on_send" => "a segment sent".to_owned(),
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
