//! Options of sockets that no library knows by name.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use nix::errno::Errno;
use nix::libc;

/// Sets an option of a level (`setsockopt(2)`), whose value is what C has in its place.
pub fn set<T>(socket: &impl AsFd, level: libc::c_int, option: libc::c_int, value: &T) -> io::Result<()> {
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the value lives through the call and is as long as said.
    let done = unsafe {
        let (value, bytes) = ((&raw const *value).cast(), size_of::<T>() as libc::socklen_t);
        libc::setsockopt(socket, level, option, value, bytes)
    };
    Ok(Errno::result(done).map(drop)?)
}
