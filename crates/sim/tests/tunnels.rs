//! Tunnels: sizes, what routers see inside, what comes out, gateways and their memories.

mod common;

use common::onlooker::{field, shown_at};
use common::row::{both, module, row, transfers, tunnel, vcp};
use common::{MARK, MS, S, kth, plain_router, record_of, seen};
use fadelab_laws::{abi, gateway, router};
use fadelab_path::spec::Queues;
use fadelab_run::app::{App, Span};
use fadelab_run::record::RunRecord;
use fadelab_run::spec::RunSpec;
use fadelab_run::transport::IpId;
use fadelab_run::tunnel::{Cipher, EcnRule, GatewaySpec, Memory, Mode, Rekey, RoleFrom, TunnelSpec};

#[test]
fn links_in_a_tunnel_carry_its_headers_to_the_byte() {
    // Goal: data and ACKs are larger between the ends alone, by what ESP adds to each of them, and the flow gets what
    // it gets anyway.
    for (cipher, data, ack) in [(Cipher::AesGcm, 1096, 96), (Cipher::Null, 1084, 84)] {
        let mut through = tunnel(1, 2);
        through.cipher = cipher;
        let record = record_of(&transfers(row(vec![through], "reno", 1), 50));
        let sent: Vec<u64> = record.links_end.iter().map(|link| link.sent_bytes).collect();
        let (data, ack) = (50 * data, 50 * ack);
        assert_eq!(sent, [52_000, 2_000, data, ack, 52_000, 2_000], "{cipher:?}");
        assert_eq!(record.flows_end[0].delivered_bytes, 50_000);
        assert_eq!(record.completions.len(), 1);
        assert_eq!(counted(&record), [("bc", 100, 100, 0)]);
    }
}

/// Of each tunnel what entered it, left it and was dropped.
fn counted(record: &RunRecord) -> Vec<(&str, u64, u64, u64)> {
    let tunnels = record.tunnels.iter();
    tunnels
        .map(|tunnel| {
            (
                tunnel.name.as_str(),
                tunnel.entered_pkts,
                tunnel.left_pkts,
                tunnel.dropped_pkts,
            )
        })
        .collect()
}

#[test]
fn a_transmission_in_a_tunnel_takes_as_long_as_its_bytes() {
    // Goal: one segment and its ACK take the time of each link's own bytes, there and back, and no more.
    let mut spec = transfers(row(vec![tunnel(1, 2)], "reno", 1), 1);
    spec.duration_ns = S;
    let end_ns = record_of(&spec).completions[0].end_ns;
    // A byte a microsecond.
    let bytes = 2 * 1040 + 1096 + 2 * 40 + 96;
    assert_eq!(end_ns, bytes * 1000 + 6 * 5 * MS);
}

const TUNNELLED: u64 = abi::PACKET_TUNNELLED as u64;
const DATA: u64 = abi::PACKET_DATA as u64;

#[test]
fn routers_in_a_tunnel_see_the_outer_header_alone() {
    // Goal: neither kind, format, feedback nor codes of the inner header show, of data and of ACKs; told of the tunnel,
    // routers take all of it for data of a format. Behind the tunnel all of it is back.
    for told in [None, Some(abi::WIRE_VCP as u8)] {
        let mut through = tunnel(1, 2);
        (through.told_wire, through.ecn) = (told, [EcnRule::NoEcn; 2]);
        let spec = transfers(row(vec![through], "xcp", 1), 40);
        let (flags, wire) = match told {
            None => (TUNNELLED, 0),
            Some(wire) => (TUNNELLED | DATA, u64::from(wire)),
        };
        for (at, bytes) in [(2, 1096), (3, 96)] {
            let calls = shown_at(spec.clone(), at);
            assert!(calls.len() >= 40);
            for call in &calls {
                let of = |name| field(call, name);
                assert_eq!((of("flags"), of("wire"), of("ip_bytes")), (flags, wire, bytes));
                assert_eq!((of("ecn"), of("outer_ecn")), (0, 0));
                assert_eq!((of("feedback_len"), of("confirmed")), (0, 0));
            }
        }
        let behind = shown_at(spec.clone(), 4);
        let without = shown_at(transfers(row(Vec::new(), "xcp", 1), 40), 4);
        assert_eq!(behind.len(), without.len());
        for (behind, without) in behind.iter().zip(&without) {
            for name in [
                "flags",
                "wire",
                "ip_bytes",
                "ecn",
                "outer_ecn",
                "feedback_len",
                "ip_id",
                "role",
            ] {
                assert_eq!(field(behind, name), field(without, name), "{name}");
            }
        }
    }
}

