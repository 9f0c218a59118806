//! What the engine does ahead of time against networks in which nothing is done ahead.

mod common;

use std::ops::Range;

use common::{Dumbbell, MARK, MS, S, flow, kth, link, network, plain_router, random_loss, record_of};
use fadelab_laws::abi;
use fadelab_path::layer::{DelayLaw, Jitter};
use fadelab_path::spec::LinkSpec;
use fadelab_phy::random::Stream;
use fadelab_run::app::{App, Span};
use fadelab_run::flow::FlowSpec;
use fadelab_run::network::{Edge, LinkId, NetworkSpec};
use fadelab_run::record::RunRecord;
use fadelab_run::spec::RunSpec;
use fadelab_run::transport::IpId;
use fadelab_run::transport::{Recovery, Transport};
use fadelab_run::tunnel::{Cipher, EcnRule, Family, GatewaySpec, Memory, Mode, Rekey, RoleFrom, TunnelSpec};

/// The same network in which each link goes step by step, with an event for whatever happens on it.
fn step_by_step(spec: &RunSpec) -> RunSpec {
    let mut spec = spec.clone();
    for link in &mut spec.network.links {
        link.layer.jitter = Some(Jitter {
            delay: DelayLaw::Uniform { min_ns: 0, max_ns: 0 },
            in_order: true,
        });
    }
    spec
}

/// A run whose samples fall between the instants at which most happens.
fn six_seconds(seed: u64, network: NetworkSpec, flows: Vec<FlowSpec>) -> RunSpec {
    RunSpec {
        seed,
        duration_ns: 6 * S,
        warmup_ns: S + 1_040_000,
        record_interval_ns: Some(130 * MS),
        network,
        flows,
    }
}

/// Demands of networks of chance the results of their twins in which nothing is done ahead.
fn are_as_step_by_step(seeds: Range<u64>, network: fn(u64) -> RunSpec) {
    for seed in seeds {
        let spec = network(seed);
        assert_eq!(results(&spec), results(&step_by_step(&spec)), "seed {seed}");
    }
}

/// All of a record but how many events it took.
fn results(spec: &RunSpec) -> RunRecord {
    let mut record = record_of(spec);
    record.events = 0;
    record
}

/// Flows over random routes, on links of few rates and delays: much happens at the same instant.
fn random_network(seed: u64) -> RunSpec {
    let mut random = Stream::new(seed, "network");
    let count = 3 + random.below(10);
    let links = (0..count).map(|index| {
        let rate_bps = [4_000_000, 8_000_000, 16_000_000][random.below(3) as usize];
        let delay_ns = [1, 5, 5, 20][random.below(4) as usize] * MS;
        let router = ["droptail", "droptail", "droptail", "red"][random.below(4) as usize];
        let channel = (random.below(5) == 0).then(|| random_loss(0.01, 0.01));
        let packets = 3 + random.below(40) as u32;
        let mut link = link(&format!("link.{index}"), rate_bps, delay_ns, packets);
        (link.router, link.channel) = (plain_router(router), channel);
        link
    });
    let links: Vec<LinkSpec> = links.collect();
    let flows = (0..=random.below(8)).map(|index| {
        let mut route = || -> Vec<LinkId> {
            let hops = 1 + random.below(4);
            (0..hops).map(|_| random.below(count) as LinkId).collect()
        };
        let (there, back) = (route(), route());
        let mut flow = flow(&format!("flow.{index}"), "reno", there, back);
        flow.app = App::Greedy {
            start: Span::Uniform { min_ns: 0, max_ns: S },
        };
        flow
    });
    let flows = flows.collect();
    six_seconds(seed, network(links), flows)
}

#[test]
fn what_is_done_ahead_is_not_seen() {
    // Goal: on random networks all counters of all links and flows, at any sample, are those of a network in which
    // every step is an event of its own.
    are_as_step_by_step(0..60, random_network);
}

