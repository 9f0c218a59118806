//! Where routes go through tunnels.

use fadelab_path::spec::{Buffer, CapacitySpec, LinkKind, LinkSpec, RouterSpec};

use super::*;
use crate::transport::IpId;
use crate::tunnel::{Cipher, EcnRule, Family, Memory, Mode, RoleFrom};

fn tunnel(name: &str, from: NodeId, to: NodeId) -> TunnelSpec {
    TunnelSpec {
        name: name.into(),
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

/// Nodes 0 to 5 in a row: link `2 * n` leads from n to n + 1, link `2 * n + 1` back.
fn row(tunnels: Vec<TunnelSpec>) -> NetworkSpec {
    let mut network = NetworkSpec {
        tunnels,
        ..NetworkSpec::default()
    };
    for node in 0..6 {
        network.host(node.to_string());
    }
    let droptail = fadelab_laws::router("droptail").expect("registered");
    let part = fadelab_laws::capacity("configured").expect("registered");
    for node in 0..5 {
        for (from, to) in [(node, node + 1), (node + 1, node)] {
            let router = RouterSpec {
                law: droptail,
                params: droptail.default_params(),
                capacity: part,
                capacity_params: part.default_params(),
            };
            let buffer = Buffer {
                packets: Some(1),
                bytes: None,
            };
            let kind = LinkKind::new(CapacitySpec::Constant { rate_bps: 1 }, 0, buffer, router);
            network.join(from, to, LinkSpec::new(format!("{from} to {to}"), true, kind));
        }
    }
    network
}

#[test]
fn a_route_is_in_a_tunnel_between_its_ends() {
    // Goal: there and back, from the first node and to the last one, two tunnels in a row that share a node, and none
    // where a route passes one end alone.
    let network = row(vec![tunnel("late", 3, 5), tunnel("early", 1, 3)]);
    let crossing = |tunnel, is_backward, first, last| Crossing {
        tunnel,
        is_backward,
        first,
        last,
    };
    assert_eq!(
        network.crossings(&[0, 2, 4, 6, 8]),
        Ok(vec![crossing(1, false, 1, 2), crossing(0, false, 3, 4)])
    );
    assert_eq!(
        network.crossings(&[9, 7, 5, 3, 1]),
        Ok(vec![crossing(0, true, 0, 1), crossing(1, true, 2, 3)])
    );
    assert_eq!(network.crossings(&[0, 2]), Ok(Vec::new()));
    assert_eq!(network.crossings(&[]), Ok(Vec::new()));
    let bytes: Vec<u32> = network.bytes_on(&[0, 2, 4], 84).map(|(_, bytes)| bytes).collect();
    assert_eq!(bytes, [84, 140, 140]);
}

#[test]
fn tunnels_in_each_other_are_refused() {
    // Goal: nested and overlapping tunnels, and two between the same ends, are told by their numbers.
    for (one, other) in [((0, 5), (1, 2)), ((0, 3), (2, 5)), ((1, 3), (1, 3)), ((4, 1), (1, 3))] {
        let network = row(vec![tunnel("one", one.0, one.1), tunnel("other", other.0, other.1)]);
        let mut tunnels = network.crossings(&[0, 2, 4, 6, 8]).expect_err("overlap").tunnels;
        tunnels.sort_unstable();
        assert_eq!(tunnels, [0, 1], "{one:?} and {other:?}");
    }
}
