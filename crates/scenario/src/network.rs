//! Builds links and routes from the topology and the groups of flows.

use std::sync::Arc;

use fadelab_laws::{Params, Router};
use fadelab_path::layer::LinkLayer;
use fadelab_path::spec::{Buffer, CapacitySpec, LinkKind, LinkSpec, Queues, RouterSpec};
use fadelab_phy::channel::PacketKind;
use fadelab_run::flow::{FlowKind, FlowSpec, in_order_of_names};
use fadelab_run::network::LinkId;
use fadelab_run::transport::Transport;

use crate::capacity::CapacityParts;
use crate::flows::{Course, Direction, Group, Way};
use crate::graph::{Graph, Route};
use crate::queues::Queueing;
use crate::row::Row;
use crate::topology::{Hop, Topology, rate_bps};
use crate::unit::BufferSize;

/// Everything a network is built from.
pub struct Parts<'a> {
    /// Nodes and links.
    pub topology: &'a Topology,
    /// Laws of routers with their parameters, that of the run first.
    pub routers: Vec<(&'static Router, Params)>,
    /// How the queues of links are divided.
    pub queueing: Queueing,
    /// Capacity parts for constant and for recorded links.
    pub capacity: CapacityParts,
    /// Groups of flows, each with the parameters of its sender and its transport.
    pub groups: Vec<(Group, Params, Transport)>,
}

/// Links and flows of a scenario.
pub fn build(parts: &Parts<'_>) -> (Vec<LinkSpec>, Vec<FlowSpec>) {
    match parts.topology {
        Topology::Row(row) => build_row(parts, row),
        Topology::Graph(graph) => build_graph(parts, graph),
    }
}

/// Round-trip propagation delays, in which buffers are measured.
struct Rtts {
    /// Of each link or hop: the longest one of the flows that cross it; 0: none does.
    over_ns: Vec<u64>,
    /// The longest one of all.
    longest_ns: u64,
}

impl Rtts {
    fn of(over_ns: Vec<u64>) -> Self {
        let longest_ns = over_ns.iter().copied().max().unwrap_or(0);
        Self { over_ns, longest_ns }
    }

    /// That of a link or hop, in place of which the longest one stands where no flow comes.
    fn over(&self, index: usize) -> u64 {
        match self.over_ns[index] {
            0 => self.longest_ns,
            rtt_ns => rtt_ns,
        }
    }
}

/// Flows between nodes of a graph; links are those of [`Graph::arcs`], in that order.
fn build_graph(parts: &Parts<'_>, graph: &Graph) -> (Vec<LinkSpec>, Vec<FlowSpec>) {
    let arcs = graph.arcs();
    let mut flows: Vec<FlowSpec> = Vec::new();
    for (index, (group, _, _)) in parts.groups.iter().enumerate() {
        let Course::Graph(route) = &group.course else { continue };
        for (is_backward, name) in directions(group.direction, &group.name) {
            let (there, back) = if is_backward {
                (&route.back, &route.there)
            } else {
                (&route.there, &route.back)
            };
            let route = || Route {
                there: there.clone(),
                back: back.clone(),
            };
            let kind = flow_kind(parts, index, &name);
            flows.extend((1..=group.count).map(|number| flow(&kind, number, route())));
        }
    }
    let delay_ns = |link: &LinkId| graph.links[arcs[*link as usize].link].hop.delay_ns;
    let route_of = |flow: &FlowSpec| flow.route.iter().chain(&flow.route_back).copied().collect::<Vec<_>>();
    let mut rtt_ns_max = vec![0; arcs.len()];
    for flow in &flows {
        let route = route_of(flow);
        let rtt_ns: u64 = route.iter().map(delay_ns).sum();
        for link in route {
            rtt_ns_max[link as usize] = rtt_ns.max(rtt_ns_max[link as usize]);
        }
    }
    let rtts_ns = Rtts::of(rtt_ns_max);
    let link_of = |(index, arc): (usize, &crate::graph::Arc)| {
        hop_link(parts, &graph.links[arc.link].hop, arc.is_back, rtts_ns.over(index))
    };
    let mut links: Vec<LinkSpec> = arcs.iter().enumerate().map(link_of).collect();
    show(&mut links, &flows);
    for (link, arc) in links.iter_mut().zip(&arcs) {
        link.shown &= graph.links[arc.link].is_shown;
    }
    (links, flows)
}

