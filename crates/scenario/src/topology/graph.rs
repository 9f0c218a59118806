//! `[link.NAME]`: nodes and links in any shape, and the routes that flows take over them.

use fadelab_laws::Router;
use fadelab_run::network::{LinkId, NodeId};

use crate::channel;
use crate::document::{Raw, quoted};
use crate::error::{Refusal, nearest, one_of};
use crate::key::{
    Absent::{Is, Needed},
    Declared, Key, Only, key,
};
use crate::kind::Kind;
use crate::laws;
use crate::layer;
use crate::name::{self, NAMES_MAX};
use crate::reader::Reader;
use crate::topology::Topology;
use crate::topology::changes;
use crate::topology::hop::{self, Files, Hop};
use crate::topology::trace_rules::TRACE_RULES;
use crate::unit::Scalar;

/// One direction of a hop; its index in [`Topology::arcs`] is its [`LinkId`].
#[derive(Clone, Copy, Debug)]
pub struct Arc {
    /// Index into [`Topology::hops`].
    pub hop: usize,
    /// Whether it is the link back.
    pub is_back: bool,
    /// The node where it begins.
    pub from: usize,
    /// The node where it ends.
    pub to: usize,
    delay_ns: u64,
}

/// Where a flow goes, and its ACKs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The node that sends data.
    pub from: NodeId,
    /// The node that receives them.
    pub to: NodeId,
    /// Links of the data, in order.
    pub there: Vec<LinkId>,
    /// Links of the ACKs, in order.
    pub back: Vec<LinkId>,
}

impl Route {
    /// The same for data that go the other way.
    pub fn reversed(&self) -> Self {
        Self {
            from: self.to,
            to: self.from,
            there: self.back.clone(),
            back: self.there.clone(),
        }
    }
}

impl Topology {
    /// Each link in the order of writing, followed by the link back where there is one.
    pub fn arcs(&self) -> Vec<Arc> {
        let mut arcs = Vec::new();
        for (index, hop) in self.hops.iter().enumerate() {
            let there = Arc {
                hop: index,
                is_back: false,
                from: hop.from,
                to: hop.to,
                delay_ns: hop.delay_ns,
            };
            arcs.push(there);
            if hop.is_duplex {
                arcs.push(Arc {
                    is_back: true,
                    from: hop.to,
                    to: hop.from,
                    ..there
                });
            }
        }
        arcs
    }

    /// The node of that name.
    ///
    /// # Errors
    /// There is none, with the names that there are.
    pub fn node(&self, name: &str) -> Result<usize, String> {
        let names: Vec<&str> = self.nodes.iter().map(String::as_str).collect();
        names.iter().position(|known| *known == name).ok_or_else(|| {
            let near = nearest(name, &names);
            format!("there is no node `{name}`, topology.nodes has {}{near}", one_of(&names))
        })
    }

    /// The route through `stops`, two nodes at least: between two of them the one with the fewest links, among those
    /// the one with the least delay, then the one found first in the order of writing. ACKs take the same links back
    /// where each has a link back, and else the route through the stops in reverse.
    ///
    /// # Errors
    /// The two stops between which there is no way, or a link that would be crossed twice.
    pub fn route(&self, stops: &[usize]) -> Result<Route, String> {
        let arcs = self.arcs();
        let there = self.through(&arcs, stops)?;
        let mirrored = there
            .iter()
            .rev()
            .map(|arc| twin(&arcs, *arc))
            .collect::<Option<Vec<_>>>();
        let back = match mirrored {
            Some(back) => back,
            None => self.through(&arcs, &stops.iter().rev().copied().collect::<Vec<_>>())?,
        };
        let ids = |route: Vec<usize>| route.into_iter().map(|arc| arc as LinkId).collect();
        Ok(Route {
            from: stops[0] as NodeId,
            to: stops[stops.len() - 1] as NodeId,
            there: ids(there),
            back: ids(back),
        })
    }

    fn through(&self, arcs: &[Arc], stops: &[usize]) -> Result<Vec<usize>, String> {
        let mut route: Vec<usize> = Vec::new();
        for pair in stops.windows(2) {
            let part = shortest(arcs, self.nodes.len(), pair[0], pair[1]).ok_or_else(|| {
                let (from, to) = (&self.nodes[pair[0]], &self.nodes[pair[1]]);
                format!("there is no route from node `{from}` to node `{to}`: add a link or correct its ends")
            })?;
            if let Some(twice) = part.iter().find(|arc| route.contains(arc)) {
                let name = &self.hops[arcs[*twice].hop].name;
                return Err(format!(
                    "the route would cross link `{name}` twice: leave out a node of `via`"
                ));
            }
            route.extend(part);
        }
        Ok(route)
    }
}

