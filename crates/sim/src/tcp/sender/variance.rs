//! The variance in Linux's retransmission timeout (`tcp_rtt_estimator` of `net/ipv4/tcp_input.c`, 6.12).
//!
//! RFC 6298 takes a sample of each ACK, so that with hundreds of them a round trip its variance has forgotten what came
//! a round trip ago. Linux keeps the largest mean deviation of a round trip, lets the variance decay towards it by a
//! quarter of the distance in each, and hardly listens to deviations that come from shorter round trips.

use fadelab_run::transport::RtoVariance;

use super::Sender;
use crate::tcp::plan::Plan;

/// Deviations are four times the mean, as the timeout takes them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Variance {
    deviation_us: u64,
    /// The largest of this round trip.
    deviation_us_max: u64,
    /// What the timeout takes.
    timeout_us: u64,
    /// The round trip ends when more than this is acknowledged.
    round_end: u32,
}

impl Variance {
    fn begin(rtt_us: u32, rto_us_min: u64, nxt: u32) -> Self {
        let deviation_us = 2 * u64::from(rtt_us);
        let timeout_us = deviation_us.max(rto_us_min);
        Self {
            deviation_us,
            deviation_us_max: timeout_us,
            timeout_us,
            round_end: nxt,
        }
    }

    fn sample(&mut self, rtt_us: u32, srtt_us: u32, rto_us_min: u64, (una, nxt): (u32, u32)) {
        let change_us = i64::from(rtt_us.abs_diff(srtt_us)) - (self.deviation_us / 4) as i64;
        let is_quicker = rtt_us < srtt_us && change_us > 0;
        let change_us = if is_quicker { change_us / 8 } else { change_us };
        self.deviation_us = self.deviation_us.saturating_add_signed(change_us);
        self.deviation_us_max = self.deviation_us_max.max(self.deviation_us);
        self.timeout_us = self.timeout_us.max(self.deviation_us_max);
        if una > self.round_end {
            self.timeout_us -= (self.timeout_us - self.deviation_us_max) / 4;
            self.round_end = nxt;
            self.deviation_us_max = rto_us_min;
        }
    }
}

impl Sender {
    /// A sample of the round trip.
    #[inline]
    pub(super) fn take_rtt(&mut self, rtt_us: u32, plan: &Plan) {
        match plan.tcp.rto_variance {
            RtoVariance::Sample => self.rtt.sample(rtt_us, plan),
            RtoVariance::RoundTrip => self.vary(rtt_us, plan),
        }
    }

    #[inline(never)]
    fn vary(&mut self, rtt_us: u32, plan: &Plan) {
        let srtt_us_before = self.rtt.srtt_us();
        self.rtt.sample(rtt_us, plan);
        let rto_us_min = plan.tcp.rto_ns_min / 1000;
        let (una, nxt) = (self.board.una(), self.board.nxt());
        let variance = &mut self.repair.get_or_insert_default().variance;
        if srtt_us_before == 0 {
            *variance = Variance::begin(rtt_us, rto_us_min, nxt);
        } else {
            variance.sample(rtt_us, srtt_us_before, rto_us_min, (una, nxt));
        }
        self.rtt.set_variance(variance.timeout_us, &plan.tcp);
    }
}

#[cfg(test)]
mod tests {
    use super::Variance;

    #[test]
    fn it_forgets_a_quarter_a_round_trip() {
        // Goal: by hand, samples of 400 ms, one a round trip, from 800 ms on: the mean deviation goes to 600, 450,
        // 337.5 and 253.125 ms, the variance by a quarter of the distance from the largest of each round trip.
        let mut variance = Variance::begin(400_000, 200_000, 1);
        let mut after = |una| {
            variance.sample(400_000, 400_000, 200_000, (una, una));
            variance.timeout_us
        };
        assert_eq!([2, 3, 4, 5].map(&mut after), [800_000, 712_500, 618_750, 527_344]);
    }

    #[test]
    fn a_shorter_round_trip_hardly_moves_it() {
        // Goal: 100 ms more than expected are a deviation of 100 ms at once (less a quarter of the old one), 100 ms
        // less an eighth of that; more raises the variance within the round trip.
        let of = |rtt_us| {
            let mut variance = Variance::begin(20_000, 10_000, 9);
            variance.sample(rtt_us, 200_000, 10_000, (1, 9));
            (variance.deviation_us, variance.timeout_us)
        };
        assert_eq!(of(300_000), (130_000, 130_000));
        assert_eq!(of(100_000), (51_250, 51_250));
    }
}