/// ECN fields with which data of flow 0 arrive, whose sender is ECN-capable, where a router in the tunnel marks each
/// data packet that it takes for one; and what the sender heard of it.
fn reductions(through: TunnelSpec) -> (RunRecord, usize) {
    let mut spec = transfers(row(vec![through], "reno", 1), 200);
    spec.network.links[2].router = marking();
    let (record, sightings) = seen(&spec);
    let echoes = sightings.iter().filter(|sighting| sighting.ece).count();
    (record, echoes)
}

/// RED that marks nearly everything.
fn marking() -> fadelab_path::spec::RouterSpec {
    let mut spec = plain_router("cw");
    spec.params = spec
        .law
        .params_from(&[("threshold_pkts", 0.001), ("q_w", 1.0)])
        .expect("valid");
    spec
}

#[test]
fn marks_come_out_of_a_tunnel_as_its_rule_says() {
    // Goal: a router in the tunnel marks the outer field and counts it; the sender hears of it under the rules that
    // carry it out, and the router cannot mark where the tunnel is not ECN-capable. Of unequal ends the one where a
    // packet enters decides whether it can be marked, and the one where it leaves whether a mark comes out.
    let rules = [EcnRule::Linux, EcnRule::Rfc6040, EcnRule::None, EcnRule::NoEcn];
    for (enters, marks) in rules.into_iter().zip([true, true, true, false]) {
        for (leaves, carries) in rules.into_iter().zip([true, true, false, false]) {
            let mut through = tunnel(1, 2);
            through.ecn = [enters, leaves];
            let (record, echoes) = reductions(through);
            let comes_out = marks && carries;
            assert_eq!(record.links_end[2].marked_pkts > 0, marks, "{enters:?}, {leaves:?}");
            assert_eq!(echoes > 0, comes_out, "{enters:?}, {leaves:?}");
            assert_eq!(
                record.flows_end[0].ecn_reductions > 0,
                comes_out,
                "{enters:?}, {leaves:?}"
            );
        }
    }
}

/// The same gateway at both ends.
#[test]
fn a_rule_drops_what_it_cannot_carry_and_counts_it() {
    // Goal: a gateway gives ACKs, which are not ECN-capable, an outer CE that it saw on data; RFC 6040 drops them where
    // they leave, they are counted, and packets and bytes are conserved all the same. Linux's rule lets them by.
    for (rule, drops) in [(EcnRule::Rfc6040, true), (EcnRule::Linux, false)] {
        let mut through = tunnel(1, 2);
        (through.ecn, through.gateways) = ([rule; 2], both(&module(100_000.0)));
        let mut spec = row(vec![through], "reno", 2);
        spec.network.links[2].router = marking();
        let record = record_of(&spec);
        let tunnel = &record.tunnels[0];
        assert_eq!(tunnel.dropped_pkts > 0, drops, "{rule:?}: {tunnel:?}");
        assert!(tunnel.entered_pkts >= tunnel.left_pkts + tunnel.dropped_pkts);
        let (into, out_of) = (&record.links_end[3], &record.links_end[1]);
        assert!(
            into.sent_pkts >= out_of.arrived_pkts + tunnel.dropped_pkts,
            "all of them ACKs"
        );
    }
}

