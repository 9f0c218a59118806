//! Gateways, driven by hand: a state for each tunnel, time, what a law may write, and the guard around it.

mod common;

use std::cell::RefCell;
use std::rc::Rc;

use common::Chance;
use fadelab_laws::guard::{self, CallRecord};
use fadelab_laws::own::{Source, SourceFile, load_text};
use fadelab_laws::replay::Replayer;
use fadelab_laws::{Gateway, Params, State, abi, gateway, gateways};

/// A gateway with its tunnels.
struct Tunnels {
    law: &'static Gateway,
    params: Params,
    states: Vec<State>,
}

impl Tunnels {
    fn new(law: &'static Gateway, pairs: &[(&str, f64)], count: u32) -> Self {
        let params = law.params_from(pairs).expect("valid");
        let states = (0..count).map(|number| {
            let mut state = law.new_state();
            let tunnel = abi::Tunnel {
                number,
                outer_bytes: 20,
                ..abi::Tunnel::default()
            };
            law.init(&mut state, &params, &tunnel);
            state
        });
        Self {
            law,
            states: states.collect(),
            params,
        }
    }

    /// The outer code with which a packet enters a tunnel.
    fn enter(&mut self, tunnel: usize, now_us: u64, code: u8) -> u8 {
        let inner = packet(code, code);
        let mut outer = packet(code, 0);
        self.law
            .encapsulate(&mut self.states[tunnel], &self.params, now_us, &inner, &mut outer);
        assert_eq!(outer.ecn, code, "the inner header is not touched");
        outer.outer_ecn
    }

    /// The inner code with which a packet leaves a tunnel in which routers made its outer code this one.
    fn leave(&mut self, tunnel: usize, now_us: u64, outer_code: u8) -> u8 {
        let outer = packet(1, outer_code);
        let mut inner = packet(1, 1);
        self.law
            .decapsulate(&mut self.states[tunnel], &self.params, now_us, &outer, &mut inner);
        inner.ecn
    }
}

fn packet(ecn: u8, outer_ecn: u8) -> abi::Packet {
    abi::Packet {
        flags: abi::PACKET_DATA | abi::PACKET_TUNNELLED,
        ip_bytes: 1000,
        air_bytes: 1000,
        segments: 1,
        roles_known: 1,
        ecn,
        outer_ecn,
        ..abi::Packet::default()
    }
}

#[test]
fn each_tunnel_has_a_state_of_its_own() {
    // Goal: codes go into the outer header as a packet enters; what one tunnel brought stands for the hold time, to the
    // microsecond, and another tunnel of the same gateway knows nothing of it.
    let law = gateway("module").expect("registered");
    assert!(law.state_bytes() > 0 && law.params().len() == 1 && !law.summary().is_empty());
    let mut tunnels = Tunnels::new(law, &[("hold_us", 5000.0)], 2);
    for code in 0..4 {
        assert_eq!(tunnels.enter(usize::from(code & 1), 100, code), code);
    }
    assert_eq!(tunnels.leave(0, 1000, 3), 3);
    assert_eq!(tunnels.leave(1, 1000, 1), 1, "another tunnel");
    assert_eq!(tunnels.leave(0, 5999, 1), 3, "held");
    assert_eq!(tunnels.leave(1, 5999, 2), 2);
    assert_eq!(
        [0, 1].map(|tunnel| tunnels.enter(tunnel, 5999, 1)),
        [3, 2],
        "what stands goes back"
    );
    assert_eq!(tunnels.enter(0, 6000, 1), 1, "no longer");
    assert_eq!(tunnels.leave(0, 6000, 1), 1);
    // Without a hold time nothing is remembered.
    let mut forgetful = Tunnels::new(law, &[("hold_us", 0.0)], 1);
    assert_eq!([3, 1].map(|code| forgetful.leave(0, 10, code)), [3, 1]);
}

/// The test-only law as a user would bring it, changed.
fn bring(name: &str, from: &str, to: &str) -> (&'static Gateway, Source) {
    let text = gateway("module").expect("registered").header();
    assert!(text.contains(from), "{from}");
    let text = text
        .replace(
            "struct law_gateway module_gateway",
            &format!("struct law_gateway {name}_gateway"),
        )
        .replace(".name = \"module\"", &format!(".name = \"{name}\""))
        .replace(from, to);
    let file = format!("{name}.h");
    let source = Source {
        name: name.to_owned(),
        path: file.clone().into(),
        files: vec![SourceFile { name: file, text }],
        ..Source::default()
    };
    let law = load_text(&source).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(law.roles, ["gateway"]);
    (gateway(name).expect("brought"), source)
}

#[test]
fn an_own_gateway_does_as_the_built_in_one_and_can_be_replayed() {
    // Goal: behind the guard a law comes to the same codes, and each recorded call comes to the same outcome again.
    let (own, source) = bring("carrier", "", "");
    let calls = Rc::new(RefCell::new(Vec::<CallRecord>::new()));
    let seen = Rc::clone(&calls);
    let course = |law| {
        let mut tunnels = Tunnels::new(law, &[("hold_us", 300.0)], 2);
        let mut codes = Vec::new();
        for step in 0..40 {
            let (tunnel, code) = (step % 2, (step * 7 % 4) as u8);
            codes.push(tunnels.enter(tunnel, step as u64 * 100, code));
            codes.push(tunnels.leave(tunnel, step as u64 * 100, code));
        }
        codes
    };
    let brought = guard::observe(move |call| seen.borrow_mut().push(call.record()), || course(own));
    assert_eq!(brought, course(gateway("module").expect("registered")));
    let mut replayer = Replayer::new(vec![source]);
    assert_eq!(calls.borrow().len(), 2 + 80);
    for call in calls.take() {
        let outcome = replayer.replay(&call).expect("it can be made again");
        assert!(
            outcome.agrees(call.outcome.as_ref().expect("recorded")),
            "{call:?}: {outcome:?}"
        );
    }
}

