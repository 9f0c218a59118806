//! Networks of chance: a dumbbell, a parking lot or a graph.

use super::draw::{Draw, Text};

const S: u64 = 1_000_000_000;

/// A network in the making.
pub struct Network {
    pub shape: Shape,
    /// The fastest link, access links included: packets may arrive there at that rate.
    pub rate_bps_max: u64,
    /// What a packet and its ACK take over the longest path.
    pub round_trip_ns: u64,
    /// The same over the shortest one.
    pub round_trip_ns_min: u64,
    /// Names and contents.
    pub traces: Vec<(String, String)>,
    /// Whether traces are used as mahimahi does, which refuses all that mahimahi has not.
    pub is_mahimahi: bool,
}

pub enum Shape {
    Dumbbell {
        pairs: Option<u64>,
        hop: Hop,
        access: Access,
    },
    ParkingLot {
        rates_bps: Vec<u64>,
        delay_ns: u64,
        buffer: Option<String>,
        access: Access,
    },
    Graph {
        nodes: usize,
        links: Vec<Link>,
    },
}

/// A link between two nodes of a graph.
pub struct Link {
    pub from: usize,
    pub to: usize,
    pub is_duplex: bool,
    pub hop: Hop,
}

/// What a link is, there and back.
#[derive(Clone)]
pub struct Hop {
    there: Capacity,
    /// None: as there.
    back: Option<Capacity>,
    delay_ns: u64,
    buffer: Option<String>,
    buffer_back: Option<String>,
}

#[derive(Clone)]
enum Capacity {
    Rate(u64),
    /// Name and mean rate.
    Trace(String, u64),
}

pub struct Access {
    /// None: twice the fastest hop's.
    rate_bps: Option<u64>,
    delay_ns: Option<u64>,
    buffer: Option<String>,
}

pub fn network(draw: &mut Draw) -> Network {
    let (mut traces, rate_bps) = (Vec::new(), rate_bps(draw));
    let shape = match draw.below(5) {
        0 | 1 => Shape::Dumbbell {
            pairs: draw.one_in(3).then(|| draw.magnitude(1, 8)),
            hop: hop(draw, rate_bps, &mut traces),
            access: access(draw),
        },
        2 => Shape::ParkingLot {
            rates_bps: (0..=draw.below(5)).map(|_| rate_bps_near(draw, rate_bps)).collect(),
            delay_ns: delay_ns(draw),
            buffer: buffer(draw),
            access: access(draw),
        },
        _ => graph(draw, rate_bps, &mut traces),
    };
    let is_mahimahi = !traces.is_empty() && draw.one_in(4);
    Network {
        rate_bps_max: shape.rate_bps_max(),
        round_trip_ns: 2 * shape.delays_ns().1,
        round_trip_ns_min: 2 * shape.delays_ns().0,
        shape,
        traces,
        is_mahimahi,
    }
}

/// A tree, so that there is a way from each node to each, and some links besides.
fn graph(draw: &mut Draw, rate_bps: u64, traces: &mut Vec<(String, String)>) -> Shape {
    let nodes = 2 + draw.below(6);
    let mut links: Vec<Link> = Vec::new();
    for to in 1..nodes {
        links.push(Link {
            from: draw.below(to),
            to,
            is_duplex: true,
            hop: hop(draw, rate_bps, traces),
        });
    }
    for _ in 0..draw.below(4) {
        let from = draw.below(nodes);
        let to = (from + 1 + draw.below(nodes - 1)) % nodes;
        let (is_duplex, mut hop) = (draw.one_in(2), hop(draw, rate_bps, traces));
        if !is_duplex {
            (hop.back, hop.buffer_back) = (None, None);
        }
        // Two links between the same nodes are refused: routes could not tell them apart.
        let joins = |link: &Link| [(from, to), (to, from)].contains(&(link.from, link.to));
        if !links.iter().any(joins) || draw.one_in(20) {
            links.push(Link {
                from,
                to,
                is_duplex,
                hop,
            });
        }
    }
    Shape::Graph { nodes, links }
}

/// Mostly rates that links have, now and then what is allowed at all.
fn rate_bps(draw: &mut Draw) -> u64 {
    match draw.below(20) {
        0 => draw.magnitude(8, 10_000),
        1 => draw.magnitude(S, 10_000 * S),
        _ => draw.magnitude(10_000, 2 * S),
    }
}

