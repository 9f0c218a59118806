//! Of what a packet in a tunnel has its role: ESP's sequence number, or the outer IP ID.

mod common;

use common::onlooker::{field, shown_at};
use common::row::{both, module, row, transfers, tunnel};
use fadelab_laws::guard::CallRecord;
use fadelab_run::transport::IpId;
use fadelab_run::tunnel::{Memory, Rekey, RoleFrom};

#[test]
fn what_the_role_of_a_packet_is_can_be_chosen() {
    // Goal: the lowest bit of ESP's sequence number from 1 on, of the outer ID, or of one that the gateway writes by
    // turns, if there is one where the packet enters; IDs count from somewhere, are random, or zero; each direction has
    // its own.
    let ids_with = |gateways, ip_id, role, at| -> Vec<(u64, u64)> {
        let mut through = tunnel(1, 2);
        (through.ip_id, through.role, through.gateways) = (ip_id, role, gateways);
        let calls = shown_at(transfers(row(vec![through], "reno", 1), 30), at);
        calls
            .iter()
            .map(|call| (field(call, "ip_id"), field(call, "role")))
            .collect()
    };
    let ids = |ip_id, role, at| ids_with(both(&module(1000.0)), ip_id, role, at);
    for at in [2, 3] {
        let counting = ids(IpId::Counting, RoleFrom::Sequence, at);
        let first = counting[0].0;
        for (number, &(id, role)) in (0..).zip(&counting) {
            assert_eq!((id, role), ((first + number) & 0xffff, (1 + number) & 1));
        }
        let random = ids(IpId::Random, RoleFrom::Id, at);
        assert!(random.iter().all(|(id, role)| id & 1 == *role));
        let ups = random.windows(2).filter(|pair| pair[1].0 == pair[0].0 + 1).count();
        assert!(ups < 3, "{random:?}");
        let written = ids(IpId::Zero, RoleFrom::Written, at);
        for (number, &id) in (0..).zip(&written) {
            assert_eq!(id, (number & 1, number & 1));
        }
        assert!(ids(IpId::Zero, RoleFrom::Id, at).iter().all(|&id| id == (0, 0)));
    }
    let of_one = |at| ids_with([Some(module(1000.0)), None], IpId::Zero, RoleFrom::Written, at);
    assert!(
        of_one(2).iter().any(|&(_, role)| role == 1),
        "it writes where data enter"
    );
    assert!(of_one(3).iter().all(|&id| id == (0, 0)), "none is where ACKs enter");
    let starts = [2, 3].map(|at| ids(IpId::Counting, RoleFrom::Id, at)[0].0);
    assert_ne!(starts[0], starts[1], "a start for each direction");
}

#[test]
fn numbers_begin_again_when_associations_are_renewed() {
    // Goal: the role by ESP's sequence number alternates under each association and begins with 1 under the next, so
    // that where an odd number of packets went before two in a row have the same; the outer ID goes on.
    let mut through = tunnel(1, 2);
    through.rekey = Some(Rekey {
        lasts_ns: 30_000_000,
        gap_ns: 0,
    });
    let calls = shown_at(transfers(row(vec![through], "reno", 1), 400), 2);
    let renewals = |call: &CallRecord| call.time_ns / 30_000_000;
    let mut in_a_row = 0;
    for pair in calls.windows(2) {
        let [(role, id), (next_role, next_id)] = [0, 1].map(|at| (field(&pair[at], "role"), field(&pair[at], "ip_id")));
        let is_renewed = renewals(&pair[0]) != renewals(&pair[1]);
        let expected = if is_renewed { 1 } else { 1 - role };
        assert_eq!(
            (next_role, next_id),
            (expected, (id + 1) & 0xffff),
            "at {} ns",
            pair[1].time_ns
        );
        in_a_row += u32::from(next_role == role);
    }
    assert!(in_a_row > 0);
}

#[test]
fn written_roles_take_turns_per_unit_of_memory() {
    // Goal: with a memory for the tunnel the bit alternates from packet to packet; with one for each flow, within each.
    let roles = |memory| -> Vec<u64> {
        let mut through = tunnel(1, 2);
        (through.role, through.memory) = (RoleFrom::Written, memory);
        through.gateways = both(&module(1000.0));
        let calls = shown_at(transfers(row(vec![through], "reno", 2), 30), 2);
        calls.iter().map(|call| field(call, "role")).collect()
    };
    let of_tunnel = roles(Memory::Tunnel);
    assert!(of_tunnel.windows(2).all(|pair| pair[0] != pair[1]), "{of_tunnel:?}");
    let of_flows = roles(Memory::Flow);
    assert_eq!(of_flows.iter().sum::<u64>(), 30, "half of each flow's packets");
    assert_eq!(of_flows[..4], [0, 1, 0, 1], "the first two of each flow");
}
