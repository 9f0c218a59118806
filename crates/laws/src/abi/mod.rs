//! `laws/law.h` in Rust: the same structs, constants and tables, field by field.
//!
//! Units, meaning and obligations of each field stand once, in `law.h`; a test compares every offset, size and value
//! with the C compiler's.
#![allow(unsafe_code)]
// Fields keep their C names: `Bps` is bytes per second, where `bps` would be bits.
#![allow(non_snake_case)]

mod constants;
mod header;
#[macro_use]
mod mirror;
#[cfg(test)]
mod tests;

use std::ffi::{c_char, c_void};

pub use constants::*;
pub use header::Header;
pub(crate) use mirror::Described;

mirror! {
    /// One parameter, as the header declares it.
    Param = "param" {
        /// C string.
        name: *const c_char,
        /// Default.
        value: u64,
        /// C string.
        unit: *const c_char,
        /// Integers per unit.
        scale: u64,
        /// Smallest integer.
        min: u64,
        /// Largest integer.
        max: u64,
        /// C string.
        source: *const c_char,
        /// C string.
        meaning: *const c_char,
    }
    /// Feedback as a law sees it.
    Feedback = "feedback" {
        /// Content.
        bytes: [u8; FEEDBACK_BYTES_MAX],
        /// Bytes in use; 0: nothing was ever received.
        len: u8,
        /// 1: it came with this very packet.
        present: u8,
        /// Zero.
        reserved: u16,
        /// Since it came; 0 when present.
        age_us: u32,
    }
    /// Decisions, in and out.
    Control = "control" {
        /// Size of this struct.
        size: u32,
        /// At least 1 on return.
        cwnd_pkts: u32,
        /// At least 1 on return.
        ssthresh_pkts: u32,
        /// `CA_*`, read only.
        ca_state: u32,
        /// IP bytes; 0: as fast as the window allows.
        pacing_Bps: u64,
        /// `ECN_*` of the data packets to come.
        ecn: u32,
        /// Zero.
        reserved: u32,
    }
    /// A new connection.
    Start = "start" {
        /// Size of this struct.
        size: u32,
        /// IP bytes of a full segment.
        packet_bytes: u32,
        /// Payload of a full segment.
        mss_bytes: u32,
        /// A random word.
        random: u32,
        /// Time.
        now_us: u64,
        /// 0: not known.
        srtt_us: u32,
        /// The own timestamp clock.
        ts_tick_us: u32,
    }
    /// One segment about to leave.
    Send = "send" {
        /// Size of this struct.
        size: u32,
        /// IP bytes.
        packet_bytes: u32,
        /// Time.
        now_us: u64,
        /// 0: no sample yet.
        srtt_us: u32,
        /// 1: it was sent before.
        retransmission: u32,
        /// Before this segment.
        in_flight_pkts: u32,
        /// A random word.
        random: u32,
        /// Out: what rides on the segment.
        feedback: Feedback,
    }
    /// What a sender sees on every ACK.
    Ack = "ack" {
        /// Size of this struct.
        size: u32,
        /// `ACK_*`.
        flags: u32,
        /// Time.
        now_us: u64,
        /// This ACK's sample; 0: none.
        rtt_us: u32,
        /// RFC 6298; 0: no sample yet.
        srtt_us: u32,
        /// Smallest of the connection; 0: no sample yet.
        rtt_us_min: u32,
        /// A random word.
        random: u32,
        /// IP bytes of a full segment.
        packet_bytes: u32,
        /// Payload of a full segment.
        mss_bytes: u32,
        /// Newly acknowledged cumulatively.
        acked_pkts: u32,
        /// Newly acknowledged selectively.
        sacked_pkts: u32,
        /// Newly found lost.
        lost_pkts: u32,
        /// Newly known to have arrived.
        delivered_pkts: u32,
        /// After this ACK.
        in_flight_pkts: u32,
        /// The ACK's `TSval`, in the receiver's ticks.
        ts_val: u32,
        /// The ACK's `TSecr`, in our ticks.
        ts_ecr: u32,
        /// Marks newly echoed, [`ECN_MODE_EXACT`] only.
        marked_pkts: u32,
        /// Rate sample: delivered.
        rate_delivered_pkts: u32,
        /// Rate sample: over this time; 0: none.
        rate_interval_us: u32,
        /// Rate sample: in flight when the newest delivered segment was sent.
        rate_prior_in_flight_pkts: u32,
        /// Rate sample: marked.
        rate_marked_pkts: u32,
        /// Rate sample: `delivered_total_pkts` when that segment was sent.
        rate_prior_delivered_pkts: u64,
        /// Of the connection.
        delivered_total_pkts: u64,
        /// Of the connection.
        marked_total_pkts: u64,
        /// The newest feedback.
        feedback: Feedback,
    }
    /// Table of a sender's law.
    SenderTable = "sender" {
        /// [`ABI`].
        abi: u32,
        /// Size of the table as the law knows it.
        size: u32,
        /// C string.
        name: *const c_char,
        /// C string.
        summary: *const c_char,
        /// Bytes.
        state_bytes: u32,
        /// Bytes.
        params_bytes: u32,
        /// `SENDER_*`.
        flags: u32,
        /// `WIRE_*`.
        wire: u32,
        /// `ECN_MODE_*`.
        ecn_mode: u32,
        /// On data packets.
        feedback_bytes: u32,
        /// C string or null.
        router: *const c_char,
        /// `params_n` rows.
        params: *const Param,
        /// Rows.
        params_n: u32,
        /// A new connection.
        init: Option<unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *const Start, *mut Control)>,
        /// Before each segment leaves.
        on_send: Option<unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *mut Send, *mut Control)>,
        /// Each ACK.
        on_ack: Option<unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *const Ack, *mut Control)>,
        /// Each loss event.
        on_loss: Option<unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *const Ack, u32, *mut Control)>,
        /// The retransmission timer.
        on_rto: Option<unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *const Ack, *mut Control)>,
        /// After idleness.
        on_restart: Option<unsafe extern "C-unwind" fn(*mut c_void, *const c_void, u64, u64, *mut Control)>,
    }
    /// A data packet that arrived.
    Data = "data" {
        /// Size of this struct.
        size: u32,
        /// IP bytes.
        packet_bytes: u32,
        /// Time.
        now_us: u64,
        /// `ECN_*` as it arrived.
        ecn: u32,
        /// 0: most significant half, 1: least.
        role: u32,
        /// Of the IP header.
        ip_id: u32,
        /// 1: the next one expected.
        in_order: u32,
        /// As routers left it.
        feedback: Feedback,
    }
    /// The ACK about to leave.
    Fill = "fill" {
        /// Size of this struct.
        size: u32,
        /// The ACK's own codepoint.
        ecn: u32,
        /// Time.
        now_us: u64,
        /// Out: what rides on the ACK.
        feedback: Feedback,
    }
    /// Table of a receiver's law.
    ReceiverTable = "receiver" {
        /// [`ABI`].
        abi: u32,
        /// Size of the table as the law knows it.
        size: u32,
        /// C string.
        name: *const c_char,
        /// Bytes.
        state_bytes: u32,
        /// On ACKs.
        feedback_bytes: u32,
        /// A new connection.
        init: Option<unsafe extern "C-unwind" fn(*mut c_void, u64)>,
        /// Each data packet.
        on_data: Option<unsafe extern "C-unwind" fn(*mut c_void, *const Data)>,
        /// Each ACK.
        fill_ack: Option<unsafe extern "C-unwind" fn(*mut c_void, *mut Fill)>,
        /// After `fill_ack`.
        ack_written: Option<unsafe extern "C-unwind" fn(*mut c_void, u32)>,
    }
    /// A packet at a router.
    Packet = "packet" {
        /// Size of this struct.
        size: u32,
        /// `PACKET_*`.
        flags: u32,
        /// Without parity.
        ip_bytes: u32,
        /// With parity.
        air_bytes: u32,
        /// Of the IP header.
        ip_id: u16,
        /// `ECN_*`, in and out.
        ecn: u8,
        /// `ECN_*` of an outer header, in and out.
        outer_ecn: u8,
        /// 0: most significant half, 1: least.
        role: u8,
        /// `WIRE_*`.
        wire: u8,
        /// Bytes in use.
        feedback_len: u8,
        /// Zero.
        reserved: u8,
        /// In and out.
        feedback: [u8; FEEDBACK_BYTES_MAX],
    }
    /// What a router's law sees of its queue.
    Queue = "queue" {
        /// Size of this struct.
        size: u32,
        /// In timers, and with packets where [`ROUTER_RANDOM`] or [`ROUTER_RANDOM_AT_DEQUEUE`] asks for it.
        random: u32,
        /// Time.
        now_us: u64,
        /// On-air bytes waiting.
        queue_bytes: u64,
        /// Packets waiting.
        queue_pkts: u32,
        /// `on_enqueue`: the packet does not fit.
        full: u32,
        /// `on_dequeue`: how long the packet waited.
        wait_us: u64,
        /// From the capacity part.
        spare_Bps: i64,
        /// From the capacity part; 0: not known.
        capacity_Bps: u64,
        /// From the capacity part.
        queue_control_bytes: i64,
        /// 1: the field before counts.
        has_queue_control: u32,
        /// `on_enqueue`: on-air bytes of the last transmission.
        last_bytes: u32,
        /// `on_enqueue`: when it began.
        last_start_us: u64,
        /// `on_timer`: what arrived since this timer ran last.
        arrived_pkts: u64,
        /// The same in on-air bytes.
        arrived_bytes: u64,
        /// `on_timer`: the least that waited since this timer ran last.
        queue_bytes_min: u64,
    }
    /// The link as configured.
    Link = "link" {
        /// Size of this struct.
        size: u32,
        /// A random word.
        random: u32,
        /// Time.
        now_us: u64,
        /// On-air bytes per second; 0: not known.
        capacity_Bps: u64,
        /// Propagation.
        delay_us: u64,
        /// 0: limited in packets only.
        limit_bytes: u64,
        /// 0: limited in bytes only.
        limit_pkts: u32,
        /// On-air bytes of a full data packet.
        packet_bytes: u32,
    }
    /// Table of a router's law.
    RouterTable = "router" {
        /// [`ABI`].
        abi: u32,
        /// Size of the table as the law knows it.
        size: u32,
        /// C string.
        name: *const c_char,
        /// C string.
        summary: *const c_char,
        /// Bytes.
        state_bytes: u32,
        /// Bytes.
        params_bytes: u32,
        /// `ROUTER_*`.
        flags: u32,
        /// `WIRE_*`.
        wire: u32,
        /// How many timers `init` fills.
        timers: u32,
        /// The timer before which the capacity part's interval closes.
        control_timer: u32,
        /// `params_n` rows.
        params: *const Param,
        /// Rows.
        params_n: u32,
        /// A new queue.
        init: Option<unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *const Link, *mut u64)>,
        /// Each arrival.
        on_enqueue: Option<unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *mut Packet, *const Queue) -> u32>,
        /// Each departure.
        on_dequeue: Option<unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *mut Packet, *const Queue) -> u32>,
        /// Each timer.
        on_timer: Option<unsafe extern "C-unwind" fn(*mut c_void, *const c_void, u32, *const Queue) -> u64>,
    }
    /// What a link did since the capacity part was last asked.
    Interval = "interval" {
        /// Size of this struct.
        size: u32,
        /// Zero.
        reserved: u32,
        /// Time.
        now_us: u64,
        /// Length.
        interval_us: u64,
        /// Capacity that went by, used or not; 0: cannot be seen.
        offered_bytes: u64,
        /// Sent.
        sent_bytes: u64,
        /// Arrived, later dropped ones included.
        arrived_bytes: u64,
        /// Transmitting.
        busy_us: u64,
        /// Not transmitting.
        idle_us: u64,
        /// Now.
        queue_bytes: u64,
        /// Smallest in the interval.
        queue_bytes_min: u64,
        /// Of the queue.
        limit_bytes: u64,
        /// 0: nothing was configured.
        configured_Bps: u64,
    }
    /// What a capacity part concludes.
    Estimate = "estimate" {
        /// Size of this struct.
        size: u32,
        /// 1: `queue_control_bytes` counts.
        has_queue_control: u32,
        /// Bytes per second.
        spare_Bps: i64,
        /// Bytes per second; 0: not known.
        capacity_Bps: u64,
        /// The queue to drain.
        queue_control_bytes: i64,
    }
    /// Table of a capacity part.
    CapacityTable = "capacity" {
        /// [`ABI`].
        abi: u32,
        /// Size of the table as the law knows it.
        size: u32,
        /// C string.
        name: *const c_char,
        /// C string.
        summary: *const c_char,
        /// Bytes.
        state_bytes: u32,
        /// Bytes.
        params_bytes: u32,
        /// `CAPACITY_*`.
        flags: u32,
        /// `params_n` rows.
        params: *const Param,
        /// Rows.
        params_n: u32,
        /// A new link.
        init: Option<unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *const Link)>,
        /// The end of an interval.
        estimate: Option<unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *const Interval, *mut Estimate)>,
    }
    /// Table of a gateway's law, reserved.
    GatewayTable = "gateway" {
        /// [`ABI`].
        abi: u32,
        /// Size of the table as the law knows it.
        size: u32,
        /// C string.
        name: *const c_char,
        /// Bytes.
        state_bytes: u32,
        /// Into the tunnel.
        encapsulate: Option<unsafe extern "C-unwind" fn(*mut c_void, *const Packet, *mut Packet)>,
        /// Out of the tunnel.
        decapsulate: Option<unsafe extern "C-unwind" fn(*mut c_void, *const Packet, *mut Packet)>,
    }
}

sized! { Control Start Send Ack Data Fill Packet Queue Link Interval Estimate }

impl Default for Feedback {
    fn default() -> Self {
        Self {
            bytes: [0; FEEDBACK_BYTES_MAX],
            len: 0,
            present: 0,
            reserved: 0,
            age_us: 0,
        }
    }
}
