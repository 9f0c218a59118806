//! The kernel's random numbers, from the seed of a plan: the machine itself has none of its own.
#![allow(unsafe_code)]

use std::fs::File;
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::libc::{self, c_int};

use crate::stage::{Outcome, failed};

/// `struct rand_pool_info` of `linux/random.h`, with as many bytes as the kernel's generator takes for full.
#[repr(C)]
struct Pool {
    entropy_bits: c_int,
    bytes: c_int,
    content: [u8; 32],
}

/// Requests of `linux/random.h`: `_IOW('R', 0x03, int [2])` and `_IO('R', 0x07)`.
const RNDADDENTROPY: libc::Ioctl = 0x4008_5203;
const RNDRESEEDCRNG: libc::Ioctl = 0x5207;

/// Mixes a seed into the kernel's pool and lets its generator begin anew from there: what was drawn before is the same
/// in all runs, what comes from now on depends on the seed.
pub fn sow(seed: u64) -> Outcome<()> {
    let path = "/dev/random";
    let file = File::options().write(true).open(path).map_err(failed(path))?;
    let mut content = [0; 32];
    content[..8].copy_from_slice(&seed.to_le_bytes());
    let pool = Pool {
        entropy_bits: 256,
        bytes: 32,
        content,
    };
    // SAFETY: the kernel reads a structure that lives, whose length it has; the second request has no argument.
    let done = unsafe {
        [
            libc::ioctl(file.as_raw_fd(), RNDADDENTROPY, &raw const pool),
            libc::ioctl(file.as_raw_fd(), RNDRESEEDCRNG),
        ]
    };
    for result in done {
        Errno::result(result).map_err(failed(path))?;
    }
    Ok(())
}
