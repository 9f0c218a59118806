//! What the sending end shows the law of its connection, and what it takes back.

use fadelab_laws::abi;
use fadelab_run::transport::RecoveryExit;

use super::Sender;
use crate::clock::Now;
use crate::tcp::plan::Plan;
use crate::tcp::scoreboard::Sampling;

impl Sender {
    /// Shows an ACK to the law. One that ends recovery only brings the window to ssthresh (RFC 5681, section 3.2, step
    /// 6), unless the stack says otherwise: it acknowledges a window's worth of segments that left the network long
    /// ago, and is none to grow by.
    #[inline]
    pub(super) fn tell_law(&mut self, plan: &Plan, ack: &abi::Ack, recovering: bool) {
        if self.control.ca_state >= abi::CA_CWR || recovering {
            self.tell_law_of_repair(plan, ack, recovering);
        } else {
            self.law.on_ack(plan, ack, &mut self.control);
        }
        if self.control.flags & abi::CONTROL_APP_LIMITED != 0 {
            self.control.flags &= !abi::CONTROL_APP_LIMITED;
            self.limit_samples();
        }
    }

    /// The same while window and ssthresh may be the host's: then what the law writes there is dropped, as in a kernel
    /// (`struct law_control`).
    #[inline(never)]
    fn tell_law_of_repair(&mut self, plan: &Plan, ack: &abi::Ack, recovering: bool) {
        let before = self.control;
        let is_host_s = self.law.flags() & abi::SENDER_OWNS_RECOVERY == 0;
        let holds = plan.tcp.recovery_exit == RecoveryExit::Hold || plan.tcp.recovery.has_sack();
        if recovering && holds && is_host_s {
            self.control.ca_state = abi::CA_RECOVERY;
        }
        let keeps = self.is_reducing(plan) || (is_host_s && self.control.ca_state == abi::CA_RECOVERY);
        self.law.on_ack(plan, ack, &mut self.control);
        self.control.ca_state = before.ca_state;
        if keeps {
            self.control.take_windows(&before);
        }
    }

    /// Samples of what is in flight now say what was sent, and not what the network carries.
    pub(super) fn limit_samples(&mut self) {
        self.app_limited_until = (self.board.delivered_pkts() + self.board.in_flight_pkts()).max(1);
    }

    /// Shows the law the segments that were just found lost.
    #[inline(never)]
    pub(super) fn tell_lost(&mut self, plan: &Plan, ack: &abi::Ack) {
        let before = self.control;
        let marked_pkts = self.counters.marked_pkts;
        for found in self.board.take_found() {
            let lost = abi::Lost {
                retransmission: u32::from(found.retransmission),
                now_us: ack.now_us,
                sent_us: found.sent_ns / 1000,
                in_flight_pkts: found.in_flight_pkts,
                delivered_pkts: found.delivered_pkts,
                lost_pkts: found.lost_pkts,
                marked_pkts: marked_pkts.wrapping_sub(found.marked_total_pkts),
                ..abi::Lost::default()
            };
            self.law.on_lost(plan, &lost, &mut self.control);
        }
        self.control = before;
    }

    /// The window is the host's to set: whole packets.
    #[inline]
    pub(super) fn set_window(&mut self, cwnd_pkts: u32) {
        (self.control.cwnd_pkts, self.control.cwnd_fraction) = (cwnd_pkts, 0);
    }

    /// A loss was answered: the window goes to ssthresh, and no further up by that than [`ceiling_pkts`].
    #[inline]
    pub(super) fn go_to_ssthresh(&mut self, cwnd_pkts_before: u32) {
        let (control, ceiling_pkts) = (&mut self.control, ceiling_pkts(cwnd_pkts_before));
        if control.ssthresh_pkts < ceiling_pkts {
            control.cwnd_pkts = control.ssthresh_pkts;
            control.cwnd_fraction = control.ssthresh_fraction;
        } else {
            self.set_window(ceiling_pkts);
        }
    }

    /// Packets that may be in flight: a window below one lets a single one out at a time; one that is shut, none.
    #[inline]
    pub(crate) fn window_pkts(&self) -> u32 {
        if self.control.cwnd_pkts > 0 {
            self.control.cwnd_pkts
        } else {
            u32::from(self.control.cwnd_fraction > 0)
        }
    }

    /// The law's own header on a SYN, for which there is no connection yet.
    #[cold]
    pub(super) fn feedback_of_syn(&mut self, now: Now, plan: &Plan, ip_bytes: u32) -> Option<abi::Feedback> {
        if self.law.flags() & abi::SENDER_FEEDBACK_ON_SYN == 0 {
            return None;
        }
        let mut send = abi::Send {
            packet_bytes: ip_bytes,
            now_us: now.us,
            random: self.next_random(),
            syn: 1,
            ..abi::Send::default()
        };
        let mut control = abi::Control {
            cwnd_pkts: plan.tcp.cwnd_pkts_initial,
            ssthresh_pkts: plan.tcp.ssthresh_pkts_initial,
            ..abi::Control::default()
        };
        let law = self.law.decides();
        law.on_send(&mut law.new_state(), &plan.params, &mut send, &mut control);
        round(plan, &mut send);
        (send.feedback.present == 1).then_some(send.feedback)
    }

    /// The law's own header on a segment about to leave.
    #[inline(never)]
    pub(super) fn ask_law(&mut self, now: Now, plan: &Plan, ip_bytes: u16, again: bool) -> abi::Feedback {
        let mut send = abi::Send {
            packet_bytes: u32::from(ip_bytes),
            now_us: now.us,
            srtt_us: self.rtt.srtt_us(),
            retransmission: u32::from(again),
            in_flight_pkts: self.board.in_flight_pkts() - 1,
            random: self.next_random(),
            ..abi::Send::default()
        };
        self.law.on_send(plan, &mut send, &mut self.control);
        round(plan, &mut send);
        send.feedback
    }

    /// `SplitMix64`: laws want a random word per call, not a good one per draw.
    #[inline]
    pub(super) fn next_random(&mut self) -> u32 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((word ^ (word >> 27)) >> 32) as u32
    }
}

/// What the answer to a loss may make of a window: no more than it was, but the two segments that RFC 5681, equation
/// (4), leaves any.
#[inline]
pub(super) fn ceiling_pkts(cwnd_pkts_before: u32) -> u32 {
    cwnd_pkts_before.max(2)
}

/// What the rate sample of a segment that is sent now will say.
#[inline]
pub(super) fn sampling(plan: &Plan, is_app_limited: bool) -> Sampling {
    match plan.wants_samples {
        false => Sampling::None,
        true if is_app_limited => Sampling::AppLimited,
        true => Sampling::Plain,
    }
}

/// Feedback as the option can say it, where it travels in one.
#[inline]
fn round(plan: &Plan, send: &mut abi::Send) {
    if let Some(codec) = &plan.codec {
        send.feedback.bytes = codec.rounded_data(&send.feedback.bytes);
    }
}
