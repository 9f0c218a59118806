//! Lanes between TUN devices, under the clock of the machine.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use fadelab_path::violation::Violation;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use serde::{Deserialize, Serialize};

use crate::clock::{Clock, Lateness, Quantiles};
use crate::lane::{Fate, Lane, Left};
use crate::record::Recorder;
use crate::tun::{PACKET_BYTES_MAX, Tun};

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
    from: usize,
    /// And of that where they arrive.
    to: usize,
    pub tally: Tally,
}

/// See the module's documentation.
pub struct Emulator {
    clock: Clock,
    tuns: Vec<Tun>,
    ways: Vec<Way>,
    late: Lateness,
    looks: Lateness,
    /// When it wanted to have looked again, and when it last did.
    next_look_ns: u64,
    looked_ns: u64,
    recorder: Option<Recorder>,
    buffer: Box<[u8]>,
}

impl Emulator {
    /// Two devices with a lane from each to the other.
    pub fn between(tuns: [Tun; 2], lanes: [Lane; 2], recorder: Option<Recorder>) -> Self {
        let mut ways = Vec::new();
        for (index, lane) in lanes.into_iter().enumerate() {
            ways.push(Way {
                lane,
                from: index,
                to: 1 - index,
                tally: Tally::default(),
            });
        }
        Self {
            clock: Clock::start(),
            tuns: tuns.into(),
            ways,
            late: Lateness::default(),
            looks: Lateness::default(),
            next_look_ns: u64::MAX,
            looked_ns: u64::MAX,
            recorder,
            buffer: vec![0; PACKET_BYTES_MAX].into(),
        }
    }

    /// Lets time begin now; nothing has passed before.
    pub fn begin(&mut self) {
        self.clock = Clock::start();
    }

    /// Time since it began.
    pub fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    pub fn tuns(&self) -> &[Tun] {
        &self.tuns
    }

    pub fn ways_mut(&mut self) -> &mut [Way] {
        &mut self.ways
    }

    /// How late packets left.
    pub fn lateness(&self) -> Quantiles {
        self.late.quantiles()
    }

    /// How late the emulator looked for packets, at worst. So much later than it came a packet may have been taken.
    pub fn looks_late_ns_max(&self) -> u64 {
        self.looks.quantiles().max_ns
    }

    /// Waits until something is due, a packet comes, or one of `others` is readable, and does what there is to do.
    /// Returns whether one of `others` is.
    ///
    /// # Errors
    /// A device that is gone, or a defect of ours.
    pub fn turn(&mut self, others: &[BorrowedFd<'_>]) -> Result<bool, Error> {
        let ready = self.wait(others)?;
        let now_ns = self.clock.now_ns();
        self.looks.add(now_ns.saturating_sub(self.next_look_ns));
        self.looked_ns = now_ns;
        self.serve(now_ns)?;
        for (index, is_ready) in ready.iter().enumerate().take(self.tuns.len()) {
            if *is_ready {
                self.read(index)?;
            }
        }
        Ok(ready[self.tuns.len()..].contains(&true))
    }

    /// Which of the devices, and then of `others`, are readable.
    fn wait(&mut self, others: &[BorrowedFd<'_>]) -> Result<Vec<bool>, Error> {
        let next_ns = self
            .ways
            .iter()
            .map(|way| way.lane.next_due())
            .min()
            .unwrap_or(u64::MAX);
        let now_ns = self.clock.now_ns();
        // What came while packets passed is looked at now: it may have stood still there, too.
        self.looks.add(now_ns.saturating_sub(self.looked_ns));
        let until_ns = next_ns.min(now_ns + LOOK_NS);
        // What is due already is late by as much, and not the look.
        self.next_look_ns = until_ns.max(now_ns);
        let wait = TimeSpec::from_duration(std::time::Duration::from_nanos(until_ns.saturating_sub(now_ns)));
        let fds = self.tuns.iter().map(AsFd::as_fd).chain(others.iter().copied());
        let mut polled: Vec<PollFd<'_>> = fds.map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        match ppoll(&mut polled, Some(wait), None) {
            Ok(_) => {}
            Err(Errno::EINTR) => return Ok(vec![false; polled.len()]),
            Err(error) => {
                return Err(Error::System {
                    what: "waiting for packets".to_owned(),
                    source: error.into(),
                });
            }
        }
        let is_ready = |polled: &PollFd<'_>| polled.any().unwrap_or(true);
        Ok(polled.iter().map(is_ready).collect())
    }

    /// Does all that is due.
    fn serve(&mut self, now_ns: u64) -> Result<(), Error> {
        for index in 0..self.ways.len() {
            let (lane, mut out) = self.lane_and_out(index);
            lane.serve(now_ns, &mut |left| out.take(left))?;
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.served(now_ns);
        }
        Ok(())
    }

    /// Takes packets that wait at a device.
    fn read(&mut self, from: usize) -> Result<(), Error> {
        let Some(index) = self.ways.iter().position(|way| way.from == from) else {
            return Ok(());
        };
        let mut buffer = std::mem::take(&mut self.buffer);
        for _ in 0..BATCH {
            let packet = self.tuns[from].read(&mut buffer).map_err(|source| Error::System {
                what: format!("the device {}", self.tuns[from].name()),
                source,
            })?;
            let Some(packet) = packet else { break };
            let now_ns = self.clock.now_ns();
            let (lane, mut out) = self.lane_and_out(index);
            if let Some(recorder) = &mut out.recorder {
                recorder.arrived(index, now_ns, packet);
            }
            lane.arrive(now_ns, packet, &mut |left| out.take(left))?;
        }
        self.buffer = buffer;
        Ok(())
    }

    /// The lane of a way, and where its packets go.
    fn lane_and_out(&mut self, index: usize) -> (&mut Lane, Out<'_>) {
        let Way { lane, to, tally, .. } = &mut self.ways[index];
        let out = Out {
            clock: &self.clock,
            tun: &self.tuns[*to],
            late: &mut self.late,
            tally,
            recorder: self.recorder.as_mut(),
            way: index,
        };
        (lane, out)
    }

    /// Ends: what is in the lanes stays there. Gives what was recorded.
    pub fn end(self) -> Option<Recorder> {
        self.recorder
    }
}

/// Where packets of a way go.
struct Out<'a> {
    clock: &'a Clock,
    tun: &'a Tun,
    late: &'a mut Lateness,
    tally: &'a mut Tally,
    recorder: Option<&'a mut Recorder>,
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
    }
}
