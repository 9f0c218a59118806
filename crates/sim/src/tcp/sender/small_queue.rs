//! What of a connection waits in its host's own queue.
//!
//! Linux lets a connection have two packets below TCP, or a millisecond's worth at its pacing rate if that is more, and
//! twice as much of repetitions (`tcp_small_queue_check` of `net/ipv4/tcp_output.c`, 6.12); what it may send besides
//! waits in the socket until one of them has left. So a burst of ACKs fills no queue at the first link, and what was
//! not sent yet when a loss is found is not sent into the same queue.

use super::Sender;
use crate::clock::Now;
use crate::tcp::plan::Plan;

/// What Linux counts of a segment beside its payload: its own structures.
const OVERHEAD_BYTES: u64 = 1316;

/// When the last packets of a connection left their host, or will: the last one stands last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Departures([u64; 4]);

impl Departures {
    #[inline]
    fn add(&mut self, departs_ns: u64) {
        self.0 = [self.0[1], self.0[2], self.0[3], departs_ns];
    }

    /// When fewer than `pkts`, at most four, are still there.
    fn room_ns(self, pkts: usize) -> u64 {
        self.0[4 - pkts]
    }

    /// The same of more, which are reckoned to leave as the last two do, one behind the other.
    fn room_behind_ns(self, pkts: u64, known_pkts: usize) -> u64 {
        let gap_ns = self.0[3].saturating_sub(self.0[2]);
        let reckoned_ns = self.0[3].saturating_sub((pkts - 1).saturating_mul(gap_ns));
        self.room_ns(known_pkts).min(reckoned_ns)
    }
}

impl Sender {
    /// A packet went to the host's queue. No call where there is a place for that, as there is for nearly every packet.
    #[inline(always)]
    pub(super) fn note_queued(&mut self, departs_ns: u64) {
        match &mut self.repair {
            Some(repair) => repair.departures.add(departs_ns),
            None => self.repair.get_or_insert_default().departures.add(departs_ns),
        }
    }

    /// Whether another packet may go to the host's queue; else a timer waits for the departure of one.
    #[inline]
    pub(super) fn has_queue_room(&mut self, now: Now, plan: &Plan, again: bool) -> bool {
        let room_ns = match &self.repair {
            Some(repair) => repair.departures.room_ns(if again { 4 } else { 2 }),
            None => 0,
        };
        room_ns <= now.ns || self.has_more_room(now, plan, again)
    }

    #[inline(never)]
    fn has_more_room(&mut self, now: Now, plan: &Plan, again: bool) -> bool {
        // What has nothing or a single packet before it leaves in any case. What ACKs pace has no other timer.
        if self.board.outstanding_pkts() <= 1 || self.is_paced_by_acks(plan) {
            return true;
        }
        let pkts = self.queue_pkts_max(plan) << u32::from(again);
        let departures = self.repair.get_or_insert_default().departures;
        let room_ns = departures.room_behind_ns(pkts, if again { 4 } else { 2 });
        self.pace_blocked = now.ns < room_ns;
        if self.pace_blocked {
            self.pace_due_ns = self.pace_due_ns.max(room_ns);
        }
        !self.pace_blocked
    }

    /// Packets of a connection below TCP: two, or a millisecond's worth at the rate that its law names, else at twice
    /// the window a round trip while that doubles, and 1.2 times later (`tcp_update_pacing_rate`).
    fn queue_pkts_max(&self, plan: &Plan) -> u64 {
        let payload_bytes = u64::from(plan.tcp.packet_bytes - plan.tcp.header_bytes);
        let (cwnd_pkts, ssthresh_pkts) = (self.control.cwnd_pkts, self.control.ssthresh_pkts);
        let percent = if cwnd_pkts < ssthresh_pkts / 2 { 200 } else { 120 };
        let window_bytes = u64::from(cwnd_pkts.max(self.board.outstanding_pkts())) * payload_bytes;
        let by_default = window_bytes
            .saturating_mul(percent * 10_000)
            .checked_div(u64::from(self.rtt.srtt_us()));
        let bytes_per_s = if self.control.pacing_Bps > 0 {
            self.control.pacing_Bps
        } else {
            by_default.unwrap_or(0)
        };
        (bytes_per_s / 1024).div_ceil(payload_bytes + OVERHEAD_BYTES).max(2)
    }
}

#[cfg(test)]
mod tests {
    use super::Departures;

    #[test]
    fn more_than_is_known_is_reckoned() {
        // Goal: of packets that leave every 10 ns, the last at 70, fewer than two are there from 60 on, fewer than four
        // from 40 on, and fewer than six from 20 on; what is not known holds nobody up.
        let mut departures = Departures::default();
        assert_eq!((departures.room_ns(2), departures.room_behind_ns(100, 2)), (0, 0));
        for departs_ns in [40, 50, 60, 70] {
            departures.add(departs_ns);
        }
        assert_eq!((departures.room_ns(2), departures.room_ns(4)), (60, 40));
        let room_ns = [2, 4, 6, 100].map(|pkts| departures.room_behind_ns(pkts, 2));
        assert_eq!(room_ns, [60, 40, 20, 0]);
        // One that was dropped leaves when the one before it does.
        departures.add(70);
        assert_eq!(departures.room_behind_ns(6, 2), 70);
    }
}
