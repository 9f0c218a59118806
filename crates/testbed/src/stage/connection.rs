//! Sockets of flows.
#![allow(unsafe_code)]

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use fadelab_run::app::App;
use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{
    AddressFamily, Backlog, MsgFlags, SockFlag, SockType, SockaddrIn, accept4, bind, connect, getsockopt, listen, send,
    setsockopt, socket, sockopt,
};

use super::tcp_info::TcpInfo;
use super::{Outcome, failed, option};
use crate::plan::{Flow, PORT, address};

/// Packets that a session keeps unsent at most. It ends when all that it wrote is acknowledged: what lies in the socket
/// when its time is over makes it last longer, which the simulator's does not.
const UNSENT_PKTS_OF_SESSION: u32 = 4;

/// What applications write.
static ZEROS: [u8; 65_536] = [0; 65_536];

/// What happened to a call that does not wait.
pub enum Moved {
    /// So many bytes; 0 is the end.
    Bytes(u64),
    /// Nothing now.
    Nothing,
}

fn endpoint(address: Ipv4Addr, port: u16) -> SockaddrIn {
    SockaddrIn::from(SocketAddrV4::new(address, port))
}

fn open(kind: SockType) -> Outcome<OwnedFd> {
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    socket(AddressFamily::Inet, kind, flags, None).map_err(failed("a socket"))
}

/// What both ends of a TCP connection set before it opens. The segment size counts TCP's options as payload.
fn prepare(socket: &OwnedFd, flow: &Flow) -> Outcome<()> {
    set(socket, libc::TCP_MAXSEG, flow.packet_bytes - 40, "the segment size")?;
    if let Some(law) = &flow.law {
        setsockopt(socket, sockopt::TcpCongestion, &OsString::from(law))
            .map_err(failed(format!("the kernel's congestion control `{law}`")))?;
    }
    Ok(())
}

fn set(socket: &OwnedFd, option: libc::c_int, value: u32, what: &str) -> Outcome<()> {
    option::set(socket, libc::IPPROTO_TCP, option, &value).map_err(failed(what))
}

/// A receiver that waits for connections, or for datagrams where the flow has no congestion control.
pub fn receiver(number: usize, flow: &Flow) -> Outcome<OwnedFd> {
    let is_tcp = flow.law.is_some();
    let socket = open(if is_tcp { SockType::Stream } else { SockType::Datagram })?;
    if is_tcp {
        prepare(&socket, flow)?;
    }
    bind(socket.as_raw_fd(), &endpoint(address(number, true), PORT)).map_err(failed("a receiver's address"))?;
    if is_tcp {
        listen(&socket, Backlog::new(128).expect("it is allowed")).map_err(failed("a receiver"))?;
    }
    Ok(socket)
}

/// A connection that came in, if one did.
pub fn accepted(listener: &OwnedFd) -> Option<OwnedFd> {
    use std::os::fd::FromRawFd;
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let fd = accept4(listener.as_raw_fd(), flags).ok()?;
    // SAFETY: the descriptor is fresh and nobody else's.
    Some(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A sender on its way to its receiver.
pub fn sender(number: usize, flow: &Flow) -> Outcome<OwnedFd> {
    let is_tcp = flow.law.is_some();
    let socket = open(if is_tcp { SockType::Stream } else { SockType::Datagram })?;
    if is_tcp {
        prepare(&socket, flow)?;
    }
    if matches!(flow.app, App::Sessions { .. }) {
        let bytes = UNSENT_PKTS_OF_SESSION * flow.packet_bytes;
        set(&socket, libc::TCP_NOTSENT_LOWAT, bytes, "what may wait unsent")?;
    }
    if is_tcp && flow.is_paced() {
        // Nothing waits for more to come.
        set(&socket, libc::TCP_NODELAY, 1, "that segments leave at once")?;
    }
    bind(socket.as_raw_fd(), &endpoint(address(number, false), 0)).map_err(failed("a sender's address"))?;
    match connect(socket.as_raw_fd(), &endpoint(address(number, true), PORT)) {
        Ok(()) | Err(Errno::EINPROGRESS) => Ok(socket),
        Err(error) => Err(failed(format!("connecting {}", flow.name))(error)),
    }
}

/// Whether a connection failed, and why.
pub fn fault(socket: &OwnedFd) -> Option<String> {
    let number = getsockopt(socket, sockopt::SocketError).ok()?;
    (number != 0).then(|| Errno::from_raw(number).to_string())
}

/// Writes at most `bytes`.
///
/// A session keeps writing, a few segments at a time only so that it can end, and says that more will come: else each
/// write would end with the flag PSH, behind which Linux acknowledges at once (`tcp_measure_rcv_mss` of
/// `net/ipv4/tcp_input.c`, `__tcp_cleanup_rbuf` of `net/ipv4/tcp.c`): 63 ACKs per 100 segments where a sender that has
/// more gets 51.
pub fn write(socket: &OwnedFd, flow: &Flow, bytes: u64) -> Outcome<Moved> {
    let mut length = bytes.min(ZEROS.len() as u64) as usize;
    let mut flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
    if matches!(flow.app, App::Sessions { .. }) {
        let unsent_pkts = TcpInfo::of(socket).notsent_bytes.div_ceil(flow.payload_bytes());
        let room_pkts = UNSENT_PKTS_OF_SESSION.saturating_sub(unsent_pkts);
        if room_pkts == 0 {
            return Ok(Moved::Nothing);
        }
        length = length.min((room_pkts * flow.payload_bytes()) as usize);
        flags |= MsgFlags::from_bits_retain(libc::MSG_MORE);
    }
    moved(send(socket.as_raw_fd(), &ZEROS[..length], flags))
}

/// Takes all that came of a connection and forgets it: with `MSG_TRUNC` the kernel does not even copy it (tcp(7)).
pub fn read(socket: &OwnedFd) -> Outcome<Moved> {
    discard(socket, 1 << 30)
}

/// Takes a datagram and forgets it.
pub fn read_datagram(socket: &OwnedFd) -> Outcome<Moved> {
    discard(socket, 0)
}

fn discard(socket: &OwnedFd, bytes_max: usize) -> Outcome<Moved> {
    // SAFETY: with `MSG_TRUNC` TCP and UDP write nothing beyond the length given, and TCP nothing at all.
    let length = unsafe {
        libc::recv(
            socket.as_fd().as_raw_fd(),
            std::ptr::null_mut(),
            bytes_max,
            libc::MSG_TRUNC | libc::MSG_DONTWAIT,
        )
    };
    moved(Errno::result(length).map(|length| length as usize))
}

fn moved(outcome: nix::Result<usize>) -> Outcome<Moved> {
    match outcome {
        Ok(length) => Ok(Moved::Bytes(length as u64)),
        Err(Errno::EAGAIN | Errno::EINTR) => Ok(Moved::Nothing),
        Err(error) => Err(error.to_string()),
    }
}
