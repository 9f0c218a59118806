//! DCP-EW's Security Module at both ends of a tunnel: what its flows use, and what one memory for all of them costs.

mod common;

use common::row::{tunnel, vcp};
use common::{S, plain_router, record_of, used};
use fadelab_laws::{abi, gateway, receiver, sender};
use fadelab_path::spec::CapacitySpec;
use fadelab_run::app::{App, Span};
use fadelab_run::spec::RunSpec;
use fadelab_run::tunnel::{GatewaySpec, Memory, RoleFrom};

/// DCP-EW from a to d as VCP above, with its routers told and its gateways at both ends.
fn dcp_ew(memory: Memory, role: RoleFrom) -> RunSpec {
    let law = gateway("dcp_ew").expect("registered");
    let mut through = tunnel(1, 2);
    (through.memory, through.role) = (memory, role);
    through.told_wire = Some(abi::WIRE_PAIR as u8);
    let gateway = GatewaySpec {
        law,
        params: law.default_params(),
    };
    through.gateways = [Some(gateway.clone()), Some(gateway)];
    let mut spec = vcp(through);
    (spec.flows[0].sender, spec.flows[0].receiver) = (sender("dcp_ew"), receiver("dcp_ew"));
    spec.flows[0].params = spec.flows[0].sender.expect("registered").default_params();
    for link in [0, 2] {
        spec.network.links[link].router = plain_router("dcp_ew");
    }
    (spec.warmup_ns, spec.duration_ns) = (20 * S, 80 * S);
    spec
}

#[test]
fn levels_of_a_bottleneck_in_a_tunnel_come_out() {
    // Goal: a flow whose bottleneck is in the tunnel uses it as the same flow without a tunnel does, whatever the role
    // of outer headers follows; without gateways it never hears of the load and overruns the queue.
    let share_and_queue = |spec: &RunSpec| {
        let record = record_of(spec);
        let (before, after) = (&record.links_warmup[2], &record.links_end[2]);
        let queue_pkts = (after.queue_pkt_ns - before.queue_pkt_ns) / u128::from(60 * S);
        (used(&record, 2), queue_pkts)
    };
    for (memory, role) in [
        (Memory::Tunnel, RoleFrom::Sequence),
        (Memory::Tunnel, RoleFrom::Id),
        (Memory::Flow, RoleFrom::Written),
    ] {
        let spec = dcp_ew(memory, role);
        let (share, queue_pkts) = share_and_queue(&spec);
        assert!((0.85..=1.0).contains(&share), "{memory:?}, {role:?}: {share}");
        assert!(queue_pkts < 5, "{memory:?}, {role:?}: {queue_pkts}");
        let mut clear = spec.clone();
        clear.network.tunnels.clear();
        let (in_the_clear, _) = share_and_queue(&clear);
        assert!((share - in_the_clear).abs() < 0.05, "{share} and {in_the_clear}");
    }
    let mut without = dcp_ew(Memory::Tunnel, RoleFrom::Sequence);
    without.network.tunnels[0].gateways = [None, None];
    // Nothing is loaded before the tunnel: halves of the lowest level read Not-ECT, which no rule marks.
    without.network.links[0].capacity = CapacitySpec::Constant {
        rate_bps: 1_000_000_000,
    };
    let (_, queue_pkts) = share_and_queue(&without);
    assert!(queue_pkts > 50, "{queue_pkts}: the halves stay inside");
}

/// What a flow delivers that enters the tunnel at its first node. Others come over link 0 of 2 Mbit/s: forty flows of
/// its law, which a packet each already overloads, or datagrams at the rate of that link.
fn delivered_beside(memory: Memory, role: RoleFrom, are_overloaded: bool) -> f64 {
    let mut spec = dcp_ew(memory, role);
    spec.network.links[0].capacity = CapacitySpec::Constant { rate_bps: 2_000_000 };
    spec.network.links[2].capacity = CapacitySpec::Constant { rate_bps: 8_000_000 };
    let mut observed = spec.flows[0].clone();
    (observed.from, observed.route, observed.route_back) = (1, vec![2, 4], vec![5, 3]);
    let mut others = vec![spec.flows[0].clone(); if are_overloaded { 40 } else { 1 }];
    for (number, other) in others.iter_mut().enumerate() {
        other.name = format!("other.{number}").into();
        if !are_overloaded {
            (other.sender, other.receiver) = (None, None);
            other.app = App::Cbr {
                start: Span::Fixed { ns: 0 },
                stop_ns: 100 * S,
                rate_bps: 1_900_000,
            };
        }
    }
    spec.flows = std::iter::once(observed).chain(others).collect();
    let record = record_of(&spec);
    (record.flows_end[0].delivered_bytes - record.flows_warmup[0].delivered_bytes) as f64
}

#[test]
fn a_memory_for_each_flow_spares_those_that_met_no_load() {
    // Goal: of the flows in a tunnel all but one came over an overloaded link. With one memory for the tunnel that one
    // is slowed by what was told of the link, with a memory for each flow it gets at least 95 % of what it gets beside
    // as much traffic that tells nothing.
    let share = |memory, role| delivered_beside(memory, role, true) / delivered_beside(memory, role, false);
    let per_tunnel = share(Memory::Tunnel, RoleFrom::Sequence);
    let per_flow = share(Memory::Flow, RoleFrom::Written);
    assert!(per_flow >= 0.95, "{per_flow}");
    assert!(per_tunnel < 0.9, "{per_tunnel}");
}
