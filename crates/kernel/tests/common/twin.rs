//! A gateway's programs, and the same law outside the kernel: packet by packet they have to come to the same.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use fadelab_kernel::gateway::{Hook, Program};
use fadelab_kernel::tunnel::RoleFrom;
use fadelab_laws::{Codec, Gateway, Params, State, abi};

use crate::hostile::Chance;
use crate::packet::{ETHERNET, Esp, Made, folded, with_one_zero};

/// A packet inside: data or an ACK of the law, or somebody else's.
pub fn inner(id: u16, ecn: u8, payload: usize, option: &[u8]) -> Vec<u8> {
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

/// Of another connection: one port up and the other one down leaves the checksum as it was.
pub fn of_flow(flow: u8, mut frame: Vec<u8>) -> Vec<u8> {
    frame[ETHERNET + 21] += flow;
    frame[ETHERNET + 23] -= flow;
    frame
}

/// The same law outside the kernel, which is told what its programs should tell it.
pub struct Twin {
    pub law: &'static Gateway,
    pub params: Params,
    pub state: State,
}

impl Twin {
    pub fn of(law: &'static Gateway, params: &Params) -> Self {
        let mut state = law.new_state();
        law.init(&mut state, params, &abi::Tunnel::default());
        Self {
            law,
            params: params.clone(),
            state,
        }
    }

    pub fn packet(flags: u32, wire: u32, ecn: u8, role: u8) -> abi::Packet {
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

/// A packet inside with its outer header, and the operator's bits of its mark.
pub struct Case {
    pub id: u16,
    pub ecn: u8,
    pub payload: usize,
    /// The law's option, or nothing.
    pub option: Vec<u8>,
    /// Of which connection it is.
    pub flow: u8,
    pub esp: Esp,
    pub mark: u32,
}

impl Case {
    pub fn any(chance: &mut Chance, own: &[u8], role: RoleFrom, ipv6: bool) -> Self {
        let is_own = chance.below(4) > 0;
        let id = if role == RoleFrom::Written {
            0
        } else {
            chance.below(65536)
        };
        Self {
            id: chance.below(65536) as u16,
            ecn: chance.below(4) as u8,
            payload: usize::from(chance.below(4) > 0) * 40,
            option: if is_own { own.to_vec() } else { Vec::new() },
            flow: chance.below(4) as u8,
            esp: Esp {
                ipv6,
                in_udp: chance.below(4) == 0,
                is_from_here: chance.below(2) == 0,
                id: id as u16,
                is_fragment: false,
                spi: 1 + chance.below(1 << 31) as u32,
                sequence: chance.below(1 << 31) as u32,
                ecn: chance.below(4) as u8,
            },
            mark: chance.below(1 << 24) as u32,
        }
    }

    /// With that ECN field and option.
    pub fn inner(&self, ecn: u8, option: &[u8]) -> Vec<u8> {
        // Both ways have the same addresses here, so ports tell them apart.
        let port = self.flow + 4 * u8::from(self.esp.is_from_here);
        of_flow(port, inner(self.id, ecn, self.payload, option))
    }

    /// Whether it says something of the load that it met.
    pub fn is_data(&self) -> bool {
        self.payload > 0 && !self.option.is_empty()
    }

    /// What the law is to be told of it, of a format `wire`.
    pub fn shown(&self, wire: u32) -> abi::Packet {
        let flags = if self.payload > 0 { abi::PACKET_DATA } else { 0 };
        let wire = if self.option.is_empty() { 0 } else { wire };
        Twin::packet(flags, wire, self.ecn, (self.id & 1) as u8)
    }

    /// The same of its outer header, whose ID is `id`.
    pub fn shown_outside(&self, role: RoleFrom, id: u16) -> abi::Packet {
        let role = if role == RoleFrom::Sequence {
            self.esp.sequence
        } else {
            id.into()
        };
        let outer = Twin::packet(abi::PACKET_TUNNELLED, 0, self.ecn, (role & 1) as u8);
        abi::Packet {
            outer_ecn: self.esp.ecn,
            ..outer
        }
    }
}

/// With one representation of zero in both checksums: one that is carried on may come to the other (RFC 1624, section
/// 3).
pub fn alike(frame: Vec<u8>) -> Vec<u8> {
    let mut frame = with_one_zero(frame);
    if frame[ETHERNET] >> 4 == 6 {
        return frame;
    }
    let sum = &mut frame[ETHERNET + 10..ETHERNET + 12];
    if sum == [0xff; 2] {
        sum.fill(0);
    }
    frame
}

/// A law's programs, and the same law outside the kernel.
pub struct Both {
    pub program: Program,
    pub twin: Twin,
    /// Where connections have memories of their own: those of either direction, with the role that it was last given.
    pub flows: Option<HashMap<(bool, u8), (Twin, u8)>>,
    pub role: RoleFrom,
    pub wire: u32,
    /// The ID that was written last.
    pub written: Option<u16>,
}

impl Both {
    pub fn pass(&self, hook: Hook, frame: &[u8], mark: u32) -> (Vec<u8>, u32) {
        self.program.pass(hook, frame, mark).expect("a packet")
    }

    pub fn enter(&mut self, mut case: Case) {
        let frame = case.inner(case.ecn, &case.option);
        let (unchanged, noted) = self.pass(Hook::Plain, &frame, case.mark);
        assert_eq!((unchanged, noted & 0xff_ffff), (frame, case.mark));
        let (out, mark) = self.pass(Hook::Out, &case.esp.frame(), noted);
        assert_eq!(mark, case.mark, "what is the gateway's is gone from the mark");
        let id = u16::from_be_bytes([out[ETHERNET + 4], out[ETHERNET + 5]]);
        if self.role == RoleFrom::Written {
            self.takes_turns(&case, id);
        }
        let mut outer = case.shown_outside(self.role, id);
        if self.flow_of(&case).is_some() {
            // The law spoke before there was an outer header, and was told what Linux would write into it.
            outer.outer_ecn = if case.ecn == 3 { 2 } else { case.ecn };
        }
        let wire = self.wire;
        let Twin { law, params, state } = self.twin_of(&case);
        law.encapsulate(state, params, 1, &case.shown(wire), &mut outer);
        (case.esp.ecn, case.esp.id) = (outer.outer_ecn, id);
        assert_eq!(alike(out), alike(case.esp.frame()), "the field, the ID and the sum");
    }

    /// IDs count up; where a connection has a memory of its own, its next packet has the other role, and one ID may be
    /// left out for that.
    pub fn takes_turns(&mut self, case: &Case, id: u16) {
        let step = self.written.map(|before| id.wrapping_sub(before));
        self.written = Some(id);
        if let Some((_, role)) = self.flow_of(case) {
            *role ^= 1;
            assert_eq!(id & 1, u16::from(*role), "by turns");
            assert!(step.is_none_or(|step| step == 1 || step == 2));
        } else {
            assert!(step.is_none_or(|step| step == 1), "by turns");
        }
    }

    /// The memory of its connection, which begins with the first data of the law.
    pub fn flow_of(&mut self, case: &Case) -> Option<&mut (Twin, u8)> {
        let new = || (Twin::of(self.twin.law, &self.twin.params), 0);
        let flow = self.flows.as_mut()?.entry((case.esp.is_from_here, case.flow));
        match flow {
            Entry::Vacant(_) if !case.is_data() => None,
            flow => Some(flow.or_insert_with(new)),
        }
    }

    pub fn twin_of(&mut self, case: &Case) -> &mut Twin {
        if self.flow_of(case).is_some() {
            return &mut self.flow_of(case).expect("it is there").0;
        }
        &mut self.twin
    }

    pub fn leave(&mut self, mut case: Case) {
        let (cleared, noted) = self.pass(Hook::In, &case.esp.frame(), case.mark);
        let outer = case.shown_outside(self.role, case.esp.id);
        case.esp.ecn = 0;
        assert_eq!(alike(cleared), alike(case.esp.frame()));
        assert_eq!(noted & 0xff_ffff, case.mark);
        let (left, mark) = self.pass(Hook::In, &case.inner(case.ecn, &case.option), noted);
        assert_eq!(mark, case.mark);
        let mut shown = case.shown(self.wire);
        // The kernel's rule, which the law finds applied.
        if outer.outer_ecn == 3 && case.ecn != 0 {
            shown.ecn = 3;
        }
        let Twin { law, params, state } = self.twin_of(&case);
        law.decapsulate(state, params, 1, &outer, &mut shown);
        let mut option = case.option.clone();
        if shown.confirmed != 0 {
            Codec::on_wire(self.wire).confirm(&mut option);
        }
        assert_eq!(
            left,
            case.inner(shown.ecn, &option),
            "the field, the option and the sums"
        );
        // What is somebody else's bears what it entered with, or CE where routers of RFC 3168 may stand inside.
        if case.option.is_empty() {
            let is_marked = shown.ecn == 3 && outer.outer_ecn == 3 && case.ecn != 0;
            assert!(shown.ecn == case.ecn || is_marked, "{} became {}", case.ecn, shown.ecn);
        }
    }
}