/// One flow before it has links: where its data enters and leaves the row of routers.
struct Stretch {
    kind: Arc<FlowKind>,
    number: u32,
    first: usize,
    last: usize,
    is_backward: bool,
}

fn build_row(parts: &Parts<'_>, row: &Row) -> (Vec<LinkSpec>, Vec<FlowSpec>) {
    let stretches = stretches(parts, row);
    let mut rtt_ns_max = vec![0; row.hops.len()];
    for stretch in &stretches {
        let rtt_ns = base_rtt_ns(row, stretch);
        for longest_ns in &mut rtt_ns_max[stretch.first..=stretch.last] {
            *longest_ns = rtt_ns.max(*longest_ns);
        }
    }
    let rtts_ns = Rtts::of(rtt_ns_max);
    let mut links = Vec::new();
    for (index, hop) in row.hops.iter().enumerate() {
        links.push(hop_link(parts, hop, false, rtts_ns.over(index)));
        links.push(hop_link(parts, hop, true, rtts_ns.over(index)));
    }
    // Of packets that leave access links at one instant that of the first link is first, so links are given by name.
    let turns = in_order_of_names(stretches.iter().map(|stretch| stretch.kind.as_ref()));
    let pairs = row
        .pairs
        .map_or(stretches.len(), |pairs| stretches.len().min(pairs as usize));
    let access = access_kind(parts, row, rtts_ns.longest_ns);
    (1..=pairs).for_each(|pair| push_pair(&mut links, pair, &access));
    let mut flows = Vec::new();
    for (stretch, turn) in stretches.into_iter().zip(turns) {
        let first_access = 2 * row.hops.len() + 4 * (turn as usize % pairs);
        let route = row_route(&stretch, first_access as LinkId);
        flows.push(flow(&stretch.kind, stretch.number, route));
    }
    show(&mut links[..2 * row.hops.len()], &flows);
    (links, flows)
}

/// Results show the links that carry data; those that carry only ACKs would double every table.
fn show(links: &mut [LinkSpec], flows: &[FlowSpec]) {
    for link in flows.iter().flat_map(|flow| &flow.route) {
        if let Some(link) = links.get_mut(*link as usize) {
            link.shown = true;
        }
    }
}

/// Bytes of a full data packet, the unit in which bandwidth-delay products are counted.
fn packet_bytes(parts: &Parts<'_>) -> u32 {
    parts
        .groups
        .first()
        .map_or(1_500, |(_, _, transport)| transport.packet_bytes)
}

/// The directions of a group, each with the name of its set of flows.
fn directions(direction: Direction, name: &str) -> Vec<(bool, String)> {
    match direction {
        Direction::Forward => vec![(false, name.to_owned())],
        Direction::Backward => vec![(true, name.to_owned())],
        Direction::Both => vec![(false, name.to_owned()), (true, format!("{name}.back"))],
    }
}

fn stretches(parts: &Parts<'_>, row: &Row) -> Vec<Stretch> {
    let hops = row.hops.len();
    let mut stretches = Vec::new();
    for (index, (group, _, _)) in parts.groups.iter().enumerate() {
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
                }));
            }
        }
    }
    stretches
}

/// Twice the propagation delay of a flow's path.
fn base_rtt_ns(row: &Row, stretch: &Stretch) -> u64 {
    let hops: u64 = row.hops[stretch.first..=stretch.last]
        .iter()
        .map(|hop| hop.delay_ns)
        .sum();
    2 * (hops + 2 * row.access_delay_ns)
}

