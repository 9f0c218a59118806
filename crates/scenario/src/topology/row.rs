//! The presets `dumbbell` and `parking-lot`: a row of routers with a pair of hosts for each flow.

use fadelab_path::layer::LinkLayer;
use fadelab_path::spec::CapacitySpec;

use crate::channel;
use crate::document::{Node, Raw, quoted};
use crate::error::Refusal;
use crate::key::{
    Absent::{Is, Needed},
    Declared, Key, Only, key, keys,
};
use crate::kind::Kind;
use crate::layer;
use crate::reader::Reader;
use crate::topology::Topology;
use crate::topology::hop::{self, Files, Hop, link_rate, propagation, rate_bps};
use crate::unit::{BufferSize, Duration, Rate, Scalar, scaled};

/// How hosts are attached to a row of routers: those on the left where their flows enter it, those on the right where
/// these leave it.
#[derive(Clone, Debug)]
pub struct Access {
    /// Rate of each access link.
    pub rate_bps: u64,
    /// Delay of each access link.
    pub delay_ns: u64,
    /// Limit of the queues of access links.
    pub buffer: BufferSize,
    /// Hosts on each side that flows share in turn; `None`: each flow has its own pair.
    pub pairs: Option<u32>,
}

/// Rate of access links: their own, or so many thousandths of the fastest hop's.
#[derive(Clone, Copy)]
enum AccessRate {
    Own(Rate),
    Milli(u64),
}

const X_BOTTLENECK: &str = "x bottleneck";

impl Scalar for AccessRate {
    const KIND: Kind = Kind::AccessRate;

    fn read(raw: &Raw) -> Result<Self, String> {
        if let Raw::Text(text) = raw
            && let Some(factor) = text.trim().strip_suffix(X_BOTTLENECK)
        {
            let milli = scaled(factor.trim(), 1_000).ok().filter(|milli| *milli > 0);
            return milli
                .map(Self::Milli)
                .ok_or_else(|| "write for example \"2 x bottleneck\"".to_owned());
        }
        Rate::read(raw)
            .map(Self::Own)
            .map_err(|why| format!("{why}, or \"2 x bottleneck\""))
    }

    fn shown(&self) -> String {
        match self {
            Self::Own(rate) => rate.shown(),
            Self::Milli(milli) => quoted(&format!("{} {X_BOTTLENECK}", *milli as f64 / 1_000.0)),
        }
    }
}

/// Hosts on each side: a number, or a pair for each flow.
pub(super) struct Pairs(Option<u32>);

impl Scalar for Pairs {
    const KIND: Kind = Kind::Or(&Kind::Whole(1, u32::MAX), "per flow");

    fn read(raw: &Raw) -> Result<Self, String> {
        let allowed = "a number of pairs of hosts from 1 is needed, or \"per flow\"";
        match raw {
            Raw::Text(text) if text == "per flow" => Ok(Self(None)),
            Raw::Number(text) => match text.parse() {
                Ok(0) | Err(_) => Err(allowed.to_owned()),
                Ok(pairs) => Ok(Self(Some(pairs))),
            },
            _ => Err(allowed.to_owned()),
        }
    }

    fn shown(&self) -> String {
        self.0.map_or_else(|| quoted("per flow"), |pairs| pairs.to_string())
    }
}

keys! {
    ACCESS;
    RATE: AccessRate =
        Declared::new("rate", Is("\"2 x bottleneck\""), "a rate, or a multiple of the fastest hop's");
    DELAY: Duration =
        Declared::new("delay", Is("\"8 ms\""), "propagation delay, one way").checked(propagation);
    BUFFER: BufferSize = Declared::new("buffer", Is("\"10000 pkt\""), "limit of the queue");
}

pub(super) const PAIRS: Declared<Pairs> = Declared::new(
    "pairs",
    Is("\"per flow\""),
    "dumbbell: number of host pairs that the flows share in turn",
);

pub(super) const HOPS: Key = key(
    "hops",
    Kind::List(&Kind::Rate),
    Needed,
    "parking lot: the rate of each hop, `[\"4 Mbit/s\", \"2 Mbit/s\"]`; a list of lists sweeps it",
)
.only(&Only {
    decided_by: "preset",
    by_presence: false,
    choice: "preset = \"parking-lot\"",
    remedy: "leave it out, or choose that preset",
});

