//! The network of a run: nodes, and links that each join two of them one way.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use fadelab_path::spec::LinkSpec;
use serde::{Deserialize, Serialize};

use crate::tunnel::TunnelSpec;

/// Index into [`NetworkSpec::nodes`].
pub type NodeId = u32;

/// Index into [`NetworkSpec::links`].
pub type LinkId = u32;

/// Nodes and links, each numbered by its place.
#[derive(Clone, Debug, Default)]
pub struct NetworkSpec {
    /// Hosts and routers.
    pub nodes: Vec<NodeSpec>,
    /// Unidirectional links.
    pub links: Vec<Edge>,
    /// Tunnels, which lie over them.
    pub tunnels: Vec<TunnelSpec>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeSpec {
    /// Unique name, e.g. `left.1`.
    pub name: Arc<str>,
    /// What it does with packets.
    pub kind: NodeKind,
}

/// What a node does with packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NodeKind {
    /// Flows begin and end here; others may pass.
    Host,
    /// Passes packets on to the next link of their route.
    Router,
}

/// A link with the nodes that it joins. The link's fields are read and written as if they were the edge's own.
#[derive(Clone, Debug)]
pub struct Edge {
    /// Where packets enter.
    pub from: NodeId,
    /// Where they come out.
    pub to: NodeId,
    /// What it is.
    pub link: LinkSpec,
}

impl Deref for Edge {
    type Target = LinkSpec;

    fn deref(&self) -> &LinkSpec {
        &self.link
    }
}

impl DerefMut for Edge {
    fn deref_mut(&mut self) -> &mut LinkSpec {
        &mut self.link
    }
}

impl NetworkSpec {
    /// Adds a host.
    pub fn host(&mut self, name: impl Into<Arc<str>>) -> NodeId {
        self.node(name, NodeKind::Host)
    }

    /// Adds a router.
    pub fn router(&mut self, name: impl Into<Arc<str>>) -> NodeId {
        self.node(name, NodeKind::Router)
    }

    /// Adds a node.
    pub fn node(&mut self, name: impl Into<Arc<str>>, kind: NodeKind) -> NodeId {
        let name = name.into();
        self.nodes.push(NodeSpec { name, kind });
        self.nodes.len() as NodeId - 1
    }

    /// Joins two nodes by a link, one way.
    pub fn join(&mut self, from: NodeId, to: NodeId, link: LinkSpec) -> LinkId {
        self.links.push(Edge { from, to, link });
        self.links.len() as LinkId - 1
    }

    /// Whether a route leads from one node to another: each of its links begins where the one before it ends.
    pub fn leads(&self, route: &[LinkId], from: NodeId, to: NodeId) -> bool {
        let end = route.iter().try_fold(from, |at, &link| {
            let edge = self.links.get(link as usize)?;
            (edge.from == at).then_some(edge.to)
        });
        !route.is_empty() && end == Some(to)
    }
}
