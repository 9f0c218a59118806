//! How packets use the opportunities of a trace.

use serde::{Deserialize, Serialize};

/// How packets use delivery opportunities. Both ways have in common that an opportunity carries bytes and not packets:
/// several packets share one, a packet takes what it needs of several, and what nobody waits for is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum TraceRules {
    /// The trace is a capacity like any other: a packet takes its on-air bytes of it, and an opportunity serves what is
    /// there when it comes, the packet included that arrives at that very instant.
    #[default]
    Plain,
    /// As `mm-link` of mahimahi does, to the byte (`src/frontend/link_queue.cc`). A packet has the header of the TUN
    /// device through which it came, so that an IP packet of 1500 bytes fills an opportunity of 1504. Arrivals of a
    /// millisecond come behind its opportunities, because `read_packet` uses these up before it takes the packet in.
    ExactMahimahi,
}

impl TraceRules {
    /// Bytes that a packet has on this link beside its own.
    pub fn header_bytes(self) -> u32 {
        match self {
            Self::Plain => 0,
            Self::ExactMahimahi => 4,
        }
    }

    /// How long a packet must have been there for an opportunity to serve it.
    pub(crate) fn notice_ns(self) -> u64 {
        match self {
            Self::Plain => 0,
            Self::ExactMahimahi => 1,
        }
    }
}