#[test]
fn what_finds_no_association_is_dropped_and_counted() {
    // Goal: where associations expire before others are there, what would enter meanwhile is dropped, and so is what
    // was sealed under the one that is gone and leaves in the gap or behind it; all of it is counted. Without a gap
    // nothing is: the one before stays for what is under way.
    for gap_ns in [0, MS, 200 * MS] {
        let mut through = tunnel(1, 2);
        through.rekey = Some(Rekey { lasts_ns: S, gap_ns });
        let mut spec = row(vec![through], "reno", 2);
        spec.record_interval_ns = Some(S + gap_ns);
        let record = record_of(&spec);
        let tunnel = &record.tunnels[0];
        let none = [tunnel.no_sa_entering_pkts, tunnel.no_sa_leaving_pkts];
        assert_eq!(none.map(|pkts| pkts > 0), [gap_ns > 0; 2], "{gap_ns}: {tunnel:?}");
        let [into, out_of] = [[2, 3], [4, 1]].map(|links| links.map(|link: usize| &record.links_end[link]));
        let arrived: u64 = into.iter().map(|link| link.arrived_pkts).sum();
        assert_eq!(tunnel.entered_pkts, arrived, "what entered came to the links inside");
        let (sent, behind): (u64, u64) = (
            into.iter().map(|link| link.sent_pkts).sum(),
            out_of.iter().map(|link| link.arrived_pkts).sum(),
        );
        let gone = tunnel.left_pkts + tunnel.no_sa_leaving_pkts;
        assert!(
            sent - gone <= 20 && tunnel.left_pkts == behind,
            "{gap_ns}: {tunnel:?}, {sent} sent"
        );
        // A gap that is shorter than the way inside takes what is under way all the same.
        assert!(gap_ns != MS || tunnel.no_sa_leaving_pkts > 100, "{tunnel:?}");
        assert!(
            record.flows_end.iter().all(|flow| flow.delivered_bytes > 300_000),
            "they go on"
        );
    }
}

/// Codes with which data of each flow arrive, where the queue of link 2 marks packets of the flow that starts first.
fn arrived_codes(memory: Memory) -> [Vec<u64>; 2] {
    let mut through = tunnel(1, 2);
    (through.memory, through.gateways) = (memory, both(&module(10_000_000.0)));
    // Or the router would take nothing for data.
    through.told_wire = Some(abi::WIRE_NONE as u8);
    let mut spec = transfers(row(vec![through], "reno", 2), 20);
    for (number, flow) in (0..).zip(&mut spec.flows) {
        flow.app = App::Transfer {
            start: Span::Fixed { ns: number * S },
            bytes: 20_000,
        };
    }
    // The second packet in the tunnel is marked; it is of the first flow.
    spec.network.links[2].router = kth(2, 0, 2, MARK);
    let calls = shown_at(spec, 4);
    let codes = calls.iter().map(|call| field(call, "ecn")).collect::<Vec<_>>();
    assert_eq!(codes.len(), 40);
    [codes[..20].to_vec(), codes[20..].to_vec()]
}

#[test]
fn a_gateway_has_a_memory_for_the_tunnel_or_for_each_flow() {
    // Goal: what the law holds from the first flow's mark stands for the second flow where the tunnel has one memory,
    // and does not where each flow has its own.
    let [first, second] = arrived_codes(Memory::Tunnel);
    assert_eq!((first[0], first[1], first[19]), (2, 3, 3));
    assert!(second.iter().all(|&code| code == 3), "{second:?}");
    let [first, second] = arrived_codes(Memory::Flow);
    assert_eq!((first[0], first[1], first[19]), (2, 3, 3));
    assert!(second.iter().all(|&code| code == 2), "{second:?}");
}

