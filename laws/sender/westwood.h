/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: Casetti, Gerla, Mascolo, Sanadidi, Wang, "TCP Westwood: bandwidth estimation for enhanced transport over
 * wireless links", MobiCom 2001 and Wireless Networks 8, 2002.
 *
 * In one paragraph: Reno that takes each ACK for a sample of the rate at which its packets arrive, filters the samples,
 * and answers a loss with the window that the estimate is worth at the least round trip, instead of half.
 *
 * Law:
 *   sample      b_k = d_k / D_k, bytes newly arrived over the time since the ACK before
 *   filter      B_k = ((2 tau - D_k) B_{k-1} + D_k (b_k + b_{k-1})) / (2 tau + D_k)
 *   pauses      samples of 0 every tau / m while no ACK comes
 *   growth      as Reno                                                                     RFC 5681 (2), (3)
 *   loss        ssthresh = max(2, B RTT_min / segment); the window falls to it where it is above
 *   timeout     the same ssthresh
 *   restart     as Reno
 *
 * Parameters: the X-macro WESTWOOD_PARAMS below.
 *
 * Divergences:
 *   1. ACKs of one and the same microsecond are one sample.
 *   2. Until there is an estimate a loss halves the window.
 *   3. Rates are of IP bytes, so that the estimate compares with a link's rate; the paper counts segments.
 *   4. What came behind a hole counts when a duplicate ACK or a SACK tells of it, as the paper's AckedCount does.
 *
 * Figures: new-jersey-2004 figures 4, 7 to 11 and 16, table 1 (Westwood).
 */
#ifndef FADELAB_SENDER_WESTWOOD_H
#define FADELAB_SENDER_WESTWOOD_H

#include "fixed.h"
#include "law.h"
#include "part/rate.h"
#include "part/reno.h"
#include "part/window.h"

/* clang-format off */
#define WESTWOOD_PARAMS(P)                                                                                             \
	P(tau_us, 500000, "us", 1, 1000, 10000000, "Casetti 2001: 500 ms",                                                 \
	  "tau, half of the filter's cut-off time")                                                                        \
	P(m, 2, "1", 1, 2, 1000, "Casetti 2001: m >= 2",                                                                   \
	  "While no ACK comes a sample of 0 is taken every tau / m")                                                       \
	P(limit_pkts, 1, "pkt", 1, 1, 65535, "RFC 5681 (2): 1; RFC 3465: 2",                                               \
	  "Most packets that one ACK adds in slow start")                                                                  \
	P(restart_us, 1000000, "us", 1, 0, 1000000000, "RFC 5681 section 4.1, RFC 6298 (2.4)",                             \
	  "Idleness after which the window falls to the initial one; 0: never")
/* clang-format on */

struct westwood_params {
	WESTWOOD_PARAMS(LAW_PARAM_FIELD)
};

struct westwood_state {
	struct window window;
	struct reno_memory memory;
	u64 rate_Bps;      /* B_k */
	u64 sample_Bps;    /* b_k */
	u64 arrived_bytes; /* d, */
	u64 sampled_us;    /* since then */
	u32 rtt_us_min;    /* 0: no sample yet */
	u32 srtt_us;
	u32 initial_pkts;
	u32 is_begun;
};

_Static_assert(sizeof(struct westwood_state) <= LAW_STATE_BYTES_MAX, "the kernel gives no more");

/* clang-format off */
#define WESTWOOD_WATCH(W, state)                                                                                       \
	W(window, state->window.cwnd_q32, "pkt", 4294967296,                                                               \
	  "cwnd with its fraction, as the law left it; a host that repairs losses may have lowered it since")              \
	W(rate, state->rate_Bps, "B/s", 1,                                                                                 \
	  "B, the estimated rate of IP packets")                                                                           \
	W(rtt_min, state->rtt_us_min, "us", 1,                                                                             \
	  "RTT_min; 0 before the first sample")
/* clang-format on */

LAW void westwood_init(void *state, const void *params, const struct law_start *start, struct law_control *control)
{
	struct westwood_state *s = state;

	(void)params;
	s->initial_pkts = control->cwnd_pkts;
	s->srtt_us = start->srtt_us;
	s->memory.cwnd_pkts = control->cwnd_pkts;
}

/* One step of the filter: the trapezoidal rule for a first-order low pass, over `passed_us`, at most 2 tau. */
LAW u64 westwood_step(const struct westwood_state *s, u64 tau_us, u64 sample_Bps, u64 passed_us)
{
	u64 kept = fixed_min(s->rate_Bps, RATE_BPS_MAX) * fixed_sub(2 * tau_us, passed_us);
	u64 came = (fixed_min(s->sample_Bps, RATE_BPS_MAX) + sample_Bps) * passed_us;

	LAW_STEP("filter: B = ((2 tau - D) B + D (b + b before)) / (2 tau + D)");
	return fixed_min(fixed_div(fixed_add(kept, came) + tau_us, 2 * tau_us + passed_us), RATE_BPS_MAX);
}

#define WESTWOOD_PAUSE_BITS 6

