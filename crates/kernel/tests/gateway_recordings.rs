//! Recordings of gateways' laws in this machine's kernel, made again.

#[allow(dead_code, reason = "other tests use the rest of it")]
mod common;
#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "common/hostile.rs"]
mod hostile;
#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "common/packet.rs"]
mod packet;

use std::thread;
use std::time::{Duration, Instant};

use common::calls::Calls;
use common::{possible, report};
use fadelab_kernel::Recorder;
use fadelab_kernel::gateway::object::{Recipe, compile, wire_of};
use fadelab_kernel::gateway::{Hook, Program, Tunnel};
use fadelab_kernel::tunnel::RoleFrom;
use fadelab_laws::recorded::{GatewayHead, RecordedHead, Transit};
use fadelab_laws::{Codec, Gateway, Params, gateway};
use hostile::Chance;
use packet::{ETHERNET, Esp, Made};

/// Two tunnels from one gateway, whose outer addresses differ in the last byte of the near end.
const TUNNELS: [&str; 2] = [Esp::TUNNEL, "192.0.2.9-198.51.100.1"];

fn tunnels() -> [Tunnel; 2] {
    TUNNELS.map(|way| Tunnel {
        out: way.parse().expect("a direction"),
        role: RoleFrom::Written,
        copies_ce: true,
        outer_bytes: 36,
    })
}

/// Packets of a test in which none is lost.
const PACKETS: u64 = 4000;

/// A law in two tunnels, and a recorder of it.
fn begun(law: &Gateway, params: &Params, by_flow: bool) -> (Program, Recorder, Calls) {
    let recipe = Recipe {
        law,
        params,
        wire: wire_of(law).expect("a law of a format"),
        record: true,
        by_flow,
    };
    let program = Program::load(&compile(&recipe).expect("it compiles"), &tunnels()).expect("it loads");
    let of = GatewayHead {
        place: "nowhere".to_owned(),
        tunnels: TUNNELS.map(str::to_owned).to_vec(),
    };
    let head = RecordedHead::of_gateway(law, params, of, String::new());
    let written = Calls::default();
    let recorder = program.recorder(&head, Box::new(written.clone()));
    (program, recorder.expect("compiled to be recorded"), written)
}

/// Loads a law and hands its gateway so many packets of both directions and both tunnels on two processors; gives what
/// was recorded and how many calls found no room.
fn recorded(law: &Gateway, params: &Params, packets: u64, by_flow: bool) -> (Vec<Transit>, u64) {
    let wire = wire_of(law).expect("a law of a format");
    let (program, recorder, written) = begun(law, params, by_flow);
    thread::scope(|scope| {
        for turn in 1..=2 {
            let program = &program;
            scope.spawn(move || {
                let mut chance = Chance(turn);
                for _ in 0..packets / 2 {
                    pass(program, &mut chance, wire);
                }
            });
        }
    });
    drop(program);
    let (_, lost_n) = recorder.finish().expect("memory");
    (written.transits(), lost_n)
}

/// One packet at the two hooks that it passes.
fn pass(program: &Program, chance: &mut Chance, wire: u32) {
    let bytes = Codec::on_wire(wire).option_bytes();
    let mut option = vec![0; bytes];
    option[..4].copy_from_slice(&[254, bytes as u8, 0xfa, 0xd0 | wire as u8]);
    let inner = Made {
        ipv6: false,
        ecn: chance.below(4) as u8,
        payload: usize::from(chance.below(4) > 0) * 40,
        before: Vec::new(),
        option: if chance.below(4) > 0 { option } else { Vec::new() },
    };
    let esp = Esp {
        is_from_here: chance.below(2) == 0,
        sequence: chance.below(1 << 31) as u32,
        ecn: chance.below(4) as u8,
        ..Esp::default()
    };
    let mut outer = esp.frame();
    if chance.below(2) == 0 {
        outer[ETHERNET + if esp.is_from_here { 15 } else { 19 }] = 9;
    }
    let hooks = if esp.is_from_here {
        [(Hook::Plain, inner.frame()), (Hook::Out, outer)]
    } else {
        [(Hook::In, outer), (Hook::In, inner.frame())]
    };
    let mut mark = 0;
    for (hook, frame) in hooks {
        (_, mark) = program.pass(hook, &frame, mark).expect("a packet");
    }
}

