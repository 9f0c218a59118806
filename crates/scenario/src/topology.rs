//! `[topology]`: which shape the network has, and what a pair of links between two of its nodes is.

pub(crate) mod graph;
pub(crate) mod row;
pub(crate) mod trace_rules;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fadelab_laws::Router;
use fadelab_path::layer::LinkLayer;
use fadelab_path::spec::CapacitySpec;
use fadelab_path::trace::{Trace, TraceRules};

use crate::channel::Channel;
use crate::document::{Place, Raw, quoted};
use crate::error::Refusal;
use crate::kind::Kind;
use crate::reader::Reader;
use crate::trace::Traces;
use crate::unit::{BufferSize, Duration, Rate, Scalar, positive};

use row::Access;

/// The shape of the network, of which [`crate::network`] makes nodes and links.
#[derive(Clone, Debug)]
pub struct Topology {
    /// Names of the nodes, in the order of their numbers; hosts of access links aside.
    pub nodes: Vec<String>,
    /// What joins them, in the order in which it is written.
    pub hops: Vec<Hop>,
    /// How hosts are attached to a row of routers, each hop of which leads to the next; `None`: flows run between any
    /// two nodes.
    pub access: Option<Access>,
}

/// A link and, where there is one, the link back.
#[derive(Clone, Debug)]
pub struct Hop {
    /// The node where the forward link begins.
    pub from: usize,
    /// The node where it ends.
    pub to: usize,
    /// Whether there is a link back.
    pub is_duplex: bool,
    /// Whether results show what carries data.
    pub is_shown: bool,
    /// Name of the forward link; the one back has `.back` after it.
    pub name: String,
    /// What the forward link can carry.
    pub capacity: CapacitySpec,
    /// What the link back can carry.
    pub capacity_back: CapacitySpec,
    /// Delay of either.
    pub delay_ns: u64,
    /// Limit of the forward queue.
    pub buffer: BufferSize,
    /// Limit of the queue back.
    pub buffer_back: BufferSize,
    /// Channel of either; `None` is a wire.
    pub channel: Option<Channel>,
    /// What either does behind its transmitter.
    pub layer: LinkLayer,
    /// Law of either's router; `None` is that of the run.
    pub router: Option<&'static Router>,
    /// Whether its name asks for fair queues; `None`: as that of the run.
    pub router_is_fair: Option<bool>,
}

/// Traces that were read, and the folder that their paths are relative to.
pub struct Files<'a> {
    /// Traces that were read.
    pub traces: &'a mut Traces,
    /// Folder of the scenario.
    pub folder: &'a Path,
}

impl Hop {
    /// Reads `rate`, `trace`, `delay`, `buffer` and, where there is a link back, the same for it, from one table. It
    /// joins the first two nodes.
    pub fn read(
        reader: &mut Reader<'_>,
        files: &mut Files<'_>,
        table: &str,
        name: &str,
        is_duplex: bool,
    ) -> Result<Self, Refusal> {
        let at = |key: &str| format!("{table}.{key}");
        let rules = trace_rules::read(reader, table, is_duplex)?;
        let capacity = if let Some(trace) = trace(reader, &at("trace"), rules, files)? {
            CapacitySpec::Trace(trace)
        } else {
            let example = format!(
                "give a rate such as \"2 Mbit/s\", or the path of a recorded one in {}",
                at("trace")
            );
            let rate_bps = reader.map(&at("rate"), None, &example, |rate: Rate| link_rate(rate.0))?;
            CapacitySpec::Constant { rate_bps }
        };
        let delay_ns = delay(reader, &at("delay"))?;
        let buffer = reader.or(&at("buffer"), BufferSize::MilliBdp(1_000))?;
        let (mut capacity_back, mut buffer_back) = (capacity.clone(), buffer);
        if is_duplex {
            capacity_back = if let Some(trace) = trace(reader, &at("trace_back"), rules, files)? {
                CapacitySpec::Trace(trace)
            } else {
                let rate_bps = reader.map(&at("rate_back"), Some(Same::<Rate>::Same), "", |rate| match rate {
                    Same::Same => Ok(rate_bps(&capacity)),
                    Same::Own(rate) => link_rate(rate.0),
                })?;
                CapacitySpec::Constant { rate_bps }
            };
            if let Same::Own(own) = reader.or(&at("buffer_back"), Same::Same)? {
                buffer_back = own;
            }
        }
        Ok(Self {
            from: 0,
            to: 1,
            is_duplex,
            is_shown: true,
            name: name.to_owned(),
            capacity,
            capacity_back,
            delay_ns,
            buffer,
            buffer_back,
            channel: None,
            layer: LinkLayer::default(),
            router: None,
            router_is_fair: None,
        })
    }
}

