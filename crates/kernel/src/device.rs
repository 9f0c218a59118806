//! A network device, in this namespace or in another.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

/// A device, by name and namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    pub name: String,
    /// File of its network namespace, such as `/run/netns/NAME`; `None`: this process's.
    pub netns: Option<PathBuf>,
}

/// What a packet begins with on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// An Ethernet header.
    Ethernet,
    /// The IP header, as on TUN devices.
    Ip,
}

/// `ARPHRD_*` of `linux/if_arp.h`.
const ARPHRD_ETHER: u32 = 1;
const ARPHRD_LOOPBACK: u32 = 772;

impl Device {
    /// A device of this process's namespace.
    pub fn here(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            netns: None,
        }
    }

    /// As commands take it: `NAME`, or `NETNS:NAME` with the name of its namespace.
    pub fn named(given: &str) -> Self {
        match given.split_once(':') {
            Some((netns, name)) => Self {
                name: name.to_owned(),
                netns: Some(Path::new("/run/netns").join(netns)),
            },
            None => Self::here(given),
        }
    }

    /// Its index and framing.
    ///
    /// # Errors
    /// When the namespace or the device does not exist.
    pub fn look(&self) -> io::Result<(i32, Framing)> {
        within(self.netns.as_deref(), || Ok((index(&self.name)?, framing(&self.name)?)))?
    }

    /// Whether the kernel joins packets that it receives (GRO).
    ///
    /// # Errors
    /// When the device or its namespace is not there.
    pub fn joins_packets(&self) -> io::Result<bool> {
        within(self.netns.as_deref(), || joins_packets(&self.name)).and_then(|joins| joins)
    }
}

fn index(name: &str) -> io::Result<i32> {
    let name = CString::new(name).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: the name is a string that ends in a zero byte.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index as i32),
    }
}

fn framing(name: &str) -> io::Result<Framing> {
    let answer = asked(name, libc::SIOCGIFHWADDR, |_| ())?;
    // SAFETY: the ioctl filled in the address.
    let family = u32::from(unsafe { answer.ifr_ifru.ifru_hwaddr.sa_family });
    Ok(if family == ARPHRD_ETHER || family == ARPHRD_LOOPBACK {
        Framing::Ethernet
    } else {
        Framing::Ip
    })
}

/// As `struct ethtool_value` (linux/ethtool.h).
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// Whether a device's packets are joined (GRO).
const ETHTOOL_GGRO: u32 = 0x2b;

fn joins_packets(name: &str) -> io::Result<bool> {
    let mut value = EthtoolValue {
        command: ETHTOOL_GGRO,
        data: 0,
    };
    asked(name, libc::SIOCETHTOOL, |request| {
        request.ifr_ifru.ifru_data = (&raw mut value).cast();
    })?;
    Ok(value.data != 0)
}

/// What the kernel answers of a device. /sys shows the namespace of whoever mounted it, so it is asked by ioctl.
fn asked(name: &str, what: libc::Ioctl, fill: impl FnOnce(&mut libc::ifreq)) -> io::Result<libc::ifreq> {
    // SAFETY: a request of zeros is one without a name.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
        *to = from as libc::c_char;
    }
    fill(&mut request);
    // SAFETY: a socket of constants.
    let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the request, and what it points to, are as long as this ioctl takes them; the socket was just opened and
    // is closed once.
    let (status, error) = unsafe {
        let status = libc::ioctl(socket, what, &raw mut request);
        let error = io::Error::last_os_error();
        libc::close(socket);
        (status, error)
    };
    if status < 0 { Err(error) } else { Ok(request) }
}

/// Makes a call in another network namespace, on this thread, and comes back.
///
/// # Errors
/// When the namespace does not exist or may not be entered.
///
/// # Panics
/// When the thread cannot come back: it must not go on elsewhere.
pub fn within<T>(netns: Option<&Path>, call: impl FnOnce() -> T) -> io::Result<T> {
    let Some(path) = netns else {
        return Ok(call());
    };
    let there = File::open(path)?;
    let here = File::open("/proc/thread-self/ns/net")?;
    enter(&there)?;
    let result = call();
    enter(&here).expect("a thread can come back to where it was");
    Ok(result)
}

fn enter(namespace: &File) -> io::Result<()> {
    // SAFETY: the file is open.
    if unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Runs `ip` in a network namespace; what it prints.
///
/// # Errors
/// When there is no `ip` or no such namespace, or what it complains of.
pub(crate) fn ip(netns: Option<&Path>, arguments: &[&str]) -> io::Result<Vec<u8>> {
    // The child is forked by this thread, in whose namespace it runs.
    let output = within(netns, || Command::new("ip").args(arguments).output())??;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(io::Error::other(
            String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        ))
    }
}

/// The names of the devices here.
///
/// # Errors
/// When the system does not tell.
pub fn names() -> io::Result<Vec<String>> {
    let text = fs::read_to_string("/proc/thread-self/net/dev")?;
    let name = |line: &str| Some(line.split_once(':')?.0.trim().to_owned());
    Ok(text.lines().filter_map(name).collect())
}
