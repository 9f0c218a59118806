//! Tunnels: what becomes of packets whose route passes both of a tunnel's ends (IPsec ESP in tunnel mode, RFC 4303).

use std::sync::Arc;

use fadelab_laws::{Gateway, Params};
use serde::{Deserialize, Serialize};

use crate::network::{LinkId, NetworkSpec, NodeId};

/// Most bytes of an IPv4 packet.
pub const IP_BYTES_MAX: u32 = 65_535;

/// A tunnel. Of each direction packets are encapsulated where they leave the one end, and decapsulated where they
/// arrive at the other one.
#[derive(Clone, Debug)]
pub struct TunnelSpec {
    pub name: Arc<str>,
    /// One end, and the other one.
    pub from: NodeId,
    pub to: NodeId,
    pub cipher: Cipher,
    pub ecn: EcnRule,
    pub ip_id: OuterId,
    pub role: RoleFrom,
    pub memory: Memory,
    /// The format that routers in between take all packets for, `WIRE_*`; `None`: they see none.
    pub told_wire: Option<u8>,
    /// The law of the gateways at both ends.
    pub gateway: Option<GatewaySpec>,
}

/// A gateway's law with its parameters.
#[derive(Clone, Debug)]
pub struct GatewaySpec {
    pub law: &'static Gateway,
    pub params: Params,
}

/// What ESP does to the payload, as far as sizes tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// The IP identification of the outer header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OuterId {
    /// Counts up from a random start.
    Counting,
    Random,
    Zero,
}

/// Of what routers in the tunnel take the lowest bit for the role of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
}

/// Where a route goes through a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// Index into [`NetworkSpec::tunnels`].
    pub tunnel: usize,
    /// Whether it goes from `to` to `from`.
    pub is_backward: bool,
    /// The place on the route of the first link in the tunnel.
    pub first: usize,
    /// That of the last one.
    pub last: usize,
}

/// Two tunnels that lie in each other on a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// Indices into [`NetworkSpec::tunnels`].
    pub tunnels: [usize; 2],
}

const IPV4_BYTES: u32 = 20;
/// SPI and sequence number.
const ESP_BYTES: u32 = 8;
/// Length of the padding and number of the next header, behind the padding.
const TRAILER_BYTES: u32 = 2;
const ALIGNMENT_BYTES: u32 = 4;

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

    /// Bytes in front of the inner packet.
    pub fn outer_bytes(self) -> u32 {
        IPV4_BYTES + ESP_BYTES + self.iv_bytes()
    }

    /// Size in the tunnel of a packet of so many bytes.
    pub fn encapsulated_bytes(self, ip_bytes: u32) -> u32 {
        let padded = (ip_bytes + TRAILER_BYTES).next_multiple_of(ALIGNMENT_BYTES);
        self.outer_bytes() + padded + self.check_bytes()
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

impl NetworkSpec {
    /// Where a route goes through tunnels, in the order of the route.
    ///
    /// # Errors
    /// It enters one before it has left another one.
    pub fn crossings(&self, route: &[LinkId]) -> Result<Vec<Crossing>, Overlap> {
        let Some(&first) = route.first().filter(|_| !self.tunnels.is_empty()) else {
            return Ok(Vec::new());
        };
        let mut nodes = vec![self.links[first as usize].from];
        nodes.extend(route.iter().map(|&link| self.links[link as usize].to));
        let mut crossings = Vec::new();
        for (tunnel, spec) in self.tunnels.iter().enumerate() {
            cross(spec, tunnel, &nodes, &mut crossings);
        }
        crossings.sort_by_key(|crossing| (crossing.first, crossing.last));
        match crossings.windows(2).find(|pair| pair[1].first <= pair[0].last) {
            Some(pair) => Err(Overlap {
                tunnels: [pair[0].tunnel, pair[1].tunnel],
            }),
            None => Ok(crossings),
        }
    }

    /// The largest size that a packet of so many bytes has on each link of a route.
    pub fn bytes_on(&self, route: &[LinkId], ip_bytes: u32) -> impl Iterator<Item = (LinkId, u32)> {
        let crossings = self.crossings(route).unwrap_or_default();
        route.iter().enumerate().map(move |(place, &link)| {
            let mut inside = crossings.iter().filter(|crossing| crossing.has(place));
            let cipher = inside.next().map(|crossing| self.tunnels[crossing.tunnel].cipher);
            (
                link,
                cipher.map_or(ip_bytes, |cipher| cipher.encapsulated_bytes(ip_bytes)),
            )
        })
    }
}

impl Crossing {
    /// Whether the link at this place of the route is in the tunnel.
    pub fn has(&self, place: usize) -> bool {
        (self.first..=self.last).contains(&place)
    }
}

/// Adds where a route over `nodes` goes through a tunnel: from either end to where it first comes to the other one.
fn cross(spec: &TunnelSpec, tunnel: usize, nodes: &[NodeId], crossings: &mut Vec<Crossing>) {
    let mut entered: Option<(usize, NodeId)> = None;
    for (place, &node) in nodes.iter().enumerate() {
        if node != spec.from && node != spec.to {
            continue;
        }
        if let Some((first, _)) = entered.filter(|&(_, end)| end != node) {
            crossings.push(Crossing {
                tunnel,
                is_backward: node == spec.from,
                first,
                last: place - 1,
            });
        }
        // An end that was reached may be where the next crossing begins; one that is passed twice counts once.
        if entered.is_none_or(|(_, end)| end != node) {
            entered = Some((place, node));
        }
    }
}

#[cfg(test)]
mod tests;
