//! Recorded capacity: delivery opportunities in the format of mahimahi, already read.

/// Delivery opportunities, repeated for ever by adding the last timestamp (mahimahi's rule).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// When each opportunity comes, ascending, repeated values allowed; the last one is the period and greater than 0.
    pub opportunities_ms: Vec<u64>,
    /// Bytes that one opportunity carries (mahimahi: 1504).
    pub opportunity_bytes: u32,
}
