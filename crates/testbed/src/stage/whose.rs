//! Events of sockets and processes, and who they are for.

use std::os::fd::AsFd;

use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};

use super::{Outcome, failed};

/// Who an event is for: flows and connections are numbered.
#[derive(Clone, Copy)]
pub enum Whose {
    Timer,
    Listener(usize),
    Sender(usize),
    Reader(usize),
    Client(usize),
}

impl Whose {
    pub fn token(self) -> u64 {
        match self {
            Self::Timer => 0,
            Self::Listener(number) => 1 | (number as u64) << 3,
            Self::Sender(number) => 2 | (number as u64) << 3,
            Self::Reader(number) => 3 | (number as u64) << 3,
            Self::Client(number) => 4 | (number as u64) << 3,
        }
    }

    pub fn of(token: u64) -> Self {
        let number = (token >> 3) as usize;
        match token & 7 {
            0 => Self::Timer,
            1 => Self::Listener(number),
            2 => Self::Sender(number),
            3 => Self::Reader(number),
            _ => Self::Client(number),
        }
    }
}

/// Has events of a file told to somebody.
pub fn add(epoll: &Epoll, file: impl AsFd, whose: Whose, flags: EpollFlags) -> Outcome<()> {
    epoll
        .add(file, EpollEvent::new(flags, whose.token()))
        .map_err(failed("epoll"))
}
