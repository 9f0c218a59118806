//! What the sending end makes of losses and of ECN echoes: when recovery begins and ends, when the law is asked.

use std::ops::Range;

use fadelab_laws::abi;
use fadelab_run::transport::Recovery;

use super::law::ceiling_pkts;
use super::repair::Reduction;
use super::{NOT_TIMED, Sender};
use crate::clock::Now;
use crate::network::Network;
use crate::network::answers::Answer;
use crate::tcp::plan::Plan;

impl Sender {
    /// Moves the recovery state on. Returns whether a retransmission is due whatever the window says.
    #[inline]
    pub(super) fn advance_recovery(&mut self, now: Now, plan: &Plan, ack: &mut abi::Ack, net: &mut Network) -> bool {
        if self.control.ca_state == abi::CA_OPEN && self.is_whole(plan) {
            return false;
        }
        let una = self.board.una();
        let by_time = plan.tcp.recovery == Recovery::Rack;
        let ends = self.is_past_recover(plan, una) || (ack.acked_pkts > 0 && self.ends_with_new_ack(plan));
        if ends && self.control.ca_state > abi::CA_DISORDER {
            if by_time && self.control.ca_state >= abi::CA_RECOVERY {
                self.note_recovery_end();
            }
            if self.is_reducing(plan) {
                self.go_to_ssthresh(self.cwnd_pkts_before());
            }
            self.control.ca_state = abi::CA_OPEN;
        }
        let waits = by_time && self.lose_by_time(now, plan, ack);
        let must_send = match self.control.ca_state {
            abi::CA_RECOVERY if ack.acked_pkts > 0 && plan.tcp.recovery == Recovery::NewReno => {
                // RFC 6582, section 3.2, step 3: a partial ACK reveals the next loss. Where the window is reduced in
                // proportion, that has room for it.
                let is_new = self.lose_oldest(ack);
                self.reduce_rate(plan, ack);
                is_new && !self.is_reducing(plan)
            }
            abi::CA_RECOVERY | abi::CA_LOSS => {
                self.reduce_rate(plan, ack);
                false
            }
            _ => self.detect_loss(plan, ack, net),
        };
        if by_time && !waits {
            self.arm_after_ack(now, plan, ack);
        }
        must_send
    }

    /// Whether nothing is missing, and no clock has to be asked for what may be: as after nearly every ACK.
    #[inline]
    fn is_whole(&self, plan: &Plan) -> bool {
        self.duplicate_acks == 0 && self.board.is_whole() && plan.tcp.recovery != Recovery::Rack
    }

    /// Whether all is acknowledged that was sent before the window was last reduced. Linux holds CWR until more is, so
    /// that the announcement of the reduction has reached the receiver (`tcp_fastretrans_alert`).
    #[inline]
    fn is_past_recover(&self, plan: &Plan, una: u32) -> bool {
        let holds = plan.tcp.ecn_after_recovery && self.control.ca_state == abi::CA_CWR;
        una >= self.recover + u32::from(holds)
    }

    /// Whether any new ACK ends the recovery under way (RFC 5681, section 3.2, step 6).
    #[inline]
    pub(super) fn ends_with_new_ack(&self, plan: &Plan) -> bool {
        plan.tcp.recovery == Recovery::Reno && self.control.ca_state == abi::CA_RECOVERY
    }

    /// Whether a new ACK of all below `seq` leaves the recovery under way as it is.
    #[inline]
    pub(super) fn stays_in_recovery(&self, plan: &Plan, seq: u32) -> bool {
        self.control.ca_state == abi::CA_RECOVERY && seq < self.recover && !self.ends_with_new_ack(plan)
    }

    /// Without SACK the oldest segment is the one that is known to be lost. Returns whether that is new.
    #[inline(never)]
    fn lose_oldest(&mut self, ack: &mut abi::Ack) -> bool {
        let is_new = self.board.mark_oldest_lost();
        ack.lost_pkts += u32::from(is_new);
        ack.in_flight_pkts = self.board.in_flight_pkts();
        is_new
    }

