//! The table of who got what of a link: a row per group of flows, in the terminal as text and on the page as HTML.

use crate::shares::Share;
use crate::summary::Summary;
use crate::swept;
use crate::table::{Columns, View, ViewRow, digits, percentiles_text, stat_text};

/// A column: its heading, its unit, and how a cell reads.
type Column = (&'static str, &'static str, fn(&Share) -> Option<String>);

const COLUMNS: [Column; 11] = [
    ("flows", "1", |share| Some(share.flows.to_string())),
    ("goodput", "Mbit/s", |share| cell(share, "goodput_bps", 1e-6)),
    ("share", "%", |share| cell(share, "share", 100.0)),
    ("Jain", "1", |share| {
        let jain = share.stat("jain").filter(|_| share.flows > 1)?;
        Some(format!("{:.3}", jain.mean))
    }),
    ("RTT", "ms", |share| Some(digits(share.stat("rtt_ms_mean")?.mean))),
    ("window", "pkt", |share| {
        Some(digits(share.stat("cwnd_pkts_mean")?.mean))
    }),
    ("resent", "%", |share| {
        Some(digits(share.stat("retransmit_rate")?.mean * 100.0))
    }),
    ("transfers", "ended, mean s", |share| {
        let time = share.stat("completion_s_mean")?;
        Some(format!("{:.0}, {}", share.stat("completions")?.mean, digits(time.mean)))
    }),
    ("RTT p50/95/99", "ms", |share| {
        percentiles(share, ["rtt_ms_p50", "rtt_ms_p95", "rtt_ms_p99"])
    }),
    ("wait p50/95/99", "ms", |share| {
        percentiles(share, ["queue_wait_ms_p50", "queue_wait_ms_p95", "queue_wait_ms_p99"])
    }),
    ("times p50/95/99", "s", |share| {
        percentiles(share, ["completion_s_p50", "completion_s_p95", "completion_s_p99"])
    }),
];

/// Columns that the table has only where they are asked for.
const ASKED: [Column; 9] = [
    ("RTT p50", "ms", |share| cell(share, "rtt_ms_p50", 1.0)),
    ("RTT p95", "ms", |share| cell(share, "rtt_ms_p95", 1.0)),
    ("RTT p99", "ms", |share| cell(share, "rtt_ms_p99", 1.0)),
    ("wait p50", "ms", |share| cell(share, "queue_wait_ms_p50", 1.0)),
    ("wait p95", "ms", |share| cell(share, "queue_wait_ms_p95", 1.0)),
    ("wait p99", "ms", |share| cell(share, "queue_wait_ms_p99", 1.0)),
    ("times p50", "s", |share| cell(share, "completion_s_p50", 1.0)),
    ("times p95", "s", |share| cell(share, "completion_s_p95", 1.0)),
    ("times p99", "s", |share| cell(share, "completion_s_p99", 1.0)),
];

fn cell(share: &Share, name: &str, scale: f64) -> Option<String> {
    Some(stat_text(share.stat(name)?, scale))
}

fn percentiles(share: &Share, names: [&str; 3]) -> Option<String> {
    percentiles_text(names.map(|name| share.stat(name)))
}

/// The table of a link that several groups of flows share. `group` of a row is the place among the summary's shares.
pub fn view(summary: &Summary, link: &str, which: Columns) -> Option<View> {
    let here = summary
        .shares
        .iter()
        .enumerate()
        .filter(|(_, share)| share.link == link);
    let shares: Vec<(usize, &Share)> = here.collect();
    let first = shares.first()?.1;
    let keys = swept::names(shares.iter().map(|(_, share)| &share.point));
    let of_law = shares.iter().any(|(_, share)| share.law != first.law);
    let key_cells = |share: &Share| {
        let law = of_law.then(|| share.law.clone());
        let own = [share.group.clone(), share.sender.clone()];
        let coordinates = swept::coordinates(&share.point, &keys).into_iter();
        coordinates.chain(law).chain(own).collect()
    };
    let asked = ASKED.iter().filter(|_| which == Columns::All);
    let shown: Vec<&Column> = COLUMNS
        .iter()
        .chain(asked)
        .filter(|(_, _, cell)| shares.iter().any(|(_, share)| cell(share).is_some()))
        .collect();
    let rows = shares.iter().map(|&(group, share)| ViewRow {
        group,
        keys: key_cells(share),
        cells: shown
            .iter()
            .map(|(_, _, cell)| cell(share).unwrap_or_else(|| "-".to_owned()))
            .collect(),
        best: false,
    });
    let rows = rows.collect();
    let mut keys = swept::shorts(&keys);
    keys.extend(of_law.then(|| "law".to_owned()));
    keys.extend(["group".to_owned(), "sender".to_owned()]);
    Some(View {
        link: link.to_owned(),
        keys,
        headings: shown
            .iter()
            .map(|&&(heading, unit, _)| (heading.to_owned(), unit))
            .collect(),
        rows,
    })
}