/// Hosts on both sides of one or two bottlenecks, most of them with links of their own, as far away as others.
fn random_hosts(seed: u64) -> RunSpec {
    let mut random = Stream::new(seed, "hosts");
    let (law, router) =
        [("reno", "red"), ("reno", "droptail"), ("vcp", "vcp"), ("xcp", "xcp")][random.below(4) as usize];
    let bottlenecks = ["there", "back", "further", "back again"].map(|name| {
        let mut link = link(name, 8_000_000, [2, 20][random.below(2) as usize] * MS, 40);
        link.router = plain_router(router);
        link
    });
    let mut links: Vec<LinkSpec> = bottlenecks.into();
    // How far in it is on each side: an answer may be fast on one of them and slow on the other.
    let mut far_ms = || [[0, 1], [1, 5], [5, 7], [20, 20]][random.below(4) as usize];
    let far_ms = [far_ms(), far_ms()];
    // Mostly greedy flows, or of all kinds.
    let kinds = [2, 8][random.below(2) as usize];
    let flows = (0..=random.below(8)).map(|index| {
        let mut own = |delays_ms: &[u64]| {
            let delay_ns = delays_ms[random.below(delays_ms.len() as u64) as usize] * MS;
            links.push(link(&format!("own.{}", links.len()), 16_000_000, delay_ns, 1 << 20));
            links.len() as LinkId - 1
        };
        let mut ways = [([0, 2], far_ms[0]), ([3, 1], far_ms[1])].map(|(between, far_ms)| {
            let (first, last) = (own(&far_ms), own(&[1, 5, 5]));
            [&[first], &between[..], &[last]].concat()
        });
        match random.below(8) {
            // Shorter, the other way round, and by another one's way in.
            0 => ways.iter_mut().for_each(|way| {
                way.remove(2);
            }),
            1 | 2 => ways.reverse(),
            3 => ways[0][0] = 4,
            _ => {}
        }
        let [there, back] = ways;
        let mut flow = flow(&format!("flow.{index}"), law, there, back);
        let start = Span::Uniform { min_ns: 0, max_ns: S };
        let pause = Span::Exponential { mean_ns: 400 * MS };
        flow.app = match random.below(kinds) {
            1 => App::Cbr {
                rate_bps: 900_000,
                start,
                stop_ns: 5 * S,
            },
            3 => App::Transfer { start, bytes: 300_000 },
            4 => App::Sessions {
                start,
                on: pause,
                off: Some(pause),
            },
            _ => App::Greedy { start },
        };
        flow.transport.delayed_ack_ns = (random.below(kinds) == 5).then_some(3 * MS);
        flow.transport.handshake = random.below(4) == 0;
        if random.below(kinds) == 6 {
            as_linux(&mut flow.transport);
        }
        flow
    });
    let flows = flows.collect();
    six_seconds(seed, network(links), flows)
}

#[test]
fn the_order_at_hosts_is_not_seen() {
    // Goal: where hosts answer over links of their own, whatever is between them and writes into them, all counters and
    // completions are those of a network in which every packet comes out in its turn.
    are_as_step_by_step(0..120, random_hosts);
}

/// Five nodes in a row, joined twice, under tunnels that meet at the third one, and flows between hosts at any two of
/// the nodes, or that are these nodes themselves: many of them go through a tunnel or both, either way, and others
/// beside it.
fn random_tunnels(seed: u64) -> RunSpec {
    random_tunnels_under(seed, "reno", "module")
}

/// The same with flows, routers and gateways of DCP-EW, whose directions are apart.
fn random_tunnels_of_pairs(seed: u64) -> RunSpec {
    random_tunnels_under(seed, "dcp_ew", "dcp_ew")
}

