//! Which process owns what is left in the system, and whether it is still there.

use std::fs;

use serde::{Deserialize, Serialize};

/// A process, told apart from a later one of the same number by when it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Its number.
    pub pid: u32,
    /// When it began, in ticks since the machine started.
    pub start_ticks: u64,
}

impl Owner {
    /// This process.
    pub fn this() -> Self {
        let pid = std::process::id();
        Self {
            pid,
            start_ticks: start_ticks(pid).unwrap_or(0),
        }
    }

    /// Whether it still runs.
    pub fn is_alive(&self) -> bool {
        start_ticks(self.pid) == Some(self.start_ticks)
    }
}

/// The processes that started this one: its parent first.
pub fn ancestors() -> impl Iterator<Item = u32> {
    let parent = |pid: &u32| {
        field(*pid, 4)
            .and_then(|pid| u32::try_from(pid).ok())
            .filter(|pid| *pid > 0)
    };
    std::iter::successors(parent(&std::process::id()), parent)
}

fn start_ticks(pid: u32) -> Option<u64> {
    field(pid, 22)
}

/// A field of `/proc/PID/stat`, from 3 on. The name in field 2 may hold anything, so they are counted from its end.
fn field(pid: u32, number: usize) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    text.rsplit_once(')')?
        .1
        .split_ascii_whitespace()
        .nth(number - 3)?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_alive_until_its_number_is_another_s() {
        // Goal: what a dead process left is not kept because its number was given away again.
        let this = Owner::this();
        assert!(this.is_alive());
        let earlier = Owner {
            start_ticks: this.start_ticks + 1,
            ..this
        };
        assert!(!earlier.is_alive());
    }
}
