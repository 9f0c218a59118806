//! IPv4 and TCP or UDP headers for what was seen in the simulator.
//!
//! The simulator counts segments; on the wire bytes are counted. The first byte of data has the sequence number 1, as
//! if both ends had begun with 0. Hosts do not show SYNs, links do: each has the number 0, also where a flow has
//! several connections, of which the numbers of data are one sequence. Feedback of a law stands where the kernel's
//! programs put it, in the same bytes: `laws/wire` has the codec of both.

use etherparse::{IpEcn, IpNumber, Ipv4Header, TcpHeader, UdpHeader};
use fadelab_laws::Codec;
use fadelab_run::app::App;
use fadelab_run::flow::FlowSpec;
use fadelab_sim::tap::{Greeting, Sighting};

/// Bytes of an IPv4 header without options.
const IP_BYTES: usize = 20;

/// Bytes of a TCP header without options, and with as many as fit.
const TCP_BYTES: (usize, usize) = (20, 60);

/// Bytes of a UDP header.
const UDP_BYTES: usize = 8;

/// Bytes that SACK blocks add to an ACK at most, padding included (RFC 2018).
const SACK_BYTES_MAX: u32 = 4 + 3 * 8;

/// Port of the receiver; the sender's is 40000.
const PORTS: (u16, u16) = (40_000, 5_001);

/// Payload is not recorded: it counts in checksums as zeros.
static ZEROS: [u8; 65_536] = [0; 65_536];

/// The two ends of a flow, and what the headers of a packet depend on besides it.
#[derive(Debug)]
pub struct Host {
    source: [u8; 4],
    destination: [u8; 4],
    /// TCP and IP header of data, or UDP and IP header.
    header_bytes: usize,
    mss_bytes: u32,
    law: Option<&'static str>,
    /// How packets carry what the law says; `None`: they carry nothing.
    codec: Option<Codec>,
    window: u16,
    /// Whether the receiver is a client that begins connections.
    is_download: bool,
    ack_bytes: u16,
    /// The segment that is shorter than the others, and by how much.
    short: Option<(u32, u32)>,
}

/// A packet as it is recorded: its headers, and what had no room in them.
#[derive(Debug, PartialEq, Eq)]
pub struct Recorded {
    /// IP header and what follows, without payload.
    pub headers: Vec<u8>,
    /// IP bytes, payload included.
    pub ip_bytes: u32,
    /// What the packet carries in the simulation but not in its headers; may be empty.
    pub comment: String,
}

impl Host {
    /// The host of a flow's sender; the flow's number makes its addresses.
    ///
    /// # Errors
    /// Headers of a size that IPv4 and TCP cannot have.
    pub fn of(flow: &FlowSpec, number: u32) -> Result<Self, String> {
        let tcp = &flow.transport;
        let [_, _, high, low] = number.to_be_bytes();
        let codec = flow.sender.and_then(|law| Codec::of(law, flow.receiver));
        let option_bytes = codec
            .filter(|_| tcp.option_space)
            .map_or(0, |codec| codec.option_bytes() as u32);
        let header_bytes = if flow.sender.is_some() {
            (tcp.header_bytes + option_bytes) as usize
        } else {
            IP_BYTES + UDP_BYTES
        };
        if flow.sender.is_some() {
            let most = if tcp.sack_on_wire { SACK_BYTES_MAX } else { 0 };
            for (key, bytes) in [
                ("header", tcp.header_bytes + option_bytes),
                ("ack", tcp.ack_bytes),
                ("ack", tcp.ack_bytes + most),
            ] {
                let allowed = (IP_BYTES + TCP_BYTES.0) as u32..=(IP_BYTES + TCP_BYTES.1) as u32;
                if bytes % 4 != 0 || !allowed.contains(&bytes) {
                    let (low, high) = (allowed.start(), allowed.end());
                    return Err(format!(
                        "transport.{key} of {bytes} bytes, SACK blocks and feedback included, makes no IPv4 and TCP \
                         header; allowed are {low} to {high} in steps of 4"
                    ));
                }
            }
        }
        Ok(Self {
            source: [10, 1, high, low],
            destination: [10, 2, high, low],
            header_bytes,
            mss_bytes: tcp.packet_bytes - header_bytes as u32,
            law: flow.sender.map(fadelab_laws::Sender::name),
            codec,
            window: u16::try_from(u64::from(tcp.rwnd_pkts) * u64::from(tcp.packet_bytes)).unwrap_or(u16::MAX),
            is_download: matches!(flow.app, App::Http { .. }),
            ack_bytes: tcp.ack_bytes as u16,
            short: None,
        })
    }

