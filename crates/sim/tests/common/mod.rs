//! Small networks for the tests of the engine.
#![allow(dead_code, reason = "each test file uses its part")]

pub mod onlooker;
pub mod row;

use std::cell::RefCell;
use std::rc::Rc;

use fadelab_laws::{capacity, receiver, router, sender};
use fadelab_path::spec::{Buffer, CapacitySpec, LinkKind, LinkSpec, RouterSpec};
use fadelab_phy::channel::{ChannelSpec, CodeSpec, Model};
use fadelab_run::app::{App, Span};
use fadelab_run::flow::{FlowKind, FlowSpec};
use fadelab_run::network::{LinkId, NetworkSpec};
use fadelab_run::record::RunRecord;
use fadelab_run::spec::RunSpec;
use fadelab_run::transport::{
    FeedbackForm, IpId, Pacing, PartialAcks, Recovery, RecoveryExit, RtoVariance, RttSamples, Transport,
};
use fadelab_sim::tap::Sighting;

pub const MS: u64 = 1_000_000;
pub const S: u64 = 1_000_000_000;

/// ns-2's transport (tcl/lib/ns-default.tcl).
pub fn transport() -> Transport {
    Transport {
        packet_bytes: 1040,
        header_bytes: 40,
        ack_bytes: 40,
        sack_on_wire: false,
        cwnd_pkts_initial: 2,
        ssthresh_pkts_initial: 1 << 30,
        rwnd_pkts: 1 << 30,
        rwnd_grows: false,
        send_buffer: false,
        recovery: Recovery::Sack,
        dupthresh: 3,
        limited_transmit: true,
        delayed_ack_ns: None,
        rto_ns_min: 200 * MS,
        rto_min_over_srtt: false,
        rto_whole_ticks: false,
        timer_tick_ns: 0,
        rto_ns_max: 60 * S,
        rto_ns_initial: 3 * S,
        ts_tick_ns: 10 * MS,
        rto_variance: RtoVariance::Sample,
        rtt_samples: RttSamples::PerAck,
        recovery_exit: RecoveryExit::Hold,
        partial_acks: PartialAcks::First,
        pacing: Pacing::Rate,
        ecn: true,
        small_queue: false,
        ecn_after_recovery: false,
        keeps_recovery_point: false,
        handshake: false,
        quick_acks_pkts: 0,
        option_space: false,
        feedback: FeedbackForm::Exact,
        rate_reduction: false,
        timestamps: true,
        undo: false,
        frto: false,
        dsack: false,
        ip_id: IpId::Counting,
    }
}

pub fn plain_router(name: &str) -> RouterSpec {
    let law = router(name).expect("a registered router");
    let part = capacity("configured").expect("a registered part");
    RouterSpec {
        law,
        params: law.default_params(),
        capacity: part,
        capacity_params: part.default_params(),
    }
}

pub fn link(name: &str, rate_bps: u64, delay_ns: u64, packets: u32) -> LinkSpec {
    LinkSpec::new(
        name,
        true,
        LinkKind::new(
            CapacitySpec::Constant { rate_bps },
            delay_ns,
            Buffer {
                packets: Some(packets),
                bytes: None,
            },
            plain_router("droptail"),
        ),
    )
}

/// Links of which any may follow any other on a route: there is one node, at which all of them begin and end.
pub fn network(links: impl IntoIterator<Item = LinkSpec>) -> NetworkSpec {
    let mut network = NetworkSpec::default();
    let node = network.host("node");
    for link in links {
        network.join(node, node, link);
    }
    network
}

pub fn flow(name: &str, law: &str, route: Vec<LinkId>, route_back: Vec<LinkId>) -> FlowSpec {
    let law = sender(law).expect("a registered sender");
    let kind = FlowKind {
        group: "all".to_owned(),
        sender: Some(law),
        params: law.default_params(),
        onlookers: Vec::new(),
        receiver: receiver(law.name()),
        app: App::Greedy {
            start: Span::Fixed { ns: 0 },
        },
        transport: transport(),
    };
    FlowSpec {
        name: name.into(),
        from: 0,
        to: 0,
        route,
        route_back,
        kind: kind.into(),
    }
}

/// What the tests vary of a dumbbell.
pub struct Dumbbell<'a> {
    pub flows: u32,
    pub law: &'a str,
    pub router: &'a str,
    pub rate_bps: u64,
    pub delay_ns: u64,
    pub buffer_pkts: u32,
    pub duration_ns: u64,
}

