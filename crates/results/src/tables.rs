//! The five Parquet tables: what their rows are and what their columns mean.

use std::path::Path;

use fadelab_sim::record::{Completion, FlowCounters, LinkCounters};

use crate::columns::{Column, Table, Value};
use crate::measure::{self, Figures, METRICS, Metric};
use crate::{Error, Experiment, Run};

/// Where the runs of this crate's tables come from; emulated and deployed runs will name theirs.
pub const GROUND: &str = "sim";

/// What every row begins with: the run it belongs to.
#[derive(Clone, Copy, Debug)]
pub struct RunKey<'a> {
    index: u64,
    law: &'a str,
    point: &'a str,
    seed: u64,
}

/// Rows that say which run they belong to.
pub trait Keyed {
    /// The run.
    fn key(&self) -> &RunKey<'_>;
}

fn key_columns<R: Keyed>() -> Vec<Column<R>> {
    vec![
        Column::text("ground", "where it was run: `sim`, the simulator", |_| GROUND),
        Column::key("run", "number of the run in the plan, from 0", |row| row.key().index),
        Column::key("seed", "seed of all random streams of the run", |row| row.key().seed),
        Column::text("law", "label of the law or of the laws that were compared", |row| {
            row.key().law
        }),
        Column::text(
            "point",
            "other coordinates of the sweep, `key=value` each; empty without a sweep",
            |row| row.key().point,
        ),
    ]
}

/// A row of `links.parquet`.
pub struct LinkRow<'a> {
    key: RunKey<'a>,
    link: &'a str,
    time_ns: u64,
    counters: &'a LinkCounters,
}

/// A row of `flows.parquet`.
pub struct FlowRow<'a> {
    key: RunKey<'a>,
    flow: &'a str,
    time_ns: u64,
    counters: &'a FlowCounters,
}

/// A row of `runs.parquet`.
pub struct RunRow<'a> {
    key: RunKey<'a>,
    link: &'a str,
    measured_ns: u64,
    from: &'a LinkCounters,
    to: &'a LinkCounters,
    figures: Figures,
}

/// A row of `flow_totals.parquet`.
pub struct FlowTotalRow<'a> {
    key: RunKey<'a>,
    flow: &'a str,
    group: &'a str,
    measured_ns: u64,
    from: &'a FlowCounters,
    to: &'a FlowCounters,
}

/// A row of `completions.parquet`.
pub struct CompletionRow<'a> {
    key: RunKey<'a>,
    flow: &'a str,
    group: &'a str,
    completion: Completion,
}

macro_rules! keyed {
    ($($row:ident),*) => {$(
        impl Keyed for $row<'_> {
            fn key(&self) -> &RunKey<'_> {
                &self.key
            }
        }
    )*};
}
keyed!(LinkRow, FlowRow, RunRow, FlowTotalRow, CompletionRow);

/// Parquet has no 128-bit integers. Microseconds keep the integral exact to a part in 10^9 of any that matters.
fn per_us(integral_ns: u128) -> u64 {
    u64::try_from(integral_ns / 1000).unwrap_or(i64::MAX as u64)
}

