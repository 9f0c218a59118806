//! Packets as they come from a TUN device: what nodes are shown of them, and what is written back.
//!
//! Where headers stand is found by `laws/host/packet.h`, which the kernel's routers have too, and options are read and
//! written by the codecs of `laws/wire`: a packet that a router of the kernel takes for its law's is that here as well.
#![allow(unsafe_code)]

use std::hash::Hasher;

use fadelab_laws::abi::Identification;
use fadelab_laws::{Codec, OPTION_BYTES_MAX, abi};
use fadelab_path::packet::{FeedbackBytes, Header};
use fadelab_phy::channel::PacketKind;

/// `struct packet` of `laws/host/packet.h`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Places {
    ip_at: u32,
    tcp_at: u32,
    tcp_end: u32,
    has_data: u32,
    ip_id: u16,
    has_id: u8,
    may_fragment: u8,
    ecn: u8,
    version: u8,
    field: u8,
}

unsafe extern "C" {
    fn fadelab_emu_look(bytes: *const u8, len: u32, wire: u32, option_bytes: u32, packet: *mut Places) -> u32;
    fn fadelab_emu_set_ecn(bytes: *mut u8, len: u32, packet: *const Places, ecn: u32);
}

const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;
const IPV4_BYTES: usize = 20;
const IPV6_BYTES: usize = 40;
/// Of sequence and acknowledgement number in a TCP header.
const TCP_NUMBERS_AT: usize = 4;
/// Of the checksum in a TCP header.
const TCP_SUM_AT: usize = 16;

/// What nodes are shown of a packet, and where that stands in it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown {
    places: Places,
    /// 0: the packet has none of the router's law.
    option_at: usize,
    pub header: Header,
    pub feedback: FeedbackBytes,
}

impl Shown {
    /// Looks at a packet. `codec` is that of the router's law.
    ///
    /// # Panics
    /// On more than 65,535 bytes, which no IP packet has.
    pub fn of(bytes: &[u8], codec: &Codec) -> Self {
        let ip_bytes = u16::try_from(bytes.len()).expect("an IP packet has a length of 16 bits");
        let mut places = Places::default();
        let (wire, option_bytes) = (codec.format().wire, codec.option_bytes());
        // SAFETY: the packet is as long as said, and the struct is that of packet.h, where nothing is kept of either.
        let option_at = unsafe {
            fadelab_emu_look(
                bytes.as_ptr(),
                u32::from(ip_bytes),
                wire,
                option_bytes as u32,
                &raw mut places,
            )
        } as usize;
        let mut shown = Self {
            places,
            option_at,
            header: Header::default(),
            feedback: FeedbackBytes::default(),
        };
        let (mut of_law, mut feedback_len, mut confirmed) = (abi::WIRE_NONE, 0, false);
        if option_at > 0 {
            let option = &bytes[option_at..option_at + option_bytes];
            of_law = wire;
            confirmed = codec.is_confirmed(option);
            if let Some(feedback) = codec.data(option) {
                feedback_len = codec.format().data_bytes;
                shown.feedback = feedback;
            }
        }
        shown.header = Header::new(
            shown.flags(bytes),
            u32::from(ip_bytes),
            shown.identification(bytes, of_law),
            places.ecn,
            of_law as u8,
            feedback_len as u8,
            u8::from(confirmed),
        );
        shown
    }

    /// The IP ID and the role: its lowest bit, and of DPCP whether the sequence number is not above the acknowledgement
    /// number (`crates/kernel/bpf/numbers.h`).
    fn identification(&self, bytes: &[u8], wire: u32) -> Identification {
        let id = Identification::by_id(self.places.ip_id);
        let numbers = self.places.tcp_at as usize + TCP_NUMBERS_AT;
        match bytes.get(numbers..numbers + 8) {
            Some(numbers) if wire == abi::WIRE_DPCP => Identification {
                role: u8::from(numbers[..4] <= numbers[4..]),
                ..id
            },
            _ => id,
        }
    }

