//! What is seen at places on the way: at the hosts of senders their data as they leave and their ACKs as they arrive
//! (SYNs are neither), and behind links whatever has crossed them.
//!
//! A tap is a mark in routes, so that a run without one does nothing for it.

use std::fmt;

use fadelab_path::packet::FeedbackBytes;
use fadelab_run::flow::FlowSpec;
use fadelab_run::network::LinkId;

use crate::clock::{Now, TickClock};
use crate::packet::{Hidden, Packet, SACK_BLOCKS_MAX, flag};
pub use crate::tunnel::EspNumber;

/// Where a packet is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At the host of its flow's sender.
    Host,
    /// Where it arrives over a link, before anything there happens to it.
    Link(LinkId),
}

/// One packet at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a bit of the packet by itself")]
pub struct Sighting {
    pub place: Place,
    /// Index of its flow.
    pub flow: u32,
    /// When it left or arrived.
    pub time_ns: u64,
    /// Sent by the flow's sender; otherwise to it.
    pub is_data: bool,
    /// Before the first data: a SYN, an answer to one, or what a client says before data come to it. `segment` says
    /// nothing then.
    pub greeting: Option<Greeting>,
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
    /// The last that the application has written so far.
    pub push: bool,
    /// `TSval` (RFC 7323), in the ticks of the transport.
    pub ts_val: u32,
    /// `TSecr`, in the same ticks; of data the `TSval` of the ACK that came before them.
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
    /// What is outside, where it is in a tunnel; all else is of the packet inside.
    pub outer: Option<Outer>,
}

/// What a packet says before the first data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Greeting {
    Syn,
    /// The client's acknowledgement of the answer to its SYN.
    Acknowledged,
    /// It asks for a download.
    Request,
}

/// The outer header of a packet in a tunnel (ESP, RFC 4303).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outer {
    /// Index of the tunnel.
    pub tunnel: u32,
    /// Whether it goes from the tunnel's second end to its first.
    pub is_backward: bool,
    pub esp: EspNumber,
    /// IP bytes, all of them.
    pub ip_bytes: u16,
    pub ip_id: u16,
    pub ecn: u8,
}

/// Takes what is seen at some places.
pub(crate) struct Tap {
    /// By flow: the clock of its timestamps; `None` is not shown.
    clocks: Vec<Option<TickClock>>,
    links: Vec<LinkId>,
    /// By flow: `TSval` of the ACK that came last, which data echo. The simulation needs it nowhere else.
    ts_recent_us: Vec<u32>,
    sink: Box<dyn FnMut(&Sighting)>,
}

impl Tap {
    /// A tap at the hosts of the flows `shown` of `flows`, and behind `links`; with one of these at all hosts.
    pub fn new(flows: &[FlowSpec], shown: &[u32], links: &[LinkId], sink: Box<dyn FnMut(&Sighting)>) -> Self {
        let clock = |(flow, spec): (usize, &FlowSpec)| {
            let is_shown = !links.is_empty() || shown.contains(&(flow as u32));
            is_shown.then(|| TickClock::new(spec.transport.ts_tick_ns))
        };
        Self {
            clocks: flows.iter().enumerate().map(clock).collect(),
            links: links.to_vec(),
            ts_recent_us: vec![0; flows.len()],
            sink,
        }
    }

    pub fn shows(&self, flow: u32) -> bool {
        self.clocks[flow as usize].is_some()
    }

    pub fn has_links(&self) -> bool {
        !self.links.is_empty()
    }

    pub fn shows_link(&self, link: LinkId) -> bool {
        self.links.contains(&link)
    }

    /// A packet passes the host of its flow's sender. Data are told what they echo.
    pub fn show_at_host(&mut self, now_ns: u64, packet: &mut Packet, feedback: Option<&FeedbackBytes>) {
        if packet.tcp_flags & flag::SYN != 0 {
            return;
        }
        let recent_us = &mut self.ts_recent_us[packet.flow as usize];
        if packet.header.is_data() {
            packet.ts_ecr_us = *recent_us;
        } else {
            *recent_us = packet.ts_val_us;
        }
        self.show(Place::Host, now_ns, packet, None, feedback);
    }

    /// A packet is at a place; `hidden` is what is in it where it is in a tunnel.
    pub fn show(
        &mut self,
        place: Place,
        now_ns: u64,
        packet: &Packet,
        hidden: Option<&Hidden>,
        feedback: Option<&FeedbackBytes>,
    ) {
        let now = Now::at(now_ns);
        let header = hidden.map_or(&packet.header, |hidden| &hidden.header);
        let is_data = header.is_data();
        let clock = self.clocks[packet.flow as usize];
        let stamp = |time_us| clock.map_or(0, |clock| clock.stamp(time_us, now));
        (self.sink)(&Sighting {
            place,
            flow: packet.flow,
            time_ns: now_ns,
            is_data,
            greeting: greeting(packet.tcp_flags),
            ip_bytes: header.ip_bytes as u16,
            ip_id: header.ip_id,
            ecn: header.ecn,
            segment: packet.seq,
            ece: packet.tcp_flags & flag::ECE != 0,
            cwr: packet.tcp_flags & flag::CWR != 0,
            push: packet.tcp_flags & flag::PUSH != 0,
            ts_val: stamp(packet.ts_val_us),
            ts_ecr: if packet.ts_ecr_us == 0 {
                0
            } else {
                stamp(packet.ts_ecr_us)
            },
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
            outer: hidden.map(|hidden| Outer {
                tunnel: hidden.way / 2,
                is_backward: hidden.way % 2 == 1,
                esp: hidden.esp,
                ip_bytes: packet.header.ip_bytes as u16,
                ip_id: packet.header.ip_id,
                ecn: packet.header.outer_ecn,
            }),
        });
    }
}

fn greeting(tcp_flags: u8) -> Option<Greeting> {
    let has = |flag| tcp_flags & flag != 0;
    match (has(flag::SYN), has(flag::REQUEST), has(flag::GREETED)) {
        (false, ..) => None,
        (true, true, _) => Some(Greeting::Request),
        (true, false, true) => Some(Greeting::Acknowledged),
        (true, false, false) => Some(Greeting::Syn),
    }
}

impl fmt::Debug for Tap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tap")
            .field("clocks", &self.clocks)
            .field("links", &self.links)
            .finish_non_exhaustive()
    }
}
