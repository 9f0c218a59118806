//! What a link counts. Counters only grow; rates are derived by whoever reads them.

use serde::{Deserialize, Serialize};

/// Cumulative counters of a link, and the state of its queue at that instant. Bytes are on-air bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkCounters {
    /// Packets that reached the queue, later dropped ones included.
    pub arrived_pkts: u64,
    pub arrived_bytes: u64,
    /// Packets whose transmission ended, the first one where there are several.
    pub sent_pkts: u64,
    /// Bytes sent, the first part of a packet in transmission included.
    pub sent_bytes: u64,
    /// What the transmitter could have sent, used or not.
    pub offered_bytes: u64,
    /// Packets that found the queue full.
    pub dropped_full_pkts: u64,
    /// Packets dropped by the router's law.
    pub dropped_law_pkts: u64,
    /// Bytes of both.
    pub dropped_bytes: u64,
    /// Packets lost on the air, for good where the link repeats them.
    pub lost_air_pkts: u64,
    /// Of `sent_pkts`, those whose ECN field the law changed.
    pub marked_pkts: u64,
    /// Data packets sent, counted with the last try where there are several; of these `lost_air_data_pkts` were lost on
    /// the air: the realised packet error. Links without a channel do not tell data from ACKs: the driver does.
    pub sent_data_pkts: u64,
    /// See `sent_data_pkts`.
    pub lost_air_data_pkts: u64,
    /// Integral of the bytes waiting (the packet in transmission excluded) over time.
    pub queue_byte_ns: u128,
    /// Integral of the packets waiting.
    pub queue_pkt_ns: u128,
    /// Bytes waiting now.
    pub queue_bytes: u64,
    /// Packets waiting now.
    pub queue_pkts: u32,
    /// Repetitions sent by the link layer; their bytes are in `sent_bytes`, they are not in `sent_pkts`.
    pub retransmitted_pkts: u64,
    /// Packets that arrived although a try was lost on the air.
    pub recovered_pkts: u64,
    /// Packets delivered after one that left the queue later (RFC 4737, type-P-reordered).
    pub reordered_pkts: u64,
}
