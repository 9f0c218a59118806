//! Looks at what passes a device: raw packets, in the device's namespace.
#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::ffi::CString;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use fadelab_kernel::device::{Device, within};

/// What TCP packets of one direction carried.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Data packets by ECN field.
    pub data: [u64; 4],
    /// Pure ACKs by ECN field.
    pub acks: [u64; 4],
    /// Packets with an option of kind 254, by the length of the last one.
    pub options: BTreeMap<u8, u64>,
    /// Those options by the wire that their identifier names; a packet may have several.
    pub wires: BTreeMap<u8, u64>,
    /// Packets without one.
    pub plain: u64,
}

/// A thread that looks at packets until it is asked what it saw.
pub struct Tap {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<BTreeMap<u16, Seen>>,
}

impl Tap {
    /// Looks at what the device sends and receives.
    pub fn new(device: &Device) -> Self {
        let socket = open(device);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || look(&socket, &stopped));
        Self { stop, thread }
    }

    /// What was seen, by the destination's port.
    pub fn seen(self) -> BTreeMap<u16, Seen> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("the tap looked")
    }
}

/// A packet socket bound to a device, with a timeout so that whoever reads can stop.
pub fn open(device: &Device) -> OwnedFd {
    within(device.netns.as_deref(), || {
        let name = CString::new(device.name.as_str()).expect("a name");
        // SAFETY: constants, structs that live through the calls, and a descriptor that was just opened.
        unsafe {
            let all = (libc::ETH_P_ALL as u16).to_be();
            let fd = libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, i32::from(all));
            assert!(fd >= 0, "a packet socket");
            let socket = OwnedFd::from_raw_fd(fd);
            let mut address: libc::sockaddr_ll = std::mem::zeroed();
            address.sll_family = libc::AF_PACKET as u16;
            address.sll_protocol = all;
            address.sll_ifindex = libc::if_nametoindex(name.as_ptr()) as i32;
            let size = size_of::<libc::sockaddr_ll>() as u32;
            assert_eq!(libc::bind(fd, (&raw const address).cast(), size), 0, "the device");
            let wait = libc::timeval {
                tv_sec: 0,
                tv_usec: 50_000,
            };
            let size = size_of::<libc::timeval>() as u32;
            libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_RCVTIMEO, (&raw const wait).cast(), size);
            let bytes: i32 = 1 << 25;
            libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, (&raw const bytes).cast(), 4);
            socket
        }
    })
    .expect("the namespace is there")
}

/// From now on only what arrives at the device, not what leaves by it.
pub fn only_arriving(socket: &OwnedFd) {
    let yes: i32 = 1;
    // SAFETY: the value lives through the call.
    let status = unsafe {
        let ignore = libc::PACKET_IGNORE_OUTGOING;
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_PACKET, ignore, (&raw const yes).cast(), 4)
    };
    assert_eq!(status, 0, "Linux 4.20 knows it");
}

/// One packet, or none within the timeout.
pub fn read(socket: &OwnedFd, packet: &mut [u8]) -> Option<usize> {
    // SAFETY: the buffer is as long as said.
    let bytes = unsafe { libc::recv(socket.as_raw_fd(), packet.as_mut_ptr().cast(), packet.len(), 0) };
    usize::try_from(bytes).ok().filter(|bytes| *bytes > 0)
}

fn look(socket: &OwnedFd, stopped: &AtomicBool) -> BTreeMap<u16, Seen> {
    let mut packet = vec![0; 1 << 17];
    let mut seen = BTreeMap::<u16, Seen>::new();
    loop {
        match read(socket, &mut packet) {
            Some(bytes) => count(&packet[..bytes], &mut seen),
            None if stopped.load(Ordering::Relaxed) => return seen,
            None => {}
        }
    }
}

/// Where the TCP header begins, and the ECN field; `None`: no TCP.
pub fn tcp(packet: &[u8]) -> Option<(usize, u8)> {
    let ip = packet.get(14..)?;
    match ip.first()? >> 4 {
        4 if *ip.get(9)? == 6 => Some((14 + usize::from(ip[0] & 15) * 4, ip[1] & 3)),
        6 if *ip.get(6)? == 6 => Some((54, (ip[1] >> 4) & 3)),
        _ => None,
    }
}

fn count(packet: &[u8], seen: &mut BTreeMap<u16, Seen>) {
    let Some((at, ecn)) = tcp(packet) else { return };
    let Some(header) = packet.get(at..).filter(|rest| rest.len() >= 20) else {
        return;
    };
    let header_bytes = usize::from(header[12] >> 4) * 4;
    let seen = seen.entry(u16::from_be_bytes([header[2], header[3]])).or_default();
    let is_data = header.len() > header_bytes;
    let by_ecn = if is_data { &mut seen.data } else { &mut seen.acks };
    by_ecn[usize::from(ecn)] += 1;
    let options = options(&header[20..header_bytes.min(header.len())]);
    for (_, wire) in &options {
        *seen.wires.entry(*wire).or_default() += 1;
    }
    match options.last() {
        Some((bytes, _)) => *seen.options.entry(*bytes).or_default() += 1,
        None => seen.plain += 1,
    }
}

/// Lengths and wires of the options of kind 254.
fn options(mut options: &[u8]) -> Vec<(u8, u8)> {
    let mut found = Vec::new();
    while let [kind, rest @ ..] = options {
        match (kind, rest) {
            (1, rest) => options = rest,
            (0, _) | (_, []) => break,
            (_, [bytes, rest @ ..]) => {
                if *kind == 254 {
                    found.push((*bytes, rest.get(1).map_or(0xff, |id| id & 15)));
                }
                options = options.get(usize::from((*bytes).max(2))..).unwrap_or(&[]);
            }
        }
    }
    found
}
