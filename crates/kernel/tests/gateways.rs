//! Gateways at the ends of IPsec tunnels, on packets that their programs are handed one by one.

#[allow(dead_code, reason = "other tests use the rest of it")]
mod common;
#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "common/packet.rs"]
mod packet;

use common::{possible, report};
use fadelab_kernel::gateway::object::{Recipe, compile, wire_of};
use fadelab_kernel::gateway::{Hook, Program, Tunnel};
use fadelab_kernel::tunnel::RoleFrom;
use fadelab_laws::{Codec, Gateway, Params, State, abi, gateway, gateways};
use packet::{ETHERNET, Esp, Made, folded};

fn compiled(law: &Gateway, params: &Params) -> Vec<u8> {
    let wire = wire_of(law).unwrap_or(abi::WIRE_PAIR);
    compile(&Recipe { law, params, wire }).expect("it compiles")
}

fn tunnel(role: RoleFrom) -> Tunnel {
    Tunnel {
        out: Esp::TUNNEL.parse().expect("a direction"),
        role,
        copies_ce: true,
        outer_bytes: 36,
    }
}

/// A packet inside: data or an ACK of the law, or somebody else's.
fn inner(id: u16, ecn: u8, payload: usize, option: &[u8]) -> Vec<u8> {
    let made = Made {
        ipv6: false,
        ecn,
        payload,
        before: Vec::new(),
        option: option.to_vec(),
    };
    let mut frame = made.frame();
    frame[ETHERNET + 4..ETHERNET + 6].copy_from_slice(&id.to_be_bytes());
    frame[ETHERNET + 10..ETHERNET + 12].fill(0);
    let sum = !folded(&frame[ETHERNET..ETHERNET + 20]);
    frame[ETHERNET + 10..ETHERNET + 12].copy_from_slice(&sum.to_be_bytes());
    frame
}

/// An option of a format, of which no router has said that it saw the packet.
fn option(wire: u32) -> Vec<u8> {
    let bytes = Codec::on_wire(wire).option_bytes();
    let mut option = vec![0; bytes];
    option[..4].copy_from_slice(&[254, bytes as u8, 0xfa, 0xd0 | wire as u8]);
    option
}

/// Words by the linear congruence of Knuth, which the test's two sides share.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

#[test]
fn every_gateway_passes_the_verifier() {
    // Goal: the running kernel takes each registered gateway, and each begins in the most tunnels that there may be.
    if !possible(&["clang"]) {
        return;
    }
    for law in gateways() {
        let object = compiled(law, &law.default_params());
        let tunnels = [tunnel(RoleFrom::Sequence); fadelab_kernel::gateway::TUNNELS_MAX];
        let program = Program::load(&object, &tunnels).unwrap_or_else(|error| panic!("{}: {error}", law.name()));
        report(&format!("gateway {} loads", law.name()));
        let (counters, state) = program.state(14, law.state_bytes() as usize).expect("counters");
        assert_eq!((counters.entered, counters.left), (0, 0));
        assert_eq!(state.len(), law.state_bytes() as usize);
    }
}

/// The same law outside the kernel, which is told what its programs should tell it.
struct Twin {
    law: &'static Gateway,
    params: Params,
    state: State,
}

impl Twin {
    fn of(law: &'static Gateway, params: &Params) -> Self {
        let mut state = law.new_state();
        law.init(&mut state, params, &abi::Tunnel::default());
        Self {
            law,
            params: params.clone(),
            state,
        }
    }

    fn packet(flags: u32, wire: u32, ecn: u8, role: u8) -> abi::Packet {
        abi::Packet {
            flags,
            wire: wire as u8,
            ecn,
            outer_ecn: ecn,
            role,
            roles: u64::from(role),
            roles_known: 1,
            segments: 1,
            ..abi::Packet::default()
        }
    }
}

