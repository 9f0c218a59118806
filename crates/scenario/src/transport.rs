//! `[transport]`: presets that imitate a stack, and overrides of each of their values.

use fadelab_sim::spec::{FeedbackForm, OPTION_BYTES_MAX, Pacing, Recovery, RecoveryExit, RttSamples, Transport};

use crate::document::Raw;
use crate::error::Refusal;
use crate::reader::Reader;
use crate::unit::{Duration, Packets, Size, Switch, positive};

/// A window that never limits: larger than any bandwidth-delay product a scenario here is meant for.
const WINDOW_PKTS_UNLIMITED: u32 = 1_000_000;

/// Linux acknowledges each segment at once while its receive window grows (`tcp_grow_window` of
/// `net/ipv4/tcp_input.c`): by two segments with each, from 64 KiB to half of the largest buffer, 6 MiB (`tcp_rmem`).
const LINUX_QUICK_ACKS_PKTS: u16 = (((3 << 20) - (64 << 10)) / (2 * 1_448)) as u16;

/// ns-2.35 as its defaults and its usual scripts have it: 1000 B of payload, one RTT sample a round trip in ticks of 10
/// ms (`timestamps_` false, `tcpTick_` 0.01), an ACK for each packet, headers that never grow. Its Reno and
/// `NewReno` let the ACK that ends a recovery open the window (`recv_newack_helper`). `window_`, 20 packets by
/// default, is lifted as every script does.
/// Source: ns-2.35 tcl/lib/ns-default.tcl.
const NS2: Transport = Transport {
    packet_bytes: 1_040,
    header_bytes: 40,
    ack_bytes: 40,
    sack_on_wire: false,
    cwnd_pkts_initial: 2,
    ssthresh_pkts_initial: WINDOW_PKTS_UNLIMITED,
    rwnd_pkts: WINDOW_PKTS_UNLIMITED,
    recovery: Recovery::Sack,
    dupthresh: 3,
    limited_transmit: true,
    delayed_ack_ns: None,
    rto_ns_min: 200_000_000,
    rto_min_over_srtt: false,
    rto_ns_max: 60_000_000_000,
    rto_ns_initial: 3_000_000_000,
    ts_tick_ns: 10_000_000,
    rtt_samples: RttSamples::PerRoundTrip,
    recovery_exit: RecoveryExit::Act,
    pacing: Pacing::Rate,
    ecn: false,
    handshake: false,
    quick_acks_pkts: 0,
    option_space: false,
    feedback: FeedbackForm::Exact,
    rate_reduction: false,
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
    recovery: Recovery::Sack,
    dupthresh: 3,
    limited_transmit: true,
    delayed_ack_ns: Some(200_000_000),
    rto_ns_min: 1_000_000_000,
    rto_min_over_srtt: false,
    rto_ns_max: 60_000_000_000,
    rto_ns_initial: 1_000_000_000,
    ts_tick_ns: 1_000_000,
    rtt_samples: RttSamples::PerAck,
    recovery_exit: RecoveryExit::Hold,
    pacing: Pacing::Rate,
    ecn: false,
    handshake: false,
    quick_acks_pkts: 0,
    option_space: false,
    feedback: FeedbackForm::Exact,
    rate_reduction: false,
};

