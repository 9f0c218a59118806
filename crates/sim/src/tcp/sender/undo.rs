//! Reductions that turn out to be spurious, and are taken back: what was taken for lost had only been late.
//!
//! An ACK that acknowledges more, and echoes a timestamp older than the first retransmission, was caused by an original
//! (Eifel detection, RFC 3522). Then window and ssthresh go back to what they were (RFC 4015; Linux:
//! `tcp_packet_delayed` and `tcp_undo_cwnd_reduction` of `net/ipv4/tcp_input.c`), and the law is told.

use fadelab_laws::abi;
use fadelab_run::transport::RttSamples;

use super::Sender;
use crate::clock::Now;
use crate::tcp::plan::Plan;

/// What stood before a reduction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo {
    control: abi::Control,
    /// One of `abi::LOSS_*`.
    cause: u32,
}

impl Sender {
    /// The law is about to be asked for a reduction. A timeout during a recovery goes on with what stood before that.
    pub(super) fn remember_window(&mut self, plan: &Plan, cause: u32) {
        if !plan.tcp.undo || plan.tcp.rtt_samples == RttSamples::PerRoundTrip {
            return;
        }
        let is_first = self.control.ca_state <= abi::CA_CWR;
        let (control, has_repetitions) = (self.control, self.board.has_repetitions());
        let repair = self.repair.get_or_insert_default();
        match &mut repair.undo {
            Some(undo) if !is_first => undo.cause = cause,
            undo if is_first => {
                *undo = Some(Undo { control, cause });
                // Where one recovery follows the other, what the first repeated arrives in the second.
                if !has_repetitions {
                    repair.repeated_us = None;
                }
            }
            _ => {}
        }
    }

    /// A segment is sent again.
    #[inline]
    pub(super) fn note_repair(&mut self, now: Now) {
        if let Some(repair) = self.repair.as_deref_mut().filter(|repair| repair.undo.is_some()) {
            repair.repeated_us.get_or_insert(now.clock_us());
        }
    }

    /// What an ACK that advances, and echoes `ts_ecr_us`, says of the reduction before it. In a recovery an original
    /// that arrived tells of reordering, and nothing is taken back while something is under way again: a later ACK
    /// tells (`tcp_try_undo_partial`).
    #[inline(never)]
    pub(super) fn judge_reduction(&mut self, now: Now, plan: &Plan, ts_ecr_us: u32, ack: &mut abi::Ack) {
        let (state, una) = (self.control.ca_state, self.board.una());
        let Some(repair) = self.repair.as_deref_mut().filter(|_| state >= abi::CA_RECOVERY) else {
            return;
        };
        let (Some(Undo { control, cause }), Some(repeated_us)) = (repair.undo, repair.repeated_us) else {
            return;
        };
        let [echoed, repeated] = [ts_ecr_us, repeated_us].map(|us| plan.clock.stamp(us, now));
        let is_spurious = (echoed.wrapping_sub(repeated) as i32) < 0;
        if state == abi::CA_RECOVERY && una < self.recover {
            repair.rack.is_reordered |= is_spurious;
            if self.board.has_repetitions() {
                return;
            }
        }
        repair.undo = None;
        if is_spurious {
            self.take_back(plan, Some(&control), cause, ack);
        }
    }

    /// What was taken for lost for `cause` is not. `before`: what the window was, where a law reduced it for that.
    #[cold]
    pub(super) fn take_back(&mut self, plan: &Plan, before: Option<&abi::Control>, cause: u32, ack: &mut abi::Ack) {
        self.board.take_back_losses();
        self.duplicate_acks = 0;
        ack.in_flight_pkts = self.board.in_flight_pkts();
        self.control.ca_state = abi::CA_OPEN;
        (self.recover, self.recover_loss) = (self.board.una(), self.board.una());
        if let Some(before) = before {
            self.control.keep_larger_windows(before);
            self.law.on_undo(plan, ack, cause, &mut self.control);
        }
    }
}
