//! What a network allows and is rarely meant.

use fadelab_run::flow::FlowSpec;
use fadelab_run::network::{Edge, LinkId};

use crate::topology::{Hop, Topology};
use crate::unit::{BufferSize, Scalar};

/// Adds what is odd about a network: laws without their routers, links without flows.
pub fn of_network(warnings: &mut Vec<String>, topology: &Topology, links: &[Edge], flows: &[FlowSpec]) {
    let mut of_routers: Vec<String> = Vec::new();
    for flow in flows {
        let warning = of_router(links, flow);
        of_routers.extend(warning.filter(|warning| of_routers.last() != Some(warning)));
    }
    of_routers.dedup();
    warnings.extend(of_routers);
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
fn of_router(links: &[Edge], flow: &FlowSpec) -> Option<String> {
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
        "{} flows of `{}` cross routers with {}, but the law works only with router `{needed}` on its path",
        sender.name(),
        flow.group,
        laws.join(", ")
    ))
}
