//! Every key of a scenario, declared once: its type, default and meaning.
//!
//! Unknown keys are refused by this list, the order of resolved scenarios and of sweeps follows it, and the tables of
//! `docs/scenario.md` and the JSON Schema for editors are made from it. Rows stand where their section is read: the
//! reader takes them, and the default with them.

use crate::key::Key;
use crate::topology::{self, changes, graph, hop, row};
use crate::{capacity, channel, flows, layer, queues, run, title, transport, tunnels, versus};

/// A table of a scenario, or several with the same keys.
#[derive(Debug)]
pub struct Table {
    /// Its dotted paths, empty for the top; `*` stands for a name that the scenario chooses.
    pub paths: &'static [&'static str],
    /// In the order of resolved scenarios.
    pub keys: &'static [Key],
}

const ROUTER: &[Key] = &[
    capacity::CAPACITY.key,
    changes::TOLD.key,
    queues::QUEUES.key,
    queues::QUANTUM.key,
];

/// Every table but `[law.NAME]`, `[router.NAME]`, `[capacity.NAME]` and `[tunnel.NAME.params]`, whose keys the laws'
/// headers declare.
pub const TABLES: &[Table] = &[
    table(&[""], title::KEYS),
    table(&["run"], run::KEYS),
    table(&["topology"], topology::KEYS),
    table(&["topology.hop"], row::HOP),
    table(&["topology.bottleneck"], hop::KEYS),
    table(&["topology.access"], row::ACCESS),
    table(&["link.*"], graph::LINK),
    table(&["tunnel.*"], tunnels::KEYS),
    table(&["channel", "channel.*"], channel::KEYS),
    table(&["channel.code", "channel.*.code"], channel::CODE_KEYS),
    table(&["channel.arq", "channel.*.arq"], layer::ARQ),
    table(&["channel.jitter", "channel.*.jitter"], layer::JITTER),
    table(&["channel.reorder", "channel.*.reorder"], layer::REORDER),
    table(&["transport"], transport::KEYS),
    table(&["versus"], versus::KEYS),
    table(&["flow", "flow.*"], flows::KEYS),
    table(&["router"], ROUTER),
];

const fn table(paths: &'static [&'static str], keys: &'static [Key]) -> Table {
    Table { paths, keys }
}
