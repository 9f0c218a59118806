//! Gateways at the ends of IPsec tunnels, on packets that their programs are handed one by one.

#[allow(dead_code, reason = "other tests use the rest of it")]
mod common;
#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "common/hostile.rs"]
mod hostile;
#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "common/packet.rs"]
mod packet;
#[path = "common/twin.rs"]
mod twin;

use std::collections::HashMap;

use common::{is_built_in, possible, report};
use fadelab_kernel::gateway::object::{Recipe, compile, wire_of};
use fadelab_kernel::gateway::{Hook, Program, Tunnel};
use fadelab_kernel::tunnel::RoleFrom;
use fadelab_laws::{Codec, Gateway, Params, abi, gateway, gateways};
use hostile::Chance;
use packet::{ETHERNET, Esp};
use twin::{Both, Case, Twin, alike, inner};

fn compiled(law: &Gateway, params: &Params) -> Vec<u8> {
    compiled_with(law, params, false)
}

fn compiled_with(law: &Gateway, params: &Params, by_flow: bool) -> Vec<u8> {
    let wire = wire_of(law).unwrap_or(abi::WIRE_PAIR);
    let recipe = Recipe {
        law,
        params,
        wire,
        record: false,
        by_flow,
    };
    compile(&recipe).expect("it compiles")
}

fn tunnel(role: RoleFrom, ipv6: bool) -> Tunnel {
    let (ends, outer_bytes) = if ipv6 {
        (Esp::TUNNEL_IPV6, 56)
    } else {
        (Esp::TUNNEL, 36)
    };
    Tunnel {
        out: ends.parse().expect("a direction"),
        role,
        copies_ce: true,
        outer_bytes,
    }
}

/// The programs of a law with its defaults, at one tunnel over IPv4.
fn loaded(law: &Gateway) -> Program {
    let object = compiled(law, &law.default_params());
    Program::load(&object, &[tunnel(RoleFrom::Sequence, false)]).expect("it loads")
}

/// An option of a format, of which no router has said that it saw the packet.
fn option(wire: u32) -> Vec<u8> {
    let bytes = Codec::on_wire(wire).option_bytes();
    let mut option = vec![0; bytes];
    option[..4].copy_from_slice(&[254, bytes as u8, 0xfa, 0xd0 | wire as u8]);
    option
}

#[test]
fn every_gateway_passes_the_verifier() {
    // Goal: the running kernel takes each built-in gateway, and each begins in the most tunnels that there may be.
    if !possible(&["clang"]) {
        return;
    }
    for law in gateways().iter().filter(|law| is_built_in("gateway", law.name())) {
        let object = compiled(law, &law.default_params());
        let tunnels = [tunnel(RoleFrom::Sequence, false); fadelab_kernel::gateway::TUNNELS_MAX];
        let program = Program::load(&object, &tunnels).unwrap_or_else(|error| panic!("{}: {error}", law.name()));
        let by_flow = compiled_with(law, &law.default_params(), true);
        Program::load(&by_flow, &tunnels).unwrap_or_else(|error| panic!("{} by flow: {error}", law.name()));
        report(&format!("gateway {} loads", law.name()));
        let (counters, state) = program.state(14, law.state_bytes() as usize).expect("counters");
        assert_eq!((counters.entered, counters.left), (0, 0));
        assert_eq!(state.len(), law.state_bytes() as usize);
    }
}

