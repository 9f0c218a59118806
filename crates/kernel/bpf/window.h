/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The window: what the law holds of it, what the kernel does, and what the kernel leaves to the owner of its control:
 * proportional rate reduction (RFC 6937), the window at the end of a recovery, and the pacing rate.
 */
#ifndef FADELAB_WINDOW_H
#define FADELAB_WINDOW_H

#include "observe.h"

#define PACING_NONE 0
#define PACING_NEEDED 1
#define PACING_FQ 2

ALWAYS_INLINE void control_of(const struct tcp_sock *tp, const struct flow *f, struct law_control *control)
{
	hold_window(f, tp->snd_cwnd, tp->snd_ssthresh, tp->ecn_flags, control);
}

/* Takes window, ssthresh and what goes with them from the law. */
ALWAYS_INLINE void take_window(struct tcp_sock *tp, struct flow *f, const struct law_control *control)
{
	u32 cwnd = (u32)fixed_min(control->cwnd_pkts, tp->snd_cwnd_clamp);

	tp->snd_cwnd = cwnd ? cwnd : 1;
	f->cwnd_pkts = tp->snd_cwnd;
	f->cwnd_fraction = cwnd == control->cwnd_pkts ? control->cwnd_fraction : 0;
	f->below_one = !cwnd;
}

ALWAYS_INLINE void take_ssthresh(struct tcp_sock *tp, struct flow *f, const struct law_control *control)
{
	tp->snd_ssthresh = control->ssthresh_pkts;
	f->ssthresh_pkts = control->ssthresh_pkts;
	f->ssthresh_fraction = control->ssthresh_fraction;
}

/* What the answer to a loss may make of the window: no more than it was, but the two of RFC 5681, equation (4). */
ALWAYS_INLINE u32 ceiling_of(const struct tcp_sock *tp)
{
	return tp->prior_cwnd > 2 ? tp->prior_cwnd : 2;
}

/* RFC 6937 with the slow start reduction bound. The kernel counts what was sent in a recovery (prr_out). */
ALWAYS_INLINE void reduce_rate(struct tcp_sock *tp, struct flow *f, const struct law_ack *ack)
{
	u32 in_flight = in_flight_of(tp), prior = tp->prior_cwnd;
	u32 ssthresh = (u32)fixed_min(tp->snd_ssthresh, ceiling_of(tp));
	s32 send;

	if (!ack->delivered_pkts || !prior)
		return;
	f->prr_delivered += ack->delivered_pkts;
	if (in_flight > ssthresh) {
		send = (s32)fixed_div((u64)ssthresh * f->prr_delivered + prior - 1, prior) - (s32)tp->prr_out;
	} else {
		s32 room = (s32)(ssthresh - in_flight), missing = (s32)(f->prr_delivered - tp->prr_out);

		send = missing > (s32)ack->delivered_pkts ? missing : (s32)ack->delivered_pkts;
		/* Good progress: a partial ACK, and nothing newly lost. */
		if (ack->acked_pkts && !ack->lost_pkts)
			send++;
		send = send < room ? send : room;
	}
	/* The first retransmission of a recovery leaves in any case. */
	if (send < (tp->prr_out ? 0 : 1))
		send = tp->prr_out ? 0 : 1;
	tp->snd_cwnd = in_flight + (u32)send;
}

/* The kernel's own rule where the law names no rate: twice the window a round trip while it doubles, then 1.2 times. */
ALWAYS_INLINE u64 pacing_default_Bps(const struct tcp_sock *tp)
{
	u64 pkts = tp->snd_cwnd > tp->packets_out ? tp->snd_cwnd : tp->packets_out;
	u64 percent = tp->snd_cwnd < tp->snd_ssthresh / 2 ? 200 : 120;
	u64 srtt_us = tp->srtt_us >> 3;

	return srtt_us ? fixed_div(tp->mss_cache * pkts * percent * 10000, srtt_us) : ~0ull;
}

/* Laws name a rate of IP packets. TCP paces payload (tcp_update_skb_after_send), the qdisc fq whole packets. */
ALWAYS_INLINE u64 as_paced_Bps(const struct sock *sk, const struct tcp_sock *tp, u64 rate_Bps)
{
	u64 payload_Bps;

	if (sk->sk_pacing_status == PACING_FQ)
		return rate_Bps;
	payload_Bps = fixed_mul_div(rate_Bps, mss_bytes_of(tp), packet_bytes_of(sk, tp));
	return payload_Bps ? payload_Bps : 1;
}

ALWAYS_INLINE void set_pacing(struct sock *sk, const struct tcp_sock *tp, const struct law_control *control)
{
	u32 status = control->pacing_Bps || !control->cwnd_pkts ? PACING_NEEDED : PACING_NONE;
	u64 rate_Bps;

	if (!control->cwnd_pkts) {
		/* A packet every srtt / window; the fraction is of 2^32. */
		u64 whole_Bps = fixed_div((u64)packet_bytes_of(sk, tp) * 1000000, (tp->srtt_us >> 3) + 1);

		rate_Bps = as_paced_Bps(sk, tp, fixed_mul_div(whole_Bps, control->cwnd_fraction, 1ull << 32));
	} else {
		rate_Bps = control->pacing_Bps ? as_paced_Bps(sk, tp, control->pacing_Bps) : pacing_default_Bps(tp);
	}
	sk->sk_pacing_rate = fixed_min(rate_Bps, sk->sk_max_pacing_rate);
	if (LAW_SENDER.flags & LAW_SENDER_PACED && sk->sk_pacing_status != PACING_FQ && sk->sk_pacing_status != status)
		sk->sk_pacing_status = status;
}

/* Where the kernel left its window alone, the reduction ends at ssthresh, and not above what it may. */
ALWAYS_INLINE void end_reduction(struct tcp_sock *tp, struct flow *f, struct law_control *control)
{
	control->cwnd_pkts = control->ssthresh_pkts;
	control->cwnd_fraction = control->ssthresh_fraction;
	if (tp->prior_cwnd && control->cwnd_pkts >= ceiling_of(tp)) {
		control->cwnd_pkts = ceiling_of(tp);
		control->cwnd_fraction = 0;
	}
	take_window(tp, f, control);
}

#endif /* FADELAB_WINDOW_H */
