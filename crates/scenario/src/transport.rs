//! `[transport]`: presets that imitate a stack, and overrides of each of their values.

use fadelab_run::transport::{
    FeedbackForm, IpId, LAW_OPTION_BYTES_MAX, Pacing, PartialAcks, Recovery, RecoveryExit, RtoVariance, RttSamples,
    Transport,
};

use crate::document::Raw;
use crate::error::Refusal;
use crate::key::{Absent, Declared, Key};
use crate::kind::Kind;
use crate::reader::Reader;
use crate::unit::{Duration, Packets, Scalar, Switch, positive};
use crate::value::{Held, Sizes, Whole, words};

/// A window that never limits: larger than any bandwidth-delay product a scenario here is meant for.
const WINDOW_PKTS_UNLIMITED: u32 = 1_000_000;

/// Linux acknowledges each segment at once while its receive window grows (`tcp_grow_window` of
/// `net/ipv4/tcp_input.c`): by two segments with each, from 64 KiB to half of the largest buffer, 6 MiB (`tcp_rmem`),
/// and then 16 more, which were left from the beginning (`TCP_MAX_QUICKACKS`).
const fn linux_quick_acks_pkts(payload_bytes: u32) -> u16 {
    let pkts = ((3 << 20) - (64 << 10)) / (2 * payload_bytes) + 16;
    if pkts < QUICK_ACKS_PKTS_MAX {
        pkts as u16
    } else {
        QUICK_ACKS_PKTS_MAX as u16
    }
}

const QUICK_ACKS_PKTS_MAX: u32 = 10_000;

/// ns-2.35 as its defaults and its usual scripts have it: 1000 B of payload, one RTT sample a round trip in ticks of 10
/// ms (`timestamps_` false, `tcpTick_` 0.01), a timeout of whole ticks (`rtt_update`), an ACK for each packet, headers
/// that never grow. Its Reno and `NewReno` let the ACK that ends a recovery open the window (`recv_newack_helper`).
/// `window_`, 20 packets by default, is lifted as every script does.
/// Source: ns-2.35 tcl/lib/ns-default.tcl.
const NS2: Transport = Transport {
    packet_bytes: 1_040,
    header_bytes: 40,
    ack_bytes: 40,
    sack_on_wire: false,
    cwnd_pkts_initial: 2,
    ssthresh_pkts_initial: WINDOW_PKTS_UNLIMITED,
    rwnd_pkts: WINDOW_PKTS_UNLIMITED,
    rwnd_grows: false,
    send_buffer: false,
    small_queue: false,
    recovery: Recovery::Sack,
    dupthresh: 3,
    limited_transmit: true,
    delayed_ack_ns: None,
    rto_ns_min: 200_000_000,
    rto_min_over_srtt: false,
    rto_whole_ticks: false,
    timer_tick_ns: 0,
    rto_ns_max: 60_000_000_000,
    rto_ns_initial: 3_000_000_000,
    rto_variance: RtoVariance::Sample,
    ts_tick_ns: 10_000_000,
    rtt_samples: RttSamples::PerRoundTrip,
    recovery_exit: RecoveryExit::Act,
    partial_acks: PartialAcks::First,
    pacing: Pacing::Rate,
    ecn: false,
    ecn_after_recovery: false,
    keeps_recovery_point: false,
    handshake: false,
    quick_acks_pkts: 0,
    option_space: false,
    feedback: FeedbackForm::Exact,
    rate_reduction: false,
    timestamps: true,
    undo: false,
    frto: false,
    dsack: false,
    ip_id: IpId::Counting,
};