/// The other direction of the same link.
fn twin(arcs: &[Arc], arc: usize) -> Option<usize> {
    let other = if arcs[arc].is_back {
        arc.checked_sub(1)?
    } else {
        arc + 1
    };
    arcs.get(other).filter(|twin| twin.hop == arcs[arc].hop).map(|_| other)
}

/// Fewest links, then least delay, then first in order: breadth first, a round for each number of links.
fn shortest(arcs: &[Arc], nodes: usize, from: usize, to: usize) -> Option<Vec<usize>> {
    // For each node that was reached: in which round, after which delay, over which link.
    let mut reached: Vec<Option<(usize, u64, usize)>> = vec![None; nodes];
    reached[from] = Some((0, 0, usize::MAX));
    let mut round = 0;
    while reached[to].is_none() {
        let before = reached.clone();
        round += 1;
        for (index, arc) in arcs.iter().enumerate() {
            let Some((_, delay_ns, _)) = before[arc.from].filter(|(reached, ..)| *reached == round - 1) else {
                continue;
            };
            let delay_ns = delay_ns + arc.delay_ns;
            if reached[arc.to].is_none_or(|(at, best_ns, _)| at == round && delay_ns < best_ns) {
                reached[arc.to] = Some((round, delay_ns, index));
            }
        }
        if reached == before {
            return None;
        }
    }
    let mut route = Vec::new();
    let mut node = to;
    while node != from {
        let (_, _, arc) = reached[node]?;
        route.push(arc);
        node = arcs[arc].from;
    }
    route.reverse();
    Some(route)
}

/// Which channel a link has.
enum Air {
    Wire,
    Common,
    Named(String),
}

impl Scalar for Air {
    const KIND: Kind = Kind::Channel;

    fn read(raw: &Raw) -> Result<Self, String> {
        match raw {
            Raw::Bool(true) => Ok(Self::Common),
            Raw::Bool(false) => Ok(Self::Wire),
            Raw::Text(name) => Ok(Self::Named(name.clone())),
            _ => Err("allowed is true for [channel], false for a wire, or the NAME of a [channel.NAME]".to_owned()),
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Wire => "false".to_owned(),
            Self::Common => "true".to_owned(),
            Self::Named(name) => quoted(name),
        }
    }
}

pub(super) const NODES: Key = key(
    "nodes",
    Kind::List(&Kind::Name),
    Needed,
    "graph: names of the nodes, `[\"server\", \"router\", \"phone\"]`; a list of lists sweeps it",
)
.only(&Only {
    decided_by: "preset",
    by_presence: false,
    choice: "a graph",
    remedy: "leave out topology.preset, or the nodes",
});

/// What to give where an end is missing names the nodes there are.
const FROM: Declared<String> = Declared::new("from", Needed, "the node at which the link begins").of_kind(Kind::Name);
const TO: Declared<String> = Declared::new("to", Needed, "the node at which it ends").of_kind(Kind::Name);
const DUPLEX: Declared<bool> = Declared::new("duplex", Is("true"), "whether there is a link back too, `NAME.back`");
const CHANNEL: Declared<Air> = Declared::new(
    "channel",
    Is("true"),
    "`true`: what `[channel]` says, if the scenario has it; a name: `[channel.NAME]`; `false`: a wire",
);
const ROUTER: Declared<String> = Declared::new(
    "router",
    Is("\"auto\""),
    "law of its queues; `\"auto\"` is that of the run, see `[flow]`",
)
.of_kind(Kind::Router);
const SHOW: Declared<bool> = Declared::new("show", Is("true"), "whether results show it where it carries data");

/// The keys of `[link.NAME]`.
pub(crate) const LINK: &[Key] = &[
    FROM.key,
    TO.key,
    DUPLEX.key,
    hop::RATE.key,
    hop::RATE_BACK.key,
    changes::RATE_CHANGES.key,
    changes::RATE_CHANGES_BACK.key,
    hop::TRACE,
    hop::TRACE_BACK,
    TRACE_RULES.key,
    hop::DELAY.key,
    hop::BUFFER.key,
    hop::BUFFER_BACK.key,
    CHANNEL.key,
    ROUTER.key,
    SHOW.key,
];

