//! Round-trip time estimation and the retransmission timeout, RFC 6298.

use crate::spec::Transport;

/// SRTT, RTTVAR and RTO of one connection.
#[derive(Clone, Debug)]
pub(crate) struct RttEstimator {
    /// SRTT times 8, so that the gain of 1/8 keeps its remainder.
    srtt_ns_x8: u64,
    /// RTTVAR times 4, for the gain of 1/4.
    rttvar_ns_x4: u64,
    rtt_ns_min: u64,
    rto_ns: u64,
    backoff: u32,
}

impl RttEstimator {
    pub fn new(transport: &Transport) -> Self {
        Self { srtt_ns_x8: 0, rttvar_ns_x4: 0, rtt_ns_min: 0, rto_ns: transport.rto_ns_initial, backoff: 0 }
    }

    /// Takes a sample, section 2. A sample of zero (faster than the clock ticks) counts as one nanosecond.
    pub fn sample(&mut self, rtt_ns: u64, transport: &Transport) {
        let rtt_ns = rtt_ns.max(1);
        if self.srtt_ns_x8 == 0 {
            // (2.2)
            self.srtt_ns_x8 = rtt_ns * 8;
            self.rttvar_ns_x4 = rtt_ns * 2;
            self.rtt_ns_min = rtt_ns;
        } else {
            // (2.3): RTTVAR first, from the old SRTT.
            let error_ns = rtt_ns.abs_diff(self.srtt_ns_x8 / 8);
            self.rttvar_ns_x4 = self.rttvar_ns_x4 - self.rttvar_ns_x4 / 4 + error_ns;
            self.srtt_ns_x8 = self.srtt_ns_x8 - self.srtt_ns_x8 / 8 + rtt_ns;
            self.rtt_ns_min = self.rtt_ns_min.min(rtt_ns);
        }
        let rto_ns = self.srtt_ns_x8 / 8 + self.rttvar_ns_x4.max(transport.ts_tick_ns);
        self.rto_ns = rto_ns.clamp(transport.rto_ns_min, transport.rto_ns_max);
        self.backoff = 0;
    }

    /// The timer fired, (5.5).
    pub fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(30);
    }

    /// Timeout in force.
    #[inline]
    pub fn rto_ns(&self, transport: &Transport) -> u64 {
        (self.rto_ns << self.backoff.min(16)).min(transport.rto_ns_max)
    }

    /// 0: no sample yet.
    #[inline]
    pub fn srtt_us(&self) -> u32 {
        (self.srtt_ns_x8 / 8000) as u32
    }

    /// 0: no sample yet.
    #[inline]
    pub fn rtt_us_min(&self) -> u32 {
        (self.rtt_ns_min / 1000) as u32
    }
}
