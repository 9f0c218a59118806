//! Constants and enumerators of `law.h`, without the prefix `LAW_`.

/// Declares constants and, for the layout test, a list of them under their C names.
macro_rules! constants {
    ($($(#[$doc:meta])* $name:ident = $value:expr;)*) => {
        $($(#[$doc])* pub const $name: u32 = $value;)*

        /// Name and value of each enumerator.
        #[cfg(test)]
        pub(super) fn enumerators() -> Vec<(String, u64, u64)> {
            vec![$((format!("LAW_{}", stringify!($name)), u64::from($name), 0),)*]
        }
    };
}

/// Version of the interface, first field of each table.
pub const ABI: u32 = 1;
/// Bytes of state the kernel gives a TCP law inside its socket.
pub const STATE_BYTES_MAX: u32 = 104;
/// Most bytes of feedback.
pub const FEEDBACK_BYTES_MAX: usize = 20;
/// Most timers of a router's law.
pub const TIMERS_MAX: usize = 4;
/// A timer that is not due at any time.
pub const TIMER_OFF: u64 = u64::MAX;

constants! {
    /// Plain TCP or UDP.
    WIRE_NONE = 0;
    /// The load code in the two ECN bits.
    WIRE_VCP = 1;
    /// XCP's header.
    WIRE_XCP = 2;
    /// RCP's header.
    WIRE_RCP = 3;
    /// Half a load code in the ECN bits.
    WIRE_PAIR = 4;
    /// Not ECN-capable.
    ECN_NOT_ECT = 0;
    /// ECN-capable, codepoint 01.
    ECN_ECT1 = 1;
    /// ECN-capable, codepoint 10.
    ECN_ECT0 = 2;
    /// Congestion experienced.
    ECN_CE = 3;
    /// Nothing unusual.
    CA_OPEN = 0;
    /// Duplicate ACKs or SACKs, not yet a loss.
    CA_DISORDER = 1;
    /// Reduced for an ECN echo.
    CA_CWR = 2;
    /// Fast retransmit.
    CA_RECOVERY = 3;
    /// After a retransmission timeout.
    CA_LOSS = 4;
    /// The stack never reacts to marks.
    ECN_MODE_NONE = 0;
    /// RFC 3168.
    ECN_MODE_CLASSIC = 1;
    /// RFC 8257: each mark is echoed once.
    ECN_MODE_EXACT = 2;
    /// The law sets cwnd in recovery too.
    SENDER_OWNS_RECOVERY = 1 << 0;
    /// The state exceeds [`STATE_BYTES_MAX`].
    SENDER_SOCKET_STORAGE = 1 << 1;
    /// The host must pace.
    SENDER_PACED = 1 << 2;
    /// The law reads neither rate sample nor timestamps nor random words of ACKs.
    SENDER_PLAIN_ACKS = 1 << 3;
    /// The ECN echo is set.
    ACK_ECE = 1 << 0;
    /// Acknowledges nothing new cumulatively.
    ACK_DUPLICATE = 1 << 1;
    /// The rate sample is limited by the application.
    ACK_APP_LIMITED = 1 << 2;
    /// The window held the sender back.
    ACK_CWND_LIMITED = 1 << 3;
    /// The host enters recovery.
    LOSS_DUPACK = 0;
    /// An ECN echo, once per round trip.
    LOSS_ECN = 1;
    /// The retransmission timer.
    LOSS_RTO = 2;
    /// Carries payload.
    PACKET_DATA = 1 << 0;
    /// For statistics.
    PACKET_RETRANSMISSION = 1 << 1;
    /// It has an outer header: routers see and mark that one only.
    PACKET_TUNNELLED = 1 << 2;
    /// Verdict: the packet goes on.
    PASS = 0;
    /// Verdict: the packet is dropped.
    DROP = 1;
    /// Refused with a capacity part that knows none.
    ROUTER_NEEDS_CAPACITY = 1 << 0;
    /// Wants [`Queue::random`](super::Queue::random) in `on_enqueue`.
    ROUTER_RANDOM = 1 << 1;
    /// Reads or writes [`Packet::feedback`](super::Packet::feedback).
    ROUTER_FEEDBACK = 1 << 2;
    /// May drop in `on_dequeue`; otherwise it only marks there.
    ROUTER_DROPS_AT_DEQUEUE = 1 << 3;
    /// Wants [`Queue::random`](super::Queue::random) in `on_dequeue`.
    ROUTER_RANDOM_AT_DEQUEUE = 1 << 4;
    /// With packets the law reads nothing of [`Queue`](super::Queue) but the random word.
    ROUTER_BLIND = 1 << 5;
    /// The part gives a capacity, not only what is spare.
    CAPACITY_KNOWN = 1 << 0;
}
