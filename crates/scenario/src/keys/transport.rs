//! Keys of `[transport]`.

use super::Absent::{Is, Preset};
use super::{Key, key};
use crate::kind::Kind::{Choice, Duration, OrBool, OrFalse, Packets, Size, Switch, Whole};

pub(super) const TRANSPORT: &[Key] = &[
    key(
        "preset",
        Choice(&["rfc", "ns2", "vcp-release", "linux"]),
        Is("\"rfc\""),
        "the stack that is imitated; each of its values may be overridden",
    ),
    key("packet", Size, Preset, "a full data packet, 41 B to 65535 B"),
    key(
        "header",
        Size,
        Preset,
        "IP and TCP headers of a data packet, options included, 40 B to 120 B",
    ),
    key("ack", Size, Preset, "a pure ACK without SACK blocks, 40 B to 120 B"),
    key("sack_on_wire", Switch, Preset, "whether SACK blocks make an ACK longer"),
    key("initial_window", Packets, Preset, "initial window"),
    key("initial_ssthresh", Packets, Preset, "initial slow start threshold"),
    key(
        "receive_window",
        Packets,
        Preset,
        "receive window; autotuning is not imitated",
    ),
    key(
        "recovery",
        Choice(&["sack", "rack", "newreno", "reno"]),
        Preset,
        "`\"sack\"` (RFC 6675), `\"rack\"` (RACK-TLP, RFC 8985), `\"newreno\"` (RFC 6582) or \
         `\"reno\"` (RFC 5681, section 3.2)",
    ),
    key(
        "dupthresh",
        Whole(1, 1_000),
        Preset,
        "duplicate ACKs that signal a loss",
    ),
    key(
        "limited_transmit",
        Switch,
        Preset,
        "new segments on the first two duplicate ACKs (RFC 3042)",
    ),
    key(
        "delayed_ack",
        OrFalse(&Duration),
        Preset,
        "every second segment is acknowledged, at the latest after this time; `false`: each at once",
    ),
    key(
        "quick_acks",
        Whole(0, 10_000),
        Preset,
        "with delayed ACKs: segments at the beginning of a connection that are acknowledged at once",
    ),
    key(
        "handshake",
        Switch,
        Preset,
        "whether a connection begins with an exchange of SYNs: a round trip, and the first RTT sample",
    ),
    key(
        "rate_reduction",
        Switch,
        Preset,
        "whether a window is reduced in proportion to what is delivered (RFC 6937) and not at once; needs SACK",
    ),
    key(
        "option_space",
        Switch,
        Preset,
        "whether feedback takes room on the wire: an option of 8 B (VCP) or 12 B (XCP) in every header, for which SACK \
         blocks may leave none",
    ),
    key(
        "feedback",
        Choice(&["exact", "option"]),
        Preset,
        "whether feedback of a law travels as the law wrote it, or as its option on the wire can say it: XCP's fields \
         as floats of 16 bits, rounded at both ends",
    ),
    key("rto_min", Duration, Preset, "smallest retransmission timeout"),
    key(
        "rto_min_over_srtt",
        Switch,
        Preset,
        "whether that counts on top of the smoothed RTT (Linux) or from zero (RFC 6298)",
    ),
    key("rto_max", Duration, Preset, "largest retransmission timeout"),
    key("rto_initial", Duration, Preset, "before the first RTT sample"),
    key(
        "clock_tick",
        Duration,
        Preset,
        "tick of the timestamp clock, from which RTT samples are taken",
    ),
    key(
        "rtt_samples",
        Choice(&["per ack", "per round trip"]),
        Preset,
        "whether each ACK that advances gives an RTT sample (RFC 7323), or one new segment at a time is timed, and \
         given up when a recovery or a timeout begins (RFC 6298, section 3)",
    ),
    key(
        "recovery_exit",
        Choice(&["hold", "act"]),
        Preset,
        "without SACK: whether the ACK that ends a recovery only brings the window to ssthresh (RFC 5681, section \
         3.2), or the law acts on it too, as in ns-2",
    ),
    key(
        "pacing",
        Choice(&["rate", "per ack"]),
        Preset,
        "where the law names a rate: segments leave at it, or one with each ACK and one more when a segment's time has \
         passed, as in VCP's release 0.1",
    ),
    key(
        "ecn",
        OrBool(&Choice(&["auto"])),
        Preset,
        "`\"auto\"`: on where the law reacts to marks and the routers mark packets of any kind (`red`, `rem`, `codel`)",
    ),
];