fn random_tunnels_under(seed: u64, sender: &str, gateway: &str) -> RunSpec {
    let mut random = Stream::new(seed, "tunnels");
    let mut one_of = |choices: &[u64]| choices[random.below(choices.len() as u64) as usize];
    let mut network = NetworkSpec::default();
    for node in 0..5 {
        network.host(node.to_string());
    }
    let join = |network: &mut NetworkSpec, from, to, router: &str, rate_bps, delay_ns| {
        let mut link = link(&format!("link.{}", network.links.len()), rate_bps, delay_ns, 20);
        link.router = plain_router(router);
        network.join(from, to, link)
    };
    for node in 0..4 {
        let (rate_bps, delay_ns) = (one_of(&[4, 8]) * 1_000_000, one_of(&[1, 5, 20]) * MS);
        let choice = one_of(&[0, 1, 2, 3]) as usize;
        let routers = match sender {
            "dcp_ew" => ["dcp_ew", "dcp_ew", "droptail", "dcp_ew"],
            _ => ["droptail", "red", "rem", "droptail"],
        };
        for router in [routers[choice], "droptail"] {
            join(&mut network, node, node + 1, router, rate_bps, delay_ns);
            join(&mut network, node + 1, node, router, rate_bps, delay_ns);
        }
    }
    let ends = [[0, 2], [2, 4], [1, 2], [2, 0], [4, 2], [3, 2]];
    for place in [one_of(&[0, 2, 3]), one_of(&[1, 4, 5])] {
        let [from, to] = ends[place as usize];
        network.tunnels.push(random_tunnel(from, to, gateway, &mut one_of));
    }
    let lanes: &[u64] = if one_of(&[0, 1]) == 0 { &[0] } else { &[0, 0, 1] };
    let mut flows = Vec::new();
    for index in 0..=one_of(&[0, 3, 6]) {
        let (from, to) = (one_of(&[0, 1]) as u32, one_of(&[2, 3, 4]) as u32);
        let mut pair = |node| 4 * node + 2 * one_of(lanes) as u32;
        let mut there: Vec<LinkId> = (from..to).map(&mut pair).collect();
        let mut back: Vec<LinkId> = (from..to).rev().map(|node| pair(node) + 1).collect();
        let mut hosts = [from, to];
        if one_of(&[0, 1, 1]) == 1 {
            let delay_ns = one_of(&[1, 5, 5]) * MS;
            hosts = ["left", "right"].map(|side| network.host(format!("{side}.{index}")));
            let mut access = |from, to| join(&mut network, from, to, "droptail", 16_000_000, delay_ns);
            there = [vec![access(hosts[0], from)], there, vec![access(to, hosts[1])]].concat();
            back = [vec![access(hosts[1], to)], back, vec![access(from, hosts[0])]].concat();
        }
        let mut flow = flow(&format!("flow.{index}"), sender, there, back);
        [flow.from, flow.to] = hosts;
        if one_of(&[0, 1]) == 1 {
            (flow.from, flow.to) = (flow.to, flow.from);
            (flow.route, flow.route_back) = (flow.route_back, flow.route);
        }
        flow.app = app_of(Span::Fixed { ns: index * 3 * MS }, &mut one_of);
        if matches!(flow.app, App::Cbr { .. }) {
            flow.sender = None;
        }
        flows.push(flow);
    }
    six_seconds(seed, network, flows)
}

fn random_tunnel(from: u32, to: u32, law: &str, one_of: &mut impl FnMut(&[u64]) -> u64) -> TunnelSpec {
    let law = fadelab_laws::gateway(law).expect("registered");
    let told = if law.name() == "dcp_ew" {
        abi::WIRE_PAIR
    } else {
        abi::WIRE_VCP
    };
    let gateway = GatewaySpec {
        law,
        params: law.default_params(),
    };
    TunnelSpec {
        name: format!("{from} to {to}").into(),
        from,
        to,
        mode: Mode::Tunnel,
        outer: Family::Ipv4,
        in_udp: false,
        rekey: [None, Some(0), Some(90 * MS)][one_of(&[0, 1, 2]) as usize].map(|gap_ns| Rekey {
            lasts_ns: 700 * MS,
            gap_ns,
        }),
        cipher: [Cipher::AesGcm, Cipher::Null][one_of(&[0, 1]) as usize],
        ecn: [0, 1]
            .map(|_| [EcnRule::Linux, EcnRule::Rfc6040, EcnRule::NoEcn, EcnRule::None][one_of(&[0, 1, 2, 3]) as usize]),
        ip_id: [IpId::Counting, IpId::Random][one_of(&[0, 1]) as usize],
        role: [RoleFrom::Id, RoleFrom::Sequence, RoleFrom::Written][one_of(&[0, 1, 2]) as usize],
        memory: [Memory::Tunnel, Memory::Flow][one_of(&[0, 1]) as usize],
        told_wire: (one_of(&[0, 1]) == 1).then_some(told as u8),
        gateways: [0, 1].map(|_| (one_of(&[0, 1, 1, 1]) == 1).then(|| gateway.clone())),
    }
}

#[test]
fn the_order_at_ends_of_tunnels_is_not_seen() {
    // Goal: what an end of a tunnel remembers, of both directions or of each for itself, comes from packets in the
    // order of time whatever is done ahead: all counters are those of a network in which every step is an event.
    are_as_step_by_step(0..120, random_tunnels);
    are_as_step_by_step(0..200, random_tunnels_of_pairs);
}

/// What the preset `linux` has that has its own timers, or is at both ends.
fn as_linux(transport: &mut Transport) {
    (transport.recovery, transport.rate_reduction) = (Recovery::Rack, true);
    (transport.handshake, transport.quick_acks_pkts) = (true, 20);
    (transport.delayed_ack_ns, transport.sack_on_wire) = (Some(40 * MS), true);
    (transport.ts_tick_ns, transport.rto_min_over_srtt) = (MS, true);
}