#[test]
fn a_gateway_sees_both_directions() {
    // Goal: what came out of the tunnel on data goes back through it on ACKs, in the outer header, whether or not
    // there is a gateway at the other end; where there is none at this one, ACKs enter as they are.
    let codes = |gateways| {
        let mut through = tunnel(1, 2);
        (through.told_wire, through.gateways) = (Some(abi::WIRE_NONE as u8), gateways);
        let mut spec = transfers(row(vec![through], "reno", 1), 20);
        spec.network.links[2].router = kth(5, 0, 5, MARK);
        let calls = shown_at(spec, 3);
        calls.iter().map(|call| field(call, "outer_ecn")).collect::<Vec<u64>>()
    };
    let [here, none] = [Some(module(10_000_000.0)), None];
    let at_both = codes(both(here.as_ref().expect("a law")));
    // ECT(0) of the data stands until the mark, with the second flight; its ACKs come to the tunnel after all of it.
    assert_eq!(at_both[..2], [2, 2]);
    assert!(at_both[2..].iter().all(|&code| code == 3), "{at_both:?}");
    assert_eq!(codes([none.clone(), here.clone()]), at_both);
    let at_the_other = codes([here, none]);
    assert!(at_the_other.iter().all(|&code| code == 0), "{at_the_other:?}");
}

#[test]
fn tunnels_in_a_row_and_from_host_to_host_come_to_the_same_bytes() {
    // Goal: one tunnel from end to end, and one for each link, make each link carry the same, and nothing stays inside.
    let run = |tunnels| record_of(&transfers(row(tunnels, "cubic", 3), 60));
    let one = run(vec![tunnel(0, 3)]);
    let three = run(vec![tunnel(0, 1), tunnel(2, 1), tunnel(2, 3)]);
    assert_eq!(one.links_end, three.links_end);
    assert_eq!(one.flows_end, three.flows_end);
    assert_eq!(counted(&one), [("ad", 360, 360, 0)]);
    assert_eq!(
        counted(&three),
        [("ab", 360, 360, 0), ("cb", 360, 360, 0), ("cd", 360, 360, 0)]
    );
}

#[test]
fn a_tunnel_is_one_flow_to_fair_queues() {
    // Goal: two flows in a tunnel and one beside it share a link in halves, where without the tunnel each has a third.
    let share = |tunnels: Vec<TunnelSpec>| {
        let mut spec = row(tunnels, "reno", 3);
        spec.duration_ns = 30 * S;
        // The third one does not pass the tunnel's first node.
        (spec.flows[2].route, spec.flows[2].route_back) = (vec![2, 4], vec![5, 3]);
        spec.flows[2].from = 1;
        let bottleneck = &mut spec.network.links[2];
        bottleneck.queues = Queues::Fair {
            hashed: None,
            quantum_bytes: 1514,
        };
        bottleneck.capacity = fadelab_path::spec::CapacitySpec::Constant { rate_bps: 2_000_000 };
        let flows = record_of(&spec).flows_end;
        let bytes: Vec<f64> = flows.iter().map(|flow| flow.delivered_bytes as f64).collect();
        bytes[2] / bytes.iter().sum::<f64>()
    };
    let (without, with) = (share(Vec::new()), share(vec![tunnel(0, 2)]));
    assert!((0.30..0.37).contains(&without), "{without}");
    // The link is shared by bytes, of which those in the tunnel bring less payload.
    assert!((0.48..0.56).contains(&with), "{with}");
}

#[test]
fn acks_in_a_tunnel_cannot_be_put_first() {
    // Goal: at a queue that lets ACKs go first, those in a tunnel wait behind data.
    let waits = |tunnels: Vec<TunnelSpec>| {
        let mut spec = row(tunnels, "reno", 1);
        // Data of a second flow fill the way back.
        let mut back = spec.flows[0].clone();
        back.name = "back".into();
        (back.from, back.to) = (3, 0);
        (back.route, back.route_back) = (back.route_back, back.route);
        spec.flows.push(back);
        for link in [3, 5, 1] {
            spec.network.links[link].queues = Queues::AcksFirst;
        }
        let record = record_of(&spec);
        record.flows_end[0].rtt_us_sum / record.flows_end[0].rtt_samples
    };
    let (without, with) = (waits(Vec::new()), waits(vec![tunnel(0, 3)]));
    assert!(with > without + 10_000, "{with} us, {without} us");
}

