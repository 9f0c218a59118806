//! What an ACK says: sequence numbers, losses, round-trip time, delivery rate, feedback.

use fadelab_laws::abi;
use fadelab_path::packet::FeedbackBytes;

use super::Sender;
use crate::packet::{Packet, flag};
use crate::spec::Recovery;
use crate::tcp::clock_us;
use crate::tcp::scoreboard::RateSample;

impl Sender {
    /// Takes note of what the ACK says: sequence numbers, losses, round-trip time, rate.
    #[inline]
    pub(super) fn take_ack(&mut self, now_ns: u64, packet: &Packet) -> abi::Ack {
        let mut ack = abi::Ack {
            now_us: now_ns / 1000,
            packet_bytes: self.tcp.packet_bytes,
            mss_bytes: self.tcp.packet_bytes - self.tcp.header_bytes,
            ts_val: self.rtt.clock().stamp(packet.ts_val_us, now_ns),
            ts_ecr: self.rtt.clock().stamp(packet.ts_ecr_us, now_ns),
            random: self.next_random(),
            ..abi::Ack::default()
        };
        if packet.tcp_flags & flag::ECE != 0 {
            ack.flags |= abi::ACK_ECE;
        }
        if self.cwnd_limited {
            ack.flags |= abi::ACK_CWND_LIMITED;
        }
        if packet.seq > self.board.una() {
            (ack.acked_pkts, ack.delivered_pkts) = self.board.acknowledge(packet.seq);
            self.duplicate_acks = 0;
            if self.control.ca_state != abi::CA_RECOVERY || packet.seq >= self.recover || self.ends_with_new_ack() {
                self.board.forget_duplicates(u32::MAX);
            }
            ack.rtt_us = self.sample_rtt(now_ns, packet);
            if !self.is_later_partial_ack() {
                self.arm_rto(now_ns);
            }
        }
        self.take_sack(packet, &mut ack);
        if self.law.ecn_mode() == abi::ECN_MODE_EXACT {
            ack.marked_pkts = u32::from(packet.marks);
            self.counters.marked_pkts += u64::from(packet.marks);
        }
        let sample = self.board.rate_sample(now_ns);
        self.fill_rate(&sample, &mut ack);
        ack.srtt_us = self.rtt.srtt_us();
        ack.rtt_us_min = self.rtt.rtt_us_min();
        ack
    }

    /// RFC 6582, section 3.2, step 3: without SACK the timer is restarted by the first partial ACK of a recovery only,
    /// so that a window with many holes is left to slow start instead of a round trip each.
    #[inline]
    fn is_later_partial_ack(&mut self) -> bool {
        let partial = self.tcp.recovery == Recovery::NewReno
            && self.control.ca_state == abi::CA_RECOVERY
            && self.board.una() < self.recover;
        self.partial_acks += u32::from(partial);
        partial && self.partial_acks > 1
    }

    #[inline]
    fn take_sack(&mut self, packet: &Packet, ack: &mut abi::Ack) {
        for &block in &packet.sack[..packet.sack_blocks as usize] {
            ack.sacked_pkts += self.board.sack(block);
        }
        ack.delivered_pkts += ack.sacked_pkts;
        if ack.acked_pkts == 0 && packet.seq == self.board.una() && self.board.outstanding_pkts() > 0 {
            ack.flags |= abi::ACK_DUPLICATE;
            self.duplicate_acks += 1;
            if self.tcp.recovery != Recovery::Sack {
                self.board.duplicate();
            }
        }
        if ack.sacked_pkts + ack.acked_pkts > 0 {
            ack.lost_pkts = self.board.mark_losses(self.tcp.dupthresh);
        }
    }

    #[inline]
    fn fill_rate(&mut self, sample: &RateSample, ack: &mut abi::Ack) {
        let delivered_pkts = self.board.delivered_pkts();
        if self.app_limited_until != 0 && delivered_pkts > self.app_limited_until {
            self.app_limited_until = 0;
        }
        ack.rate_delivered_pkts = sample.delivered_pkts;
        ack.rate_interval_us = sample.interval_us;
        ack.rate_prior_in_flight_pkts = sample.prior_in_flight_pkts;
        ack.rate_prior_delivered_pkts = u64::from(sample.prior_delivered_pkts);
        ack.rate_marked_pkts = ack.marked_pkts;
        ack.delivered_total_pkts = u64::from(delivered_pkts);
        ack.marked_total_pkts = self.counters.marked_pkts;
        if sample.app_limited {
            ack.flags |= abi::ACK_APP_LIMITED;
        }
    }

    /// RFC 7323, section 4.1: every ACK that advances gives a sample, retransmitted or not.
    #[inline]
    fn sample_rtt(&mut self, now_ns: u64, packet: &Packet) -> u32 {
        let rtt_us = clock_us(now_ns).wrapping_sub(packet.ts_ecr_us);
        self.rtt.sample(rtt_us, &self.tcp);
        self.counters.rtt_samples += 1;
        self.counters.rtt_us_sum += u64::from(rtt_us);
        rtt_us
    }

    #[inline]
    pub(super) fn take_feedback(
        &mut self,
        now_ns: u64,
        packet: &Packet,
        feedback: Option<&FeedbackBytes>,
        ack: &mut abi::Ack,
    ) {
        if let Some(bytes) = feedback {
            self.feedback = abi::Feedback {
                bytes: *bytes,
                len: packet.header.feedback_len,
                present: 0,
                ..self.feedback
            };
            self.feedback_ns = now_ns;
        }
        ack.feedback = self.feedback;
        ack.feedback.present = u8::from(feedback.is_some());
        ack.feedback.age_us = ((now_ns - self.feedback_ns) / 1000) as u32;
    }
}