/// Most nodes.
const NODES_MAX: usize = NAMES_MAX;

/// Reads `topology.nodes` and all links.
pub fn read(reader: &mut Reader<'_>, files: &mut Files<'_>) -> Result<Topology, Refusal> {
    let mut graph = Topology {
        nodes: nodes(reader)?,
        hops: Vec::new(),
        access: None,
    };
    let names = reader.names_in("link");
    if names.is_empty() {
        let example = "a graph has links, each a table such as [link.uplink] with from, to, rate and delay";
        return Err(reader.missing("link", example));
    }
    for name in names {
        let hop = hop(reader, files, &graph, name)?;
        graph.hops.push(hop);
    }
    for (index, node) in graph.nodes.iter().enumerate() {
        if !graph.hops.iter().any(|hop| hop.from == index || hop.to == index) {
            reader.warnings.push(format!("no link leads to or from node `{node}`"));
        }
    }
    Ok(graph)
}

fn nodes(reader: &mut Reader<'_>) -> Result<Vec<String>, Refusal> {
    let path = &NODES.path("topology");
    let example = "name the nodes, for example nodes = [\"server\", \"router\", \"phone\"]";
    let names = reader
        .words(path, example)?
        .ok_or_else(|| reader.missing(path, example))?;
    if names.len() < 2 || names.len() > NODES_MAX {
        return Err(reader.refuse(path, &format!("allowed is 2 to {NODES_MAX} nodes")));
    }
    for (index, name) in names.iter().enumerate() {
        if !name::is_allowed(name) {
            let why = format!("`{name}` cannot be a name: use letters, digits, `-` and `_`");
            return Err(reader.refuse(path, &why));
        }
        if names[..index].contains(name) {
            return Err(reader.refuse(path, &format!("`{name}` stands twice in the list")));
        }
    }
    Ok(names)
}

fn hop(reader: &mut Reader<'_>, files: &mut Files<'_>, graph: &Topology, name: &str) -> Result<Hop, Refusal> {
    let table = &format!("link.{name}");
    let to_path = TO.key.path(table);
    let end = |reader: &mut Reader<'_>, row: &Declared<String>| {
        let example = format!("name the node, one of {}", one_of(&names_of(graph)));
        reader.map(&row.key.path(table), None, &example, |node: String| graph.node(&node))
    };
    let (from, to) = (end(reader, &FROM)?, end(reader, &TO)?);
    if from == to {
        return Err(reader.refuse(&to_path, "a link joins two nodes, this one ends where it begins"));
    }
    let is_duplex = reader.take(table, &DUPLEX)?;
    let joins = |other: &&Hop| {
        let (same, opposite) = (
            (other.from, other.to) == (from, to),
            (other.to, other.from) == (from, to),
        );
        same || (opposite && (is_duplex || other.is_duplex))
    };
    if let Some(other) = graph.hops.iter().find(joins) {
        let why = format!(
            "link `{}` joins the same nodes already and routes could not tell them apart: take one away, or give both \
             ways their own link with duplex = false",
            other.name
        );
        return Err(reader.refuse(&to_path, &why));
    }
    let mut hop = Hop::read(reader, files, table, name, is_duplex)?;
    (hop.from, hop.to) = (from, to);
    if let Some(channel) = air(reader, table)? {
        hop.channel = channel::read(reader, &channel)?;
        hop.layer = layer::read(reader, &channel, hop.channel.is_some())?;
    }
    if let Some((law, is_fair)) = router(reader, table)? {
        (hop.router, hop.router_is_fair) = (Some(law), Some(is_fair));
    }
    hop.is_shown = reader.take(table, &SHOW)?;
    Ok(hop)
}

fn names_of(graph: &Topology) -> Vec<&str> {
    graph.nodes.iter().map(String::as_str).collect()
}

/// The table that describes the channel of a link; `None` is a wire.
fn air(reader: &mut Reader<'_>, table: &str) -> Result<Option<String>, Refusal> {
    match reader.take(table, &CHANNEL)? {
        Air::Wire => Ok(None),
        Air::Common => Ok(Some(channel::TABLE.to_owned())),
        Air::Named(name) => {
            let known = reader.names_in(channel::TABLE);
            if !known.contains(&name.as_str()) {
                let near = nearest(&name, &known);
                let why = format!(
                    "there is no [channel.{name}], allowed is true, false or {}{near}",
                    one_of(&known)
                );
                return Err(reader.refuse(&CHANNEL.key.path(table), &why));
            }
            Ok(Some(format!("{}.{name}", channel::TABLE)))
        }
    }
}

