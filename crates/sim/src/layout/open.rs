//! Which funnels outlets open: those into which the hosts at the end of one outlet send, and nobody else.

use fadelab_path::wire::Wires;

use super::both_ways;
use crate::lane::{Lane, LawBehind, Opens, Role};
use crate::spec::{FlowSpec, LinkId, RunSpec};
use crate::tcp::Now;
use crate::tcp::sender::handshake::syn;

/// The lanes of a run: first of `kinds` of wires, then of `laws`, then of links that are neither.
#[derive(Clone, Copy)]
pub(super) struct Places<'a> {
    pub wires: &'a Wires,
    pub kinds: usize,
    pub laws: usize,
    pub lane_of: &'a [u32],
}

impl<'a> Places<'a> {
    pub fn of(wires: &'a Wires, laws: usize, lane_of: &'a [u32]) -> Self {
        Self {
            wires,
            kinds: wires.kinds().count(),
            laws,
            lane_of,
        }
    }
}

/// Tells outlets which funnel they open. Of several an outlet opens the first.
pub(super) fn open_funnels(spec: &RunSpec, places: Places<'_>, lanes: &mut [Lane]) {
    for funnel in 0..places.kinds {
        if lanes[funnel].role() == Role::Funnel
            && let Some((outlet, opens)) = opened(spec, places, lanes, funnel)
            && lanes[outlet].opens().is_none()
        {
            lanes[outlet].set_opens(opens);
        }
    }
}

/// The outlet that opens a funnel, if there is one.
fn opened(spec: &RunSpec, places: Places<'_>, lanes: &[Lane], funnel: usize) -> Option<(usize, Opens)> {
    let lane = |link: LinkId| places.lane_of[link as usize] as usize;
    let (mut outlets, mut laws, mut bytes_least) = (Vec::new(), Vec::new(), u32::MAX);
    let ways = spec
        .flows
        .iter()
        .flat_map(|flow| both_ways(flow).map(|way| (flow, way)));
    for (flow, (way, is_data)) in ways {
        let is_in = |link: &LinkId| lane(*link) == funnel;
        if way.iter().skip(1).any(is_in) {
            return None;
        }
        let &[first, next, ..] = way else {
            continue;
        };
        if !is_in(&first) {
            continue;
        }
        match lane(next).checked_sub(places.kinds) {
            // A tail gets its packets ahead of their time without this.
            None if lanes[lane(next)].is_ahead() => return None,
            None => {}
            Some(at) if at < places.laws => laws.push((at, next)),
            // What has events of its own does not take packets ahead of their time.
            Some(_) => return None,
        }
        bytes_least = bytes_least.min(packet_bytes_least(flow, is_data));
        // Datagrams are sent when their time has come, whatever arrives.
        if flow.sender.is_some() {
            let answered = if is_data { &flow.route_back } else { &flow.route };
            outlets.push(lane(*answered.last()?));
        }
    }
    outlets.dedup();
    laws.dedup();
    let (&[outlet], [] | [_]) = (&outlets[..], &laws[..]) else {
        return None;
    };
    let opens = Opens {
        funnel,
        least_ns: places.wires.least_ns(funnel, bytes_least),
        law: laws.first().map(|&(at, link)| LawBehind { at, link }),
    };
    (lanes[outlet].role() == Role::Outlet).then_some((outlet, opens))
}

/// IP bytes of the smallest packet that a flow sends on one of its routes. Whatever has short segments has no outlet.
fn packet_bytes_least(flow: &FlowSpec, is_data: bool) -> u32 {
    let transport = &flow.transport;
    let bytes = if is_data {
        transport.packet_bytes
    } else {
        transport.ack_bytes
    };
    if transport.handshake {
        bytes.min(syn(Now::at(0), 0, None).header.ip_bytes)
    } else {
        bytes
    }
}
