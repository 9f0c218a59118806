//! Waits for files to become readable, to the nanosecond, and allocates nothing for it.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// Files that are told at a time. Those left over are told first the next time.
const TOLD_MAX: usize = 32;

/// Files to wait for, each under a number.
#[derive(Debug)]
pub struct Waiting {
    epoll: OwnedFd,
    told: [libc::epoll_event; TOLD_MAX],
    told_n: usize,
}

impl Waiting {
    pub fn new() -> io::Result<Self> {
        // SAFETY: the call takes a flag and gives a file of ours, or an error.
        let epoll = checked(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        Ok(Self {
            // SAFETY: it is open, and nobody else's.
            epoll: unsafe { OwnedFd::from_raw_fd(epoll) },
            told: [libc::epoll_event { events: 0, u64: 0 }; TOLD_MAX],
            told_n: 0,
        })
    }

    /// From now on waits for a file too. One that is closed is forgotten.
    pub fn add(&self, file: BorrowedFd<'_>, number: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, file.as_raw_fd(), number)
    }

    pub fn forget(&self, file: BorrowedFd<'_>) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_DEL, file.as_raw_fd(), 0)
    }

    fn control(&self, operation: libc::c_int, file: RawFd, number: u64) -> io::Result<()> {
        let mut event = libc::epoll_event {
            events: libc::EPOLLIN as u32,
            u64: number,
        };
        // SAFETY: both files are open, and the event is read.
        let done = unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), operation, file, &raw mut event) };
        checked(done).map(drop)
    }

    /// Waits until a file is readable or the time has passed; what is readable is then [`Self::told`].
    pub fn wait(&mut self, timeout_ns: u64) -> io::Result<()> {
        let timeout = libc::timespec {
            tv_sec: (timeout_ns / 1_000_000_000) as libc::time_t,
            tv_nsec: (timeout_ns % 1_000_000_000) as libc::c_long,
        };
        let no_mask = std::ptr::null::<libc::sigset_t>();
        // SAFETY: there is room for as many events as are asked for, and the time is read. glibc has a function for
        // this call only since 2.35.
        let count = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.epoll.as_raw_fd(),
                self.told.as_mut_ptr(),
                TOLD_MAX as libc::c_int,
                &raw const timeout,
                no_mask,
                0_usize,
            )
        };
        self.told_n = match checked(count as libc::c_int) {
            Ok(count) => count as usize,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(error) => return Err(error),
        };
        Ok(())
    }

    /// Numbers of the files that were readable.
    pub fn told(&self) -> impl Iterator<Item = u64> + use<> {
        self.told.into_iter().take(self.told_n).map(|event| event.u64)
    }
}

fn checked(status: libc::c_int) -> io::Result<libc::c_int> {
    if status < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(status)
    }
}
