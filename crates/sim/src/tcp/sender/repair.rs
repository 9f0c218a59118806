//! What a sender with Linux's ways keeps in a place of its own, which others have not: flows are many.

use super::frto::Frto;
use super::rack::Rack;
use super::room::SendBuffer;
use super::small_queue::Departures;
use super::undo::Undo;
use super::variance::Variance;

/// Allocated when something of it is needed.
#[derive(Debug, Default)]
pub(super) struct Repair {
    pub reduction: Reduction,
    pub rack: Rack,
    /// When the timer was set, until it is known with which tick it ends.
    pub timer_set_ns: Option<u64>,
    /// The last reduction, as long as it may turn out to be spurious.
    pub undo: Option<Undo>,
    /// `TSval` of the first of the repetitions that are under way, or were when the last reduction began.
    pub repeated_us: Option<u32>,
    pub frto: Frto,
    /// By how much the receive window has grown.
    pub rwnd_growth_pkts: u32,
    pub send_buffer: SendBuffer,
    pub variance: Variance,
    pub departures: Departures,
}

/// A reduction of the window under way (RFC 6937): what it began from, and what was delivered and sent since.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reduction {
    pub cwnd_pkts_before: u32,
    pub delivered_pkts: u32,
    pub sent_pkts_before: u64,
}
