//! `TCP_INFO` of a socket.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};

use nix::libc;

/// What a socket tells of itself; fields that an older kernel does not know are 0. Names and order are those of `struct
/// tcp_info` in `include/uapi/linux/tcp.h`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct TcpInfo {
    pub state: u8,
    pub ca_state: u8,
    pub retransmits: u8,
    pub probes: u8,
    pub backoff: u8,
    pub options: u8,
    pub wscale: u8,
    pub flags: u8,
    pub rto_us: u32,
    pub ato_us: u32,
    pub snd_mss: u32,
    pub rcv_mss: u32,
    pub unacked: u32,
    pub sacked: u32,
    pub lost: u32,
    pub retrans: u32,
    pub fackets: u32,
    pub last_data_sent_ms: u32,
    pub last_ack_sent_ms: u32,
    pub last_data_recv_ms: u32,
    pub last_ack_recv_ms: u32,
    pub pmtu: u32,
    pub rcv_ssthresh: u32,
    pub rtt_us: u32,
    pub rttvar_us: u32,
    pub snd_ssthresh: u32,
    pub snd_cwnd: u32,
    pub advmss: u32,
    pub reordering: u32,
    pub rcv_rtt_us: u32,
    pub rcv_space: u32,
    pub total_retrans: u32,
    pub pacing_rate: u64,
    pub max_pacing_rate: u64,
    pub bytes_acked: u64,
    pub bytes_received: u64,
    pub segs_out: u32,
    pub segs_in: u32,
    pub notsent_bytes: u32,
    pub min_rtt_us: u32,
    pub data_segs_in: u32,
    pub data_segs_out: u32,
    pub delivery_rate: u64,
    pub busy_time_us: u64,
    pub rwnd_limited_us: u64,
    pub sndbuf_limited_us: u64,
    pub delivered: u32,
    pub delivered_ce: u32,
    pub bytes_sent: u64,
    pub bytes_retrans: u64,
    pub dsack_dups: u32,
    pub reord_seen: u32,
    pub rcv_ooopack: u32,
    pub snd_wnd: u32,
    pub rcv_wnd: u32,
    pub rehash: u32,
    pub total_rto: u16,
    pub total_rto_recoveries: u16,
    pub total_rto_time_ms: u32,
}

/// States of loss recovery, `ca_state`.
pub const RECOVERY: u8 = 3;
/// After a timeout.
pub const LOSS: u8 = 4;
/// After an ECN echo.
pub const CWR: u8 = 2;

impl TcpInfo {
    /// Of a socket; all 0 where it has none.
    pub fn of(socket: impl AsFd) -> Self {
        let mut info = MaybeUninit::<Self>::zeroed();
        let mut length = size_of::<Self>() as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes into a value of that size, all of whose bytes are integers
        // and zero before.
        unsafe {
            libc::getsockopt(
                socket.as_fd().as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                info.as_mut_ptr().cast(),
                &raw mut length,
            );
            info.assume_init()
        }
    }

    /// Packets in flight, by RFC 6675's account of them.
    pub fn in_flight_pkts(&self) -> u32 {
        (self.unacked + self.retrans).saturating_sub(self.sacked + self.lost)
    }

    /// Whether all that was written is acknowledged.
    pub fn is_done(&self) -> bool {
        self.unacked == 0 && self.notsent_bytes == 0
    }
}
