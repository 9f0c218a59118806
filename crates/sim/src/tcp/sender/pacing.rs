//! When a segment may leave of a law that names a rate.

use fadelab_laws::abi;
use fadelab_run::transport::Pacing;

use super::Sender;
use crate::clock::Now;
use crate::tcp::plan::Plan;

/// An hour: nothing is paced apart further.
const GAP_NS_MAX: u64 = 3_600_000_000_000;

/// What an event lets go of a window that is paced by ACKs ([`Pacing::PerAck`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grant {
    /// One segment, and the timer for another.
    One,
    /// The timer: the segment has left.
    Timer,
    /// What the timer lets go alone.
    None,
}

impl Sender {
    /// Whether pacing lets the next segment go; else a timer waits for it, or an ACK must come.
    #[inline]
    pub(super) fn may_leave(&mut self, now: Now, plan: &Plan) -> bool {
        if self.control.cwnd_pkts == 0 {
            self.pace_due_ns = self.sent_ns_last + self.gap_ns_below_one();
        }
        if !self.is_paced_by_acks(plan) {
            self.pace_blocked = now.ns < self.pace_due_ns;
            return !self.pace_blocked;
        }
        match self.grant {
            Grant::One => self.grant = Grant::Timer,
            Grant::Timer => {
                let byte_ns = u64::from(plan.tcp.packet_bytes) * 1_000_000_000;
                let gap_ns = byte_ns.checked_div(self.control.pacing_Bps).unwrap_or(0);
                (self.grant, self.pace_due_ns) = (Grant::None, now.ns + gap_ns);
                self.pace_blocked = true;
            }
            Grant::None if self.pace_due_ns <= now.ns => {
                self.pace_due_ns = u64::MAX;
                return true;
            }
            Grant::None => self.pace_blocked = self.pace_due_ns < u64::MAX,
        }
        self.grant == Grant::Timer
    }

    #[inline]
    pub(super) fn is_paced_by_acks(&self, plan: &Plan) -> bool {
        plan.tcp.pacing == Pacing::PerAck || self.control.flags & abi::CONTROL_PACED_BY_ACKS != 0
    }

    /// How far apart single packets leave under a window that is a fraction of one: a round trip over the window.
    #[cold]
    fn gap_ns_below_one(&self) -> u64 {
        let srtt_ns = u128::from(self.rtt.srtt_us()) * 1000;
        let gap_ns = (srtt_ns << 32) / u128::from(self.control.cwnd_fraction.max(1));
        gap_ns.min(u128::from(GAP_NS_MAX)) as u64
    }

    /// A segment leaves: at a rate, the next one waits for as long as this one takes.
    #[inline]
    pub(super) fn note_departure(&mut self, now: Now, plan: &Plan, ip_bytes: u16) {
        let byte_ns = u64::from(ip_bytes) * 1_000_000_000;
        if !self.is_paced_by_acks(plan)
            && let Some(gap_ns) = byte_ns.checked_div(self.control.pacing_Bps)
        {
            self.pace_due_ns = self.pace_due_ns.max(now.ns) + gap_ns;
        }
    }
}