/// The rate of one link of a network: mostly not far below that of the others, or nothing would come through in time.
fn rate_bps_near(draw: &mut Draw, others_bps: u64) -> u64 {
    if draw.one_in(10) {
        rate_bps(draw)
    } else {
        (others_bps / draw.magnitude(1, 20)).max(8)
    }
}

fn delay_ns(draw: &mut Draw) -> u64 {
    match draw.below(12) {
        0 => 0,
        1 => draw.magnitude(1, 1_000_000),
        2 => draw.magnitude(S, 100 * S),
        _ => draw.magnitude(100_000, S),
    }
}

fn buffer(draw: &mut Draw) -> Option<String> {
    match draw.below(4) {
        0 => None,
        1 => Some(format!("{} pkt", draw.magnitude(1, 5_000))),
        2 => Some(format!("{} B", draw.magnitude(40, 5_000_000))),
        _ => Some(format!("{} BDP", draw.magnitude(1, 20_000) as f64 / 1_000.0)),
    }
}

fn hop(draw: &mut Draw, rate_bps: u64, traces: &mut Vec<(String, String)>) -> Hop {
    let there = capacity(draw, rate_bps, traces, 6);
    // Directions may be very unequal.
    let back = match draw.below(4) {
        0 => Some(Capacity::Rate((there.rate_bps() / draw.magnitude(2, 10_000)).max(8))),
        1 => Some(capacity(draw, rate_bps, traces, 3)),
        _ => None,
    };
    Hop {
        there,
        back,
        delay_ns: delay_ns(draw),
        buffer: buffer(draw),
        buffer_back: buffer(draw).filter(|_| draw.one_in(3)),
    }
}

/// A trace once in so many times.
fn capacity(draw: &mut Draw, others_bps: u64, traces: &mut Vec<(String, String)>, times: usize) -> Capacity {
    if !draw.one_in(times) {
        return Capacity::Rate(rate_bps_near(draw, others_bps));
    }
    let (name, (lines, rate_bps)) = (format!("trace{}.down", traces.len()), trace(draw));
    traces.push((name.clone(), lines));
    Capacity::Trace(name, rate_bps)
}

/// Opportunities that come one by one, in bursts and after gaps, and their mean rate.
fn trace(draw: &mut Draw) -> (String, u64) {
    let count = draw.magnitude(1, 1_000);
    let pause_ms = draw.magnitude(1, 100);
    let (mut time_ms, mut lines) = (0, String::new());
    for _ in 0..count {
        time_ms += match draw.below(4) {
            0 => draw.magnitude(1, pause_ms),
            1 => 1,
            _ => 0,
        };
        lines += &time_ms.to_string();
        lines.push('\n');
    }
    if time_ms == 0 {
        time_ms = 1;
        lines += "1\n";
    }
    (lines, (count * 1504 * 8 * 1_000).div_ceil(time_ms))
}

fn access(draw: &mut Draw) -> Access {
    Access {
        rate_bps: draw.one_in(4).then(|| draw.magnitude(10_000, 10 * S)),
        delay_ns: draw.one_in(2).then(|| delay_ns(draw)),
        buffer: buffer(draw).filter(|_| draw.one_in(3)),
    }
}

impl Capacity {
    fn rate_bps(&self) -> u64 {
        match self {
            Self::Rate(rate_bps) | Self::Trace(_, rate_bps) => *rate_bps,
        }
    }
}

impl Hop {
    fn rate_bps_max(&self) -> u64 {
        let back = self.back.as_ref().map_or(0, Capacity::rate_bps);
        self.there.rate_bps().max(back)
    }

    fn write(&self, text: &mut Text) {
        let directions = [
            (Some(&self.there), "rate", "trace"),
            (self.back.as_ref(), "rate_back", "trace_back"),
        ];
        for (capacity, rate, trace) in directions {
            match capacity {
                Some(Capacity::Rate(rate_bps)) => text.rate(rate, *rate_bps),
                Some(Capacity::Trace(name, _)) => text.text(trace, name),
                None => {}
            }
        }
        text.time("delay", self.delay_ns);
        for (key, buffer) in [("buffer", &self.buffer), ("buffer_back", &self.buffer_back)] {
            if let Some(buffer) = buffer {
                text.text(key, buffer);
            }
        }
    }

    fn has_trace(&self) -> bool {
        let capacities = [Some(&self.there), self.back.as_ref()];
        capacities
            .into_iter()
            .flatten()
            .any(|capacity| matches!(capacity, Capacity::Trace(..)))
    }
}