#[test]
fn what_a_gateway_did_comes_to_the_same_again() {
    // Goal: each call of each law at a gateway comes to the same header and memory in the same header natively, while
    // two processors hand packets to two tunnels at once; none is missing, and each tunnel's calls follow each other.
    if !possible(&["clang"]) {
        return;
    }
    for name in ["dcp_ew", "vcp"] {
        let law = gateway(name).expect("registered");
        let params = law.default_params();
        let (transits, lost_n) = recorded(law, &params, PACKETS, false);
        assert_eq!((transits.len() as u64, lost_n), (PACKETS + 2, 0));
        let differ = transits.iter().find(|transit| !transit.agrees(law, &params));
        assert!(differ.is_none(), "{differ:?}");
        for tunnel in [1, 2] {
            let mut own = transits.iter().filter(|transit| transit.tunnel == tunnel);
            assert_eq!(own.next().map(Transit::name), Some("init"));
            let entered = own.filter(|transit| transit.name() == "encapsulate").count() as u64;
            assert!((PACKETS / 8..PACKETS * 3 / 8).contains(&entered), "{entered}");
        }
        let changed = transits.iter().filter_map(Transit::packets);
        let changed_n = changed
            .filter(|[_, before, after]| (before.ecn, before.outer_ecn) != (after.ecn, after.outer_ecn))
            .count();
        assert!(changed_n > 0);
        report(&format!(
            "gateway {name}: {} calls agree, {changed_n} packets changed",
            transits.len()
        ));
    }
}

#[test]
fn a_flow_inside_begins_once_and_anew_when_it_was_forgotten() {
    // Goal: with a memory for each flow the calls of one that two processors hand on at once are one chain, begun once,
    // and agree; a flow that was seen lately is kept, and one that was forgotten begins again, under another number.
    if !possible(&["clang"]) {
        return;
    }
    let law = gateway("dcp_ew").expect("registered");
    let params = law.default_params();
    let (transits, lost_n) = recorded(law, &params, PACKETS, true);
    assert_eq!((transits.len() as u64, lost_n), (PACKETS + 3, 0));
    assert!(transits.iter().all(|transit| transit.agrees(law, &params)));
    let flow: Vec<&Transit> = transits.iter().filter(|transit| transit.tunnel == 16).collect();
    assert_eq!(flow[0].name(), "init");
    assert!(flow.len() as u64 > PACKETS / 2, "{}", flow.len());

    let (program, recorder, written) = begun(law, &params, true);
    let wire = wire_of(law).expect("a law of a format");
    let mut chance = Chance(1);
    for forgotten_behind in [Duration::from_secs(60), Duration::ZERO, Duration::from_secs(60)] {
        for _ in 0..20 {
            pass(&program, &mut chance, wire);
        }
        program.forget_idle(forgotten_behind).expect("a map");
    }
    drop(program);
    recorder.finish().expect("memory");
    let begun: Vec<u64> = (written.transits().iter())
        .filter(|transit| transit.name() == "init" && transit.tunnel > 15)
        .map(|transit| transit.tunnel)
        .collect();
    assert_eq!(begun, [16, 17]);
}

#[test]
fn other_parameters_come_to_something_else() {
    // Goal: what was recorded with one code of levels does not come to the same with the other.
    if !possible(&["clang"]) {
        return;
    }
    let law = gateway("dcp_ew").expect("registered");
    // The second choice of `code`.
    let nine = law.params_from(&[("code", 1.0)]).expect("parameters");
    let (transits, _) = recorded(law, &nine, 2000, false);
    assert!(transits.iter().all(|transit| transit.agrees(law, &nine)));
    let differ = transits
        .iter()
        .filter(|transit| !transit.agrees(law, &law.default_params()));
    assert!(differ.count() > 0);
}

#[test]
fn a_full_ring_of_a_gateway_leaves_gaps_that_are_known_as_lost() {
    // Goal: what finds no room because nobody takes from the ring is counted for its own tunnel; each tunnel's chain
    // goes on behind the gap, and what is there agrees.
    if !possible(&["clang"]) {
        return;
    }
    let law = gateway("dcp_ew").expect("registered");
    let (wire, params) = (wire_of(law).expect("a law of a format"), law.default_params());
    let (program, mut recorder, written) = begun(law, &params, false);
    let (mut chance, mut packets) = (Chance(1), 0);
    let mut some = || {
        for _ in 0..1000 {
            pass(&program, &mut chance, wire);
        }
        packets += 1000;
    };
    let since = Instant::now();
    while recorder.lost() == 0 {
        assert!(
            since.elapsed() < Duration::from_secs(60),
            "the ring of 16 MB is full at some time"
        );
        some();
    }
    recorder.poll(Duration::from_millis(1)).expect("memory");
    some();
    let (calls_n, lost_n) = recorder.finish().expect("memory");
    let transits = written.transits();
    assert!(lost_n > 0);
    assert_eq!(calls_n as usize, transits.len());
    // A gap is known by the call behind it: all that are not there at the end of the first part are lost.
    assert!(
        (packets + 2 - lost_n..packets + 2).contains(&calls_n),
        "{calls_n} of {packets}, {lost_n} lost"
    );
    assert!(transits.iter().all(|transit| transit.agrees(law, &params)));
    report(&format!("{calls_n} calls, {lost_n} lost"));
}
