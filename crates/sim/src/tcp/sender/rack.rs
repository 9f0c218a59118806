//! RACK-TLP, RFC 8985, as Linux has it (`net/ipv4/tcp_recovery.c`, `tcp_output.c`, 6.12): a segment is lost when one
//! that was sent later has arrived and a round trip has passed, and the end of a flight is probed before the timeout.
//!
//! First transmissions are in the order of their numbers and repeated ones are kept in theirs, so that each is looked
//! at once.

use std::collections::VecDeque;

use fadelab_laws::abi;
use fadelab_path::violation::Checked;

use super::Sender;
use crate::clock::Now;
use crate::network::Network;
use crate::packet::Packet;
use crate::tcp::plan::Plan;
use crate::tcp::scoreboard::Sent;

/// By how much timers of probes and of reordering are later than RFC 8985 has them: `TCP_TIMEOUT_MIN_US` of
/// `include/net/tcp.h`, since 6.6 and 6.1.60. Before, it was two ticks, 8 ms.
const MORE_NS: u64 = 2_000_000;

/// What the one timer of a connection is set for beside the retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RackTimer {
    /// Segments may yet turn out to be reordered.
    Reordering,
    /// The end of the flight is to be probed.
    Probe,
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Rack {
    /// The segment sent last of those that arrived, and the round trip it had.
    newest: Sent,
    rtt_ns: u64,
    /// Of the segments that the SACK blocks of the ACK at hand newly tell of, the highest.
    highest_sacked: Option<u32>,
    /// Highest segment that arrived, plus one.
    highest: u32,
    pub is_reordered: bool,
    /// By how many quarters of the smallest round trip segments may come late (section 6.2, step 4), less one.
    more_quarters: u8,
    /// Whether a D-SACK told of reordering since that grew, for how many recoveries it stays, how many D-SACKs there
    /// were, and how many segments had been delivered when it grew.
    is_duplicated: bool,
    stays: u8,
    duplicates: u32,
    grown_at_pkts: u32,
    /// What was sent again and may be under way, in the order of time.
    again: VecDeque<Sent>,
    timer: Option<RackTimer>,
    /// `snd_nxt` when the probe left, which is out until all below is acknowledged.
    probe_end: Option<u32>,
    /// Whether it was sent before.
    probe_again: bool,
    /// What the last such probe repeated.
    repeated: Option<Sent>,
}

/// Recoveries after which the reordering window is a quarter of the smallest round trip again.
const RECOVERIES: u8 = 16;

impl Rack {
    /// Section 6.2, step 4: the window grows by a quarter of the smallest round trip, once a round trip, where D-SACKs
    /// tell of repetitions in vain (`tcp_rack_update_reo_wnd`). `prior_pkts` had been delivered when the newest
    /// arrival was sent, and `delivered_pkts` are now.
    fn adapt_window(&mut self, prior_pkts: u32, delivered_pkts: u32) {
        self.is_duplicated &= prior_pkts >= self.grown_at_pkts;
        if self.is_duplicated {
            (self.more_quarters, self.stays) = (self.more_quarters.saturating_add(1), RECOVERIES);
            (self.is_duplicated, self.grown_at_pkts) = (false, delivered_pkts);
        } else if self.stays == 0 {
            self.more_quarters = 0;
        }
    }
}

impl Sender {
    fn rack(&mut self) -> &mut Rack {
        &mut self.repair.get_or_insert_default().rack
    }

    /// The timer fired: what it was set for, unless that is the timeout.
    pub(super) fn take_rack_timer(&mut self) -> Option<RackTimer> {
        self.repair.as_mut()?.rack.timer.take()
    }

    /// A probe, if one is out, says nothing any more.
    pub(super) fn forget_probe(&mut self) {
        if let Some(repair) = &mut self.repair {
            repair.rack.probe_end = None;
        }
    }