    /// Is told of each packet that leaves or reaches the host of the sender, before it is seen anywhere else.
    pub fn note(&mut self, seen: &Sighting) {
        if !seen.is_data || self.law.is_none() {
            return;
        }
        let payload_bytes = u32::from(seen.ip_bytes) - self.header_bytes as u32;
        if payload_bytes < self.mss_bytes {
            self.short = Some((seen.segment, self.mss_bytes - payload_bytes));
        }
    }

    /// The headers of a packet.
    pub fn record(&self, seen: &Sighting) -> Recorded {
        let (source, destination) = if seen.is_data {
            (self.source, self.destination)
        } else {
            (self.destination, self.source)
        };
        let protocol = if self.law.is_some() {
            IpNumber::TCP
        } else {
            IpNumber::UDP
        };
        let payload_bytes = seen.ip_bytes.saturating_sub(IP_BYTES as u16);
        let mut ip = Ipv4Header::new(payload_bytes, 64, protocol, source, destination).expect("below 65516 bytes");
        ip.identification = seen.ip_id;
        ip.ecn = IpEcn::try_new(seen.ecn & 3).expect("two bits");
        ip.header_checksum = ip.calc_header_checksum();
        let mut headers = ip.to_bytes().to_vec();
        let mut comment = String::new();
        if self.law.is_some() {
            let tcp = self.tcp(seen, &ip, &mut comment);
            headers.extend_from_slice(&tcp.to_bytes());
        } else {
            let payload = &ZEROS[..usize::from(payload_bytes).saturating_sub(UDP_BYTES)];
            let udp = UdpHeader::with_ipv4_checksum(PORTS.0, PORTS.1, &ip, payload).expect("below 65508 bytes");
            headers.extend_from_slice(&udp.to_bytes());
        }
        Recorded {
            headers,
            ip_bytes: u32::from(seen.ip_bytes),
            comment,
        }
    }

    fn tcp(&self, seen: &Sighting, ip: &Ipv4Header, comment: &mut String) -> TcpHeader {
        let (sequence, acknowledged, ports) = if seen.is_data {
            (self.byte(seen.segment), 1, PORTS)
        } else {
            (1, self.byte(seen.segment), (PORTS.1, PORTS.0))
        };
        let tcp_bytes = match seen.greeting {
            None if seen.is_data => self.header_bytes,
            Some(Greeting::Request) => usize::from(self.ack_bytes),
            _ => usize::from(seen.ip_bytes),
        } - IP_BYTES;
        let mut tcp = TcpHeader::new(ports.0, ports.1, sequence, self.window);
        (tcp.ack, tcp.acknowledgment_number) = (true, acknowledged);
        (tcp.ece, tcp.cwr, tcp.psh) = (seen.ece, seen.cwr, seen.push);
        self.greet(seen, &mut tcp);
        let options = self.options(seen, tcp_bytes - TCP_BYTES.0, comment);
        tcp.set_options_raw(&options).expect("at most 40 bytes");
        let payload = &ZEROS[..usize::from(seen.ip_bytes) - IP_BYTES - tcp_bytes];
        tcp.checksum = tcp.calc_checksum_ipv4(ip, payload).expect("below 65496 bytes");
        tcp
    }

