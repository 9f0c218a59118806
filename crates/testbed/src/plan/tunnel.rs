//! Tunnels of a plan: the kernel's IPsec between two nodes, and the law of its gateways.

use std::net::{IpAddr, Ipv4Addr};

use fadelab_laws::recorded::RecordedHead;
use fadelab_run::tunnel::{Cipher, Family, Mode, Rekey, RoleFrom, outer_address};
use serde::{Deserialize, Serialize};

use super::address;

/// A tunnel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tunnel {
    pub name: String,
    pub mode: Mode,
    /// The nodes at its ends.
    pub ends: [usize; 2],
    /// How its packets go from the first end to the second, and back: a node and one of its cables, in order. Empty
    /// where no flow's packets do.
    pub ways: [Vec<(usize, usize)>; 2],
    /// What is inside.
    pub inside: Vec<Inside>,
    pub outer: Family,
    /// Whether ESP is in UDP.
    pub in_udp: bool,
    /// When associations are renewed.
    pub rekey: Option<Rekey>,
    pub cipher: Cipher,
    /// Whether the ECN field stays outside at either end (the flag `noecn` of its SAs).
    pub noecn: [bool; 2],
    /// Whether outer headers may be fragmented, and so have an ID of their own (the flag `nopmtudisc`).
    pub has_ids: bool,
    pub role: RoleFrom,
    /// Links whose routers are told of it.
    pub told: Vec<u32>,
    /// The laws of the gateways at its ends.
    pub gateways: [Option<GatewayObject>; 2],
}

/// A direction of a flow that is in a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inside {
    pub flow: usize,
    /// Whether it is its ACKs.
    pub is_back: bool,
    /// Whether they go from the second end to the first.
    pub is_backward: bool,
    /// Places on its route of the first cable in the tunnel and of the last one.
    pub first: usize,
    pub last: usize,
}

/// A gateway's law.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewayObject {
    pub law: String,
    /// Path of the object in the guest.
    pub object: String,
}

/// A gateway whose law is recorded.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecordedGateway {
    pub node: usize,
    /// Path of its object in the guest, in place of the one that records nothing.
    pub object: String,
    /// The first line of the record.
    pub head: Box<RecordedHead>,
}

impl Inside {
    /// Source and destination of its packets.
    pub fn addresses(&self) -> [Ipv4Addr; 2] {
        [self.is_back, !self.is_back].map(|is_receiver| address(self.flow, is_receiver))
    }
}

impl Tunnel {
    /// The way of a direction of a flow that is inside, by its two ends: from where to where.
    pub fn direction(inside: &Inside) -> [usize; 2] {
        if inside.is_backward { [1, 0] } else { [0, 1] }
    }

    /// Whether a hop of a flow is in between, where no node knows it.
    pub fn hides(&self, flow: usize, is_back: bool, hop: usize) -> bool {
        let is_in = |inside: &Inside| {
            (inside.flow, inside.is_back) == (flow, is_back) && (inside.first + 1..=inside.last).contains(&hop)
        };
        self.mode == Mode::Tunnel && self.inside.iter().any(is_in)
    }

    /// Source and destination outside of all that goes from an end to the other one: in transport mode they are the
    /// hosts' own.
    pub fn outside(&self, number: usize, from: usize) -> Vec<[IpAddr; 2]> {
        match self.mode {
            Mode::Tunnel => vec![[from, 1 - from].map(|end| outer_address(self.outer, number, end))],
            Mode::Transport => {
                let inside = self.inside.iter().filter(|inside| Self::direction(inside)[0] == from);
                inside.map(|inside| inside.addresses().map(IpAddr::from)).collect()
            }
        }
    }

    /// Whether a node sends or receives what has a header of IPv6 outside.
    pub fn has_ipv6_at(&self, node: usize) -> bool {
        let is_on_the_way = || self.ways.iter().flatten().any(|&(at, _)| at == node);
        self.outer == Family::Ipv6 && (self.ends.contains(&node) || is_on_the_way())
    }

    /// The cable by which an end sends and receives what is in it.
    pub fn cable(&self, end: usize) -> Option<usize> {
        let [out, back] = [&self.ways[end], &self.ways[1 - end]];
        out.first().or(back.last()).map(|&(_, cable)| cable)
    }
}
