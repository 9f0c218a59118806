//! What an ACK says: sequence numbers, losses, round-trip time, delivery rate, feedback.

use fadelab_laws::abi;
use fadelab_path::packet::FeedbackBytes;
use fadelab_run::transport::{PartialAcks, Recovery, RttSamples};

use super::{NOT_TIMED, Sender};
use crate::clock::Now;
use crate::packet::{Packet, flag};
use crate::tcp::plan::Plan;
use crate::tcp::scoreboard::sacks::Arrived;

impl Sender {
    /// Takes note of what the ACK says: sequence numbers, losses, round-trip time, rate.
    #[inline]
    pub(super) fn take_ack(&mut self, now: Now, plan: &Plan, packet: &Packet, ack: &mut abi::Ack) {
        ack.now_us = now.us;
        (ack.packet_bytes, ack.mss_bytes) = (plan.tcp.packet_bytes, plan.mss_bytes);
        ack.rwnd_pkts = plan.tcp.rwnd_pkts;
        if packet.tcp_flags != 0 {
            ack.flags |= ack_flags(packet.tcp_flags);
        }
        let prior_in_flight_pkts = self.board.in_flight_pkts();
        if self.cwnd_limited {
            ack.flags |= abi::ACK_CWND_LIMITED;
        }
        let mut newest = None;
        if packet.seq > self.board.una() {
            let duplicate_pkts = self.board.duplicate_pkts();
            let news = self.board.acknowledge(packet.seq);
            (ack.acked_pkts, ack.delivered_pkts, newest) = (news.acked_pkts, news.delivered_pkts, news.newest);
            if plan.counts_duplicates() && duplicate_pkts > 0 {
                self.leave_out_counted(duplicate_pkts, ack);
            }
            self.duplicate_acks = 0;
            if self.board.has_duplicates() && !self.stays_in_recovery(plan, packet.seq) {
                self.board.forget_duplicates(u32::MAX);
            }
            ack.rtt_us = self.sample_rtt(now, plan, packet, ack.acked_pkts);
            if !self.is_later_partial_ack(plan) {
                self.arm_rto(now, plan);
            }
        }
        if packet.sack_blocks > 0 || ack.acked_pkts == 0 {
            newest = self.take_sack(now, plan, packet, ack, newest);
        }
        if ack.sacked_pkts + ack.acked_pkts > 0 {
            ack.lost_pkts = self.board.mark_losses(plan.dupthresh);
        }
        if plan.rwnd_pkts_initial < plan.tcp.rwnd_pkts {
            ack.rwnd_pkts = self.take_receive_window(plan, ack);
        }
        if self.law.ecn_mode() == abi::ECN_MODE_EXACT {
            ack.marked_pkts = u32::from(packet.marks);
            self.counters.marked_pkts += u32::from(packet.marks);
            ack.marked_total_pkts = u64::from(self.counters.marked_pkts);
            self.board.note_marks(self.counters.marked_pkts);
        }
        if let Some(newest) = newest {
            self.board.note_newest(newest);
        }
        if plan.wants_samples {
            ack.prior_in_flight_pkts = prior_in_flight_pkts;
            self.fill_samples(now, plan, packet, newest, ack);
        }
        ack.srtt_us = self.rtt.srtt_us();
        ack.rtt_us_min = self.rtt.rtt_us_min();
    }

    /// Each duplicate counted as one of the segments that a cumulative ACK tells of, but for the one that they asked
    /// for (`tcp_remove_reno_sacks` of `net/ipv4/tcp_input.c`, 6.12).
    #[cold]
    fn leave_out_counted(&mut self, duplicate_pkts: u32, ack: &mut abi::Ack) {
        let counted_pkts = duplicate_pkts.min(ack.acked_pkts - 1);
        ack.delivered_pkts -= counted_pkts;
        self.board.count_delivered(-(counted_pkts as i32));
    }

    /// RFC 6582, section 3.2, step 3: without SACK the timer is restarted by the first partial ACK of a recovery only,
    /// so that a window with many holes is left to slow start instead of a round trip each; unless each shall.
    #[inline]
    fn is_later_partial_ack(&mut self, plan: &Plan) -> bool {
        let partial = self.control.ca_state == abi::CA_RECOVERY
            && plan.tcp.recovery == Recovery::NewReno
            && plan.tcp.partial_acks == PartialAcks::First
            && self.board.una() < self.recover;
        if partial {
            self.partial_acks = self.partial_acks.saturating_add(1);
        }
        partial && self.partial_acks > 1
    }

    /// Takes SACK blocks, or notes that there is nothing new. Returns the segment of this ACK that was sent last.
    #[inline(never)]
    fn take_sack(
        &mut self,
        now: Now,
        plan: &Plan,
        packet: &Packet,
        ack: &mut abi::Ack,
        newest: Option<u32>,
    ) -> Option<u32> {
        if plan.tcp.dsack && plan.tcp.recovery == Recovery::Rack && packet.sack_blocks > 0 {
            self.take_dsack(packet);
        }
        let mut arrived = Arrived {
            newest,
            ..Arrived::default()
        };
        let blocks = &packet.sack[..packet.sack_blocks as usize];
        ack.sacked_pkts = self.board.take_blocks(blocks, &mut arrived);
        ack.delivered_pkts += ack.sacked_pkts;
        if plan.tcp.recovery == Recovery::Rack {
            self.note_highest_sacked(arrived.highest);
        }
        if self.control.ca_state == abi::CA_LOSS {
            self.note_arrival_in_loss(arrived.first_once);
        }
        if plan.tcp.rtt_samples == RttSamples::PerSack && ack.rtt_us == 0 {
            ack.rtt_us = arrived.first_once.map_or(0, |seq| self.sample_sacked(now, plan, seq));
        }
        if ack.acked_pkts == 0 && packet.seq == self.board.una() {
            if ack.sacked_pkts == 0 {
                self.note_duplicate_of_probe();
            }
            if self.board.outstanding_pkts() > 0 {
                ack.flags |= abi::ACK_DUPLICATE;
                self.duplicate_acks += 1;
                if !plan.tcp.recovery.has_sack() {
                    let news_pkts = self.board.duplicate();
                    if plan.counts_duplicates() {
                        ack.delivered_pkts += news_pkts;
                        self.board.count_delivered(news_pkts as i32);
                    }
                }
            }
        }
        arrived.newest
    }