/* So many samples of 0, tau / m apart: each leaves (2 m - 1) / (2 m + 1) of the estimate. */
LAW void westwood_pause(struct westwood_state *s, const struct westwood_params *p, u64 samples_n)
{
	u64 factor_q32 = fixed_div((2 * p->m - 1) << 32, 2 * p->m + 1);

	LAW_STEP("pauses: samples of 0 every tau / m");
	/* The first of them still has the sample before it at its other end. */
	s->rate_Bps = westwood_step(s, p->tau_us, 0, fixed_div(p->tau_us, p->m));
	s->sample_Bps = 0;
	samples_n--;
	for (u32 bit = 0; bit < WESTWOOD_PAUSE_BITS; bit++) {
		if (samples_n >> bit & 1)
			s->rate_Bps = fixed_mul_high(s->rate_Bps << 20, factor_q32 << 32) >> 20;
		factor_q32 = fixed_mul_high(factor_q32 << 32, factor_q32);
	}
	/* Longer than that, and nothing is left. */
	if (samples_n >> WESTWOOD_PAUSE_BITS)
		s->rate_Bps = 0;
}

/* A sample by an ACK that came at another time than the one before. */
LAW void westwood_sample(struct westwood_state *s, const struct westwood_params *p, u64 now_us)
{
	u64 passed_us = fixed_sub(now_us, s->sampled_us), step_us = fixed_max(fixed_div(p->tau_us, p->m), 1);
	u64 sample_Bps;

	if (passed_us > step_us) {
		u64 missed_n = fixed_div(passed_us - 1, step_us);

		westwood_pause(s, p, missed_n);
		/* What is over, up to a whole step. */
		passed_us = fixed_min(fixed_sub(passed_us, fixed_mul(missed_n, step_us)), step_us);
	}
	sample_Bps = rate_of_Bps(s->arrived_bytes, passed_us);
	s->rate_Bps = westwood_step(s, p->tau_us, sample_Bps, passed_us);
	s->sample_Bps = sample_Bps;
	s->sampled_us = now_us;
	s->arrived_bytes = 0;
}

LAW void westwood_measure(struct westwood_state *s, const struct westwood_params *p, const struct law_ack *ack)
{
	if (ack->rtt_us && (!s->rtt_us_min || ack->rtt_us < s->rtt_us_min))
		s->rtt_us_min = ack->rtt_us;
	/* What came with the very first ACK left before anything was counted. */
	if (!s->is_begun) {
		s->is_begun = 1;
		s->sampled_us = ack->now_us;
		return;
	}
	s->arrived_bytes = fixed_min(fixed_add(s->arrived_bytes, rate_delivered_bytes(ack)), RATE_BYTES_MAX);
	if (ack->now_us > s->sampled_us && s->arrived_bytes)
		westwood_sample(s, p, ack->now_us);
}

LAW void westwood_on_ack(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	struct westwood_state *s = state;
	const struct westwood_params *p = params;

	s->srtt_us = ack->srtt_us;
	westwood_measure(s, p, ack);
	reno_grow(&s->window, ack, p->limit_pkts, control);
	reno_remember(&s->memory, ack, control);
}

LAW void westwood_on_loss(void *state, const void *params, const struct law_ack *ack, u32 cause,
                          struct law_control *control)
{
	struct westwood_state *s = state;

	(void)params;
	(void)cause;
	if (s->rate_Bps && s->rtt_us_min)
		control->ssthresh_pkts = rate_window_pkts(s->rate_Bps, s->rtt_us_min, ack->packet_bytes);
	else
		control->ssthresh_pkts = reno_half(control->cwnd_pkts);
	reno_remember(&s->memory, ack, control);
}

LAW void westwood_on_rto(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	struct westwood_state *s = state;

	(void)params;
	if (s->rate_Bps && s->rtt_us_min) {
		control->ssthresh_pkts = rate_window_pkts(s->rate_Bps, s->rtt_us_min, ack->packet_bytes);
		s->memory.timed_out = 1;
		s->memory.cwnd_pkts = control->cwnd_pkts;
	} else {
		reno_timeout(&s->memory, control);
	}
}

LAW void westwood_on_restart(void *state, const void *params, u64 now_us, u64 idle_us, struct law_control *control)
{
	struct westwood_state *s = state;
	const struct westwood_params *p = params;

	(void)now_us;
	reno_restart(&s->window, s->initial_pkts, p->restart_us, s->srtt_us, idle_us, control);
	s->memory.cwnd_pkts = control->cwnd_pkts;
}

LAW_TABLE struct law_sender westwood_sender = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_sender),
	.name = "westwood",
	.summary = "Reno whose answer to a loss is the rate at which packets arrived, sampled with each ACK",
	.state_bytes = sizeof(struct westwood_state),
	.params_bytes = sizeof(struct westwood_params),
	.flags = LAW_SENDER_PLAIN_ACKS,
	.wire = LAW_WIRE_NONE,
	.ecn_mode = LAW_ECN_MODE_CLASSIC,
	LAW_PARAM_LIST(WESTWOOD_PARAMS),
	LAW_WATCH_LIST(struct westwood_state, WESTWOOD_WATCH),
	.init = westwood_init,
	.on_ack = westwood_on_ack,
	.on_loss = westwood_on_loss,
	.on_rto = westwood_on_rto,
	.on_restart = westwood_on_restart,
};

#endif /* FADELAB_SENDER_WESTWOOD_H */
