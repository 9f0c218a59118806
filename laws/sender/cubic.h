/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: RFC 9438 (CUBIC), RFC 5681 (slow start), RFC 3168 (ECN).
 *
 * In one paragraph: After a loss the window follows a cubic curve of the time since then: fast towards the window at
 * which the loss happened, flat around it, then faster and faster beyond. Where Reno would be faster, it follows Reno.
 *
 * Law:
 *   slow start     cwnd += acked                                                RFC 5681 (2), with limit_pkts
 *   curve          W(t) = C (t - K)^3 + W_max                                   RFC 9438 figure 1 (equation 1)
 *                  K = cbrt((W_max - cwnd_epoch) / C)                           equation 2
 *   target         W(t + srtt), within cwnd and 1.5 cwnd; cwnd += acked (target - cwnd) / cwnd    section 4.4, 4.5
 *   friendly       W_est += alpha acked / cwnd; cwnd = W_est where W(t) < W_est                   section 4.3
 *                  alpha = 3 (1 - beta) / (1 + beta) until W_est reaches the window before the loss, then 1
 *   loss           W_max = cwnd, or cwnd (1 + beta) / 2 where W_max was larger (fast convergence)  section 4.7
 *                  ssthresh = max(beta cwnd, 2)                                                   section 4.6
 *   timeout        the same; the next epoch starts with K = 0                                     section 4.8
 *
 * Parameters: the X-macro CUBIC_PARAMS below.
 *
 * Divergences:
 *   1. The RFC reduces what is in flight; this law reduces cwnd, as Linux does.
 *   2. K is in milliseconds and curve times in 2^-16 s; times and windows are clipped at 1024 s and 2^30 packets.
 *   3. Slow start adds at most limit_pkts per ACK; the RFC recommends HyStart++ (RFC 9406), which is another law.
 *
 * Figures: none of the seeds; the TCP that everybody runs, beside the others over recorded cellular links.
 */
#ifndef FADELAB_SENDER_CUBIC_H
#define FADELAB_SENDER_CUBIC_H

#include "fixed.h"
#include "law.h"
#include "part/reno.h"
#include "part/window.h"

/* clang-format off */
#define CUBIC_PARAMS(P)                                                                                                \
	P(c, 400, "1", 1000, 1, 100000, "RFC 9438 section 5",                                                              \
	  "Aggressiveness of the curve, packets per cubic second")                                                         \
	P(beta, 700, "1", 1000, 100, 999, "RFC 9438 section 4.6",                                                          \
	  "What a loss leaves of the window")                                                                              \
	P(fast_convergence, 1, "bool", 1, 0, 1, "RFC 9438 section 4.7",                                                    \
	  "Whether a flow that keeps losing ground releases bandwidth sooner")                                             \
	P(friendly, 1, "bool", 1, 0, 1, "RFC 9438 section 4.3",                                                            \
	  "Whether the window is at least Reno's")                                                                         \
	P(limit_pkts, 1, "pkt", 1, 1, 65535, "RFC 5681 (2): 1; Linux: no limit",                                           \
	  "Most packets that one ACK adds in slow start")
/* clang-format on */

struct cubic_params {
	CUBIC_PARAMS(LAW_PARAM_FIELD)
};

struct cubic_state {
	struct window window;
	struct reno_memory memory;
	u64 estimate_q32;   /* W_est */
	u64 epoch_start_us; /* valid while in_epoch */
	u64 k_us;
	u64 w_max_q32;
	u32 cwnd_pkts_prior; /* before the last loss */
	u32 in_epoch;
	u32 after_timeout; /* the next epoch has K = 0 */
	u32 reserved;
};

_Static_assert(sizeof(struct cubic_state) <= LAW_STATE_BYTES_MAX, "the kernel gives no more");

/* clang-format off */
#define CUBIC_WATCH(W, state)                                                                                          \
	W(window, state->window.cwnd_q32, "pkt", 4294967296,                                                               \
	  "cwnd with its fraction, as the law left it; a host that repairs losses may have lowered it since")              \
	W(w_max_pkts, state->w_max_q32, "pkt", 4294967296,                                                                 \
	  "W_max, where the curve is flat: its origin")                                                                    \
	W(k_us, state->k_us, "us", 1,                                                                                      \
	  "K, the time from the start of the epoch until W_max is reached")                                                \
	W(w_est_pkts, state->estimate_q32, "pkt", 4294967296,                                                              \
	  "W_est, the window that Reno would have")                                                                        \
	W(in_epoch, state->in_epoch, "bool", 1,                                                                            \
	  "Whether the window follows a curve: K and W_est are of this epoch then, else of the last")
