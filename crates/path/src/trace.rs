//! Recorded capacity: delivery opportunities in the format of mahimahi, already read.

mod rules;

pub use rules::TraceRules;

use serde::{Deserialize, Serialize};

/// Delivery opportunities, repeated for ever by adding the last timestamp (mahimahi's rule).
///
/// Opportunities are numbered from 0 over all repetitions, and so are the bytes they carry: byte `p` belongs to
/// opportunity `p / opportunity_bytes`. A transmitter is then just a position in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// When each opportunity comes, ascending, repeated values allowed; the last one is the period and greater than 0.
    pub opportunities_ms: Vec<u64>,
    /// Bytes that one opportunity carries (mahimahi: 1504).
    pub opportunity_bytes: u32,
    /// How packets use them.
    pub rules: TraceRules,
}

const NS_PER_MS: u64 = 1_000_000;

/// What lies behind the end of every run: later opportunities come here, with room for a delay on top.
const NEVER_NS: u64 = u64::MAX / 2;

impl Trace {
    fn period_ms(&self) -> u64 {
        self.opportunities_ms.last().copied().unwrap_or(1).max(1)
    }

    fn count(&self) -> u64 {
        self.opportunities_ms.len() as u64
    }

    /// When opportunity `index` comes. A queue of packets that wait for opportunities years apart may plan beyond what
    /// 64 bits hold: those come at an instant that no run reaches.
    pub fn time_ns(&self, index: u64) -> u64 {
        let (round, within) = (index / self.count(), index % self.count());
        let before_ms = round.saturating_mul(self.period_ms());
        let time_ms = before_ms.saturating_add(self.opportunities_ms[within as usize]);
        time_ms.saturating_mul(NS_PER_MS).min(NEVER_NS)
    }

    /// Number of opportunities that came before `time_ns`; the first one at or after it has this index.
    pub fn index_from(&self, time_ns: u64) -> u64 {
        let time_ms = time_ns.div_ceil(NS_PER_MS);
        let (round, within_ms) = (time_ms / self.period_ms(), time_ms % self.period_ms());
        // The last opportunity of a round and the first ones of the next (at 0 ms) may come at the same instant.
        if within_ms == 0 && round > 0 {
            let last_ms = self.period_ms();
            let tail = self.count() - self.opportunities_ms.partition_point(|&at| at < last_ms) as u64;
            return round * self.count() - tail;
        }
        round * self.count() + self.opportunities_ms.partition_point(|&at| at < within_ms) as u64
    }

    /// Bytes offered up to and including `time_ns`, used or not.
    pub fn offered_bytes(&self, time_ns: u64) -> u64 {
        self.index_from(time_ns + 1) * u64::from(self.opportunity_bytes)
    }

    /// Mean rate over one period, in bits per second.
    pub fn rate_bps_mean(&self) -> u64 {
        self.count() * u64::from(self.opportunity_bytes) * 8 * 1000 / self.period_ms()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace() -> Trace {
        Trace {
            opportunities_ms: vec![0, 0, 1, 1, 2, 5, 5],
            opportunity_bytes: 1504,
            rules: TraceRules::Plain,
        }
    }

    #[test]
    fn repetition_adds_the_last_timestamp() {
        // Goal: a trace wraps as mahimahi does, by adding its last timestamp.
        let trace = trace();
        let times: Vec<u64> = (0..15).map(|i| trace.time_ns(i) / NS_PER_MS).collect();
        assert_eq!(times, [0, 0, 1, 1, 2, 5, 5, 5, 5, 6, 6, 7, 10, 10, 10]);
    }

    #[test]
    fn what_is_planned_beyond_the_end_of_time_does_not_come_back() {
        // Goal: with an opportunity in thirty years, the hundredth one is still later than the second and leaves room
        // for a delay.
        let slow = Trace {
            opportunities_ms: vec![1_000_000_000_000],
            opportunity_bytes: 1504,
            rules: TraceRules::Plain,
        };
        assert_eq!(slow.time_ns(1), 2_000_000_000_000 * NS_PER_MS);
        // The period has twelve factors of two: 2^52 of them would be 0 modulo 2^64.
        for index in [10, 20, 100, 1 << 52, u64::MAX] {
            assert!(slow.time_ns(index) >= slow.time_ns(8), "{index}");
            assert!(slow.time_ns(index) <= u64::MAX - 1_000_000_000_000, "{index}");
        }
    }

    #[test]
    fn index_from_is_the_inverse_of_time() {
        // Goal: the index agrees with a plain count of the opportunities before each instant, wraps included.
        let trace = trace();
        for quarter_ms in 0..200u64 {
            let time_ns = quarter_ms * NS_PER_MS / 4;
            let counted = (0..1000).filter(|&i| trace.time_ns(i) < time_ns).count() as u64;
            assert_eq!(trace.index_from(time_ns), counted, "at {time_ns} ns");
        }
    }
}
