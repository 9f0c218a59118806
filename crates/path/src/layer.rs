//! What a link does behind its transmitter: repeat what was lost (ARQ), delay, reorder.

use serde::{Deserialize, Serialize};

/// The layer between the transmitter and the far end. By default there is nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkLayer {
    /// Repeats what is lost on the air.
    pub arq: Option<Arq>,
    /// Delays each packet by a time of its own, after ARQ.
    pub jitter: Option<Jitter>,
    /// Lets some packets be overtaken, after the jitter.
    pub reorder: Option<Reorder>,
}

/// Automatic repeat request below IP: RFC 3366 says what it does to TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arq {
    /// How often a packet is sent before the link gives it up, the first time included, at least 1; `None`: no limit.
    pub tries_max: Option<u32>,
    /// From the end of a lost try until the packet may be sent again. Repetitions go before new packets.
    pub retry_ns: u64,
    /// Whether the far end holds packets back until those sent before them have come or are given up.
    pub in_order: bool,
}

/// Random delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jitter {
    /// Its law, on top of the propagation delay.
    pub delay: DelayLaw,
    /// Whether a packet waits for those before it; otherwise it may overtake them.
    pub in_order: bool,
}

/// The law of a random delay, drawn for each packet independently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DelayLaw {
    /// Uniform in `min_ns..=max_ns`.
    Uniform {
        /// Smallest.
        min_ns: u64,
        /// Largest, not below the smallest.
        max_ns: u64,
    },
    /// Normal, given that it is not negative.
    Normal {
        /// Mean before what is negative is left out.
        mean_ns: u64,
        /// Standard deviation before what is negative is left out.
        sd_ns: u64,
    },
    Exponential {
        mean_ns: u64,
    },
}

/// Packets that others overtake.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reorder {
    /// Probability that a packet is held back.
    pub probability: f64,
    /// How long it is held back.
    pub delay_ns: u64,
    /// It goes on earlier, with the packet that is the so-many-th to overtake it, at least 1; `None`: no earlier.
    pub gap_pkts: Option<u32>,
}
