//! Logs packets while a run goes on: of flows at their senders' hosts, of links where they arrive.
//!
//! Sockets of the kernel hold copies until somebody looks, once a second. An arriving packet is copied before any
//! program at the device touches it, one that leaves behind all of them (`packet(7)`).
#![allow(unsafe_code)]

use std::borrow::Cow;
use std::io::Write;
use std::mem::MaybeUninit;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use fadelab_run::packet_log::{Logged, PacketLog, Place};
use nix::libc;
use nix::net::if_::if_nametoindex;
use nix::time::{ClockId, clock_gettime};

use super::build::side_of;
use super::spaces::Spaces;
use super::{Host, Outcome, Recorded, failed};
use crate::plan::{Plan, Tunnel, address};

/// Bytes of copies, and of what the kernel keeps with each, that a socket may hold between two looks.
const ROOM_BYTES: i32 = 256 << 20;

/// The largest packet of IPv4.
const PACKET_BYTES_MAX: usize = 1 << 16;

/// Packets of a run on their way into a log.
pub struct Capture {
    ears: Vec<Ear>,
    log: PacketLog<Box<dyn Write>>,
    buffer: Vec<u8>,
}

/// One socket at one device.
struct Ear {
    socket: OwnedFd,
    /// Place among the interfaces of the log.
    interface: usize,
    hears: Hears,
}

/// What of the packets at a device is logged.
enum Hears {
    /// What arrives, but for packets of these addresses, which arrived in a tunnel that ends here: the kernel shows what
    /// it has decrypted at the same device.
    Arriving(Vec<[Ipv4Addr; 2]>),
    /// What goes from the first address to the second, out or in.
    Pairs(Vec<[Ipv4Addr; 2]>),
}

/// A packet as a socket gives it.
struct Copied {
    time_ns: u64,
    is_outgoing: bool,
    bytes: Vec<u8>,
}

impl Capture {
    /// Of all that a plan wants logged, or none.
    pub fn begin(plan: &Plan, spaces: &Spaces, host: &dyn Host) -> Outcome<Option<Self>> {
        if plan.packets.is_empty() {
            return Ok(None);
        }
        let mut ears = Vec::new();
        for (number, interface) in plan.packets.iter().enumerate() {
            let heard = match interface.place {
                Place::Link(link) => at_link(plan, link),
                Place::Flow(flow) => at_host(plan, flow as usize),
            };
            for (node, cable, hears) in heard {
                let device = format!("{}{cable}", side_of(&plan.cables[cable], node));
                ears.push(Ear {
                    socket: spaces.at(node, || open(&device))?,
                    interface: number,
                    hears,
                });
            }
        }
        let about = "fadelab, in a Linux kernel: of a flow what the host of its sender sees, of a link what arrives \
                     over it";
        let out = host.recording(Recorded::Packets)?;
        Ok(Some(Self {
            ears,
            log: PacketLog::begin(out, about, &plan.packets).map_err(failed("the packet log"))?,
            buffer: vec![0; PACKET_BYTES_MAX],
        }))
    }

    /// Logs what has come since the last look; the run began at `epoch_ns` of the monotonic clock.
    pub fn look(&mut self, epoch_ns: u64) -> Outcome<()> {
        let epoch_ns = epoch_ns + (clock_ns(ClockId::CLOCK_REALTIME)? - clock_ns(ClockId::CLOCK_MONOTONIC)?);
        let mut heard = Vec::new();
        for ear in &self.ears {
            let lost = dropped(&ear.socket);
            if lost > 0 {
                return Err(format!(
                    "the packet log lost {lost} packets within a second; log fewer places or a slower link"
                ));
            }
            while let Some(copied) = receive(&ear.socket, &mut self.buffer) {
                if ear.hears.logs(&copied) {
                    heard.push((copied.time_ns, ear.interface, copied.bytes));
                }
            }
        }
        heard.sort_by_key(|&(time_ns, interface, _)| (time_ns, interface));
        for (time_ns, interface, bytes) in heard {
            let packet = Logged {
                interface,
                time_ns: time_ns.saturating_sub(epoch_ns),
                ip_bytes: bytes.len() as u32,
                bytes: Cow::Owned(bytes),
                comment: String::new(),
            };
            self.log.add(packet).map_err(failed("the packet log"))?;
        }
        Ok(())
    }

    pub fn finish(self) -> Outcome<()> {
        self.log.finish().map_err(failed("the packet log"))
    }
}

/// Where a link ends: a node, a cable, and what is logged there.
fn at_link(plan: &Plan, link: u32) -> Vec<(usize, usize, Hears)> {
    let mut heard = Vec::new();
    for (number, cable) in plan.cables.iter().enumerate() {
        for (end, way) in cable.ways.iter().enumerate() {
            if way.as_ref().is_some_and(|way| way.link == link) {
                let node = cable.ends[1 - end];
                heard.push((node, number, Hears::Arriving(decrypted(plan, node))));
            }
        }
    }
    heard
}

