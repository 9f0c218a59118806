//! Which process owns what is left in the system, and whether it is still there.

use std::fs;
use std::os::unix::fs::MetadataExt;

use serde::{Deserialize, Serialize};

/// Whether this is a process of root's.
pub(crate) fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|about| about.uid() == 0)
}

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

    /// Whether it still runs. One that has ended keeps its number until its parent has asked how, but nothing else.
    pub fn is_alive(&self) -> bool {
        let has_ended = field(self.pid, 3).is_some_and(|state| state == "Z" || state == "X");
        !has_ended && start_ticks(self.pid) == Some(self.start_ticks)
    }
}

/// The processes that started this one: its parent first.
pub fn ancestors() -> impl Iterator<Item = u32> {
    let parent = |pid: &u32| field(*pid, 4).and_then(|pid| pid.parse().ok()).filter(|pid| *pid > 0);
    std::iter::successors(parent(&std::process::id()), parent)
}

fn start_ticks(pid: u32) -> Option<u64> {
    field(pid, 22)?.parse().ok()
}

/// A field of `/proc/PID/stat`, from 3 on. The name in field 2 may hold anything, so they are counted from its end.
fn field(pid: u32, number: usize) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace();
    fields.nth(number - 3).map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

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

    #[test]
    fn a_process_that_ended_is_not_alive_before_its_parent_knows() {
        // Goal: what a killed router left counts as left also where nobody has waited for its process yet.
        let (input, output) = std::io::pipe().expect("a pipe");
        let mut child = Command::new("cat").stdin(input).spawn().expect("it starts");
        let pid = child.id();
        let owner = Owner {
            pid,
            start_ticks: start_ticks(pid).expect("it runs"),
        };
        assert!(owner.is_alive());
        drop(output);
        while field(pid, 3).expect("nobody has waited for it") != "Z" {
            std::thread::yield_now();
        }
        assert!(!owner.is_alive());
        assert!(child.wait().expect("ours").success());
    }
}