fn agree(law: &'static Gateway, params: &Params, (role, ipv6, by_flow): (RoleFrom, bool, bool), packets: u64) {
    let wire = wire_of(law).expect("a law of a format");
    let mut both = Both {
        program: Program::load(&compiled_with(law, params, by_flow), &[tunnel(role, ipv6)]).expect("it loads"),
        twin: Twin::of(law, params),
        flows: by_flow.then(HashMap::new),
        role,
        wire,
        written: None,
    };
    let mut chance = Chance(packets + 1);
    let own = option(wire);
    for _ in 0..packets {
        let case = Case::any(&mut chance, &own, role, ipv6);
        if case.esp.is_from_here {
            both.enter(case);
        } else {
            both.leave(case);
        }
    }
    let (counters, _) = both.program.state(0, 0).expect("counters");
    assert_eq!(counters.entered + counters.left, packets);
    assert!(counters.entered_own > packets / 10 && counters.left_own > packets / 10);
    assert_eq!((counters.unseen, counters.joined, counters.shared), (0, 0, 0));
    let written = if role == RoleFrom::Written { counters.entered } else { 0 };
    assert_eq!(counters.written, written);
    assert_eq!(counters.outer.iter().sum::<u64>(), counters.entered);
}

#[test]
fn programs_do_to_packets_what_the_law_says_and_nothing_else() {
    // Goal: over thousands of packets both ways, of the law and of others, with each source of the role and a header of
    // IPv6 outside, in a datagram or not, with a memory for the tunnel or for each of four connections in it, the
    // programs write the fields that the same law outside the kernel writes; no
    // other byte changes, sums stay right, and the operator's bits of the mark stand. FADELAB_GATEWAY_PACKETS gives
    // another number of packets (24000).
    if !possible(&["clang"]) {
        return;
    }
    let packets = std::env::var("FADELAB_GATEWAY_PACKETS").map_or(24_000, |n| n.parse().expect("a number"));
    let outside = [
        (RoleFrom::Sequence, false, false),
        (RoleFrom::Id, false, false),
        (RoleFrom::Written, false, false),
        (RoleFrom::Written, false, true),
        (RoleFrom::Sequence, true, false),
    ];
    let names = ["dcp_ew", "vcp"];
    for name in names {
        let law = gateway(name).expect("registered");
        // Halves are known for as long as the test may take.
        let pairs: &[(&str, f64)] = if name == "dcp_ew" { &[("hold_us", 1e9)] } else { &[] };
        let params = law.params_from(pairs).expect("parameters");
        for header in outside {
            agree(law, &params, header, packets / (names.len() * outside.len()) as u64);
        }
    }
}

#[test]
fn a_role_that_cannot_be_written_is_no_flows() {
    // Goal: where each flow has a memory and an outer header has no ID to be written, data of the law is counted as one
    // of the tunnel's, and gets the lowest level: no flow's half goes to where it is for another role.
    if !possible(&["clang"]) {
        return;
    }
    let law = gateway("dcp_ew").expect("registered");
    let object = compiled_with(law, &law.default_params(), true);
    let program = Program::load(&object, &[tunnel(RoleFrom::Written, true)]).expect("it loads");
    let esp = Esp {
        ipv6: true,
        is_from_here: true,
        ecn: 3,
        ..Esp::default()
    };
    for _ in 0..2 {
        let frame = inner(1, 3, 40, &option(abi::WIRE_PAIR));
        let (_, mark) = program.pass(Hook::Plain, &frame, 0).expect("a packet");
        let (out, _) = program.pass(Hook::Out, &esp.frame(), mark).expect("a packet");
        assert_eq!(out, Esp { ecn: 0, ..esp }.frame());
    }
    let (counters, _) = program.state(0, 0).expect("counters");
    assert_eq!((counters.entered_own, counters.shared, counters.written), (2, 2, 0));
}

