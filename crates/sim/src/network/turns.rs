//! Whose event is first where several flows have one at the same instant.

use fadelab_run::flow::in_order_of_names;
use fadelab_run::spec::RunSpec;

/// A permutation of the flows; empty where they stand in order, as they mostly do.
#[derive(Debug, Default)]
pub(super) struct Turns {
    of_flow: Vec<u32>,
    flow_at: Vec<u32>,
}

impl Turns {
    /// The order of names, so that a run does not depend on the order in which flows were written.
    pub fn of(spec: &RunSpec) -> Self {
        let of_flow = in_order_of_names(spec.flows.iter().map(|flow| flow.kind.as_ref()));
        if of_flow.is_sorted() {
            return Self::default();
        }
        let mut flow_at = vec![0; of_flow.len()];
        for (flow, &turn) in (0..).zip(&of_flow) {
            flow_at[turn as usize] = flow;
        }
        Self { of_flow, flow_at }
    }

    /// The turn of flow number `flow`.
    #[inline]
    pub fn of_flow(&self, flow: usize) -> usize {
        self.of_flow.get(flow).map_or(flow, |&turn| turn as usize)
    }

    /// The flow whose turn is number `turn`.
    #[inline]
    pub fn flow_at(&self, turn: usize) -> usize {
        self.flow_at.get(turn).map_or(turn, |&flow| flow as usize)
    }
}
