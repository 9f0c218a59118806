//! What columns say of each other: packets and bytes are conserved, a part is not more than its whole, nothing is
//! faster than the path, and tables agree with each other.

use fadelab_path::spec::{CapacitySpec, LinkSpec};
use fadelab_run::app::App;
use fadelab_run::flow::FlowSpec;
use fadelab_run::spec::RunSpec;
use fadelab_run::tunnel::{EcnRule, TunnelSpec};

use super::table::{Table, Tables};

/// Bins of the swing of the utilisation are of 10 s, as far as samples allow: at least half of that.
const BIN_S: u64 = 5;

/// Most bytes that ESP adds to a packet: an IPv6 header, one of UDP, its own, vector, padding and check value (RFC
/// 4303, 4106, 3948).
const ESP_BYTES_MAX: u64 = 40 + 8 + 8 + 8 + 5 + 16;

/// A statement about each row of a table: what it says, and whether it holds.
type Relation = (&'static str, fn(&At<'_>) -> bool);

/// A row, and what was simulated.
pub struct At<'a> {
    table: &'a Table,
    row: usize,
    spec: &'a RunSpec,
    tables: &'a Tables,
}

impl At<'_> {
    fn get(&self, column: &str) -> u64 {
        self.table.count(self.row, column)
    }

    fn real(&self, column: &str) -> Option<f64> {
        self.table.real(self.row, column)
    }

    fn link(&self) -> &LinkSpec {
        self.named("link", self.spec.network.links.iter().map(|link| &**link), |link| {
            &link.name
        })
    }

    fn flow(&self) -> &FlowSpec {
        self.named("flow", &self.spec.flows, |flow| &flow.name)
    }

    fn tunnel(&self) -> &TunnelSpec {
        self.named("tunnel", &self.spec.network.tunnels, |tunnel| &tunnel.name)
    }

    /// The one of the scenario that the row is about.
    fn named<'a, T>(&self, column: &str, all: impl IntoIterator<Item = &'a T>, name_of: impl Fn(&T) -> &str) -> &'a T {
        let name = self.table.text(self.row, column);
        let found = all.into_iter().find(|of| name_of(of) == name);
        found.unwrap_or_else(|| panic!("the scenario has no {column} {name}"))
    }

    /// The flows whose data cross the link of the row.
    fn crossing(&self) -> impl Iterator<Item = &FlowSpec> {
        let name = self.table.text(self.row, "link");
        let place = self
            .spec
            .network
            .links
            .iter()
            .position(|link| link.name.as_ref() == name);
        let crosses = move |flow: &&FlowSpec| flow.route.iter().any(|&id| Some(id as usize) == place);
        self.spec.flows.iter().filter(crosses)
    }

    fn dropped_pkts(&self) -> u64 {
        self.get("dropped_full_pkts") + self.get("dropped_law_pkts")
    }
}

