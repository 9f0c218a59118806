//! A log of one way in the format of mahimahi's `mm-link`, for the programs that read and draw those: times in ms since
//! the command began, sizes as packets have them on the link, without parity.
//!
//! ```text
//! 12 + 1500        a packet of 1500 bytes came at 12 ms
//! 20 # 1504        1504 bytes could have been sent at 20 ms, used or not
//! 20 - 1500 8      the packet left the queue, 8 ms after it came
//! 20 d 1 1500      a packet was dropped, or lost on the air
//! ```
//!
//! Opportunities of a trace have a line each, those of a rate one for each ms. As for `mm-link` the propagation delay
//! is none of the link's: what a packet took beyond it is what it waited, jitter and repetitions included.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::path::Path;

use fadelab_path::spec::{CapacitySpec, LinkSpec};

use crate::lane::{Fate, Left};
use crate::pieces::Pieces;

const NS_PER_MS: u64 = 1_000_000;

/// What happens at a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Left { waited_ms: u64 },
    Arrived,
    Dropped,
}

/// A line of a packet, in the order in which lines stand: of one ms what leaves comes before what arrives, as in
/// `mm-link`, and else what was met first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Line {
    at_ms: u64,
    comes_behind: bool,
    number: u64,
    event: Event,
    bytes: u64,
}

/// See the module's documentation.
#[derive(Debug)]
pub struct LinkLog {
    file: Pieces,
    capacity: CapacitySpec,
    delay_ns: u64,
    header_bytes: u64,
    /// Those that others may still precede.
    lines: BinaryHeap<Reverse<Line>>,
    lines_n: u64,
    /// The first ms whose opportunities have no line yet, and bytes offered before it.
    next_ms: u64,
    offered_bytes: u64,
}

impl LinkLog {
    /// Begins the log of a link.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn new(path: &Path, link: &LinkSpec) -> io::Result<Self> {
        let mut file = Pieces::new(path)?;
        file.write(format_args!(
            "# fadelab link ({}) > {}\n# base timestamp: 0\n",
            link.name,
            path.display()
        ));
        Ok(Self {
            file,
            capacity: link.capacity.clone(),
            delay_ns: link.delay_ns,
            header_bytes: link.capacity.header_bytes().into(),
            lines: BinaryHeap::new(),
            lines_n: 0,
            next_ms: 0,
            offered_bytes: 0,
        })
    }

    /// A packet came.
    pub fn arrived(&mut self, now_ns: u64, ip_bytes: usize) {
        self.meet(now_ns, Event::Arrived, ip_bytes);
    }

    /// A packet left, or will not.
    pub fn left(&mut self, left: &Left<'_>) {
        let (at_ns, event) = match left.fate {
            Fate::Dropped => (left.due_ns, Event::Dropped),
            Fate::Lost => (self.left_queue_ns(left), Event::Dropped),
            Fate::Delivered => {
                let at_ns = self.left_queue_ns(left);
                let waited_ms = at_ns / NS_PER_MS - left.came_ns / NS_PER_MS;
                (at_ns, Event::Left { waited_ms })
            }
        };
        self.meet(at_ns, event, left.bytes.len());
    }

    fn left_queue_ns(&self, left: &Left<'_>) -> u64 {
        left.due_ns.saturating_sub(self.delay_ns).max(left.came_ns)
    }

    fn meet(&mut self, at_ns: u64, event: Event, ip_bytes: usize) {
        self.lines.push(Reverse(Line {
            at_ms: at_ns / NS_PER_MS,
            comes_behind: !matches!(event, Event::Left { .. }),
            number: self.lines_n,
            event,
            bytes: ip_bytes as u64 + self.header_bytes,
        }));
        self.lines_n += 1;
    }

    /// All was done that was due by then: what left the queue a propagation delay before has been met.
    pub fn served(&mut self, now_ns: u64) {
        self.write_before(now_ns.saturating_sub(self.delay_ns) / NS_PER_MS);
    }

    /// Writes all lines of before `end_ms`.
    fn write_before(&mut self, end_ms: u64) {
        while self.next_ms < end_ms {
            self.write_opportunities(self.next_ms);
            while let Some(Reverse(line)) = self.lines.peek().copied()
                && line.at_ms <= self.next_ms
            {
                self.lines.pop();
                self.write(line);
            }
            self.next_ms += 1;
        }
    }

    /// Those of one ms: at its instant and behind it by a trace, until its end by a rate.
    fn write_opportunities(&mut self, ms: u64) {
        let end_ns = (ms + 1) * NS_PER_MS;
        let (piece_bytes, until_ns) = match &self.capacity {
            CapacitySpec::Trace(trace) => (Some(trace.opportunity_bytes.into()), end_ns - 1),
            CapacitySpec::Constant { .. } | CapacitySpec::Changing(_) => (None, end_ns),
        };
        let offered_bytes = self.capacity.offered_bytes(until_ns);
        let bytes = offered_bytes - self.offered_bytes;
        self.offered_bytes = offered_bytes;
        let piece_bytes = piece_bytes.unwrap_or(bytes).max(1);
        for _ in 0..bytes / piece_bytes {
            self.file.write(format_args!("{ms} # {piece_bytes}\n"));
        }
    }

    fn write(&mut self, line: Line) {
        let Line { at_ms, bytes, .. } = line;
        match line.event {
            Event::Arrived => self.file.write(format_args!("{at_ms} + {bytes}\n")),
            Event::Left { waited_ms } => self.file.write(format_args!("{at_ms} - {bytes} {waited_ms}\n")),
            Event::Dropped => self.file.write(format_args!("{at_ms} d 1 {bytes}\n")),
        }
    }

    /// Ends the log at `end_ns`. Returns whether it is whole.
    ///
    /// # Errors
    /// What the system said when it was written.
    pub fn finish(mut self, end_ns: u64) -> io::Result<bool> {
        self.write_before(end_ns / NS_PER_MS + 1);
        self.file.finish()
    }
}
