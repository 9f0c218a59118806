//! Tunnels: what becomes of packets whose route passes both of a tunnel's ends (ESP, RFC 4303).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use fadelab_laws::{Gateway, Params};
use serde::{Deserialize, Serialize};

use crate::transport::IpId;

/// Most bytes of an IPv4 packet.
pub const IP_BYTES_MAX: u32 = 65_535;

/// A tunnel. Of each direction packets are encapsulated where they leave the one end, and decapsulated where they
/// arrive at the other one.
#[derive(Clone, Debug)]
pub struct TunnelSpec {
    pub name: Arc<str>,
    /// One end, an index into [`NetworkSpec::nodes`](crate::network::NetworkSpec), and the other one.
    pub from: u32,
    pub to: u32,
    pub mode: Mode,
    pub outer: Family,
    /// Whether ESP is in UDP, as through a NAT (RFC 3948).
    pub in_udp: bool,
    pub cipher: Cipher,
    /// When new associations take the place of those before; `None`: never.
    pub rekey: Option<Rekey>,
    /// What becomes of the ECN field at `from` and at `to`: each end knows its own rule alone.
    pub ecn: [EcnRule; 2],
    /// Of the outer header; zero under IPv6, which has none.
    pub ip_id: IpId,
    pub role: RoleFrom,
    pub memory: Memory,
    /// The format that routers in between take all packets for, `WIRE_*`; `None`: they see none.
    pub told_wire: Option<u8>,
    /// The law of the gateway at `from` and of that at `to`, where there is one.
    pub gateways: [Option<GatewaySpec>; 2],
}

/// A gateway's law with its parameters.
#[derive(Clone, Debug)]
pub struct GatewaySpec {
    pub law: &'static Gateway,
    pub params: Params,
}

/// Key of all tunnels, that of AES-GCM with its salt (RFC 4106 section 8.1) and that of HMAC-SHA1: no secret, so that
/// whoever has a capture can read it.
pub const KEY: [u8; 20] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19];

/// The outer address at an end of the tunnel of this number; no flow has one of its block.
pub fn outer_address(family: Family, tunnel: usize, end: usize) -> IpAddr {
    let (tunnel, end) = (tunnel as u8, 1 + end as u8);
    match family {
        Family::Ipv4 => Ipv4Addr::new(172, 31, tunnel, end).into(),
        // Unique local addresses (RFC 4193).
        Family::Ipv6 => Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, tunnel.into(), end.into()).into(),
    }
}

/// The UDP port of both ends, where ESP is in UDP (RFC 3948 section 2.1).
pub const UDP_PORT: u16 = 4500;

/// Distance between the indices of an association and of the one in whose place it comes.
pub const SPI_STEP: u32 = 0x1_0000;

/// The index by which an end knows what comes to it (SPI, RFC 4301 section 4.1), after so many renewals.
pub fn spi(tunnel: usize, to: usize, renewals: u32) -> u32 {
    (0x1000 + 2 * tunnel as u32 + to as u32).wrapping_add(renewals.wrapping_mul(SPI_STEP))
}

/// How associations of a tunnel follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rekey {
    /// How long each lasts.
    pub lasts_ns: u64,
    /// How long there is none then, since its successor is late. 0: the successor is there in time, and what is under
    /// way still comes in.
    pub gap_ns: u64,
}

impl Rekey {
    /// How often they were renewed by then.
    pub fn renewals(self, now_ns: u64) -> u32 {
        (now_ns / (self.lasts_ns + self.gap_ns)) as u32
    }

    /// Whether there is none then.
    pub fn is_gap(self, now_ns: u64) -> bool {
        now_ns % (self.lasts_ns + self.gap_ns) >= self.lasts_ns
    }
}

/// What of a packet ESP encrypts (RFC 4301 section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// All of it, behind a header that the end writes.
    Tunnel,
    /// What is behind its own header, which stays. The ends are hosts.
    Transport,
}

/// What the header outside is of; what is inside is IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Family {
    Ipv4,
    /// Without an IP identification and extension headers.
    Ipv6,
}

/// What ESP does to the payload, as far as sizes tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cipher {
    /// AES-GCM with 16 bytes of check value (RFC 4106).
    AesGcm,
    /// NULL with HMAC-SHA1-96 (RFC 2410, RFC 2404).
    Null,
}

/// What becomes of the ECN field at both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnRule {
    /// As Linux's XFRM does: CE of the inner header does not enter, CE of the outer one comes out.
    Linux,
    /// The normal mode of RFC 6040.
    Rfc6040,
    /// Packets in the tunnel are not ECN-capable.
    NoEcn,
    /// The field enters the tunnel and does not come out.
    None,
}

/// Of what routers in the tunnel take the lowest bit for the role of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RoleFrom {
    /// The outer IP identification.
    Id,
    /// ESP's sequence number.
    Sequence,
    /// The outer IP identification, whose lowest bit the gateway writes: by turns, per unit of its memory.
    Written,
}