/// Samples of links: counters from the beginning of the run.
const LINKS: &[Relation] = &[
    ("sent_data_pkts <= sent_pkts", |at| {
        at.get("sent_data_pkts") <= at.get("sent_pkts")
    }),
    (
        "arrived_pkts = sent + dropped + waiting + at most one in transmission",
        |at| {
            let gone = at.get("sent_pkts") + at.dropped_pkts() + at.get("queue_pkts");
            (gone..=gone + 1).contains(&at.get("arrived_pkts"))
        },
    ),
    (
        "arrived_bytes = sent_bytes + dropped_bytes + queue_bytes + the rest of one in transmission",
        |at| {
            let gone = at.get("sent_bytes") + at.get("dropped_bytes") + at.get("queue_bytes");
            // Repetitions are sent and do not arrive.
            let is_repeated = at.get("retransmitted_pkts") > 0 || at.link().layer.arq.is_some();
            at.get("arrived_bytes") <= gone + air_bytes_max(at) && (is_repeated || gone <= at.get("arrived_bytes"))
        },
    ),
    ("sent_bytes <= offered_bytes, but for rounding", |at| {
        at.get("sent_bytes") <= at.get("offered_bytes") + rounding_bytes(at)
    }),
    ("queue_pkts and queue_bytes are within the buffer", |at| {
        let buffer = at.link().buffer;
        buffer
            .packets
            .is_none_or(|limit| at.get("queue_pkts") <= u64::from(limit))
            && buffer.bytes.is_none_or(|limit| at.get("queue_bytes") <= limit)
    }),
    ("queue_bytes are those of queue_pkts", |at| {
        (at.get("queue_pkts") == 0) == (at.get("queue_bytes") == 0)
            && at.get("queue_bytes") <= at.get("queue_pkts") * air_bytes_max(at)
    }),
    ("queue_pkt_us <= packets that came, each for the whole time", |at| {
        u128::from(at.get("queue_pkt_us"))
            <= u128::from(at.get("arrived_pkts")) * u128::from(at.get("time_ns") / 1000 + 1)
    }),
    ("a link without a channel loses nothing on the air", |at| {
        at.link().channel.is_some() || at.get("lost_air_pkts") == 0
    }),
    ("a link without ARQ repeats nothing", |at| {
        at.link().layer.arq.is_some() || at.get("retransmitted_pkts") + at.get("recovered_pkts") == 0
    }),
    ("a link without reordering, jitter or ARQ keeps the order", |at| {
        let layer = &at.link().layer;
        layer.arq.is_some() || layer.jitter.is_some() || layer.reorder.is_some() || at.get("reordered_pkts") == 0
    }),
    ("data packets on a link were sent by flows that cross it", |at| {
        let senders = at.crossing().map(|flow| sample(at, "flows", &flow.name, "sent_pkts"));
        // Links count SYNs, and flows do not say how many they sent; in a tunnel all is data. A sample of flows at this
        // instant is there unless the run has no series.
        let greets = |flow: &FlowSpec| flow.transport.handshake || matches!(flow.app, App::Http { .. });
        let has_tunnels = !at.spec.network.tunnels.is_empty();
        has_tunnels || at.crossing().any(greets) || at.get("sent_data_pkts") <= senders.sum()
    }),
    ("payload that flows delivered crossed the link in data packets", |at| {
        let delivered = at
            .crossing()
            .map(|flow| sample(at, "flows", &flow.name, "delivered_bytes"));
        let payload_bytes_max = at.crossing().map(payload_bytes).max().unwrap_or(0);
        let arrived_pkts = at.get("sent_data_pkts") - at.get("lost_air_data_pkts").min(at.get("sent_data_pkts"));
        delivered.sum::<u64>() <= arrived_pkts * payload_bytes_max
    }),
];

/// What holds of counters from the beginning of the run, and of their growth from an instant on as well.
const LINK_COUNTERS: &[Relation] = &[
    ("lost_air_data_pkts <= lost_air_pkts", |at| {
        at.get("lost_air_data_pkts") <= at.get("lost_air_pkts")
    }),
    ("dropped_bytes are those of the packets dropped", |at| {
        (at.dropped_pkts() == 0) == (at.get("dropped_bytes") == 0)
            && at.get("dropped_bytes") <= at.dropped_pkts() * air_bytes_max(at)
    }),
    ("recovered_pkts <= retransmitted_pkts", |at| {
        at.get("recovered_pkts") <= at.get("retransmitted_pkts")
    }),
];

/// What holds from the beginning of a run alone: what an earlier packet did may be seen later.
const LINK_TOTALS: &[Relation] = &[
    ("marked_pkts <= sent_pkts", |at| {
        at.get("marked_pkts") <= at.get("sent_pkts")
    }),
    ("lost_air_pkts <= sent_pkts", |at| {
        at.get("lost_air_pkts") <= at.get("sent_pkts")
    }),
    ("lost_air_data_pkts <= sent_data_pkts", |at| {
        at.get("lost_air_data_pkts") <= at.get("sent_data_pkts")
    }),
    ("reordered_pkts <= sent_pkts that were not lost", |at| {
        at.get("reordered_pkts") + at.get("lost_air_pkts") <= at.get("sent_pkts")
    }),
];

/// Samples of flows.
const FLOWS: &[Relation] = &[
    (
        "delivered_bytes <= payload of the packets sent for the first time",
        |at| {
            let first = at.get("sent_pkts") - at.get("retransmitted_pkts").min(at.get("sent_pkts"));
            at.get("delivered_bytes") <= first * payload_bytes(at.flow())
        },
    ),
    ("in_flight_pkts <= sent_pkts", |at| {
        at.get("in_flight_pkts") <= at.get("sent_pkts")
    }),
    ("srtt_us is 0 or at least the delay of the path", |at| {
        at.get("srtt_us") == 0 || at.get("srtt_us") >= delay_us(at)
    }),
    ("a flow with a law that has sent has a window", |at| {
        at.flow().sender.is_none() || at.get("in_flight_pkts") == 0 || at.get("cwnd_pkts") >= 1
    }),
    ("a transfer delivers no more than its size", |at| match at.flow().app {
        App::Transfer { bytes, .. } => at.get("delivered_bytes") <= bytes,
        _ => true,
    }),
    ("what has no law repeats nothing, and has no round trips", |at| {
        at.flow().sender.is_some() || at.get("retransmitted_pkts") + at.get("timeouts") + at.get("rtt_samples") == 0
    }),
];

