//! What the hosts of senders see of their flows: data as they leave and ACKs as they arrive. SYNs are neither.
//!
//! A tap is a mark in the routes of its flows, so that a run without one does nothing for it.

use std::fmt;

use fadelab_path::packet::FeedbackBytes;
use fadelab_run::flow::FlowSpec;

use crate::clock::{Now, TickClock};
use crate::packet::{Packet, SACK_BLOCKS_MAX, flag};

/// One packet at the sender's host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a bit of the packet by itself")]
pub struct Sighting {
    /// Index of its flow.
    pub flow: u32,
    /// When it left or arrived.
    pub time_ns: u64,
    /// Data that leave; otherwise an ACK that arrives.
    pub is_data: bool,
    /// IP bytes, headers and options included.
    pub ip_bytes: u16,
    /// IP identification.
    pub ip_id: u16,
    /// ECN field of the IP header.
    pub ecn: u8,
    /// Number of the segment; of an ACK: the next one expected. Of a datagram: 0.
    pub segment: u32,
    /// Echo of a congestion mark (RFC 3168).
    pub ece: bool,
    /// Congestion window reduced (RFC 3168).
    pub cwr: bool,
    /// `TSval` (RFC 7323), in the ticks of the transport.
    pub ts_val: u32,
    /// `TSecr`, in the same ticks; of data 0.
    pub ts_ecr: u32,
    /// Of an ACK: the time since the packet left whose timestamp it echoes, whatever the tick, in microseconds. It is
    /// the sender's RTT sample where the ACK is above all before it. Of data: 0.
    pub echo_us: u32,
    /// SACK blocks (RFC 2018): first segment and the one after the last.
    pub sack: [(u32, u32); SACK_BLOCKS_MAX],
    /// How many of them are there.
    pub sack_blocks: u8,
    /// Feedback of the law.
    pub feedback: FeedbackBytes,
    /// Bytes of it that are there.
    pub feedback_len: u8,
    /// Whether a router of the feedback's format saw the data, or those that an ACK answers. Data leave without it.
    pub confirmed: bool,
}

/// Takes what the senders of its flows see.
pub(crate) struct Tap {
    /// By flow: the clock of its timestamps; `None` is not shown.
    clocks: Vec<Option<TickClock>>,
    sink: Box<dyn FnMut(&Sighting)>,
}

impl Tap {
    /// A tap on the flows `shown` of `flows`.
    pub fn new(flows: &[FlowSpec], shown: &[u32], sink: Box<dyn FnMut(&Sighting)>) -> Self {
        let clock = |(flow, spec): (usize, &FlowSpec)| {
            let is_shown = shown.contains(&(flow as u32));
            is_shown.then(|| TickClock::new(spec.transport.ts_tick_ns))
        };
        let clocks = flows.iter().enumerate().map(clock).collect();
        Self { clocks, sink }
    }

    pub fn shows(&self, flow: u32) -> bool {
        self.clocks[flow as usize].is_some()
    }

    pub fn show(&mut self, now_ns: u64, packet: &Packet, feedback: Option<&FeedbackBytes>) {
        if packet.tcp_flags & flag::SYN != 0 {
            return;
        }
        let now = Now::at(now_ns);
        let header = &packet.header;
        let is_data = header.is_data();
        let clock = self.clocks[packet.flow as usize];
        let stamp = |time_us| clock.map_or(0, |clock| clock.stamp(time_us, now));
        (self.sink)(&Sighting {
            flow: packet.flow,
            time_ns: now_ns,
            is_data,
            ip_bytes: header.ip_bytes as u16,
            ip_id: header.ip_id,
            ecn: header.ecn,
            segment: packet.seq,
            ece: packet.tcp_flags & flag::ECE != 0,
            cwr: packet.tcp_flags & flag::CWR != 0,
            ts_val: stamp(packet.ts_val_us),
            ts_ecr: if is_data { 0 } else { stamp(packet.ts_ecr_us) },
            echo_us: if is_data {
                0
            } else {
                now.clock_us().wrapping_sub(packet.ts_ecr_us)
            },
            sack: packet.sack,
            sack_blocks: packet.sack_blocks,
            feedback: feedback.copied().unwrap_or_default(),
            feedback_len: header.feedback_len,
            confirmed: header.confirmed != 0,
        });
    }
}

impl fmt::Debug for Tap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tap")
            .field("clocks", &self.clocks)
            .finish_non_exhaustive()
    }
}