#[test]
fn packets_of_no_named_tunnel_are_let_alone() {
    // Goal: ESP of other addresses, fragments of ESP that enter, ESP's protocol in a header that is cut short, messages
    // of a key exchange and what keeps a NAT's entry, other datagrams between the ends, and packets that are no ESP
    // keep each byte at both hooks of the cipher device.
    if !possible(&["clang"]) {
        return;
    }
    let program = loaded(gateway("dcp_ew").expect("registered"));
    let esp = Esp {
        is_from_here: true,
        id: 7,
        sequence: 1,
        spi: 1,
        ecn: 3,
        ..Esp::default()
    };
    let changed = |place: usize, value: u8| {
        let mut frame = esp.frame();
        frame[ETHERNET + place] = value;
        frame
    };
    let in_udp = |ipv6, spi| Esp {
        in_udp: true,
        ipv6,
        spi,
        ..esp.clone()
    };
    let mut of_other_ports = in_udp(false, 1).frame();
    of_other_ports[ETHERNET + 20] ^= 1;
    let mut keeps_alive = in_udp(false, 1).frame();
    keeps_alive.truncate(ETHERNET + 29);
    let of_ipv6 = Esp {
        ipv6: true,
        ..esp.clone()
    };
    let mut short = esp.frame();
    short.truncate(ETHERNET + 24);
    let others = [
        changed(15, 9),
        changed(19, 9),
        changed(9, 17),
        short,
        of_ipv6.frame(),
        in_udp(false, 0).frame(),
        in_udp(true, 1).frame(),
        of_other_ports,
        keeps_alive,
        inner(1, 3, 10, &option(abi::WIRE_PAIR)),
    ];
    for frame in others {
        for hook in [Hook::Out, Hook::In] {
            assert_eq!(program.pass(hook, &frame, 5).expect("a packet"), (frame.clone(), 5));
        }
    }
    let fragment = Esp {
        is_fragment: true,
        ..esp
    };
    let entering = (fragment.frame(), 5);
    assert_eq!(program.pass(Hook::Out, &entering.0, 5).expect("a packet"), entering);
    let counters = program.state(0, 0).expect("counters").0;
    assert_eq!((counters.entered, counters.fragments), (0, 0));
}

#[test]
fn what_is_not_decrypted_changes_no_memory() {
    // Goal: the law hears of a half only when the kernel has found its packet genuine and new. ESP that it then drops,
    // forged, replayed or of an SA that has gone, is not counted as one that left, and the memory keeps each bit.
    if !possible(&["clang"]) {
        return;
    }
    for law in gateways().iter().filter(|law| is_built_in("gateway", law.name())) {
        let program = loaded(law);
        let look = || program.state(0, law.state_bytes() as usize).expect("counters");
        let before = look();
        for number in 0..100 {
            let esp = Esp {
                spi: 1 + number % 3,
                sequence: number,
                ecn: (number % 4) as u8,
                ..Esp::default()
            };
            let (_, mark) = program.pass(Hook::In, &esp.frame(), 0).expect("a packet");
            assert_ne!(mark, 0, "it waits in the packet's mark, which goes with the packet");
        }
        assert_eq!(look(), before, "{}", law.name());
    }
}

#[test]
fn no_mark_comes_out_of_fragments() {
    // Goal: a router may cut a marked packet, whose parts then bear the mark, and the kernel would hand a half 11 to
    // the packet inside, whosever it is. The field of each part is cleared and they are counted; the decrypted packet,
    // which nobody noted, leaves with the field with which it entered.
    if !possible(&["clang"]) {
        return;
    }
    let program = loaded(gateway("dcp_ew").expect("registered"));
    for (ecn, in_udp) in (0..8).map(|n| (n % 4, n >= 4)) {
        let first = Esp {
            id: 9,
            in_udp,
            is_fragment: true,
            sequence: 1,
            ecn,
            ..Esp::default()
        };
        let cleared = Esp { ecn: 0, ..first };
        let (left, mark) = program.pass(Hook::In, &first.frame(), 5).expect("a packet");
        assert_eq!((alike(left), mark), (alike(cleared.frame()), 5));
        let inside = inner(1, 2, 10, &option(abi::WIRE_PAIR));
        assert_eq!(program.pass(Hook::In, &inside, 5).expect("a packet"), (inside, 5));
    }
    let (counters, _) = program.state(0, 0).expect("counters");
    assert_eq!((counters.fragments, counters.left), (8, 0));
}