/// The standards: initial window RFC 6928, initial ssthresh RFC 5681 section 3.1 (arbitrarily high), recovery RFC 6675,
/// limited transmit RFC 3042, delayed ACKs RFC 9293 section 3.8.6.3 (below 0.5 s; 200 ms is what BSD took),
/// RTO RFC 6298, timestamps of 12 bytes in every header and a tick within 1 ms to 1 s RFC 7323.
const RFC: Transport = Transport {
    packet_bytes: 1_500,
    header_bytes: 52,
    ack_bytes: 52,
    sack_on_wire: true,
    cwnd_pkts_initial: 10,
    ssthresh_pkts_initial: WINDOW_PKTS_UNLIMITED,
    rwnd_pkts: WINDOW_PKTS_UNLIMITED,
    rwnd_grows: false,
    send_buffer: false,
    small_queue: false,
    recovery: Recovery::Sack,
    dupthresh: 3,
    limited_transmit: true,
    delayed_ack_ns: Some(200_000_000),
    rto_ns_min: 1_000_000_000,
    rto_min_over_srtt: false,
    rto_whole_ticks: false,
    timer_tick_ns: 0,
    rto_ns_max: 60_000_000_000,
    rto_ns_initial: 1_000_000_000,
    rto_variance: RtoVariance::Sample,
    ts_tick_ns: 1_000_000,
    rtt_samples: RttSamples::PerAck,
    recovery_exit: RecoveryExit::Hold,
    partial_acks: PartialAcks::First,
    pacing: Pacing::Rate,
    ecn: false,
    ecn_after_recovery: false,
    keeps_recovery_point: false,
    handshake: false,
    quick_acks_pkts: 0,
    option_space: false,
    feedback: FeedbackForm::Exact,
    rate_reduction: false,
    timestamps: true,
    undo: false,
    frto: false,
    dsack: false,
    ip_id: IpId::Counting,
};

/// Linux, include/net/tcp.h: `TCP_RTO_MIN` 200 ms, `TCP_RTO_MAX` 120 s, `TCP_TIMEOUT_INIT` 1 s, `TCP_DELACK_MIN` 40 ms,
/// `TCP_INIT_CWND` 10, timestamps in ms; RACK-TLP and rate reduction since 4.3 and 4.4
/// (`net/ipv4/tcp_recovery.c`, `tcp_input.c`). docs/design.md says what is left out.
const LINUX: Transport = Transport {
    rwnd_grows: true,
    send_buffer: true,
    small_queue: true,
    recovery: Recovery::Rack,
    ecn_after_recovery: true,
    keeps_recovery_point: true,
    timer_tick_ns: 4_000_000,
    undo: true,
    frto: true,
    dsack: true,
    handshake: true,
    quick_acks_pkts: linux_quick_acks_pkts(RFC.packet_bytes - RFC.header_bytes),
    option_space: true,
    feedback: FeedbackForm::Option,
    rate_reduction: true,
    partial_acks: PartialAcks::Each,
    delayed_ack_ns: Some(40_000_000),
    rto_ns_min: 200_000_000,
    rto_min_over_srtt: true,
    rto_variance: RtoVariance::RoundTrip,
    rtt_samples: RttSamples::PerSack,
    rto_ns_max: 120_000_000_000,
    rto_ns_initial: 1_000_000_000,
    ..RFC
};

/// The agents of VCP's release 0.1: ns-2's Reno, which paces by ACKs and a timer. Beside it stand what its law does and
/// that its routers send ACKs first, see [`VCP_RELEASE_LAWS`] and [`Stack::vcp_acks_first`].
const VCP_RELEASE: Transport = Transport {
    recovery: Recovery::Reno,
    pacing: Pacing::PerAck,
    ..NS2
};

/// What a preset chooses of laws: parameters and their choices, for the laws that have them.
pub type LawChoices = &'static [(&'static str, &'static str)];

/// ns-2's senders count ACKs (`opencwnd`) and keep the fraction of a halved window (`precisionReduce_`, which is true).
/// Its XCP takes grants as they come.
const NS2_LAWS: LawChoices = &[("counting", "acks"), ("halving", "exact"), ("grants", "all")];

