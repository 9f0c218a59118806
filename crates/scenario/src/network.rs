//! Builds links and routes from hops and groups of flows.

use fadelab_laws::{Params, Router};
use fadelab_phy::channel::{ChannelSpec, PacketKind};
use fadelab_sim::spec::{Buffer, CapacitySpec, FlowSpec, LinkId, LinkLayer, LinkSpec, Queues, RouterSpec, Transport};

use crate::capacity::CapacityParts;
use crate::flows::{Direction, Group, Way};
use crate::topology::{Hop, Topology, rate_bps};
use crate::unit::BufferSize;

/// Everything a network is built from.
pub struct Parts<'a> {
    /// Hops and access links.
    pub topology: &'a Topology,
    /// Channel of every hop.
    pub channel: Option<ChannelSpec>,
    /// Law of every hop's routers.
    pub router: &'static Router,
    /// Its parameters.
    pub router_params: Params,
    /// Capacity parts for constant and for recorded links.
    pub capacity: CapacityParts,
    /// Groups of flows, each with the parameters of its sender and its transport.
    pub groups: Vec<(Group, Params, Transport)>,
}

/// One flow before it has links: where its data enters and leaves the row of routers.
struct Stretch {
    group: usize,
    name: String,
    group_name: String,
    first: usize,
    last: usize,
    is_backward: bool,
}

/// Links and flows of a scenario.
pub fn build(parts: &Parts<'_>) -> (Vec<LinkSpec>, Vec<FlowSpec>) {
    let stretches = stretches(parts);
    let rtt_ns = stretches
        .first()
        .map_or(0, |stretch| base_rtt_ns(parts.topology, stretch));
    let air_bytes = air_bytes(parts);
    let mut links = Vec::new();
    for hop in &parts.topology.hops {
        links.push(hop_link(parts, hop, false, rtt_ns, air_bytes));
        links.push(hop_link(parts, hop, true, rtt_ns, air_bytes));
    }
    let mut flows = Vec::new();
    for (index, stretch) in stretches.into_iter().enumerate() {
        let pair = parts.topology.pairs.map_or(index, |pairs| index % pairs as usize);
        let first_access = 2 * parts.topology.hops.len() + 4 * pair;
        while links.len() <= first_access {
            push_pair(parts, &mut links, rtt_ns);
        }
        flows.push(flow(parts, stretch, first_access as LinkId));
    }
    show(&mut links[..2 * parts.topology.hops.len()], &flows);
    (links, flows)
}

/// Results show the hops that carry data; those that carry only ACKs would double every table.
fn show(hop_links: &mut [LinkSpec], flows: &[FlowSpec]) {
    for link in flows.iter().flat_map(|flow| &flow.route) {
        if let Some(link) = hop_links.get_mut(*link as usize) {
            link.shown = true;
        }
    }
}

/// On-air bytes of a full data packet on a hop, the unit in which bandwidth-delay products are counted.
fn air_bytes(parts: &Parts<'_>) -> u32 {
    let packet_bytes = parts
        .groups
        .first()
        .map_or(1_500, |(_, _, transport)| transport.packet_bytes);
    parts.channel.as_ref().map_or(packet_bytes, |channel| {
        channel.air_bytes(PacketKind::Data, packet_bytes)
    })
}

fn stretches(parts: &Parts<'_>) -> Vec<Stretch> {
    let hops = parts.topology.hops.len();
    let mut stretches = Vec::new();
    for (index, (group, _, _)) in parts.groups.iter().enumerate() {
        let spans: Vec<(usize, usize, String)> = match group.way {
            Way::All => vec![(0, hops - 1, group.name.clone())],
            Way::Hops { first, last } => vec![(first as usize - 1, last as usize - 1, group.name.clone())],
            Way::Each => (0..hops)
                .map(|hop| (hop, hop, format!("{}.hop{}", group.name, hop + 1)))
                .collect(),
        };
        let (forward, backward) = (
            group.direction != Direction::Backward,
            group.direction != Direction::Forward,
        );
        for (first, last, name) in spans {
            let back_name = if forward { format!("{name}.back") } else { name.clone() };
            for (is_backward, group_name) in [(false, &name), (true, &back_name)] {
                if if is_backward { !backward } else { !forward } {
                    continue;
                }
                stretches.extend((1..=group.count).map(|number| Stretch {
                    group: index,
                    name: format!("{group_name}.{number}"),
                    group_name: group_name.clone(),
                    first,
                    last,
                    is_backward,
                }));
            }
        }
    }
    stretches
}

