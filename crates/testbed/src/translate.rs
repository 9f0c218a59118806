//! From what the simulator runs to what is built on a kernel, in a guest or on this machine, or why it cannot.

use fadelab_kernel::sender::{NAME_BYTES_MAX, default_name};
use fadelab_laws::{LINUX_PREFIX, Params, Sender, WatchInfo, abi};
use fadelab_path::spec::RouterSpec;
use fadelab_run::app::App;
use fadelab_run::flow::FlowSpec;
use fadelab_run::network::Edge;
use fadelab_run::spec::RunSpec;
use fadelab_run::transport::{IpId, Pacing, RttSamples};

use crate::Error;
use crate::plan::{Cable, Carries, Discipline, Flow, Limit, Memory, Plan, Queue, SenderObject, Way};

mod emulated;
mod tunnels;

/// Above it the guest's one processor of 1000 million instructions a virtual second would itself become the bottleneck.
pub const RATE_BPS_MAX: u64 = 100_000_000;

/// Above it the emulator on this machine would itself become the bottleneck.
pub const RATE_BPS_MAX_LIVE: u64 = 1_000_000_000;

/// Addresses of flows are numbered in 16 bits.
const FLOWS_MAX: usize = 1 << 16;

/// Namespaces and devices are made one by one.
const LINKS_MAX: usize = 2_000;

/// Where a plan is to be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a guest, which has a kernel to itself.
    Guest,
    /// On this machine: names of laws end with these letters, which no other run has.
    Live { run: String },
}

/// A plan that lacks its objects yet, and what they are compiled from.
pub struct Draft<'a> {
    pub plan: Plan,
    /// What each of the plan's senders is compiled from.
    pub senders: Vec<(&'static Sender, &'a Params)>,
    /// What routers are compiled from, each once, by the path of its object.
    pub routers: Vec<(String, &'a RouterSpec)>,
    /// What gateways are compiled from, the same way.
    pub gateways: Vec<(String, tunnels::Gateway<'a>)>,
}

/// Says whether a run has a counterpart there.
///
/// # Errors
/// [`Error::NoCounterpart`]: the scenario has something that no kernel does, with the key that asks for it.
pub fn check(spec: &RunSpec, place: &Place) -> Result<(), Error> {
    draft(spec, place).map(drop)
}

/// What is built for a run.
///
/// # Errors
/// As [`check`].
pub fn draft<'a>(spec: &'a RunSpec, place: &Place) -> Result<Draft<'a>, Error> {
    spec.check()?;
    size(spec, place)?;
    let links = &spec.network.links;
    let mut routers = Vec::new();
    let mut cable_of = vec![(0, 0); links.len()];
    let mut cables = Vec::new();
    for (number, (forth, back)) in pairs(links).into_iter().enumerate() {
        let mut ways = [None, None];
        for (end, link) in [Some(forth), back].into_iter().enumerate() {
            if let Some(link) = link {
                cable_of[link] = (number, end);
                ways[end] = Some(way(spec, link, &mut routers)?);
            }
        }
        emulated::share(spec, &mut ways, place)?;
        cables.push(Cable {
            ends: ends_of(&links[forth]),
            ways,
        });
    }
    let hop = |&link: &u32| (links[link as usize].from as usize, cable_of[link as usize].0);
    let mut laws = Laws::of(place);
    let mut flows = Vec::with_capacity(spec.flows.len());
    for planned in &spec.flows {
        let route: Vec<_> = planned.route.iter().map(hop).collect();
        let route_back: Vec<_> = planned.route_back.iter().map(hop).collect();
        let law = planned
            .sender
            .map(|law| laws.name(law, &planned.params, [&route, &route_back]));
        passes_no_end(spec, planned)?;
        flows.push(flow(planned, route, route_back, law)?);
    }
    agree(&flows, spec.network.nodes.len())?;
    let (tunnels, gateways) = tunnels::of(spec, |link| hop(&link))?;
    Ok(Draft {
        plan: Plan {
            seed: spec.seed,
            duration_ns: spec.duration_ns,
            warmup_ns: spec.warmup_ns,
            record_interval_ns: spec.record_interval_ns,
            senders: laws.objects,
            nodes: spec.network.nodes.clone(),
            mtu_bytes: tunnels::bytes_inside(spec, flows.iter().map(|flow| flow.packet_bytes).fold(1_500, u32::max)),
            cables,
            flows,
            tunnels,
            recorded_gateway: None,
            iperf3: false,
            sysctls: Vec::new(),
            packets: Vec::new(),
        },
        senders: laws.recipes,
        routers,
        gateways,
    })
}