/// Most often an application that always has data; transfers and sessions end soon, and begin again at once.
fn app_of(start: Span, one_of: &mut impl FnMut(&[u64]) -> u64) -> App {
    match one_of(&[0, 1, 2, 3, 4, 5, 6, 7]) {
        0 => App::Cbr {
            rate_bps: 400_000,
            start,
            stop_ns: 5 * S,
        },
        1 | 2 => App::Transfer {
            start,
            bytes: one_of(&[0, 1, 1000, 20_500, 700_000]),
        },
        3 | 4 => App::Sessions {
            start,
            on: Span::Exponential {
                mean_ns: one_of(&[50, 600]) * MS,
            },
            off: Some(Span::Exponential {
                mean_ns: one_of(&[1, 5, 300]) * MS,
            }),
        },
        _ => App::Greedy { start },
    }
}

/// Dumbbells whose access links are all alike, so that packets go through them into the bottleneck at once. Rates,
/// sizes and delays are such that packets, timers and samples often meet at the same instant: on an access link of
/// twice the rate, a packet of 1200 bytes takes as long as one of 400 bytes that is sent when another 400 bytes have
/// arrived.
fn random_dumbbell(seed: u64) -> RunSpec {
    let mut random = Stream::new(seed, "dumbbell");
    let mut order = Stream::new(seed, "order");
    let mut one_of = |choices: &[u64]| choices[random.below(choices.len() as u64) as usize];
    let (law, router) = [
        ("reno", "droptail"),
        ("reno", "red"),
        ("reno", "rem"),
        ("vcp", "vcp"),
        ("xcp", "xcp"),
    ][one_of(&[0, 1, 2, 3, 4]) as usize];
    let flows = one_of(&[1, 2, 3, 8]) as u32;
    let dumbbell = Dumbbell {
        flows,
        law,
        router,
        rate_bps: 8_000_000,
        delay_ns: one_of(&[1, 10, 30]) * MS,
        buffer_pkts: one_of(&[5, 20, 60]) as u32,
        duration_ns: 6 * S,
    };
    let mut spec = six_seconds(seed, dumbbell.spec().network, dumbbell.spec().flows);
    spec.record_interval_ns = Some(one_of(&[7, 50, 130]) * MS);
    if one_of(&[0, 1, 2]) == 0 {
        spec.network.links[0].channel = Some(random_loss(0.01, 0.01));
    }
    // Hosts on one side that are as far away as others, or not.
    let access_ns = [one_of(&[0, 1, 4, 8]) * MS, one_of(&[0, 1, 4, 8]) * MS];
    for (index, link) in spec.network.links.iter_mut().enumerate().skip(2) {
        link.delay_ns = access_ns[usize::from(index % 4 == 3 || index % 4 == 0)];
    }
    let (mixed, both_ways) = (one_of(&[0, 1]) == 1, one_of(&[0, 0, 1]) == 1);
    let second = (one_of(&[0, 0, 1]) == 1).then(|| {
        spec.network.links.push(spec.network.links[0].clone());
        spec.network.links.len() as LinkId - 1
    });
    for (index, flow) in spec.flows.iter_mut().enumerate() {
        let start = Span::Fixed {
            ns: one_of(&[0, 0, 3, 400]) * MS,
        };
        flow.app = app_of(start, &mut one_of);
        if matches!(flow.app, App::Cbr { .. }) && one_of(&[0, 1]) == 0 {
            flow.sender = None;
        }
        if let Some(second) = second.filter(|_| index % 2 == 1) {
            flow.route[1] = second;
        } else if both_ways && index % 2 == 1 {
            let route = std::mem::take(&mut flow.route);
            flow.route = std::mem::replace(&mut flow.route_back, route);
        }
        let transport = &mut flow.transport;
        transport.packet_bytes = if mixed { one_of(&[400, 800, 1200]) as u32 } else { 1200 };
        transport.sack_on_wire = one_of(&[0, 1]) == 1;
        transport.handshake = one_of(&[0, 0, 1]) == 1;
        transport.delayed_ack_ns = (one_of(&[0, 0, 1]) == 1).then_some(one_of(&[1, 3, 40]) * MS);
        if one_of(&[0, 0, 1]) == 1 {
            as_linux(transport);
        }
    }
    shuffle_links(&mut spec, &mut order);
    spec
}

/// Gives links other numbers, by which what happens at the same instant is ordered.
fn shuffle_links(spec: &mut RunSpec, random: &mut Stream) {
    let mut place: Vec<LinkId> = (0..spec.network.links.len() as LinkId).collect();
    for last in (1..place.len()).rev() {
        place.swap(last, random.below(last as u64 + 1) as usize);
    }
    let mut links: Vec<(LinkId, Edge)> = place.iter().copied().zip(spec.network.links.drain(..)).collect();
    links.sort_by_key(|&(place, _)| place);
    spec.network.links = links.into_iter().map(|(_, link)| link).collect();
    for flow in &mut spec.flows {
        for link in flow.route.iter_mut().chain(&mut flow.route_back) {
            *link = place[*link as usize];
        }
    }
}

