//! Timeouts that turn out to be spurious: F-RTO, RFC 5682, with the SACK of its section 3, as Linux has it
//! (`tcp_enter_loss` and `tcp_process_loss` of `net/ipv4/tcp_input.c`, 6.12).
//!
//! All in flight is taken for lost, and the oldest segment is sent again. Where an ACK then tells of a segment that was
//! sent once, before the timeout, that one had arrived: its ACK was late, or was lost where a path carried nothing in
//! either direction for a while. The window goes back to what it was, and what is missing is found as ever. To learn
//! that, the first ACK that advances lets new data out and no further repetition: if what was in flight is lost, they
//! bring duplicates.

use fadelab_laws::abi;
use fadelab_path::violation::Checked;

use super::Sender;
use crate::clock::Now;
use crate::network::Network;
use crate::tcp::plan::Plan;

/// What a spurious timeout would take back, and whether one may be spurious.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Frto {
    /// Window and ssthresh before the losses that are being repaired; `None`: the window answered an echo, and stays.
    before: Option<abi::Control>,
    /// Segments below were sent before the last timeout; `None`: that one was right.
    end: Option<u32>,
    /// Whether nothing was acknowledged since.
    is_unanswered: bool,
    /// Whether SACK blocks of the ACK at hand tell of a segment below that was sent once.
    has_original: bool,
}

impl Sender {
    /// The window is about to be reduced: for losses, from what it is `before`, or for an echo.
    pub(super) fn remember_for_timeouts(&mut self, plan: &Plan, before: Option<abi::Control>) {
        if plan.tcp.frto {
            self.repair.get_or_insert_default().frto.before = before;
        }
    }

    /// The timer fired. In a recovery a repetition was lost, which nothing takes back; one timeout behind another goes
    /// on with what stood before the first.
    pub(super) fn suspect_timeout(&mut self, plan: &Plan) {
        if !plan.tcp.frto {
            return;
        }
        let (state, end, control) = (self.control.ca_state, self.board.nxt(), self.control);
        let frto = &mut self.repair.get_or_insert_default().frto;
        let goes_on = state == abi::CA_LOSS && frto.is_unanswered;
        if state <= abi::CA_DISORDER || (state == abi::CA_LOSS && !goes_on) {
            frto.before = Some(control);
        }
        frto.end = (state < abi::CA_RECOVERY || goes_on).then_some(end);
        (frto.is_unanswered, frto.has_original) = (true, false);
    }

    /// SACK blocks tell of a segment that was sent once, behind a timeout.
    pub(super) fn note_arrival_in_loss(&mut self, first_once: Option<u32>) {
        if let (Some(repair), Some(seq)) = (self.repair.as_deref_mut(), first_once) {
            repair.frto.has_original = repair.frto.end.is_some_and(|end| seq < end);
        }
    }

    /// What an ACK says of the timeout before it, which is taken back if it was spurious. Returns whether new data go
    /// out before anything is sent again (RFC 5682, section 2.1, step 2b).
    #[inline(never)]
    pub(super) fn judge_timeout(&mut self, plan: &Plan, ack: &mut abi::Ack) -> bool {
        let has_new = self.board.nxt() < self.written && self.has_receive_window(plan);
        let Some(repair) = self.repair.as_deref_mut() else {
            return false;
        };
        let frto = &mut repair.frto;
        frto.is_unanswered &= ack.acked_pkts == 0;
        let Some(end) = frto.end else { return false };
        let has_sack = plan.tcp.recovery.has_sack();
        if frto.has_original || self.board.tells_of_original(ack.acked_pkts, end, has_sack) {
            let before = frto.before.take();
            (frto.end, frto.has_original) = (None, false);
            repair.undo = None;
            self.take_back(plan, before.as_ref(), abi::LOSS_RTO, ack);
            return false;
        }
        let has_sent_new = self.board.nxt() > end;
        let is_duplicate = ack.sacked_pkts > 0 || ack.flags & abi::ACK_DUPLICATE != 0;
        let sends_new = !has_sent_new && ack.acked_pkts > 0 && self.board.una() < end;
        if (has_sent_new && is_duplicate) || (sends_new && !has_new) {
            frto.end = None;
        }
        sends_new && has_new
    }

    /// New data, or if window and pacing have room for none, what was taken for lost: then nobody will know.
    #[cold]
    pub(super) fn send_new_first(&mut self, now: Now, plan: &Plan, net: &mut Network) -> Checked<()> {
        let sent_pkts = self.counters.sent_pkts;
        self.board.look_from(self.board.nxt());
        self.send(now, plan, net)?;
        self.board.look_from(self.board.una());
        if self.counters.sent_pkts > sent_pkts {
            return Ok(());
        }
        self.repair.get_or_insert_default().frto.end = None;
        self.send(now, plan, net)
    }
}
