//! Network namespaces without names: they go with the last process in them, however that ends.
#![allow(unsafe_code)]

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use nix::sched::{CloneFlags, setns, unshare};

/// The namespace of the thread that asks.
const OF_THREAD: &str = "/proc/thread-self/ns/net";

/// A network namespace.
#[derive(Debug)]
pub struct Space(File);

impl Space {
    /// That of this thread.
    ///
    /// # Errors
    /// Where there is no /proc.
    pub fn here() -> io::Result<Self> {
        File::open(OF_THREAD).map(Self)
    }

    /// A new one, in which nothing is but a loopback device that is up, and which passes packets on.
    ///
    /// # Errors
    /// Without the right to make one.
    pub fn new() -> io::Result<Self> {
        on_a_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET)?;
            for family in ["ipv4", "ipv6"] {
                let all = format!("/proc/sys/net/{family}/conf/all/forwarding");
                // Without IPv6 there is none to pass on.
                let _ = fs::write(all, "1");
            }
            let here = Self::here()?;
            ip(&["link", "set", "lo", "up"])?;
            Ok(here)
        })
    }

    /// Does something there, on a thread of its own.
    ///
    /// # Errors
    /// What the call says, or that this process may not go there.
    pub fn within<T: Send>(&self, call: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        on_a_thread(|| {
            setns(&self.0, CloneFlags::CLONE_NEWNET)?;
            call()
        })
    }

    /// What tells it from all others.
    ///
    /// # Errors
    /// Of the system.
    pub fn inode(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.ino())
    }
}

impl AsFd for Space {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A namespace is a thread's, so that a thread which goes into another one must not be ours.
fn on_a_thread<T: Send>(call: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| scope.spawn(call).join().expect("the call does not panic"))
}

/// Runs `ip` in the namespace of this thread; what it prints.
///
/// # Errors
/// Where there is no `ip`, or what it complains of.
pub fn ip(words: &[&str]) -> io::Result<Vec<u8>> {
    let output = Command::new("ip").args(words).output().map_err(|error| {
        io::Error::new(
            error.kind(),
            format!("ip: {error}; install it (Debian: apt-get install iproute2)"),
        )
    })?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("ip {}: {}", words.join(" "), said.trim())))
}
