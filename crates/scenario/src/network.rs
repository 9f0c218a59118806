//! Builds nodes, links and routes from the topology and the groups of flows.

use std::collections::BTreeMap;
use std::sync::Arc;

use fadelab_laws::shadow::Onlooker;
use fadelab_laws::{Params, Router};
use fadelab_path::spec::{Buffer, CapacitySpec, LinkKind, LinkSpec, RouterSpec};
use fadelab_phy::channel::PacketKind;
use fadelab_run::flow::{FlowKind, FlowSpec, in_order_of_names};
use fadelab_run::network::{Edge, LinkId, NetworkSpec, NodeId, NodeKind};
use fadelab_run::transport::Transport;
use fadelab_run::tunnel::TunnelSpec;

use crate::capacity::CapacityParts;
use crate::flows::{Course, Direction, Group, Way};
use crate::queues::Queueing;
use crate::topology::graph::Route;
use crate::topology::row::Access;
use crate::topology::{Hop, Topology, rate_bps};
use crate::tunnels::packet_bytes_on;
use crate::unit::BufferSize;

/// Everything a network is built from.
pub struct Parts<'a> {
    /// Nodes and links.
    pub topology: &'a Topology,
    /// What lies over them.
    pub tunnels: Vec<TunnelSpec>,
    /// Laws of routers with their parameters, that of the run first.
    pub routers: Vec<(&'static Router, Params)>,
    /// How the queues of links are divided.
    pub queueing: Queueing,
    /// Capacity parts for constant and for recorded links.
    pub capacity: CapacityParts,
    /// Groups of flows.
    pub groups: Vec<FlowParts>,
}

/// A group of flows.
pub struct FlowParts {
    pub group: Group,
    /// Parameters of its sender.
    pub params: Params,
    /// Laws that look on.
    pub onlookers: Vec<Onlooker>,
    pub transport: Transport,
}

/// The network of a scenario, and its flows. Links are those of [`Topology::arcs`], in that order, then access links.
pub fn build(parts: &Parts<'_>) -> (NetworkSpec, Vec<FlowSpec>) {
    let topology = parts.topology;
    let mut network = NetworkSpec {
        tunnels: parts.tunnels.clone(),
        ..NetworkSpec::default()
    };
    for name in &topology.nodes {
        network.router(name.as_str());
    }
    let arcs = topology.arcs();
    let (flows, pairs) = match &topology.access {
        None => (graph_flows(parts, &mut network), Vec::new()),
        Some(access) => row_flows(parts, &mut network, access, arcs.len() as LinkId),
    };
    let delay_ns = |link: &LinkId| match (*link as usize).checked_sub(arcs.len()) {
        None => topology.hops[arcs[*link as usize].hop].delay_ns,
        Some(place) => pairs[place / ACCESS_LINKS].delay_ns,
    };
    let rtts = Rtts::of(&flows, arcs.len(), delay_ns);
    let link = |index: usize, packet_bytes| {
        let arc = &arcs[index];
        hop_link(
            parts,
            &topology.hops[arc.hop],
            arc.is_back,
            rtts.over(index),
            packet_bytes,
        )
    };
    for (index, arc) in arcs.iter().enumerate() {
        network.join(arc.from as NodeId, arc.to as NodeId, link(index, packet_bytes(parts)));
    }
    // What is in tunnels is known once links tell where routes lead.
    for (index, bytes) in packet_bytes_on(&network, &flows, packet_bytes(parts))
        .into_iter()
        .enumerate()
    {
        if bytes != packet_bytes(parts) {
            network.links[index].link = link(index, bytes);
        }
    }
    show(&mut network.links, &flows);
    for (link, arc) in network.links.iter_mut().zip(&arcs) {
        link.shown &= topology.hops[arc.hop].is_shown;
    }
    if let Some(access) = &topology.access {
        let mut kinds = BTreeMap::new();
        for (number, pair) in (1..).zip(&pairs) {
            let make = || access_kind(parts, access, pair.delay_ns, rtts.longest_ns);
            attach(
                &mut network,
                number,
                pair,
                kinds.entry(pair.delay_ns).or_insert_with(make),
            );
        }
    }
    (network, flows)
}

/// Round-trip propagation delays, in which buffers are measured.
struct Rtts {
    /// Of each link, access links aside: the longest one of the flows that cross it; 0: none does.
    over_ns: Vec<u64>,
    longest_ns: u64,
}

impl Rtts {
    /// Of flows over so many links and others, whose delays are given.
    fn of(flows: &[FlowSpec], links: usize, delay_ns: impl Fn(&LinkId) -> u64) -> Self {
        let (mut rtt_ns_max, mut longest_ns) = (vec![0; links], 0);
        for flow in flows {
            let route = || flow.route.iter().chain(&flow.route_back);
            let rtt_ns: u64 = route().map(&delay_ns).sum();
            longest_ns = rtt_ns.max(longest_ns);
            for &link in route().filter(|&&link| (link as usize) < links) {
                rtt_ns_max[link as usize] = rtt_ns.max(rtt_ns_max[link as usize]);
            }
        }
        Self {
            over_ns: rtt_ns_max,
            longest_ns,
        }
    }