/// Flows, from the beginning or from an instant on.
const FLOW_COUNTERS: &[Relation] = &[
    ("retransmitted_pkts <= sent_pkts", |at| {
        at.get("retransmitted_pkts") <= at.get("sent_pkts")
    }),
    ("the mean RTT sample is at least the delay of the path", |at| {
        u128::from(at.get("rtt_us_sum")) >= u128::from(at.get("rtt_samples")) * u128::from(delay_us(at))
    }),
];

/// Figures of links.
const RUNS: &[Relation] = &[
    (
        "sent_data_pkts <= sent_pkts, unless tries began before the interval",
        |at| {
            // A repeated packet counts at its first try, and among data at its last.
            at.link().layer.arq.is_some() || at.get("sent_data_pkts") <= at.get("sent_pkts")
        },
    ),
    ("sent_bytes <= offered_bytes, but for rounding", |at| {
        at.get("sent_bytes") <= at.get("offered_bytes") + 2 * rounding_bytes(at)
    }),
    ("utilisation_max <= 1, but for the rounding of a byte", |at| {
        let bin_bytes = at.link().capacity.rate_bps_mean() * BIN_S / 8;
        let most = match at.link().capacity {
            CapacitySpec::Constant { .. } => 1.0 + 1.0 / bin_bytes.saturating_sub(1).max(1) as f64,
            CapacitySpec::Changing(_) | CapacitySpec::Trace(_) => 1.0,
        };
        at.real("utilisation_max").is_none_or(|utilisation| utilisation <= most)
    }),
    ("utilisation_min <= utilisation_max", |at| {
        at.real("utilisation_min") <= at.real("utilisation_max")
    }),
    ("jain >= 1 / flows", |at| {
        let flows = at.crossing().filter(|flow| flow.sender.is_some()).count();
        at.real("jain").is_none_or(|jain| jain * flows as f64 >= 1.0 - 1e-9)
    }),
    ("rtt_ms_mean is at least the shortest delay of a path", |at| {
        let shortest_us = at.crossing().map(|flow| path_delay_us(at.spec, flow)).min();
        at.real("rtt_ms_mean")
            .is_none_or(|rtt_ms| rtt_ms * 1000.0 >= shortest_us.unwrap_or(0) as f64 - 1e-6)
    }),
    ("completion_s_mean is there if something completed", |at| {
        at.real("completion_s_mean").is_some() == at.real("completions").is_some_and(|count| count > 0.0)
    }),
    ("utilisation = sent_bytes / offered_bytes", |at| {
        is_ratio(at.real("utilisation"), at.get("sent_bytes"), at.get("offered_bytes"))
    }),
    ("queue_pkts_mean is within the buffer", |at| {
        let limit = at.link().buffer.packets.map_or(f64::MAX, f64::from);
        // The integral is in whole microseconds.
        let rounding = 1_001.0 / at.get("measured_ns") as f64;
        at.real("queue_pkts_mean").is_none_or(|pkts| pkts <= limit + rounding)
    }),
    ("drop_rate = dropped / (dropped + sent_pkts)", |at| {
        is_ratio(
            at.real("drop_rate"),
            at.dropped_pkts(),
            at.dropped_pkts() + at.get("sent_pkts"),
        )
    }),
    ("goodput_bps is that of the flows", |at| {
        let bytes = at
            .crossing()
            .map(|flow| sample(at, "flow_totals", &flow.name, "delivered_bytes"));
        let bps = bytes.sum::<u64>() as f64 * 8e9 / at.get("measured_ns") as f64;
        at.real("goodput_bps")
            .is_none_or(|goodput_bps| (goodput_bps - bps).abs() <= 1e-9 * bps)
    }),
    ("goodput <= what the link sent", |at| {
        // What waited at the beginning of the measured interval behind this link is delivered in it.
        let bytes = at
            .crossing()
            .map(|flow| sample(at, "flow_totals", &flow.name, "delivered_bytes"));
        at.spec.warmup_ns > 0 || bytes.sum::<u64>() <= at.get("sent_bytes")
    }),
    ("the waits of all packets sent are counted", |at| {
        // Counted at the beginning of the transmission, at either end of the measured interval.
        counted_waits(at).abs_diff(at.get("sent_pkts")) <= 1
    }),
    ("percentiles grow", |at| {
        let grow = |names: [&str; 3]| names.map(|name| at.real(name)).is_sorted();
        grow(["rtt_ms_p50", "rtt_ms_p95", "rtt_ms_p99"])
            && grow(["queue_wait_ms_p50", "queue_wait_ms_p95", "queue_wait_ms_p99"])
            && grow(["completion_s_p50", "completion_s_p95", "completion_s_p99"])
    }),
    ("totals are at least those of the last sample", |at| {
        // What a trace offers at 0 ms is there before the measured interval.
        let growing = [
            "arrived_pkts",
            "sent_pkts",
            "sent_bytes",
            "dropped_bytes",
            "queue_pkt_us",
            "marked_pkts",
        ];
        let name = at.table.text(at.row, "link");
        let last = |column: &str| sample(at, "links", name, column);
        at.spec.warmup_ns > 0 || growing.iter().all(|column| last(column) <= at.get(column))
    }),
];