/// Twice the propagation delay of a flow's path.
fn base_rtt_ns(topology: &Topology, stretch: &Stretch) -> u64 {
    let hops: u64 = topology.hops[stretch.first..=stretch.last]
        .iter()
        .map(|hop| hop.delay_ns)
        .sum();
    2 * (hops + 2 * topology.access_delay_ns)
}

fn hop_link(parts: &Parts<'_>, hop: &Hop, is_back: bool, rtt_ns: u64, air_bytes: u32) -> LinkSpec {
    let (name, capacity, size) = if is_back {
        (format!("{}.back", hop.name), &hop.capacity_back, hop.buffer_back)
    } else {
        (hop.name.clone(), &hop.capacity, hop.buffer)
    };
    let (part, part_params) = match capacity {
        CapacitySpec::Constant { .. } => parts.capacity.constant.clone(),
        CapacitySpec::Trace(_) => parts.capacity.trace.clone(),
    };
    LinkSpec {
        name,
        capacity: capacity.clone(),
        delay_ns: hop.delay_ns,
        buffer: buffer(size, rate_bps(capacity), rtt_ns, air_bytes),
        router: RouterSpec {
            law: parts.router,
            params: parts.router_params.clone(),
            capacity: part,
            capacity_params: part_params,
        },
        queues: Queues::One,
        channel: parts.channel.clone(),
        layer: LinkLayer::default(),
        shown: false,
    }
}

/// A bandwidth-delay product is counted in full data packets, rounded, and at least one.
fn buffer(size: BufferSize, rate_bps: u64, rtt_ns: u64, air_bytes: u32) -> Buffer {
    match size {
        BufferSize::Packets(packets) => Buffer {
            packets: Some(packets),
            bytes: None,
        },
        BufferSize::Bytes(bytes) => Buffer {
            packets: None,
            bytes: Some(bytes),
        },
        BufferSize::MilliBdp(milli) => {
            let bit_ns = (u128::from(rate_bps) * u128::from(rtt_ns)).saturating_mul(u128::from(milli));
            let packet_bit_ns = 8 * u128::from(air_bytes) * 1_000_000_000 * 1_000;
            let packets = bit_ns.saturating_add(packet_bit_ns / 2) / packet_bit_ns;
            Buffer {
                packets: Some(u32::try_from(packets).unwrap_or(u32::MAX).max(1)),
                bytes: None,
            }
        }
    }
}

/// The four access links of a pair of hosts: left up and down, right up and down. Up is from the host to its router.
fn push_pair(parts: &Parts<'_>, links: &mut Vec<LinkSpec>, rtt_ns: u64) {
    let pair = (links.len() - 2 * parts.topology.hops.len()) / 4 + 1;
    let droptail = fadelab_laws::router("droptail").expect("drop-tail is registered");
    let rate_bps = parts.topology.access_rate_bps;
    let packet_bytes = parts
        .groups
        .first()
        .map_or(1_500, |(_, _, transport)| transport.packet_bytes);
    for side in ["left", "right"] {
        for way in ["up", "down"] {
            let (part, part_params) = parts.capacity.access.clone();
            links.push(LinkSpec {
                name: format!("{side}.{pair}.{way}"),
                capacity: CapacitySpec::Constant { rate_bps },
                delay_ns: parts.topology.access_delay_ns,
                buffer: buffer(parts.topology.access_buffer, rate_bps, rtt_ns, packet_bytes),
                router: RouterSpec {
                    law: droptail,
                    params: droptail.default_params(),
                    capacity: part,
                    capacity_params: part_params,
                },
                queues: Queues::One,
                channel: None,
                layer: LinkLayer::default(),
                shown: false,
            });
        }
    }
}

/// A flow over the access links from `access` on: left up, left down, right up, right down.
fn flow(parts: &Parts<'_>, stretch: Stretch, access: LinkId) -> FlowSpec {
    let forward = (stretch.first..=stretch.last).map(|hop| 2 * hop as LinkId);
    let back = (stretch.first..=stretch.last).rev().map(|hop| 2 * hop as LinkId + 1);
    let rightwards: Vec<LinkId> = [access].into_iter().chain(forward).chain([access + 3]).collect();
    let leftwards: Vec<LinkId> = [access + 2].into_iter().chain(back).chain([access + 1]).collect();
    let (route, route_back) = if stretch.is_backward {
        (leftwards, rightwards)
    } else {
        (rightwards, leftwards)
    };
    let (group, params, transport) = &parts.groups[stretch.group];
    FlowSpec {
        name: stretch.name,
        group: stretch.group_name,
        sender: group.sender,
        params: params.clone(),
        receiver: crate::laws::receiver(group.sender),
        app: group.app,
        transport: *transport,
        route,
        route_back,
    }
}
