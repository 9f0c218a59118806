//! Makes recorded calls of a law again, each by itself.

pub mod gateway;
pub mod kernel;
pub mod link;
pub mod router;

use std::fs;
use std::path::{Path, PathBuf};

use fadelab_laws::guard::{CALLS_VERSION, CallRecord, CallsHead, Fault, Outcome};
use fadelab_laws::own::{self, Source};
use fadelab_laws::replay::{ReplayError, Replayer};

use crate::Failure;

/// The calls of a file, as a run writes it when a law is at fault.
#[derive(Debug)]
pub struct Calls {
    /// In order.
    pub records: Vec<CallRecord>,
    /// The files of their laws, and which text of each is run.
    pub laws: Vec<(PathBuf, Text)>,
    replayer: Replayer,
}

/// Which text of a law is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    /// That of its file now, which is the one that was recorded.
    Same,
    /// That of its file now, which has changed since.
    New,
    /// The one that was recorded.
    Recorded,
}

/// Calls of a kernel that come to something else here.
#[derive(Debug, Default)]
pub struct Differences {
    /// Those that come to another window, header or state.
    pub different_n: usize,
    /// Those in which a law that users brought is at fault here, whatever the kernel made of them.
    pub at_fault_n: usize,
    /// The first of both, and what came of them.
    pub first: Vec<(CallRecord, Outcome)>,
}

impl Differences {
    /// Counts a call that was made again; keeps its record while there are fewer than `shown_max`.
    fn judge(
        &mut self,
        again: &Result<bool, Fault>,
        (replayer, shown_max): (&mut Replayer, usize),
        record: impl FnOnce() -> CallRecord,
    ) -> Result<(), Failure> {
        if matches!(again, Ok(true)) {
            return Ok(());
        }
        self.different_n += usize::from(again.is_ok());
        self.at_fault_n += usize::from(again.is_err());
        if self.first.len() < shown_max {
            let record = record();
            let outcome = replayer.replay(&record).map_err(Failure::invalid)?;
            self.first.push((record, outcome));
        }
        Ok(())
    }

    /// All of them.
    pub fn calls_n(&self) -> usize {
        self.different_n + self.at_fault_n
    }
}

/// What came of all calls of a file.
#[derive(Debug, Default)]
pub struct Tally {
    /// Calls that came to what was recorded.
    pub same: usize,
    /// Calls without a recorded outcome.
    pub unknown: usize,
    /// Calls that came to something else.
    pub different: usize,
    /// The first of those: their places, from 0, and what came of them.
    pub shown: Vec<(usize, Outcome)>,
}

impl Calls {
    /// Reads a file of calls. Laws are taken as they stand now where their files are still there, or with
    /// `as_recorded` as they were.
    ///
    /// # Errors
    /// A file that is none of calls.
    pub fn read(path: &Path, as_recorded: bool) -> Result<Self, Failure> {
        let (head, records) = read(path)?;
        let (mut laws, mut sources) = (Vec::new(), Vec::new());
        for recorded in head.laws {
            let path = recorded.path.clone();
            let (source, text) = current(recorded, as_recorded);
            laws.push((path, text));
            sources.push(source);
        }
        Ok(Self {
            records,
            laws,
            replayer: Replayer::new(sources),
        })
    }

    /// Makes the call at a place again.
    ///
    /// # Errors
    /// A law that does not compile any more, or a call that does not fit it.
    pub fn again(&mut self, place: usize) -> Result<Outcome, Failure> {
        self.replayer.replay(&self.records[place]).map_err(refused)
    }

    /// Makes all calls again and keeps what came of the first `shown_max` that differ.
    ///
    /// # Errors
    /// As [`Self::again`].
    pub fn all_again(&mut self, shown_max: usize) -> Result<Tally, Failure> {
        let mut tally = Tally::default();
        for place in 0..self.records.len() {
            let outcome = self.again(place)?;
            match &self.records[place].outcome {
                None => tally.unknown += 1,
                Some(recorded) if recorded.agrees(&outcome) => tally.same += 1,
                Some(_) => {
                    tally.different += 1;
                    if tally.different <= shown_max {
                        tally.shown.push((place, outcome));
                    }
                }
            }
        }
        Ok(tally)
    }
}

/// The law as it stands now, if its file is still there and not asked otherwise.
fn current(recorded: Source, as_recorded: bool) -> (Source, Text) {
    let now = if as_recorded { None } else { own::read_again(&recorded) };
    match now {
        Some(now) if now.files == recorded.files => (recorded, Text::Same),
        Some(now) => (now, Text::New),
        None => (recorded, Text::Recorded),
    }
}

fn refused(error: ReplayError) -> Failure {
    match error {
        ReplayError::Law(error) => Failure::from(error),
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