/// Addresses of what leaves tunnels at a node.
fn decrypted(plan: &Plan, node: usize) -> Vec<[Ipv4Addr; 2]> {
    let mut pairs = Vec::new();
    for tunnel in &plan.tunnels {
        for inside in &tunnel.inside {
            let [_, leaves] = Tunnel::direction(inside);
            if tunnel.ends[leaves] == node {
                pairs.push([inside.is_back, !inside.is_back].map(|is_receiver| address(inside.flow, is_receiver)));
            }
        }
    }
    pairs
}

/// Where a flow's data leave its sender's host and its ACKs arrive, by one device or two.
fn at_host(plan: &Plan, flow: usize) -> Vec<(usize, usize, Hears)> {
    let route = &plan.flows[flow];
    let (sender, receiver) = (address(flow, false), address(flow, true));
    let out = route.route.first().map(|&(_, cable)| (cable, [sender, receiver]));
    let back = route.route_back.last().map(|&(_, cable)| (cable, [receiver, sender]));
    let mut heard: Vec<(usize, Vec<[Ipv4Addr; 2]>)> = Vec::new();
    for (cable, pair) in out.into_iter().chain(back) {
        match heard.iter_mut().find(|(known, _)| *known == cable) {
            Some((_, pairs)) => pairs.push(pair),
            None => heard.push((cable, vec![pair])),
        }
    }
    let heard = heard.into_iter();
    heard
        .map(|(cable, pairs)| (route.from, cable, Hears::Pairs(pairs)))
        .collect()
}

impl Hears {
    fn logs(&self, copied: &Copied) -> bool {
        let pair = addresses(&copied.bytes);
        match (self, pair) {
            (_, None) => false,
            (Self::Arriving(decrypted), Some(pair)) => !copied.is_outgoing && !decrypted.contains(&pair),
            (Self::Pairs(pairs), Some(pair)) => pairs.contains(&pair),
        }
    }
}

/// Source and destination of an IPv4 packet.
fn addresses(packet: &[u8]) -> Option<[Ipv4Addr; 2]> {
    let at = |at: usize| <[u8; 4]>::try_from(packet.get(at..at + 4)?).ok().map(Ipv4Addr::from);
    (packet.first()? >> 4 == 4).then_some([at(12)?, at(16)?])
}

fn clock_ns(clock: ClockId) -> Outcome<u64> {
    let time = clock_gettime(clock).map_err(failed("a clock"))?;
    Ok(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

/// A socket that hears a device of the present namespace, from the IP header on.
fn open(device: &str) -> Outcome<OwnedFd> {
    let index = if_nametoindex(device).map_err(failed(device))?;
    let all = (libc::ETH_P_ALL as u16).to_be();
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: constants, and a structure of integers that lives through the call.
    let socket = unsafe {
        let number = libc::socket(libc::AF_PACKET, kind, 0);
        if number < 0 {
            return Err(failed("a packet socket")(std::io::Error::last_os_error()));
        }
        let socket = OwnedFd::from_raw_fd(number);
        let mut address: libc::sockaddr_ll = std::mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = all;
        address.sll_ifindex = index as i32;
        let bytes = size_of::<libc::sockaddr_ll>() as u32;
        if libc::bind(number, (&raw const address).cast(), bytes) != 0 {
            return Err(failed(device)(std::io::Error::last_os_error()));
        }
        socket
    };
    set(&socket, libc::SO_RCVBUFFORCE, ROOM_BYTES)?;
    set(&socket, libc::SO_TIMESTAMPNS, 1)?;
    Ok(socket)
}

fn set(socket: &OwnedFd, option: i32, value: i32) -> Outcome<()> {
    // SAFETY: the value lives through the call.
    let status = unsafe {
        let bytes = size_of::<i32>() as u32;
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            option,
            (&raw const value).cast(),
            bytes,
        )
    };
    if status == 0 {
        return Ok(());
    }
    Err(failed("a packet socket")(std::io::Error::last_os_error()))
}

/// Packets for which a socket had no room since it was last asked.
fn dropped(socket: &OwnedFd) -> u32 {
    // `struct tpacket_stats`: packets, and of them those that were dropped.
    let mut counted = [0_u32; 2];
    let mut bytes = size_of_val(&counted) as u32;
    // SAFETY: the buffer is as long as said.
    unsafe {
        let option = libc::PACKET_STATISTICS;
        let place = (&raw mut counted).cast();
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_PACKET, option, place, &raw mut bytes);
    }
    counted[1]
}

/// The next packet of a socket, if there is one.
fn receive(socket: &OwnedFd, buffer: &mut [u8]) -> Option<Copied> {
    let mut from = MaybeUninit::<libc::sockaddr_ll>::zeroed();
    let mut control = [0_u64; 16];
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    // SAFETY: all that the message points to lives through the calls, with the lengths that are told; the kernel fills
    // the address, which zeros are one of as well.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_name = from.as_mut_ptr().cast();
        message.msg_namelen = size_of::<libc::sockaddr_ll>() as u32;
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control);
        let bytes = usize::try_from(libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0)).ok()?;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        let time = if header.is_null() {
            return None;
        } else {
            libc::CMSG_DATA(header).cast::<libc::timespec>().read_unaligned()
        };
        Some(Copied {
            time_ns: time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64,
            is_outgoing: from.assume_init().sll_pkttype == libc::PACKET_OUTGOING,
            bytes: buffer[..bytes].to_vec(),
        })
    }
}
