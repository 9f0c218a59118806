//! Lanes between TUN devices, under the clock of the machine.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use fadelab_path::punctuality::Punctuality;
use fadelab_path::violation::Violation;
use serde::{Deserialize, Serialize};

use crate::clock::{Clock, Lateness};
use crate::lane::{Fate, Lane, Left};
use crate::log::LinkLog;
use crate::record::Recorder;
use crate::tun::{PACKET_BYTES_MAX, Tun};
use crate::waiting::Waiting;

/// The emulator looks after its lanes so often even if nothing is due: one that was stopped meanwhile notices it.
const LOOK_NS: u64 = 10_000_000;

/// Packets that are read from one device before the others have their turn.
const BATCH: usize = 32;

/// What can go wrong while packets pass.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Of the system.
    #[error("{what}: {source}")]
    System {
        what: String,
        #[source]
        source: io::Error,
    },
    /// The command behind the link cannot be started.
    #[error("{}: {source}", program.display())]
    Command {
        program: OsString,
        #[source]
        source: io::Error,
    },
    /// A defect of ours.
    #[error("{0}")]
    Broken(#[from] Box<Violation>),
}

fn waits(source: io::Error) -> Error {
    Error::System {
        what: "waiting for packets".to_owned(),
        source,
    }
}

/// What became of the packets of a way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    pub delivered_pkts: u64,
    pub delivered_bytes: u64,
    pub lost_pkts: u64,
    pub dropped_pkts: u64,
    /// Packets that the kernel did not take at the far end: no model decided that.
    pub refused_pkts: u64,
}

/// A lane from one device to another.
#[derive(Debug)]
pub struct Way {
    pub lane: Lane,
    /// Index of the device from which packets come.
    pub from: usize,
    /// And of that where they arrive.
    pub to: usize,
    /// Devices by which packets may leave again the node at which they arrive: what comes out there at once came when
    /// it was due, and not when it was written, so that lateness of links one behind the other does not add up.
    pub next: Vec<usize>,
    pub tally: Tally,
    /// What is written of it as `mm-link` does, if it is.
    pub log: Option<LinkLog>,
}

impl Way {
    pub fn new(lane: Lane, from: usize, to: usize) -> Self {
        Self {
            lane,
            from,
            to,
            next: Vec::new(),
            tally: Tally::default(),
            log: None,
        }
    }
}

/// See the module's documentation.
pub struct Emulator {
    clock: Clock,
    tuns: Vec<Tun>,
    /// The way that begins at each device, if one does.
    way_from: Vec<Option<usize>>,
    ways: Vec<Way>,
    waiting: Waiting,
    late: Lateness,
    looks: Lateness,
    /// It looks after its lanes so often even if nothing is due.
    look_ns: u64,
    /// When it wanted to have looked again, and when it last did.
    next_look_ns: u64,
    looked_ns: u64,
    served_ns: u64,
    recorder: Option<Recorder>,
    buffer: Box<[u8]>,
}

/// Number under which files wait that are none of the devices.
const OTHERS: u64 = u64::MAX;

impl Emulator {
    /// Devices, and lanes between them. At most one begins at each device.
    ///
    /// # Errors
    /// Of the system.
    pub fn new(tuns: Vec<Tun>, ways: Vec<Way>, recorder: Option<Recorder>) -> Result<Self, Error> {
        let waiting = Waiting::new().map_err(waits)?;
        for (index, tun) in tuns.iter().enumerate() {
            waiting.add(tun.as_fd(), index as u64).map_err(waits)?;
        }
        let mut way_from = vec![None; tuns.len()];
        for (index, way) in ways.iter().enumerate() {
            way_from[way.from] = Some(index);
        }
        Ok(Self {
            clock: Clock::start(),
            tuns,
            way_from,
            ways,
            waiting,
            late: Lateness::default(),
            looks: Lateness::default(),
            look_ns: LOOK_NS,
            next_look_ns: u64::MAX,
            looked_ns: u64::MAX,
            served_ns: 0,
            recorder,
            buffer: vec![0; PACKET_BYTES_MAX].into(),
        })
    }

