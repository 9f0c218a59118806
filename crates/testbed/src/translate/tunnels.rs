//! What of a scenario's tunnels the kernel's IPsec has.

use fadelab_kernel::gateway::object::wire_of;
use fadelab_kernel::tunnel::WAYS_MAX;
use fadelab_run::spec::RunSpec;
use fadelab_run::transport::IpId;
use fadelab_run::tunnel::{EcnRule, Family, GatewaySpec, Memory, Mode, RoleFrom, TunnelSpec};

use super::none;
use crate::Error;
use crate::plan::{GatewayObject, Inside, Tunnel};

/// Addresses of tunnels are numbered in one byte.
const TUNNELS_MAX: usize = 255;

/// Tunnels, and what their gateways' objects are compiled from, each once, by its path.
pub type Translated<'a> = (Vec<Tunnel>, Vec<(String, Gateway<'a>)>);

/// What a gateway's object is compiled from.
#[derive(Clone, Copy)]
pub struct Gateway<'a> {
    pub spec: &'a GatewaySpec,
    pub memory: Memory,
}

/// All of a run; `hop` says by which node and cable a link is taken.
pub fn of(spec: &RunSpec, hop: impl Fn(u32) -> (usize, usize)) -> Result<Translated<'_>, Error> {
    let specs = &spec.network.tunnels;
    if specs.len() > TUNNELS_MAX {
        let why = format!("{} tunnels are given, allowed are {TUNNELS_MAX}", specs.len());
        return Err(none("tunnel", why));
    }
    let mut gateways = Vec::new();
    let mut tunnels = Vec::with_capacity(specs.len());
    for (number, tunnel) in specs.iter().enumerate() {
        let translated = Tunnel {
            name: tunnel.name.to_string(),
            mode: tunnel.mode,
            ends: [tunnel.from as usize, tunnel.to as usize],
            ways: Default::default(),
            inside: Vec::new(),
            outer: tunnel.outer,
            in_udp: tunnel.in_udp,
            rekey: tunnel.rekey,
            cipher: tunnel.cipher,
            noecn: [noecn(tunnel, 0)?, noecn(tunnel, 1)?],
            has_ids: has_ids(tunnel)?,
            role: tunnel.role,
            told: told(spec, tunnel, number),
            gateways: [gateway(tunnel, 0, &mut gateways)?, gateway(tunnel, 1, &mut gateways)?],
        };
        tunnels.push(translated);
    }
    route(spec, &mut tunnels, hop)?;
    for (number, tunnel) in tunnels.iter().enumerate() {
        check_gap(spec, &tunnels, number, tunnel)?;
        match tunnel.mode {
            Mode::Tunnel => check_ends(spec, &tunnels, number, tunnel)?,
            Mode::Transport => check_pairs(tunnel)?,
        }
    }
    Ok((tunnels, gateways))
}

fn refused(tunnel: &str, key: &str, why: impl Into<String>) -> Error {
    none(&format!("tunnel.{tunnel}.{key}"), why)
}

fn noecn(tunnel: &TunnelSpec, end: usize) -> Result<bool, Error> {
    match tunnel.ecn[end] {
        EcnRule::Linux => Ok(false),
        EcnRule::NoEcn => Ok(true),
        EcnRule::Rfc6040 | EcnRule::None => Err(refused(
            &tunnel.name,
            ["ecn", "ecn_to"][end],
            "Linux's IPsec has the rules \"linux\" and \"noecn\" alone",
        )),
    }
}

/// Only where something reads them does it matter which outer IDs there are.
fn has_ids(tunnel: &TunnelSpec) -> Result<bool, Error> {
    match (tunnel.role, tunnel.ip_id) {
        (RoleFrom::Sequence | RoleFrom::Written, _) | (RoleFrom::Id, IpId::Zero) => Ok(false),
        (RoleFrom::Id, IpId::Counting) => Ok(true),
        (RoleFrom::Id, IpId::Random) => Err(refused(
            &tunnel.name,
            "ip_id",
            "Linux's outer IDs count up, or are zero where packets must not be fragmented; set \"counting\" or \
             \"zero\"",
        )),
    }
}

