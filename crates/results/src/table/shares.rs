//! The table of who got what of a link: a row per group of flows, in the terminal as text and on the page as HTML.

use crate::distinct::in_order;
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

/// Columns that the table has only where columns are asked for: with intervals, also those that it has without them
/// otherwise.
const ASKED: [Column; 13] = [
    ("Jain", "1", |share| {
        Some(stat_text(share.stat("jain").filter(|_| share.flows > 1)?, 1.0))
    }),
    ("RTT", "ms", |share| cell(share, "rtt_ms_mean", 1.0)),
    ("window", "pkt", |share| cell(share, "cwnd_pkts_mean", 1.0)),
    ("resent", "%", |share| cell(share, "retransmit_rate", 100.0)),
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
/// `laws` are the labels of the only laws that it has, all where there is none.
pub fn view(summary: &Summary, link: &str, which: Columns, laws: &[String]) -> Option<View> {
    let is_here = |share: &Share| share.link == link && (laws.is_empty() || laws.contains(&share.law));
    let shares = summary.shares.iter().enumerate().filter(|(_, share)| is_here(share));
    let shares: Vec<(usize, &Share)> = shares.collect();
    let first = shares.first()?.1;
    let keys = swept::names(shares.iter().map(|(_, share)| &share.point));
    // A column of a paper has no room for names of groups that their laws tell apart.
    let who = |share: &Share| (share.point.clone(), share.law.clone(), share.sender.clone());
    let told = in_order(shares.iter().map(|(_, share)| who(share))).len() == shares.len();
    let is_grouped = which == Columns::Usual || !told;
    let of_law = shares.iter().any(|(_, share)| share.law != first.law);
    let key_cells = |share: &Share| {
        let law = of_law.then(|| share.law.clone());
        let own = is_grouped
            .then(|| share.group.clone())
            .into_iter()
            .chain([share.sender.clone()]);
        let coordinates = swept::coordinates(&share.point, &keys).into_iter();
        coordinates.chain(law).chain(own).collect()
    };
    let asked = ASKED.iter().filter(|_| which == Columns::All);
    let usual = COLUMNS
        .iter()
        .filter(|usual| asked.clone().all(|column| column.0 != usual.0));
    let shown: Vec<&Column> = usual
        .chain(asked.clone())
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
    keys.extend(is_grouped.then(|| "group".to_owned()));
    keys.push("sender".to_owned());
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
