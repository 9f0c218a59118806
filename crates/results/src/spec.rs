//! What results say of what was simulated: the part of a run's spec that a result keeps and gives back.

use std::ops::Deref;
use std::sync::Arc;

use fadelab_path::spec::{CapacitySpec, LinkSpec, Queues};
use fadelab_phy::channel::PacketKind;
use fadelab_run::app::{App, Span};
use fadelab_run::flow::FlowSpec;
use fadelab_run::spec::RunSpec;
use serde::{Deserialize, Serialize};

use crate::watch::{self, Declared};

/// One network and its flows, without the seed: the runs of a law share it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// End of the run in virtual time.
    pub duration_ns: u64,
    /// Totals count from here on.
    pub warmup_ns: u64,
    /// Links, in the order of [`fadelab_run::record::RunRecord::links_end`].
    pub links: Vec<Link>,
    /// Flows, in the order of [`fadelab_run::record::RunRecord::flows_end`].
    pub flows: Vec<Flow>,
    /// What their laws declare as worth watching; absent where no series is recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub watched: Vec<Declared>,
}

/// A link. Those that differ in their names alone share the rest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    pub name: Arc<str>,
    /// Whether results show it.
    pub shown: bool,
    /// The rest, whose fields are read as if they were the link's own.
    #[serde(flatten)]
    pub kind: Arc<LinkKind>,
}

impl Deref for Link {
    type Target = LinkKind;

    fn deref(&self) -> &LinkKind {
        &self.kind
    }
}

/// What a link is beside its name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkKind {
    /// Its rate in on-air bits per second: where it changes, that of the beginning; on a recorded trace the mean.
    pub rate_bps_mean: u64,
    /// Whether what it can carry varies: by a recorded trace, or at given instants.
    #[serde(alias = "is_trace")]
    pub varies: bool,
    /// Propagation delay.
    pub delay_ns: u64,
    /// Limit of the queue in packets, if it has one.
    pub buffer_pkts: Option<u32>,
    /// Limit of the queue in on-air bytes, if it has one.
    pub buffer_bytes: Option<u64>,
    /// Name of the law at its queue, with `fq_` before it where it stands in fair queues.
    pub router: String,
    /// Whether packets can be lost on the air.
    #[serde(default)]
    pub has_channel: bool,
    /// Exact packet error of its channel for a full data packet; absent on a wire, behind ARQ, and if flows differ in
    /// packet size.
    pub air_loss_rate_exact: Option<f64>,
    /// Places in [`Spec::watched`] of what the law at its queue and its capacity part declare.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub watched: Vec<u32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    pub name: Arc<str>,
    /// The group of flows it belongs to.
    pub group: Arc<str>,
    /// Name of its sender's law; absent without congestion control.
    pub law: Option<Arc<str>>,
    /// Names of the laws that look on.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub shadows: Arc<[String]>,
    /// What its application sends.
    pub sends: Sends,
    /// When it starts at the latest; `u64::MAX`: a random start without bound.
    pub start_ns_max: u64,
    /// Indices of the links of its data packets, in order.
    pub route: Vec<u32>,
}

/// For serde: a slice has this as a method of its own.
fn is_empty(names: &Arc<[String]>) -> bool {
    names.is_empty()
}

/// What an application sends, as the key `app` of a scenario names it; `downloads` is `http` with pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sends {
    /// Always more.
    Greedy,
    Transfer,
    /// A constant bit rate.
    Cbr,
    /// Sessions with pauses.
    Sessions,
    /// One download.
    Http,
    /// Downloads with pauses.
    Downloads,
}

impl Sends {
    fn of(app: &App) -> Self {
        match app {
            App::Greedy { .. } => Self::Greedy,
            App::Transfer { .. } => Self::Transfer,
            App::Cbr { .. } => Self::Cbr,
            App::Sessions { .. } => Self::Sessions,
            App::Http { off: None, .. } => Self::Http,
            App::Http { off: Some(_), .. } => Self::Downloads,
        }
    }

    /// Whether it is over with one transfer.
    pub fn is_transfer(self) -> bool {
        matches!(self, Self::Transfer | Self::Http)
    }

    /// Whether it neither pauses nor keeps to a rate.
    pub fn is_steady(self) -> bool {
        self == Self::Greedy || self.is_transfer()
    }
}

fn start_ns_max(app: &App) -> u64 {
    match app.start() {
        Span::Fixed { ns } => ns,
        Span::Uniform { max_ns, .. } => max_ns,
        Span::Exponential { .. } => u64::MAX,
    }
}