    #[inline]
    fn detect_loss(&mut self, plan: &Plan, ack: &mut abi::Ack, net: &mut Network) -> bool {
        let found = match plan.tcp.recovery {
            Recovery::Sack => self.board.oldest_is_lost(),
            Recovery::Rack => self.board.oldest_is_lost() && !self.is_probe_of_oldest(),
            // RFC 6582, section 3.2, step 2: the ACK covers more than `recover`; duplicates of that very segment may
            // come from what a timeout sent twice.
            Recovery::NewReno | Recovery::Reno => {
                self.duplicate_acks >= plan.tcp.dupthresh
                    && ack.flags & abi::ACK_DUPLICATE != 0
                    && self.board.una() >= self.recover_loss
            }
        };
        if found {
            self.enter_recovery(plan, ack, net);
            return true;
        }
        if self.control.ca_state == abi::CA_CWR {
            self.reduce_rate(plan, ack);
        } else {
            let disorder = self.duplicate_acks > 0 || self.board.sacked_pkts() > 0;
            self.control.ca_state = if disorder { abi::CA_DISORDER } else { abi::CA_OPEN };
        }
        false
    }

    #[inline(never)]
    pub(super) fn enter_recovery(&mut self, plan: &Plan, ack: &mut abi::Ack, net: &mut Network) {
        self.counters.recoveries += 1;
        self.timed = NOT_TIMED;
        if !plan.tcp.recovery.has_sack() {
            self.lose_oldest(ack);
        }
        if self.board.has_found() {
            self.tell_lost(plan, ack);
        }
        if self.control.ca_state == abi::CA_CWR {
            // RFC 3168, section 6.1.2: the window was reduced for the same round trip already.
            self.control.ca_state = abi::CA_RECOVERY;
            self.remember_for_timeouts(plan, None);
            // Linux sets the recovery point where a reduction begins (`tcp_enter_recovery`), and none begins here.
            if !plan.tcp.keeps_recovery_point {
                self.recover = self.board.nxt();
            }
        } else {
            let before = (self.control.cwnd_pkts, self.control.cwnd_fraction);
            self.remember_window(plan, abi::LOSS_DUPACK);
            self.remember_for_timeouts(plan, Some(self.control));
            self.law.on_loss(plan, ack, abi::LOSS_DUPACK, &mut self.control);
            let after = self.answered_window(before.0);
            net.note_answer(self.identity.flow, self.missing(), Answer { before, after });
            self.reduce(plan, abi::CA_RECOVERY);
        }
        self.recover_loss = self.recover + 1;
        self.partial_acks = 0;
        self.reduce_rate(plan, ack);
    }

    /// The window to which the law's answer to a loss leads, at once or in the course of a round trip.
    fn answered_window(&self, cwnd_pkts_before: u32) -> (u32, u32) {
        let control = &self.control;
        if self.law.flags() & abi::SENDER_OWNS_RECOVERY != 0 {
            return (control.cwnd_pkts, control.cwnd_fraction);
        }
        let ssthresh = (control.ssthresh_pkts, control.ssthresh_fraction);
        ssthresh.min((ceiling_pkts(cwnd_pkts_before), 0))
    }

    /// The oldest segment, and those up to the highest that arrived: what is missing of them was lost before.
    fn missing(&self) -> Range<u32> {
        let una = self.board.una();
        una..self.board.highest_arrived().max(una + 1)
    }

    /// Whether ECE and CWR of RFC 3168 mean something on this connection.
    #[inline]
    pub(super) fn has_classic_ecn(&self, plan: &Plan) -> bool {
        plan.tcp.ecn && self.law.ecn_mode() == abi::ECN_MODE_CLASSIC
    }