/// What release 0.1 of VCP (Xia and others, February 2006) does otherwise than the law by default, sender and router.
const VCP_RELEASE_LAWS: LawChoices = &[
    ("counting", "acks"),
    ("halving", "exact"),
    ("grants", "all"),
    ("ticks", "release"),
    ("pacing", "release"),
    ("target", "moving"),
    ("queue_filter", "release"),
];

/// The section: what a preset says, then what the scenario says over it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stack {
    /// Its values.
    pub transport: Transport,
    /// Whether flows ask for ECN.
    pub ecn: Ecn,
    /// What stands for defaults of laws.
    pub laws: LawChoices,
    /// Whether ACKs go first at VCP's routers.
    pub vcp_acks_first: bool,
}

impl Stack {
    /// A transport beside which nothing else is chosen.
    const fn of(transport: Transport) -> Self {
        Self {
            transport,
            ecn: Ecn(None),
            laws: &[],
            vcp_acks_first: false,
        }
    }
}

words!(Stack:
    "rfc" => Self::of(RFC),
    "ns2" => Self { laws: NS2_LAWS, ..Self::of(NS2) },
    "vcp-release" => Self { laws: VCP_RELEASE_LAWS, vcp_acks_first: true, ..Self::of(VCP_RELEASE) },
    "linux" => Self::of(LINUX),
);

words!(Recovery:
    "sack" => Self::Sack,
    "rack" => Self::Rack,
    "newreno" => Self::NewReno,
    "reno" => Self::Reno,
);
words!(RttSamples: "per ack" => Self::PerAck, "per sack" => Self::PerSack, "per round trip" => Self::PerRoundTrip);
words!(RecoveryExit: "hold" => Self::Hold, "act" => Self::Act);
words!(RtoVariance: "sample" => Self::Sample, "round trip" => Self::RoundTrip);
words!(PartialAcks: "first" => Self::First, "each" => Self::Each);
words!(Pacing: "rate" => Self::Rate, "per ack" => Self::PerAck);
words!(IpId: "counting" => Self::Counting, "random" => Self::Random, "zero" => Self::Zero);
words!(FeedbackForm: "exact" => Self::Exact, "option" => Self::Option);

/// Whether flows ask for ECN; `None` for `"auto"`: that depends on each flow's law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ecn(pub Option<bool>);

impl Scalar for Ecn {
    const KIND: Kind = Kind::OrBool(&Kind::Choice(&["auto"]));

    fn read(raw: &Raw) -> Result<Self, String> {
        match raw {
            Raw::Bool(value) => Ok(Self(Some(*value))),
            _ if String::read(raw)? == "auto" => Ok(Self(None)),
            _ => Err("allowed is \"auto\", true or false".to_owned()),
        }
    }

    fn shown(&self) -> String {
        self.0.map_or_else(|| "\"auto\"".to_owned(), |value| value.to_string())
    }
}

const TABLE: &str = "transport";

const PRESET: Declared<Stack> = Declared::new(
    "preset",
    Absent::Is("\"rfc\""),
    "the stack that is imitated; each of its values may be overridden",
);

