//! `[topology]`: the presets `dumbbell` and `parking-lot`, as a row of hops between routers.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fadelab_path::trace::Trace;
use fadelab_sim::spec::CapacitySpec;

use crate::document::{Node, Place, Raw, quoted};
use crate::error::Refusal;
use crate::reader::Reader;
use crate::trace::Traces;
use crate::unit::{BufferSize, Duration, Rate, Scalar, positive, scaled};

/// A row of routers with a pair of links between neighbours, and how hosts are attached to them.
#[derive(Clone, Debug)]
pub struct Topology {
    /// From the left to the right; at least one.
    pub hops: Vec<Hop>,
    /// Rate of each access link.
    pub access_rate_bps: u64,
    /// Delay of each access link.
    pub access_delay_ns: u64,
    /// Limit of the queues of access links.
    pub access_buffer: BufferSize,
    /// Hosts on each side that flows share in turn; `None`: each flow has its own pair.
    pub pairs: Option<u32>,
}

/// A pair of links between two routers.
#[derive(Clone, Debug)]
pub struct Hop {
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

/// Rate of access links: their own, or so many thousandths of the fastest hop's.
#[derive(Clone, Copy)]
enum AccessRate {
    Own(Rate),
    Milli(u64),
}

const X_BOTTLENECK: &str = "x bottleneck";

impl Scalar for AccessRate {
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
struct Pairs(Option<u32>);

impl Scalar for Pairs {
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

/// Reads the section. Paths of traces are relative to `folder`, those of `--set` to the working directory.
pub fn read(reader: &mut Reader<'_>, traces: &mut Traces, folder: &Path) -> Result<Topology, Refusal> {
    let presets = [("dumbbell", false), ("parking-lot", true)];
    let is_parking_lot = reader.choice("topology.preset", Some("dumbbell"), &presets)?;
    let hops = if is_parking_lot {
        parking_lot(reader)?
    } else {
        vec![bottleneck(reader, traces, folder)?]
    };
    let fastest_bps = hops.iter().map(|hop| rate_bps(&hop.capacity)).max().unwrap_or(0);
    let access_rate_bps = reader.map(
        "topology.access.rate",
        Some(AccessRate::Milli(2_000)),
        "",
        |rate| match rate {
            AccessRate::Own(rate) => positive(rate.0, "a rate"),
            AccessRate::Milli(milli) => u64::try_from(u128::from(fastest_bps) * u128::from(milli) / 1_000)
                .map_err(|_| "the rate does not fit into 64 bits".to_owned()),
        },
    )?;
    Ok(Topology {
        hops,
        access_rate_bps,
        access_delay_ns: delay(reader, "topology.access.delay", Some(Duration(8_000_000)))?,
        access_buffer: reader.or("topology.access.buffer", BufferSize::Packets(10_000))?,
        pairs: if is_parking_lot {
            None
        } else {
            reader.or("topology.pairs", Pairs(None))?.0
        },
    })
}

/// Longest propagation delay, 1000 s, so that round trips over all hops fit into 64 bits of ns.
const DELAY_NS_MAX: u64 = 1_000_000_000_000;

fn delay(reader: &mut Reader<'_>, path: &str, default: Option<Duration>) -> Result<u64, Refusal> {
    reader.map(
        path,
        default,
        "give the one-way delay, for example \"80 ms\"",
        |delay| {
            if delay.0 <= DELAY_NS_MAX {
                Ok(delay.0)
            } else {
                Err("a delay is at most \"1000 s\"".to_owned())
            }
        },
    )
}

fn bottleneck(reader: &mut Reader<'_>, traces: &mut Traces, folder: &Path) -> Result<Hop, Refusal> {
    let at = |key: &str| format!("topology.bottleneck.{key}");
    let capacity = if let Some(trace) = trace(reader, &at("trace"), traces, folder)? {
        CapacitySpec::Trace(trace)
    } else {
        let example = "give a rate such as \"2 Mbit/s\", or the path of a recorded one in topology.bottleneck.trace";
        let rate_bps = reader.map(&at("rate"), None, example, |rate: Rate| positive(rate.0, "a rate"))?;
        CapacitySpec::Constant { rate_bps }
    };
    let capacity_back = if let Some(trace) = trace(reader, &at("trace_back"), traces, folder)? {
        CapacitySpec::Trace(trace)
    } else {
        let rate_bps = reader.map(&at("rate_back"), Some(Same::<Rate>::Same), "", |rate| match rate {
            Same::Same => Ok(rate_bps(&capacity)),
            Same::Own(rate) => positive(rate.0, "a rate"),
        })?;
        CapacitySpec::Constant { rate_bps }
    };
    let delay_ns = delay(reader, &at("delay"), None)?;
    let buffer = reader.or(&at("buffer"), BufferSize::MilliBdp(1_000))?;
    let buffer_back = match reader.or(&at("buffer_back"), Same::Same)? {
        Same::Same => buffer,
        Same::Own(buffer) => buffer,
    };
    Ok(Hop {
        name: "bottleneck".to_owned(),
        capacity,
        capacity_back,
        delay_ns,
        buffer,
        buffer_back,
    })
}

fn parking_lot(reader: &mut Reader<'_>) -> Result<Vec<Hop>, Refusal> {
    let rates = hop_rates(reader)?;
    let delay_ns = delay(reader, "topology.hop.delay", None)?;
    let buffer = reader.or("topology.hop.buffer", BufferSize::MilliBdp(1_000))?;
    let hop = |(index, rate_bps): (usize, &u64)| {
        let capacity = CapacitySpec::Constant { rate_bps: *rate_bps };
        let name = format!("hop.{}", index + 1);
        Hop {
            name,
            capacity: capacity.clone(),
            capacity_back: capacity,
            delay_ns,
            buffer,
            buffer_back: buffer,
        }
    };
    Ok(rates.iter().enumerate().map(hop).collect())
}

/// Most hops of a parking lot.
const HOPS_MAX: usize = 1_000;

fn hop_rates(reader: &mut Reader<'_>) -> Result<Vec<u64>, Refusal> {
    let path = "topology.hops";
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
        let rate = Rate::read(&item.raw).and_then(|rate| positive(rate.0, "a rate"));
        let rate = rate.map_err(|why| Refusal::new(&item.place, format!("{path} = {}: {why}", item.raw.shown())))?;
        rates.push(rate);
    }
    let shown: Vec<String> = rates.iter().map(|rate| Rate(*rate).shown()).collect();
    reader.note(path, format!("[{}]", shown.join(", ")));
    Ok(rates)
}

/// The trace at the path that a key gives, if it gives one.
fn trace(
    reader: &mut Reader<'_>,
    key: &str,
    traces: &mut Traces,
    folder: &Path,
) -> Result<Option<Arc<Trace>>, Refusal> {
    let Some(node) = reader.node(key) else { return Ok(None) };
    let given = String::read(&node.raw).map_err(|why| reader.refuse(key, &why))?;
    // A path given with --set would mean another file once it stands in the resolved scenario: make it absolute.
    let path = match node.place {
        Place::Set(_) => std::path::absolute(&given).unwrap_or_else(|_| PathBuf::from(&given)),
        Place::Line { .. } => PathBuf::from(&given),
    };
    let trace = traces
        .get(&folder.join(&path))
        .map_err(|why| reader.refuse(key, &why))?;
    reader.note(key, quoted(&path.to_string_lossy()));
    Ok(Some(trace))
}
