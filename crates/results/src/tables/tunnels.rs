//! The table of what went through tunnels.

use fadelab_run::tunnel::TunnelRecord;

use super::{Keyed, RunKey, key_columns};
use crate::Run;
use crate::columns::{Column, Table};

/// A row of `tunnels.parquet`.
pub struct TunnelRow<'a> {
    key: RunKey<'a>,
    tunnel: &'a TunnelRecord,
}

impl Keyed for TunnelRow<'_> {
    fn key(&self) -> &RunKey<'_> {
        &self.key
    }
}

/// `tunnels.parquet`.
pub fn table<'a>() -> Table<TunnelRow<'a>> {
    let mut columns = key_columns();
    columns.extend([
        Column::text("tunnel", "name of the tunnel", |row: &TunnelRow| &row.tunnel.name),
        Column::count(
            "entered_pkts",
            "pkt",
            "packets that were encapsulated, in both directions",
            |row: &TunnelRow| row.tunnel.entered_pkts,
        ),
        Column::count(
            "left_pkts",
            "pkt",
            "packets that were decapsulated and went on",
            |row: &TunnelRow| row.tunnel.left_pkts,
        ),
        Column::count(
            "dropped_pkts",
            "pkt",
            "packets that the tunnel's rule for the ECN field dropped where they would have left",
            |row: &TunnelRow| row.tunnel.dropped_pkts,
        ),
        Column::count(
            "no_sa_entering_pkts",
            "pkt",
            "packets that were dropped where they would have entered, since there was no security association",
            |row: &TunnelRow| row.tunnel.no_sa_entering_pkts,
        ),
        Column::count(
            "no_sa_leaving_pkts",
            "pkt",
            "packets that were dropped where they would have left, since theirs was no more",
            |row: &TunnelRow| row.tunnel.no_sa_leaving_pkts,
        ),
    ]);
    Table {
        name: "tunnels",
        about: "What went through each tunnel in the measured interval; on kernels what the SAs of both ends counted.",
        columns,
    }
}

pub(super) fn rows<'a>(run: &'a Run, key: RunKey<'a>) -> Vec<TunnelRow<'a>> {
    let row = |tunnel| TunnelRow { key, tunnel };
    run.record.tunnels.iter().map(row).collect()
}
