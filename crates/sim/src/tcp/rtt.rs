//! Round-trip time estimation and the retransmission timeout, RFC 6298.
//!
//! The timeout is computed from samples in whole ticks of the timestamp clock, as stacks do: a coarse clock keeps the
//! variance, and with it the timeout, from shrinking to nothing. SRTT has eighths of a tick, which ns-2 leaves out of
//! the timeout. The law sees round-trip times in microseconds whatever the tick is.

use fadelab_run::transport::Transport;

use crate::tcp::plan::Plan;

/// SRTT, RTTVAR and RTO of one connection.
#[derive(Clone, Debug)]
pub(crate) struct RttEstimator {
    /// Smoothed RTT for the law, times 8 so that the gain of 1/8 keeps its remainder.
    srtt_us_x8: u64,
    rtt_us_min: u32,
    /// SRTT times 8 and RTTVAR times 4, in ticks.
    srtt_ticks_x8: u64,
    rttvar_ticks_x4: u64,
    rto_ns: u64,
    backoff: u32,
}

impl RttEstimator {
    pub fn new(transport: &Transport) -> Self {
        Self {
            srtt_us_x8: 0,
            rtt_us_min: 0,
            srtt_ticks_x8: 0,
            rttvar_ticks_x4: 0,
            rto_ns: transport.rto_ns_initial,
            backoff: 0,
        }
    }

    /// Takes a sample, section 2, from timestamps.
    #[inline]
    pub fn sample(&mut self, rtt_us: u32, plan: &Plan) {
        self.sample_of_ticks(rtt_us, plan.clock.ticks_nearest(rtt_us), plan);
    }

    /// The same where the clock ticked `rtt_ticks` times. A sample of zero (faster than the clock ticks) counts as one
    /// microsecond, one tick.
    #[inline]
    pub fn sample_of_ticks(&mut self, rtt_us: u32, rtt_ticks: u32, plan: &Plan) {
        let Plan { tcp, clock, .. } = plan;
        let (rtt_us, rtt_ticks) = (rtt_us.max(1), u64::from(rtt_ticks.max(1)));
        if self.srtt_us_x8 == 0 {
            self.srtt_us_x8 = u64::from(rtt_us) * 8;
            self.rtt_us_min = rtt_us;
            // (2.2)
            self.srtt_ticks_x8 = rtt_ticks * 8;
            self.rttvar_ticks_x4 = rtt_ticks * 2;
        } else {
            self.srtt_us_x8 = self.srtt_us_x8 - self.srtt_us_x8 / 8 + u64::from(rtt_us);
            self.rtt_us_min = self.rtt_us_min.min(rtt_us);
            // (2.3): RTTVAR first, from the old SRTT.
            let error_ticks = rtt_ticks.abs_diff(self.srtt_ticks_x8 / 8);
            self.rttvar_ticks_x4 = self.rttvar_ticks_x4 - self.rttvar_ticks_x4 / 4 + error_ticks;
            self.srtt_ticks_x8 = self.srtt_ticks_x8 - self.srtt_ticks_x8 / 8 + rtt_ticks;
        }
        self.backoff = 0;
        // (2.3): RTO = SRTT + max(G, 4 RTTVAR), with the clock granularity G of one tick.
        let variance_ns = self.rttvar_ticks_x4.max(1) * clock.tick_ns();
        let srtt_ns = if tcp.rto_whole_ticks {
            self.srtt_ticks_x8 / 8 * clock.tick_ns()
        } else {
            self.srtt_ticks_x8 * clock.tick_ns() / 8
        };
        let rto_ns = if tcp.rto_min_over_srtt {
            srtt_ns + variance_ns.max(tcp.rto_ns_min)
        } else {
            (srtt_ns + variance_ns).max(tcp.rto_ns_min)
        };
        self.rto_ns = rto_ns.min(tcp.rto_ns_max);
    }

    /// The timeout has another variance than that of RFC 6298.
    pub fn set_variance(&mut self, variance_us: u64, tcp: &Transport) {
        self.rto_ns = ((self.srtt_us_x8 / 8 + variance_us) * 1000).min(tcp.rto_ns_max);
    }

    /// The timer fired, (5.5).
    pub fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(16);
    }

    /// Timeout in force.
    #[inline]
    pub fn rto_ns(&self, transport: &Transport) -> u64 {
        (self.rto_ns << self.backoff).min(transport.rto_ns_max)
    }

    /// 0: no sample yet.
    #[inline]
    pub fn srtt_us(&self) -> u32 {
        (self.srtt_us_x8 / 8) as u32
    }

    /// 0: no sample yet.
    #[inline]
    pub fn rtt_us_min(&self) -> u32 {
        self.rtt_us_min
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::tcp::plan::tests::spec;

    #[test]
    fn a_timeout_of_whole_ticks_leaves_out_the_eighths_of_the_smoothed_rtt() {
        // Goal: samples of 3 and 4 ticks of 10 ms make SRTT 25/8 and RTTVAR 6/4 (RFC 6298, (2.2) and (2.3)), so the
        // timeout is 25/8 + 6 = 9.125 ticks, in whole ticks 9 (ns-2.35 tcp.cc, `rtt_update`), and SRTT is the same.
        for (whole, rto_ns) in [(false, 91_250_000), (true, 90_000_000)] {
            let mut flow = spec("reno");
            let tcp = &mut flow.transport;
            (tcp.rto_whole_ticks, tcp.ts_tick_ns, tcp.rto_ns_max) = (whole, 10_000_000, u64::MAX);
            let plan = Plan::of(&flow, &Rc::default(), None);
            let mut rtt = RttEstimator::new(&plan.tcp);
            rtt.sample(30_000, &plan);
            rtt.sample(40_000, &plan);
            assert_eq!(
                (rtt.rto_ns(&plan.tcp), rtt.srtt_us()),
                (rto_ns, 31_250),
                "whole: {whole}"
            );
        }
    }
}