impl Access {
    fn write(&self, text: &mut Text) {
        text.table("topology.access");
        if let Some(rate_bps) = self.rate_bps {
            text.rate("rate", rate_bps);
        }
        if let Some(delay_ns) = self.delay_ns {
            text.time("delay", delay_ns);
        }
        if let Some(buffer) = &self.buffer {
            text.text("buffer", buffer);
        }
    }

    /// Where it is not given it is twice that of the hops, and 8 ms long.
    fn faster_than(&self, hops_bps: u64) -> u64 {
        self.rate_bps.unwrap_or(2 * hops_bps).max(hops_bps)
    }

    fn delay_ns(&self) -> u64 {
        self.delay_ns.unwrap_or(8_000_000)
    }
}

impl Shape {
    fn rate_bps_max(&self) -> u64 {
        match self {
            Self::Dumbbell { hop, access, .. } => access.faster_than(hop.rate_bps_max()),
            Self::ParkingLot { rates_bps, access, .. } => {
                access.faster_than(rates_bps.iter().copied().max().unwrap_or(1))
            }
            Self::Graph { links, .. } => links.iter().map(|link| link.hop.rate_bps_max()).max().unwrap_or(1),
        }
    }

    /// Of the shortest path and of the longest one.
    fn delays_ns(&self) -> (u64, u64) {
        match self {
            Self::Dumbbell { hop, access, .. } => [hop.delay_ns + 2 * access.delay_ns(); 2].into(),
            Self::ParkingLot {
                rates_bps,
                delay_ns,
                access,
                ..
            } => {
                let hops = rates_bps.len() as u64;
                (
                    delay_ns + 2 * access.delay_ns(),
                    hops * delay_ns + 2 * access.delay_ns(),
                )
            }
            Self::Graph { links, .. } => {
                let delays_ns = || links.iter().map(|link| link.hop.delay_ns);
                (delays_ns().min().unwrap_or(0), delays_ns().sum())
            }
        }
    }
}

impl Network {
    pub fn write(&self, draw: &mut Draw, text: &mut Text) {
        text.table("topology");
        match &self.shape {
            Shape::Dumbbell { pairs, hop, access } => {
                text.text("preset", "dumbbell");
                if let Some(pairs) = pairs {
                    text.bare("pairs", pairs);
                }
                text.table("topology.bottleneck");
                hop.write(text);
                self.write_rules(text, hop);
                access.write(text);
            }
            Shape::ParkingLot {
                rates_bps,
                delay_ns,
                buffer,
                access,
            } => {
                text.text("preset", "parking-lot");
                let rates: Vec<String> = rates_bps.iter().map(|bps| format!("\"{bps} bit/s\"")).collect();
                text.bare("hops", format_args!("[{}]", rates.join(", ")));
                text.table("topology.hop");
                text.time("delay", *delay_ns);
                if let Some(buffer) = buffer {
                    text.text("buffer", buffer);
                }
                access.write(text);
            }
            Shape::Graph { nodes, links } => {
                let names: Vec<String> = (0..*nodes).map(|node| format!("\"n{node}\"")).collect();
                text.bare("nodes", format_args!("[{}]", names.join(", ")));
                for (number, link) in links.iter().enumerate() {
                    text.table(&format!("link.l{number}"));
                    self.write_link(draw, text, link);
                }
            }
        }
    }

    fn write_link(&self, draw: &mut Draw, text: &mut Text, link: &Link) {
        text.text("from", format_args!("n{}", link.from));
        text.text("to", format_args!("n{}", link.to));
        if !link.is_duplex {
            text.bare("duplex", false);
        }
        link.hop.write(text);
        self.write_rules(text, &link.hop);
        match draw.below(4) {
            0 => text.bare("channel", false),
            1 => text.text("channel", "radio"),
            _ => {}
        }
        if draw.one_in(5) {
            let routers: Vec<&str> = fadelab_laws::routers().iter().map(fadelab_laws::Router::name).collect();
            text.text("router", draw.pick(&routers));
        }
        if draw.one_in(8) {
            text.bare("show", false);
        }
    }

    fn write_rules(&self, text: &mut Text, hop: &Hop) {
        if self.is_mahimahi && hop.has_trace() {
            text.text("trace_rules", "exact-mahimahi");
        }
    }

    pub fn is_graph(&self) -> bool {
        matches!(self.shape, Shape::Graph { .. })
    }
}