/// From where to where a link leads.
fn ends_of(link: &Edge) -> [usize; 2] {
    [link.from as usize, link.to as usize]
}

/// Pairs each link with one that leads back, if there is one: such a pair is a cable, whose direction is that of the
/// first.
fn pairs(links: &[Edge]) -> Vec<(usize, Option<usize>)> {
    let mut is_taken = vec![false; links.len()];
    let mut pairs = Vec::new();
    for (link, edge) in links.iter().enumerate() {
        if is_taken[link] {
            continue;
        }
        let leads_back = |&other: &usize| {
            let back = &links[other];
            !is_taken[other] && (back.from, back.to) == (edge.to, edge.from)
        };
        let back = (link + 1..links.len()).find(leads_back);
        if let Some(back) = back {
            is_taken[back] = true;
        }
        pairs.push((link, back));
    }
    pairs
}

/// A kernel takes what comes to an address of its own, wherever else a route would lead from there.
fn passes_no_end(spec: &RunSpec, flow: &FlowSpec) -> Result<(), Error> {
    for (route, end) in [(&flow.route, flow.to), (&flow.route_back, flow.from)] {
        let on_the_way = route.iter().skip(1).map(|&link| spec.network.links[link as usize].from);
        if on_the_way.into_iter().any(|node| node == end) {
            let name = &spec.network.nodes[end as usize].name;
            let why = format!("{} ends at {name}, which its packets cannot pass before", flow.name);
            return Err(none("flow.via", why));
        }
    }
    Ok(())
}

/// The senders' laws that flows use.
struct Laws<'a> {
    /// Letters of the run in the names of its laws.
    run: Option<String>,
    objects: Vec<SenderObject>,
    recipes: Vec<(&'static Sender, &'a Params)>,
}

impl<'a> Laws<'a> {
    fn of(place: &Place) -> Self {
        Self {
            run: match place {
                Place::Guest => None,
                Place::Live { run } => Some(run.clone()),
            },
            objects: Vec::new(),
            recipes: Vec::new(),
        }
    }

    /// The kernel's name of a flow's law. Laws of the same name that differ in their parameters are told apart by a
    /// number.
    fn name(&mut self, law: &'static Sender, params: &'a Params, routes: [&[(usize, usize)]; 2]) -> String {
        if let Some(name) = law.name().strip_prefix(LINUX_PREFIX) {
            return name.to_owned();
        }
        let is_known = |known: &(&Sender, &Params)| known.0.name() == law.name() && known.1.values() == params.values();
        let number = self.recipes.iter().position(is_known).unwrap_or_else(|| {
            let number = self.recipes.len();
            let full = match &self.run {
                None => default_name(law.name()),
                Some(run) => name_of_run(law.name(), run),
            };
            let taken = self.objects.iter().any(|object| object.name == full);
            let name = if taken || full.len() > NAME_BYTES_MAX {
                let short: String = full.chars().take(NAME_BYTES_MAX - 3).collect();
                format!("{short}_{number}")
            } else {
                full
            };
            self.recipes.push((law, params));
            self.objects.push(SenderObject {
                object: format!("/objects/{name}.o"),
                name,
                devices: Vec::new(),
                calls: None,
                watch: law.watch().iter().map(|info| info.field).collect(),
            });
            number
        });
        let object = &mut self.objects[number];
        // Marks leave by the sender's device; numbers are put back at the receiver's.
        let ends = if law.wire() == abi::WIRE_DPCP { 2 } else { 1 };
        for first in routes[..ends].iter().filter_map(|route| route.first()) {
            if !object.devices.contains(first) {
                object.devices.push(*first);
            }
        }
        object.name.clone()
    }
}

/// `fade_`, six letters of the law at most, and those of the run.
fn name_of_run(law: &str, run: &str) -> String {
    const LAW_LETTERS_MAX: usize = 6;
    let letters: String = law
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .take(LAW_LETTERS_MAX)
        .collect();
    format!("fade_{letters}{run}")
}

fn none(key: &str, why: impl Into<String>) -> Error {
    Error::NoCounterpart {
        key: key.to_owned(),
        why: why.into(),
    }
}