    /// Looks only when something is due or comes: where time does not go on without the emulator, none of it is missed.
    pub fn look_never(&mut self) {
        self.look_ns = u64::MAX;
    }

    /// Lets time begin at `clock`; nothing has passed before.
    pub fn begin(&mut self, clock: Clock) {
        self.clock = clock;
        self.looked_ns = u64::MAX;
    }

    /// Time since it began.
    pub fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// The last instant until which all was done that was due.
    pub fn served_ns(&self) -> u64 {
        self.served_ns
    }

    pub fn tuns(&self) -> &[Tun] {
        &self.tuns
    }

    pub fn ways(&self) -> &[Way] {
        &self.ways
    }

    pub fn ways_mut(&mut self) -> &mut [Way] {
        &mut self.ways
    }

    /// How punctual it was, beside packets that others say found no room at its devices.
    pub fn punctuality(&self, overrun_pkts: u64) -> Punctuality {
        let [late_ns_p50, late_ns_p99, late_ns_p999, late_ns_max] = self.late.quantiles_ns();
        let refused_pkts: u64 = self.ways.iter().map(|way| way.tally.refused_pkts).sum();
        Punctuality {
            late_ns_p50,
            late_ns_p99,
            late_ns_p999,
            late_ns_max,
            // So much later than it came a packet may have been taken.
            look_late_ns_max: self.looks.max_ns(),
            undecided_drops_pkts: refused_pkts + overrun_pkts,
        }
    }

    /// Has [`Self::turn`] return as well when a file is readable.
    ///
    /// # Errors
    /// Of the system.
    pub fn watch(&self, file: BorrowedFd<'_>) -> Result<(), Error> {
        self.waiting.add(file, OTHERS).map_err(waits)
    }

    /// Ends that.
    ///
    /// # Errors
    /// Of the system.
    pub fn watch_no_more(&self, file: BorrowedFd<'_>) -> Result<(), Error> {
        self.waiting.forget(file).map_err(waits)
    }

    /// Waits until something is due, a packet comes, or a watched file is readable, and does what there is to do.
    /// Returns whether a watched file is.
    ///
    /// # Errors
    /// A device that is gone, or a defect of ours.
    pub fn turn(&mut self) -> Result<bool, Error> {
        self.wait()?;
        let now_ns = self.clock.now_ns();
        self.looks.add(now_ns.saturating_sub(self.next_look_ns));
        self.looked_ns = now_ns;
        self.serve(now_ns)?;
        let mut is_watched_ready = false;
        for number in self.waiting.told() {
            if number == OTHERS {
                is_watched_ready = true;
            } else {
                self.read(number as usize, None)?;
            }
        }
        Ok(is_watched_ready)
    }

    fn wait(&mut self) -> Result<(), Error> {
        let next_ns = self.next_due().map_or(u64::MAX, |(due_ns, _)| due_ns);
        let now_ns = self.clock.now_ns();
        // What came while packets passed is looked at now: it may have stood still there, too.
        self.looks.add(now_ns.saturating_sub(self.looked_ns));
        let until_ns = next_ns.min(now_ns.saturating_add(self.look_ns));
        // What is due already is late by as much, and not the look.
        self.next_look_ns = until_ns.max(now_ns);
        self.waiting.wait(until_ns.saturating_sub(now_ns)).map_err(waits)
    }

    /// When something is due next, and in which way.
    fn next_due(&self) -> Option<(u64, usize)> {
        let dues = self
            .ways
            .iter()
            .enumerate()
            .map(|(index, way)| (way.lane.next_due(), index));
        dues.min()
    }

