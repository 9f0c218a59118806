//! What a link is: what it can carry, how far it reaches, which law stands at its queue.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use fadelab_laws::{Capacity, Params, Router};
use fadelab_phy::channel::{ChannelSpec, PacketKind};
use serde::{Deserialize, Serialize};

use crate::layer::LinkLayer;
use crate::rates::Rates;
use crate::trace::Trace;
use crate::transmitter::Rate;

/// What a link is. A large network has many that differ in their names alone, as access links do: what they have in
/// common is kept once for all of them. Its fields are read and written as if they were the link's own; a link that is
/// changed then has a copy to itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LinkSpec {
    /// Unique; names the link in results and its random streams.
    pub name: Arc<str>,
    /// Whether results show this link. Access links usually are not shown.
    pub shown: bool,
    /// The rest.
    pub kind: Arc<LinkKind>,
}

impl LinkSpec {
    /// A link of a kind to itself.
    pub fn new(name: impl Into<Arc<str>>, shown: bool, kind: LinkKind) -> Self {
        Self {
            name: name.into(),
            shown,
            kind: Arc::new(kind),
        }
    }
}

impl Deref for LinkSpec {
    type Target = LinkKind;

    fn deref(&self) -> &LinkKind {
        &self.kind
    }
}

impl DerefMut for LinkSpec {
    fn deref_mut(&mut self) -> &mut LinkKind {
        Arc::make_mut(&mut self.kind)
    }
}

/// What links of a kind have in common.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LinkKind {
    /// What the transmitter can send, in on-air bytes.
    pub capacity: CapacitySpec,
    /// Propagation delay.
    pub delay_ns: u64,
    /// Limit of the queue, the packet in transmission excluded.
    pub buffer: Buffer,
    /// The law at the queue.
    pub router: RouterSpec,
    /// What the router is told that the link can carry, in on-air bits per second; `None`: what it can, as it changes.
    pub told_bps: Option<u64>,
    /// How arrivals are divided into queues, each with the law to itself.
    pub queues: Queues,
    /// What happens to packets on the air; `None` is a wire.
    pub channel: Option<ChannelSpec>,
    /// What the link does about it behind the transmitter.
    pub layer: LinkLayer,
}

/// How the node of a link gets its packets to the far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Crossing {
    /// It hands each over at its arrival, with its time.
    Planned,
    /// It keeps them, since the fate of one depends on what comes after it.
    Evented,
}

impl LinkKind {
    /// A link with one queue and without a channel.
    pub fn new(capacity: CapacitySpec, delay_ns: u64, buffer: Buffer, router: RouterSpec) -> Self {
        Self {
            capacity,
            delay_ns,
            buffer,
            router,
            told_bps: None,
            queues: Queues::One,
            channel: None,
            layer: LinkLayer::default(),
        }
    }

    /// On-air bytes of a data packet.
    pub fn air_bytes(&self, ip_bytes: u32) -> u32 {
        let channel = self.channel.as_ref();
        let coded_bytes = channel.map_or(ip_bytes, |channel| channel.air_bytes(PacketKind::Data, ip_bytes));
        coded_bytes + self.capacity.header_bytes()
    }

    /// On-air bytes per second that the router is told at the beginning; 0: nothing is known of a trace.
    pub(crate) fn told_bytes_per_s(&self) -> u64 {
        let of_link = match &self.capacity {
            CapacitySpec::Constant { rate_bps } => *rate_bps,
            CapacitySpec::Changing(rates) => rates.first_bps(),
            CapacitySpec::Trace(_) => 0,
        };
        self.told_bps.unwrap_or(of_link) / 8
    }

    /// How its packets pass.
    pub(crate) fn crossing(&self) -> Crossing {
        let by_steps = self.queues != Queues::One
            || self.router.law.queues() > 0
            || self.layer != LinkLayer::default()
            || self.router.law.flags() & fadelab_laws::abi::ROUTER_DROPS_AT_DEQUEUE != 0;
        if by_steps { Crossing::Evented } else { Crossing::Planned }
    }
}

/// How a link divides arrivals into queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Queues {
    /// One queue, first in, first out.
    #[default]
    One,
    /// Two queues, ACKs before data: the one law and the one limit see both as one queue.
    AcksFirst,
    /// Several queues that take turns, with priority for sparse flows (RFC 8290, section 4).
    Fair {
        /// Number of queues among which a keyed hash divides the flows; `None`: one for each flow.
        hashed: Option<u32>,
        /// On-air bytes that a queue may send in its turn, at least 1.
        quantum_bytes: u32,
    },
}

/// How fast a transmitter is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum CapacitySpec {
    /// A constant rate.
    Constant {
        /// On-air bits per second.
        rate_bps: u64,
    },
    /// A rate that changes at given instants, in on-air bits per second.
    Changing(Arc<Rates>),
    /// Delivery opportunities of a recorded trace.
    Trace(Arc<Trace>),
}

