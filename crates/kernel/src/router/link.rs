//! What a device says of itself, and news of the devices of a namespace.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use crate::device::{Device, within};

/// Of a device.
pub(super) struct State {
    pub is_up: bool,
    /// The largest packet it takes, in IP bytes.
    pub mtu: u32,
    /// Packets that its transmit queue is to hold.
    pub queue_pkts: u32,
}

pub(super) fn state(device: &Device) -> io::Result<State> {
    within(device.netns.as_deref(), || {
        let flags = ask(&device.name, libc::SIOCGIFFLAGS)?;
        let mtu = ask(&device.name, libc::SIOCGIFMTU)?;
        let queue = ask(&device.name, libc::SIOCGIFTXQLEN)?;
        // SAFETY: the three requests filled in these fields; the length of a queue is a number as the MTU is.
        let (flags, mtu, queue_pkts) = unsafe {
            (
                flags.ifr_ifru.ifru_flags,
                mtu.ifr_ifru.ifru_mtu,
                queue.ifr_ifru.ifru_mtu,
            )
        };
        Ok(State {
            is_up: i32::from(flags) & libc::IFF_UP != 0,
            mtu: mtu.unsigned_abs(),
            queue_pkts: queue_pkts.unsigned_abs(),
        })
    })?
}

fn ask(name: &str, request: libc::Ioctl) -> io::Result<libc::ifreq> {
    // SAFETY: a request of zeros is one without a name.
    let mut answer: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in answer.ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
        *to = from as libc::c_char;
    }
    let socket = socket(libc::AF_INET, libc::SOCK_DGRAM, 0)?;
    // SAFETY: the socket is open and the request as long as these ioctls take it.
    if unsafe { libc::ioctl(socket.as_raw_fd(), request, &raw mut answer) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(answer)
}

fn socket(family: i32, kind: i32, protocol: i32) -> io::Result<OwnedFd> {
    // SAFETY: a socket of constants, of which this is the only owner.
    unsafe {
        let socket = libc::socket(family, kind | libc::SOCK_CLOEXEC, protocol);
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(socket))
    }
}

/// The kernel's notices of devices and queueing disciplines that come, go or change.
#[derive(Debug)]
pub(super) struct News {
    socket: OwnedFd,
}

impl News {
    /// Of the namespace of a device.
    pub fn of(device: &Device) -> io::Result<Self> {
        within(device.netns.as_deref(), || {
            let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK;
            let socket = socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE)?;
            // SAFETY: an address of zeros is one of this family's without a group.
            let mut address: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
            address.nl_family = libc::AF_NETLINK as u16;
            address.nl_groups = (libc::RTMGRP_LINK | libc::RTMGRP_TC) as u32;
            let bytes = size_of::<libc::sockaddr_nl>() as libc::socklen_t;
            // SAFETY: the address is a netlink address of that length.
            if unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), bytes) } < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Self { socket })
        })?
    }

    /// Waits for news, at most that long; forgets what they say, since whoever hears them looks for himself. Gives
    /// whether there were any.
    pub fn wait(&self, timeout: Duration) -> bool {
        let mut poll = libc::pollfd {
            fd: self.socket.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let milliseconds = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: one descriptor, which is open.
        if unsafe { libc::poll(&raw mut poll, 1, milliseconds) } <= 0 {
            return false;
        }
        let mut buffer = [0u8; 8192];
        // SAFETY: the buffer has that length; the socket does not block.
        while unsafe { libc::recv(self.socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) } > 0 {}
        true
    }
}
