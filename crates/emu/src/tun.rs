//! TUN devices: what the kernel sends through one is read from its file, and what is written there arrives from it.
#![allow(unsafe_code)]

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

/// Where TUN devices are made.
const TUN: &str = "/dev/net/tun";

/// Most bytes of an IP packet.
pub const PACKET_BYTES_MAX: usize = 65_535;

nix::ioctl_write_ptr_bad!(
    set_interface,
    nix::request_code_write!(b'T', 202, std::mem::size_of::<libc::c_int>()),
    libc::ifreq
);

/// A TUN device in the network namespace of the thread that made it. It goes with this value.
#[derive(Debug)]
pub struct Tun {
    file: File,
    name: String,
}

impl Tun {
    /// Makes a device.
    ///
    /// # Errors
    /// When there is no such device file, the name is taken, or this process may make none.
    ///
    /// # Panics
    /// On a name that is longer than the kernel takes, 15 bytes.
    pub fn new(name: &str) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
            .open(TUN)?;
        assert!(name.len() < libc::IFNAMSIZ, "a device's name has at most 15 bytes");
        // SAFETY: all zeros is a request of no device.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_TUN_EXCL) as libc::c_short;
        // SAFETY: the file is open, and the request is what this call reads.
        unsafe { set_interface(file.as_raw_fd(), &raw const request) }?;
        Ok(Self {
            file,
            name: name.to_owned(),
        })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// A packet that was sent through the device, if one waits.
    ///
    /// # Errors
    /// Of the system, such as that the device was taken down.
    pub fn read<'b>(&self, buffer: &'b mut [u8]) -> io::Result<Option<&'b [u8]>> {
        match (&self.file).read(buffer) {
            Ok(bytes) => Ok(Some(&buffer[..bytes])),
            Err(error) if is_nothing(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Lets a packet arrive from the device. Returns whether the kernel took it: it refuses what is no IP packet, and
    /// everything while the device is down.
    pub fn write(&self, packet: &[u8]) -> bool {
        loop {
            match (&self.file).write(packet) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                written => return written.is_ok(),
            }
        }
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Packets that found no room at a device of this thread's namespace, sent through it or arriving from it.
///
/// # Errors
/// Of the system.
pub fn dropped_pkts(device: &str) -> io::Result<u64> {
    let devices = fs::read_to_string("/proc/thread-self/net/dev")?;
    let counters = devices
        .lines()
        .find_map(|line| line.trim().strip_prefix(device)?.strip_prefix(':'));
    // Received: bytes, packets, errors, dropped, and four more; then the same of those sent.
    let at = |place| {
        let counter = counters.and_then(|line| line.split_whitespace().nth(place));
        counter.and_then(|number| number.parse::<u64>().ok()).unwrap_or(0)
    };
    Ok(at(3) + at(11))
}

fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