/* clang-format on */

LAW void cubic_init(void *state, const void *params, const struct law_start *start, struct law_control *control)
{
	struct cubic_state *s = state;

	(void)params;
	(void)start;
	s->memory.cwnd_pkts = control->cwnd_pkts;
}

/* C |d|^3 in packets with 32 fractional bits, for a distance in time of at most 1024 s. */
LAW u64 cubic_curve_q32(const struct cubic_params *p, u64 distance_us)
{
	u64 d_q16 = fixed_min(fixed_min(distance_us, 1ull << 40) * 4096 / 62500, 1ull << 26);
	u64 cube_q16 = (((d_q16 * d_q16) >> 16) * d_q16) >> 16;

	return fixed_min(cube_q16 * p->c / 1000, (u64)WINDOW_PKTS_MAX << 16) << 16;
}

/* K in microseconds for a rise in packets with 32 fractional bits; the root is taken in milliseconds. */
LAW u64 cubic_k_us(const struct cubic_params *p, u64 rise_q32)
{
	return 1000ull * fixed_cbrt(fixed_mul_div(rise_q32, fixed_div(1000000000000ull, p->c), FIXED_ONE_Q32));
}

/* W(t) with 32 fractional bits. */
LAW u64 cubic_window_q32(const struct cubic_state *s, const struct cubic_params *p, u64 t_us)
{
	if (t_us < s->k_us)
		return fixed_sub(s->w_max_q32, cubic_curve_q32(p, s->k_us - t_us));
	return fixed_add(s->w_max_q32, cubic_curve_q32(p, t_us - s->k_us));
}

LAW void cubic_start_epoch(struct cubic_state *s, const struct cubic_params *p, u64 cwnd_q32, u64 now_us)
{
	s->in_epoch = 1;
	s->epoch_start_us = now_us;
	s->estimate_q32 = cwnd_q32;
	if (s->after_timeout || s->w_max_q32 <= cwnd_q32) {
		LAW_STEP("RFC 9438 section 4.2: an epoch starts at or beyond W_max, K = 0");
		s->w_max_q32 = cwnd_q32;
		s->k_us = 0;
	} else {
		LAW_STEP("RFC 9438 equation 2: an epoch starts, K = cbrt((W_max - cwnd_epoch) / C)");
		s->k_us = cubic_k_us(p, s->w_max_q32 - cwnd_q32);
	}
	s->after_timeout = 0;
}

/* W_est, section 4.3: alpha = 3 (1 - beta) / (1 + beta) packets per round trip, 1 beyond the window before the loss. */
LAW void cubic_grow_estimate(struct cubic_state *s, const struct cubic_params *p, u64 acked_pkts, u64 cwnd_q32)
{
	u64 alpha_q32 = FIXED_ONE_Q32;

	if (s->estimate_q32 >> 32 < s->cwnd_pkts_prior)
		alpha_q32 = FIXED_ONE_Q32 * 3 * (1000 - p->beta) / (1000 + p->beta);
	s->estimate_q32 = fixed_add(s->estimate_q32, window_share_q32(alpha_q32 * fixed_min(acked_pkts, 65535), cwnd_q32));
}

LAW u64 cubic_grown_q32(struct cubic_state *s, const struct cubic_params *p, const struct law_ack *ack, u64 cwnd_q32)
{
	u64 acked_pkts = window_counted_pkts(ack->acked_pkts, cwnd_q32);
	u64 t_us, target_q32;

	if (!s->in_epoch)
		cubic_start_epoch(s, p, cwnd_q32, ack->now_us);
	t_us = fixed_sub(ack->now_us, s->epoch_start_us);
	cubic_grow_estimate(s, p, acked_pkts, cwnd_q32);
	if (p->friendly && cubic_window_q32(s, p, t_us) < s->estimate_q32) {
		LAW_STEP("RFC 9438 section 4.3: Reno would be faster, cwnd = W_est");
		return fixed_max(s->estimate_q32, cwnd_q32);
	}
	if (t_us < s->k_us)
		LAW_STEP("RFC 9438 section 4.4: concave, cwnd += acked (W(t + srtt) - cwnd) / cwnd towards W_max");
	else
		LAW_STEP("RFC 9438 section 4.5: convex, cwnd += acked (W(t + srtt) - cwnd) / cwnd beyond W_max");
	target_q32 = cubic_window_q32(s, p, t_us + ack->srtt_us);
	target_q32 = fixed_min(fixed_max(target_q32, cwnd_q32), fixed_add(cwnd_q32, cwnd_q32 / 2));
	/* (target - cwnd) / cwnd per packet, at most one half. */
	return fixed_add(cwnd_q32, fixed_mul(window_share_q32(target_q32 - cwnd_q32, cwnd_q32), acked_pkts));
}