/// Transfers and sessions that ended.
const COMPLETIONS: &[Relation] = &[
    ("start_ns <= end_ns <= the end of the run", |at| {
        at.get("start_ns") <= at.get("end_ns") && at.get("end_ns") <= at.spec.duration_ns
    }),
    ("nothing completes faster than the path", |at| {
        (at.get("end_ns") - at.get("start_ns").min(at.get("end_ns"))) / 1000 >= delay_us(at)
    }),
    ("ends come in order", |at| {
        at.row == 0 || at.table.count(at.row - 1, "end_ns") <= at.get("end_ns")
    }),
    ("a transfer completes with its size", |at| match at.flow().app {
        App::Transfer { bytes, .. } | App::Http { bytes, .. } => at.get("bytes") == bytes,
        _ => true,
    }),
    ("what completed was delivered", |at| {
        let name = at.table.text(at.row, "flow");
        at.spec.warmup_ns > 0 || at.get("bytes") <= sample(at, "flow_totals", name, "delivered_bytes")
    }),
    ("a download takes the handshake, the request and its bytes", |at| {
        let is_download = matches!(at.flow().app, App::Http { .. });
        let lasted_us = (at.get("end_ns") - at.get("start_ns").min(at.get("end_ns"))) / 1000;
        !is_download || lasted_us >= 2 * delay_us(at)
    }),
    ("only transfers, sessions and downloads complete", |at| {
        matches!(
            at.flow().app,
            App::Transfer { .. } | App::Sessions { .. } | App::Http { .. }
        )
    }),
];

/// Bins of delays.
const HISTOGRAMS: &[Relation] = &[(
    "a bin is at most 1/128 of its least delay wide, and a microsecond",
    |at| {
        let (lower_ns, upper_ns) = (at.get("lower_ns"), at.get("upper_ns"));
        lower_ns <= upper_ns && upper_ns - lower_ns <= (lower_ns / 128).max(1000)
    },
)];

/// Drops by groups.
const DROPS: &[Relation] = &[
    ("a group that lost nothing has no row", |at| at.get("dropped_pkts") > 0),
    ("what groups lost at a link is among what it dropped", |at| {
        let (link, runs) = (at.table.text(at.row, "link"), at.tables.get("runs"));
        let rows = (0..at.table.rows.len()).filter(|row| at.table.text(*row, "link") == link);
        let lost: u64 = rows.map(|row| at.table.count(row, "dropped_pkts")).sum();
        let columns = ["dropped_full_pkts", "dropped_law_pkts"];
        let of_link = |row| columns.map(|column| runs.count(row, column)).iter().sum::<u64>();
        runs.last_of(link, None).is_some_and(|row| lost <= of_link(row))
    }),
];

