//! What a network allows and is rarely meant.

use fadelab_sim::spec::{FlowSpec, LinkId, LinkSpec};

use crate::topology::Topology;

/// Adds what is odd about a network: laws without their routers, links without flows.
pub fn of_network(warnings: &mut Vec<String>, topology: &Topology, links: &[LinkSpec], flows: &[FlowSpec]) {
    let mut of_routers: Vec<String> = Vec::new();
    for flow in flows {
        let warning = of_router(links, flow);
        of_routers.extend(warning.filter(|warning| of_routers.last() != Some(warning)));
    }
    of_routers.dedup();
    warnings.extend(of_routers);
    if let Topology::Graph(graph) = topology {
        let mut is_crossed = vec![false; links.len()];
        for link in flows.iter().flat_map(|flow| flow.route.iter().chain(&flow.route_back)) {
            is_crossed[*link as usize] = true;
        }
        for (index, link) in graph.links.iter().enumerate() {
            let mut ids = graph
                .arcs()
                .into_iter()
                .enumerate()
                .filter(|(_, arc)| arc.link == index);
            if ids.all(|(id, _)| !is_crossed[id]) {
                warnings.push(format!("no flow crosses link `{}`", link.hop.name));
            }
        }
    }
}

/// A law that needs a router and has none on its way.
fn of_router(links: &[LinkSpec], flow: &FlowSpec) -> Option<String> {
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