    /// That of a link, in place of which the longest one stands where no flow comes.
    fn over(&self, index: usize) -> u64 {
        match self.over_ns[index] {
            0 => self.longest_ns,
            rtt_ns => rtt_ns,
        }
    }
}

/// Flows between nodes of a graph, which are hosts where flows begin or end.
fn graph_flows(parts: &Parts<'_>, network: &mut NetworkSpec) -> Vec<FlowSpec> {
    let mut flows: Vec<FlowSpec> = Vec::new();
    for (index, FlowParts { group, .. }) in parts.groups.iter().enumerate() {
        let Course::Graph(course) = &group.course else {
            continue;
        };
        for (is_backward, name) in directions(group.direction, &group.name) {
            let course = if is_backward { course.reversed() } else { course.clone() };
            for end in [course.from, course.to] {
                network.nodes[end as usize].kind = NodeKind::Host;
            }
            let kind = flow_kind(parts, index, &name);
            flows.extend((1..=group.count).map(|number| flow(&kind, number, course.clone())));
        }
    }
    flows
}

/// Links between a pair of hosts and its routers.
const ACCESS_LINKS: usize = 4;

/// One flow before it has hosts: where its data enters and leaves the row of routers.
struct Stretch {
    kind: Arc<FlowKind>,
    number: u32,
    first: usize,
    last: usize,
    is_backward: bool,
    access_delay_ns: Option<u64>,
}

/// Two hosts of a row, on the left and on the right, and the routers to which they are attached.
struct Pair {
    hosts: [NodeId; 2],
    routers: [NodeId; 2],
    /// Of each of its links.
    delay_ns: u64,
}

/// Flows over a row, and the pairs of hosts to which they belong. Access links have numbers from `access_links` on.
fn row_flows(
    parts: &Parts<'_>,
    network: &mut NetworkSpec,
    access: &Access,
    access_links: LinkId,
) -> (Vec<FlowSpec>, Vec<Pair>) {
    let stretches = stretches(parts);
    // Of packets that leave access links at one instant that of the first link is first, so links are given by name.
    let turns = in_order_of_names(stretches.iter().map(|stretch| stretch.kind.as_ref()));
    let pairs = access
        .pairs
        .map_or(stretches.len(), |pairs| stretches.len().min(pairs as usize));
    let pair = |number| Pair {
        hosts: ["left", "right"].map(|side| network.host(format!("{side}.{number}"))),
        routers: [0, 1],
        delay_ns: access.delay_ns,
    };
    let mut pairs: Vec<Pair> = (1..=pairs).map(pair).collect();
    let mut flows = Vec::new();
    for (stretch, turn) in stretches.into_iter().zip(turns) {
        let place = turn as usize % pairs.len();
        let pair = &mut pairs[place];
        pair.routers = [stretch.first as NodeId, stretch.last as NodeId + 1];
        pair.delay_ns = stretch.access_delay_ns.unwrap_or(access.delay_ns);
        let route = row_route(&stretch, pair.hosts, access_links + (ACCESS_LINKS * place) as LinkId);
        flows.push(flow(&stretch.kind, stretch.number, route));
    }
    (flows, pairs)
}

/// Results show the links that carry data; those that carry only ACKs would double every table.
fn show(links: &mut [Edge], flows: &[FlowSpec]) {
    for link in flows.iter().flat_map(|flow| &flow.route) {
        if let Some(link) = links.get_mut(*link as usize) {
            link.shown = true;
        }
    }
}

/// Bytes of a full data packet, the unit in which bandwidth-delay products are counted.
fn packet_bytes(parts: &Parts<'_>) -> u32 {
    parts.groups.first().map_or(1_500, |flows| flows.transport.packet_bytes)
}

/// The directions of a group, each with the name of its set of flows.
fn directions(direction: Direction, name: &str) -> Vec<(bool, String)> {
    match direction {
        Direction::Forward => vec![(false, name.to_owned())],
        Direction::Backward => vec![(true, name.to_owned())],
        Direction::Both => vec![(false, name.to_owned()), (true, format!("{name}.back"))],
    }
}

fn stretches(parts: &Parts<'_>) -> Vec<Stretch> {
    let hops = parts.topology.hops.len();
    let mut stretches = Vec::new();
    for (index, FlowParts { group, .. }) in parts.groups.iter().enumerate() {
        let spans: Vec<(usize, usize, String)> = match &group.course {
            Course::Row(Way::All) => vec![(0, hops - 1, group.name.clone())],
            Course::Row(Way::Hops { first, last }) => {
                vec![(*first as usize - 1, *last as usize - 1, group.name.clone())]
            }
            Course::Row(Way::Each) => (0..hops)
                .map(|hop| (hop, hop, format!("{}.hop{}", group.name, hop + 1)))
                .collect(),
            Course::Graph(_) => Vec::new(),
        };
        for (first, last, name) in spans {
            for (is_backward, group_name) in directions(group.direction, &name) {
                let kind = flow_kind(parts, index, &group_name);
                stretches.extend((1..=group.count).map(|number| Stretch {
                    kind: Arc::clone(&kind),
                    number,
                    first,
                    last,
                    is_backward,
                    access_delay_ns: group.access_delay_ns,
                }));
            }
        }
    }
    stretches
}

