/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the law is shown of its connection: struct law_ack, from the socket and from the kernel's rate sample.
 */
#ifndef FADELAB_OBSERVE_H
#define FADELAB_OBSERVE_H

#include "flow.h"

#define FLAG_ECE 0x40

ALWAYS_INLINE u32 packet_bytes_of(const struct sock *sk, const struct tcp_sock *tp)
{
	/* mss_cache does not know of options that programs write: they take their room from the payload. */
	return tp->mss_cache + tp->tcp_header_len + (sk->__sk_common.skc_family == FAMILY_IPV6 ? 40 : 20);
}

ALWAYS_INLINE u32 mss_bytes_of(const struct tcp_sock *tp)
{
	return tp->mss_cache - (CARRIES_FEEDBACK ? OPTION_BYTES : 0);
}

ALWAYS_INLINE u32 in_flight_of(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

ALWAYS_INLINE u32 cwnd_limited(const struct tcp_sock *tp)
{
	if (HOST_BITS(tp, is_cwnd_limited))
		return 1;
	/* In slow start the window may be twice of what was used. */
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

/* All that does not need the rate sample. */
ALWAYS_INLINE void observe(struct sock *sk, struct tcp_sock *tp, const struct flow *f, struct law_ack *ack)
{
	__builtin_memset(ack, 0, sizeof(*ack));
	ack->size = sizeof(*ack);
	ack->now_us = tp->tcp_mstamp;
	ack->srtt_us = tp->srtt_us >> 3;
	ack->rtt_us_min = tp->rtt_min.s[0].v == ~0u ? 0 : tp->rtt_min.s[0].v;
	ack->random = bpf_get_prandom_u32();
	ack->packet_bytes = packet_bytes_of(sk, tp);
	ack->mss_bytes = mss_bytes_of(tp);
	ack->in_flight_pkts = in_flight_of(tp);
	ack->ts_val = tp->rx_opt.rcv_tsval;
	ack->ts_ecr = tp->rx_opt.rcv_tsecr;
	ack->delivered_total_pkts = tp->delivered;
	ack->marked_total_pkts = tp->delivered_ce;
	ack->feedback = f->feedback;
	ack->feedback.present = 0;
	if (f->feedback.len)
		ack->feedback.age_us = (u32)fixed_min(fixed_sub(ack->now_us, f->feedback_us), 0xffffffff);
}

/*
 * The law sends less by choice. The kernel's own mark cannot be written everywhere (not in 6.1), so what it would do
 * is done here: it stands until what is in flight now is delivered, and a sample is limited where its segment left
 * while it stood.
 */
ALWAYS_INLINE void limit_samples(const struct tcp_sock *tp, struct flow *f)
{
	if (!f->is_limited || (s32)(tp->delivered - f->limited_until) > 0)
		f->limited_from = tp->delivered;
	f->is_limited = 1;
	f->limited_until = tp->delivered + in_flight_of(tp);
}

ALWAYS_INLINE u32 is_limited(const struct flow *f, const struct rate_sample *rs)
{
	return rs->is_app_limited || (f->is_limited && (s32)(rs->prior_delivered - f->limited_from) >= 0 &&
	                              (s32)(f->limited_until - rs->prior_delivered) >= 0);
}

ALWAYS_INLINE void observe_ack(struct tcp_sock *tp, struct flow *f, int flag, const struct rate_sample *rs,
                               struct law_ack *ack)
{
	u32 mss_bytes = ack->mss_bytes, una = tp->snd_una;
	s32 advanced_bytes = (s32)(una - f->snd_una);

	/* Segments are counted as they were sent: a last one that is not full counts as one. */
	if (advanced_bytes > 0)
		ack->acked_pkts = (u32)fixed_div((u32)advanced_bytes + mss_bytes - 1, mss_bytes);
	ack->flags = (flag & FLAG_ECE ? LAW_ACK_ECE : 0) | (advanced_bytes > 0 ? 0 : LAW_ACK_DUPLICATE) |
	             (is_limited(f, rs) ? LAW_ACK_APP_LIMITED : 0) | (cwnd_limited(tp) ? LAW_ACK_CWND_LIMITED : 0) |
	             (HOST_BITS(tp, rx_opt.saw_tstamp) ? LAW_ACK_TIMESTAMPS : 0) |
	             (rs->is_ack_delayed ? LAW_ACK_DELAYED : 0) | f->ack_flags;
	f->ack_flags = 0;
	ack->rtt_us = rs->rtt_us > 0 ? (u32)rs->rtt_us : 0;
	ack->sacked_pkts = tp->sacked_out > f->sacked_out ? tp->sacked_out - f->sacked_out : 0;
	ack->lost_pkts = rs->losses > 0 ? (u32)rs->losses : 0;
	ack->delivered_pkts = rs->acked_sacked;
	ack->marked_pkts = tp->delivered_ce - f->delivered_ce;
	if (rs->delivered > 0 && rs->interval_us > 0) {
		ack->rate_delivered_pkts = (u32)rs->delivered;
		ack->rate_interval_us = (u32)fixed_min((u64)rs->interval_us, 0xffffffff);
	}
	ack->prior_in_flight_pkts = rs->prior_in_flight;
	ack->rwnd_pkts = (u32)fixed_div((u64)tp->snd_wnd + mss_bytes - 1, mss_bytes);
	/* Whatever was in flight when the segment left arrived since, and then the segment: see law.h. */
	ack->rate_prior_in_flight_pkts = rs->delivered > 0 ? (u32)rs->delivered - 1 : 0;
	ack->rate_prior_delivered_pkts = rs->prior_delivered;
	ack->feedback.present = f->feedback.present;
	if (ack->feedback.present)
		ack->feedback.age_us = 0;
	f->acked_us = ack->now_us;
	f->snd_una = una;
	f->sacked_out = tp->sacked_out;
	f->delivered_ce = tp->delivered_ce;
}

#endif /* FADELAB_OBSERVE_H */
