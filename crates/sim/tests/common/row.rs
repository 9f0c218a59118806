//! Four nodes in a row, of which some are the ends of tunnels.

use fadelab_laws::gateway;
use fadelab_run::app::{App, Span};
use fadelab_run::network::NetworkSpec;
use fadelab_run::spec::RunSpec;
use fadelab_run::transport::IpId;
use fadelab_run::tunnel::{Cipher, EcnRule, Family, GatewaySpec, Memory, Mode, RoleFrom, TunnelSpec};

use super::{MS, S, flow, link, plain_router};

/// Nodes a, b, c, d in a row, joined both ways by links of 8 Mbit/s and 5 ms: link `2 * n` leads from node n to the
/// next, link `2 * n + 1` back. Flows go from a to d.
pub const NODES: [&str; 4] = ["a", "b", "c", "d"];

pub fn row(tunnels: Vec<TunnelSpec>, law: &str, flows: u32) -> RunSpec {
    let mut network = NetworkSpec {
        tunnels,
        ..NetworkSpec::default()
    };
    for name in NODES {
        network.host(name);
    }
    for node in 0..3 {
        for (from, to) in [(node, node + 1), (node + 1, node)] {
            let name = format!("{}{}", NODES[from as usize], NODES[to as usize]);
            network.join(from, to, link(&name, 8_000_000, 5 * MS, 100));
        }
    }
    let flows = (0..flows).map(|number| {
        let mut flow = flow(&format!("flow.{number}"), law, vec![0, 2, 4], vec![5, 3, 1]);
        (flow.from, flow.to) = (0, 3);
        flow
    });
    RunSpec {
        seed: 7,
        duration_ns: 5 * S,
        warmup_ns: 0,
        record_interval_ns: None,
        flows: flows.collect(),
        network,
    }
}

/// A tunnel between two of the nodes, with what a scenario has by default.
pub fn tunnel(from: u32, to: u32) -> TunnelSpec {
    TunnelSpec {
        name: format!("{}{}", NODES[from as usize], NODES[to as usize]).into(),
        from,
        to,
        mode: Mode::Tunnel,
        outer: Family::Ipv4,
        in_udp: false,
        rekey: None,
        cipher: Cipher::AesGcm,
        ecn: [EcnRule::Linux; 2],
        ip_id: IpId::Counting,
        role: RoleFrom::Sequence,
        memory: Memory::Tunnel,
        told_wire: None,
        gateways: [None, None],
    }
}

/// VCP from a to d, whose bottleneck from b to c is in the tunnel, with an uncongested router of VCP before it.
pub fn vcp(through: TunnelSpec) -> RunSpec {
    let mut spec = row(vec![through], "vcp", 1);
    for link in [0, 2] {
        spec.network.links[link].router = plain_router("vcp");
    }
    spec.network.links[2].capacity = fadelab_path::spec::CapacitySpec::Constant { rate_bps: 4_000_000 };
    spec.duration_ns = 20 * S;
    spec
}

/// A transfer of so many segments by each flow.
pub fn transfers(mut spec: RunSpec, segments: u64) -> RunSpec {
    for flow in &mut spec.flows {
        flow.app = App::Transfer {
            start: Span::Fixed { ns: 0 },
            bytes: 1000 * segments,
        };
    }
    spec
}

/// The same gateway at both ends.
pub fn both(gateway: &GatewaySpec) -> [Option<GatewaySpec>; 2] {
    [Some(gateway.clone()), Some(gateway.clone())]
}

/// The test-only gateway `module`, which holds the highest code of the last `hold_us`.
pub fn module(hold_us: f64) -> GatewaySpec {
    let law = gateway("module").expect("registered");
    GatewaySpec {
        law,
        params: law.params_from(&[("hold_us", hold_us)]).expect("valid"),
    }
}