fn hop_link(parts: &Parts<'_>, hop: &Hop, is_back: bool, rtt_ns: u64) -> LinkSpec {
    let (name, capacity, size) = if is_back {
        (format!("{}.back", hop.name), &hop.capacity_back, hop.buffer_back)
    } else {
        (hop.name.clone(), &hop.capacity, hop.buffer)
    };
    let (part, part_params) = match capacity {
        CapacitySpec::Constant { .. } => parts.capacity.constant.clone(),
        CapacitySpec::Trace(_) => parts.capacity.trace.clone(),
    };
    let is_own = |(law, _): &&(&'static Router, Params)| hop.router.is_none_or(|own| own.name() == law.name());
    let (law, params) = parts
        .routers
        .iter()
        .find(is_own)
        .expect("every router in use is listed");
    let channel = hop.channel.as_ref().map(|channel| channel.spec.clone());
    let packet_bytes = packet_bytes(parts);
    let coded_bytes = channel.as_ref().map_or(packet_bytes, |channel| {
        channel.air_bytes(PacketKind::Data, packet_bytes)
    });
    let air_bytes = coded_bytes + capacity.header_bytes();
    let kind = LinkKind {
        capacity: capacity.clone(),
        delay_ns: hop.delay_ns,
        buffer: buffer(size, rate_bps(capacity), rtt_ns, air_bytes),
        router: RouterSpec {
            law,
            params: params.clone(),
            capacity: part,
            capacity_params: part_params,
        },
        queues: parts.queueing.of(hop.router_is_fair, law),
        channel,
        layer: hop.layer.clone(),
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
fn access_kind(parts: &Parts<'_>, row: &Row, rtt_ns: u64) -> Arc<LinkKind> {
    let droptail = fadelab_laws::router("droptail").expect("drop-tail is registered");
    let rate_bps = row.access_rate_bps;
    let (part, part_params) = parts.capacity.access.clone();
    Arc::new(LinkKind {
        capacity: CapacitySpec::Constant { rate_bps },
        delay_ns: row.access_delay_ns,
        buffer: buffer(row.access_buffer, rate_bps, rtt_ns, packet_bytes(parts)),
        router: RouterSpec {
            law: droptail,
            params: droptail.default_params(),
            capacity: part,
            capacity_params: part_params,
        },
        queues: Queues::One,
        channel: None,
        layer: LinkLayer::default(),
    })
}

/// The four access links of pair `pair` of hosts: left up and down, right up and down. Up is from the host to its
/// router.
fn push_pair(links: &mut Vec<LinkSpec>, pair: usize, kind: &Arc<LinkKind>) {
    for side in ["left", "right"] {
        for way in ["up", "down"] {
            links.push(LinkSpec {
                name: format!("{side}.{pair}.{way}").into(),
                shown: false,
                kind: Arc::clone(kind),
            });
        }
    }
}

/// The route over the access links from `access` on: left up, left down, right up, right down.
fn row_route(stretch: &Stretch, access: LinkId) -> Route {
    let forward = (stretch.first..=stretch.last).map(|hop| 2 * hop as LinkId);
    let back = (stretch.first..=stretch.last).rev().map(|hop| 2 * hop as LinkId + 1);
    let rightwards: Vec<LinkId> = [access].into_iter().chain(forward).chain([access + 3]).collect();
    let leftwards: Vec<LinkId> = [access + 2].into_iter().chain(back).chain([access + 1]).collect();
    let (there, back) = if stretch.is_backward {
        (leftwards, rightwards)
    } else {
        (rightwards, leftwards)
    };
    Route { there, back }
}

/// What the flows of a group that go one way have in common.
fn flow_kind(parts: &Parts<'_>, group: usize, group_name: &str) -> Arc<FlowKind> {
    let (group, params, transport) = &parts.groups[group];
    Arc::new(FlowKind {
        group: group_name.to_owned(),
        sender: group.sender,
        params: params.clone(),
        receiver: crate::laws::receiver(group.sender),
        app: group.app,
        transport: *transport,
    })
}

/// Flow `number` of a group.
fn flow(kind: &Arc<FlowKind>, number: u32, route: Route) -> FlowSpec {
    FlowSpec {
        name: format!("{}.{number}", kind.group).into(),
        route: route.there,
        route_back: route.back,
        kind: Arc::clone(kind),
    }
}