    /// RFC 3168, section 6.1.2: once per round trip, and not again for losses of the same window. The receiver repeats
    /// the echo until it sees CWR on the first segment sent after the reduction, number `recover`: what is acknowledged
    /// up to there can be the old echo. Linux asks that of the end of CWR alone (`tcp_try_to_open`), and answers an
    /// echo behind a recovery at once. Where the first segment of after a recovery is lost, that is the only chance:
    /// the echo comes with duplicates, and then begins the next recovery, whose answer is the law's to a loss.
    #[inline(never)]
    pub(super) fn react_to_echo(&mut self, plan: &Plan, ack: &abi::Ack) {
        let free = matches!(self.control.ca_state, abi::CA_OPEN | abi::CA_DISORDER);
        let may_be_old = !plan.tcp.ecn_after_recovery && self.board.una() <= self.recover;
        if !free || may_be_old {
            return;
        }
        self.counters.ecn_reductions += 1;
        self.remember_for_timeouts(plan, None);
        self.law.on_loss(plan, ack, abi::LOSS_ECN, &mut self.control);
        self.reduce(plan, abi::CA_CWR);
        self.reduce_rate(plan, ack);
    }

    /// A reduction for whatever reason is announced (RFC 3168, section 6.1.2), lest the receiver repeat an echo of
    /// before.
    fn reduce(&mut self, plan: &Plan, ca_state: u32) {
        // What a probe may tell, a loss, was answered herewith (`tcp_init_cwnd_reduction`).
        self.forget_probe();
        self.control.ca_state = ca_state;
        self.recover = self.board.nxt();
        self.announce_reduction = self.has_classic_ecn(plan);
        self.note_buffered_window(plan);
        if self.is_reducing(plan) {
            self.repair.get_or_insert_default().reduction = Reduction {
                cwnd_pkts_before: self.control.cwnd_pkts,
                delivered_pkts: 0,
                sent_pkts_before: self.counters.sent_pkts,
            };
        } else if self.law.flags() & abi::SENDER_OWNS_RECOVERY == 0 {
            self.go_to_ssthresh(self.control.cwnd_pkts);
        }
    }

    /// The window from which the reduction under way began.
    fn cwnd_pkts_before(&self) -> u32 {
        let reduction = self.repair.as_ref().map(|repair| repair.reduction);
        reduction.map_or(self.control.cwnd_pkts, |reduction| reduction.cwnd_pkts_before)
    }

    /// Whether a reduction of the window takes a round trip.
    pub(super) fn is_reducing(&self, plan: &Plan) -> bool {
        plan.tcp.rate_reduction
            && matches!(self.control.ca_state, abi::CA_CWR | abi::CA_RECOVERY)
            && self.law.flags() & abi::SENDER_OWNS_RECOVERY == 0
    }

    /// Proportional rate reduction (RFC 6937, section 3.1) with the slow start bound, as Linux has it
    /// (`tcp_cwnd_reduction` of `net/ipv4/tcp_input.c`, 6.12): the bound adds a segment only where an ACK advances and
    /// tells of no further loss, and the first retransmission of a recovery leaves in any case.
    #[inline(never)]
    pub(super) fn reduce_rate(&mut self, plan: &Plan, ack: &abi::Ack) {
        if !self.is_reducing(plan) || ack.delivered_pkts == 0 {
            return;
        }
        let reduction = &mut self.repair.get_or_insert_default().reduction;
        reduction.delivered_pkts += ack.delivered_pkts;
        let Reduction {
            cwnd_pkts_before,
            delivered_pkts,
            sent_pkts_before,
        } = *reduction;
        let in_flight = self.board.in_flight_pkts();
        let ssthresh = self.control.ssthresh_pkts.min(ceiling_pkts(cwnd_pkts_before));
        let sent_pkts = (self.counters.sent_pkts - sent_pkts_before) as u32;
        let to_send = if in_flight > ssthresh {
            let share = u64::from(ssthresh) * u64::from(delivered_pkts);
            (share.div_ceil(u64::from(cwnd_pkts_before)) as u32).saturating_sub(sent_pkts)
        } else {
            let progress = u32::from(ack.acked_pkts > 0 && ack.lost_pkts == 0);
            let bound = delivered_pkts.saturating_sub(sent_pkts).max(ack.delivered_pkts) + progress;
            bound.min(ssthresh - in_flight)
        };
        self.set_window(in_flight + to_send.max(u32::from(sent_pkts == 0)));
    }
}
