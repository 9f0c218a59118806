//! Where routes go through tunnels.

use crate::network::{LinkId, NetworkSpec, NodeId};
use crate::tunnel::TunnelSpec;

/// Where a route goes through a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// Index into [`NetworkSpec::tunnels`].
    pub tunnel: usize,
    /// Whether it goes from `to` to `from`.
    pub is_backward: bool,
    /// The place on the route of the first link in the tunnel.
    pub first: usize,
    /// That of the last one.
    pub last: usize,
}

/// Two tunnels that lie in each other on a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// Indices into [`NetworkSpec::tunnels`].
    pub tunnels: [usize; 2],
}

impl NetworkSpec {
    /// Where a route goes through tunnels, in the order of the route.
    ///
    /// # Errors
    /// It enters one before it has left another one.
    pub fn crossings(&self, route: &[LinkId]) -> Result<Vec<Crossing>, Overlap> {
        let Some(&first) = route.first().filter(|_| !self.tunnels.is_empty()) else {
            return Ok(Vec::new());
        };
        let mut nodes = vec![self.links[first as usize].from];
        nodes.extend(route.iter().map(|&link| self.links[link as usize].to));
        let mut crossings = Vec::new();
        for (tunnel, spec) in self.tunnels.iter().enumerate() {
            cross(spec, tunnel, &nodes, &mut crossings);
        }
        crossings.sort_by_key(|crossing| (crossing.first, crossing.last));
        match crossings.windows(2).find(|pair| pair[1].first <= pair[0].last) {
            Some(pair) => Err(Overlap {
                tunnels: [pair[0].tunnel, pair[1].tunnel],
            }),
            None => Ok(crossings),
        }
    }

    /// The largest size that a packet of so many bytes has on each link of a route.
    pub fn bytes_on(&self, route: &[LinkId], ip_bytes: u32) -> impl Iterator<Item = (LinkId, u32)> {
        let crossings = self.crossings(route).unwrap_or_default();
        route.iter().enumerate().map(move |(place, &link)| {
            let mut inside = crossings.iter().filter(|crossing| crossing.has(place));
            let tunnel = inside.next().map(|crossing| &self.tunnels[crossing.tunnel]);
            (
                link,
                tunnel.map_or(ip_bytes, |tunnel| tunnel.encapsulated_bytes(ip_bytes)),
            )
        })
    }
}

impl Crossing {
    /// Whether the link at this place of the route is in the tunnel.
    pub fn has(&self, place: usize) -> bool {
        (self.first..=self.last).contains(&place)
    }
}

/// Adds where a route over `nodes` goes through a tunnel: from either end to where it first comes to the other one.
fn cross(spec: &TunnelSpec, tunnel: usize, nodes: &[NodeId], crossings: &mut Vec<Crossing>) {
    let mut entered: Option<(usize, NodeId)> = None;
    for (place, &node) in nodes.iter().enumerate() {
        if node != spec.from && node != spec.to {
            continue;
        }
        if let Some((first, _)) = entered.filter(|&(_, end)| end != node) {
            crossings.push(Crossing {
                tunnel,
                is_backward: node == spec.from,
                first,
                last: place - 1,
            });
        }
        // An end that was reached may be where the next crossing begins; one that is passed twice counts once.
        if entered.is_none_or(|(_, end)| end != node) {
            entered = Some((place, node));
        }
    }
}

#[cfg(test)]
mod tests;
