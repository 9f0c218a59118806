//! Which segments are lost, and which of them is sent again next.

use super::{Scoreboard, Sent, is};

impl Scoreboard {
    /// `IsLost` of RFC 6675: a segment is lost when `dupthresh` segments above it are sacked. Returns how many newly
    /// are.
    #[inline]
    pub fn mark_losses(&mut self, dupthresh: u32) -> u32 {
        if self.frontier_sacked < dupthresh {
            return 0;
        }
        self.advance_frontier(dupthresh)
    }

    #[inline(never)]
    fn advance_frontier(&mut self, dupthresh: u32) -> u32 {
        let mut lost = 0;
        while self.frontier_sacked >= dupthresh {
            let seq = self.frontier;
            if self.segment(seq).in_flight_and_flags & is::SACKED != 0 {
                self.frontier_sacked -= 1;
            } else {
                lost += u32::from(self.mark_lost(seq));
            }
            self.frontier += 1;
        }
        lost
    }

    /// RACK: marks what was first sent before `newest`, and before `sent_ns_max`, lost. Both kinds of transmissions are
    /// in order, so that a frontier finds these. Returns how many newly are, and when the next one was sent if it was
    /// before `newest`.
    #[inline(never)]
    pub fn mark_sent_before(&mut self, newest: Sent, sent_ns_max: u64) -> (u32, Option<u64>) {
        let mut lost = 0;
        while self.frontier < self.nxt {
            let seq = self.frontier;
            let segment = self.segment(seq);
            let (sent_ns, flags) = (segment.sent_ns, segment.in_flight_and_flags);
            if flags & is::SACKED != 0 {
                self.frontier_sacked -= 1;
            } else if flags & is::LOST == 0 {
                if (sent_ns, seq) >= newest {
                    return (lost, None);
                }
                if sent_ns > sent_ns_max {
                    return (lost, Some(sent_ns));
                }
                lost += u32::from(self.mark_lost(seq));
            }
            self.frontier += 1;
        }
        (lost, None)
    }

    /// Whether segment `seq`, sent again at `sent_ns`, may still arrive from there.
    pub fn is_under_way_again(&self, (sent_ns, seq): Sent) -> bool {
        if seq < self.una {
            return false;
        }
        let segment = self.segment(seq);
        let flags = segment.in_flight_and_flags & (is::LOST | is::RETRANSMITTED | is::SACKED);
        segment.sent_ns == sent_ns && flags == is::LOST | is::RETRANSMITTED
    }

    /// What was sent again is lost too: it is to be sent once more.
    pub fn lose_again(&mut self, seq: u32) {
        self.find(seq, true);
        self.put_back(seq);
    }

    fn put_back(&mut self, seq: u32) {
        self.segment_mut(seq).in_flight_and_flags &= !is::RETRANSMITTED;
        self.retransmitted_pkts -= 1;
        self.in_flight_pkts -= 1;
        self.retransmit_from = self.retransmit_from.min(seq);
    }

    /// The last segment counts as lost, so that it can be sent again to see whether it arrived, or once more. Returns
    /// its number, and from where on lost segments are then still to be looked for.
    pub fn lose_last(&mut self) -> (u32, u32) {
        let (last, from) = (self.nxt - 1, self.retransmit_from);
        if self.segment(last).in_flight_and_flags & is::RETRANSMITTED != 0 {
            self.put_back(last);
        } else {
            self.mark(last);
        }
        (last, from)
    }

    /// Lost segments are looked for from `from` on.
    pub fn look_from(&mut self, from: u32) {
        self.retransmit_from = from;
    }

    /// When the newest segment of the last ACK with news was sent, and whether that was not for the first time.
    pub fn newest_sent(&self) -> (Sent, bool) {
        self.sent(self.newest)
    }

    /// What had been delivered when the newest segment of the last ACK with news was sent.
    pub fn newest_prior_pkts(&self) -> u32 {
        self.segment(self.newest).delivered_pkts
    }

    /// The highest of the segments that were acknowledged last and that no SACK had told of.
    pub fn highest_of(&self, acked_pkts: u32) -> Option<u32> {
        let mut acked = self.una - acked_pkts..self.una;
        acked.rfind(|&seq| self.segment(seq).in_flight_and_flags & is::SACKED == 0)
    }