    /// All but segments without payload carry data: datagrams, fragments and whatever is none of TCP as well, and the
    /// SYN that opens a connection, as in the simulator.
    fn flags(&self, bytes: &[u8]) -> u32 {
        const SYN: u8 = 0x02;
        const ACK: u8 = 0x10;
        let tcp_at = self.places.tcp_at as usize;
        let carries = self.places.has_data != 0 || tcp_at == 0;
        if carries || bytes[tcp_at + 13] & (SYN | ACK) == SYN {
            abi::PACKET_DATA
        } else {
            0
        }
    }

    /// What the channel calls it.
    pub fn kind(&self) -> PacketKind {
        fadelab_path::packet::kind(&self.header)
    }

    /// A number that is the same for all packets of a flow: of addresses, protocol and ports.
    pub fn flow_key(&self, bytes: &[u8]) -> u64 {
        let (addresses, protocol, ports_at) = match self.places.version {
            4 if bytes.len() >= IPV4_BYTES => (12..20, bytes[9], usize::from(bytes[0] & 15) * 4),
            6 if bytes.len() >= IPV6_BYTES => (8..40, bytes[6], IPV6_BYTES),
            _ => return 0,
        };
        // Later fragments have no ports: what would be taken for them is data.
        let has_ports = self.places.tcp_at > 0 || (protocol == PROTOCOL_UDP && !is_fragment(bytes));
        let ports_at = match self.places.tcp_at {
            0 => ports_at,
            tcp_at => tcp_at as usize,
        };
        let ports = bytes.get(ports_at..ports_at + 4).filter(|_| has_ports);
        let protocol = if self.places.tcp_at > 0 { PROTOCOL_TCP } else { protocol };
        let mut hasher = Fnv::default();
        hasher.write(&bytes[addresses]);
        hasher.write(&[protocol]);
        hasher.write(ports.unwrap_or_default());
        hasher.finish()
    }

    /// Writes what routers changed into the packet: the ECN field, feedback, and that one of the law saw it. `before`
    /// is how it was shown when it came.
    pub fn write(&self, before: &Self, bytes: &mut [u8], codec: &Codec) {
        if self.places.version > 0 && self.header.ecn != before.header.ecn {
            // SAFETY: the packet is as long as said; the struct is what was found in it.
            unsafe {
                fadelab_emu_set_ecn(
                    bytes.as_mut_ptr(),
                    bytes.len() as u32,
                    &raw const self.places,
                    u32::from(self.header.ecn & 3),
                );
            }
        }
        let is_rewritten = self.header.feedback_len > 0 && self.feedback != before.feedback;
        let is_confirmed = self.header.confirmed != before.header.confirmed;
        if self.option_at == 0 || !(is_rewritten || is_confirmed) {
            return;
        }
        let place = self.option_at..self.option_at + codec.option_bytes();
        let mut room = [0; OPTION_BYTES_MAX];
        let option = &mut room[..place.len()];
        option.copy_from_slice(&bytes[place.clone()]);
        if is_rewritten {
            codec.put_share(option, &self.feedback, 1);
        }
        if self.header.confirmed != 0 {
            codec.confirm(option);
        }
        let sum_at = self.places.tcp_at as usize + TCP_SUM_AT;
        let mut sum = u16::from_be_bytes([bytes[sum_at], bytes[sum_at + 1]]);
        for (was, is) in bytes[place.clone()].chunks(2).zip(option.chunks(2)) {
            sum = summed_again(sum, was, is);
        }
        bytes[place].copy_from_slice(option);
        bytes[sum_at..sum_at + 2].copy_from_slice(&sum.to_be_bytes());
    }
}

/// Whether a packet of IPv4 is a part of one, or may have others behind it. In IPv6 fragments are another protocol.
fn is_fragment(bytes: &[u8]) -> bool {
    bytes[0] >> 4 == 4 && (bytes[6] & 0x3f != 0 || bytes[7] != 0)
}

/// A checksum after a change of one of its words (RFC 1624, equation 3). Options begin at even places.
fn summed_again(sum: u16, was: &[u8], is: &[u8]) -> u16 {
    let [was, is] = [was, is].map(|word| u16::from_be_bytes([word[0], word[1]]));
    let mut folded = u32::from(!sum) + u32::from(!was) + u32::from(is);
    folded = (folded & 0xffff) + (folded >> 16);
    folded = (folded & 0xffff) + (folded >> 16);
    !(folded as u16)
}

/// FNV-1a, which is the same in every build: random draws depend on it.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
