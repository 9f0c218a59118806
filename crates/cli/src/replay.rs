//! `fadelab replay`: makes recorded calls of a law again, each by itself.

mod gateway;
mod link;
mod recorded;
mod router;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use fadelab_lab::replay::{Calls, Text, kernel, link as links};
use fadelab_lab::{Failure, own_law};
use fadelab_laws::guard::{CallRecord, Outcome};
use serde_json::{Map, Value};

use crate::output;

/// Arguments of `fadelab replay`.
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// A file of calls, as a run writes it when a law is at fault, and as `fadelab kernel load`, `router` and `gateway`
    /// do with --record; or what `fadelab emulate --record` wrote of a link
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Load a law of your own by its header, ./mine.h: one that stands in what was recorded of a link, or one for
    /// --shadow; repeatable
    #[arg(long = "law", value_name = "HEADER")]
    laws: Vec<PathBuf>,
    /// Of a link: write each packet and what became of it into TABLE, as CSV
    #[arg(long, value_name = "TABLE")]
    packets: Option<PathBuf>,
    /// Compile the law as it was when the call was recorded, not as it is now
    #[arg(long)]
    as_recorded: bool,
    /// Of what a kernel recorded: the values to watch that the law declares, after each call that changed one
    #[arg(long)]
    watch: bool,
    /// The same of other laws, too, which are shown the recorded ACKs and losses and decide nothing; repeatable, or
    /// names joined by commas
    #[arg(long, value_name = "LAW", value_delimiter = ',')]
    shadow: Vec<String>,
    /// With --watch or --shadow: the flow, by its number [default: the first]
    #[arg(long, value_name = "NUMBER")]
    flow: Option<u64>,
}

/// Calls of which each difference is shown; of more, only how many there are.
const SHOWN_MAX: usize = 10;

/// Makes the calls again and says what came of each.
///
/// # Errors
/// A file that is none of calls, or a law that does not compile any more.
pub fn replay(args: &ReplayArgs) -> Result<(), Failure> {
    own_law::load(&args.laws, &|remark| output::warn(&[remark]))?;
    if let Some(table) = &args.packets
        && !links::packets(&args.file, table)?
    {
        return Err(Failure::Invalid(format!(
            "--packets: {} has calls of a law; allowed is what `fadelab emulate --record` or `fadelab testbed run \
             --record-links` wrote of a link",
            args.file.display()
        )));
    }
    let is_watch = args.watch || !args.shadow.is_empty();
    if let Some(flow) = args.flow.filter(|_| !is_watch) {
        return Err(Failure::Invalid(format!(
            "--flow {flow}: it goes with --watch or --shadow; without them all flows are made again"
        )));
    }
    if let Some(recording) = kernel::open(&args.file)? {
        if let Some(of) = recording.head().gateway.clone() {
            return if is_watch {
                gateway::watch(recording, &of, args.flow, &args.shadow)
            } else {
                gateway::replay(recording, &of)
            };
        }
        return match (recording.head().router.clone(), is_watch) {
            (Some(router), true) => router::watch(recording, &router, args.flow, &args.shadow),
            (Some(router), false) => router::replay(recording, &router),
            (None, true) => recorded::watch(recording, args.flow, &args.shadow),
            (None, false) => recorded::replay(recording),
        };
    }
    if let Some(made) = links::again(&args.file)? {
        return link::told(&made);
    }
    if is_watch {
        return Err(Failure::Invalid(format!(
            "--watch and --shadow: {} has single calls; allowed is what `fadelab kernel load`, `router` or `gateway` \
             with --record or `fadelab testbed run --record` wrote; `fadelab explain RUN` shows those of a simulated \
             run",
            args.file.display()
        )));
    }
    let mut calls = Calls::read(&args.file, args.as_recorded)?;
    let mut text = String::new();
    for (path, which) in &calls.laws {
        let shown = path.display();
        let _ = match which {
            Text::Same => Ok(()),
            Text::New => writeln!(
                text,
                "{shown} has changed since; this is the new text (--as-recorded takes the old one)"
            ),
            Text::Recorded => writeln!(text, "{shown} as it was when the call was recorded"),
        };
    }
    if calls.records.len() == 1 {
        let outcome = calls.again(0)?;
        one(&mut text, &calls.records[0], &outcome);
    } else {
        many(&mut text, &mut calls)?;
    }
    output::print(&text)
}

