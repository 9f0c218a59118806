//! A socket that copies what passes a device, into memory that is shared with the kernel (`TPACKET_V3`,
//! `Documentation/networking/packet_mmap.rst`).
//!
//! A copy is made when the packet passes. A socket that holds packets until they are read would show what became of
//! them: ESP decrypts in place what a router's program has written to before.
#![allow(unsafe_code)]

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use nix::libc;
use nix::net::if_::if_nametoindex;

use super::{Outcome, failed, option};

/// Bytes of a block, in which packets lie one behind the other: room for the largest packet of IPv4 and what is in
/// front of it.
const BLOCK_BYTES: usize = 1 << 18;

/// After it a block is given away that is not full.
pub const BLOCK_MS: u32 = 250;

/// Blocks beside those that are full: of two seconds in which hardly anything passes.
const BLOCKS_MORE: usize = 2000 / BLOCK_MS as usize + 2;

/// A socket at a device.
pub struct Ring {
    socket: OwnedFd,
    memory: NonNull<u8>,
    blocks: usize,
    /// The block that is read next.
    next: usize,
}

/// A packet as it passed.
pub struct Copied {
    pub time_ns: u64,
    pub is_outgoing: bool,
    /// From IP's header on.
    pub bytes: Vec<u8>,
}

impl Ring {
    /// Hears a device of the present namespace; holds at least so many bytes of packets.
    pub fn open(device: &str, room_bytes: usize) -> Outcome<Self> {
        let index = if_nametoindex(device).map_err(failed(device))?;
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: constants; the descriptor is owned from here on.
        let socket = unsafe {
            let number = libc::socket(libc::AF_PACKET, kind, 0);
            if number < 0 {
                return Err(last_error("a packet socket"));
            }
            OwnedFd::from_raw_fd(number)
        };
        set(&socket, libc::PACKET_VERSION, &libc::tpacket_versions::TPACKET_V3)?;
        let blocks = blocks(room_bytes);
        let ring = libc::tpacket_req3 {
            tp_block_size: BLOCK_BYTES as u32,
            tp_block_nr: blocks as u32,
            // Frames have no size of their own here; the kernel wants one that fits.
            tp_frame_size: BLOCK_BYTES as u32,
            tp_frame_nr: blocks as u32,
            tp_retire_blk_tov: BLOCK_MS,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        set(&socket, libc::PACKET_RX_RING, &ring)?;
        // SAFETY: a new mapping of what the kernel just made, which lives as long as this value.
        let memory = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let memory = libc::mmap(
                std::ptr::null_mut(),
                blocks * BLOCK_BYTES,
                access,
                libc::MAP_SHARED,
                socket.as_raw_fd(),
                0,
            );
            if memory == libc::MAP_FAILED {
                return Err(last_error("the ring of a packet socket"));
            }
            NonNull::new(memory.cast()).expect("a mapping")
        };
        let ring = Self {
            socket,
            memory,
            blocks,
            next: 0,
        };
        ring.bind(index).map(|()| ring)
    }

    fn bind(&self, index: u32) -> Outcome<()> {
        // SAFETY: a structure of integers that lives through the call.
        let status = unsafe {
            let mut address: libc::sockaddr_ll = std::mem::zeroed();
            address.sll_family = libc::AF_PACKET as u16;
            address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
            address.sll_ifindex = index as i32;
            let bytes = size_of::<libc::sockaddr_ll>() as u32;
            libc::bind(self.socket.as_raw_fd(), (&raw const address).cast(), bytes)
        };
        if status == 0 {
            Ok(())
        } else {
            Err(last_error("a packet socket"))
        }
    }

    /// Packets for which there was no room since it was last asked.
    pub fn dropped(&self) -> u32 {
        // `struct tpacket_stats_v3`: packets, of them those that were dropped, and waits for a block.
        let mut counted = [0_u32; 3];
        let mut bytes = size_of_val(&counted) as u32;
        // SAFETY: the buffer is as long as said.
        unsafe {
            let place = (&raw mut counted).cast();
            let level = libc::SOL_PACKET;
            libc::getsockopt(
                self.socket.as_raw_fd(),
                level,
                libc::PACKET_STATISTICS,
                place,
                &raw mut bytes,
            );
        }
        counted[1]
    }

    /// Takes the packets of all blocks that the kernel has given away.
    pub fn take(&mut self, mut each: impl FnMut(Copied)) {
        loop {
            // SAFETY: a block within the mapping; whose it is says its status, which the kernel writes last.
            unsafe {
                let block = self.memory.add(self.next * BLOCK_BYTES);
                let head = &raw mut (*block.cast::<libc::tpacket_block_desc>().as_ptr()).hdr.bh1;
                let status = AtomicU32::from_ptr(&raw mut (*head).block_status);
                if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
                    return;
                }
                let mut place = (*head).offset_to_first_pkt as usize;
                for _ in 0..(*head).num_pkts {
                    let packet = block.add(place);
                    place += (*packet.cast::<libc::tpacket3_hdr>().as_ptr()).tp_next_offset as usize;
                    each(copied(packet));
                }
                status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
            }
            self.next = (self.next + 1) % self.blocks;
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: nothing of the mapping is referred to any more.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.blocks * BLOCK_BYTES) };
    }
}