/// `links.parquet`.
pub fn links<'a>() -> Table<LinkRow<'a>> {
    macro_rules! counter {
        ($name:ident, $unit:literal, $about:literal) => {
            Column::count(stringify!($name), $unit, $about, |row: &LinkRow| {
                u64::from(row.counters.$name)
            })
        };
    }
    let mut columns = key_columns();
    columns.extend([
        Column::text("link", "name of the link", |row: &LinkRow| row.link),
        Column::count("time_ns", "ns", "virtual time of the sample", |row| row.time_ns),
        counter!(
            arrived_pkts,
            "pkt",
            "packets that reached the queue so far, later dropped ones included"
        ),
        counter!(arrived_bytes, "B", "their on-air bytes"),
        counter!(sent_pkts, "pkt", "packets whose transmission ended so far"),
        counter!(sent_bytes, "B", "their on-air bytes"),
        counter!(
            offered_bytes,
            "B",
            "on-air bytes that the transmitter could have sent so far, used or not"
        ),
        counter!(dropped_full_pkts, "pkt", "packets that found the queue full so far"),
        counter!(dropped_law_pkts, "pkt", "packets dropped by the router's law so far"),
        counter!(lost_air_pkts, "pkt", "packets lost on the air so far"),
        counter!(
            marked_pkts,
            "pkt",
            "packets sent so far whose ECN field or feedback the law changed"
        ),
        Column::count(
            "queue_byte_us",
            "B µs",
            "integral over time of the bytes waiting, so far",
            |row| per_us(row.counters.queue_byte_ns),
        ),
        Column::count(
            "queue_pkt_us",
            "pkt µs",
            "integral over time of the packets waiting, so far",
            |row| per_us(row.counters.queue_pkt_ns),
        ),
        counter!(
            queue_bytes,
            "B",
            "on-air bytes waiting at this instant, the packet in transmission excluded"
        ),
        counter!(queue_pkts, "pkt", "packets waiting at this instant"),
        counter!(sent_data_pkts, "pkt", "data packets sent so far"),
        counter!(lost_air_data_pkts, "pkt", "data packets lost on the air so far"),
    ]);
    Table {
        name: "links",
        about: "A sample of a shown link. Counters are cumulative; rates are differences.",
        columns,
    }
}

/// `flows.parquet`.
pub fn flows<'a>() -> Table<FlowRow<'a>> {
    macro_rules! counter {
        ($name:ident, $unit:literal, $about:literal) => {
            Column::count(stringify!($name), $unit, $about, |row: &FlowRow| {
                u64::from(row.counters.$name)
            })
        };
    }
    let mut columns = key_columns();
    columns.extend([
        Column::text("flow", "name of the flow", |row: &FlowRow| row.flow),
        Column::count("time_ns", "ns", "virtual time of the sample", |row| row.time_ns),
        counter!(sent_pkts, "pkt", "data packets sent so far, retransmissions included"),
        counter!(retransmitted_pkts, "pkt", "retransmissions so far"),
        counter!(
            delivered_bytes,
            "B",
            "payload that the receiving application got so far, in order and once"
        ),
        counter!(timeouts, "1", "retransmission timeouts so far"),
        counter!(recoveries, "1", "fast recoveries entered so far"),
        counter!(ecn_reductions, "1", "reactions to ECN echoes so far"),
        counter!(rtt_samples, "1", "RTT samples so far"),
        counter!(rtt_us_sum, "µs", "sum of the RTT samples so far"),
        counter!(cwnd_pkts, "pkt", "congestion window at this instant"),
        counter!(ssthresh_pkts, "pkt", "slow start threshold at this instant"),
        counter!(srtt_us, "µs", "smoothed RTT at this instant; 0: no sample yet"),
        counter!(in_flight_pkts, "pkt", "packets in flight at this instant"),
    ]);
    Table {
        name: "flows",
        about: "A sample of a flow. Counters are cumulative; rates are differences.",
        columns,
    }
}

