//! `fadelab replay`: makes recorded calls of a law again, each by itself.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use fadelab_laws::guard::{CALLS_VERSION, CallRecord, CallsHead, Outcome};
use fadelab_laws::own::{self, Source};
use fadelab_laws::replay::{ReplayError, Replayer};
use serde_json::{Map, Value};

use crate::{Failure, output, replay_kernel};

/// Arguments of `fadelab replay`.
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// A file of calls, as a run writes it when a law is at fault, and as `fadelab kernel load --record` does
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Compile the law as it was when the call was recorded, not as it is now
    #[arg(long)]
    as_recorded: bool,
}

/// Calls of which each difference is shown; of more, only how many there are.
const SHOWN_MAX: usize = 10;

/// Makes the calls again and says what came of each.
///
/// # Errors
/// A file that is none of calls, or a law that does not compile any more.
pub fn replay(args: &ReplayArgs) -> Result<(), Failure> {
    if let Some(head) = replay_kernel::head(&args.file) {
        return replay_kernel::replay(&args.file, &head);
    }
    let (head, records) = read(&args.file)?;
    let mut text = String::new();
    let sources: Vec<Source> = head
        .laws
        .into_iter()
        .map(|source| current(source, args, &mut text))
        .collect();
    let mut replayer = Replayer::new(sources);
    if let [record] = records.as_slice() {
        let outcome = replayer.replay(record).map_err(refused)?;
        one(&mut text, record, &outcome);
    } else {
        many(&mut text, &records, &mut replayer)?;
    }
    output::print(&text)
}

fn refused(error: ReplayError) -> Failure {
    match error {
        ReplayError::Law(error) => Failure::Invalid(error.to_string()),
        ReplayError::Record(why) => Failure::Invalid(why),
    }
}

fn read(path: &Path) -> Result<(CallsHead, Vec<CallRecord>), Failure> {
    let shown = path.display();
    let text =
        fs::read_to_string(path).map_err(|error| Failure::Invalid(format!("{shown}: cannot be read: {error}")))?;
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let no_calls = || {
        Failure::Invalid(format!(
            "{shown}: no file of calls; a run writes one when a law is at fault"
        ))
    };
    let (_, first) = lines.next().ok_or_else(no_calls)?;
    let head: CallsHead = serde_json::from_str(first).map_err(|_| no_calls())?;
    if head.fadelab_calls != CALLS_VERSION {
        let given = head.fadelab_calls;
        return Err(Failure::Invalid(format!(
            "{shown}: calls of version {given}; this fadelab reads version {CALLS_VERSION}"
        )));
    }
    let record = |(number, line): (usize, &str)| {
        serde_json::from_str(line)
            .map_err(|error| Failure::Invalid(format!("{shown}:{}: no call of a law: {error}", number + 1)))
    };
    let records: Vec<CallRecord> = lines.map(record).collect::<Result<_, _>>()?;
    if records.is_empty() {
        return Err(Failure::Invalid(format!("{shown}: has no calls")));
    }
    Ok((head, records))
}

/// The law as it stands now, if its file is still there and not asked otherwise.
fn current(recorded: Source, args: &ReplayArgs, text: &mut String) -> Source {
    let path = recorded.path.clone();
    let shown = path.display();
    let now = if args.as_recorded {
        None
    } else {
        own::read_again(&recorded)
    };
    match now {
        Some(now) if now.files == recorded.files => recorded,
        Some(now) => {
            let _ = writeln!(
                text,
                "{shown} has changed since; this is the new text (--as-recorded takes the old one)"
            );
            now
        }
        None => {
            let _ = writeln!(text, "{shown} as it was when the call was recorded");
            recorded
        }
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
fn many(text: &mut String, records: &[CallRecord], replayer: &mut Replayer) -> Result<(), Failure> {
    let (mut same, mut different, mut unknown) = (0usize, 0usize, 0usize);
    for (number, record) in records.iter().enumerate() {
        let outcome = replayer.replay(record).map_err(refused)?;
        match &record.outcome {
            None => unknown += 1,
            Some(recorded) if recorded.agrees(&outcome) => same += 1,
            Some(_) => {
                different += 1;
                if different <= SHOWN_MAX {
                    let _ = writeln!(text, "call {}:", number + 1);
                    one(text, record, &outcome);
                }
            }
        }
    }
    let _ = writeln!(
        text,
        "{} calls: {same} as recorded, {different} differ, {unknown} without a recorded outcome",
        records.len()
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
        let then = before.get(name).cloned().unwrap_or_default();
        if then == *now {
            let _ = writeln!(text, "  {name:<12}  {}", plain(now));
        } else {
            let _ = writeln!(text, "  {name:<12}  {} -> {}", plain(&then), plain(now));
        }
    }
}