fn agree(law: &'static Gateway, params: &Params, role: RoleFrom, packets: u64) {
    let wire = wire_of(law).expect("a law of a format");
    let program = Program::load(&compiled(law, params), &[tunnel(role)]).expect("it loads");
    let mut twin = Twin::of(law, params);
    let mut chance = Chance(packets);
    let own = option(wire);
    let mut written = None;
    for number in 0..packets {
        let (ecn, id) = (chance.below(4) as u8, chance.below(65536) as u16);
        let is_own = chance.below(4) > 0;
        let payload = usize::from(chance.below(4) > 0) * 40;
        let frame = inner(id, ecn, payload, if is_own { &own } else { &[] });
        let flags = if payload > 0 { abi::PACKET_DATA } else { 0 };
        let mut shown = Twin::packet(flags, if is_own { wire } else { 0 }, ecn, (id & 1) as u8);
        let outer_ecn = chance.below(4) as u8;
        let sequence = chance.below(1 << 31) as u32;
        let mut esp = Esp {
            ipv6: false,
            is_from_here: chance.below(2) == 0,
            id: if role == RoleFrom::Written {
                0
            } else {
                chance.below(65536) as u16
            },
            sequence,
            ecn: outer_ecn,
        };
        // Bits of the operator's are in the mark, too.
        let mark = chance.below(1 << 24) as u32;
        if esp.is_from_here {
            let (unchanged, noted) = program.pass(Hook::Plain, &frame, mark).expect("a packet");
            assert_eq!((unchanged, noted & 0xff_ffff), (frame, mark));
            let (out, mark_out) = program.pass(Hook::Out, &esp.frame(), noted).expect("a packet");
            assert_eq!(mark_out, mark, "what is the gateway's is gone from the mark");
            let id_out = u16::from_be_bytes([out[ETHERNET + 4], out[ETHERNET + 5]]);
            if role == RoleFrom::Written {
                assert!(written.is_none_or(|before: u16| before.wrapping_add(1) == id_out));
                written = Some(id_out);
            }
            let outer_role = if role == RoleFrom::Sequence {
                sequence as u16
            } else {
                id_out
            };
            let mut outer = Twin::packet(abi::PACKET_TUNNELLED, 0, ecn, (outer_role & 1) as u8);
            outer.outer_ecn = outer_ecn;
            twin.law
                .encapsulate(&mut twin.state, &twin.params, 1, &shown, &mut outer);
            (esp.ecn, esp.id) = (outer.outer_ecn, id_out);
            assert_eq!(out, esp.frame(), "packet {number}: the field, the ID and the sum");
            continue;
        }
        let (cleared, noted) = program.pass(Hook::In, &esp.frame(), mark).expect("a packet");
        assert_eq!(noted & 0xff_ffff, mark);
        let outer_role = if role == RoleFrom::Sequence {
            sequence as u16
        } else {
            esp.id
        };
        esp.ecn = 0;
        assert_eq!(cleared, esp.frame(), "the outer field is cleared");
        let (left, mark_left) = program.pass(Hook::In, &frame, noted).expect("a packet");
        assert_eq!(mark_left, mark);
        let mut outer = Twin::packet(abi::PACKET_TUNNELLED, 0, ecn, (outer_role & 1) as u8);
        outer.outer_ecn = outer_ecn;
        if outer_ecn == 3 && ecn != 0 {
            shown.ecn = 3;
        }
        twin.law
            .decapsulate(&mut twin.state, &twin.params, 1, &outer, &mut shown);
        assert_eq!((left[ETHERNET + 1] & 3), shown.ecn, "packet {number}");
        let mut option = if is_own { own.clone() } else { Vec::new() };
        if shown.confirmed != 0 {
            Codec::on_wire(wire).confirm(&mut option);
        }
        assert_eq!(
            left,
            inner(id, shown.ecn, payload, &option),
            "packet {number}: no other byte"
        );
    }
    let (counters, state) = program.state(0, law.state_bytes() as usize).expect("counters");
    assert_eq!(counters.entered + counters.left, packets);
    assert!(counters.entered_own > packets / 10 && counters.left_own > packets / 10);
    assert_eq!((counters.unseen, counters.joined), (0, 0));
    assert_eq!(
        counters.written,
        if role == RoleFrom::Written { counters.entered } else { 0 }
    );
    assert_eq!(counters.outer.iter().sum::<u64>(), counters.entered);
    drop(state);
}

#[test]
fn programs_do_to_packets_what_the_law_says_and_nothing_else() {
    // Goal: over thousands of packets both ways, of the law and of others, with each source of the role, the programs
    // write the fields that the same law outside the kernel writes; no other byte changes, sums stay right, and the
    // operator's bits of the mark stand.
    if !possible(&["clang"]) {
        return;
    }
    for name in ["dcp_ew", "vcp"] {
        let law = gateway(name).expect("registered");
        // Halves are known for as long as the test may take.
        let pairs: &[(&str, f64)] = if name == "dcp_ew" { &[("hold_us", 1e9)] } else { &[] };
        let params = law.params_from(pairs).expect("parameters");
        for role in [RoleFrom::Sequence, RoleFrom::Id, RoleFrom::Written] {
            agree(law, &params, role, 4000);
        }
    }
}

#[test]
fn packets_of_no_named_tunnel_are_let_alone() {
    // Goal: ESP of other addresses, fragments of ESP, ESP's protocol in a header that is cut short and packets that
    // are no ESP keep each byte at both hooks of the cipher device.
    if !possible(&["clang"]) {
        return;
    }
    let law = gateway("dcp_ew").expect("registered");
    let program =
        Program::load(&compiled(law, &law.default_params()), &[tunnel(RoleFrom::Sequence)]).expect("it loads");
    let esp = Esp {
        ipv6: false,
        is_from_here: true,
        id: 7,
        sequence: 1,
        ecn: 3,
    };
    let changed = |place: usize, value: u8| {
        let mut frame = esp.frame();
        frame[ETHERNET + place] = value;
        frame
    };
    let mut short = esp.frame();
    short.truncate(ETHERNET + 24);
    let others = [
        changed(15, 9),
        changed(19, 9),
        changed(6, 0x20),
        changed(7, 1),
        changed(9, 17),
        short,
        inner(1, 3, 10, &option(abi::WIRE_PAIR)),
    ];
    for frame in others {
        for hook in [Hook::Out, Hook::In] {
            assert_eq!(program.pass(hook, &frame, 5).expect("a packet"), (frame.clone(), 5));
        }
    }
    assert_eq!(program.state(0, 0).expect("counters").0.entered, 0);
}
