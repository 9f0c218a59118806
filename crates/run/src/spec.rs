//! One run: a network, what flows through it, and for how long.

use fadelab_path::spec::LinkSpec;

use crate::flow::FlowSpec;

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
    /// Unidirectional links.
    pub links: Vec<LinkSpec>,
    /// Flows, each with a route there and a route back.
    pub flows: Vec<FlowSpec>,
}
