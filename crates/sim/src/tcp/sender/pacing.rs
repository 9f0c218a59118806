//! When a segment may leave of a law that names a rate.

use fadelab_run::transport::Pacing;

use super::Sender;
use crate::clock::Now;
use crate::tcp::plan::Plan;

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
        if plan.tcp.pacing == Pacing::Rate {
            self.pace_blocked = now.ns < self.pace_due_ns;
            return !self.pace_blocked;
        }
        match self.grant {
            Grant::One => self.grant = Grant::Timer,
            Grant::Timer => {
                let gap_ns = u64::from(plan.tcp.packet_bytes) * 1_000_000_000 / self.control.pacing_Bps;
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

    /// A segment leaves: at a rate, the next one waits for as long as this one takes.
    #[inline]
    pub(super) fn note_departure(&mut self, now: Now, plan: &Plan, ip_bytes: u16) {
        let byte_ns = u64::from(ip_bytes) * 1_000_000_000;
        if plan.tcp.pacing == Pacing::Rate
            && let Some(gap_ns) = byte_ns.checked_div(self.control.pacing_Bps)
        {
            self.pace_due_ns = self.pace_due_ns.max(now.ns) + gap_ns;
        }
    }
}
