//! From what the simulator runs to what a guest builds, or why it cannot.

use fadelab_laws::Sender;
use fadelab_phy::channel::{CodeMode, Model};
use fadelab_sim::spec::{App, CapacitySpec, FlowSpec, LinkLayer, LinkSpec, Queues, Recovery, RunSpec};

use crate::Error;
use crate::plan::{Cable, Carries, Discipline, Flow, Limit, Plan, Queue, Way};
use crate::topology::Ends;

/// Above it the guest's one processor of 500 million instructions a virtual second would itself become the bottleneck.
pub const RATE_BPS_MAX: u64 = 50_000_000;

/// Addresses of flows are numbered in 16 bits.
const FLOWS_MAX: usize = 1 << 16;

/// Namespaces and devices are made one by one.
const LINKS_MAX: usize = 2_000;

/// What a guest builds for a run.
///
/// # Errors
/// [`Error::NoCounterpart`]: the scenario has something that no kernel does, with the key that asks for it.
pub fn plan(spec: &RunSpec) -> Result<Plan, Error> {
    size(spec)?;
    let ends = Ends::of(spec);
    let cables = ends.cables();
    let mut cable_of = vec![(0, 0); spec.links.len()];
    let mut planned = Vec::with_capacity(cables.len());
    for (number, &(forth, back)) in cables.iter().enumerate() {
        cable_of[forth] = (number, 0);
        let mut ways = [Some(way(spec, forth)?), None];
        if let Some(back) = back {
            cable_of[back] = (number, 1);
            ways[1] = Some(way(spec, back)?);
        }
        planned.push(Cable {
            ends: ends.links[forth],
            ways,
        });
    }
    let hop = |&link: &u32| (ends.links[link as usize][0], cable_of[link as usize].0);
    let flows = spec.flows.iter().map(|flow| {
        let route: Vec<_> = flow.route.iter().map(hop).collect();
        let route_back: Vec<_> = flow.route_back.iter().map(hop).collect();
        self::flow(spec, flow, route, route_back)
    });
    let flows: Vec<Flow> = flows.collect::<Result<_, _>>()?;
    agree(&flows, ends.nodes)?;
    Ok(Plan {
        seed: spec.seed,
        duration_ns: spec.duration_ns,
        warmup_ns: spec.warmup_ns,
        record_interval_ns: spec.record_interval_ns,
        modules: Vec::new(),
        nodes: ends.nodes,
        mtu_bytes: flows.iter().map(|flow| flow.packet_bytes).fold(1_500, u32::max),
        cables: planned,
        flows,
    })
}

fn none(key: &str, why: impl Into<String>) -> Error {
    Error::NoCounterpart {
        key: key.to_owned(),
        why: why.into(),
    }
}

fn size(spec: &RunSpec) -> Result<(), Error> {
    if spec.flows.len() > FLOWS_MAX {
        return Err(none(
            "flow.count",
            format!("{} flows are given, allowed are {FLOWS_MAX}", spec.flows.len()),
        ));
    }
    if spec.links.len() > LINKS_MAX {
        return Err(none(
            "topology",
            format!(
                "it comes to {} links, allowed are {LINKS_MAX}; run fewer flows",
                spec.links.len()
            ),
        ));
    }
    let narrowest = |flow: &FlowSpec| {
        let rates = flow
            .route
            .iter()
            .map(|&link| spec.links[link as usize].capacity.rate_bps_mean());
        rates.min().unwrap_or(0)
    };
    let rate_bps = spec.flows.iter().map(narrowest).max().unwrap_or(0);
    if rate_bps > RATE_BPS_MAX {
        return Err(none(
            "topology.bottleneck.rate",
            format!(
                "{} Mbit/s are given, allowed are {}: above, the guest's processor would be the bottleneck",
                rate_bps as f64 / 1e6,
                RATE_BPS_MAX / 1_000_000
            ),
        ));
    }
    Ok(())
}

fn way(spec: &RunSpec, number: usize) -> Result<Way, Error> {
    let link = &spec.links[number];
    let CapacitySpec::Constant { rate_bps } = link.capacity else {
        return Err(none(
            "trace",
            "a recorded capacity cannot be replayed there; give a rate",
        ));
    };
    if link.layer != LinkLayer::default() {
        let key = match &link.layer {
            LinkLayer { arq: Some(_), .. } => "channel.arq",
            LinkLayer { jitter: Some(_), .. } => "channel.jitter",
            _ => "channel.reorder",
        };
        return Err(none(key, "links there neither repeat nor reorder packets"));
    }
    let crosses = |route: &[u32]| route.contains(&(number as u32));
    let carries = Carries {
        data: spec.flows.iter().any(|flow| crosses(&flow.route)),
        acks: spec
            .flows
            .iter()
            .any(|flow| flow.sender.is_some() && crosses(&flow.route_back)),
    };
    let sizes = spec.flows.iter().filter(|flow| crosses(&flow.route));
    let size = sizes.map(|flow| flow.transport.packet_bytes).max();
    Ok(Way {
        link: number as u32,
        shown: link.shown,
        rate_bps,
        delay_ns: link.delay_ns,
        queue: queue(link)?,
        loss: loss(link, carries)?,
        packet_bytes: size.unwrap_or_else(|| spec.flows.first().map_or(40, |flow| flow.transport.ack_bytes)),
        carries,
    })
}