    /// An ACK of nothing new, with all up to the probe acknowledged before: what the probe repeated had arrived, so
    /// that nothing was lost (section 7.4.2). One that comes earlier says nothing of it.
    pub(super) fn note_duplicate_of_probe(&mut self) {
        let acknowledged = self.board.una();
        if let Some(repair) = &mut self.repair
            && repair.rack.probe_end.is_some_and(|end| acknowledged >= end)
        {
            repair.rack.probe_end = None;
        }
    }

    /// What the SACK blocks of an ACK tell.
    #[inline]
    pub(super) fn note_highest_sacked(&mut self, highest: Option<u32>) {
        self.rack().highest_sacked = highest;
    }

    pub(super) fn note_retransmission(&mut self, now: Now, seq: u32) {
        let is_oldest = seq == self.board.una();
        let rack = self.rack();
        rack.again.push_back((now.ns, seq));
        if is_oldest {
            // It starts the retransmission timer anew.
            rack.timer = None;
        }
    }

    /// Section 7.2: the probe is due two round trips from now, with time for a delayed ACK where one segment is out,
    /// and never after the timeout; in a recovery there is none.
    #[inline(never)]
    pub(super) fn arm_rack_timer(&mut self, now: Now, plan: &Plan) {
        let outstanding_pkts = self.board.outstanding_pkts();
        if outstanding_pkts == 0 {
            self.rto_due_ns = u64::MAX;
            self.rack().timer = None;
            return;
        }
        let rto_ns = self.rtt.rto_ns(&plan.tcp);
        let srtt_ns = u64::from(self.rtt.srtt_us()) * 1000;
        let is_quiet =
            matches!(self.control.ca_state, abi::CA_OPEN | abi::CA_CWR) && self.board.sacked_pkts() == 0 && srtt_ns > 0;
        let more_ns = if outstanding_pkts == 1 {
            plan.tcp.rto_ns_min
        } else {
            MORE_NS
        };
        let rack = self.rack();
        rack.timer = (is_quiet && rack.probe_end.is_none()).then_some(RackTimer::Probe);
        let due_ns = if rack.timer.is_some() {
            rto_ns.min(2 * srtt_ns + more_ns)
        } else {
            rto_ns
        };
        self.set_timer(now, plan, due_ns);
    }

    /// The first SACK block is a D-SACK, of segments that came twice, where it is below the ACK, or inside the second
    /// one (RFC 2883, section 4). What this end had not sent again the network doubled, and a probe repeats in any
    /// case: they say nothing of segments that came late (`tcp_dsack_seen`).
    #[inline(never)]
    pub(super) fn take_dsack(&mut self, packet: &Packet) {
        let [(start, end), (second_start, second_end), ..] = packet.sack;
        let is_inside = packet.sack_blocks > 1 && second_start <= start && end <= second_end;
        if start < packet.seq || is_inside {
            let retransmitted_pkts = self.counters.retransmitted_pkts;
            let rack = self.rack();
            rack.duplicates += 1;
            let is_ours = u64::from(rack.duplicates) <= u64::from(retransmitted_pkts);
            rack.is_duplicated |= is_ours && rack.is_reordered && rack.probe_end != Some(end);
        }
    }

    /// A recovery is over, and was not taken back.
    pub(super) fn note_recovery_end(&mut self) {
        let rack = self.rack();
        rack.stays = rack.stays.saturating_sub(1);
    }

    /// What an ACK says about time: marks what is lost by now. Returns whether the timer is set for what may be lost
    /// soon.
    #[inline(never)]
    pub(super) fn lose_by_time(&mut self, now: Now, plan: &Plan, ack: &mut abi::Ack) -> bool {
        if ack.delivered_pkts == 0 {
            return false;
        }
        let (prior_pkts, delivered_pkts) = (self.board.newest_prior_pkts(), self.board.delivered_pkts());
        self.rack().adapt_window(prior_pkts, delivered_pkts);
        self.note_arrival(now, ack.acked_pkts);
        let highest = self.board.highest_arrived();
        let rack = self.rack();
        rack.highest = rack.highest.max(highest);
        self.end_probe(plan, ack);
        let waits;
        (ack.lost_pkts, waits) = self.detect_by_time(now, plan);
        ack.in_flight_pkts = self.board.in_flight_pkts();
        waits
    }