#[test]
fn what_goes_through_a_pipe_at_once_is_not_seen() {
    // Goal: where packets go through their access links straight into the bottleneck, ahead of its law's timers and of
    // samples, in bursts, of several sizes, with losses and with ties, all counters are those of a network in which
    // every step is an event of its own.
    are_as_step_by_step(0..150, random_dumbbell);
}

/// Sessions and transfers that end all the time, on hosts that are unequally far away. Timers fire long before an ACK
/// can be there, so that segments of a session come when the next one has begun, and they come marked.
fn random_ends(seed: u64) -> RunSpec {
    let mut random = Stream::new(seed, "ends");
    let dumbbell = Dumbbell {
        flows: 1 + random.below(6) as u32,
        law: "reno",
        router: "droptail",
        rate_bps: 8_000_000,
        delay_ns: (1 + random.below(10)) * MS,
        buffer_pkts: 60,
        duration_ns: 6 * S,
    };
    let mut spec = six_seconds(seed, dumbbell.spec().network, dumbbell.spec().flows);
    spec.network.links[0].router = kth(1, 2, 1_000_000, MARK);
    for link in &mut spec.network.links[2..] {
        link.delay_ns = (1 + random.below(8)) * MS;
    }
    for flow in &mut spec.flows {
        let start = Span::Fixed { ns: 0 };
        let [on, off] = [20, 1].map(|ms| Span::Exponential { mean_ns: ms * MS });
        flow.app = match random.below(4) {
            0 => App::Transfer { start, bytes: 10_000 },
            _ => App::Sessions {
                start,
                on,
                off: Some(off),
            },
        };
        flow.transport.delayed_ack_ns = (random.below(2) == 0).then_some(3 * MS);
        flow.transport.handshake = random.below(4) == 0;
        (flow.transport.rto_ns_min, flow.transport.rto_ns_initial) = (MS, 3 * MS);
        flow.transport.ts_tick_ns = MS;
    }
    spec
}

#[test]
fn the_order_of_ends_is_not_seen() {
    // Goal: where sessions end and begin anew while their segments are still under way, and ends follow one another
    // within the delay of a link, all is noted in the order of time and each session begins as if nothing were ahead.
    are_as_step_by_step(0..60, random_ends);
}

#[test]
fn what_comes_after_the_end_is_not_seen() {
    // Goal: a packet that would come to the bottleneck 100 ns after the end does not, though nobody looks at the
    // network until then. The first ACK is back after 120 ms of delay on the bottleneck, 10 us on each of four access
    // links, and the times of 1040 bytes on two of these and the bottleneck, and of 40 bytes; what it releases is on
    // its access link for another 530 us.
    let dumbbell = Dumbbell {
        flows: 1,
        law: "reno",
        router: "droptail",
        rate_bps: 8_000_000,
        delay_ns: 60 * MS,
        buffer_pkts: 60,
        duration_ns: 120 * MS + (40 + 520 + 1040 + 520 + 20 + 40 + 20 + 530) * 1000,
    };
    let mut spec = dumbbell.spec();
    for access in &mut spec.network.links[2..] {
        access.delay_ns = 10_000;
    }
    let start_at = |ns| App::Greedy {
        start: Span::Fixed { ns },
    };
    spec.flows[0].app = start_at(0);
    assert_eq!(record_of(&spec).links_end[0].arrived_pkts, 3, "in the last instant");
    spec.flows[0].app = start_at(100);
    assert_eq!(record_of(&spec).links_end[0].arrived_pkts, 2);
    assert_eq!(results(&spec), results(&step_by_step(&spec)));
}

#[test]
fn a_dumbbell_takes_four_events_a_packet() {
    // Goal: on a dumbbell with ten flows whose access links are samples, too, the same holds, and a packet takes four
    // events, of which two come with others.
    let dumbbell = Dumbbell {
        flows: 10,
        law: "reno",
        router: "droptail",
        rate_bps: 10_000_000,
        delay_ns: 20 * MS,
        buffer_pkts: 60,
        duration_ns: 20 * S,
    };
    let mut spec = dumbbell.spec();
    spec.record_interval_ns = Some(170 * MS);
    for link in &mut spec.network.links {
        link.shown = true;
    }
    assert_eq!(results(&spec), results(&step_by_step(&spec)));
    let record = record_of(&spec);
    let per_packet = record.events as f64 / record.links_end[0].sent_pkts as f64;
    assert!((3.9..4.2).contains(&per_packet), "{per_packet}");
}
