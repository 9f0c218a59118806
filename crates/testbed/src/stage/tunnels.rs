//! Tunnels: the kernel's IPsec between two namespaces, with keys that are no secret.

use std::fmt::Write as _;
use std::io;
use std::net::{IpAddr, UdpSocket};

use fadelab_kernel::{gateway, tunnel};
use fadelab_run::tunnel::{Family, Mode, RoleFrom, UDP_PORT, outer_address, outer_bytes};
use nix::libc;

use super::build::side_of;
use super::spaces::Spaces;
use super::{Outcome, associations, failed, option};
use crate::plan::{Plan, Tunnel};

/// Of the option `UDP_ENCAP` (linux/udp.h): ESP behind a header of UDP.
const UDP_ENCAP_ESPINUDP: libc::c_int = 2;

/// Commands of `ip` for what a node has of tunnels: outer addresses and their routes, SAs and policies.
pub fn commands(plan: &Plan, node: usize) -> String {
    let mut text = String::new();
    for (number, tunnel) in plan.tunnels.iter().enumerate() {
        // In transport mode all of that is the flows' own.
        if tunnel.mode == Mode::Tunnel {
            outer(&mut text, plan, node, (number, tunnel));
        }
        if let Some(end) = tunnel.ends.iter().position(|&end| end == node) {
            associations::made(&mut text, number, tunnel, end);
            policies(&mut text, number, tunnel, end);
        }
    }
    text
}

/// Outer addresses and the routes to them.
fn outer(text: &mut String, plan: &Plan, node: usize, (number, tunnel): (usize, &Tunnel)) {
    for (from, to) in [(0, 1), (1, 0)] {
        let to = outer_address(tunnel.outer, number, to);
        for &(at, cable) in tunnel.ways[from].iter().filter(|(at, _)| *at == node) {
            let device = format!("{}{cable}", side_of(&plan.cables[cable], at));
            let _ = writeln!(text, "route add {to} dev {device}");
        }
    }
    if let Some(end) = tunnel.ends.iter().position(|&end| end == node) {
        let nodad = if tunnel.outer == Family::Ipv6 { " nodad" } else { "" };
        let own = outer_address(tunnel.outer, number, end);
        let _ = writeln!(text, "addr add {own} dev lo{nodad}");
    }
}

/// Sockets that hand ESP in UDP to IPsec, as an IKE daemon has them, at all ends. They take it for as long as they are
/// open.
pub fn sockets(plan: &Plan, spaces: &Spaces) -> Outcome<Vec<UdpSocket>> {
    let mut sockets = Vec::new();
    for (number, tunnel) in plan.tunnels.iter().enumerate().filter(|(_, tunnel)| tunnel.in_udp) {
        for (end, &node) in tunnel.ends.iter().enumerate() {
            let address = outer_address(tunnel.outer, number, end);
            sockets.push(spaces.at(node, || socket(address).map_err(failed("ESP in UDP")))?);
        }
    }
    Ok(sockets)
}

fn socket(address: IpAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((address, UDP_PORT))?;
    option::set(&socket, libc::IPPROTO_UDP, libc::UDP_ENCAP, &UDP_ENCAP_ESPINUDP)?;
    Ok(socket)
}

/// What of a node's packets goes into the tunnel, and what may come out of it.
fn policies(text: &mut String, number: usize, tunnel: &Tunnel, end: usize) {
    for inside in &tunnel.inside {
        let [enters, leaves] = Tunnel::direction(inside);
        let [outer_src, outer_dst] = match tunnel.mode {
            Mode::Tunnel => [enters, leaves].map(|end| outer_address(tunnel.outer, number, end)),
            Mode::Transport => inside.addresses().map(IpAddr::from),
        };
        let [src, dst] = inside.addresses();
        let mode = associations::mode(tunnel);
        let directions: &[&str] = if enters == end { &["out"] } else { &["fwd", "in"] };
        for direction in directions {
            let _ = writeln!(
                text,
                "xfrm policy add src {src}/32 dst {dst}/32 dir {direction} \
                 tmpl src {outer_src} dst {outer_dst} proto esp mode {mode}"
            );
        }
    }
}

fn role(tunnel: &Tunnel) -> tunnel::RoleFrom {
    match tunnel.role {
        RoleFrom::Sequence => tunnel::RoleFrom::Sequence,
        RoleFrom::Id => tunnel::RoleFrom::Id,
        RoleFrom::Written => tunnel::RoleFrom::Written,
    }
}

fn way(plan: &Plan, number: usize, from: usize) -> tunnel::Way {
    let address = |end| outer_address(plan.tunnels[number].outer, number, end);
    tunnel::Way {
        from: address(from),
        to: address(1 - from),
    }
}

/// A tunnel as the gateway at one of its ends sees it.
pub fn seen(plan: &Plan, number: usize, end: usize) -> gateway::Tunnel {
    let tunnel = &plan.tunnels[number];
    gateway::Tunnel {
        out: way(plan, number, end),
        role: role(tunnel),
        copies_ce: !tunnel.noecn[end],
        outer_bytes: outer_bytes(tunnel.outer, tunnel.in_udp, tunnel.cipher),
    }
}

/// Directions of tunnels of which the router at a link is told, whose device is a node's at a cable.
pub fn told(plan: &Plan, link: u32, place: (usize, usize)) -> Vec<(tunnel::Way, tunnel::RoleFrom)> {
    let mut told = Vec::new();
    for (number, tunnel) in plan.tunnels.iter().enumerate() {
        let directions = tunnel.ways.iter().enumerate();
        let crossing = directions.filter(|(_, hops)| tunnel.told.contains(&link) && hops.contains(&place));
        for (from, _) in crossing {
            told.extend(ways(number, tunnel, from).into_iter().map(|way| (way, role(tunnel))));
        }
    }
    told
}

/// Ways of encrypted packets that a sender's law marks itself, since their hosts are the ends.
pub fn sealed(plan: &Plan) -> Vec<tunnel::Way> {
    let tunnels = plan.tunnels.iter().enumerate();
    let between_hosts = tunnels.filter(|(_, tunnel)| tunnel.mode == Mode::Transport && !tunnel.told.is_empty());
    between_hosts
        .flat_map(|(number, tunnel)| [0, 1].map(|from| ways(number, tunnel, from)))
        .flatten()
        .collect()
}

fn ways(number: usize, tunnel: &Tunnel, from: usize) -> Vec<tunnel::Way> {
    let outside = tunnel.outside(number, from).into_iter();
    outside.map(|[from, to]| tunnel::Way { from, to }).collect()
}