/// The links in the tunnel whose law reads the format that routers are told of.
fn told(spec: &RunSpec, tunnel: &TunnelSpec, number: usize) -> Vec<u32> {
    let Some(wire) = tunnel.told_wire else {
        return Vec::new();
    };
    let mut told = Vec::new();
    for flow in &spec.flows {
        for route in [&flow.route, &flow.route_back] {
            let crossings = spec.network.crossings(route).unwrap_or_default();
            for crossing in crossings.iter().filter(|crossing| crossing.tunnel == number) {
                told.extend(&route[crossing.first..=crossing.last]);
            }
        }
    }
    told.retain(|&link| spec.network.links[link as usize].router.law.wire() == u32::from(wire));
    told.sort_unstable();
    told.dedup();
    told
}

/// Gateways with the same law and parameters share an object.
fn gateway<'a>(
    tunnel: &'a TunnelSpec,
    end: usize,
    gateways: &mut Vec<(String, Gateway<'a>)>,
) -> Result<Option<GatewayObject>, Error> {
    let Some(gateway) = &tunnel.gateways[end] else {
        return Ok(None);
    };
    let law = gateway.law;
    if tunnel.memory == Memory::Flow && (tunnel.role != RoleFrom::Written || tunnel.outer == Family::Ipv6) {
        let why = "a gateway writes the roles of each flow's packets by turns, into outer IDs: set role = \"written\", \
                   over IPv4, or \"tunnel\"";
        return Err(refused(&tunnel.name, "memory", why));
    }
    if wire_of(law).is_none() {
        let why = format!(
            "no sender is called {} too, so nobody knows the format of its packets",
            law.name()
        );
        return Err(refused(&tunnel.name, "law", why));
    }
    let is_same = |(_, other): &&(String, Gateway<'_>)| {
        other.memory == tunnel.memory
            && other.spec.law.name() == law.name()
            && other.spec.params.values() == gateway.params.values()
    };
    let known = gateways.iter().find(is_same).map(|(object, _)| object.clone());
    let object = known.unwrap_or_else(|| {
        let object = format!("/objects/gateway_{}.o", gateways.len());
        let memory = tunnel.memory;
        gateways.push((object.clone(), Gateway { spec: gateway, memory }));
        object
    });
    Ok(Some(GatewayObject {
        law: law.name().to_owned(),
        object,
    }))
}

/// Finds out which flows go through which tunnels, and how.
fn route(spec: &RunSpec, tunnels: &mut [Tunnel], hop: impl Fn(u32) -> (usize, usize)) -> Result<(), Error> {
    for (number, flow) in spec.flows.iter().enumerate() {
        for (is_back, route) in [(false, &flow.route), (true, &flow.route_back)] {
            // Overlapping ones no scenario has.
            for crossing in spec.network.crossings(route).unwrap_or_default() {
                let tunnel = &mut tunnels[crossing.tunnel];
                let links = &route[crossing.first..=crossing.last];
                let inside = Inside {
                    flow: number,
                    is_back,
                    is_backward: crossing.is_backward,
                    first: crossing.first,
                    last: crossing.last,
                };
                let way: Vec<(usize, usize)> = links.iter().map(|&link| hop(link)).collect();
                let known = &mut tunnel.ways[usize::from(crossing.is_backward)];
                if tunnel.mode == Mode::Transport {
                    known.extend(way);
                    tunnel.inside.push(inside);
                    continue;
                }
                if !known.is_empty() && *known != way {
                    let why = format!(
                        "{} takes another way through it; its outer header has one route",
                        flow.name
                    );
                    return Err(none(&format!("tunnel.{}", tunnel.name), why));
                }
                *known = way;
                if crossing.first == 0 || crossing.last + 1 == route.len() {
                    let why = format!(
                        "{} begins or ends where the tunnel does; put a host in front of the gateway",
                        flow.name
                    );
                    return Err(none(&format!("tunnel.{}", tunnel.name), why));
                }
                tunnel.inside.push(inside);
            }
        }
    }
    Ok(())
}

