//! Into which pipes the hosts at the end of one other pipe send, and nobody else: those know what comes into it next.

use fadelab_path::node::Node;
use fadelab_path::wire::Wires;
use fadelab_run::app::App;
use fadelab_run::flow::FlowSpec;
use fadelab_run::network::LinkId;
use fadelab_run::spec::RunSpec;

use super::both_ways;
use crate::packet::SYN_BYTES;
use crate::pipe::{Answers, NodeBehind, Pipe};

/// The pipes of a run: first of `kinds` of wires, then of nodes.
#[derive(Clone, Copy)]
pub(super) struct Places<'a> {
    pub wires: &'a Wires,
    pub kinds: usize,
    pub pipe_of: &'a [u32],
}

/// Tells pipes into which one those answer whose packets end there. Of several it is the first.
pub(super) fn find_answers(spec: &RunSpec, places: Places<'_>, pipes: &mut [Pipe]) {
    for pipe in 0..places.kinds {
        if let Some((hosts, answers)) = answered(spec, places, pipes, pipe)
            && pipes[hosts].answers().is_none()
        {
            pipes[hosts].set_answers(answers);
        }
    }
}

/// The pipe whose hosts alone send into `pipe`, if there is one. All that comes out of it must go on to links.
fn answered(spec: &RunSpec, places: Places<'_>, pipes: &[Pipe], pipe: usize) -> Option<(usize, Answers)> {
    if pipes[pipe].lookahead_ns() == 0 || pipes[pipe].exits().any() {
        return None;
    }
    let pipe_of = |link: LinkId| places.pipe_of[link as usize] as usize;
    let (mut hosts, mut nodes, mut bytes_least) = (Vec::new(), Vec::new(), u32::MAX);
    for flow in &spec.flows {
        for (way, answered, is_data) in both_ways(flow) {
            let is_in = |link: &LinkId| pipe_of(*link) == pipe;
            if way.iter().skip(1).any(is_in) {
                return None;
            }
            let &[first, next, ..] = way else {
                continue;
            };
            if !is_in(&first) {
                continue;
            }
            match pipe_of(next).checked_sub(places.kinds) {
                // A tail gets its packets ahead of their time without this.
                None if pipes[pipe_of(next)].is_ahead() => return None,
                None => {}
                Some(at) if Node::plans_ahead(&spec.network.links[next as usize]) => nodes.push((at, next)),
                // What takes an event for each step does not take packets ahead of their time.
                Some(_) => return None,
            }
            bytes_least = bytes_least.min(packet_bytes_least(flow, is_data));
            // Datagrams are sent when their time has come, whatever arrives.
            if flow.sender.is_some() {
                hosts.push(pipe_of(*answered.last()?));
            }
        }
    }
    hosts.dedup();
    nodes.dedup();
    let (&[hosts], [] | [_]) = (&hosts[..], &nodes[..]) else {
        return None;
    };
    let answers = Answers {
        pipe,
        least_ns: places.wires.least_ns(pipe, bytes_least),
        behind: nodes.first().map(|&(at, link)| NodeBehind { at, link }),
    };
    (pipes[hosts].lookahead_ns() > 0).then_some((hosts, answers))
}

/// IP bytes of the smallest packet that a flow sends on one of its routes.
fn packet_bytes_least(flow: &FlowSpec, is_data: bool) -> u32 {
    let transport = &flow.transport;
    let bytes = match flow.app {
        _ if !is_data => transport.ack_bytes,
        // Its last segment may be shorter than the others.
        App::Transfer { .. } | App::Http { .. } => transport.header_bytes,
        _ => transport.packet_bytes,
    };
    if transport.handshake || matches!(flow.app, App::Http { .. }) {
        bytes.min(SYN_BYTES)
    } else {
        bytes
    }
}
