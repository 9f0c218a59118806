/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: Fu, Liew, "TCP Veno: TCP enhancement for transmission over wireless access networks", IEEE JSAC 21(2), 2003;
 * Linux net/ipv4/tcp_veno.c for what was deployed.
 *
 * In one paragraph: Reno that asks, as Vegas does, how many of its packets wait at the bottleneck. With few of them a
 * loss is taken for the wireless link's and a fifth of the window is given up instead of half; with many of them the
 * window grows only in every second round trip.
 *
 * Law:
 *   backlog                N = cwnd (RTT - BaseRTT) / RTT
 *   slow start             as Reno                                                      RFC 5681 (2)
 *   congestion avoidance   cwnd += acked / cwnd while N < beta, half of that otherwise
 *   third duplicate ACK    ssthresh = 4/5 cwnd while N < beta, max(cwnd / 2, 2) otherwise
 *   ECN echo               max(cwnd / 2, 2): nothing is to be guessed
 *   timeout, restart       as Reno
 *   fewer than 3 samples   as Reno
 *
 * Parameters: the X-macro VENO_PARAMS below.
 *
 * Divergences:
 *   1. As published RTT is the smoothed one, and BaseRTT, the least, is sought anew after each loss. Linux takes the
 *      sample of the last ACK and the least of the connection: `rtt = "last"`, `base = "connection"`.
 *   2. Growth by half is half a share with each ACK; the paper and Linux add one packet in every second round trip. The
 *      two are the same over two round trips.
 *   3. new-jersey-2004 section 3.3 describes it the other way round: there the slower growth answers a random loss. In
 *      the Veno paper and in Linux it answers a backlog, and the loss decides about the cut; so it is here.
 *   4. Linux cuts by a fifth for an ECN echo, too, where the backlog is small.
 *
 * Figures: new-jersey-2004 figure 16 and table 1 (Veno).
 */
#ifndef FADELAB_SENDER_VENO_H
#define FADELAB_SENDER_VENO_H

#include "fixed.h"
#include "law.h"
#include "part/reno.h"
#include "part/window.h"

/* clang-format off */
#define VENO_PARAMS(P)                                                                                                 \
	P(beta_pkts, 3, "pkt", 1, 1, 65535, "Fu 2003: 3; Linux: 3",                                                        \
	  "Backlog from which the path counts as congested")                                                               \
	P(rtt, 0, "smoothed|last", 1, 0, 1, "Fu 2003: smoothed; Linux: last",                                              \
	  "Which round trip the backlog is taken from")                                                                    \
	P(base, 0, "loss|connection", 1, 0, 1, "Fu 2003: loss; Linux: connection",                                         \
	  "Since when BaseRTT is the least round trip: since the last loss, or of all")                                    \
	P(limit_pkts, 1, "pkt", 1, 1, 65535, "RFC 5681 (2): 1; Linux: no limit",                                           \
	  "Most packets that one ACK adds in slow start")                                                                  \
	P(restart_us, 1000000, "us", 1, 0, 1000000000, "RFC 5681 section 4.1, RFC 6298 (2.4)",                             \
	  "Idleness after which the window falls to the initial one; 0: never")
/* clang-format on */

struct veno_params {
	VENO_PARAMS(LAW_PARAM_FIELD)
};

struct veno_state {
	struct window window;
	struct reno_memory memory;
	u64 backlog_q4; /* N, in sixteenths of a packet */
	u32 initial_pkts;
	u32 srtt_us;
	u32 base_us;   /* 0: no sample yet */
	u32 samples_n; /* of the connection, up to VENO_SAMPLES_MIN */
};

_Static_assert(sizeof(struct veno_state) <= LAW_STATE_BYTES_MAX, "the kernel gives no more");

/* With fewer the backlog says nothing. */
#define VENO_SAMPLES_MIN 3
/* Longer round trips count as this: their product with a window stays within 64 bits. */
#define VENO_RTT_US_MAX (1u << 29)

/* clang-format off */
#define VENO_WATCH(W, state)                                                                                           \
	W(window, state->window.cwnd_q32, "pkt", 4294967296,                                                               \
	  "cwnd with its fraction, as the law left it; a host that repairs losses may have lowered it since")              \
	W(backlog_pkts, state->backlog_q4, "pkt", 16,                                                                      \
	  "N, how many of the window's packets wait at the bottleneck, with the last ACK outside of recovery")             \
	W(base_rtt, state->base_us, "us", 1,                                                                               \
	  "BaseRTT; 0 before the first sample, and behind a loss where base = loss")
/* clang-format on */

LAW void veno_init(void *state, const void *params, const struct law_start *start, struct law_control *control)
{
	struct veno_state *s = state;

	(void)params;
	s->initial_pkts = control->cwnd_pkts;
	s->srtt_us = start->srtt_us;
	s->memory.cwnd_pkts = control->cwnd_pkts;
}

LAW u32 veno_is_congested(const struct veno_state *s, const struct veno_params *p)
{
	return s->backlog_q4 >= p->beta_pkts << 4;
}