/// Refuses a flow, and senders that are to look on, where `whose` law sees packets of all.
fn no_flows_of(
    whose: &str,
    recording: &kernel::Recording,
    flow: Option<u64>,
    shadows: &[String],
) -> Result<(), Failure> {
    let shown = recording.shown();
    if let Some(shadow) = shadows.first() {
        return Err(Failure::Invalid(format!(
            "--shadow {shadow}: {shown} is of a {whose}, which gets no ACKs; allowed is what `fadelab kernel load \
             --record` wrote of a sender"
        )));
    }
    match flow {
        Some(flow) => Err(Failure::Invalid(format!(
            "--flow {flow}: {shown} is of a {whose}, whose law knows no flows; leave it out"
        ))),
        None => Ok(()),
    }
}

/// One call in full.
pub fn one(text: &mut String, record: &CallRecord, outcome: &Outcome) {
    let CallRecord {
        law,
        role,
        function,
        place,
        ..
    } = record;
    let place = if place.is_empty() { role } else { place };
    let _ = writeln!(
        text,
        "law {law}, {function} of {place} at {} s",
        record.time_ns as f64 / 1e9
    );
    let named = |pairs: &BTreeMap<String, u64>| -> Vec<String> {
        pairs.iter().map(|(name, value)| format!("{name} {value}")).collect()
    };
    list(text, "parameters", &named(&record.params));
    list(text, "arguments", &named(&record.arguments));
    list(text, "event", &fields(&record.event));
    list(text, "queue", &fields(&record.queue));
    let _ = writeln!(text, "  state before  {}", record.state);
    let _ = writeln!(text, "  state after   {}", outcome.state);
    changes(text, &record.event, &outcome.event);
    changes(text, &record.decision, &outcome.decision);
    for step in &outcome.steps {
        let _ = writeln!(text, "  step          {step}");
    }
    if let Some(result) = outcome.result {
        let _ = writeln!(text, "  returned      {result}");
    }
    let before = record.outcome.as_ref().map(|outcome| outcome.fault.as_deref());
    let verdict = match (before, outcome.fault.as_deref()) {
        (Some(Some(_)), Some(now)) => format!("still at fault: {now}"),
        (_, Some(now)) => format!("at fault: {now}"),
        (Some(Some(before)), None) => format!("no longer at fault; recorded was: {before}"),
        (_, None) => "not at fault".to_owned(),
    };
    let _ = writeln!(text, "{verdict}");
}

/// All calls of a file: how many come to the same again, and the first that do not.
fn many(text: &mut String, calls: &mut Calls) -> Result<(), Failure> {
    let tally = calls.all_again(SHOWN_MAX)?;
    for (place, outcome) in &tally.shown {
        let _ = writeln!(text, "call {}:", place + 1);
        one(text, &calls.records[*place], outcome);
    }
    let _ = writeln!(
        text,
        "{} calls: {} as recorded, {} differ, {} without a recorded outcome",
        calls.records.len(),
        tally.same,
        tally.different,
        tally.unknown
    );
    Ok(())
}

fn list(text: &mut String, title: &str, items: &[String]) {
    if !items.is_empty() {
        let _ = writeln!(text, "  {title:<12}  {}", items.join(", "));
    }
}

fn fields(fields: &Map<String, Value>) -> Vec<String> {
    fields
        .iter()
        .map(|(name, value)| format!("{name} {}", plain(value)))
        .collect()
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(object) => format!("({})", fields(object).join(", ")),
        value => value.to_string(),
    }
}

/// Fields that the law may write: before, and after where it differs.
fn changes(text: &mut String, before: &Map<String, Value>, after: &Map<String, Value>) {
    for (name, now) in after {
        // A version of law.h that did not have the field left nothing there.
        let then = before.get(name).cloned().unwrap_or_else(|| Value::from(0));
        if then == *now {
            let _ = writeln!(text, "  {name:<12}  {}", plain(now));
        } else {
            let _ = writeln!(text, "  {name:<12}  {} -> {}", plain(&then), plain(now));
        }
    }
}