/// The packet at a place in a block that is ours.
///
/// # Safety
/// There is one, as the kernel writes it: its head, behind that the address, and its bytes.
unsafe fn copied(packet: NonNull<u8>) -> Copied {
    // SAFETY: the caller's.
    unsafe {
        let head = *packet.cast::<libc::tpacket3_hdr>().as_ptr();
        let address = packet.add(size_of::<libc::tpacket3_hdr>().next_multiple_of(libc::TPACKET_ALIGNMENT));
        let address = address.cast::<libc::sockaddr_ll>().as_ptr().read_unaligned();
        let bytes = packet.add(usize::from(head.tp_net)).as_ptr();
        let mut bytes = std::slice::from_raw_parts(bytes, head.tp_snaplen as usize).to_vec();
        if head.tp_status & libc::TP_STATUS_CSUMNOTREADY != 0 {
            complete_sum(&mut bytes);
        }
        Copied {
            time_ns: u64::from(head.tp_sec) * 1_000_000_000 + u64::from(head.tp_nsec),
            is_outgoing: address.sll_pkttype == libc::PACKET_OUTGOING,
            bytes,
        }
    }
}

/// Makes the checksum of TCP or UDP what it would be on a wire: what stands there is the sum of the pseudo header, to
/// which a device, of which there is none here, adds that of all bytes (RFC 1071).
fn complete_sum(packet: &mut [u8]) {
    let at = match (packet.first().map(|byte| byte >> 4), packet.get(9)) {
        (Some(4), Some(6)) => 16,
        (Some(4), Some(17)) => 6,
        _ => return,
    };
    let header_bytes = usize::from(packet[0] & 15) * 4;
    let Some(segment) = packet.get_mut(header_bytes..).filter(|segment| segment.len() >= at + 2) else {
        return;
    };
    let words = segment.chunks(2);
    let mut sum: u64 = words
        .map(|word| u64::from(word[0]) << 8 | u64::from(*word.get(1).unwrap_or(&0)))
        .sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    let complement = !(sum as u16);
    // As Linux writes it, of TCP as well: 0 says of UDP that there is none (CSUM_MANGLED_0).
    let sum = if complement == 0 { 0xffff } else { complement };
    segment[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}

fn set<T>(socket: &OwnedFd, option: i32, value: &T) -> Outcome<()> {
    option::set(socket, libc::SOL_PACKET, option, value).map_err(failed("a packet socket"))
}

fn blocks(room_bytes: usize) -> usize {
    room_bytes.div_ceil(BLOCK_BYTES) + BLOCKS_MORE
}

/// Memory of a ring that holds so many bytes of packets.
pub fn memory_bytes(room_bytes: usize) -> u64 {
    (blocks(room_bytes) * BLOCK_BYTES) as u64
}

fn last_error(what: &str) -> String {
    failed(what)(std::io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_that_waits_for_a_device_is_completed() {
        // Goal: a packet whose checksum is that of the pseudo header alone gets the one that another program computes;
        // what has none, or is cut off, stays as it is.
        let mut packet = vec![0_u8; 45];
        packet[0] = 0x45;
        packet[9] = 6;
        packet[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        packet[20..24].copy_from_slice(&[0x0f, 0xa0, 0x13, 0x89]);
        packet[32] = 0x50;
        packet[44] = 0xab;
        // Pseudo header: addresses, protocol and 25 bytes.
        let pseudo: u16 = 0x0a00 + 0x0001 + 0x0a00 + 0x0002 + 6 + 25;
        packet[36..38].copy_from_slice(&pseudo.to_be_bytes());
        complete_sum(&mut packet);
        // 0x1422 + 0x0fa0 + 0x1389 + 0x5000 + 0xab00 = 0x1324b, folded 0x324c, and its complement.
        assert_eq!(packet[36..38], 0xcdb3_u16.to_be_bytes());
        // Where the sum comes to 0 it is written as Linux does.
        let mut zero = packet.clone();
        zero[40..42].copy_from_slice(&0xcdb3_u16.to_be_bytes());
        zero[36..38].copy_from_slice(&pseudo.to_be_bytes());
        complete_sum(&mut zero);
        assert_eq!(zero[36..38], [0xff, 0xff]);
        let mut icmp = packet.clone();
        icmp[9] = 1;
        let before = icmp.clone();
        complete_sum(&mut icmp);
        assert_eq!(icmp, before);
        for length in 0..40 {
            complete_sum(&mut packet[..length].to_vec());
        }
    }
}