fn size(spec: &RunSpec, place: &Place) -> Result<(), Error> {
    if spec.flows.len() > FLOWS_MAX {
        return Err(none(
            "flow.count",
            format!("{} flows are given, allowed are {FLOWS_MAX}", spec.flows.len()),
        ));
    }
    if spec.network.links.len() > LINKS_MAX {
        return Err(none(
            "topology",
            format!(
                "it comes to {} links, allowed are {LINKS_MAX}; run fewer flows",
                spec.network.links.len()
            ),
        ));
    }
    let narrowest = |flow: &FlowSpec| {
        let rates = flow
            .route
            .iter()
            .map(|&link| spec.network.links[link as usize].capacity.rate_bps_mean());
        rates.min().unwrap_or(0)
    };
    let rate_bps = spec.flows.iter().map(narrowest).max().unwrap_or(0);
    let (rate_bps_max, whose) = match place {
        Place::Guest => (RATE_BPS_MAX, "the guest's processor"),
        Place::Live { .. } => (RATE_BPS_MAX_LIVE, "the emulator"),
    };
    if rate_bps > rate_bps_max {
        return Err(none(
            "topology.bottleneck.rate",
            format!(
                "{} Mbit/s are given, allowed are {}: above, {whose} would be the bottleneck",
                rate_bps as f64 / 1e6,
                rate_bps_max / 1_000_000
            ),
        ));
    }
    Ok(())
}

fn way<'a>(spec: &'a RunSpec, number: usize, routers: &mut Vec<(String, &'a RouterSpec)>) -> Result<Way, Error> {
    let link = &spec.network.links[number];
    let crosses = |route: &[u32]| route.contains(&(number as u32));
    let carries = Carries {
        data: spec.flows.iter().any(|flow| crosses(&flow.route)),
        acks: spec
            .flows
            .iter()
            .any(|flow| flow.sender.is_some() && crosses(&flow.route_back)),
    };
    let emulated = emulated::of(link, carries)?;
    let size = tunnels::bytes_on(spec, number as u32);
    Ok(Way {
        link: number as u32,
        shown: link.shown,
        rate_bps: link.capacity.rate_bps_mean(),
        delay_ns: link.delay_ns,
        queue: queue(
            spec,
            number,
            emulated.as_ref().is_some_and(|emulated| emulated.whole),
            routers,
        )?,
        loss: emulated::loss(link, carries).unwrap_or(0.0),
        packet_bytes: size.unwrap_or_else(|| spec.flows.first().map_or(40, |flow| flow.transport.ack_bytes)),
        carries,
        is_first: spec
            .flows
            .iter()
            .any(|flow| flow.sender.is_some() && flow.route.first() == Some(&(number as u32))),
        emulated,
    })
}

fn queue<'a>(
    spec: &'a RunSpec,
    number: usize,
    is_emulated: bool,
    routers: &mut Vec<(String, &'a RouterSpec)>,
) -> Result<Queue, Error> {
    let link = &spec.network.links[number];
    let limit = match (link.buffer.packets, link.buffer.bytes) {
        (Some(packets), None) => Limit::Packets(packets),
        (None, Some(bytes)) => Limit::Bytes(bytes),
        // No queue of the kernel's is built.
        (Some(packets), Some(_)) if is_emulated => Limit::Packets(packets),
        _ => return Err(none("buffer", "a limit in packets or in bytes is needed, not both")),
    };
    let router = &link.router;
    let name = router.law.name();
    let discipline = if name == "droptail" || is_emulated {
        Discipline::Fifo
    } else if let Some(name) = name.strip_prefix(LINUX_PREFIX) {
        let crossing = spec.flows.iter().filter(|flow| flow.route.contains(&(number as u32)));
        Discipline::Kernel {
            name: name.to_owned(),
            marks: crossing.into_iter().any(asks_for_ecn),
        }
    } else {
        Discipline::Law {
            name: name.to_owned(),
            object: object_of(router, routers),
            memories: [
                memory(router.law.state_bytes(), router.law.watch()),
                memory(router.capacity.state_bytes(), router.capacity.watch()),
            ],
            calls: None,
        }
    };
    Ok(Queue { limit, discipline })
}

fn memory(bytes: u32, watch: &[WatchInfo]) -> Memory {
    Memory {
        bytes: bytes as usize,
        watch: watch.iter().map(|info| info.field).collect(),
    }
}

