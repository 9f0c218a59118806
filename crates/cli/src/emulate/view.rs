//! How an emulated link goes, second by second. It is shown by a thread of its own, so that no packet waits for a
//! terminal.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::JoinHandle;

use fadelab_emu::outcome::{Outcome, WayOutcome};
use fadelab_kernel::store;
use fadelab_lab::Failure;

use super::law::Loads;
use crate::kernel::list::flow_line;

/// The error output.
const STDERR: &str = "-";

/// A view at work.
pub struct View {
    seen: SyncSender<Outcome>,
    shower: JoinHandle<io::Result<()>>,
}

impl View {
    /// Into a file or, by `-`, to the error output; with the flows of a law, if one is given.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn start(target: &Path, law: Option<&Loads<'_>>) -> Result<Self, Failure> {
        let out: Box<dyn Write + Send> = if target == Path::new(STDERR) {
            Box::new(io::stderr())
        } else {
            // A terminal or a pipe stays what it is.
            let opened = File::options().create(true).append(true).open(target);
            Box::new(opened.map_err(|error| super::unwritable(target, &error))?)
        };
        let (seen, arrives) = mpsc::sync_channel(1);
        let law = law.map(|law| law.name.clone());
        let shower = std::thread::spawn(move || show(out, &arrives, law.as_deref()));
        Ok(Self { seen, shower })
    }

    /// Where goes what is to be shown.
    pub fn seen(&self) -> &SyncSender<Outcome> {
        &self.seen
    }

    /// Ends when all is shown.
    ///
    /// # Errors
    /// When it could not be written.
    ///
    /// # Panics
    /// Never: the thread that shows does not.
    pub fn end(self) -> Result<(), Failure> {
        drop(self.seen);
        let shown = self.shower.join().expect("it does not panic");
        shown.map_err(|error| Failure::Failed(format!("the view cannot be written: {error}")))
    }
}

fn show(mut out: impl Write, arrives: &Receiver<Outcome>, law: Option<&str>) -> io::Result<()> {
    out.write_all(head().as_bytes())?;
    let mut before: Option<Outcome> = None;
    for now in arrives {
        let mut text = lines(before.as_ref(), &now);
        for line in law.map_or_else(Vec::new, flows) {
            text += &line;
        }
        out.write_all(text.as_bytes())?;
        out.flush()?;
        before = Some(now);
    }
    Ok(())
}

/// Names of the columns, as wide as these. What is counted is counted since the line before.
fn head() -> String {
    format!(
        "{:>8} {:12} {:>10} {:>10} {:>11} {:>8} {:>8} {:>8} {:>12}\n",
        "time_s", "way", "rate_Mbps", "queue_pkts", "queue_bytes", "dropped", "lost", "marked", "late_us_p99"
    )
}

fn lines(before: Option<&Outcome>, now: &Outcome) -> String {
    let seconds = (now.duration_ns - before.map_or(0, |before| before.duration_ns)) as f64 / 1e9;
    let line = |(index, way): (usize, &WayOutcome)| {
        let old = before.map(|before| &before.ways[index]);
        let since = |of: fn(&WayOutcome) -> u64| of(way) - old.map_or(0, of);
        format!(
            "{:8.1} {:12} {:10.3} {:10} {:11} {:8} {:8} {:8} {:12.0}\n",
            now.duration_ns as f64 / 1e9,
            way.name,
            since(|way| way.tally.delivered_bytes) as f64 * 8e-6 / seconds,
            way.counters.queue_pkts,
            way.counters.queue_bytes,
            since(|way| way.tally.dropped_pkts),
            since(|way| way.tally.lost_pkts),
            since(|way| way.counters.marked_pkts),
            now.punctuality.late_ns_p99 as f64 / 1e3,
        )
    };
    now.ways.iter().enumerate().map(line).collect()
}

/// What the law keeps of its flows.
fn flows(law: &str) -> Vec<String> {
    let live = store::read(law).and_then(|entry| Some((store::live(&entry).ok()??, entry)));
    live.map_or_else(Vec::new, |(live, entry)| {
        live.flows.iter().map(|flow| flow_line(&entry.law, flow)).collect()
    })
}
