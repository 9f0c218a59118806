//! The transport of both ends of a flow, with nothing left to default.

use fadelab_laws::{Codec, Receiver, Sender};

/// The TCP of both ends. Presets of the scenario (`rfc`, `ns2`, `linux`) fill it in.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of its own in the standards"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transport {
    /// IP bytes of a full data packet.
    pub packet_bytes: u32,
    /// IP and TCP headers of a data packet, options included; payload is the rest.
    pub header_bytes: u32,
    /// IP bytes of a pure ACK, without SACK blocks.
    pub ack_bytes: u32,
    /// Whether SACK blocks make an ACK longer (8 bytes each and 4 once), as on the wire; ns-2 does not count them.
    pub sack_on_wire: bool,
    /// Initial window.
    pub cwnd_pkts_initial: u32,
    /// Initial slow start threshold.
    pub ssthresh_pkts_initial: u32,
    /// Receive window.
    pub rwnd_pkts: u32,
    /// Whether without SACK the receive window begins at 64 KiB and grows by two segments with each that comes in
    /// order.
    pub rwnd_grows: bool,
    /// Whether a sender keeps not much more than its largest window of what is not acknowledged, as in Linux.
    pub send_buffer: bool,
    /// Whether of a connection only a few packets wait in its host's own queue.
    pub small_queue: bool,
    /// Loss recovery.
    pub recovery: Recovery,
    /// Duplicate ACKs that signal a loss.
    pub dupthresh: u32,
    /// New segments on the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// ACK every second segment at the latest after this time; `None`: each at once.
    pub delayed_ack_ns: Option<u64>,
    /// Smallest retransmission timeout.
    pub rto_ns_min: u64,
    /// Whether the smallest timeout counts on top of SRTT, as in Linux, or from zero (RFC 6298, (2.4)).
    pub rto_min_over_srtt: bool,
    /// Whether SRTT counts there in whole ticks, rounded down, as in ns-2; else with its eighths of a tick.
    pub rto_whole_ticks: bool,
    /// Tick of the stack's timers, as in Linux's timer wheel; 0: they are exact.
    pub timer_tick_ns: u64,
    /// Largest.
    pub rto_ns_max: u64,
    /// Before the first sample.
    pub rto_ns_initial: u64,
    /// From which samples the timeout's variance comes.
    pub rto_variance: RtoVariance,
    /// Tick of the timestamp clock (RFC 7323), at least 1 us: of the timestamps that laws see and of the RTO's samples.
    pub ts_tick_ns: u64,
    /// Which ACKs give a sample of the round-trip time.
    pub rtt_samples: RttSamples,
    /// What an ACK that ends a recovery is to the law.
    pub recovery_exit: RecoveryExit,
    /// Without SACK, which ACKs of a recovery that leave holes restart the timeout.
    pub partial_acks: PartialAcks,
    /// How segments leave where the law names a rate.
    pub pacing: Pacing,
    /// Whether the sender asks for ECN (RFC 3168) where its law reacts to it.
    pub ecn: bool,
    /// Whether an ECN echo is answered as soon as a recovery is over, as in Linux; else only once something is
    /// acknowledged that was sent since the window was last reduced, as in ns-2.
    pub ecn_after_recovery: bool,
    /// Whether a fast recovery that begins while the window is being reduced for an ECN echo is over where that
    /// reduction is, as in Linux; else where all is acknowledged that was sent before the recovery began (RFC 6675).
    pub keeps_recovery_point: bool,
    /// Whether a connection begins with an exchange of SYNs: it takes a round trip and gives the first RTT sample.
    pub handshake: bool,
    /// Segments at the beginning of a connection that are acknowledged at once, though ACKs be delayed; at most 10000.
    pub quick_acks_pkts: u16,
    /// Whether feedback of a law takes room on the wire: an option in every header, for which SACK blocks may leave
    /// none.
    pub option_space: bool,
    /// In which form feedback of a law travels.
    pub feedback: FeedbackForm,
    /// Whether ACKs have timestamps (RFC 7323). Without, an ACK of a retransmission gives no RTT sample.
    pub timestamps: bool,
    /// Whether a reduction is taken back when timestamps tell that nothing was lost (RFC 3522, RFC 4015).
    pub undo: bool,
    /// Whether a timeout is taken back when an ACK tells that what was sent before it had arrived (F-RTO, RFC 5682).
    pub frto: bool,
    /// Whether, with SACK, receivers tell of segments that they have twice, from which RACK learns how late segments
    /// may come (D-SACK, RFC 2883, RFC 8985).
    pub dsack: bool,
    /// Where the IP identification of packets comes from.
    pub ip_id: IpId,
    /// Whether in recovery as many segments leave as are delivered, in proportion to the reduction (RFC 6937); else
    /// the window is ssthresh at once. Without SACK each duplicate ACK counts as a segment, for laws, too.
    pub rate_reduction: bool,
}