/// A key and the field of the stack that it fills.
pub(crate) struct Field {
    pub key: Key,
    /// Reads it over what the stack has from its preset.
    read: fn(&mut Reader<'_>, &mut Stack) -> Result<(), Refusal>,
    /// What a stack has, as TOML.
    pub shown: fn(&Stack) -> String,
}

/// Declares the keys of the section, each after the field that it fills.
macro_rules! fields {
    ($($($field:ident).+: $type:ty = $name:literal, $meaning:literal $(, $check:expr)?;)+) => {
        /// All keys but the preset, in the order of reading.
        pub(crate) const FIELDS: &[Field] = &[$({
            const ROW: Declared<$type> = Declared::new($name, Absent::Preset, $meaning)$(.checked($check))?;
            Field {
                key: ROW.key,
                read: |reader, stack| {
                    let value = reader.take_or(TABLE, &ROW, <$type>::of(stack.$($field).+))?;
                    stack.$($field).+ = value.held();
                    Ok(())
                },
                shown: |stack| <$type>::of(stack.$($field).+).shown(),
            }
        }),+];

        /// The keys of the section.
        pub(crate) const KEYS: &[Key] = &[
            PRESET.key,
            $(Declared::<$type>::new($name, Absent::Preset, $meaning).key),+
        ];
    };
}

fields! {
    transport.packet_bytes: Sizes<41, 65_535> = "packet", "a full data packet";
    transport.header_bytes: Sizes<40, 120> = "header", "IP and TCP headers of a data packet, options included";
    transport.ack_bytes: Sizes<40, 120> = "ack", "a pure ACK without SACK blocks";
    transport.sack_on_wire: bool = "sack_on_wire", "whether SACK blocks make an ACK longer";
    transport.cwnd_pkts_initial: Packets = "initial_window", "initial window", window;
    transport.ssthresh_pkts_initial: Packets = "initial_ssthresh", "initial slow start threshold", window;
    transport.rwnd_pkts: Packets = "receive_window", "receive window at most", window;
    transport.rwnd_grows: bool = "receive_window_grows",
        "whether without SACK the receive window begins at 64 KiB and grows by two segments with each that comes in \
         order, as Linux's does, and not behind a hole; else it is there from the beginning";
    transport.send_buffer: bool = "send_buffer",
        "whether a sender's buffer is that of Linux 6.1: room for 1.7 times its largest window, or 97 segments of \
         1440 B, of which one that was selectively acknowledged takes half; when it was full more is written once a \
         third of it is free; else room for all";
    transport.small_queue: bool = "small_queue",
        "whether of a connection two packets wait in its host's own queue, four of repetitions, or a millisecond's \
         worth at its pacing rate if that is more, as under Linux, and the rest in the socket; else all that its \
         window lets go. First links with ARQ, jitter, fair queues or a law that drops at departure hold all";
    transport.recovery: Recovery = "recovery",
        "`\"sack\"` (RFC 6675), `\"rack\"` (RACK-TLP, RFC 8985), `\"newreno\"` (RFC 6582) or \
         `\"reno\"` (RFC 5681, section 3.2)";
    transport.dupthresh: Whole<1, 1_000> = "dupthresh", "duplicate ACKs that signal a loss";
    transport.limited_transmit: bool = "limited_transmit", "new segments on the first two duplicate ACKs (RFC 3042)";
    transport.delayed_ack_ns: Switch<Duration> = "delayed_ack",
        "every second segment is acknowledged, at the latest after this time; `false`: each at once";
    transport.quick_acks_pkts: Whole<0, QUICK_ACKS_PKTS_MAX> = "quick_acks",
        "with delayed ACKs: segments at the beginning of a connection that are acknowledged at once, in the preset \
         `linux` more where they are smaller; unless 0, the last one that is written so far, those behind a duplicate \
         (16), and with ECN behind a mark or a retransmission (2) or with CWR, are, too";
    transport.handshake: bool = "handshake",
        "whether a connection begins with an exchange of SYNs: a round trip, and the first RTT sample";
    transport.rate_reduction: bool = "rate_reduction",
        "whether a window is reduced in proportion to what is delivered (RFC 6937) and not at once; without SACK \
         duplicate ACKs tell that";
    transport.timestamps: bool = "timestamps",
        "whether ACKs have timestamps (RFC 7323), which some laws read; without, an ACK of a retransmission gives no \
         RTT sample. In a kernel headers need room for them, too: 52 B or more";
    transport.undo: bool = "undo",
        "whether a window that was reduced for a loss goes back when timestamps tell that nothing was lost (RFC 3522, \
         RFC 4015); needs `rtt_samples = \"per ack\"`";
    transport.frto: bool = "frto",
        "whether behind a timeout new data are sent first when an ACK advances, and the timeout is taken back where \
         one tells that something had arrived that was sent once before it: ACKs were lost or late (F-RTO, RFC 5682)";
    transport.dsack: bool = "dsack",
        "with SACK, whether receivers tell of segments that they have twice, from which RACK learns to wait longer for \
         late ones (D-SACK, RFC 2883, RFC 8985 section 6.2)";
    transport.option_space: bool = "option_space",
        "whether feedback takes room on the wire: an option of 8 B (VCP) or 12 B (XCP) in every header, for which SACK \
         blocks may leave none";
    transport.feedback: FeedbackForm = "feedback",
        "whether feedback of a law travels as the law wrote it, or as its option on the wire can say it: XCP's fields \
         as floats of 16 bits, rounded at both ends";
    transport.rto_ns_min: Duration = "rto_min", "smallest retransmission timeout", time;
    transport.rto_min_over_srtt: bool = "rto_min_over_srtt",
        "whether that counts on top of the smoothed RTT (Linux) or from zero (RFC 6298)";
    transport.rto_whole_ticks: bool = "rto_whole_ticks",
        "whether the smoothed RTT counts in the timeout in whole ticks of `clock_tick`, rounded down (ns-2), or with \
         its eighths of a tick";
    transport.timer_tick_ns: Duration = "timer_tick",
        "tick of the stack's timers, at most 1 s: timeouts, probes and delayed ACKs wait for whole ticks and one more; \
         63 ticks or longer end with a slot of 8, 64 or 512 ticks, as in Linux's timer wheel. Debian's kernels tick \
         every 4 ms; 0: timers are exact", |tick| match tick.0 {
            0..=1_000_000_000 => Ok(tick),
            _ => Err("allowed is 0 s to 1 s".to_owned()),
        };
    transport.rto_ns_max: Duration = "rto_max", "largest retransmission timeout", |max| match max.0 {
        1..1_000_000 => Err("allowed is 1 ms or more: a timer that never rests never ends".to_owned()),
        _ => time(max),
    };
    transport.rto_ns_initial: Duration = "rto_initial", "before the first RTT sample", time;
    transport.ts_tick_ns: Duration = "clock_tick",
        "tick of the timestamp clock, from which RTT samples are taken", |tick| match tick.0 {
            1..1_000 => Err("allowed is 1 us or more".to_owned()),
            _ => time(tick),
        };
    transport.rtt_samples: RttSamples = "rtt_samples",
        "which ACKs give an RTT sample: each that advances (RFC 7323), with `\"per sack\"` also those that only tell \
         in SACK blocks of segments sent once, as in Linux; or one new segment at a time is timed, and given up when a \
         recovery or a timeout begins (RFC 6298, section 3)";
    transport.recovery_exit: RecoveryExit = "recovery_exit",
        "without SACK: whether the ACK that ends a recovery only brings the window to ssthresh (RFC 5681, section \
         3.2), or the law acts on it too, as in ns-2";
    transport.rto_variance: RtoVariance = "rto_variance",
        "from what the timeout's variance comes: each `\"sample\"` (RFC 6298), or the largest mean deviation of a \
         `\"round trip\"`, towards which it decays by a quarter of the distance in each, as Linux's does; the preset \
         `linux` has that without SACK";
    transport.partial_acks: PartialAcks = "partial_acks",
        "without SACK: whether the first partial ACK of a recovery restarts the timeout, so that a window with many \
         holes is left to slow start (Impatient), or each does, and a hole is repaired every round trip \
         (Slow-but-Steady); RFC 3782, section 4";
    transport.pacing: Pacing = "pacing",
        "where the law names a rate: segments leave at it, or one with each ACK and one more when a segment's time has \
         passed, as in VCP's release 0.1";
    transport.ip_id: IpId = "ip_id",
        "IP identification, whose lowest bit tells the routers of `dcp_ew` which half of the load a packet is for: \
         counting up from a random start as Linux's, random, or always 0, which tells nothing";
    ecn: Ecn = "ecn",
        "`\"auto\"`: on where the law reacts to marks and the routers mark packets of any kind (`red`, `rem`, `codel`, \
         `cw`)";
    transport.ecn_after_recovery: bool = "ecn_after_recovery",
        "whether an ECN echo is answered as soon as a recovery is over, as Linux does; else only once something is \
         acknowledged that was sent since the window was last reduced, as in ns-2";
    transport.keeps_recovery_point: bool = "keeps_recovery_point",
        "whether a fast recovery that begins while the window is being reduced for an ECN echo is over where that \
         reduction is, as in Linux, so that later losses begin another one; else where all is acknowledged that was \
         sent before it began (RFC 6675)";
}

fn window(packets: Packets) -> Result<Packets, String> {
    positive(packets.0, "a window").map(Packets)
}

fn time(time: Duration) -> Result<Duration, String> {
    positive(time.0, "this time").map(Duration)
}

/// Reads the section.
pub fn read(reader: &mut Reader<'_>) -> Result<Stack, Refusal> {
    let mut stack = reader.take(TABLE, &PRESET)?;
    let rto_variance = stack.transport.rto_variance;
    for field in FIELDS {
        (field.read)(reader, &mut stack)?;
        // With SACK the preset's has not been held against a kernel. The key stands behind that of the recovery.
        if reader.node("transport.rto_variance").is_none() {
            let has_sack = stack.transport.recovery.has_sack();
            stack.transport.rto_variance = if has_sack { RtoVariance::Sample } else { rto_variance };
        }
        // Timestamps tell nothing of a reduction where the scenario takes them away.
        if reader.node("transport.undo").is_none() {
            stack.transport.undo &=
                stack.transport.rtt_samples != RttSamples::PerRoundTrip && stack.transport.timestamps;
        }
        // A window grows by payload.
        if reader.node("transport.quick_acks").is_none() && stack.transport.quick_acks_pkts > 0 {
            let payload_bytes = stack
                .transport
                .packet_bytes
                .saturating_sub(stack.transport.header_bytes);
            stack.transport.quick_acks_pkts = linux_quick_acks_pkts(payload_bytes.max(1));
        }
    }
    check(reader, &stack.transport)?;
    Ok(stack)
}

/// What cannot go together.
fn check(reader: &Reader<'_>, transport: &Transport) -> Result<(), Refusal> {
    let (packet_bytes, header_bytes) = (transport.packet_bytes, transport.header_bytes);
    // Where only one of the two is given, that one is the mistake.
    let header_is_given = reader.node("transport.header").is_some();
    let (path, why) = if header_bytes >= packet_bytes && header_is_given {
        let why = format!("allowed is less than transport.packet, {packet_bytes} B, of which some is payload");
        ("transport.header", why)
    } else if header_bytes >= packet_bytes {
        let payload = format!(
            "allowed is {} B or more: the headers take {header_bytes} B",
            header_bytes + 1
        );
        ("transport.packet", payload)
    } else if transport.option_space && packet_bytes - header_bytes <= LAW_OPTION_BYTES_MAX {
        let why = format!(
            "allowed is {} B or more where transport.option_space makes room for feedback",
            header_bytes + LAW_OPTION_BYTES_MAX + 1
        );
        ("transport.packet", why)
    } else if transport.undo && !(transport.timestamps && transport.rtt_samples != RttSamples::PerRoundTrip) {
        let why =
            "timestamps tell it, which needs transport.timestamps and not transport.rtt_samples = \"per round trip\"";
        ("transport.undo", why.to_owned())
    } else if transport.rto_ns_min > transport.rto_ns_max {
        ("transport.rto_min", "it exceeds transport.rto_max".to_owned())
    } else {
        return Ok(());
    };
    Err(reader.refuse(path, &why))
}