impl Dumbbell<'_> {
    /// Link 0 is the bottleneck, link 1 its way back; each flow has four access links of twice the rate and 8 ms.
    pub fn spec(&self) -> RunSpec {
        let mut links = Vec::new();
        for name in ["forward", "backward"] {
            let mut bottleneck = link(name, self.rate_bps, self.delay_ns, self.buffer_pkts);
            bottleneck.router = plain_router(self.router);
            bottleneck.shown = true;
            links.push(bottleneck);
        }
        let mut flows = Vec::new();
        for index in 0..self.flows {
            let first = links.len() as LinkId;
            for side in ["in", "out", "back-in", "back-out"] {
                links.push(link(
                    &format!("access {index} {side}"),
                    2 * self.rate_bps,
                    8 * MS,
                    1 << 20,
                ));
            }
            let (route, back) = (vec![first, 0, first + 1], vec![first + 2, 1, first + 3]);
            let mut flow = flow(&format!("flow.{index}"), self.law, route, back);
            flow.app = App::Greedy {
                start: Span::Uniform { min_ns: 0, max_ns: S },
            };
            flows.push(flow);
        }
        RunSpec {
            seed: 1,
            duration_ns: self.duration_ns,
            warmup_ns: 0,
            record_interval_ns: None,
            network: network(links),
            flows,
        }
    }
}

/// The test-only router that drops or marks data packet `first`, and every `every`-th from there on unless it is 0, up
/// to `last`.
pub fn kth(first: u32, every: u32, last: u32, action: u32) -> RouterSpec {
    let mut spec = plain_router("kth");
    let pairs = [("first", first), ("every", every), ("last", last), ("action", action)];
    let pairs = pairs.map(|(name, value)| (name, f64::from(value)));
    spec.params = spec.law.params_from(&pairs).expect("valid parameters");
    spec
}

/// What [`kth`] does to a packet.
pub const DROP: u32 = 0;
pub const MARK: u32 = 1;

/// A channel that loses packets independently.
pub fn random_loss(data: f64, ack: f64) -> ChannelSpec {
    ChannelSpec {
        model: Model::Random { data, ack },
        code: CodeSpec::NONE,
    }
}

/// Time of a data packet and of an ACK on the links of [`wire`].
pub const DATA_NS: u64 = 1_040_000;
pub const ACK_NS: u64 = 40_000;
/// Propagation of each of its links, and the round trip of a packet that meets no queue.
pub const DELAY_NS: u64 = 20 * MS;
pub const RTT_NS: u64 = DATA_NS + ACK_NS + 2 * DELAY_NS;

/// Link 0 there and link 1 back, a byte per microsecond, and one flow that transfers `bytes` from time 0 on. No buffer
/// limit to speak of.
pub fn wire(law: &str, bytes: u64) -> RunSpec {
    let links = ["there", "back"].map(|name| link(name, 8_000_000, DELAY_NS, 1 << 20));
    let mut flow = flow("flow", law, vec![0], vec![1]);
    flow.app = App::Transfer {
        start: Span::Fixed { ns: 0 },
        bytes,
    };
    RunSpec {
        seed: 1,
        duration_ns: 60 * S,
        warmup_ns: 0,
        record_interval_ns: None,
        network: network(links),
        flows: vec![flow],
    }
}

/// Runs a spec that is sound.
pub fn record_of(spec: &RunSpec) -> RunRecord {
    fadelab_sim::run(spec, |_| true).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a spec that is sound, and keeps each packet of flow 0 that its sender's host saw.
pub fn seen(spec: &RunSpec) -> (RunRecord, Vec<Sighting>) {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let sink = Rc::clone(&seen);
    let add = move |sighting: &Sighting| sink.borrow_mut().push(*sighting);
    let record = fadelab_sim::run_tapped(spec, &[0], &[], Box::new(add), |_| true).unwrap();
    let seen = seen.borrow().clone();
    (record, seen)
}

/// Share of what link `index` offered after the warm-up that it sent.
pub fn used(record: &RunRecord, index: usize) -> f64 {
    let (before, after) = (&record.links_warmup[index], &record.links_end[index]);
    (after.sent_bytes - before.sent_bytes) as f64 / (after.offered_bytes - before.offered_bytes) as f64
}

/// How many segments leave at the start and after each ACK.
pub fn sent_per_ack(seen: &[Sighting]) -> Vec<usize> {
    let mut sent = vec![0];
    for packet in seen {
        if packet.is_data {
            *sent.last_mut().unwrap() += 1;
        } else {
            sent.push(0);
        }
    }
    sent
}
