//! What the kernel counts at a queue, asked for by netlink: a process for each question would cost a thousand times as
//! much.

use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd, OwnedFd};

use nix::net::if_::if_nametoindex;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recvmsg, sendmsg, socket,
};

use super::{Outcome, failed};

/// Counters and state of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Bytes that left it.
    pub bytes: u64,
    /// Packets that left it.
    pub packets: u64,
    /// Packets that it dropped.
    pub drops: u64,
    /// Packets in it.
    pub queue_pkts: u32,
    pub queue_bytes: u32,
    /// Packets that it marked, where it is one that marks.
    pub marked: u32,
}

/// Numbers of rtnetlink, from `linux/rtnetlink.h`, `linux/gen_stats.h` and `linux/pkt_sched.h`.
const RTM_NEWQDISC: u16 = 36;
const RTM_GETQDISC: u16 = 38;
const NLMSG_ERROR: u16 = 2;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ECHO: u16 = 8;
const TCA_KIND: u16 = 1;
const TCA_STATS2: u16 = 7;
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
const TCA_STATS_APP: u16 = 4;
const TCA_STATS_PKT64: u16 = 8;

const HEADER_BYTES: usize = 16;
const TCMSG_BYTES: usize = 20;

/// Most bytes of an answer: a discipline's options and what it counts.
const ANSWER_BYTES: usize = 4096;

/// A socket that asks within the namespace in which it was made, and the place for its answers.
pub struct Asker(OwnedFd, Box<[u8; ANSWER_BYTES]>);

/// A queue: a device and the handle of a discipline on it.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    device: u32,
    handle: u32,
}

impl Place {
    /// The discipline `major:` on a device of the present namespace.
    pub fn of(device: &str, major: u32) -> Outcome<Self> {
        Ok(Self {
            device: if_nametoindex(device).map_err(failed(device))?,
            handle: major << 16,
        })
    }
}

impl Asker {
    /// In the present namespace.
    pub fn new() -> Outcome<Self> {
        let kind = (
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::NetlinkRoute,
        );
        let socket = socket(kind.0, kind.1, kind.2, kind.3).map_err(failed("a netlink socket"))?;
        Ok(Self(socket, Box::new([0; ANSWER_BYTES])))
    }

    /// What a queue counts.
    pub fn ask(&mut self, place: Place) -> Outcome<Stats> {
        let mut request = [0; HEADER_BYTES + TCMSG_BYTES];
        request[..4].copy_from_slice(&((HEADER_BYTES + TCMSG_BYTES) as u32).to_ne_bytes());
        request[4..6].copy_from_slice(&RTM_GETQDISC.to_ne_bytes());
        request[6..8].copy_from_slice(&(NLM_F_REQUEST | NLM_F_ECHO).to_ne_bytes());
        // `struct tcmsg`: family, index, handle, parent, info.
        request[HEADER_BYTES + 4..][..4].copy_from_slice(&place.device.to_ne_bytes());
        request[HEADER_BYTES + 8..][..4].copy_from_slice(&place.handle.to_ne_bytes());
        let kernel = NetlinkAddr::new(0, 0);
        let fd = self.0.as_raw_fd();
        sendmsg(fd, &[IoSlice::new(&request)], &[], MsgFlags::empty(), Some(&kernel)).map_err(failed("netlink"))?;
        let answer = &mut self.1[..];
        let length = recvmsg::<NetlinkAddr>(fd, &mut [IoSliceMut::new(answer)], None, MsgFlags::empty())
            .map_err(failed("netlink"))?
            .bytes;
        stats(&self.1[..length]).ok_or_else(|| format!("the kernel tells nothing of a queue ({place:?})"))
    }
}

/// Reads an answer.
fn stats(answer: &[u8]) -> Option<Stats> {
    let kind = number16(answer, 4)?;
    if kind == NLMSG_ERROR || kind != RTM_NEWQDISC {
        return None;
    }
    let mut stats = Stats::default();
    let mut name = &[][..];
    for (kind, value) in attributes(answer.get(HEADER_BYTES + TCMSG_BYTES..)?) {
        match kind {
            TCA_KIND => name = value,
            TCA_STATS2 => {
                for (kind, value) in attributes(value) {
                    take(&mut stats, name, kind, value)?;
                }
            }
            _ => {}
        }
    }
    Some(stats)
}

fn take(stats: &mut Stats, name: &[u8], kind: u16, value: &[u8]) -> Option<()> {
    match kind {
        TCA_STATS_BASIC => {
            stats.bytes = number64(value, 0)?;
            // 64 bits of packets follow where 32 would have wrapped.
            stats.packets = stats.packets.max(u64::from(number32(value, 8)?));
        }
        TCA_STATS_PKT64 => stats.packets = number64(value, 0)?,
        TCA_STATS_QUEUE => {
            stats.queue_pkts = number32(value, 0)?;
            stats.queue_bytes = number32(value, 4)?;
            stats.drops = u64::from(number32(value, 8)?);
        }
        // `struct tc_red_xstats`: early, pdrop, other, marked.
        TCA_STATS_APP if name == b"red\0" => stats.marked = number32(value, 12)?,
        _ => {}
    }
    Some(())
}

/// Kinds and values of a list of attributes, whose lengths are multiples of four.
fn attributes(mut list: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(number16(list, 0)?);
        let kind = number16(list, 2)? & 0x3fff;
        let value = list.get(4..length)?;
        list = list.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        Some((kind, value))
    })
}

fn number16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn number32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn number64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = ((4 + value.len()) as u16).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn answer(body: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; HEADER_BYTES + TCMSG_BYTES];
        bytes[4..6].copy_from_slice(&RTM_NEWQDISC.to_ne_bytes());
        bytes.extend(body);
        bytes
    }

    #[test]
    fn an_answer_is_read_field_by_field() {
        // Goal: counters come from their places in the kernel's structures, and the 64 bits of packets win.
        let basic: Vec<u8> = [7_000_u64.to_ne_bytes(), 5_u64.to_ne_bytes()].concat();
        let queue: Vec<u8> = [3_u32, 900, 11, 0, 0].into_iter().flat_map(u32::to_ne_bytes).collect();
        let red: Vec<u8> = [1_u32, 2, 3, 42].into_iter().flat_map(u32::to_ne_bytes).collect();
        let inner = [
            attribute(TCA_STATS_BASIC, &basic),
            attribute(TCA_STATS_PKT64, &(1_u64 << 33).to_ne_bytes()),
            attribute(TCA_STATS_QUEUE, &queue),
            attribute(TCA_STATS_APP, &red),
        ];
        let body = [attribute(TCA_KIND, b"red\0"), attribute(TCA_STATS2, &inner.concat())].concat();
        let expected = Stats {
            bytes: 7_000,
            packets: 1 << 33,
            drops: 11,
            queue_pkts: 3,
            queue_bytes: 900,
            marked: 42,
        };
        assert_eq!(stats(&answer(&body)), Some(expected));
    }

    #[test]
    fn a_damaged_answer_is_none() {
        // Goal: whatever is cut off, nothing is read beyond the end.
        let inner = attribute(TCA_STATS_BASIC, &[1; 16]);
        let whole = answer(&[attribute(TCA_KIND, b"htb\0"), attribute(TCA_STATS2, &inner)].concat());
        for length in 0..whole.len() {
            let _ = stats(&whole[..length]);
        }
        let mut error = whole;
        error[4..6].copy_from_slice(&NLMSG_ERROR.to_ne_bytes());
        assert_eq!(stats(&error), None);
    }
}