/// A link on which full data packets have so many IP bytes.
fn hop_link(parts: &Parts<'_>, hop: &Hop, is_back: bool, rtt_ns: u64, packet_bytes: u32) -> LinkSpec {
    let (name, capacity, size) = if is_back {
        (format!("{}.back", hop.name), &hop.capacity_back, hop.buffer_back)
    } else {
        (hop.name.clone(), &hop.capacity, hop.buffer)
    };
    let (part, part_params) = match capacity {
        CapacitySpec::Constant { .. } | CapacitySpec::Changing(_) => parts.capacity.constant.clone(),
        CapacitySpec::Trace(_) => parts.capacity.trace.clone(),
    };
    let is_own = |(law, _): &&(&'static Router, Params)| hop.router.is_none_or(|own| own.name() == law.name());
    let (law, params) = parts
        .routers
        .iter()
        .find(is_own)
        .expect("every router in use is listed");
    let channel = hop.channel.as_ref().map(|channel| channel.spec.clone());
    let coded_bytes = channel.as_ref().map_or(packet_bytes, |channel| {
        channel.air_bytes(PacketKind::Data, packet_bytes)
    });
    let air_bytes = coded_bytes + capacity.header_bytes();
    let limit = buffer(size, rate_bps(capacity), rtt_ns, air_bytes);
    let router = RouterSpec {
        law,
        params: params.clone(),
        capacity: part,
        capacity_params: part_params,
    };
    let kind = LinkKind {
        told_bps: parts.capacity.told.instead_of(capacity),
        queues: parts.queueing.of(hop.router_is_fair, law),
        channel,
        layer: hop.layer.clone(),
        ..LinkKind::new(capacity.clone(), hop.delay_ns, limit, router)
    };
    LinkSpec::new(name, false, kind)
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

/// What access links have in common.
fn access_kind(parts: &Parts<'_>, access: &Access, delay_ns: u64, rtt_ns: u64) -> Arc<LinkKind> {
    let droptail = fadelab_laws::router("droptail").expect("drop-tail is registered");
    let rate_bps = access.rate_bps;
    let (part, part_params) = parts.capacity.access.clone();
    let router = RouterSpec {
        law: droptail,
        params: droptail.default_params(),
        capacity: part,
        capacity_params: part_params,
    };
    let (capacity, limit) = (
        CapacitySpec::Constant { rate_bps },
        buffer(access.buffer, rate_bps, rtt_ns, packet_bytes(parts)),
    );
    Arc::new(LinkKind::new(capacity, delay_ns, limit, router))
}

/// The four access links of pair `number` of hosts: left up and down, right up and down. Up is from the host to its
/// router.
fn attach(network: &mut NetworkSpec, number: usize, pair: &Pair, kind: &Arc<LinkKind>) {
    for ((side, host), router) in ["left", "right"].into_iter().zip(pair.hosts).zip(pair.routers) {
        for (way, from, to) in [("up", host, router), ("down", router, host)] {
            let link = LinkSpec {
                name: format!("{side}.{number}.{way}").into(),
                shown: false,
                kind: Arc::clone(kind),
            };
            network.join(from, to, link);
        }
    }
}

/// The route between two hosts over the access links from `access` on: left up, left down, right up, right down.
fn row_route(stretch: &Stretch, [left, right]: [NodeId; 2], access: LinkId) -> Route {
    let forward = (stretch.first..=stretch.last).map(|hop| 2 * hop as LinkId);
    let back = (stretch.first..=stretch.last).rev().map(|hop| 2 * hop as LinkId + 1);
    let rightwards: Vec<LinkId> = [access].into_iter().chain(forward).chain([access + 3]).collect();
    let leftwards: Vec<LinkId> = [access + 2].into_iter().chain(back).chain([access + 1]).collect();
    let route = Route {
        from: left,
        to: right,
        there: rightwards,
        back: leftwards,
    };
    if stretch.is_backward { route.reversed() } else { route }
}

/// What the flows of a group that go one way have in common.
fn flow_kind(parts: &Parts<'_>, group: usize, group_name: &str) -> Arc<FlowKind> {
    let FlowParts {
        group,
        params,
        onlookers,
        transport,
    } = &parts.groups[group];
    Arc::new(FlowKind {
        group: group_name.to_owned(),
        sender: group.sender,
        params: params.clone(),
        onlookers: onlookers.clone(),
        receiver: crate::laws::receiver(group.sender),
        app: group.app,
        transport: *transport,
    })
}

/// Flow `number` of a group.
fn flow(kind: &Arc<FlowKind>, number: u32, route: Route) -> FlowSpec {
    FlowSpec {
        name: format!("{}.{number}", kind.group).into(),
        from: route.from,
        to: route.to,
        route: route.there,
        route_back: route.back,
        kind: Arc::clone(kind),
    }
}
