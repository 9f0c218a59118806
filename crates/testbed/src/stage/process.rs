//! Programs of the system that run on the stage: they end with it, and their sockets can be looked at.
#![allow(unsafe_code)]

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::{Outcome, failed};
use crate::plan::PORT;

/// How often a server that starts is looked at, and how often at most.
const START: Duration = Duration::from_millis(1);
const STARTS_MAX: usize = 5_000;

/// A program that runs; it is killed where this is dropped, and with the thread that started it.
pub struct Process {
    name: String,
    child: Child,
    handle: OwnedFd,
    /// What it prints.
    log: File,
    /// The number that its data socket has there, once it was seen.
    data: Option<i32>,
}

impl Process {
    /// Starts a command in the namespace of this thread, without input.
    pub fn start(mut command: Command) -> Outcome<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        let log = memfd_create(c"log", MFdFlags::MFD_CLOEXEC).map_err(failed("a file in memory"))?;
        let log = File::from(log);
        let [file, other] = [log.try_clone(), log.try_clone()];
        let (file, other) = (file.map_err(failed(&name))?, other.map_err(failed(&name))?);
        // SAFETY: between fork and exec only a system call is made, which is safe to call there.
        unsafe { command.pre_exec(|| set_pdeathsig(Signal::SIGKILL).map_err(io::Error::from)) };
        let child = command
            .stdin(Stdio::null())
            .stdout(file)
            .stderr(other)
            .spawn()
            .map_err(failed(&name))?;
        let handle = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).map_err(failed(&name))?;
        Ok(Self {
            name,
            child,
            handle,
            log,
            data: None,
        })
    }

    /// How it ended, if it did.
    pub fn ended(&mut self) -> Outcome<Option<ExitStatus>> {
        self.child.try_wait().map_err(failed(&self.name))
    }

    /// All that it has printed.
    pub fn said(&mut self) -> String {
        let mut said = String::new();
        // What it wrote moved the place that its file has in common with ours.
        let _ = self.log.rewind().and_then(|()| self.log.read_to_string(&mut said));
        said
    }

    /// Fails where it has ended, with its last words.
    pub fn check(&mut self) -> Outcome<()> {
        match self.ended()? {
            Some(status) => Err(self.last_words(status)),
            None => Ok(()),
        }
    }

    /// What is said of its end, where that comes too early.
    pub fn last_words(&mut self, status: ExitStatus) -> String {
        let said = self.said();
        // Some rule off with dashes.
        let speaks = |line: &&str| line.chars().any(char::is_alphanumeric);
        let last = said.lines().rfind(speaks).unwrap_or("nothing");
        format!("{} ended too early ({status}); its last words: {last}", self.name)
    }

    /// Waits until a server listens on the address.
    pub fn wait_until_it_listens(&mut self, address: Ipv4Addr) -> Outcome<()> {
        for _ in 0..STARTS_MAX {
            if self.listens(address)? {
                return Ok(());
            }
            self.check()?;
            std::thread::sleep(START);
        }
        Err(format!("{} does not listen", self.name))
    }

    /// Whether a socket listens on the address and the port (state 0A of `/proc/net/tcp`).
    fn listens(&self, address: Ipv4Addr) -> Outcome<bool> {
        let path = format!("/proc/{}/net/tcp", self.child.id());
        let text = fs::read_to_string(&path).map_err(failed(&path))?;
        // The address is a number of the machine's, as its bytes lie in memory.
        let local = format!("{:08X}:{PORT:04X}", u32::from_ne_bytes(address.octets()));
        let mut sockets = text.lines().map(|line| line.split_whitespace().skip(1));
        Ok(sockets.any(|mut words| words.next() == Some(&local) && words.nth(1) == Some("0A")))
    }

    /// A copy of the first of its sockets of which that is true, always the same, as long as it has one.
    pub fn socket(&mut self, is_data: impl Fn(&OwnedFd) -> bool) -> Option<OwnedFd> {
        if let Some(number) = self.data {
            // One that ends has closed it.
            return self.copy(number).ok().filter(|socket| is_data(socket));
        }
        let found = self.find(is_data);
        self.data = found.as_ref().map(|(number, _)| *number);
        found.map(|(_, socket)| socket)
    }

    /// The first of its sockets of which that is true: its number there, and a copy.
    pub fn find(&self, is_it: impl Fn(&OwnedFd) -> bool) -> Option<(i32, OwnedFd)> {
        let folder = format!("/proc/{}/fd", self.child.id());
        // Of a program that has ended meanwhile there is no list.
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Some(number) = number(&entry.file_name()) else {
                continue;
            };
            // It may have closed the file meanwhile.
            if let Ok(socket) = self.copy(number)
                && is_it(&socket)
            {
                return Some((number, socket));
            }
        }
        None
    }

    fn copy(&self, number: i32) -> io::Result<OwnedFd> {
        Ok(pidfd_getfd(self.handle.as_fd(), number, PidfdGetfdFlags::empty())?)
    }
}

fn number(name: &OsStr) -> Option<i32> {
    name.to_str()?.parse().ok()
}

/// It is ready to be read when the program has ended (`pidfd_open(2)`).
impl AsFd for Process {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that has ended needs neither.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