/// A byte a second.
const LINK_RATE_BPS_MIN: u64 = 8;

/// The rate of a link, in bit/s: at least a byte a second, which is what routers count in.
///
/// # Errors
/// A slower one.
pub fn link_rate(rate_bps: u64) -> Result<u64, String> {
    positive(rate_bps, "a rate")?;
    if rate_bps < LINK_RATE_BPS_MIN {
        return Err(format!(
            "the rate of a link is at least {}",
            Rate(LINK_RATE_BPS_MIN).shown()
        ));
    }
    Ok(rate_bps)
}

/// Rate of a capacity: of a trace, its mean over one period.
pub fn rate_bps(capacity: &CapacitySpec) -> u64 {
    match capacity {
        CapacitySpec::Constant { rate_bps } => *rate_bps,
        CapacitySpec::Trace(trace) => trace.rate_bps_mean(),
    }
}

/// A value, or that of the other direction.
#[derive(Clone, Copy)]
enum Same<T> {
    Same,
    Own(T),
}

impl<T: Scalar> Scalar for Same<T> {
    const KIND: Kind = Kind::Or(&T::KIND, "same");

    fn read(raw: &Raw) -> Result<Self, String> {
        match raw {
            Raw::Text(text) if text == "same" => Ok(Self::Same),
            _ => T::read(raw)
                .map(Self::Own)
                .map_err(|why| format!("{why}, or \"same\" as forward")),
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Same => quoted("same"),
            Self::Own(value) => value.shown(),
        }
    }
}

#[derive(Clone, Copy)]
enum Preset {
    Dumbbell,
    ParkingLot,
    Graph,
}

/// Reads the section. Paths of traces are relative to the scenario's folder, those of `--set` to the working directory.
pub fn read(reader: &mut Reader<'_>, files: &mut Files<'_>) -> Result<Topology, Refusal> {
    let presets = [
        ("dumbbell", Preset::Dumbbell),
        ("parking-lot", Preset::ParkingLot),
        ("graph", Preset::Graph),
    ];
    let default = if reader.node("link").is_some() {
        "graph"
    } else {
        "dumbbell"
    };
    Ok(match reader.choice("topology.preset", Some(default), &presets)? {
        Preset::Dumbbell => row::dumbbell(reader, files)?,
        Preset::ParkingLot => row::parking_lot(reader)?,
        Preset::Graph => graph::read(reader, files)?,
    })
}

/// Longest propagation delay, 1000 s, so that round trips over all hops fit into 64 bits of ns.
const DELAY_NS_MAX: u64 = 1_000_000_000_000;

/// A one-way delay that is not too long.
///
/// # Errors
/// It is.
pub fn propagation(delay: Duration) -> Result<Duration, String> {
    if delay.0 <= DELAY_NS_MAX {
        Ok(delay)
    } else {
        Err("a delay is at most \"1000 s\"".to_owned())
    }
}

/// Reads a one-way delay, which must be given.
pub fn delay(reader: &mut Reader<'_>, path: &str) -> Result<u64, Refusal> {
    let example = "give the one-way delay, for example \"80 ms\"";
    Ok(reader.map(path, None, example, propagation)?.0)
}

/// The trace at the path that a key gives, if it gives one.
fn trace(
    reader: &mut Reader<'_>,
    key: &str,
    rules: TraceRules,
    files: &mut Files<'_>,
) -> Result<Option<Arc<Trace>>, Refusal> {
    let Some(node) = reader.node(key) else { return Ok(None) };
    let given = String::read(&node.raw).map_err(|why| reader.refuse(key, &why))?;
    // A path given with --set would mean another file once it stands in the resolved scenario: make it absolute.
    let path = match node.place {
        Place::Set(_) => std::path::absolute(&given).unwrap_or_else(|_| PathBuf::from(&given)),
        Place::Line { .. } => PathBuf::from(&given),
    };
    let trace = files
        .traces
        .get(&files.folder.join(&path), rules)
        .map_err(|why| reader.refuse(key, &why))?;
    reader.note(key, quoted(&path.to_string_lossy()));
    Ok(Some(trace))
}