    /// Does all that is due, in the order of time over all ways.
    fn serve(&mut self, now_ns: u64) -> Result<(), Error> {
        while let Some((due_ns, index)) = self.next_due().filter(|&(due_ns, _)| due_ns <= now_ns) {
            let delivered_pkts = self.ways[index].tally.delivered_pkts;
            let (lane, mut out) = self.lane_and_out(index);
            lane.serve(due_ns, &mut |left| out.take(left))?;
            if self.ways[index].tally.delivered_pkts > delivered_pkts {
                for next in 0..self.ways[index].next.len() {
                    self.read(self.ways[index].next[next], Some(due_ns))?;
                }
            }
        }
        self.served_ns = now_ns;
        if let Some(recorder) = &mut self.recorder {
            recorder.served(now_ns);
        }
        for log in self.ways.iter_mut().filter_map(|way| way.log.as_mut()) {
            log.served(now_ns);
        }
        Ok(())
    }

    /// Takes packets that wait at a device. They came at `came_ns`, or if that is not known now.
    fn read(&mut self, from: usize, came_ns: Option<u64>) -> Result<(), Error> {
        let mut buffer = std::mem::take(&mut self.buffer);
        for _ in 0..BATCH {
            let packet = self.tuns[from].read(&mut buffer).map_err(|source| Error::System {
                what: format!("the device {}", self.tuns[from].name()),
                source,
            })?;
            let Some(packet) = packet else { break };
            // What leads nowhere is forgotten.
            let Some(index) = self.way_from[from] else { continue };
            let came_ns = came_ns.unwrap_or_else(|| self.clock.now_ns());
            let came_ns = came_ns.max(self.ways[index].lane.now_ns());
            let (lane, mut out) = self.lane_and_out(index);
            if let Some(recorder) = &mut out.recorder {
                recorder.arrived(index, came_ns, packet);
            }
            if let Some(log) = &mut out.log {
                log.arrived(came_ns, packet.len());
            }
            lane.arrive(came_ns, packet, &mut |left| out.take(left))?;
        }
        self.buffer = buffer;
        Ok(())
    }

    /// The lane of a way, and where its packets go.
    fn lane_and_out(&mut self, index: usize) -> (&mut Lane, Out<'_>) {
        let Way {
            lane, to, tally, log, ..
        } = &mut self.ways[index];
        let out = Out {
            clock: &self.clock,
            tun: &self.tuns[*to],
            late: &mut self.late,
            tally,
            recorder: self.recorder.as_mut(),
            log: log.as_mut(),
            way: index,
        };
        (lane, out)
    }

    /// Ends: what is in the lanes stays there. Returns whether the recording and the logs, if there are, are whole.
    ///
    /// # Errors
    /// What the system said when they were written.
    pub fn end(self) -> io::Result<bool> {
        let end_ns = self.clock.now_ns();
        let mut are_whole = self.recorder.map_or(Ok(true), Recorder::finish)?;
        for log in self.ways.into_iter().filter_map(|way| way.log) {
            are_whole &= log.finish(end_ns)?;
        }
        Ok(are_whole)
    }
}

/// Where packets of a way go.
struct Out<'a> {
    clock: &'a Clock,
    tun: &'a Tun,
    late: &'a mut Lateness,
    tally: &'a mut Tally,
    recorder: Option<&'a mut Recorder>,
    log: Option<&'a mut LinkLog>,
    way: usize,
}

impl Out<'_> {
    fn take(&mut self, left: &Left<'_>) {
        let late_ns = match left.fate {
            Fate::Dropped => {
                self.tally.dropped_pkts += 1;
                0
            }
            Fate::Lost => {
                self.tally.lost_pkts += 1;
                0
            }
            Fate::Delivered => {
                let is_taken = self.tun.write(left.bytes);
                self.tally.delivered_pkts += u64::from(is_taken);
                self.tally.delivered_bytes += left.bytes.len() as u64 * u64::from(is_taken);
                self.tally.refused_pkts += u64::from(!is_taken);
                let late_ns = self.clock.now_ns().saturating_sub(left.due_ns);
                self.late.add(late_ns);
                late_ns
            }
        };
        if let Some(recorder) = &mut self.recorder {
            recorder.left(self.way, left, late_ns);
        }
        if let Some(log) = &mut self.log {
            log.left(left);
        }
    }
}