    /// When segment `seq`, outstanding or just acknowledged, was sent last, and whether it had been sent before.
    pub fn sent(&self, seq: u32) -> (Sent, bool) {
        let segment = self.segment(seq);
        let again = segment.in_flight_and_flags & is::RETRANSMITTED != 0;
        ((segment.sent_ns, seq), again)
    }

    /// One more than the highest segment that arrived.
    pub fn highest_arrived(&self) -> u32 {
        self.sacked.last().map_or(self.una, |(_, end)| end)
    }

    /// Marks the oldest segment lost. Returns whether it was not before.
    pub fn mark_oldest_lost(&mut self) -> bool {
        self.retransmit_from = self.una;
        self.mark_lost(self.una)
    }

    fn mark_lost(&mut self, seq: u32) -> bool {
        let is_new = self.mark(seq);
        if is_new {
            self.find(seq, false);
        }
        is_new
    }

    fn mark(&mut self, seq: u32) -> bool {
        let segment = self.segment_mut(seq);
        if segment.in_flight_and_flags & (is::LOST | is::SACKED) != 0 {
            return false;
        }
        segment.in_flight_and_flags |= is::LOST;
        self.lost_pkts += 1;
        self.in_flight_pkts -= 1;
        true
    }

    /// The retransmission timer fired: all that was not reported as arrived is taken for lost.
    pub fn mark_all_lost(&mut self) {
        let flight = self.outstanding_pkts() - self.sacked_pkts;
        for seq in self.una..self.nxt {
            let flags = self.segment(seq).in_flight_and_flags;
            let again = flags & is::RETRANSMITTED != 0;
            if flags & is::SACKED == 0 && (again || flags & is::LOST == 0) {
                self.find(seq, again);
            }
            let segment = self.segment_mut(seq);
            if flags & is::SACKED == 0 {
                segment.in_flight_and_flags = (segment.in_flight_and_flags & !is::RETRANSMITTED) | is::LOST;
            }
        }
        (
            self.lost_pkts,
            self.retransmitted_pkts,
            self.duplicate_pkts,
            self.in_flight_pkts,
        ) = (flight, 0, 0, 0);
        (self.frontier, self.frontier_sacked, self.retransmit_from) = (self.nxt, 0, self.una);
    }

    /// Whether one of the segments that were acknowledged last is below `end`, was sent once, and had not been told of
    /// by a SACK. Without SACK nobody can tell where one of them was sent again.
    #[cold]
    pub fn tells_of_original(&self, acked_pkts: u32, end: u32, has_sack: bool) -> bool {
        let flags = |seq| self.segment(seq).in_flight_and_flags;
        let mut acked = self.una - acked_pkts..self.una;
        (has_sack || !self.were_repeated(acked_pkts))
            && acked.any(|seq| seq < end && flags(seq) & (is::REPEATED | is::SACKED) == 0)
    }

    /// What was taken for lost, and not sent again since, may be under way after all.
    #[cold]
    pub fn take_back_losses(&mut self) {
        self.forget_duplicates(u32::MAX);
        for seq in self.una..self.nxt {
            let segment = self.segment_mut(seq);
            if segment.in_flight_and_flags & (is::LOST | is::RETRANSMITTED | is::SACKED) == is::LOST {
                segment.in_flight_and_flags &= !is::LOST;
                self.lost_pkts -= 1;
                self.in_flight_pkts += 1;
            }
        }
        (self.frontier, self.frontier_sacked, self.retransmit_from) = (self.una, self.sacked_pkts, self.una);
    }

    /// The oldest lost segment that was not sent again since it was marked (`NextSeg` rule 1 of RFC 6675).
    #[inline]
    pub fn next_retransmission(&mut self) -> Option<u32> {
        if self.lost_pkts == self.retransmitted_pkts {
            return None;
        }
        self.find_retransmission()
    }

    #[inline(never)]
    fn find_retransmission(&mut self) -> Option<u32> {
        while self.retransmit_from < self.nxt {
            let flags = self.segment(self.retransmit_from).in_flight_and_flags;
            if flags & is::LOST != 0 && flags & (is::RETRANSMITTED | is::SACKED) == 0 {
                return Some(self.retransmit_from);
            }
            self.retransmit_from += 1;
        }
        None
    }
}
