//! DCP-EW's Security Module beside a second account of events 1 to 4 of its figure 1 (dcp-ew-2010, section III-C).

mod common;

use common::Chance;
use fadelab_laws::{Gateway, Params, State, abi, gateway};

const NINE: f64 = 1.0;
const HOLD_US: u64 = 1_000_000;

/// A gateway with one memory.
struct Module {
    law: &'static Gateway,
    params: Params,
    state: State,
}

impl Module {
    fn new(pairs: &[(&str, f64)]) -> Self {
        let law = gateway("dcp_ew").expect("registered");
        let params = law.params_from(pairs).expect("valid");
        let mut state = law.new_state();
        law.init(&mut state, &params, &abi::Tunnel::default());
        Self { law, params, state }
    }

    /// The outer field of a packet that enters, where the tunnel's rule made it `rule`.
    fn enter(&mut self, now_us: u64, inner: &abi::Packet, role: u8, rule: u8) -> u8 {
        let given = packet(0, role, inner.ecn, rule);
        let mut outer = given;
        self.law
            .encapsulate(&mut self.state, &self.params, now_us, inner, &mut outer);
        let mut expected = given;
        expected.outer_ecn = outer.outer_ecn;
        assert_eq!(format!("{outer:?}"), format!("{expected:?}"), "nothing else is written");
        outer.outer_ecn
    }

    /// The packet that leaves, where the rule made its field `rule`.
    fn leave(&mut self, now_us: u64, outer: &abi::Packet, inner: &abi::Packet, rule: u8) -> abi::Packet {
        let given = abi::Packet { ecn: rule, ..*inner };
        let mut left = given;
        self.law
            .decapsulate(&mut self.state, &self.params, now_us, outer, &mut left);
        let expected = abi::Packet {
            ecn: left.ecn,
            confirmed: left.confirmed,
            ..given
        };
        assert_eq!(format!("{left:?}"), format!("{expected:?}"), "nothing else is written");
        left
    }
}

fn packet(wire: u32, role: u8, ecn: u8, outer_ecn: u8) -> abi::Packet {
    abi::Packet {
        flags: abi::PACKET_DATA,
        ip_bytes: 1000,
        segments: 1,
        roles_known: 1,
        role,
        roles: u64::from(role),
        wire: wire as u8,
        ecn,
        outer_ecn,
        ..abi::Packet::default()
    }
}

fn own(role: u8, ecn: u8) -> abi::Packet {
    packet(abi::WIRE_PAIR, role, ecn, ecn)
}

/// The newest half of each role and when it came: what a Security Module saves.
#[derive(Default)]
struct Saved([Option<(u8, u64)>; 2]);

impl Saved {
    fn at(&self, role: u8, now_us: u64) -> Option<u8> {
        let (half, since_us) = self.0[usize::from(role)]?;
        (now_us < since_us + HOLD_US).then_some(half)
    }
}

#[test]
fn halves_cross_a_tunnel_as_the_paper_draws_it() {
    // Goal: over random packets of DCP-EW and of others, random inner and outer roles, and routers that raise outer
    // fields, both gateways write just what a second account of the four events says, in both codes.
    for (code, low) in [(0.0, 0), (NINE, 1)] {
        let (mut ingress, mut egress) = (Module::new(&[("code", code)]), Module::new(&[("code", code)]));
        let (mut sent, mut received) = (Saved::default(), Saved::default());
        let mut chance = Chance(7);
        let (mut now_us, mut raised_n) = (0, 0);
        for _ in 0..100_000 {
            now_us += chance.below(20_000) * if chance.below(500) == 0 { 200 } else { 1 };
            let is_own = chance.below(4) > 0;
            let (role, outer_role) = (chance.below(2) as u8, chance.below(2) as u8);
            let ecn = low + chance.below(4 - u64::from(low)) as u8;
            let inner = if is_own {
                own(role, ecn)
            } else {
                packet(0, role, ecn, ecn)
            };
            // Event 1: saved, then the half that the outer ID asks for.
            if is_own {
                sent.0[usize::from(role)] = Some((ecn, now_us));
            }
            let outside = sent.at(outer_role, now_us).unwrap_or(low);
            assert_eq!(ingress.enter(now_us, &inner, outer_role, 2), outside);
            // Events 2 and 3: routers raise it.
            let marked = outside.max(low + chance.below(4 - u64::from(low)) as u8);
            // Event 4: saved, then the half that the inner ID asks for, where it is larger.
            received.0[usize::from(outer_role)] = Some((marked, now_us));
            let outer = packet(0, outer_role, ecn, marked);
            let rule = if marked == 3 && ecn > 0 { 3 } else { ecn };
            let left = egress.leave(now_us, &outer, &inner, rule);
            let expected = if is_own {
                received.at(role, now_us).unwrap_or(0).max(ecn)
            } else {
                ecn
            };
            assert_eq!((left.ecn, left.confirmed), (expected, u8::from(is_own)));
            raised_n += u32::from(expected > ecn);
        }
        assert!(raised_n > 10_000, "{raised_n}");
    }
}