/// How many data packets arrive with each code.
fn codes(spec: RunSpec) -> [usize; 4] {
    let calls = shown_at(spec, 4);
    [0, 1, 2, 3].map(|code| calls.iter().filter(|call| field(call, "ecn") == code).count())
}

#[test]
fn vcp_loses_high_load_in_a_tunnel_and_a_gateway_carries_it() {
    // Goal: routers that are told of the tunnel write codes there; without a gateway high load never comes out, which
    // is neither congestion nor what the packet said; with one all three codes do.
    let with = |gateways| {
        let mut through = tunnel(1, 2);
        (through.told_wire, through.gateways) = (Some(abi::WIRE_VCP as u8), gateways);
        codes(vcp(through))
    };
    let law = gateway("vcp").expect("registered");
    let [_, low, high, overload] = with([None, None]);
    assert!(low > 0 && high == 0 && overload > 0, "{low} {high} {overload}");
    let [_, low, high, overload] = with(both(&GatewaySpec {
        law,
        params: law.default_params(),
    }));
    assert!(low > 0 && high > 0 && overload > 0, "{low} {high} {overload}");
    let mut blind = tunnel(1, 2);
    blind.told_wire = None;
    let [_, low, high, overload] = codes(vcp(blind));
    assert!(
        low > 0 && high == 0 && overload == 0,
        "no router of VCP sees a packet of its format"
    );
}

#[test]
fn transport_mode_carries_codes_and_ids_as_they_are() {
    // Goal: laws whose code is in the IP header get through transport mode, with routers that are told of it and
    // without any gateway, exactly what they get in the clear with packets that are as large; DPCP, whose order is in
    // what is encrypted so that no router can be told of it, does not.
    let with = |law: &str, is_encrypted| {
        let mut spec = vcp(tunnel(0, 3));
        let flow = &mut spec.flows[0];
        flow.sender = fadelab_laws::sender(law);
        flow.receiver = fadelab_laws::receiver(law);
        flow.params = flow.sender.expect("registered").default_params();
        for link in [0, 2] {
            spec.network.links[link].router = plain_router(law);
        }
        if is_encrypted {
            let through = &mut spec.network.tunnels[0];
            (through.mode, through.role) = (Mode::Transport, RoleFrom::Id);
            through.told_wire = gateway(law).and(router(law)).map(|law| law.wire() as u8);
        } else {
            spec.network.tunnels.clear();
            let transport = &mut spec.flows[0].transport;
            (transport.packet_bytes, transport.header_bytes, transport.ack_bytes) = (1076, 76, 76);
        }
        record_of(&spec).flows_end
    };
    for law in ["vcp", "dcp_ew"] {
        assert_eq!(with(law, true), with(law, false), "{law}");
    }
    assert_ne!(with("dpcp", true), with("dpcp", false));
}

#[test]
fn a_run_with_tunnels_repeats_exactly() {
    // Goal: the same seed gives the same record, with random IDs, a gateway and losses; another seed another one.
    let run = |seed| {
        let mut through = tunnel(1, 2);
        (through.ip_id, through.memory) = (IpId::Random, Memory::Flow);
        through.gateways = both(&module(3000.0));
        let mut spec = row(vec![through], "cubic", 3);
        spec.seed = seed;
        spec.network.links[2].channel = Some(common::random_loss(0.01, 0.01));
        spec.network.links[2].router = plain_router("red");
        record_of(&spec)
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}