/// The path of a router's object. Links with the same law and parameters share one.
fn object_of<'a>(router: &'a RouterSpec, routers: &mut Vec<(String, &'a RouterSpec)>) -> String {
    let is_same = |other: &RouterSpec| {
        let names = |spec: &RouterSpec| (spec.law.name(), spec.capacity.name());
        let same_params = other.params.values() == router.params.values();
        names(other) == names(router)
            && same_params
            && other.capacity_params.values() == router.capacity_params.values()
    };
    if let Some((path, _)) = routers.iter().find(|(_, other)| is_same(other)) {
        return path.clone();
    }
    let path = format!("/objects/router_{}.o", routers.len());
    routers.push((path.clone(), router));
    path
}

/// Linux's DCTCP is the one law that is nothing without it.
fn asks_for_ecn(flow: &FlowSpec) -> bool {
    flow.transport.ecn || flow.sender.is_some_and(|law| law.name() == "linux:dctcp")
}

fn flow(
    flow: &FlowSpec,
    route: Vec<(usize, usize)>,
    route_back: Vec<(usize, usize)>,
    law: Option<String>,
) -> Result<Flow, Error> {
    let transport = &flow.transport;
    let payload_bytes = transport.packet_bytes - transport.header_bytes;
    if flow.sender.is_some() && payload_bytes + 40 < 88 + 40 {
        return Err(none(
            "transport.packet",
            format!("{payload_bytes} B of payload are left, the kernel sends at least 88 B"),
        ));
    }
    if flow.sender.is_some() && transport.rtt_samples == RttSamples::PerRoundTrip {
        return Err(none(
            "transport.rtt_samples",
            "Linux takes a sample from each ACK; set transport.rtt_samples = \"per ack\"",
        ));
    }
    if flow.sender.is_some_and(|law| law.flags() & abi::SENDER_PACED != 0) && transport.pacing == Pacing::PerAck {
        return Err(none(
            "transport.pacing",
            "Linux paces by a timer alone; set transport.pacing = \"rate\"",
        ));
    }
    if transport.ip_id != IpId::Counting {
        return Err(none(
            "transport.ip_id",
            "Linux gives the packets of a socket IDs that count up; set transport.ip_id = \"counting\"",
        ));
    }
    if let Some(onlooker) = flow.onlookers.first() {
        return Err(none(
            "flow.shadow",
            format!(
                "a kernel shows a connection to its own law alone; record that one with --record, and see {0} on its \
                 ACKs with `fadelab replay FILE --shadow {0}`",
                onlooker.law.name()
            ),
        ));
    }
    if !matches!(flow.app, App::Cbr { .. }) && flow.sender.is_none() {
        return Err(none(
            "flow.law",
            "udp sends at a constant rate only; set flow.app = \"cbr\"",
        ));
    }
    Ok(Flow {
        name: flow.name.to_string(),
        from: flow.from as usize,
        to: flow.to as usize,
        route,
        route_back,
        law,
        app: flow.app,
        packet_bytes: transport.packet_bytes,
        header_bytes: transport.header_bytes,
        cwnd_pkts_initial: transport.cwnd_pkts_initial,
        rto_ns_min: transport.rto_ns_min,
        acks_at_once: transport.delayed_ack_ns.is_none(),
        sack: transport.recovery.has_sack(),
        wants_timestamps: transport.timestamps,
        ecn: asks_for_ecn(flow),
    })
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
                        "{} shares a host with a flow of another header, timestamps, recovery or ecn",
                        flow.name
                    ),
                ));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "[run]\nduration = '1 s'\nwarmup = '0 s'\n[transport]\npreset = 'linux'\n";

    fn spec(text: &str) -> RunSpec {
        let text = format!("{RUN}{text}");
        let options = fadelab_scenario::Options::default();
        let plan = fadelab_scenario::parse(text.as_bytes(), "x.toml", std::path::Path::new(""), &options);
        plan.expect("it is valid").runs.remove(0).spec
    }

    #[test]
    fn a_node_is_one_namespace_and_a_link_with_its_way_back_one_cable() {
        // Goal: a dumbbell with three flows is two routers and six hosts, joined by seven cables that are used both
        // ways, and each packet leaves a node by a cable that leads to the node where it comes next.
        let spec = spec("[topology.bottleneck]\nrate = '1 Mbit/s'\ndelay = '1 ms'\n[flow]\nlaw = 'reno'\ncount = 3\n");
        let plan = draft(&spec, &Place::Guest).expect("it has a counterpart").plan;
        assert_eq!(plan.nodes, spec.network.nodes);
        assert_eq!((plan.nodes.len(), plan.cables.len()), (2 + 6, 1 + 6));
        let used = |cable: &Cable| cable.ways.iter().flatten().map(|way| way.link).collect::<Vec<_>>();
        let cables: Vec<_> = plan.cables.iter().map(used).collect();
        let pairs: Vec<_> = (0..7).map(|cable| vec![2 * cable, 2 * cable + 1]).collect();
        assert_eq!(cables, pairs);
        for flow in &plan.flows {
            for (route, mut at, to) in [
                (&flow.route, flow.from, flow.to),
                (&flow.route_back, flow.to, flow.from),
            ] {
                for &(node, cable) in route {
                    let [one, other] = plan.cables[cable].ends;
                    assert!(node == at && (one == at || other == at));
                    at = if one == at { other } else { one };
                }
                assert_eq!(at, to);
            }
        }
    }

    #[test]
    fn what_a_sender_s_host_sends_waits_in_a_queue_of_its_own() {
        // Goal: TCP counts what waits at its host (small queues), which netem keeps from it; so a cable is one netem
        // each way where no connection's data leave their host, as at receivers, and where only datagrams do.
        let of = |flow: &str| {
            let bottleneck = "[topology.bottleneck]\nrate = '1 Mbit/s'\ndelay = '1 ms'\n";
            let plan = draft(&spec(&format!("{bottleneck}[flow]\n{flow}")), &Place::Guest)
                .expect("it has a counterpart")
                .plan;
            let flow = &plan.flows[0];
            let first = flow.route[0].1;
            let last = flow.route.last().expect("a way").1;
            [first, last].map(|cable| plan.cables[cable].is_plain())
        };
        assert_eq!(of("law = 'reno'"), [false, true]);
        assert_eq!(
            of("law = 'reno'\n[flow.load]\napp = 'cbr'\nrate = '100 kbit/s'"),
            [true, true]
        );
    }

    /// A star around `hub`, whose link to `c` is open on the way back unless told otherwise.
    fn star(duplex: bool, via: &str) -> RunSpec {
        let link = |name: &str, to: &str, more: &str| {
            format!("[link.{name}]\nfrom = 'hub'\nto = '{to}'\nrate = '1 Mbit/s'\ndelay = '1 ms'\n{more}")
        };
        let links = [
            link("a", "a", ""),
            link("b", "b", ""),
            link("c", "c", &format!("duplex = {duplex}\n")),
        ];
        let flow = format!("[flow]\nlaw = 'reno'\nfrom = 'a'\nto = 'b'\n{via}");
        spec(&format!(
            "[topology]\nnodes = ['hub', 'a', 'b', 'c']\n{}{flow}",
            links.concat()
        ))
    }

    #[test]
    fn a_link_without_a_way_back_is_a_cable_by_itself() {
        // Goal: a cable whose other way no link uses is open there, and cables are no fewer for it.
        let plan = draft(&star(false, ""), &Place::Guest)
            .expect("it has a counterpart")
            .plan;
        let open: Vec<_> = plan.cables.iter().map(|cable| cable.ways[1].is_none()).collect();
        assert_eq!(open, [false, false, true]);
    }

    #[test]
    fn a_flow_may_pass_a_node_twice_but_not_its_end() {
        // Goal: a route that comes through the hub twice has a counterpart, one that comes by its receiver on the way
        // is refused by the key that asks for it, with the name of the node.
        assert!(draft(&star(true, "via = ['c']\n"), &Place::Guest).is_ok());
        let spec = spec(
            "[topology]\nnodes = ['a', 'b', 'c']\n\
             [link.ab]\nfrom = 'a'\nto = 'b'\nrate = '1 Mbit/s'\ndelay = '1 ms'\n\
             [link.bc]\nfrom = 'b'\nto = 'c'\nrate = '1 Mbit/s'\ndelay = '1 ms'\n\
             [flow]\nlaw = 'reno'\nfrom = 'a'\nto = 'b'\nvia = ['b', 'c']\n",
        );
        let why = check(&spec, &Place::Guest).expect_err("it has none").to_string();
        assert!(why.contains("`flow.via`") && why.contains("flow.1 ends at b"), "{why}");
    }
}
