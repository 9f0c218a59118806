/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The law as a congestion control of the kernel. The hook `cong_control` is called once for each ACK, in recovery too,
 * as law.h wants it; what the kernel then leaves to its owner is done here: proportional rate reduction (RFC 6937), the
 * window at the end of a recovery, and the pacing rate. What is lost, retransmitted or undone stays the kernel's.
 *
 * The kernel asks for ssthresh before it says why, so nothing is decided there: the change of state that follows names
 * the reason, and the law is asked then.
 */
#ifndef FADELAB_CONTROL_H
#define FADELAB_CONTROL_H

#include "flow.h"
#include "record.h"

#define FLAG_ECE 0x40
#define CA_ACK_ECE 0x4
/* No loss has been seen yet. */
#define SSTHRESH_INFINITE 0x7fffffffu
#define EVENT_TX_START 0
#define PACING_NONE 0
#define PACING_NEEDED 1
#define PACING_FQ 2

#define OWNS_RECOVERY (LAW_SENDER.flags & LAW_SENDER_OWNS_RECOVERY)

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

ALWAYS_INLINE void control_of(const struct tcp_sock *tp, const struct flow *f, struct law_control *control)
{
	control->size = sizeof(*control);
	control->cwnd_pkts = tp->snd_cwnd;
	control->ssthresh_pkts = tp->snd_ssthresh;
	control->ca_state = f->ca_state;
	control->pacing_Bps = 0;
	control->ecn = f->ecn;
	control->flags = 0;
	control->cwnd_fraction = 0;
	control->ssthresh_fraction = 0;
	/* Fractions are ours to keep, for as long as the kernel leaves the whole packets as they were. */
	if (tp->snd_ssthresh == f->ssthresh_pkts)
		control->ssthresh_fraction = f->ssthresh_fraction;
	if (tp->snd_cwnd != f->cwnd_pkts)
		return;
	control->cwnd_fraction = f->cwnd_fraction;
	if (f->below_one)
		control->cwnd_pkts = 0;
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
 * The law sends less by choice. The kernel's own mark cannot be written everywhere (not in 6.1), so what it would do is
 * done here: it stands until what is in flight now is delivered, and a sample is limited where its segment left while it
 * stood.
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

/* RFC 6937 with the slow start reduction bound. The kernel counts what was sent in a recovery (prr_out). */
ALWAYS_INLINE void reduce_rate(struct tcp_sock *tp, struct flow *f, const struct law_ack *ack)
{
	u32 in_flight = in_flight_of(tp), prior = tp->prior_cwnd;
	u32 ssthresh = tp->snd_ssthresh < prior ? tp->snd_ssthresh : prior;
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

ALWAYS_INLINE void set_pacing(struct sock *sk, const struct tcp_sock *tp, const struct law_control *control)
{
	u64 rate_Bps = control->pacing_Bps ? control->pacing_Bps : pacing_default_Bps(tp);
	u32 status = control->pacing_Bps ? PACING_NEEDED : PACING_NONE;

	if (!control->cwnd_pkts) {
		/* A packet every srtt / window; the fraction is of 2^32. */
		u64 whole_Bps = fixed_div((u64)packet_bytes_of(sk, tp) * 1000000, (tp->srtt_us >> 3) + 1);
		u64 below_Bps = fixed_mul_div(whole_Bps, control->cwnd_fraction, 1ull << 32);

		rate_Bps = below_Bps ? below_Bps : 1;
		status = PACING_NEEDED;
	}
	sk->sk_pacing_rate = fixed_min(rate_Bps, sk->sk_max_pacing_rate);
	if (LAW_SENDER.flags & LAW_SENDER_PACED && sk->sk_pacing_status != PACING_FQ && sk->sk_pacing_status != status)
		sk->sk_pacing_status = status;
}

ALWAYS_INLINE void show(struct sock *sk, const struct tcp_sock *tp, struct flow *f)
{
	struct live_flow seen = {};

	f->shown_us = tp->tcp_mstamp;
	seen.id = f->id;
	seen.time_us = f->shown_us;
	seen.family = sk->__sk_common.skc_family;
	seen.local_port = sk->__sk_common.skc_num;
	seen.remote_port = host_be16(sk->__sk_common.skc_dport);
	if (seen.family == FAMILY_IPV6) {
		*(struct in6_addr *)seen.local = sk->__sk_common.skc_v6_rcv_saddr;
		*(struct in6_addr *)seen.remote = sk->__sk_common.skc_v6_daddr;
	} else {
		*(u32 *)seen.local = sk->__sk_common.skc_rcv_saddr;
		*(u32 *)seen.remote = sk->__sk_common.skc_daddr;
	}
	seen.cwnd_pkts = tp->snd_cwnd;
	seen.ssthresh_pkts = tp->snd_ssthresh;
	seen.srtt_us = tp->srtt_us >> 3;
	seen.ca_state = f->ca_state;
	seen.feedback_len = f->feedback.len;
	seen.feedback_us = f->feedback_us;
	__builtin_memcpy(seen.feedback, f->feedback.bytes, sizeof(seen.feedback));
	bpf_map_update_elem(&live, &f->id, &seen, 0);
}

/* ----------------------------------------------------------------------------------------------------- the hooks */

SEC("struct_ops") void control_init(u64 *context)
{
	struct sock *sk = (struct sock *)context[0];
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *f = bpf_sk_storage_get(&flows, sk, (void *)0, SK_STORAGE_GET_F_CREATE);
	struct law_start start = {};
	struct law_control control;

	if (!f)
		return;
	/* A socket may come back to this law after another. */
	__builtin_memset(f, 0, sizeof(*f));
	f->id = __sync_fetch_and_add(&flows_n, 1) + 1;
	f->snd_una = tp->snd_una;
	f->sacked_out = tp->sacked_out;
	f->delivered_ce = tp->delivered_ce;
	f->ca_state = HOST_BITS((struct inet_connection_sock *)sk, icsk_ca_state);
	start.size = sizeof(start);
	start.packet_bytes = packet_bytes_of(sk, tp);
	start.mss_bytes = mss_bytes_of(tp);
	start.random = bpf_get_prandom_u32();
	start.now_us = tp->tcp_mstamp;
	start.srtt_us = tp->srtt_us >> 3;
	start.ts_tick_us = 1000;
	control_of(tp, f, &control);
	if (LAW_SENDER.init) {
		RECORDED(f, CALL_INIT, &control, CALL_EVENT(&start), LAW_SENDER.init(f->state, &law_params, &start, &control));
	}
	f->ecn = control.ecn;
	take_window(tp, f, &control);
	take_ssthresh(tp, f, &control);
	set_pacing(sk, tp, &control);
	show(sk, tp, f);
}

SEC("struct_ops") void control_release(u64 *context)
{
	struct flow *f = flow_of((struct sock *)context[0]);
	u64 id;

	if (!f)
		return;
	id = f->id;
	bpf_map_delete_elem(&live, &id);
}

/* Where the kernel left its window alone, the reduction ends at ssthresh, and never above where it began. */
ALWAYS_INLINE void end_reduction(struct tcp_sock *tp, struct flow *f, struct law_control *control)
{
	control->cwnd_pkts = control->ssthresh_pkts;
	control->cwnd_fraction = control->ssthresh_fraction;
	if (tp->prior_cwnd && control->cwnd_pkts > tp->prior_cwnd) {
		control->cwnd_pkts = tp->prior_cwnd;
		control->cwnd_fraction = 0;
	}
	take_window(tp, f, control);
}

/* Decided when the state changes: until then ssthresh is what it was. */
SEC("struct_ops") u32 control_ssthresh(u64 *context)
{
	return ((struct tcp_sock *)context[0])->snd_ssthresh;
}

/*
 * A reduction that turns out to be spurious is taken back. The kernel then raises ssthresh to what it was, if that is
 * more: what the law says of ssthresh holds where it is no less.
 */
SEC("struct_ops") u32 control_undo(u64 *context)
{
	struct sock *sk = (struct sock *)context[0];
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *f = flow_of(sk);
	u32 cwnd = tp->snd_cwnd > tp->prior_cwnd ? tp->snd_cwnd : tp->prior_cwnd;
	struct law_control control;
	struct law_ack ack;

	if (!f || !LAW_SENDER.on_undo)
		return cwnd;
	observe(sk, tp, f, &ack);
	control_of(tp, f, &control);
	control.cwnd_pkts = cwnd;
	control.cwnd_fraction = 0;
	if (tp->prior_ssthresh > control.ssthresh_pkts) {
		control.ssthresh_pkts = tp->prior_ssthresh;
		control.ssthresh_fraction = 0;
	}
	RECORDED(f, CALL_ON_UNDO, &control, CALL_EVENT(&ack);
	         CALL_ARGUMENT(0, f->cause),
	         LAW_SENDER.on_undo(f->state, &law_params, &ack, f->cause, &control));
	take_ssthresh(tp, f, &control);
	take_window(tp, f, &control);
	return tp->snd_cwnd;
}

ALWAYS_INLINE void lose(struct tcp_sock *tp, struct flow *f, const struct law_ack *ack, u32 cause,
                        struct law_control *control)
{
	f->prr_delivered = 0;
	f->cause = cause;
	if (!LAW_SENDER.on_loss)
		return;
	RECORDED(f, CALL_ON_LOSS, control, CALL_EVENT(ack);
	         CALL_ARGUMENT(0, cause), LAW_SENDER.on_loss(f->state, &law_params, ack, cause, control));
	take_ssthresh(tp, f, control);
	if (OWNS_RECOVERY)
		take_window(tp, f, control);
}

ALWAYS_INLINE void time_out(struct tcp_sock *tp, struct flow *f, const struct law_ack *ack, struct law_control *control)
{
	/* The kernel has lowered the window already; the law is told of the one before. */
	control->cwnd_pkts = tp->prior_cwnd ? tp->prior_cwnd : control->cwnd_pkts;
	control->cwnd_fraction = 0;
	f->cause = LAW_LOSS_RTO;
	if (!LAW_SENDER.on_rto)
		return;
	RECORDED(f, CALL_ON_RTO, control, CALL_EVENT(ack), LAW_SENDER.on_rto(f->state, &law_params, ack, control));
	take_ssthresh(tp, f, control);
}

/* Whether the reduction that begins is for what a probe of the end of the flight repaired (tcp_process_tlp_ack). */
ALWAYS_INLINE u32 is_probed(const struct tcp_sock *tp)
{
	return tp->tlp_high_seq && (s32)(tp->snd_una - tp->tlp_high_seq) > 0;
}

/* The kernel sets CWR for a mark, and for a moment where a probe repaired a loss. */
ALWAYS_INLINE void reduce(struct tcp_sock *tp, struct flow *f, const struct law_ack *ack, struct law_control *control)
{
	if (is_probed(tp)) {
		lose(tp, f, ack, LAW_LOSS_DUPACK, control);
		f->ack_flags |= LAW_ACK_PROBE_REPAIRED;
	} else {
		lose(tp, f, ack, LAW_LOSS_ECN, control);
	}
}

SEC("struct_ops") void control_set_state(u64 *context)
{
	struct sock *sk = (struct sock *)context[0];
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *f = flow_of(sk);
	struct law_control control;
	struct law_ack ack;
	u32 before, now = (u8)context[1];

	if (!f)
		return;
	before = f->ca_state;
	observe(sk, tp, f, &ack);
	control_of(tp, f, &control);
	if (now == LAW_CA_LOSS)
		time_out(tp, f, &ack, &control);
	else if (now == LAW_CA_RECOVERY && before != LAW_CA_CWR)
		lose(tp, f, &ack, LAW_LOSS_DUPACK, &control);
	else if (now == LAW_CA_CWR)
		reduce(tp, f, &ack, &control);
	else if (!OWNS_RECOVERY && now <= LAW_CA_DISORDER && (before == LAW_CA_CWR || before == LAW_CA_RECOVERY) &&
	         tp->snd_ssthresh < SSTHRESH_INFINITE && (before == LAW_CA_CWR || tp->undo_marker))
		end_reduction(tp, f, &control);
	f->ca_state = now;
}

SEC("struct_ops") void control_event(u64 *context)
{
	struct sock *sk = (struct sock *)context[0];
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct law_control control;
	struct flow *f;
	u64 now_us, idle_us;

	if ((int)context[1] != EVENT_TX_START || !LAW_SENDER.on_restart)
		return;
	f = flow_of(sk);
	if (!f || !f->acked_us)
		return;
	/* Nothing is in flight, so nothing happened since the ACK that emptied it. */
	now_us = tp->tcp_mstamp;
	idle_us = fixed_sub(now_us, f->acked_us);
	control_of(tp, f, &control);
	RECORDED(f, CALL_ON_RESTART, &control, CALL_ARGUMENT(0, now_us);
	         CALL_ARGUMENT(1, idle_us), LAW_SENDER.on_restart(f->state, &law_params, now_us, idle_us, &control));
	take_window(tp, f, &control);
}

#if KERNEL_VERSION < 610
/* Which ACKs echo a mark: before 6.10 the hook for ACKs is not told, and this one, which comes before it, is. */
SEC("struct_ops") void control_in_ack(u64 *context)
{
	struct flow *f = flow_of((struct sock *)context[0]);

	if (f && (u32)context[1] & CA_ACK_ECE)
		f->ack_flags |= LAW_ACK_ECE;
}
#endif

SEC("struct_ops") void control_ack(u64 *context)
{
	struct sock *sk = (struct sock *)context[0];
	struct tcp_sock *tp = (struct tcp_sock *)sk;
#if KERNEL_VERSION >= 610
	int flag = (int)context[2];
	const struct rate_sample *rs = (const struct rate_sample *)context[3];
#else
	int flag = 0;
	const struct rate_sample *rs = (const struct rate_sample *)context[1];
#endif
	struct flow *f = flow_of(sk);
	struct law_control control;
	struct law_ack ack;
	u32 reducing;

	if (!f)
		return;
	reducing = !OWNS_RECOVERY && (f->ca_state == LAW_CA_CWR || f->ca_state == LAW_CA_RECOVERY);
	observe(sk, tp, f, &ack);
	observe_ack(tp, f, flag, rs, &ack);
	if (reducing)
		reduce_rate(tp, f, &ack);
	control_of(tp, f, &control);
	if (LAW_SENDER.on_ack) {
		RECORDED(f, CALL_ON_ACK, &control, CALL_EVENT(&ack), LAW_SENDER.on_ack(f->state, &law_params, &ack, &control));
	}
	f->feedback.present = 0;
	f->ecn = control.ecn;
	if (!reducing) {
		take_window(tp, f, &control);
		take_ssthresh(tp, f, &control);
	}
	if (control.flags & LAW_CONTROL_APP_LIMITED)
		limit_samples(tp, f);
	set_pacing(sk, tp, &control);
	if (ack.now_us - f->shown_us >= LIVE_US)
		show(sk, tp, f);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops control = {
	.init = (void *)control_init,
	.release = (void *)control_release,
	.ssthresh = (void *)control_ssthresh,
	.undo_cwnd = (void *)control_undo,
	.set_state = (void *)control_set_state,
	.cwnd_event = (void *)control_event,
	.cong_control = (void *)control_ack,
#if KERNEL_VERSION < 610
	.in_ack_event = (void *)control_in_ack,
#endif
	/* TCP_CONG_NON_RESTRICTED: without it a namespace cannot choose the law, and an attempt leaks a reference. */
	.flags = 1,
	.name = CC_NAME,
};

#endif /* FADELAB_CONTROL_H */