#[test]
fn a_half_is_known_for_its_time() {
    // Goal: to the microsecond, on both sides.
    let mut module = Module::new(&[("hold_us", HOLD_US as f64)]);
    module.enter(5, &own(0, 3), 0, 0);
    assert_eq!(module.enter(HOLD_US + 4, &packet(0, 0, 0, 0), 0, 0), 3);
    assert_eq!(module.enter(HOLD_US + 5, &packet(0, 0, 0, 0), 0, 0), 0);
    let outer = packet(0, 1, 0, 2);
    module.leave(5, &outer, &own(1, 0), 0);
    let other_role = packet(0, 0, 0, 1);
    assert_eq!(module.leave(HOLD_US + 4, &other_role, &own(1, 0), 0).ecn, 2);
    assert_eq!(module.leave(HOLD_US + 5, &other_role, &own(1, 0), 0).ecn, 0);
}

#[test]
fn others_leave_as_they_entered_or_by_the_rule() {
    // Goal: a packet that is none of DCP-EW's gets a half outside unless `marks` says own, and leaves with its field as
    // it was, or with what the rule made of it where `others` says so; likewise an ACK of DCP-EW, and with nine levels
    // a packet with a cleared field.
    let ack = abi::Packet { flags: 0, ..own(0, 2) };
    for inner in [packet(0, 0, 2, 2), packet(abi::WIRE_VCP, 0, 2, 2), ack] {
        for (pairs, outside, inside) in [
            (&[][..], 0, 2),
            (&[("marks", 1.0)], 2, 2),
            (&[("others", 1.0)], 0, 3),
            (&[("code", NINE)], 1, 2),
        ] {
            let mut module = Module::new(pairs);
            assert_eq!(module.enter(0, &inner, 0, 2), outside, "{pairs:?}");
            let outer = packet(0, 0, 2, 3);
            let left = module.leave(0, &outer, &inner, 3);
            assert_eq!((left.ecn, left.confirmed), (inside, 0), "{pairs:?}");
        }
    }
    let mut module = Module::new(&[("code", NINE), ("marks", 1.0)]);
    assert_eq!(module.enter(0, &own(0, 0), 0, 0), 0);
    assert_eq!(module.leave(0, &packet(0, 0, 0, 3), &own(0, 0), 0).ecn, 0);
}

#[test]
fn a_role_that_never_changes_is_seen() {
    // Goal: outer headers of one role for ever bring one half, packets that are for the other one keep their own and
    // are counted.
    let mut module = Module::new(&[]);
    for step in 0..100u64 {
        let inner = own((step % 2) as u8, 0);
        let left = module.leave(1000 * step, &packet(0, 1, 0, 3), &inner, 0);
        assert_eq!(left.ecn, if step % 2 == 1 { 3 } else { 0 });
    }
    let shown = |name| {
        let info = module.law.watch().iter().find(|info| info.name == name).unwrap();
        info.shown(info.raw(module.state.words()))
    };
    assert_eq!((shown("same_role_pkts"), shown("missed")), (100.0, 50.0));
}
