//! `[topology]`: which shape the network has.

pub(crate) mod changes;
pub(crate) mod graph;
pub(crate) mod hop;
pub(crate) mod row;
pub(crate) mod trace_rules;

use crate::error::Refusal;
use crate::key::{Absent::Is, Declared, Key};
use crate::reader::Reader;
use crate::value::words;

pub use hop::{Files, Hop, rate_bps};
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

#[derive(Clone, Copy, PartialEq)]
enum Preset {
    Dumbbell,
    ParkingLot,
    Graph,
}

words!(Preset: "dumbbell" => Self::Dumbbell, "parking-lot" => Self::ParkingLot, "graph" => Self::Graph);

const TABLE: &str = "topology";

const PRESET: Declared<Preset> = Declared::new(
    "preset",
    Is("\"dumbbell\""),
    "one hop, several in a row, or `graph`: nodes and links as `[link.NAME]` says, the default where there are any",
);

/// The keys of the section.
pub(crate) const KEYS: &[Key] = &[PRESET.key, row::PAIRS.key, row::HOPS, graph::NODES];

/// Reads the section. Paths of traces are relative to the scenario's folder, those of `--set` to the working directory.
pub fn read(reader: &mut Reader<'_>, files: &mut Files<'_>) -> Result<Topology, Refusal> {
    let preset = if reader.node("link").is_some() {
        reader.take_or(TABLE, &PRESET, Preset::Graph)?
    } else {
        reader.take(TABLE, &PRESET)?
    };
    match preset {
        Preset::Dumbbell => row::dumbbell(reader, files),
        Preset::ParkingLot => row::parking_lot(reader),
        Preset::Graph => graph::read(reader, files),
    }
}