/// `runs.parquet`.
pub fn runs<'a>() -> Table<RunRow<'a>> {
    macro_rules! total {
        ($name:ident, $unit:literal, $about:literal) => {
            Column::count(stringify!($name), $unit, $about, |row: &RunRow| {
                row.to.$name - row.from.$name
            })
        };
    }
    let mut columns = key_columns();
    columns.extend([
        Column::text("link", "name of the link", |row: &RunRow| row.link),
        Column::count("measured_ns", "ns", "length of the measured interval", |row| {
            row.measured_ns
        }),
        total!(
            arrived_pkts,
            "pkt",
            "packets that reached the queue, later dropped ones included"
        ),
        total!(arrived_bytes, "B", "their on-air bytes"),
        total!(sent_pkts, "pkt", "packets whose transmission ended"),
        total!(sent_bytes, "B", "their on-air bytes"),
        total!(
            offered_bytes,
            "B",
            "on-air bytes that the transmitter could have sent, used or not"
        ),
        total!(dropped_full_pkts, "pkt", "packets that found the queue full"),
        total!(dropped_law_pkts, "pkt", "packets dropped by the router's law"),
        total!(lost_air_pkts, "pkt", "packets lost on the air"),
        total!(
            marked_pkts,
            "pkt",
            "packets sent whose ECN field or feedback the law changed"
        ),
        total!(sent_data_pkts, "pkt", "data packets sent"),
        total!(lost_air_data_pkts, "pkt", "data packets lost on the air"),
    ]);
    columns.extend(METRICS.iter().map(|info| Column {
        name: info.name,
        unit: info.unit,
        about: info.about,
        value: Value::Real(METRIC_GETTERS[info.metric as usize]),
    }));
    Table {
        name: "runs",
        about: "A shown link in a run: totals and figures over the measured interval (warm-up to end). \
                Figures about flows are over the flows whose data cross the link.",
        columns,
    }
}

/// A column takes a plain function, so each metric needs one of its own.
const METRIC_GETTERS: [fn(&RunRow) -> Option<f64>; measure::METRICS_N] = [
    |row| row.figures.get(Metric::Utilisation),
    |row| row.figures.get(Metric::UtilisationSd),
    |row| row.figures.get(Metric::UtilisationMin),
    |row| row.figures.get(Metric::UtilisationMax),
    |row| row.figures.get(Metric::Goodput),
    |row| row.figures.get(Metric::Jain),
    |row| row.figures.get(Metric::QueuePkts),
    |row| row.figures.get(Metric::QueueWait),
    |row| row.figures.get(Metric::DropRate),
    |row| row.figures.get(Metric::MarkRate),
    |row| row.figures.get(Metric::AirLoss),
    |row| row.figures.get(Metric::AirLossExact),
    |row| row.figures.get(Metric::Rtt),
    |row| row.figures.get(Metric::RetransmitRate),
    |row| row.figures.get(Metric::Timeouts),
    |row| row.figures.get(Metric::Completions),
    |row| row.figures.get(Metric::CompletionTime),
];

/// `flow_totals.parquet`.
pub fn flow_totals<'a>() -> Table<FlowTotalRow<'a>> {
    macro_rules! total {
        ($name:ident, $unit:literal, $about:literal) => {
            Column::count(stringify!($name), $unit, $about, |row: &FlowTotalRow| {
                row.to.$name - row.from.$name
            })
        };
    }
    let mut columns = key_columns();
    columns.extend([
        Column::text("flow", "name of the flow", |row: &FlowTotalRow| row.flow),
        Column::text("group", "group of the flow", |row: &FlowTotalRow| row.group),
        Column::count("measured_ns", "ns", "length of the measured interval", |row| {
            row.measured_ns
        }),
        total!(sent_pkts, "pkt", "data packets sent, retransmissions included"),
        total!(retransmitted_pkts, "pkt", "retransmissions"),
        total!(
            delivered_bytes,
            "B",
            "payload that the receiving application got, in order and once"
        ),
        total!(timeouts, "1", "retransmission timeouts"),
        total!(recoveries, "1", "fast recoveries entered"),
        total!(ecn_reductions, "1", "reactions to ECN echoes"),
        total!(rtt_samples, "1", "RTT samples"),
        total!(rtt_us_sum, "µs", "sum of the RTT samples"),
    ]);
    Table {
        name: "flow_totals",
        about: "A flow in a run: totals over the measured interval.",
        columns,
    }
}

