//! What a run gives back: cumulative counters and instant samples. Rates are derived by whoever reads them.

use fadelab_path::counters::LinkCounters;
use fadelab_path::histogram::Histogram;
use fadelab_path::punctuality::Punctuality;
use serde::{Deserialize, Serialize};

use crate::tunnel::TunnelRecord;

/// Cumulative counters of a flow, and the state of its window at that instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowCounters {
    /// Data packets sent, retransmissions included. SYNs and ACKs are not, which links count too.
    pub sent_pkts: u64,
    /// Retransmissions.
    pub retransmitted_pkts: u64,
    /// Payload the receiving application got, in order and once.
    pub delivered_bytes: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Fast recoveries entered.
    pub recoveries: u64,
    /// Reactions to ECN echoes.
    pub ecn_reductions: u64,
    pub rtt_samples: u64,
    /// Sum of the RTT samples.
    pub rtt_us_sum: u64,
    /// Congestion window now.
    pub cwnd_pkts: u32,
    /// Slow start threshold now.
    pub ssthresh_pkts: u32,
    /// Smoothed RTT now; 0: no sample yet.
    pub srtt_us: u32,
    /// In flight now.
    pub in_flight_pkts: u32,
}

/// A transfer or session that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    /// Index of the flow.
    pub flow: u32,
    /// When the application began, by a handshake where there is one.
    pub start_ns: u64,
    /// When the last byte was acknowledged.
    pub end_ns: u64,
    /// Payload.
    pub bytes: u64,
}

/// Samples at equal distances, oldest first. `links[i][k]` is link `i` at `time_ns[k]`; only shown links are here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// When each sample was taken.
    pub time_ns: Vec<u64>,
    /// Index into the spec's links of each entry of `links`.
    pub link_ids: Vec<u32>,
    /// Per shown link.
    pub links: Vec<Vec<LinkCounters>>,
    /// Per flow.
    pub flows: Vec<Vec<FlowCounters>>,
    /// Per shown link, the values to watch of its router's law and then of its capacity part, where the ground tells
    /// them and the link has one queue.
    pub links_watched: Vec<Watched>,
    /// Per flow, those of its sender's law.
    pub flows_watched: Vec<Watched>,
}

/// Values that laws declare as worth watching, as the integers they compute with: all of one sample in the order of
/// their declarations, then all of the next. Empty where nothing is declared or told.
pub type Watched = Vec<u64>;

/// How long packets waited and round trips took in the measured interval, each sample counted. Empty where a ground
/// sees only some of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delays {
    /// RTT samples of each group of flows, in µs, in the order of their first flows.
    pub rtts_us: Vec<OfGroup>,
    /// Per shown link, of what left its queue for the transmitter.
    pub waits_ns: Vec<Waits>,
}

/// Delays of a group of flows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfGroup {
    /// Name of the group.
    pub group: String,
    /// How often which delay came.
    pub histogram: Histogram,
}

/// How long packets waited at a link.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waits {
    /// All of them, ACKs included.
    pub all: Histogram,
    /// Data of each group whose data cross the link.
    pub groups: Vec<OfGroup>,
}

/// Data packets of a group that the queue of a link dropped, for want of room or by its law.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DroppedOf {
    /// Index of the link, which is shown.
    pub link: u32,
    /// Name of the group.
    pub group: String,
    pub dropped_pkts: u64,
}

/// Fast recoveries of a group's flows at which their law was asked, and what it made of the window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswersOf {
    /// Name of the group.
    pub group: String,
    /// Whether a queue had dropped any of the segments that the sender missed.
    pub after_drop: bool,
    pub recoveries: u64,
    /// Those at which the window was made smaller.
    pub reduced: u64,
    /// Sums of the windows before and after.
    pub cwnd_pkts_before: u64,
    pub cwnd_pkts_after: u64,
}

/// How busy the processor of a guest was, whose time is counted in its instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessorLoad {
    /// Share of the run that it was busy.
    pub busy_permille: u32,
    /// The same of its busiest second.
    pub busy_permille_max: u32,
}

/// What one run gives back. Totals over the measured interval are `end - warmup`, field by field. Only shown links are
/// here: a network of a hundred thousand flows has four times as many links, which nobody looks at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Indices into the spec's links, ascending, of each entry of the next two.
    pub link_ids: Vec<u32>,
    /// Per shown link, at the warm-up.
    pub links_warmup: Vec<LinkCounters>,
    /// Per shown link, at the end.
    pub links_end: Vec<LinkCounters>,
    /// Per flow, at the warm-up.
    pub flows_warmup: Vec<FlowCounters>,
    /// Per flow, at the end.
    pub flows_end: Vec<FlowCounters>,
    /// In order of their end.
    pub completions: Vec<Completion>,
    /// How long packets waited and round trips took.
    pub delays: Delays,
    /// Whose data links dropped in the measured interval, links first; empty where a ground does not tell.
    #[serde(default)]
    pub dropped: Vec<DroppedOf>,
    /// What laws made of losses in the measured interval, by groups; empty where a ground does not know whose data are
    /// dropped.
    #[serde(default)]
    pub answers: Vec<AnswersOf>,
    /// What tunnels did in the measured interval.
    #[serde(default)]
    pub tunnels: Vec<TunnelRecord>,
    /// Empty unless recording was asked for.
    pub series: Series,
    /// Events processed.
    pub events: u64,
    /// How punctual the emulator was, where one carried packets.
    pub punctuality: Option<Punctuality>,
    /// How busy the guest's processor was, where there was one.
    #[serde(default)]
    pub processor: Option<ProcessorLoad>,
}

impl RunRecord {
    /// Counters of link `link` at the warm-up and at the end; `None`: it is not shown.
    pub fn link(&self, link: usize) -> Option<(&LinkCounters, &LinkCounters)> {
        let place = self.place_of(link)?;
        Some((&self.links_warmup[place], &self.links_end[place]))
    }

    /// Where among the shown links link `link` stands; `None`: it is not shown.
    pub fn place_of(&self, link: usize) -> Option<usize> {
        let id = u32::try_from(link).ok()?;
        self.link_ids.binary_search(&id).ok()
    }
}
