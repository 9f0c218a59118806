//! How the links of a run are laid out for the engine: which are wires, which share a pipe, which are tails of others.

use fadelab_path::node::Node;
use fadelab_path::wire::Wires;
use fadelab_run::flow::FlowSpec;
use fadelab_run::network::LinkId;
use fadelab_run::spec::RunSpec;

use crate::pipe::Pipe;

mod feeders;
mod horizon;
pub(crate) mod kinds;
mod lookahead;

use feeders::{Feeder, Feeders};
use horizon::{Places, find_answers};
use lookahead::look_ahead;

/// The links of a run, and the pipes behind them.
pub(crate) struct Layout {
    /// All links, of which those that are no plain wires only take a number here.
    pub wires: Wires,
    /// The others, in the order of the spec.
    pub nodes: Vec<Node>,
    /// Of each kind of wires, then of each of `nodes`.
    pub pipes: Vec<Pipe>,
    /// The pipe of each link.
    pub pipe_of: Vec<u32>,
}

impl Layout {
    /// Builds the links of a spec, some of which are `apart`: delays of several classes of packets are counted there.
    pub fn of(spec: &RunSpec, apart: impl Fn(LinkId) -> bool) -> Self {
        let spec = &*kinds::told_apart(spec);
        let mut wires = Wires::default();
        for (link, family) in spec.network.links.iter().zip(families(spec, &apart)) {
            wires.add(link, spec.seed, family);
        }
        let kinds = wires.kinds().count();
        let mut pipe_of: Vec<u32> = (0..spec.network.links.len())
            .map(|index| wires.kind(index) as u32)
            .collect();
        let (mut nodes, mut node_ids) = (Vec::new(), Vec::new());
        for (id, (link, bytes)) in (0..).zip(spec.network.links.iter().zip(largest_packets(spec))) {
            if !Wires::is_wire(link) {
                pipe_of[id as usize] = (kinds + nodes.len()) as u32;
                nodes.push(Node::new(link, spec.seed, bytes));
                node_ids.push(id);
            }
        }
        let seen_by = |link: LinkId| {
            let at = (pipe_of[link as usize] as usize).checked_sub(kinds)?;
            nodes[at].sees_departures().then_some(at as u32)
        };
        let of_kind = |(delay_ns, family)| {
            let feeder = feeder_of(family);
            Pipe::new(delay_ns, feeder.is_some(), feeder.and_then(seen_by))
        };
        let mut pipes: Vec<Pipe> = wires.kinds().map(of_kind).collect();
        let of_node = |&id: &LinkId| Pipe::new(spec.network.links[id as usize].delay_ns, false, seen_by(id));
        pipes.extend(node_ids.iter().map(of_node));
        let settled = pipes.iter().map(|pipe| Some(node_ids[pipe.settles()? as usize]));
        look_ahead(spec, &pipe_of, &settled.collect::<Vec<_>>(), &mut pipes);
        let places = Places {
            wires: &wires,
            kinds,
            pipe_of: &pipe_of,
        };
        find_answers(spec, places, &mut pipes);
        Self {
            wires,
            nodes,
            pipes,
            pipe_of,
        }
    }
}

/// Both ways of a flow, each with the one that answers take, and whether it is of data.
fn both_ways(flow: &FlowSpec) -> [(&[LinkId], &[LinkId], bool); 2] {
    let (there, back) = (&flow.route[..], &flow.route_back[..]);
    [(there, back, true), (back, there, false)]
}

/// Wires of a family and of the same kind share a pipe: those over which packets pass without a queue, and those that
/// are tails of the same wire. One that several links feed, or that is the slowest of a route, has a pipe for itself.
/// Where a flow enters the network and where the other way of it ends lies the same host, so first links form a family
/// with others behind whose hosts' tails are: into their pipe packets come as they come out of that of the tails.
fn families(spec: &RunSpec, apart: impl Fn(LinkId) -> bool) -> Vec<u64> {
    let feeders = Feeders::of(spec, |link| link);
    let tail_of = |link| tail_of(link, spec, &feeders, &apart);
    let rate = |link: LinkId| spec.network.links[link as usize].capacity.rate_bps_mean();
    let mut is_slowest = vec![false; spec.network.links.len()];
    for route in spec.flows.iter().flat_map(|flow| [&flow.route, &flow.route_back]) {
        let least = route.iter().map(|&link| rate(link)).min();
        let slowest = route.iter().filter(|&&link| Some(rate(link)) == least);
        slowest.for_each(|&link| is_slowest[link as usize] = true);
    }
    let mut beside_tails_of = vec![None; spec.network.links.len()];
    for (way, answer, _) in spec.flows.iter().flat_map(both_ways) {
        if let (Some(&last), Some(&first)) = (way.last(), answer.first()) {
            beside_tails_of[first as usize] = tail_of(last);
        }
    }
    let family = |link: LinkId| match (tail_of(link), feeders.of_link(link)) {
        (Some(before), _) => 2 * u64::from(before) + 1,
        (None, Feeder::Route) if !is_slowest[link as usize] => {
            beside_tails_of[link as usize].map_or(0, |before| ENTRANCES + 2 * u64::from(before))
        }
        (None, Feeder::One(_)) if !is_slowest[link as usize] => 0,
        _ => 2 * u64::from(link) + 2,
    };
    (0..spec.network.links.len() as LinkId).map(family).collect()
}

/// From here on families are of first links.
const ENTRANCES: u64 = 1 << 40;

/// The link of which `link` is a tail, if it is one. A tail has none itself: a packet is ahead of its time on one wire
/// at most. One that is slower than what feeds it would have to hold packets back all the time, and one with a channel
/// would say too early what is lost. Where delays are counted apart each packet is looked at when it comes.
fn tail_of(link: LinkId, spec: &RunSpec, feeders: &Feeders, apart: &impl Fn(LinkId) -> bool) -> Option<LinkId> {
    let Feeder::One(before) = feeders.straight_of_link(link) else {
        return None;
    };
    let [feeder, tail] = [before, link].map(|index| &spec.network.links[index as usize]);
    let is_faster = feeder.capacity.rate_bps_mean() <= tail.capacity.rate_bps_mean();
    let may = is_faster && Node::plans_ahead(feeder) && Wires::is_wire(tail) && tail.channel.is_none() && !apart(link);
    (may && tail_of(before, spec, feeders, apart).is_none()).then_some(before)
}

/// The link of which wires of a family are tails, if they are.
fn feeder_of(family: u64) -> Option<LinkId> {
    (family % 2 == 1).then_some((family / 2) as LinkId)
}

/// IP bytes of a full data packet on each link: the largest of the flows that send data over it, else of all.
fn largest_packets(spec: &RunSpec) -> Vec<u32> {
    let bytes = |flow: &FlowSpec| flow.transport.packet_bytes;
    let largest = spec.flows.iter().map(bytes).max().unwrap_or(1500);
    let mut packet_bytes = vec![0; spec.network.links.len()];
    for flow in &spec.flows {
        for (link, bytes) in spec.network.bytes_on(&flow.route, bytes(flow)) {
            let known: &mut u32 = &mut packet_bytes[link as usize];
            *known = bytes.max(*known);
        }
    }
    packet_bytes
        .into_iter()
        .map(|bytes| if bytes == 0 { largest } else { bytes })
        .collect()
}