impl CapacitySpec {
    /// The constant rate, that at the beginning where it changes, or the mean over the trace.
    pub fn rate_bps_mean(&self) -> u64 {
        match self {
            Self::Constant { rate_bps } => *rate_bps,
            Self::Changing(rates) => rates.first_bps(),
            Self::Trace(trace) => trace.rate_bps_mean(),
        }
    }

    /// On-air bytes that could have been sent until `now_ns`, used or not; opportunities at that instant included.
    pub fn offered_bytes(&self, now_ns: u64) -> u64 {
        match self {
            Self::Constant { rate_bps } => Rate::new(*rate_bps).offered_bytes(now_ns),
            Self::Changing(rates) => rates.offered_bytes(now_ns),
            Self::Trace(trace) => trace.offered_bytes(now_ns),
        }
    }

    /// Bytes that each packet has on the link beside its own.
    pub fn header_bytes(&self) -> u32 {
        match self {
            Self::Constant { .. } | Self::Changing(_) => 0,
            Self::Trace(trace) => trace.rules.header_bytes(),
        }
    }
}

/// Limit of a queue. At least one of the two is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buffer {
    /// Packets, if limited so.
    pub packets: Option<u32>,
    /// On-air bytes, if limited so.
    pub bytes: Option<u64>,
}

/// A router's law, its parameters, and how it learns the capacity. It is written down by the names of both.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "ByName", into = "ByName")]
pub struct RouterSpec {
    pub law: &'static Router,
    /// Its parameters.
    pub params: Params,
    /// The capacity part.
    pub capacity: &'static Capacity,
    /// Its parameters.
    pub capacity_params: Params,
}

/// What is written of a [`RouterSpec`].
#[derive(Serialize, Deserialize)]
struct ByName {
    law: String,
    params: Vec<u64>,
    capacity: String,
    capacity_params: Vec<u64>,
}

impl From<RouterSpec> for ByName {
    fn from(spec: RouterSpec) -> Self {
        Self {
            law: spec.law.name().to_owned(),
            params: spec.params.values().to_vec(),
            capacity: spec.capacity.name().to_owned(),
            capacity_params: spec.capacity_params.values().to_vec(),
        }
    }
}

impl TryFrom<ByName> for RouterSpec {
    type Error = String;

    fn try_from(written: ByName) -> Result<Self, String> {
        let law = fadelab_laws::router(&written.law);
        let law = law.ok_or_else(|| format!("no router's law `{}` is known here", written.law))?;
        let capacity = fadelab_laws::capacity(&written.capacity);
        let capacity = capacity.ok_or_else(|| format!("no capacity part `{}` is known here", written.capacity))?;
        let other = |name: &str| format!("the parameters are not those of {name}");
        Ok(Self {
            law,
            params: law.params_of_values(&written.params).ok_or_else(|| other(law.name()))?,
            capacity,
            capacity_params: capacity
                .params_of_values(&written.capacity_params)
                .ok_or_else(|| other(capacity.name()))?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::TraceRules;

    #[test]
    fn a_link_that_is_changed_leaves_others_of_its_kind_alone() {
        // Goal: links share what they have in common, and a write to one of them is seen there alone.
        let law = fadelab_laws::router("droptail").expect("registered");
        let part = fadelab_laws::capacity("configured").expect("registered");
        let router = RouterSpec {
            law,
            params: law.default_params(),
            capacity: part,
            capacity_params: part.default_params(),
        };
        let buffer = Buffer {
            packets: Some(3),
            bytes: None,
        };
        let capacity = CapacitySpec::Constant { rate_bps: 1 };
        let kind = Arc::new(LinkKind::new(capacity, 2, buffer, router));
        let mut links = ["one", "two", "three"].map(|name| LinkSpec {
            name: name.into(),
            shown: false,
            kind: Arc::clone(&kind),
        });
        links[1].delay_ns = 7;
        assert_eq!(links.each_ref().map(|link| link.delay_ns), [2, 7, 2]);
        assert!(Arc::ptr_eq(&links[0].kind, &links[2].kind) && !Arc::ptr_eq(&links[0].kind, &links[1].kind));
    }

    #[test]
    fn the_mean_rate_is_what_passes_in_a_second() {
        // Goal: a constant rate is its own mean; a trace carries its opportunities in its period, here 3 of 1504 B in 4
        // ms.
        assert_eq!(
            CapacitySpec::Constant { rate_bps: 54_000_000 }.rate_bps_mean(),
            54_000_000
        );
        let trace = Trace {
            opportunities_ms: vec![1, 1, 4],
            opportunity_bytes: 1504,
            rules: TraceRules::Plain,
        };
        assert_eq!(CapacitySpec::Trace(Arc::new(trace)).rate_bps_mean(), 3 * 1504 * 8 * 250);
    }
}
