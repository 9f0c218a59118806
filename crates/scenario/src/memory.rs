//! How much memory the runs of a sweep take before the first one begins: refused before it is taken.

use fadelab_run::flow::FlowSpec;
use fadelab_run::network::{Edge, LinkId, NodeSpec};

use crate::error::Refusal;
use crate::flows::Group;
use crate::topology::Topology;

/// Most that all runs of a sweep may take together, unless the caller says otherwise. A million flows in one run take
/// 1.0 GB; beyond this the system would end the program without a word.
pub const BYTES_MAX: u64 = 8_000_000_000;

/// What a flow or a link has outside of its struct: its name, routes, and what the allocator adds; a node half of it.
const BESIDE_BYTES: u64 = 80;

/// About so much does one run take.
pub fn of_run<'g>(groups: impl Iterator<Item = &'g Group>, topology: &Topology) -> u64 {
    let link_bytes = size_of::<Edge>() as u64 + BESIDE_BYTES;
    let node_bytes = size_of::<NodeSpec>() as u64 + BESIDE_BYTES / 2;
    let flow_bytes = size_of::<FlowSpec>() as u64 + BESIDE_BYTES;
    let (mut flows, mut route_links) = (0, 0);
    for group in groups {
        flows += group.flows(topology);
        route_links += group.flows(topology) * group.route_links(topology);
    }
    // In a row each pair of hosts has four links of its own, in a graph nodes and links are those of the file.
    let pairs = topology.access.as_ref().map_or(0, |access| {
        access.pairs.map_or(flows, |pairs| flows.min(u64::from(pairs)))
    });
    flows * flow_bytes + route_links * size_of::<LinkId>() as u64 + pairs * (2 * node_bytes + 4 * link_bytes)
}

/// What the runs of a sweep may take together, and what those planned so far do.
pub struct Budget {
    bytes_max: u64,
    taken_bytes: u64,
}

impl Budget {
    /// Nothing taken yet.
    pub fn new(bytes_max: u64) -> Self {
        Self {
            bytes_max,
            taken_bytes: 0,
        }
    }

    /// Takes the memory of so many runs, each with its own copy of what is built once, or refuses them.
    pub fn take(&mut self, run_bytes: u64, runs: usize, place: impl std::fmt::Display) -> Result<(), Refusal> {
        let bytes = run_bytes.saturating_mul(runs as u64 + 1);
        self.taken_bytes = self.taken_bytes.saturating_add(bytes);
        if self.taken_bytes <= self.bytes_max {
            return Ok(());
        }
        let megabytes = |bytes: u64| bytes.div_ceil(1_000_000);
        let message = format!(
            "flows and routes of all runs would take more than {} MB of memory before the first one begins, about {} \
             MB each; take fewer flows, or fewer seeds and values at a time (--seeds, --set)",
            megabytes(self.bytes_max),
            megabytes(run_bytes)
        );
        Err(Refusal::new(place, message))
    }
}