impl Flow {
    /// Name of its sender's law; `udp` without congestion control.
    pub fn sender(&self) -> &str {
        self.law.as_deref().unwrap_or("udp")
    }
}

impl Spec {
    fn of(spec: &RunSpec) -> Self {
        let watched = watch::declared(spec);
        Self {
            duration_ns: spec.duration_ns,
            warmup_ns: spec.warmup_ns,
            links: links(spec, &watched),
            flows: flows(spec),
            watched,
        }
    }
}

/// Neighbours are often of a kind. What is lost on the air is the link's own.
fn links(spec: &RunSpec, watched: &[Declared]) -> Vec<Link> {
    let edges = &spec.network.links;
    let mut links = Vec::<Link>::with_capacity(edges.len());
    for (id, link) in edges.iter().enumerate() {
        let before = id.checked_sub(1).filter(|&before| {
            let is_wire = link.channel.is_none();
            is_wire && Arc::ptr_eq(&edges[before].kind, &link.kind)
        });
        links.push(Link {
            name: Arc::clone(&link.name),
            shown: link.shown,
            kind: before.map_or_else(
                || Arc::new(LinkKind::of(spec, id, link, watched)),
                |before| Arc::clone(&links[before].kind),
            ),
        });
    }
    links
}

fn flows(spec: &RunSpec) -> Vec<Flow> {
    let mut flows = Vec::<Flow>::with_capacity(spec.flows.len());
    for (id, flow) in spec.flows.iter().enumerate() {
        let before = id.checked_sub(1);
        let before = before.filter(|&before| Arc::ptr_eq(&spec.flows[before].kind, &flow.kind));
        let (group, law, shadows) = match before.map(|before| &flows[before]) {
            Some(before) => (
                Arc::clone(&before.group),
                before.law.clone(),
                Arc::clone(&before.shadows),
            ),
            None => (
                flow.group.as_str().into(),
                flow.sender.map(|law| law.name().into()),
                flow.onlookers.iter().map(|one| one.law.name().to_owned()).collect(),
            ),
        };
        flows.push(Flow {
            name: Arc::clone(&flow.name),
            group,
            law,
            shadows,
            sends: Sends::of(&flow.app),
            start_ns_max: start_ns_max(&flow.app),
            route: flow.route.clone(),
        });
    }
    flows
}

impl LinkKind {
    fn of(spec: &RunSpec, id: usize, link: &LinkSpec, watched: &[Declared]) -> Self {
        Self {
            rate_bps_mean: link.capacity.rate_bps_mean(),
            varies: !matches!(link.capacity, CapacitySpec::Constant { .. }),
            delay_ns: link.delay_ns,
            buffer_pkts: link.buffer.packets,
            buffer_bytes: link.buffer.bytes,
            router: match link.queues {
                Queues::One | Queues::AcksFirst => link.router.law.name().to_owned(),
                Queues::Fair { .. } => format!("fq_{}", link.router.law.name()),
            },
            has_channel: link.channel.is_some(),
            air_loss_rate_exact: exact_air_loss(spec, id, link),
            watched: watch::at_link(watched, link),
        }
    }
}

/// Behind ARQ what is lost depends on when tries are made. On a trace a packet-scale channel is computed at the mean
/// rate, as the simulator does.
fn exact_air_loss(spec: &RunSpec, id: usize, link: &LinkSpec) -> Option<f64> {
    let channel = link.channel.as_ref().filter(|_| link.layer.arq.is_none())?;
    let crosses = |flow: &&FlowSpec| flow.route.iter().any(|&link| link as usize == id);
    let mut sizes = spec
        .flows
        .iter()
        .filter(crosses)
        .map(|flow| flow.transport.packet_bytes);
    let size = sizes.next()?;
    sizes
        .all(|other| other == size)
        .then(|| channel.packet_error_at(PacketKind::Data, size, link.capacity.rate_bps_mean()))
}

/// The distinct specs of an experiment. Runs of a sweep often differ in their seed alone: each spec is kept once.
#[derive(Debug, Default)]
pub struct Specs(Vec<Arc<Spec>>);

impl Specs {
    /// What a result keeps of a run.
    pub fn of(&mut self, spec: &RunSpec) -> Arc<Spec> {
        self.intern(Spec::of(spec))
    }

    fn intern(&mut self, spec: Spec) -> Arc<Spec> {
        // Neighbours in a sweep are alike, so the search begins with the last.
        if let Some(known) = self.0.iter().rev().find(|known| ***known == spec) {
            return Arc::clone(known);
        }
        let spec = Arc::new(spec);
        self.0.push(Arc::clone(&spec));
        spec
    }
}
