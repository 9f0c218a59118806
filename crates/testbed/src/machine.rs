//! One run of a guest under QEMU, from its start to its last word.

mod command;
mod monitor;
mod silence;
mod snapshot;

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{Read, Seek, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::process::Child;
use std::thread;
use std::time::Duration;

use fadelab_run::record::RunRecord;
use nix::sys::memfd::{MFdFlags, memfd_create};

use crate::given;
use crate::guest;
use crate::image::{Image, QEMU};
use crate::message::Message;
use crate::plan::Plan;
use crate::snapshots::Snapshot;
use crate::{Error, Recordings};
use command::{Files, MEMORY_BYTES, ours};
use monitor::{End, Monitor};
use silence::Silence;

/// How often whoever watches is asked whether to go on.
const LOOK: Duration = Duration::from_millis(20);

/// Lines of the console that a message quotes.
const CONSOLE_LINES: usize = 12;

/// What makes QEMU's threads take turns, without which runs would differ by microseconds now and then: a library that
/// is loaded into it (`qemu/turns.c`).
static TURNS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/turns.so"));

/// What the thread of the guest's processor calls itself when it takes turns.
const NAME_IN_TURN: &str = "CPU in turn";

/// What a message calls the files that only QEMU has.
const IN_MEMORY: &str = "the guest's files in memory";

/// Whoever watches a run: is told the virtual time, and says whether to go on.
type Report<'a> = dyn FnMut(u64) -> bool + 'a;

/// Runs a plan in a guest that has `objects`, paths and contents of files. What laws do goes into the recordings.
pub fn run(
    plan: &Plan,
    objects: Vec<(String, Vec<u8>)>,
    image: &Image,
    recordings: &Recordings,
    report: &mut Report<'_>,
) -> Result<RunRecord, Error> {
    let plan = serde_json::to_vec(plan).expect("a plan has nothing that JSON has not");
    let mut files = vec![(guest::PLAN.to_owned(), plan)];
    files.extend(objects);
    let mut guest = begun(image, &given::packed(&files)?, recordings, report)?;
    let mut silence = Silence::of(guest.qemu.id());
    let mut when = "before it booted".to_owned();
    let mut time_ns = 0;
    loop {
        if !report(time_ns) {
            return Err(Error::Stopped);
        }
        // Asked first: what it said before it ended is there then.
        let has_ended = guest.has_ended();
        let messages = guest.hear();
        if !messages.is_empty() {
            silence.end();
        } else if has_ended {
            let console = guest.console();
            return Err(Error::Ended { when, console });
        } else if let Some(silent_s) = silence.too_long_s() {
            return Err(Error::Hangs {
                silent_s,
                when,
                console: guest.console(),
            });
        } else {
            thread::sleep(LOOK);
        }
        for message in messages {
            match message {
                Message::Booted { release } => {
                    guest.takes_turns()?;
                    when = format!("after Linux {release} had booted");
                }
                Message::Reached { time_ns: now_ns } => {
                    time_ns = now_ns;
                    when = format!("at {} s of virtual time", time_ns / 1_000_000_000);
                }
                Message::Failed { why } => return Err(Error::InGuest(why)),
                Message::Done { record } => return Ok(*record),
            }
        }
    }
}

/// A running guest; it ends with this value.
struct Guest {
    qemu: Child,
    monitor: Monitor,
    files: Files,
    /// QEMU opens it a moment after it was started.
    _turns: File,
    /// A line that has no end yet.
    begun: Vec<u8>,
}

/// A guest that has booted and got its files: one that goes on from a snapshot, or where that cannot be had one that
/// booted by itself. Both go on from the same instruction, at the same instant, with the same memory.
fn begun(image: &Image, given: &[u8], recordings: &Recordings, report: &mut Report<'_>) -> Result<Guest, Error> {
    let mut restored = None;
    if let Some(snapshot) = snapshot::of(image, report)? {
        restored = match Guest::restored(image, &snapshot, given, recordings, report) {
            Ok(guest) => Some(guest),
            Err(Error::Stopped) => return Err(Error::Stopped),
            Err(error) => {
                snapshot::give_up(image, &error);
                None
            }
        };
    }
    let mut guest = if let Some(guest) = restored {
        guest
    } else {
        let memory = in_memory("memory", &[])?;
        memory.set_len(MEMORY_BYTES).map_err(Error::file("write", IN_MEMORY))?;
        Guest::booted(image, memory, given, recordings, report)?
    };
    guest.monitor.go_on();
    Ok(guest)
}

impl Guest {
    /// A guest that has booted, with its memory in a file, and waits to go on.
    fn booted(
        image: &Image,
        memory: File,
        given: &[u8],
        recordings: &Recordings,
        report: &mut Report<'_>,
    ) -> Result<Self, Error> {
        let mut guest = Self::start(image, memory, None, given, recordings)?;
        guest.wait(End::Standing, report)?;
        Ok(guest)
    }

    /// A guest that was restored from a snapshot and waits to go on.
    fn restored(
        image: &Image,
        snapshot: &Snapshot,
        given: &[u8],
        recordings: &Recordings,
        report: &mut Report<'_>,
    ) -> Result<Self, Error> {
        let memory = snapshot.memory.try_clone().map_err(Error::file("open", IN_MEMORY))?;
        let state = in_memory("state", &snapshot.state)?;
        let number = state.as_raw_fd();
        let mut guest = Self::start(image, memory, Some(state), given, recordings)?;
        guest.monitor.restore(number);
        guest.wait(End::Standing, report)?;
        Ok(guest)
    }

    fn start(
        image: &Image,
        memory: File,
        state: Option<File>,
        given: &[u8],
        recordings: &Recordings,
    ) -> Result<Self, Error> {
        let (monitor, other_end) = Monitor::pair()?;
        let given = in_memory("given", given)?;
        given
            .set_len(given::ROOM_BYTES as u64)
            .map_err(Error::file("write", IN_MEMORY))?;
        let recorded = |file: &Option<PathBuf>| match file {
            Some(path) => File::create(path).map_err(Error::file("write", path)),
            None => in_memory("calls", &[]),
        };
        let files = Files {
            memory,
            state,
            given,
            console: in_memory("console", &[])?,
            messages: in_memory("messages", &[])?,
            calls: recorded(&recordings.sender)?,
            passages: recorded(&recordings.router)?,
            transits: recorded(&recordings.gateway)?,
            packets: recorded(&recordings.packets.as_ref().map(|packets| packets.path.clone()))?,
        };
        let turns = in_memory("turns", TURNS)?;
        let mut command = command::command(image, &files, &other_end);
        command.env("LD_PRELOAD", ours(&turns));
        let qemu = command.spawn().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Error::NoProgram {
                program: QEMU.to_owned(),
                purpose: "runs the kernel in virtual time",
                package: "qemu-system-x86",
            },
            _ => Error::Tool {
                what: format!("starting {QEMU}"),
                why: error.to_string(),
            },
        })?;
        Ok(Self {
            qemu,
            monitor,
            files,
            _turns: turns,
            begun: Vec::new(),
        })
    }

    /// Waits until an order ends.
    fn wait(&mut self, end: End, report: &mut Report<'_>) -> Result<(), Error> {
        let mut silence = Silence::of(self.qemu.id());
        loop {
            if !report(0) {
                return Err(Error::Stopped);
            }
            let has_ended = self.has_ended();
            let when = "before it booted".to_owned();
            match self.monitor.heard(end) {
                Some(Ok(())) => return Ok(()),
                Some(Err(why)) if !has_ended => {
                    let what = format!("an order to {QEMU}");
                    return Err(Error::Tool { what, why });
                }
                _ if has_ended => {
                    let console = self.console();
                    return Err(Error::Ended { when, console });
                }
                _ => {
                    if let Some(silent_s) = silence.too_long_s() {
                        let console = self.console();
                        return Err(Error::Hangs {
                            silent_s,
                            when,
                            console,
                        });
                    }
                }
            }
        }
    }

    /// Fails where QEMU's threads do not take turns: the dynamic linker left the library out, or QEMU is not as we know
    /// it. One that has ended already has no threads, and its own words say why.
    fn takes_turns(&mut self) -> Result<(), Error> {
        let folder = format!("/proc/{}/task", self.qemu.id());
        let threads = fs::read_dir(folder).into_iter().flatten().flatten();
        let name = |thread: fs::DirEntry| fs::read_to_string(thread.path().join("comm")).unwrap_or_default();
        if threads.map(name).any(|name| name.trim_end() == NAME_IN_TURN) || self.has_ended() {
            return Ok(());
        }
        Err(Error::Tool {
            what: format!("making the threads of {QEMU} take turns"),
            why: "runs would not repeat; is it a static program, is vm.memfd_noexec set, or is it a very new one?"
                .to_owned(),
        })
    }

    fn has_ended(&mut self) -> bool {
        matches!(self.qemu.try_wait(), Ok(Some(_)))
    }

    /// What the guest has said since it was last asked.
    fn hear(&mut self) -> Vec<Message> {
        let mut messages = Vec::new();
        // A file in memory can be read.
        let _ = self.files.messages.read_to_end(&mut self.begun);
        while let Some(end) = self.begun.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.begun.drain(..=end).collect();
            messages.push(serde_json::from_slice(&line).unwrap_or_else(|error| Message::Failed {
                why: format!("it said what nobody understands: {error}"),
            }));
        }
        messages
    }

    /// The last lines of QEMU and of the guest.
    fn console(&mut self) -> String {
        let _ = self.qemu.kill();
        let mut text = Vec::new();
        if let Some(errors) = &mut self.qemu.stderr {
            let _ = errors.read_to_end(&mut text);
        }
        let _ = self.files.console.rewind();
        let _ = self.files.console.read_to_end(&mut text);
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text
            .lines()
            .map(str::trim_end)
            .filter(|line| !line.is_empty())
            .collect();
        lines[lines.len().saturating_sub(CONSOLE_LINES)..].join("\n")
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.qemu.kill();
        let _ = self.qemu.wait();
    }
}

/// A file with some bytes and without a name, which is gone when its last user is, however that one ends.
fn in_memory(name: &str, bytes: &[u8]) -> Result<File, Error> {
    let name = CString::new(name).expect("the name has no zero");
    let fd: OwnedFd = memfd_create(name.as_c_str(), MFdFlags::MFD_CLOEXEC).map_err(|error| Error::Tool {
        what: "making a file in memory".to_owned(),
        why: error.to_string(),
    })?;
    let mut file = File::from(fd);
    file.write_all(bytes)
        .and_then(|()| file.rewind())
        .map_err(Error::file("write", IN_MEMORY))?;
    Ok(file)
}
