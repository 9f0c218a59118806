//! What a network allows and is rarely meant.

use std::collections::BTreeMap;

use fadelab_laws::abi;
use fadelab_run::app::Span;
use fadelab_run::flow::FlowSpec;
use fadelab_run::network::{Edge, LinkId};
use fadelab_run::transport::IpId;
use fadelab_run::tunnel::{RoleFrom, TunnelSpec};

use crate::plan::PlannedRun;
use crate::topology::{Hop, Topology};
use crate::unit::{BufferSize, Scalar};

/// Adds what is odd about a network: laws without their routers, links without flows.
pub fn of_network(warnings: &mut Vec<String>, topology: &Topology, links: &[Edge], flows: &[FlowSpec]) {
    let mut of_routers: Vec<String> = Vec::new();
    for flow in flows {
        let warning = of_router(links, flow, topology.access.is_some());
        of_routers.extend(warning.filter(|warning| of_routers.last() != Some(warning)));
    }
    of_routers.dedup();
    warnings.extend(of_routers);
    let mut of_ids: Vec<String> = flows.iter().filter_map(of_flow_ids).collect();
    of_ids.dedup();
    warnings.extend(of_ids);
    warnings.extend(topology.hops.iter().filter_map(|hop| of_buffer(links, hop)));
    if topology.access.is_none() {
        let mut is_crossed = vec![false; links.len()];
        for link in flows.iter().flat_map(|flow| flow.route.iter().chain(&flow.route_back)) {
            is_crossed[*link as usize] = true;
        }
        let mut is_used = vec![false; topology.hops.len()];
        for (arc, is_crossed) in topology.arcs().iter().zip(is_crossed) {
            is_used[arc.hop] |= is_crossed;
        }
        let unused = topology.hops.iter().zip(is_used).filter(|(_, is_used)| !is_used);
        warnings.extend(unused.map(|(hop, _)| format!("no flow crosses link `{}`", hop.name)));
    }
}

/// A buffer of a bandwidth-delay product that comes to a single packet.
fn of_buffer(links: &[Edge], hop: &Hop) -> Option<String> {
    let link = links.iter().find(|link| link.name.as_ref() == hop.name && link.shown)?;
    let is_tiny = matches!(hop.buffer, BufferSize::MilliBdp(_)) && link.buffer.packets == Some(1);
    let text = hop.buffer.shown();
    is_tiny.then(|| {
        format!(
            "the buffer of link `{}`, {}, is one packet: rates, delays and packets may not be meant together",
            hop.name,
            text.trim_matches('"')
        )
    })
}

/// A law that needs a router and has none on its way.
fn of_router(links: &[Edge], flow: &FlowSpec, has_pairs_of_hosts: bool) -> Option<String> {
    let sender = flow.sender?;
    let needed = sender.router()?;
    let law_of = |link: &LinkId| links[*link as usize].router.law.name();
    if flow.route.iter().any(|link| law_of(link) == needed) {
        return None;
    }
    let shown = flow.route.iter().filter(|link| links[**link as usize].shown);
    let mut laws: Vec<String> = shown.map(|link| format!("`{}`", law_of(link))).collect();
    laws.dedup();
    Some(format!(
        "{} flows of `{}` cross routers with {}, but the law works only with router `{needed}` on its path: {}",
        sender.name(),
        flow.group,
        laws.join(", "),
        if has_pairs_of_hosts {
            format!("routers follow the law of the first group, give that the law `NAME+{needed}`")
        } else {
            format!("give a link of it `router = \"{needed}\"`")
        }
    ))
}

/// A law whose routers tell halves of the load apart by IP IDs, of which none changes.
fn of_flow_ids(flow: &FlowSpec) -> Option<String> {
    let sender = flow.sender.filter(|law| law.wire() == abi::WIRE_PAIR)?;
    (flow.transport.ip_id == IpId::Zero).then(|| {
        format!(
            "flows of {} have IP IDs of 0, so that each packet is for the same half of the load, and the sender knows \
             its region alone: set transport.ip_id = \"counting\"",
            sender.name()
        )
    })
}

/// Tunnels in which routers read the role of a packet from an outer ID that never changes.
pub fn of_tunnels(warnings: &mut Vec<String>, tunnels: &[TunnelSpec]) {
    let has_one_role =
        |tunnel: &&TunnelSpec| tunnel.told_wire.is_some() && tunnel.role == RoleFrom::Id && tunnel.ip_id == IpId::Zero;
    warnings.extend(tunnels.iter().filter(has_one_role).map(|tunnel| {
        format!(
            "outer IP IDs of tunnel `{}` are 0, so that each packet in it is for the same half of the load: set its \
             role to \"sequence\" or \"written\"",
            tunnel.name
        )
    }));
}

/// Adds what makes figures of laws that share a link say something else than one may think: harm that compares
/// different links, and an interval in which one side is alone for a while.
pub fn of_pairs(warnings: &mut Vec<String>, runs: &[PlannedRun]) {
    warnings.extend(of_unequal_buffers(runs));
    warnings.extend(runs.iter().find_map(of_late_start));
}

/// The buffer of a link is a bandwidth-delay product, which counts the longest round trip over it: that differs between
/// runs of laws whose flows have different delays.
fn of_unequal_buffers(runs: &[PlannedRun]) -> Option<String> {
    let mut known = BTreeMap::new();
    let links = runs
        .iter()
        .flat_map(|run| run.spec.network.links.iter().map(|link| (&run.point[..], link)));
    let unequal = links.filter(|(_, link)| link.shown).find_map(|(point, link)| {
        let packets = link.buffer.packets?;
        let first = *known.entry((point, &link.name)).or_insert(packets);
        (first != packets).then(|| (&link.name, first.min(packets), first.max(packets)))
    });
    let (name, least, most) = unequal?;
    Some(format!(
        "the buffer of link `{name}` is {least} packets in some runs and {most} in others, since a bandwidth-delay \
         product counts the longest round trip of each: harm compares different links; give it in packets or bytes"
    ))
}

/// A side that starts behind the warm-up: until then the other is measured alone. A twentieth of what is measured is
/// let pass, in which flows begin at random.
fn of_late_start(run: &PlannedRun) -> Option<String> {
    let latest_ns = |flow: &&FlowSpec| match flow.app.start() {
        Span::Fixed { ns } => ns,
        Span::Uniform { max_ns, .. } => max_ns,
        Span::Exponential { .. } => 0,
    };
    let flow = run.spec.flows.iter().max_by_key(latest_ns)?;
    let (start_ns, spec) = (latest_ns(&flow), &run.spec);
    let alone_ns = start_ns.saturating_sub(spec.warmup_ns);
    let (start_s, warmup_s) = (start_ns as f64 / 1e9, spec.warmup_ns as f64 / 1e9);
    (alone_ns > spec.duration_ns.saturating_sub(spec.warmup_ns) / 20).then(|| {
        format!(
            "flow `{}` starts at {start_s} s, behind the warm-up of {warmup_s} s: shares and harm count the time \
             before, in which the other side is alone; give a longer run.warmup",
            flow.name
        )
    })
}