/* N = cwnd (RTT - BaseRTT) / RTT, from an ACK that brought a sample. */
LAW void veno_look(struct veno_state *s, const struct veno_params *p, const struct law_ack *ack,
                   const struct law_control *control)
{
	u32 rtt_us = p->rtt ? ack->rtt_us : ack->srtt_us;
	u64 cwnd_pkts = fixed_min(control->cwnd_pkts, WINDOW_PKTS_MAX);

	if (!ack->rtt_us)
		return;
	if (!s->base_us || ack->rtt_us < s->base_us)
		s->base_us = ack->rtt_us;
	if (s->samples_n < VENO_SAMPLES_MIN)
		s->samples_n++;
	/* In recovery the window is the host's, and says nothing of what the path holds. */
	if (control->ca_state == LAW_CA_RECOVERY || control->ca_state == LAW_CA_CWR)
		return;
	LAW_STEP("Fu 2003: N = cwnd (RTT - BaseRTT) / RTT");
	rtt_us = (u32)fixed_min(rtt_us, VENO_RTT_US_MAX);
	s->backlog_q4 = fixed_div((cwnd_pkts << 4) * fixed_sub(rtt_us, s->base_us), rtt_us);
}

/* Congestion avoidance, at half the speed where the path counts as congested. */
LAW u64 veno_grown_q32(const struct veno_state *s, const struct veno_params *p, u64 cwnd_q32, u64 acked_pkts)
{
	u64 share_q32 = window_share_q32(window_counted_pkts(acked_pkts, cwnd_q32) << 32, cwnd_q32);

	if (s->samples_n >= VENO_SAMPLES_MIN && veno_is_congested(s, p)) {
		LAW_STEP("Fu 2003: N >= beta, cwnd += acked / cwnd in every second round trip");
		share_q32 /= 2;
	} else {
		LAW_STEP("Fu 2003: N < beta, cwnd += acked / cwnd, as Reno");
	}
	return fixed_add(cwnd_q32, share_q32);
}

LAW void veno_on_ack(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	struct veno_state *s = state;
	const struct veno_params *p = params;

	s->srtt_us = ack->srtt_us;
	veno_look(s, p, ack, control);
	if (reno_may_grow(ack, control)) {
		u64 cwnd_q32 = window_get(&s->window, control);

		if (control->cwnd_pkts < control->ssthresh_pkts)
			cwnd_q32 = reno_grown_q32(cwnd_q32, control->ssthresh_pkts, ack->acked_pkts, p->limit_pkts);
		else
			cwnd_q32 = veno_grown_q32(s, p, cwnd_q32, ack->acked_pkts);
		window_set(&s->window, control, cwnd_q32);
	}
	reno_remember(&s->memory, ack, control);
}

/* What is taken for a random loss costs a fifth. */
LAW u32 veno_cut_pkts(u32 cwnd_pkts)
{
	u64 left_pkts = (u64)cwnd_pkts * 4 / 5;

	LAW_STEP("Fu 2003: N < beta, a random loss: ssthresh = 4/5 cwnd, at least 2");
	return (u32)fixed_max(left_pkts, 2);
}

LAW void veno_on_loss(void *state, const void *params, const struct law_ack *ack, u32 cause,
                      struct law_control *control)
{
	struct veno_state *s = state;
	const struct veno_params *p = params;

	if (cause == LAW_LOSS_DUPACK && s->samples_n >= VENO_SAMPLES_MIN && !veno_is_congested(s, p))
		control->ssthresh_pkts = veno_cut_pkts(control->cwnd_pkts);
	else
		control->ssthresh_pkts = reno_half(control->cwnd_pkts);
	if (!p->base)
		s->base_us = 0;
	reno_remember(&s->memory, ack, control);
}

LAW void veno_on_rto(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	struct veno_state *s = state;
	const struct veno_params *p = params;

	(void)ack;
	if (!p->base)
		s->base_us = 0;
	reno_timeout(&s->memory, control);
}

LAW void veno_on_restart(void *state, const void *params, u64 now_us, u64 idle_us, struct law_control *control)
{
	struct veno_state *s = state;
	const struct veno_params *p = params;

	(void)now_us;
	reno_restart(&s->window, s->initial_pkts, p->restart_us, s->srtt_us, idle_us, control);
	s->memory.cwnd_pkts = control->cwnd_pkts;
}

LAW_TABLE struct law_sender veno_sender = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_sender),
	.name = "veno",
	.summary = "Reno that guesses from the backlog at the bottleneck whether a loss was the wireless link's",
	.state_bytes = sizeof(struct veno_state),
	.params_bytes = sizeof(struct veno_params),
	.flags = LAW_SENDER_PLAIN_ACKS,
	.wire = LAW_WIRE_NONE,
	.ecn_mode = LAW_ECN_MODE_CLASSIC,
	LAW_PARAM_LIST(VENO_PARAMS),
	LAW_WATCH_LIST(struct veno_state, VENO_WATCH),
	.init = veno_init,
	.on_ack = veno_on_ack,
	.on_loss = veno_on_loss,
	.on_rto = veno_on_rto,
	.on_restart = veno_on_restart,
};

#endif /* FADELAB_SENDER_VENO_H */
