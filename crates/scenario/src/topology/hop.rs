//! A pair of links between two nodes: its keys, and how they are read.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fadelab_laws::Router;
use fadelab_path::layer::LinkLayer;
use fadelab_path::spec::CapacitySpec;
use fadelab_path::trace::{Trace, TraceRules};

use super::changes::{self, RATE_CHANGES, RATE_CHANGES_BACK};
use super::trace_rules::{self, TRACE_RULES};
use crate::channel::Channel;
use crate::document::{Place, quoted};
use crate::error::Refusal;
use crate::key::{
    Absent::{Is, Needed, Nothing},
    Declared, Key, Only, key,
};
use crate::kind::Kind;
use crate::reader::Reader;
use crate::trace::Traces;
use crate::unit::{BufferSize, Duration, Rate, Scalar, positive};
use crate::value::Same;

/// The keys of a link, and of its link back.
pub(crate) const KEYS: &[Key] = &[
    RATE.key,
    RATE_BACK.key,
    RATE_CHANGES.key,
    RATE_CHANGES_BACK.key,
    TRACE,
    TRACE_BACK,
    TRACE_RULES.key,
    DELAY.key,
    BUFFER.key,
    BUFFER_BACK.key,
];

/// Without an example: what to give names the other key beside it.
pub(super) const RATE: Declared<Rate> = Declared::new("rate", Needed, "capacity of the link")
    .checked(checked_rate)
    .only(&Only {
        decided_by: "trace",
        by_presence: true,
        choice: "a link without a trace",
        remedy: "give one of the two, since a trace says what the link carries",
    });

pub(super) const RATE_BACK: Declared<Same<Rate>> = Declared::new(
    "rate_back",
    Is("\"same\""),
    "capacity of the link back; `\"same\"` is that of `rate`, or the mean of `trace`",
)
.checked(|rate| match rate {
    Same::Same => Ok(rate),
    Same::Own(own) => checked_rate(own).map(Same::Own),
});

pub(super) const TRACE: Key = key(
    "trace",
    Kind::Path,
    Nothing,
    "instead of `rate`: path of a recorded capacity in the format of mahimahi, relative to the scenario file; with \
     `--set` relative to the working directory",
);

pub(super) const TRACE_BACK: Key = key(
    "trace_back",
    Kind::Path,
    Nothing,
    "instead of `rate_back`: path of a recorded capacity",
);

pub(super) const DELAY: Declared<Duration> = Declared::needed(
    "delay",
    "give the one-way delay, for example \"80 ms\"",
    "propagation delay, one way, at most 1000 s",
)
.checked(propagation);

pub(super) const BUFFER: Declared<BufferSize> = Declared::new(
    "buffer",
    Is("\"1 BDP\""),
    "limit of the queue, the packet in transmission excluded",
);

pub(super) const BUFFER_BACK: Declared<Same<BufferSize>> =
    Declared::new("buffer_back", Is("\"same\""), "the same for the link back");

fn checked_rate(rate: Rate) -> Result<Rate, String> {
    link_rate(rate.0).map(Rate)
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
    /// Reads [`KEYS`] of one table, those of the link back where there is one. It joins the first two nodes.
    pub fn read(
        reader: &mut Reader<'_>,
        files: &mut Files<'_>,
        table: &str,
        name: &str,
        is_duplex: bool,
    ) -> Result<Self, Refusal> {
        let rules = trace_rules::read(reader, table, is_duplex)?;
        let capacity = if let Some(trace) = trace(reader, &TRACE.path(table), rules, files)? {
            CapacitySpec::Trace(trace)
        } else {
            let example = format!(
                "give a rate such as \"2 Mbit/s\", or the path of a recorded one in {}",
                TRACE.path(table)
            );
            let rate = reader.map(&RATE.key.path(table), None, &example, RATE.check)?;
            changes::capacity(rate.0, &reader.take(table, &RATE_CHANGES)?)
        };
        let delay_ns = reader.take(table, &DELAY)?.0;
        let buffer = reader.take(table, &BUFFER)?;
        let (mut capacity_back, mut buffer_back) = (capacity.clone(), buffer);
        if is_duplex {
            capacity_back = if let Some(trace) = trace(reader, &TRACE_BACK.path(table), rules, files)? {
                CapacitySpec::Trace(trace)
            } else {
                let rate_bps = match reader.take(table, &RATE_BACK)? {
                    Same::Same => rate_bps(&capacity),
                    Same::Own(rate) => rate.0,
                };
                changes::capacity(rate_bps, &reader.take(table, &RATE_CHANGES_BACK)?)
            };
            if let Same::Own(own) = reader.take(table, &BUFFER_BACK)? {
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

/// Rate of a capacity: where it changes, that of the beginning; of a trace, its mean over one period.
pub fn rate_bps(capacity: &CapacitySpec) -> u64 {
    match capacity {
        CapacitySpec::Constant { rate_bps } => *rate_bps,
        CapacitySpec::Changing(rates) => rates.first_bps(),
        CapacitySpec::Trace(trace) => trace.rate_bps_mean(),
    }
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