    /// A new ACK sets the timer anew, and with segments missing there is no probe. What the ACK says of losses comes
    /// first, as in `tcp_ack`: one that ends a recovery may begin the next.
    pub(super) fn arm_after_ack(&mut self, now: Now, plan: &Plan, ack: &abi::Ack) {
        if ack.acked_pkts > 0 || (ack.delivered_pkts > 0 && (self.rack().timer.is_some() || self.renews_timeout())) {
            self.arm_rack_timer(now, plan);
        }
    }

    /// Linux sets the timeout anew at a SACK, too, of a segment that was sent once, before the oldest one was sent last
    /// (`tcp_clean_rtx_queue` of `net/ipv4/tcp_input.c`): a recovery of hundreds of segments may acknowledge none for
    /// longer than a timeout, and RFC 6298, which knows cumulative ACKs alone, would end it by one.
    fn renews_timeout(&self) -> bool {
        let (newest, again) = self.board.newest_sent();
        !again && newest.0 < self.board.sent_ns(self.board.una())
    }

    /// Section 6.2, steps 2 and 3. A segment that was sent again and is acknowledged faster than ever is one whose
    /// first transmission arrived after all. The round trip is that of the segment told of last, newest or not: where
    /// an ACK of a repetition covers what had arrived long before, it is that long (`tcp_rack_advance`).
    fn note_arrival(&mut self, now: Now, acked_pkts: u32) {
        let sacked = self.rack().highest_sacked.take();
        let highest = self.board.highest_of(acked_pkts).or(sacked);
        let rtt_ns_min = u64::from(self.rtt.rtt_us_min()) * 1000;
        let says = |(sent, again): (Sent, bool)| !again || now.ns - sent.0 >= rtt_ns_min;
        let (newest, highest) = (self.board.newest_sent(), highest.map(|seq| self.board.sent(seq)));
        let rack = self.rack();
        if let Some(highest) = highest.filter(|&highest| says(highest)) {
            rack.rtt_ns = now.ns - highest.0.0;
        }
        if says(newest) {
            rack.is_reordered |= !newest.1 && newest.0.1 + 1 < rack.highest;
            rack.newest = rack.newest.max(newest.0);
        }
    }

    /// How much later than a round trip a segment may come (section 6.2, step 4): not at all once three are missing it
    /// or a recovery is under way, unless segments were reordered before.
    fn reordering_ns(&mut self, plan: &Plan) -> u64 {
        let is_sure = self.control.ca_state >= abi::CA_RECOVERY || self.board.sacked_pkts() >= plan.tcp.dupthresh;
        if is_sure && !self.rack().is_reordered {
            return 0;
        }
        let quarters = u64::from(self.rack().more_quarters) + 1;
        let late_us = u64::from(self.rtt.rtt_us_min() / 4) * quarters;
        late_us.min(self.rtt.srtt_us().into()) * 1000
    }

    /// Section 6.2, step 5: how many are newly lost, and whether the timer is set for more.
    fn detect_by_time(&mut self, now: Now, plan: &Plan) -> (u32, bool) {
        let wait_ns = self.rack().rtt_ns + self.reordering_ns(plan);
        let newest = self.rack().newest;
        let sent_ns_max = now.ns.saturating_sub(wait_ns);
        let (mut lost, next) = self.board.mark_sent_before(newest, sent_ns_max);
        let mut next_ns = next;
        while let Some(&sent) = self.rack().again.front() {
            if self.board.is_under_way_again(sent) {
                if sent >= newest {
                    break;
                }
                if sent.0 > sent_ns_max {
                    next_ns = next_ns.max(Some(sent.0));
                    break;
                }
                self.board.lose_again(sent.1);
                lost += 1;
            }
            self.rack().again.pop_front();
        }
        if let Some(next_ns) = next_ns {
            self.rack().timer = Some(RackTimer::Reordering);
            let left_ns = next_ns + wait_ns - now.ns;
            self.set_timer(now, plan, left_ns + MORE_NS);
        }
        (lost, next_ns.is_some())
    }