LAW void cubic_on_ack(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	struct cubic_state *s = state;
	const struct cubic_params *p = params;
	u64 cwnd_q32 = window_get(&s->window, control);

	if (reno_may_grow(ack, control)) {
		if (control->cwnd_pkts < control->ssthresh_pkts)
			cwnd_q32 = reno_grown_q32(cwnd_q32, control->ssthresh_pkts, ack->acked_pkts, p->limit_pkts);
		else
			cwnd_q32 = cubic_grown_q32(s, p, ack, cwnd_q32);
		window_set(&s->window, control, cwnd_q32);
	}
	reno_remember(&s->memory, ack, control);
}

/* Sections 4.6 and 4.7 for a loss with the window at cwnd_pkts. */
LAW u32 cubic_reduce(struct cubic_state *s, const struct cubic_params *p, u32 cwnd_pkts)
{
	u64 cwnd_q32 = (u64)cwnd_pkts << 32;

	s->cwnd_pkts_prior = cwnd_pkts;
	if (p->fast_convergence && cwnd_q32 < s->w_max_q32) {
		LAW_STEP("RFC 9438 section 4.7: fast convergence, W_max = cwnd (1 + beta) / 2; ssthresh = beta cwnd");
		s->w_max_q32 = fixed_mul_div(cwnd_q32, 1000 + p->beta, 2000);
	} else {
		LAW_STEP("RFC 9438 section 4.6: W_max = cwnd, ssthresh = beta cwnd");
		s->w_max_q32 = cwnd_q32;
	}
	s->in_epoch = 0;
	return (u32)fixed_max(cwnd_pkts * p->beta / 1000, 2);
}

LAW void cubic_on_loss(void *state, const void *params, const struct law_ack *ack, u32 cause,
                       struct law_control *control)
{
	struct cubic_state *s = state;

	(void)cause;
	control->ssthresh_pkts = cubic_reduce(s, params, control->cwnd_pkts);
	reno_remember(&s->memory, ack, control);
}

LAW void cubic_on_rto(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	struct cubic_state *s = state;

	(void)ack;
	if (!s->memory.timed_out) {
		LAW_STEP("RFC 9438 section 4.8: timeout, reduction from the window before it");
		control->ssthresh_pkts = cubic_reduce(s, params, s->memory.cwnd_pkts);
	} else {
		LAW_STEP("RFC 5681 section 3.1: the timer backs off for the same segment, ssthresh stays");
	}
	s->after_timeout = 1;
	s->memory.timed_out = 1;
	s->memory.cwnd_pkts = control->cwnd_pkts;
}

/* Section 4.2: time without data to send does not count. */
LAW void cubic_on_restart(void *state, const void *params, u64 now_us, u64 idle_us, struct law_control *control)
{
	struct cubic_state *s = state;

	(void)params;
	(void)control;
	LAW_STEP("RFC 9438 section 4.2: idle time does not count, the epoch moves on by it");
	s->epoch_start_us = fixed_min(fixed_add(s->epoch_start_us, idle_us), now_us);
}

LAW_TABLE struct law_sender cubic_sender = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_sender),
	.name = "cubic",
	.summary = "The window follows a cubic curve of the time since the last loss",
	.state_bytes = sizeof(struct cubic_state),
	.params_bytes = sizeof(struct cubic_params),
	.flags = LAW_SENDER_PLAIN_ACKS,
	.wire = LAW_WIRE_NONE,
	.ecn_mode = LAW_ECN_MODE_CLASSIC,
	LAW_PARAM_LIST(CUBIC_PARAMS),
	LAW_WATCH_LIST(struct cubic_state, CUBIC_WATCH),
	.init = cubic_init,
	.on_ack = cubic_on_ack,
	.on_loss = cubic_on_loss,
	.on_rto = cubic_on_rto,
	.on_restart = cubic_on_restart,
};

#endif /* FADELAB_SENDER_CUBIC_H */