/// The law of a link's router, and whether its name asks for fair queues; `None` is that of the run.
fn router(reader: &mut Reader<'_>, table: &str) -> Result<Option<(&'static Router, bool)>, Refusal> {
    let law = match reader.take(table, &ROUTER)?.as_str() {
        "auto" => Ok(None),
        name => laws::router(name).map(Some),
    };
    law.map_err(|why| reader.refuse(&ROUTER.key.path(table), &why))
}

#[cfg(test)]
mod tests {
    use fadelab_path::layer::LinkLayer;
    use fadelab_path::spec::CapacitySpec;

    use super::*;
    use crate::unit::BufferSize;

    /// A graph of nodes `0`, `1`, ... with links (from, to, delay, duplex).
    fn graph(nodes: usize, links: &[(usize, usize, u64, bool)]) -> Topology {
        let hop = |(index, (from, to, delay_ns, is_duplex)): (usize, &(usize, usize, u64, bool))| Hop {
            from: *from,
            to: *to,
            is_duplex: *is_duplex,
            is_shown: true,
            name: format!("l{index}"),
            capacity: CapacitySpec::Constant { rate_bps: 1 },
            capacity_back: CapacitySpec::Constant { rate_bps: 1 },
            delay_ns: *delay_ns,
            buffer: BufferSize::Packets(1),
            buffer_back: BufferSize::Packets(1),
            channel: None,
            layer: LinkLayer::default(),
            router: None,
            router_is_fair: None,
        };
        Topology {
            nodes: (0..nodes).map(|node| node.to_string()).collect(),
            hops: links.iter().enumerate().map(hop).collect(),
            access: None,
        }
    }

    #[test]
    fn routes_have_few_links_then_little_delay() {
        // Goal: one slow link beats two fast ones, of two equally long ways the faster is taken, then the first.
        let direct = graph(3, &[(0, 1, 1, true), (1, 2, 1, true), (0, 2, 99, true)]);
        assert_eq!(direct.route(&[0, 2]).unwrap().there, [4]);
        let diamond = |delays: [u64; 4]| {
            let [a, b, c, d] = delays;
            graph(4, &[(0, 1, a, true), (1, 3, b, true), (0, 2, c, true), (2, 3, d, true)])
        };
        assert_eq!(diamond([5, 5, 1, 8]).route(&[0, 3]).unwrap().there, [4, 6]);
        assert_eq!(diamond([5, 5, 5, 5]).route(&[0, 3]).unwrap().there, [0, 2]);
        assert_eq!(diamond([5, 5, 1, 8]).route(&[0, 1, 3]).unwrap().there, [0, 2]);
    }

    #[test]
    fn acknowledgements_come_back_over_the_same_links_if_they_can() {
        // Goal: duplex links are mirrored; where one is simplex, ACKs take a route of their own.
        let line = graph(3, &[(0, 1, 1, true), (2, 1, 1, true)]);
        let route = line.route(&[0, 2]).unwrap();
        assert_eq!((route.there, route.back), (vec![0, 3], vec![2, 1]));
        let ring = graph(3, &[(0, 1, 1, false), (1, 2, 1, true), (2, 0, 1, false)]);
        let route = ring.route(&[0, 1]).unwrap();
        assert_eq!((route.there, route.back), (vec![0], vec![1, 3]));
    }

    #[test]
    fn where_there_is_no_way_the_two_nodes_are_named() {
        // Goal: separate parts, simplex links the wrong way and detours that turn back are refused.
        let parts = graph(4, &[(0, 1, 1, true), (2, 3, 1, true)]);
        assert!(parts.route(&[0, 3]).unwrap_err().contains("from node `0` to node `3`"));
        let simplex = graph(2, &[(0, 1, 1, false)]);
        assert!(
            simplex
                .route(&[0, 1])
                .unwrap_err()
                .contains("from node `1` to node `0`")
        );
        let line = graph(3, &[(0, 1, 1, true), (1, 2, 1, true)]);
        assert!(line.route(&[0, 1, 0, 2]).unwrap_err().contains("link `l0` twice"));
    }
}
