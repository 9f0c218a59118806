//! Tunnels: the kernel's IPsec between two namespaces, with keys that are no secret.

use std::fmt::Write as _;
use std::io;
use std::net::{IpAddr, UdpSocket};
use std::process::Command;

use fadelab_kernel::{gateway, tunnel};
use fadelab_run::tunnel::{Cipher, Family, KEY, RoleFrom, TunnelRecord, UDP_PORT, outer_address, outer_bytes, spi};
use nix::libc;

use super::build::side_of;
use super::spaces::Spaces;
use super::{Outcome, failed, option};
use crate::plan::{Plan, Tunnel};

/// Packets by which one may be late before it counts as replayed.
const REPLAY_PKTS: u32 = 32;

/// Of the option `UDP_ENCAP` (linux/udp.h): ESP behind a header of UDP.
const UDP_ENCAP_ESPINUDP: libc::c_int = 2;

fn cipher(tunnel: &Tunnel) -> String {
    let mut key = "0x".to_owned();
    for byte in KEY {
        let _ = write!(key, "{byte:02x}");
    }
    match tunnel.cipher {
        Cipher::AesGcm => format!("aead rfc4106(gcm(aes)) {key} 128"),
        Cipher::Null => format!("auth-trunc hmac(sha1) {key} 96 enc cipher_null \"\""),
    }
}

/// Commands of `ip` for what a node has of tunnels: outer addresses and their routes, SAs and policies.
pub fn commands(plan: &Plan, node: usize) -> String {
    let mut text = String::new();
    for (number, tunnel) in plan.tunnels.iter().enumerate() {
        for (from, to) in [(0, 1), (1, 0)] {
            for &(at, cable) in tunnel.ways[from].iter().filter(|(at, _)| *at == node) {
                let device = format!("{}{cable}", side_of(&plan.cables[cable], at));
                let _ = writeln!(
                    text,
                    "route add {} dev {device}",
                    outer_address(tunnel.outer, number, to)
                );
            }
        }
        let Some(end) = tunnel.ends.iter().position(|&end| end == node) else {
            continue;
        };
        let nodad = if tunnel.outer == Family::Ipv6 { " nodad" } else { "" };
        let _ = writeln!(
            text,
            "addr add {} dev lo{nodad}",
            outer_address(tunnel.outer, number, end)
        );
        states(&mut text, number, tunnel, end);
        policies(&mut text, number, tunnel, end);
    }
    text
}

/// Both directions, as an end has them.
fn states(text: &mut String, number: usize, tunnel: &Tunnel, end: usize) {
    let mut flags = String::new();
    // What is inside is of another family than the header outside.
    let is_mixed = tunnel.outer == Family::Ipv6;
    for (is_set, flag) in [
        (tunnel.noecn[end], "noecn"),
        (tunnel.has_ids, "nopmtudisc"),
        (is_mixed, "af-unspec"),
    ] {
        if is_set {
            let _ = write!(flags, " flag {flag}");
        }
    }
    // The address of whoever asked for it, which no kernel looks at.
    let in_udp = if tunnel.in_udp {
        format!(" encap espinudp {UDP_PORT} {UDP_PORT} 0.0.0.0")
    } else {
        String::new()
    };
    for (from, to) in [(0, 1), (1, 0)] {
        let [src, dst] = [from, to].map(|end| outer_address(tunnel.outer, number, end));
        let _ = writeln!(
            text,
            "xfrm state add src {src} dst {dst} proto esp spi {:#x} mode tunnel {} \
             replay-window {REPLAY_PKTS}{flags}{in_udp}",
            spi(number, to),
            cipher(tunnel)
        );
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
        let [outer_src, outer_dst] = [enters, leaves].map(|end| outer_address(tunnel.outer, number, end));
        let [src, dst] = inside.addresses();
        let directions: &[&str] = if enters == end { &["out"] } else { &["fwd", "in"] };
        for direction in directions {
            let _ = writeln!(
                text,
                "xfrm policy add src {src}/32 dst {dst}/32 dir {direction} \
                 tmpl src {outer_src} dst {outer_dst} proto esp mode tunnel"
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
        let ways = tunnel.ways.iter().enumerate();
        let crossing = ways.filter(|(_, hops)| tunnel.told.contains(&link) && hops.contains(&place));
        told.extend(crossing.map(|(from, _)| (way(plan, number, from), role(tunnel))));
    }
    told
}

/// What has entered tunnels and left them since they were made, as their SAs count it.
pub fn counters(plan: &Plan, spaces: &Spaces) -> Outcome<Vec<TunnelRecord>> {
    let tunnels = plan.tunnels.iter().enumerate();
    let count = |(number, tunnel): (usize, &Tunnel)| {
        let mut record = TunnelRecord {
            name: tunnel.name.clone(),
            entered_pkts: 0,
            left_pkts: 0,
            dropped_pkts: 0,
        };
        for (end, &node) in tunnel.ends.iter().enumerate() {
            let text = spaces.at(node, states_listed)?;
            record.entered_pkts += packets_of(&text, spi(number, 1 - end));
            record.left_pkts += packets_of(&text, spi(number, end));
        }
        Ok(record)
    };
    tunnels.map(count).collect()
}

/// The SAs of this thread's namespace, with what they count.
fn states_listed() -> Outcome<String> {
    let output = Command::new("ip").args(["-s", "xfrm", "state"]).output();
    let output = output.map_err(failed("ip xfrm state"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Packets that an SA has handled: on the line behind `lifetime current:`, as in `7660(bytes), 83(packets)`.
fn packets_of(listed: &str, spi: u32) -> u64 {
    let spi = format!("spi {spi:#010x}(");
    let own = listed.lines().skip_while(|line| !line.contains(&spi));
    let mut current = own.skip_while(|line| !line.contains("lifetime current:")).skip(1);
    let packets = current
        .next()
        .and_then(|line| line.split(", ").nth(1)?.split('(').next()?.parse().ok());
    packets.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_read_of_the_asked_association() {
        // Goal: what `ip -s xfrm state` prints of two SAs is read of each, and of one that is not there 0.
        let one = |spi: &str, packets: u32| {
            format!(
                "src 172.31.0.1 dst 172.31.0.2\n\tproto esp spi {spi}(4097) reqid 0(0x00000000) mode tunnel\n\
                 \tlifetime config:\n\t  limit: soft (INF)(bytes), hard (INF)(bytes)\n\
                 \tlifetime current:\n\t  7660(bytes), {packets}(packets)\n\t  add 2026-01-01 00:00:03 use -\n"
            )
        };
        let text = one("0x00001001", 83) + &one("0x00001000", 7);
        assert_eq!([0x1001, 0x1000, 0x1002].map(|spi| packets_of(&text, spi)), [83, 7, 0]);
    }
}
