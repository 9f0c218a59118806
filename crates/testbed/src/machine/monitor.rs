//! Orders to QEMU, and what it answers: its monitor for people. That for machines has a thread of its own, which QEMU
//! wakes at each step of the guest's clock.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::RawFd;
use std::os::unix::net::UnixStream;
use std::thread;

use super::LOOK;
use super::command::ours;
use crate::Error;

/// What an order ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The guest stands where it stopped itself, whether it booted or was restored.
    Standing,
    /// Its state is written.
    Saved,
}

impl End {
    /// The question whether it is so, and the answer if it is.
    const fn question(self) -> (&'static str, &'static str) {
        match self {
            Self::Standing => ("info status", "(guest-panicked)"),
            Self::Saved => ("info migrate", "Migration status: completed"),
        }
    }
}

/// What an answer has where something went wrong.
const WRONG: [&str; 3] = ["Error: ", "Migration status: failed", "unknown command: "];

/// The socket to a QEMU, which reads orders one after the other.
pub struct Monitor {
    socket: UnixStream,
    /// What QEMU has said that was not looked at yet.
    said: String,
}

impl Monitor {
    /// One end is ours, the other QEMU's.
    pub fn pair() -> Result<(Self, UnixStream), Error> {
        let failed = |error: std::io::Error| Error::Tool {
            what: "making a socket to QEMU".to_owned(),
            why: error.to_string(),
        };
        let (socket, other) = UnixStream::pair().map_err(failed)?;
        socket.set_read_timeout(Some(LOOK)).map_err(failed)?;
        let said = String::new();
        Ok((Self { socket, said }, other))
    }

    /// Lets a machine that stands go on.
    pub fn go_on(&mut self) {
        self.order("cont");
    }

    /// Has the state of the machine, its memory left out, written into a file of ours.
    pub fn save(&mut self, state: &File) {
        self.order("migrate_set_capability x-ignore-shared on");
        self.order(&format!("migrate -d \"exec:cat >{}\"", ours(state)));
    }

    /// Has the state of a machine that was begun for it read from a file that it inherited.
    pub fn restore(&mut self, state: RawFd) {
        self.order("migrate_set_capability x-ignore-shared on");
        // Nobody outside need hear of the machine; to tell them QEMU would wake again and again.
        self.order("migrate_set_parameter announce-rounds 0");
        self.order(&format!("migrate_incoming fd:{state}"));
    }

    fn order(&mut self, words: &str) {
        // Where nobody reads any more, QEMU has ended and its last words say why.
        let _ = writeln!(self.socket, "{words}");
    }

    /// How an order ended, where it has by now. Asks, and waits a moment for the answer.
    pub fn heard(&mut self, end: End) -> Option<Result<(), String>> {
        let mut bytes = [0; 4096];
        match self.socket.read(&mut bytes) {
            // It ended, as its console says.
            Ok(0) => thread::sleep(LOOK),
            Ok(count) => self.said.push_str(&String::from_utf8_lossy(&bytes[..count])),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                let (question, _) = end.question();
                self.order(question);
            }
            Err(error) => return Some(Err(error.to_string())),
        }
        let (outcome, length) = outcome(&self.said, end)?;
        self.said.drain(..length);
        Some(outcome)
    }
}

/// How an order ended by what was said, and how much of that tells it.
fn outcome(said: &str, end: End) -> Option<(Result<(), String>, usize)> {
    if let Some(wrong) = WRONG.iter().find_map(|word| said.find(word)) {
        let line = said[wrong..].lines().next().unwrap_or_default();
        return Some((Err(line.to_owned()), wrong + line.len()));
    }
    let (_, answer) = end.question();
    said.find(answer).map(|found| (Ok(()), found + answer.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_ends_with_its_answer_or_an_error() {
        // Goal: only the answer that is waited for ends an order well, and an error or a failure ends any.
        let ended = |said: &str, end| outcome(said, end).map(|(outcome, _)| outcome);
        let standing = "(qemu) info status\r\nVM status: paused (guest-panicked)\r\n(qemu) ";
        let saved = "Migration status: completed\r\ntotal time: 11 ms\r\n";
        assert_eq!(ended("VM status: running\r\n", End::Standing), None);
        assert_eq!(ended("VM status: paused (inmigrate)\r\n", End::Standing), None);
        assert_eq!(ended(standing, End::Standing), Some(Ok(())));
        assert_eq!(ended(standing, End::Saved), None);
        assert_eq!(ended("Migration status: active\r\n", End::Saved), None);
        assert_eq!(ended(saved, End::Saved), Some(Ok(())));
        let wrong = "(qemu) migrate_incoming fd:9\r\nError: no file\r\n(qemu) ";
        assert_eq!(ended(wrong, End::Standing), Some(Err("Error: no file".to_owned())));
        let failed = Some(Err("Migration status: failed".to_owned()));
        assert_eq!(ended("Migration status: failed\r\n", End::Saved), failed);
    }
}