    /// Whether the oldest segment was repeated by a probe alone, which does not make it a lost one (section 7.3).
    pub(super) fn is_probe_of_oldest(&self) -> bool {
        let repeated = self.repair.as_ref().and_then(|repair| repair.rack.repeated);
        repeated.is_some_and(|sent| sent.1 == self.board.una() && self.board.is_under_way_again(sent))
    }

    /// Section 7.4: the ACK of a probe that was sent before tells by what it does not say: where no duplicate came the
    /// first transmission was lost, and the window is reduced for it.
    fn end_probe(&mut self, plan: &Plan, ack: &mut abi::Ack) {
        let acknowledged = self.board.una();
        let rack = self.rack();
        let Some(end) = rack.probe_end.filter(|&end| acknowledged >= end) else {
            return;
        };
        if !rack.probe_again {
            rack.probe_end = None;
        } else if acknowledged > end {
            rack.probe_end = None;
            if self.control.ca_state <= abi::CA_DISORDER {
                self.law.on_loss(plan, ack, abi::LOSS_DUPACK, &mut self.control);
                if self.law.flags() & abi::SENDER_OWNS_RECOVERY == 0 {
                    self.go_to_ssthresh(self.control.cwnd_pkts);
                }
                ack.flags |= abi::ACK_PROBE_REPAIRED;
            }
        }
    }

    /// What the timer was set for is due.
    #[cold]
    pub(super) fn on_rack_timer(&mut self, timer: RackTimer, now: Now, plan: &Plan, net: &mut Network) -> Checked<()> {
        match timer {
            RackTimer::Probe => self.probe(now, plan, net),
            RackTimer::Reordering => self.give_up_waiting(now, plan, net),
        }
    }

    /// Section 7.3: a new segment, whatever the window says, or the last one again.
    fn probe(&mut self, now: Now, plan: &Plan, net: &mut Network) -> Checked<()> {
        let has_data = self.board.nxt() < self.written && self.has_receive_window(plan);
        if has_data {
            self.transmit_new(now, plan, net)?;
        } else if self.board.sacked_pkts() == 0 && self.board.outstanding_pkts() > 0 {
            let (seq, from) = self.board.lose_last();
            self.transmit_again(now, plan, seq, net)?;
            self.board.look_from(from);
            self.rack().repeated = Some((now.ns, seq));
        }
        let end = self.board.nxt();
        let rack = self.rack();
        (rack.probe_end, rack.probe_again, rack.timer) = (Some(end), !has_data, None);
        self.arm_rack_timer(now, plan);
        Ok(())
    }

    /// Segments that could have been reordered were not: they are lost.
    fn give_up_waiting(&mut self, now: Now, plan: &Plan, net: &mut Network) -> Checked<()> {
        let (lost_pkts, _) = self.detect_by_time(now, plan);
        let mut ack = self.timer_ack(now, plan);
        ack.lost_pkts = lost_pkts;
        if lost_pkts > 0 && self.control.ca_state < abi::CA_RECOVERY {
            self.enter_recovery(plan, &mut ack, net);
            // As if one had arrived, `tcp_rack_reo_timeout` of `net/ipv4/tcp_recovery.c`.
            ack.delivered_pkts = 1;
            self.reduce_rate(plan, &ack);
            if let Some(seq) = self.board.next_retransmission() {
                self.transmit_again(now, plan, seq, net)?;
            }
        }
        if self.rto_due_ns == u64::MAX {
            self.arm_rack_timer(now, plan);
        }
        Ok(())
    }
}