/// The keys that all hops of a parking lot have in common.
pub(crate) const HOP: &[Key] = &[hop::DELAY.key, hop::BUFFER.key];

/// Reads a row with one hop.
pub fn dumbbell(reader: &mut Reader<'_>, files: &mut Files<'_>) -> Result<Topology, Refusal> {
    let hop = Hop::read(reader, files, "topology.bottleneck", "bottleneck", true)?;
    let mut row = with_access(reader, vec![hop])?;
    if let Some(access) = &mut row.access {
        access.pairs = reader.take("topology", &PAIRS)?.0;
    }
    Ok(row)
}

/// Reads a row with several hops.
pub fn parking_lot(reader: &mut Reader<'_>) -> Result<Topology, Refusal> {
    let hops = hops(reader)?;
    with_access(reader, hops)
}

/// Adds the channel of every hop and the access links.
fn with_access(reader: &mut Reader<'_>, mut hops: Vec<Hop>) -> Result<Topology, Refusal> {
    let fastest_bps = hops.iter().map(|hop| rate_bps(&hop.capacity)).max().unwrap_or(0);
    let table = "topology.access";
    let rate_bps = match reader.take(table, &RATE)? {
        AccessRate::Own(rate) => link_rate(rate.0),
        AccessRate::Milli(milli) => u64::try_from(u128::from(fastest_bps) * u128::from(milli) / 1_000)
            .map_err(|_| "the rate does not fit into 64 bits".to_owned())
            .and_then(link_rate),
    };
    let rate_bps = rate_bps.map_err(|why| reader.refuse("topology.access.rate", &why))?;
    let delay_ns = reader.take(table, &DELAY)?.0;
    let buffer = reader.take(table, &BUFFER)?;
    let channel = channel::read(reader, channel::TABLE)?;
    let layer = layer::read(reader, channel::TABLE, channel.is_some())?;
    for hop in &mut hops {
        hop.channel.clone_from(&channel);
        hop.layer.clone_from(&layer);
    }
    Ok(Topology {
        nodes: (0..=hops.len()).map(|index| format!("router.{}", index + 1)).collect(),
        hops,
        access: Some(Access {
            rate_bps,
            delay_ns,
            buffer,
            pairs: None,
        }),
    })
}

fn hops(reader: &mut Reader<'_>) -> Result<Vec<Hop>, Refusal> {
    let rates = hop_rates(reader)?;
    let table = "topology.hop";
    let delay_ns = reader.take(table, &hop::DELAY)?.0;
    let buffer = reader.take(table, &hop::BUFFER)?;
    let hop = |(index, rate_bps): (usize, &u64)| {
        let capacity = CapacitySpec::Constant { rate_bps: *rate_bps };
        let name = format!("hop.{}", index + 1);
        Hop {
            from: index,
            to: index + 1,
            is_duplex: true,
            is_shown: true,
            name,
            capacity: capacity.clone(),
            capacity_back: capacity,
            delay_ns,
            buffer,
            buffer_back: buffer,
            channel: None,
            layer: LinkLayer::default(),
            router: None,
            router_is_fair: None,
        }
    };
    Ok(rates.iter().enumerate().map(hop).collect())
}

/// Most hops of a parking lot.
const HOPS_MAX: usize = 1_000;

fn hop_rates(reader: &mut Reader<'_>) -> Result<Vec<u64>, Refusal> {
    let path = &HOPS.path("topology");
    let example = "give the rate of each hop, for example hops = [\"4 Mbit/s\", \"2 Mbit/s\"]";
    let node: &Node = reader.node(path).ok_or_else(|| reader.missing(path, example))?;
    let Raw::List(items) = &node.raw else {
        return Err(reader.refuse(path, example));
    };
    if items.is_empty() || items.len() > HOPS_MAX {
        return Err(reader.refuse(path, &format!("allowed is 1 to {HOPS_MAX} hops; {example}")));
    }
    let mut rates = Vec::new();
    for item in items {
        let rate = Rate::read(&item.raw).and_then(|rate| link_rate(rate.0));
        let rate = rate.map_err(|why| Refusal::new(&item.place, format!("{path} = {}: {why}", item.raw.shown())))?;
        rates.push(rate);
    }
    let shown: Vec<String> = rates.iter().map(|rate| Rate(*rate).shown()).collect();
    reader.note(path, format!("[{}]", shown.join(", ")));
    Ok(rates)
}