#[test]
fn a_gateway_at_fault_is_ended_with_its_input() {
    // Goal: a law that writes to the packet that it may only read, changes what is not its own of the other, or leaves
    // a code that there is not, is told so, with the call's input.
    for (name, to, message) in [
        (
            "scribbler",
            "((struct law_packet *)outer)->ecn = 2;",
            "it changed what the host shows it",
        ),
        (
            "resizer",
            "inner->ip_bytes = 7;",
            "it changed ip_bytes of the packet from 1000 to 7",
        ),
        (
            "joiner",
            "inner->segments = 7;",
            "it changed segments of the packet from 1 to 7",
        ),
        ("coder", "inner->ecn = 4;", "it left ecn = 4 on the packet"),
        ("reacher", "s[1].code = 1;", "it wrote beyond its state"),
    ] {
        let (law, _) = bring(name, "inner->ecn = (u8)(s->code & 3);", to);
        let fault = guard::catch(|| Tunnels::new(law, &[], 1).leave(0, 4321, 2)).expect_err(name);
        assert!(fault.to_string().contains(message), "{fault}");
        let record = fault.record;
        assert_eq!(
            (record.function.as_str(), record.arguments["now_us"]),
            ("decapsulate", 4321)
        );
        assert_eq!(record.queue["outer_ecn"], 2);
    }
}

/// A call of either direction.
#[derive(Clone, Copy)]
struct Transit {
    is_exit: bool,
    now_us: u64,
    outer: abi::Packet,
    inner: abi::Packet,
}

/// Packets of chance, of all formats and codes, both ways in the order of time.
fn transits(seed: u64) -> Vec<Transit> {
    let mut random = Chance(seed);
    let mut any = |bound: u64| random.below(bound);
    let mut now_us = 0;
    let transits = (0..200).map(|_| {
        now_us += any(400_000);
        let any_packet = |ecn: u64, role: u64, wire: u64| abi::Packet {
            wire: wire as u8,
            role: role as u8,
            roles: role,
            ..packet(ecn as u8, ecn as u8)
        };
        let inner = any_packet(any(4), any(2), any(u64::from(abi::WIRE_DPCP) + 1));
        let outer = abi::Packet {
            outer_ecn: any(4) as u8,
            ..any_packet(u64::from(inner.ecn), any(2), 0)
        };
        Transit {
            is_exit: any(2) == 1,
            now_us,
            outer,
            inner,
        }
    });
    transits.collect()
}

/// What became of each direction's packets.
fn carried(law: &'static Gateway, transits: &[Transit]) -> [Vec<[u8; 3]>; 2] {
    let mut tunnels = Tunnels::new(law, &[], 1);
    let mut codes = [Vec::new(), Vec::new()];
    for transit in transits {
        let state = &mut tunnels.states[0];
        let (mut outer, mut inner) = (transit.outer, transit.inner);
        if transit.is_exit {
            law.decapsulate(state, &tunnels.params, transit.now_us, &transit.outer, &mut inner);
        } else {
            law.encapsulate(state, &tunnels.params, transit.now_us, &transit.inner, &mut outer);
        }
        codes[usize::from(transit.is_exit)].push([outer.outer_ecn, inner.ecn, inner.confirmed]);
    }
    codes
}

#[test]
fn directions_that_are_said_to_be_apart_are() {
    // Goal: where a law says that its directions have nothing in common, all packets of the one way before all of the
    // other come to the codes to which they come in the order of time; of a law that carries codes from one way to the
    // other the same look tells so.
    let differ = |law: &'static Gateway| {
        let differences = (0..50).filter(|&seed| {
            let in_time = transits(seed);
            let mut apart = in_time.clone();
            apart.sort_by_key(|transit| transit.is_exit);
            carried(law, &in_time) != carried(law, &apart)
        });
        differences.count()
    };
    let apart: Vec<_> = gateways()
        .iter()
        .filter(|law| law.flags() & abi::GATEWAY_DIRECTIONS_APART != 0)
        .collect();
    assert!(apart.len() >= 2, "{apart:?}");
    for law in apart {
        assert_eq!(differ(law), 0, "{}", law.name());
    }
    assert!(differ(gateway("module").expect("registered")) > 10);
}

#[test]
fn a_law_whose_directions_are_apart_has_no_beginning() {
    // Goal: what would depend on which direction's packet comes first is refused, with what to leave out.
    let text = gateway("module").expect("registered").header().to_owned();
    let table = ".name = \"module\"";
    assert!(text.contains(table));
    let text = text
        .replace("module_gateway =", "hasty_gateway =")
        .replace(table, ".flags = LAW_GATEWAY_DIRECTIONS_APART, .name = \"hasty\"");
    let file = "hasty.h".to_owned();
    let error = load_text(&Source {
        name: "hasty".to_owned(),
        path: file.clone().into(),
        files: vec![SourceFile { name: file, text }],
        ..Source::default()
    });
    let error = error.expect_err("it has both").to_string();
    assert!(error.contains("leave LAW_GATEWAY_DIRECTIONS_APART out"), "{error}");
}