/// Linux, include/net/tcp.h: `TCP_RTO_MIN` 200 ms, `TCP_RTO_MAX` 120 s, `TCP_TIMEOUT_INIT` 1 s, `TCP_DELACK_MIN` 40 ms,
/// `TCP_INIT_CWND` 10, timestamps in ms; RACK-TLP and rate reduction since 4.3 and 4.4
/// (`net/ipv4/tcp_recovery.c`, `tcp_input.c`). docs/design.md says what is left out.
const LINUX: Transport = Transport {
    recovery: Recovery::Rack,
    handshake: true,
    quick_acks_pkts: LINUX_QUICK_ACKS_PKTS,
    option_space: true,
    feedback: FeedbackForm::Option,
    rate_reduction: true,
    delayed_ack_ns: Some(40_000_000),
    rto_ns_min: 200_000_000,
    rto_min_over_srtt: true,
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
const NS2_LAWS: LawChoices = &[("counting", "acks"), ("halving", "exact")];

/// What release 0.1 of VCP (Xia and others, February 2006) does otherwise than the law by default, sender and router.
const VCP_RELEASE_LAWS: LawChoices = &[
    ("counting", "acks"),
    ("halving", "exact"),
    ("ticks", "release"),
    ("pacing", "release"),
    ("target", "moving"),
    ("queue_filter", "release"),
];

/// The section as read.
pub struct Stack {
    /// Its values.
    pub transport: Transport,
    /// Whether flows ask for ECN; `None` for `"auto"`: that depends on each flow's law.
    pub ecn: Option<bool>,
    /// What stands for defaults of laws.
    pub laws: LawChoices,
    /// Whether ACKs go first at VCP's routers.
    pub vcp_acks_first: bool,
}

/// Reads the section.
pub fn read(reader: &mut Reader<'_>) -> Result<Stack, Refusal> {
    let (preset, laws, vcp_acks_first) = reader.choice(
        "transport.preset",
        Some("rfc"),
        &[
            ("rfc", (RFC, &[][..], false)),
            ("ns2", (NS2, NS2_LAWS, false)),
            ("vcp-release", (VCP_RELEASE, VCP_RELEASE_LAWS, true)),
            ("linux", (LINUX, &[], false)),
        ],
    )?;
    let (packet_bytes, header_bytes) = sizes(reader, &preset)?;
    let recovery = recovery(reader, preset.recovery)?;
    let transport = Transport {
        packet_bytes,
        header_bytes,
        ack_bytes: bytes(reader, "transport.ack", preset.ack_bytes, 40..=120)?,
        sack_on_wire: reader.or("transport.sack_on_wire", preset.sack_on_wire)?,
        cwnd_pkts_initial: packets(reader, "transport.initial_window", preset.cwnd_pkts_initial)?,
        ssthresh_pkts_initial: packets(reader, "transport.initial_ssthresh", preset.ssthresh_pkts_initial)?,
        rwnd_pkts: packets(reader, "transport.receive_window", preset.rwnd_pkts)?,
        recovery,
        dupthresh: dupthresh(reader, preset.dupthresh)?,
        limited_transmit: reader.or("transport.limited_transmit", preset.limited_transmit)?,
        delayed_ack_ns: reader
            .or("transport.delayed_ack", Switch(preset.delayed_ack_ns.map(Duration)))?
            .0
            .map(|d| d.0),
        rto_ns_min: time(reader, "transport.rto_min", preset.rto_ns_min)?,
        rto_min_over_srtt: reader.or("transport.rto_min_over_srtt", preset.rto_min_over_srtt)?,
        rto_ns_max: time(reader, "transport.rto_max", preset.rto_ns_max)?,
        rto_ns_initial: time(reader, "transport.rto_initial", preset.rto_ns_initial)?,
        ts_tick_ns: time(reader, "transport.clock_tick", preset.ts_tick_ns)?,
        rtt_samples: word(
            reader,
            "transport.rtt_samples",
            preset.rtt_samples,
            &[
                ("per ack", RttSamples::PerAck),
                ("per round trip", RttSamples::PerRoundTrip),
            ],
        )?,
        recovery_exit: word(
            reader,
            "transport.recovery_exit",
            preset.recovery_exit,
            &[("hold", RecoveryExit::Hold), ("act", RecoveryExit::Act)],
        )?,
        pacing: word(
            reader,
            "transport.pacing",
            preset.pacing,
            &[("rate", Pacing::Rate), ("per ack", Pacing::PerAck)],
        )?,
        ecn: false,
        handshake: reader.or("transport.handshake", preset.handshake)?,
        quick_acks_pkts: quick_acks(reader, preset.quick_acks_pkts)?,
        option_space: reader.or("transport.option_space", preset.option_space)?,
        feedback: feedback(reader, preset.feedback)?,
        rate_reduction: reader.or("transport.rate_reduction", preset.rate_reduction && recovery.has_sack())?,
    };
    check(reader, &transport)?;
    let ecn = ecn(reader)?;
    Ok(Stack {
        transport,
        ecn,
        laws,
        vcp_acks_first,
    })
}

fn feedback(reader: &mut Reader<'_>, preset: FeedbackForm) -> Result<FeedbackForm, Refusal> {
    let forms = [("exact", FeedbackForm::Exact), ("option", FeedbackForm::Option)];
    word(reader, "transport.feedback", preset, &forms)
}

/// The packet and its headers, of which the packet has more.
fn sizes(reader: &mut Reader<'_>, preset: &Transport) -> Result<(u32, u32), Refusal> {
    let packet_bytes = bytes(reader, "transport.packet", preset.packet_bytes, 41..=65_535)?;
    let header_bytes = bytes(reader, "transport.header", preset.header_bytes, 40..=120)?;
    if header_bytes >= packet_bytes {
        // Where only one of the two is given, that one is the mistake.
        let is_packet = reader.node("transport.header").is_none();
        let (path, why) = if is_packet {
            let why = format!(
                "allowed is {} B or more: the headers take {header_bytes} B",
                header_bytes + 1
            );
            ("transport.packet", why)
        } else {
            let why = format!("allowed is less than transport.packet, {packet_bytes} B, of which some is payload");
            ("transport.header", why)
        };
        return Err(reader.refuse(path, &why));
    }
    Ok((packet_bytes, header_bytes))
}

/// What cannot go together.
fn check(reader: &mut Reader<'_>, transport: &Transport) -> Result<(), Refusal> {
    if transport.option_space && transport.packet_bytes - transport.header_bytes <= OPTION_BYTES_MAX {
        let why = format!(
            "allowed is {} B or more where transport.option_space makes room for feedback",
            transport.header_bytes + OPTION_BYTES_MAX + 1
        );
        return Err(reader.refuse("transport.packet", &why));
    }
    if transport.rate_reduction && !transport.recovery.has_sack() {
        return Err(reader.refuse(
            "transport.rate_reduction",
            "it counts what was delivered, which needs transport.recovery = \"sack\" or \"rack\"",
        ));
    }
    if transport.ts_tick_ns < 1_000 {
        return Err(reader.refuse("transport.clock_tick", "allowed is 1 us or more"));
    }
    if transport.rto_ns_max < 1_000_000 {
        return Err(reader.refuse(
            "transport.rto_max",
            "allowed is 1 ms or more: a timer that never rests never ends",
        ));
    }
    if transport.rto_ns_min > transport.rto_ns_max {
        return Err(reader.refuse("transport.rto_min", "it exceeds transport.rto_max"));
    }
    Ok(())
}

fn bytes(
    reader: &mut Reader<'_>,
    path: &str,
    default: u32,
    allowed: std::ops::RangeInclusive<u64>,
) -> Result<u32, Refusal> {
    reader.map(path, Some(Size(u64::from(default))), "", |size| {
        let range = format!("allowed is {} B to {} B", allowed.start(), allowed.end());
        if allowed.contains(&size.0) {
            Ok(size.0 as u32)
        } else {
            Err(range)
        }
    })
}

fn packets(reader: &mut Reader<'_>, path: &str, default: u32) -> Result<u32, Refusal> {
    reader.map(path, Some(Packets(u64::from(default))), "", |packets| {
        positive(packets.0, "a window")?;
        u32::try_from(packets.0).map_err(|_| format!("allowed is at most {} pkt", u32::MAX))
    })
}

fn quick_acks(reader: &mut Reader<'_>, default: u16) -> Result<u16, Refusal> {
    let read = |count: u32| match u16::try_from(count) {
        Ok(count @ 0..=10_000) => Ok(count),
        _ => Err("allowed is 0 to 10000".to_owned()),
    };
    reader.map("transport.quick_acks", Some(u32::from(default)), "", read)
}

fn time(reader: &mut Reader<'_>, path: &str, default_ns: u64) -> Result<u64, Refusal> {
    reader.map(path, Some(Duration(default_ns)), "", |time| {
        positive(time.0, "this time")
    })
}

fn dupthresh(reader: &mut Reader<'_>, default: u32) -> Result<u32, Refusal> {
    reader.map("transport.dupthresh", Some(default), "", |count: u32| {
        if (1..=1_000).contains(&count) {
            Ok(count)
        } else {
            Err("allowed is 1 to 1000".to_owned())
        }
    })
}

fn recovery(reader: &mut Reader<'_>, default: Recovery) -> Result<Recovery, Refusal> {
    let name = match default {
        Recovery::Sack => "sack",
        Recovery::Rack => "rack",
        Recovery::NewReno => "newreno",
        Recovery::Reno => "reno",
    };
    let choices = [
        ("sack", Recovery::Sack),
        ("rack", Recovery::Rack),
        ("newreno", Recovery::NewReno),
        ("reno", Recovery::Reno),
    ];
    reader.choice("transport.recovery", Some(name), &choices)
}

/// One of several words, by default that of `default`.
fn word<T: Copy + PartialEq>(
    reader: &mut Reader<'_>,
    path: &str,
    default: T,
    choices: &[(&str, T)],
) -> Result<T, Refusal> {
    let chosen = choices.iter().find(|(_, value)| *value == default);
    reader.choice(path, chosen.map(|(word, _)| *word), choices)
}

/// `ecn` is `"auto"`, `true` or `false`.
fn ecn(reader: &mut Reader<'_>) -> Result<Option<bool>, Refusal> {
    let path = "transport.ecn";
    if let Some(Raw::Bool(_)) = reader.node(path).map(|node| &node.raw) {
        return reader.given(path);
    }
    reader.map(path, Some("auto".to_owned()), "", |word: String| match word.as_str() {
        "auto" => Ok(None),
        _ => Err("allowed is \"auto\", true or false".to_owned()),
    })
}
