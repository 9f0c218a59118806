//! One run: a network, what flows through it, and for how long.

use crate::flow::FlowSpec;
use crate::network::{NetworkSpec, NodeKind};
use crate::tunnel::IP_BYTES_MAX;

/// What a ground is given. Nothing is left to default.
#[derive(Clone, Debug)]
pub struct RunSpec {
    /// Seed of every random stream, each named after its component.
    pub seed: u64,
    /// End of the run in virtual time.
    pub duration_ns: u64,
    /// Totals count from here on.
    pub warmup_ns: u64,
    /// Distance between samples of the time series; `None` records no series.
    pub record_interval_ns: Option<u64>,
    /// Nodes and links.
    pub network: NetworkSpec,
    /// Flows, each from a node to another.
    pub flows: Vec<FlowSpec>,
}

/// Flow and network do not go together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    /// Its data or its ACKs would not arrive.
    #[error("the routes of flow `{flow}` do not lead from its sender to its receiver and back")]
    Route {
        /// Name of the flow.
        flow: String,
    },
    /// It begins or ends at a node that only passes packets on.
    #[error("flow `{flow}` begins or ends at a node that is no host")]
    NoHost {
        /// Name of the flow.
        flow: String,
    },
    /// A tunnel in a tunnel.
    #[error("flow `{flow}` would be in the tunnels `{}` and `{}` at once", tunnels[0], tunnels[1])]
    Tunnels {
        /// Name of the flow.
        flow: String,
        /// Names of the tunnels.
        tunnels: [String; 2],
    },
    /// A packet that no IPv4 packet could hold.
    #[error("a packet of flow `{flow}` would have {bytes} B in its tunnel, allowed are {IP_BYTES_MAX} B")]
    Size {
        /// Name of the flow.
        flow: String,
        /// With what the tunnel adds.
        bytes: u32,
    },
}

impl RunSpec {
    /// Says whether each flow has hosts at its ends and routes between them, on which it is in one tunnel at a time.
    ///
    /// # Errors
    /// The first flow of which that is not so.
    pub fn check(&self) -> Result<(), Misfit> {
        let network = &self.network;
        for flow in &self.flows {
            let name = || flow.name.to_string();
            let is_joined =
                network.leads(&flow.route, flow.from, flow.to) && network.leads(&flow.route_back, flow.to, flow.from);
            if !is_joined {
                return Err(Misfit::Route { flow: name() });
            }
            let is_host = |node: u32| network.nodes.get(node as usize).map(|node| node.kind) == Some(NodeKind::Host);
            if !(is_host(flow.from) && is_host(flow.to)) {
                return Err(Misfit::NoHost { flow: name() });
            }
            self.check_tunnels(flow)?;
        }
        Ok(())
    }

    fn check_tunnels(&self, flow: &FlowSpec) -> Result<(), Misfit> {
        let network = &self.network;
        for route in [&flow.route, &flow.route_back] {
            network.crossings(route).map_err(|overlap| Misfit::Tunnels {
                flow: flow.name.to_string(),
                tunnels: overlap.tunnels.map(|tunnel| network.tunnels[tunnel].name.to_string()),
            })?;
        }
        let sizes = network.bytes_on(&flow.route, flow.transport.packet_bytes);
        match sizes
            .map(|(_, bytes)| bytes)
            .max()
            .filter(|&bytes| bytes > IP_BYTES_MAX)
        {
            Some(bytes) => Err(Misfit::Size {
                flow: flow.name.to_string(),
                bytes,
            }),
            None => Ok(()),
        }
    }
}