/// What went through tunnels. What was in one when the measured interval began leaves in it.
const TUNNELS: &[Relation] = &[
    ("what leaves a tunnel entered it", |at| {
        let gone = ["left_pkts", "dropped_pkts", "no_sa_leaving_pkts"].map(|column| at.get(column));
        at.spec.warmup_ns > 0 || gone.iter().sum::<u64>() <= at.get("entered_pkts")
    }),
    ("there is an association but in gaps", |at| {
        let none = ["no_sa_entering_pkts", "no_sa_leaving_pkts"].map(|column| at.get(column));
        none == [0, 0] || at.tunnel().rekey.is_some_and(|rekey| rekey.gap_ns > 0)
    }),
    ("only the rule of RFC 6040 drops", |at| {
        at.get("dropped_pkts") == 0 || at.tunnel().ecn.contains(&EcnRule::Rfc6040)
    }),
];

/// Packets whose wait at a link was counted.
fn counted_waits(at: &At<'_>) -> u64 {
    let (bins, link) = (at.tables.get("histograms"), at.table.text(at.row, "link"));
    let is_here = |row: &usize| {
        let texts = ["quantity", "link"].map(|column| bins.text(*row, column));
        texts == ["wait", link]
    };
    let rows = (0..bins.rows.len()).filter(is_here);
    rows.map(|row| bins.count(row, "count")).sum()
}

/// Checks all relations.
pub fn check(tables: &Tables, spec: &RunSpec, findings: &mut Vec<String>) {
    let all = [
        ("links", &[LINKS, LINK_COUNTERS, LINK_TOTALS][..]),
        ("flows", &[FLOWS, FLOW_COUNTERS]),
        ("runs", &[RUNS, LINK_COUNTERS]),
        ("flow_totals", &[FLOW_COUNTERS]),
        ("completions", &[COMPLETIONS]),
        ("histograms", &[HISTOGRAMS]),
        ("drops", &[DROPS]),
        ("tunnels", &[TUNNELS]),
    ];
    for (name, relations) in all {
        let table = tables.get(name);
        for row in 0..table.rows.len() {
            let at = At {
                table,
                row,
                spec,
                tables,
            };
            let broken = relations.iter().copied().flatten().filter(|(_, holds)| !holds(&at));
            findings.extend(broken.map(|(what, _)| format!("{}: {what}: {:?}", table.about(row), table.rows[row])));
        }
    }
}

/// The value of a column in the last row of a table that is about `name`; of samples, in the last that is not later
/// than this row.
fn sample(at: &At<'_>, table: &str, name: &str, column: &str) -> u64 {
    let table = at.tables.get(table);
    let is_sampled = table.has("time_ns") && at.table.has("time_ns");
    let row = table.last_of(name, is_sampled.then(|| at.get("time_ns")));
    row.map_or(0, |row| table.count(row, column))
}

/// Bytes of which one too many may be counted as sent: that of a fraction, and those of the nanosecond in which one
/// transmission ends and the next one begins.
fn rounding_bytes(at: &At<'_>) -> u64 {
    1 + at.link().capacity.rate_bps_mean().div_ceil(8_000_000_000)
}

/// The largest packet on the air of this link: ACKs grow by SACK blocks and options.
fn air_bytes_max(at: &At<'_>) -> u64 {
    let sizes = at.spec.flows.iter().map(|flow| flow.transport.packet_bytes.max(160));
    let largest = sizes.max().unwrap_or(0);
    // Parity of a code rate of 0.1 at least, in words of up to 255 bytes.
    let tunnel_bytes = if at.spec.network.tunnels.is_empty() {
        0
    } else {
        ESP_BYTES_MAX
    };
    (u64::from(largest) + tunnel_bytes) * if at.link().channel.is_some() { 11 } else { 1 } + 4
}

/// Datagrams have headers of 28 bytes (RFC 791, RFC 768).
fn payload_bytes(flow: &FlowSpec) -> u64 {
    let header_bytes = flow.sender.map_or(28, |_| flow.transport.header_bytes);
    u64::from(flow.transport.packet_bytes - header_bytes)
}

fn delay_us(at: &At<'_>) -> u64 {
    path_delay_us(at.spec, at.flow())
}

/// Propagation there and back.
fn path_delay_us(spec: &RunSpec, flow: &FlowSpec) -> u64 {
    let links = flow.route.iter().chain(&flow.route_back);
    links
        .map(|&link| spec.network.links[link as usize].delay_ns)
        .sum::<u64>()
        / 1000
}

fn is_ratio(ratio: Option<f64>, part: u64, whole: u64) -> bool {
    match ratio {
        None => whole == 0,
        Some(ratio) => whole > 0 && (ratio - part as f64 / whole as f64).abs() <= 1e-12,
    }
}
