//! The host of a gateway's law at both ends of a tunnel.

use fadelab_laws::{Gateway, Params, State, abi, guard};
use fadelab_path::packet::{FeedbackBytes, Header};
use fadelab_phy::random::Stream;
use fadelab_run::network::NodeId;
use fadelab_run::spec::RunSpec;
use fadelab_run::tunnel::{GatewaySpec, Memory, TunnelSpec};

use super::Passing;

const NS_PER_US: u64 = 1000;

/// The gateways at both ends of a tunnel, where there are any.
#[derive(Debug)]
pub(super) struct Gateways {
    memory: Memory,
    ends: [Option<End>; 2],
}

/// A law and its memories, each for both directions: one for the tunnel or one for each flow in it.
#[derive(Debug)]
struct End {
    law: &'static Gateway,
    params: Params,
    place: String,
    /// What a new memory is told, but for time and random word.
    tunnel: abi::Tunnel,
    random: Stream,
    /// By flows, or one; each made when its first packet comes.
    states: Vec<Option<State>>,
}

impl Gateways {
    /// Those of tunnel number `number`.
    pub fn of(spec: &RunSpec, number: usize) -> Self {
        let tunnel = &spec.network.tunnels[number];
        let before = &spec.network.tunnels[..number];
        let end = |end: usize| {
            let gateway = tunnel.gateways[end].as_ref()?;
            Some(End::new(spec, gateway, (tunnel, before), [tunnel.from, tunnel.to][end]))
        };
        Self {
            memory: tunnel.memory,
            ends: [end(0), end(1)],
        }
    }

    /// A packet enters: `outer` as the rule for the ECN field made it. The law may write that field alone.
    pub fn encapsulate(
        &mut self,
        passing: &Passing,
        inner: &Header,
        feedback: Option<&FeedbackBytes>,
        outer: &mut Header,
    ) {
        let Some(end) = &mut self.ends[passing.enters_at()] else {
            return;
        };
        let (state, law, params) = end.state(self.memory, passing);
        // The gateway has both headers before it, of which routers see one.
        let mut written = shown(
            &Header {
                ecn: inner.ecn,
                ..*outer
            },
            None,
        );
        let (inner, now_us) = (shown(inner, feedback), passing.now_ns / NS_PER_US);
        law.encapsulate(state, params, now_us, &inner, &mut written);
        outer.outer_ecn = written.outer_ecn;
    }

    /// A packet leaves, which entered with that ECN field: `inner` as the rule made it. The law may write its ECN field
    /// and its feedback.
    pub fn decapsulate(
        &mut self,
        passing: &Passing,
        (outer, entered_ecn): (&Header, u8),
        inner: &mut Header,
        feedback: Option<&mut FeedbackBytes>,
    ) {
        let Some(end) = &mut self.ends[passing.leaves_at()] else {
            return;
        };
        let (state, law, params) = end.state(self.memory, passing);
        let mut written = shown(inner, feedback.as_deref());
        // Routers that were told of the tunnel have no place in its packets to say that they saw one.
        let seen = Header {
            ecn: entered_ecn,
            confirmed: 0,
            ..*outer
        };
        let (outer, now_us) = (shown(&seen, None), passing.now_ns / NS_PER_US);
        law.decapsulate(state, params, now_us, &outer, &mut written);
        (inner.ecn, inner.outer_ecn, inner.confirmed) = (written.ecn, written.ecn, written.confirmed);
        if let Some(feedback) = feedback {
            *feedback = written.feedback;
        }
    }

    /// The end whose law has its memory at `address`.
    pub fn place_of_state(&self, address: usize) -> Option<&str> {
        let has = |end: &&End| end.states.iter().flatten().any(|state| state.address() == address);
        self.ends.iter().flatten().find(has).map(|end| end.place.as_str())
    }
}

impl End {
    /// The end of a tunnel at a node, which has others `before` it.
    fn new(
        spec: &RunSpec,
        gateway: &GatewaySpec,
        (tunnel, before): (&TunnelSpec, &[TunnelSpec]),
        node: NodeId,
    ) -> Self {
        let place = format!(
            "tunnel {} at node {}",
            tunnel.name, spec.network.nodes[node as usize].name
        );
        let is_here = |other: &&TunnelSpec| other.from == node || other.to == node;
        Self {
            law: gateway.law,
            params: gateway.params.clone(),
            random: Stream::new(spec.seed, &place),
            tunnel: abi::Tunnel {
                number: before.iter().filter(is_here).count() as u32,
                outer_bytes: tunnel.outer_bytes(),
                ..abi::Tunnel::default()
            },
            place,
            states: Vec::new(),
        }
    }

    /// The memory for a packet, and whose it is.
    fn state(&mut self, memory: Memory, passing: &Passing) -> (&mut State, &'static Gateway, &Params) {
        let unit = memory.unit(passing.flow);
        if self.states.len() <= unit {
            self.states.resize_with(unit + 1, || None);
        }
        let (law, params, place, random) = (self.law, &self.params, &self.place, &mut self.random);
        let state = self.states[unit].get_or_insert_with(|| {
            let tunnel = abi::Tunnel {
                random: random.next_u64() as u32,
                now_us: passing.now_ns / NS_PER_US,
                ..self.tunnel
            };
            let mut state = law.new_state();
            guard::in_place(|| place.clone(), || law.init(&mut state, params, &tunnel));
            state
        });
        (state, law, params)
    }
}

/// What the law is shown of a packet.
fn shown(header: &Header, feedback: Option<&FeedbackBytes>) -> abi::Packet {
    abi::Packet {
        flags: header.flags,
        ip_bytes: header.ip_bytes,
        air_bytes: header.ip_bytes,
        ip_id: header.ip_id,
        ecn: header.ecn,
        outer_ecn: header.outer_ecn,
        role: header.role,
        wire: header.wire,
        feedback_len: header.feedback_len,
        confirmed: header.confirmed,
        feedback: feedback.copied().unwrap_or_default(),
        segments: 1,
        roles_known: 1,
        roles: u64::from(header.role),
        ..abi::Packet::default()
    }
}
