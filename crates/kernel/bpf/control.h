/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The law as a congestion control of the kernel. The hook `cong_control` is called once for each ACK, in recovery too,
 * as law.h wants it; what the law is shown then stands in observe.h, and what the kernel leaves to its owner in
 * window.h. What is lost, retransmitted or undone stays the kernel's.
 *
 * The kernel asks for ssthresh before it says why, so nothing is decided there: the change of state that follows names
 * the reason, and the law is asked then.
 */
#ifndef FADELAB_CONTROL_H
#define FADELAB_CONTROL_H

#include "invoke.h"
#include "record.h"
#include "window.h"

#define CA_ACK_ECE 0x4
/* No loss has been seen yet. */
#define SSTHRESH_INFINITE 0x7fffffffu
#define EVENT_TX_START 0

#define OWNS_RECOVERY (LAW_SENDER.flags & LAW_SENDER_OWNS_RECOVERY)

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
	seen.confirmed = f->feedback.confirmed;
	__builtin_memcpy(seen.feedback, f->feedback.bytes, sizeof(seen.feedback));
	bpf_map_update_elem(&live, &f->id, &seen, 0);
}

/*
 * Linux 6.18 under load was seen to change its state without running the hooks for it: a trace of them shows none
 * between two ACKs, and the ssthresh that it takes from a hook that did not run is what lay on the stack, an address of
 * code. The law was not asked, so at the beginning of a reduction its ssthresh holds; an end is one, or the law would
 * have no say.
 */
ALWAYS_INLINE void make_up_for_hooks(const struct sock *sk, struct tcp_sock *tp, struct flow *f)
{
	u32 state = HOST_BITS((struct inet_connection_sock *)sk, icsk_ca_state);

	if (state == f->ca_state)
		return;
	if (state <= LAW_CA_DISORDER)
		f->ca_state = state;
	else
		tp->snd_ssthresh = f->ssthresh_pkts;
}

/* ----------------------------------------------------------------------------------------------------- the hooks */

SEC("struct_ops") void control_init(u64 *context)
{
	struct sock *sk = (struct sock *)context[0];
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *f = bpf_sk_storage_get(&flows, sk, (void *)0, SK_STORAGE_GET_F_CREATE);
	struct law_start start = {};
	struct law_control control;
	u32 key = 0;
	struct flow_counts *counts = bpf_map_lookup_elem(&flow_counts, &key);

	if (!f || !counts)
		return;
	own(sk, 1);
	f->id = __sync_fetch_and_add(&counts->begun, 1) + 1;
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
		RECORDED(f, CALL_INIT, &control, CALL_EVENT(&f->call, &start), INVOKE(init, &start, &control), NOTHING_WRITTEN);
	}
	take_ecn(f, tp->ecn_flags, &control);
	take_window(tp, f, &control);
	take_ssthresh(tp, f, &control);
	set_pacing(sk, tp, &control);
	show(sk, tp, f);
}

SEC("struct_ops") void control_release(u64 *context)
{
	struct sock *sk = (struct sock *)context[0];
	struct flow *f = flow_of(sk);
	u32 key = 0;
	struct flow_counts *counts = bpf_map_lookup_elem(&flow_counts, &key);
	u64 id;

	if (!f || !counts)
		return;
	id = f->id;
	__sync_fetch_and_add(&counts->gone, 1);
	bpf_map_delete_elem(&live, &id);
	own(sk, 0);
	/* The socket may go on under another law, and its segments must not say any longer that they are of this one. */
	bpf_sk_storage_delete(&flows, sk);
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
	RECORDED(f, CALL_ON_UNDO, &control, CALL_EVENT(&f->call, &ack);
	         CALL_ARGUMENT(&f->call, 0, f->cause), INVOKE(on_undo, &ack, f->cause, &control), NOTHING_WRITTEN);
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
	RECORDED(f, CALL_ON_LOSS, control, CALL_EVENT(&f->call, ack);
	         CALL_ARGUMENT(&f->call, 0, cause), INVOKE(on_loss, ack, cause, control), NOTHING_WRITTEN);
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
	RECORDED(f, CALL_ON_RTO, control, CALL_EVENT(&f->call, ack), INVOKE(on_rto, ack, control), NOTHING_WRITTEN);
	take_ssthresh(tp, f, control);
}

/*
 * Whether the reduction that begins is for what a probe of the end of the flight repaired. The kernel has forgotten its
 * probe by now (tcp_process_tlp_ack), but nothing else sets CWR with an ACK that advances and echoes no mark. Whether
 * it echoes one shows in what it delivered, which is counted before (tcp_clean_rtx_queue).
 */
ALWAYS_INLINE u32 is_probed(const struct tcp_sock *tp, const struct flow *f)
{
	return (s32)(tp->snd_una - f->snd_una) > 0 && tp->delivered_ce == f->delivered_ce;
}

/* The kernel sets CWR for a mark, and for a moment where a probe repaired a loss. */
ALWAYS_INLINE void reduce(struct tcp_sock *tp, struct flow *f, const struct law_ack *ack, struct law_control *control)
{
	if (is_probed(tp, f)) {
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
	make_up_for_hooks(sk, tp, f);
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
	         tp->snd_ssthresh < SSTHRESH_INFINITE && (before == LAW_CA_CWR || tp->undo_marker)) {
		end_reduction(tp, f, &control);
		f->ends_recovery = before == LAW_CA_RECOVERY ? LAW_CA_RECOVERY : 0;
	}
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
	RECORDED(f, CALL_ON_RESTART, &control, CALL_ARGUMENT(&f->call, 0, now_us);
	         CALL_ARGUMENT(&f->call, 1, idle_us), INVOKE(on_restart, now_us, idle_us, &control), NOTHING_WRITTEN);
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
	u32 reducing, is_host_s;

	if (!f)
		return;
	make_up_for_hooks(sk, tp, f);
	reducing = !OWNS_RECOVERY && (f->ca_state == LAW_CA_CWR || f->ca_state == LAW_CA_RECOVERY);
	observe(sk, tp, f, &ack);
	observe_ack(tp, f, flag, rs, &ack);
	if (reducing)
		reduce_rate(tp, f, &ack);
	control_of(tp, f, &control);
	/*
	 * An ACK that ends recovery only brings the window to ssthresh (RFC 5681, section 3.2, step 6): it acknowledges a
	 * window's worth of segments that left the network long ago, and is none to grow by. The state is Open by now, or
	 * Disorder, whose bits are among Recovery's. No branch: the verifier would go through the law once for each way.
	 */
	_Static_assert((LAW_CA_RECOVERY | LAW_CA_DISORDER | LAW_CA_OPEN) == LAW_CA_RECOVERY, "bits of the states");
	is_host_s = reducing | f->ends_recovery;
	control.ca_state |= f->ends_recovery;
	f->ends_recovery = 0;
	if (LAW_SENDER.on_ack) {
		RECORDED(f, CALL_ON_ACK, &control, CALL_EVENT(&f->call, &ack), INVOKE(on_ack, &ack, &control), NOTHING_WRITTEN);
	}
	f->feedback.present = 0;
	take_ecn(f, tp->ecn_flags, &control);
	if (!is_host_s) {
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
	/* Until a name is set. */
	.name = "fade_has_no_name",
};

#endif /* FADELAB_CONTROL_H */