    /// What is different before the first data.
    fn greet(&self, seen: &Sighting, tcp: &mut TcpHeader) {
        let Some(greeting) = seen.greeting else { return };
        (tcp.sequence_number, tcp.acknowledgment_number) = (1, 1);
        tcp.psh = greeting == Greeting::Request;
        if greeting == Greeting::Syn {
            tcp.syn = true;
            tcp.sequence_number = 0;
            // The end that did not begin answers.
            tcp.ack = seen.is_data == self.is_download;
            tcp.acknowledgment_number = u32::from(tcp.ack);
        }
    }

    /// Sequence number of the first byte of a segment, or of the one after the last byte that is acknowledged.
    fn byte(&self, segment: u32) -> u32 {
        let missing = self
            .short
            .filter(|&(short, _)| segment > short)
            .map_or(0, |(_, by_bytes)| by_bytes);
        segment
            .wrapping_mul(self.mss_bytes)
            .wrapping_sub(missing)
            .wrapping_add(1)
    }

    /// Timestamps, SACK blocks and, at the very end, the law's option, as far as `room` bytes reach; the sizes of
    /// packets are those of the simulation. What has no room goes into the comment.
    fn options(&self, seen: &Sighting, room: usize, comment: &mut String) -> Vec<u8> {
        const NOP: u8 = 1;
        let mut options = Vec::with_capacity(room);
        let mut left_out = Vec::new();
        if seen.greeting == Some(Greeting::Syn) && room >= 20 {
            // The segment's size, a window of no scale and permission to acknowledge selectively.
            options.extend_from_slice(&[2, 4]);
            options.extend_from_slice(&(self.mss_bytes as u16).to_be_bytes());
            options.extend_from_slice(&[3, 3, 0, NOP, 4, 2]);
            options.extend_from_slice(&[8, 10]);
        } else if room >= 12 {
            options.extend_from_slice(&[NOP, NOP, 8, 10]);
        }
        if !options.is_empty() {
            options.extend_from_slice(&seen.ts_val.to_be_bytes());
            options.extend_from_slice(&seen.ts_ecr.to_be_bytes());
        }
        let blocks = &seen.sack[..usize::from(seen.sack_blocks)];
        let edges = || blocks.iter().map(|&(first, end)| (self.byte(first), self.byte(end)));
        if !blocks.is_empty() && options.len() + 4 + 8 * blocks.len() <= room {
            options.extend_from_slice(&[NOP, NOP, 5, 2 + 8 * seen.sack_blocks]);
            for (first, end) in edges() {
                options.extend_from_slice(&first.to_be_bytes());
                options.extend_from_slice(&end.to_be_bytes());
            }
        } else if !blocks.is_empty() {
            let blocks: Vec<String> = edges().map(|(first, end)| format!("{first}-{end}")).collect();
            left_out.push(format!("SACK {}", blocks.join(" ")));
        }
        let option = self
            .codec
            .and_then(|codec| feedback(&codec, seen, room - options.len()));
        if option.is_none() && seen.feedback_len > 0 {
            let bytes = &seen.feedback[..usize::from(seen.feedback_len)];
            let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            left_out.push(format!("{} feedback {}", self.law.unwrap_or_default(), bytes.join(" ")));
        }
        let option = option.unwrap_or_default();
        options.resize(room - option.len(), NOP);
        options.extend_from_slice(&option);
        *comment = left_out.join("; ");
        options
    }
}

/// The option that a packet carries, with feedback or without any, where `room` bytes are enough for it.
fn feedback(codec: &Codec, seen: &Sighting, room: usize) -> Option<Vec<u8>> {
    if codec.option_bytes() > room {
        return None;
    }
    let mut option = codec.option();
    if seen.feedback_len > 0 && seen.is_data {
        codec.put_data(&mut option, &seen.feedback);
        if seen.confirmed {
            codec.confirm(&mut option);
        }
    } else if seen.feedback_len > 0 {
        codec.put_echo(&mut option, &seen.feedback, seen.confirmed);
    }
    Some(option)
}
