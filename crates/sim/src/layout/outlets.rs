//! Which lanes are exits: all packets in them are at the end of their way. And which of them are outlets: there the
//! ways of flows end whose two ends have nothing in common but packets, and whose answers meet nobody else's packets on
//! their first link. Then nobody sees in which order several outlets are emptied.

use fadelab_path::wire::Wires;

use super::{Feeder, feeders};
use crate::lane::Role;
use crate::spec::{App, FlowSpec, LinkId, RunSpec};

/// The outlets of a run.
#[derive(Debug)]
pub(super) struct Outlets {
    /// Of each lane of wires, if it is one or at least an exit.
    pub roles: Vec<Option<Role>>,
    /// How long an answer is under way at least until it can meet other packets.
    pub answer_delay_ns: u64,
}

impl Outlets {
    /// Finds them among the lanes of wires, which are the first `kinds`.
    pub fn of(spec: &RunSpec, lane_of: &[u32], kinds: usize) -> Self {
        let feeders = feeders(spec);
        let mut roles: Vec<Option<Role>> = vec![None; kinds];
        let mut answer_delay_ns = u64::MAX;
        for (flow, way, answer) in spec.flows.iter().flat_map(ends) {
            let delay_ns = alone_ns(spec, &feeders, flow, answer);
            answer_delay_ns = answer_delay_ns.min(delay_ns.unwrap_or(u64::MAX));
            for (at, &link) in way.iter().enumerate() {
                // What is lost on the air comes out of a lane, too, and is not at the end of its way.
                let ends = at + 1 == way.len() && spec.links[link as usize].channel.is_none();
                let role = match delay_ns {
                    _ if !ends => Role::Passage,
                    None => Role::Exit,
                    Some(_) => Role::Outlet,
                };
                if let Some(known) = roles.get_mut(lane_of[link as usize] as usize) {
                    *known = Some(known.map_or(role, |known| least(known, role)));
                }
            }
        }
        let is_exit = |role: &Role| matches!(role, Role::Exit | Role::Outlet);
        Self {
            roles: roles.into_iter().map(|role| role.filter(is_exit)).collect(),
            answer_delay_ns,
        }
    }
}

/// What a lane is that is the one for some and the other for others.
fn least(one: Role, other: Role) -> Role {
    match (one, other) {
        (Role::Outlet, Role::Outlet) => Role::Outlet,
        (Role::Exit | Role::Outlet, Role::Exit | Role::Outlet) => Role::Exit,
        _ => Role::Passage,
    }
}

/// Both ways of a flow, each with the one that answers take.
pub(super) fn ends(flow: &FlowSpec) -> [(&FlowSpec, &[LinkId], &[LinkId]); 2] {
    let (there, back) = (&flow.route[..], &flow.route_back[..]);
    [(flow, there, back), (flow, back, there)]
}

/// For how long what a flow sends on route `answer` meets nobody; `None`: another one's order would matter.
fn alone_ns(spec: &RunSpec, feeders: &[Feeder], flow: &FlowSpec, answer: &[LinkId]) -> Option<u64> {
    if flow.sender.is_none() {
        // Datagrams are not answered.
        return Some(u64::MAX);
    }
    let &first = answer.first()?;
    let link = &spec.links[first as usize];
    let is_alone = feeders[first as usize] == Feeder::Route && Wires::is_wire(link);
    (is_alone && has_separate_ends(flow)).then_some(link.delay_ns)
}

/// Whether the two ends have nothing in common but packets: a transfer's end is noted in the order of others, a new
/// session is one at both ends, and a delayed ACK shares an event with the sender's timers.
fn has_separate_ends(flow: &FlowSpec) -> bool {
    matches!(flow.app, App::Greedy { .. } | App::Cbr { .. }) && flow.transport.delayed_ack_ns.is_none()
}