/// `completions.parquet`.
pub fn completions<'a>() -> Table<CompletionRow<'a>> {
    let mut columns = key_columns();
    columns.extend([
        Column::text("flow", "name of the flow", |row: &CompletionRow| row.flow),
        Column::text("group", "group of the flow", |row: &CompletionRow| row.group),
        Column::count("start_ns", "ns", "when the application began to write", |row| {
            row.completion.start_ns
        }),
        Column::count("end_ns", "ns", "when the last byte was acknowledged", |row| {
            row.completion.end_ns
        }),
        Column::count("bytes", "B", "payload of the transfer or session", |row| {
            row.completion.bytes
        }),
    ]);
    Table {
        name: "completions",
        about: "A transfer or session that ended, also before the measured interval, in order of the ends.",
        columns,
    }
}

/// Writes all five tables into `folder`.
pub(crate) fn write(experiment: &Experiment, folder: &Path) -> Result<(), Error> {
    let points: Vec<String> = experiment.runs.iter().map(Run::point_text).collect();
    let runs_keyed = || {
        experiment
            .runs
            .iter()
            .zip(&points)
            .enumerate()
            .map(|(index, (run, point))| {
                (
                    run,
                    RunKey {
                        index: index as u64,
                        law: &run.law,
                        point,
                        seed: run.seed,
                    },
                )
            })
    };
    links().write(folder, runs_keyed().map(|(run, key)| link_rows(run, key)))?;
    flows().write(folder, runs_keyed().map(|(run, key)| flow_rows(run, key)))?;
    runs().write(folder, runs_keyed().map(|(run, key)| run_rows(run, key)))?;
    flow_totals().write(folder, runs_keyed().map(|(run, key)| flow_total_rows(run, key)))?;
    completions().write(folder, runs_keyed().map(|(run, key)| completion_rows(run, key)))
}

fn link_rows<'a>(run: &'a Run, key: RunKey<'a>) -> Vec<LinkRow<'a>> {
    let series = &run.record.series;
    let mut rows = Vec::with_capacity(series.links.len() * series.time_ns.len());
    for (samples, &id) in series.links.iter().zip(&series.link_ids) {
        let link = run.spec.links[id as usize].name.as_str();
        let timed = series.time_ns.iter().zip(samples);
        rows.extend(timed.map(|(&time_ns, counters)| LinkRow {
            key,
            link,
            time_ns,
            counters,
        }));
    }
    rows
}

fn flow_rows<'a>(run: &'a Run, key: RunKey<'a>) -> Vec<FlowRow<'a>> {
    let series = &run.record.series;
    let mut rows = Vec::with_capacity(series.flows.len() * series.time_ns.len());
    for (samples, spec) in series.flows.iter().zip(&run.spec.flows) {
        let timed = series.time_ns.iter().zip(samples);
        rows.extend(timed.map(|(&time_ns, counters)| FlowRow {
            key,
            flow: &spec.name,
            time_ns,
            counters,
        }));
    }
    rows
}

fn run_rows<'a>(run: &'a Run, key: RunKey<'a>) -> Vec<RunRow<'a>> {
    let row = |link: usize| RunRow {
        key,
        link: &run.spec.links[link].name,
        measured_ns: run.measured_ns(),
        from: &run.record.links_warmup[link],
        to: &run.record.links_end[link],
        figures: measure::measure(run, link),
    };
    measure::shown_links(run).into_iter().map(row).collect()
}

fn flow_total_rows<'a>(run: &'a Run, key: RunKey<'a>) -> Vec<FlowTotalRow<'a>> {
    let row = |flow: usize| FlowTotalRow {
        key,
        flow: &run.spec.flows[flow].name,
        group: &run.spec.flows[flow].group,
        measured_ns: run.measured_ns(),
        from: &run.record.flows_warmup[flow],
        to: &run.record.flows_end[flow],
    };
    (0..run.spec.flows.len()).map(row).collect()
}

fn completion_rows<'a>(run: &'a Run, key: RunKey<'a>) -> Vec<CompletionRow<'a>> {
    let row = |completion: &Completion| {
        let spec = &run.spec.flows[completion.flow as usize];
        CompletionRow {
            key,
            flow: &spec.name,
            group: &spec.group,
            completion: *completion,
        }
    };
    run.record.completions.iter().map(row).collect()
}