/// What a gateway has a memory of its own for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    Tunnel,
    /// Each flow inside.
    Flow,
}

/// A tunnel in the measured interval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TunnelRecord {
    pub name: String,
    /// Packets that were encapsulated.
    pub entered_pkts: u64,
    /// Packets that were decapsulated and went on.
    pub left_pkts: u64,
    /// Packets that the rule for the ECN field dropped where they would have left.
    pub dropped_pkts: u64,
    /// Packets that found no association where they would have entered, and where they would have left.
    pub no_sa_entering_pkts: u64,
    pub no_sa_leaving_pkts: u64,
}

const IPV4_BYTES: u32 = 20;
const IPV6_BYTES: u32 = 40;
/// SPI and sequence number.
const ESP_BYTES: u32 = 8;
/// Length of the padding and number of the next header, behind the padding.
const TRAILER_BYTES: u32 = 2;
const ALIGNMENT_BYTES: u32 = 4;

impl TunnelSpec {
    /// Size in the tunnel of a packet of so many bytes.
    pub fn encapsulated_bytes(&self, ip_bytes: u32) -> u32 {
        match self.mode {
            Mode::Tunnel => self.outer.header_bytes() + udp_bytes(self.in_udp) + self.cipher.sealed_bytes(ip_bytes),
            // The packet's own header takes the place of an outer one.
            Mode::Transport => IPV4_BYTES + self.cipher.sealed_bytes(ip_bytes - IPV4_BYTES),
        }
    }

    /// Bytes in front of the inner packet.
    pub fn outer_bytes(&self) -> u32 {
        outer_bytes(self.outer, self.in_udp, self.cipher)
    }

    /// The outer ECN field of a packet that enters at an end.
    pub fn outer_ecn(&self, end: usize, inner: u8) -> u8 {
        match self.mode {
            Mode::Tunnel => self.ecn[end].outer(inner),
            Mode::Transport => inner,
        }
    }

    /// The ECN field of a packet that leaves at an end; `None`: it is dropped.
    pub fn inner_ecn(&self, end: usize, inner: u8, outer: u8) -> Option<u8> {
        match self.mode {
            Mode::Tunnel => self.ecn[end].inner(inner, outer),
            Mode::Transport => Some(outer),
        }
    }
}

/// Bytes in front of the inner packet, in tunnel mode.
pub fn outer_bytes(outer: Family, in_udp: bool, cipher: Cipher) -> u32 {
    outer.header_bytes() + udp_bytes(in_udp) + ESP_BYTES + cipher.iv_bytes()
}

/// Of the header in front of ESP.
fn udp_bytes(in_udp: bool) -> u32 {
    const UDP_BYTES: u32 = 8;
    if in_udp { UDP_BYTES } else { 0 }
}

impl Family {
    fn header_bytes(self) -> u32 {
        match self {
            Self::Ipv4 => IPV4_BYTES,
            Self::Ipv6 => IPV6_BYTES,
        }
    }
}

impl Cipher {
    fn iv_bytes(self) -> u32 {
        match self {
            Self::AesGcm => 8,
            Self::Null => 0,
        }
    }

    fn check_bytes(self) -> u32 {
        match self {
            Self::AesGcm => 16,
            Self::Null => 12,
        }
    }

    /// Size of ESP with so many bytes in it, behind the IP header.
    fn sealed_bytes(self, bytes: u32) -> u32 {
        let padded = (bytes + TRAILER_BYTES).next_multiple_of(ALIGNMENT_BYTES);
        ESP_BYTES + self.iv_bytes() + padded + self.check_bytes()
    }
}

const ECT1: u8 = 1;
const CE: u8 = 3;

impl EcnRule {
    /// The outer field of a packet that enters.
    pub fn outer(self, inner: u8) -> u8 {
        match self {
            Self::Linux if inner == CE => fadelab_laws::abi::ECN_ECT0 as u8,
            Self::Linux | Self::Rfc6040 | Self::None => inner,
            Self::NoEcn => fadelab_laws::abi::ECN_NOT_ECT as u8,
        }
    }

    /// The field of a packet that leaves; `None`: it is dropped.
    pub fn inner(self, inner: u8, outer: u8) -> Option<u8> {
        match (self, inner, outer) {
            // A packet that no router could have marked so.
            (Self::Rfc6040, 0, CE) => None,
            (Self::Linux | Self::Rfc6040, 1.., CE) => Some(CE),
            (Self::Rfc6040, 2, ECT1) => Some(ECT1),
            _ => Some(inner),
        }
    }
}

impl Memory {
    /// The number of the memory that a packet of flow number `flow` meets.
    pub fn unit(self, flow: u32) -> usize {
        match self {
            Self::Tunnel => 0,
            Self::Flow => flow as usize,
        }
    }
}

#[cfg(test)]
mod tests;