/// From which samples the variance in the retransmission timeout comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoVariance {
    /// From each, RFC 6298, section 2: with many samples a round trip it forgets within one.
    Sample,
    /// The largest mean deviation of a round trip, towards which it decays by a quarter a round trip, as in Linux.
    RoundTrip,
}

/// Where the IP identification of packets comes from. Its lowest bit tells DCP-EW's routers which half of the load a
/// packet is for (dcp-ew-2010, section III-B).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpId {
    /// Each packet of a flow has the next one, from a random one on, as Linux gives them to sockets.
    Counting,
    /// Each has a random one, as some BSDs give them.
    Random,
    /// All have 0, which RFC 6864 allows where packets must not be fragmented.
    Zero,
}

/// In which form feedback of a law travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedbackForm {
    /// As the law wrote it.
    Exact,
    /// As the option of `laws/wire` can say it: rounded by the sender, by the receiver after all routers of the path,
    /// and on ACKs. The kernel's routers round too, each of them.
    Option,
}

/// Which ACKs give a sample of the round-trip time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RttSamples {
    /// Each that advances, by the timestamp that it echoes (RFC 7323, section 4.1).
    PerAck,
    /// Those, and each that only tells in SACK blocks of segments that were sent once, as in Linux.
    PerSack,
    /// That of one new segment at a time, by the sender's own clock (RFC 6298, section 3). The segment is given up when
    /// a recovery begins or the timer fires: its ACK may then wait for another's repair (Karn's algorithm).
    PerRoundTrip,
}

/// What an ACK that ends a recovery is to the law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryExit {
    /// The last one of the recovery: it only brings the window to ssthresh (RFC 5681, section 3.2, step 6).
    Hold,
    /// Without SACK the first one after it: the law acts on it as on any other, as in ns-2 (`recv_newack_helper`).
    Act,
}

/// Which partial ACKs of a recovery restart the retransmission timeout (RFC 6582, section 3.2, step 3, and RFC 3782,
/// section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartialAcks {
    /// The first one, so that a window with many holes is left to slow start: the variant Impatient.
    First,
    /// Each: a hole is repaired every round trip, however many there are. Slow-but-Steady, as in Linux.
    Each,
}

/// How segments leave where the law names a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// At this rate, whatever ACKs do.
    Rate,
    /// One with each ACK, and one more when the time of a segment at this rate has passed since: the authors' release
    /// 0.1 of VCP.
    PerAck,
}

/// How losses are repaired. Those with selective acknowledgements stand first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub enum Recovery {
    /// Selective acknowledgements, RFC 6675.
    Sack,
    /// The same, with losses found by time and tails probed: RACK-TLP, RFC 8985.
    Rack,
    /// Without them, RFC 6582.
    NewReno,
    /// The fast recovery of RFC 5681, section 3.2: any new ACK ends it, and further losses of the same window are left
    /// to the timer.
    Reno,
}

impl Recovery {
    /// Whether receivers acknowledge selectively.
    #[inline]
    pub fn has_sack(self) -> bool {
        self <= Self::Rack
    }
}

/// Room for options in a TCP header (RFC 9293, section 3.1) that timestamps leave (RFC 7323).
pub const LAW_OPTION_BYTES_MAX: u32 = 40 - 12;

/// Bytes of the option that a law's feedback travels in where [`Transport::option_space`] makes room for it
/// (`laws/wire`); 0: packets carry nothing of the law. One of more than [`LAW_OPTION_BYTES_MAX`] fits no header.
pub fn option_bytes(sender: &Sender, receiver: Option<&Receiver>) -> u32 {
    Codec::of(sender, receiver).map_or(0, |codec| codec.option_bytes() as u32)
}