    /// What only some laws read: timestamps, a random word and the rate sample.
    #[inline(never)]
    fn fill_samples(&mut self, now: Now, plan: &Plan, packet: &Packet, newest: Option<u32>, ack: &mut abi::Ack) {
        if plan.tcp.timestamps {
            ack.flags |= abi::ACK_TIMESTAMPS;
            ack.ts_val = plan.clock.stamp(packet.ts_val_us, now);
            ack.ts_ecr = plan.clock.stamp(packet.ts_ecr_us, now);
        }
        ack.random = self.next_random();
        let sample = self.board.rate_sample(now.ns, newest);
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
        if sample.app_limited {
            ack.flags |= abi::ACK_APP_LIMITED;
        }
    }

    /// RFC 7323, section 4.1: with timestamps every ACK that advances gives a sample, retransmitted or not. Without,
    /// that of the timed segment does, or each ACK of segments that were sent once (Karn's algorithm). 0: none.
    #[inline]
    fn sample_rtt(&mut self, now: Now, plan: &Plan, packet: &Packet, acked_pkts: u32) -> u32 {
        if plan.tcp.rtt_samples != RttSamples::PerRoundTrip {
            if !plan.tcp.timestamps && self.board.were_repeated(acked_pkts) {
                return 0;
            }
            let rtt_us = now.clock_us().wrapping_sub(packet.ts_ecr_us);
            self.take_rtt(rtt_us, plan);
            self.note_rtt(rtt_us)
        } else if packet.seq > self.timed {
            self.sample_timed(now, plan)
        } else {
            0
        }
    }

    /// A call, since it is seldom due: what it keeps in registers would be taken from what surrounds it.
    #[cold]
    #[inline(never)]
    fn sample_timed(&mut self, now: Now, plan: &Plan) -> u32 {
        let sent = Now::at(self.board.sent_ns(self.timed));
        let [sent_ticks, now_ticks] = [sent, now].map(|then| plan.clock.stamp(then.clock_us(), now));
        let rtt_us = now.clock_us().wrapping_sub(sent.clock_us());
        self.timed = NOT_TIMED;
        self.rtt
            .sample_of_ticks(rtt_us, now_ticks.wrapping_sub(sent_ticks), plan);
        self.note_rtt(rtt_us)
    }

    /// A SACK tells of a segment that was sent once: a sample of the round trip although nothing advances, so that the
    /// timeout and the laws see the queue of a recovery, which is often full (`tcp_ack_update_rtt` of
    /// `net/ipv4/tcp_input.c`, 6.12).
    fn sample_sacked(&mut self, now: Now, plan: &Plan, seq: u32) -> u32 {
        let sent_us = Now::at(self.board.sent_ns(seq)).clock_us();
        let rtt_us = now.clock_us().wrapping_sub(sent_us);
        self.take_rtt(rtt_us, plan);
        self.note_rtt(rtt_us)
    }

    #[inline]
    fn note_rtt(&mut self, rtt_us: u32) -> u32 {
        self.counters.rtt_samples += 1;
        self.counters.rtt_us_sum += u64::from(rtt_us);
        self.counters.rtt_us_new = rtt_us;
        rtt_us
    }

    #[inline]
    pub(super) fn take_feedback(
        &mut self,
        now: Now,
        plan: &Plan,
        packet: &Packet,
        feedback: Option<&FeedbackBytes>,
        ack: &mut abi::Ack,
    ) {
        if plan.receiver_law.is_none() {
            // No feedback since time 0, and none will come.
            ack.feedback.age_us = now.us as u32;
            return;
        }
        let Some(bytes) = feedback else {
            self.repeat_feedback(ack);
            ack.feedback.age_us = ((now.ns - self.feedback_ns) / 1000) as u32;
            return;
        };
        self.feedback_ns = now.ns;
        // Into both, instead of into one and from there into the other: what was just written in parts is slow to copy.
        let (len, confirmed) = (packet.header.feedback_len, packet.header.confirmed);
        (self.heard.bytes, self.heard.len, self.heard.confirmed) = (*bytes, len, confirmed);
        let seen = &mut ack.feedback;
        (seen.bytes, seen.len, seen.confirmed, seen.present) = (*bytes, len, confirmed, 1);
    }

    /// The feedback that came last.
    #[inline]
    pub(super) fn repeat_feedback(&self, ack: &mut abi::Ack) {
        let (heard, seen) = (&self.heard, &mut ack.feedback);
        (seen.bytes, seen.len, seen.confirmed) = (heard.bytes, heard.len, heard.confirmed);
    }
}

/// What the transport's flags of an ACK are called by laws.
#[inline]
fn ack_flags(tcp_flags: u8) -> u32 {
    let ece = if tcp_flags & flag::ECE != 0 { abi::ACK_ECE } else { 0 };
    let delayed = if tcp_flags & flag::DELAYED != 0 {
        abi::ACK_DELAYED
    } else {
        0
    };
    ece | delayed
}