/// Programs know packets of transport mode by the addresses of their flow, each way.
fn check_pairs(tunnel: &Tunnel) -> Result<(), Error> {
    if tunnel.inside.len() <= WAYS_MAX {
        return Ok(());
    }
    let why = format!(
        "{} flows go through it, whose hosts have addresses of their own; in transport mode allowed are {}",
        tunnel.inside.len() / 2,
        WAYS_MAX / 2
    );
    Err(refused(&tunnel.name, "mode", why))
}

/// A gateway's programs take a device for plain or for cipher.
fn check_ends(spec: &RunSpec, tunnels: &[Tunnel], number: usize, tunnel: &Tunnel) -> Result<(), Error> {
    for end in 0..2 {
        let node = &spec.network.nodes[tunnel.ends[end]].name;
        let [out, back] = [&tunnel.ways[end], &tunnel.ways[1 - end]];
        let cables = (out.first().map(|hop| hop.1), back.last().map(|hop| hop.1));
        if matches!(cables, (Some(out), Some(back)) if out != back) {
            let why = format!("at {node} it leaves by one link and comes by another; a gateway has one cipher device");
            return Err(none(&format!("tunnel.{}", tunnel.name), why));
        }
        let here = |other: &&Tunnel| other.mode == Mode::Tunnel && other.ends.contains(&tunnel.ends[end]);
        for other in tunnels[..number].iter().filter(here) {
            let other_end = usize::from(other.ends[1] == tunnel.ends[end]);
            if other.cable(other_end) != tunnel.cable(end) || other.gateways[other_end] != tunnel.gateways[end] {
                let why = format!(
                    "at {node} it shares a gateway with tunnel {}, so both need the same link, law and memory there",
                    other.name
                );
                return Err(none(&format!("tunnel.{}", tunnel.name), why));
            }
        }
    }
    Ok(())
}

/// A kernel counts what finds no association for a whole namespace.
fn check_gap(spec: &RunSpec, tunnels: &[Tunnel], number: usize, tunnel: &Tunnel) -> Result<(), Error> {
    if tunnel.rekey.is_none_or(|rekey| rekey.gap_ns == 0) {
        return Ok(());
    }
    let others = tunnels.iter().enumerate().filter(|&(other, _)| other != number);
    for (node, other) in others.flat_map(|(_, other)| other.ends.map(|node| (node, other))) {
        if tunnel.ends.contains(&node) {
            let why = format!(
                "{} is an end of tunnel {} too, and a kernel counts packets without an association for both together: \
                 give each its own node, or leave the gap out",
                spec.network.nodes[node].name, other.name
            );
            return Err(refused(&tunnel.name, "rekey_gap", why));
        }
    }
    Ok(())
}

/// Most bytes that come of a packet of so many, in whatever tunnel there is.
pub fn bytes_inside(spec: &RunSpec, ip_bytes: u32) -> u32 {
    let sizes = spec.network.tunnels.iter();
    let sizes = sizes.map(|tunnel| tunnel.encapsulated_bytes(ip_bytes));
    sizes.fold(ip_bytes, u32::max)
}

/// The largest data packet that crosses a link, as it is there.
pub fn bytes_on(spec: &RunSpec, link: u32) -> Option<u32> {
    let flows = spec.flows.iter().filter(|flow| flow.route.contains(&link));
    let sizes = flows.flat_map(|flow| {
        spec.network
            .bytes_on(&flow.route, flow.transport.packet_bytes)
            .filter(move |&(on, _)| on == link)
            .map(|(_, bytes)| bytes)
    });
    sizes.max()
}