fn queue(link: &LinkSpec) -> Result<Queue, Error> {
    let limit = match (link.buffer.packets, link.buffer.bytes) {
        (Some(packets), None) => Limit::Packets(packets),
        (None, Some(bytes)) => Limit::Bytes(bytes),
        _ => return Err(none("buffer", "a limit in packets or in bytes is needed, not both")),
    };
    if link.queues != Queues::One {
        return Err(none(
            "router.queues",
            "our fair queues do not run there; the kernel's own do: flow.law = \"LAW+linux:fq_codel\"",
        ));
    }
    let law = link.router.law;
    let discipline = match (law.name(), law.name().strip_prefix(crate::host_laws::PREFIX)) {
        ("droptail", _) => Discipline::Fifo,
        (_, Some(name)) => Discipline::Kernel(name.to_owned()),
        (name, None) => {
            return Err(none(
                "flow.law",
                format!("the router `{name}` does not run there yet; droptail and linux:red do"),
            ));
        }
    };
    Ok(Queue { limit, discipline })
}

/// Random loss is drawn per packet, whatever it carries.
fn loss(link: &LinkSpec, carries: Carries) -> Result<f64, Error> {
    let Some(channel) = &link.channel else {
        return Ok(0.0);
    };
    if channel.code.mode != CodeMode::None {
        return Err(none("channel.code", "parity is not sent there; leave the code out"));
    }
    let Model::Random { data, ack } = channel.model else {
        return Err(none(
            "channel.model",
            "fading channels do not run there; model = \"random\" does",
        ));
    };
    match carries {
        Carries { acks: false, .. } => Ok(data),
        Carries { data: false, .. } => Ok(ack),
        _ if data == ack => Ok(data),
        _ => Err(none(
            "channel.ack",
            "data and ACKs share the link, and loss there does not tell them apart; give both the same",
        )),
    }
}

fn flow(
    spec: &RunSpec,
    flow: &FlowSpec,
    route: Vec<(usize, usize)>,
    route_back: Vec<(usize, usize)>,
) -> Result<Flow, Error> {
    let (Some(&(from, _)), Some(&(to, _))) = (route.first(), route_back.first()) else {
        return Err(none("flow", format!("{} crosses no link", flow.name)));
    };
    let transport = &flow.transport;
    let payload_bytes = transport.packet_bytes - transport.header_bytes;
    if flow.sender.is_some() && payload_bytes + 40 < 88 + 40 {
        return Err(none(
            "transport.packet",
            format!("{payload_bytes} B of payload are left, the kernel sends at least 88 B"),
        ));
    }
    if matches!(flow.app, App::Cbr { .. }) && flow.sender.is_some() {
        return Err(none(
            "flow.app",
            "a constant rate is sent over udp only; set flow.law = \"udp\"",
        ));
    }
    if !matches!(flow.app, App::Cbr { .. }) && flow.sender.is_none() {
        return Err(none(
            "flow.law",
            "udp sends at a constant rate only; set flow.app = \"cbr\"",
        ));
    }
    let name = flow.sender.map(|law| law_name(spec, law)).transpose()?;
    Ok(Flow {
        name: flow.name.to_string(),
        from,
        to,
        route,
        route_back,
        law: name,
        app: flow.app,
        packet_bytes: transport.packet_bytes,
        header_bytes: transport.header_bytes,
        cwnd_pkts_initial: transport.cwnd_pkts_initial,
        rto_ns_min: transport.rto_ns_min,
        acks_at_once: transport.delayed_ack_ns.is_none(),
        sack: transport.recovery == Recovery::Sack,
        ecn: transport.ecn,
    })
}

fn law_name(_spec: &RunSpec, law: &'static Sender) -> Result<String, Error> {
    match law.name().strip_prefix(crate::host_laws::PREFIX) {
        Some(name) => Ok(name.to_owned()),
        None => Err(none(
            "flow.law",
            format!(
                "the law `{}` does not run there yet; linux:{} may",
                law.name(),
                law.name()
            ),
        )),
    }
}

/// Timestamps, SACK and ECN are switches of a namespace: flows that share a node share them.
fn agree(flows: &[Flow], nodes: usize) -> Result<(), Error> {
    let mut seen = vec![None; nodes];
    for flow in flows.iter().filter(|flow| flow.law.is_some()) {
        for node in [flow.from, flow.to] {
            let switches = (flow.timestamps(), flow.sack, flow.ecn);
            if *seen[node].get_or_insert(switches) != switches {
                return Err(none(
                    "transport",
                    format!(
                        "{} shares a host with a flow of another header, recovery or ecn",
                        flow.name
                    ),
                ));
            }
        }
    }
    Ok(())
}
