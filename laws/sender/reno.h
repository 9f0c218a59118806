/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: RFC 5681 (congestion control), RFC 3465 (counting bytes), RFC 3168 (ECN), RFC 7661 (when not to grow).
 *
 * In one paragraph: The window doubles each round trip until ssthresh, then grows by one packet a round trip. A loss
 * or an ECN echo halves it. The host repairs the losses (NewReno or SACK) and brings the window to ssthresh.
 *
 * Law:
 *   slow start, cwnd < ssthresh       cwnd += min(acked, limit)                          RFC 5681 (2), RFC 3465
 *   congestion avoidance              cwnd += acked / cwnd                               RFC 5681 (3)
 *   loss or ECN echo                  ssthresh = max(cwnd / 2, 2)                        RFC 5681 (4), RFC 3168 6.1.2
 *   timeout                           the same from the window before it, once per segment
 *   restart after idleness            cwnd = min(cwnd, initial window)                   RFC 5681 section 4.1
 *
 * Parameters: the X-macro RENO_PARAMS below.
 *
 * Divergences:
 *   1. RFC 5681 (4) halves what is in flight; Linux and ns-2 halve cwnd, and so does this law. The two are the same
 *      while the window limits the sender, and the window grows only then.
 *   2. RFC 5681 section 4.1 restarts after one RTO, which a law does not know: it takes restart_us or twice srtt,
 *      whichever is longer.
 *   3. Growth keeps the fraction of a packet and divides by the window with its fraction, as ns-2 does; Linux counts
 *      whole packets. A round trip adds 1 - 1/(2 cwnd) packets or a little more, instead of 1.
 *   4. A loss leaves whole packets, as in Linux; ns-2 keeps the fraction of the half: `halving = "exact"`. What is
 *      rounded off is a quarter of a packet on average, 2 % of a window of twelve.
 *
 * Figures: vcp-ton-2010 (TCP/REM+ECN, TCP/RED), new-jersey-2004 and xcc-2010 (the TCP they compare with).
 */
#ifndef FADELAB_SENDER_RENO_H
#define FADELAB_SENDER_RENO_H

#include "law.h"
#include "part/reno.h"
#include "part/window.h"

/* clang-format off */
#define RENO_PARAMS(P)                                                                                                 \
	P(counting, 0, "segments|acks", 1, 0, 1, "RFC 3465; ns-2 counts ACKs",                                             \
	  "Whether the window grows by what an ACK acknowledges, or by ACKs")                                              \
	P(halving, 0, "whole|exact", 1, 0, 1, "RFC 5681 (4); ns-2, precisionReduce_: exact",                               \
	  "Whether a halved window is rounded down to whole packets, or keeps its fraction")                               \
	P(limit_pkts, 1, "pkt", 1, 1, 65535, "RFC 5681 (2): 1; RFC 3465: 2",                                               \
	  "Most packets that one ACK adds in slow start")                                                                  \
	P(restart_us, 1000000, "us", 1, 0, 1000000000, "RFC 5681 section 4.1, RFC 6298 (2.4)",                             \
	  "Idleness after which the window falls to the initial one; 0: never")
/* clang-format on */

struct reno_params {
	RENO_PARAMS(LAW_PARAM_FIELD)
};

struct reno_state {
	struct window window;
	struct reno_memory memory;
	u32 initial_pkts;
	u32 srtt_us;
};

_Static_assert(sizeof(struct reno_state) <= LAW_STATE_BYTES_MAX, "the kernel gives no more");

/* clang-format off */
#define RENO_WATCH(W, state)                                                                                           \
	W(window, state->window.cwnd_q32, "pkt", 4294967296,                                                               \
	  "cwnd with its fraction, as the law left it; a host that repairs losses may have lowered it since")
/* clang-format on */

LAW void reno_init(void *state, const void *params, const struct law_start *start, struct law_control *control)
{
	struct reno_state *s = state;

	(void)params;
	s->initial_pkts = control->cwnd_pkts;
	s->srtt_us = start->srtt_us;
	s->memory.cwnd_pkts = control->cwnd_pkts;
}

LAW void reno_on_ack(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	struct reno_state *s = state;
	const struct reno_params *p = params;

	s->srtt_us = ack->srtt_us;
	/* A host that reduces the window step by step passes through others: a half's fraction is not held against them. */
	if (!p->halving)
		window_get(&s->window, control);
	if (reno_may_grow(ack, control))
		reno_raise(&s->window, p->counting ? 1 : ack->acked_pkts, p->limit_pkts, control);
	reno_remember(&s->memory, ack, control);
}

LAW void reno_on_loss(void *state, const void *params, const struct law_ack *ack, u32 cause,
                      struct law_control *control)
{
	struct reno_state *s = state;
	const struct reno_params *p = params;

	(void)cause;
	reno_halve(&s->window, p->halving, control);
	reno_remember(&s->memory, ack, control);
}

LAW void reno_on_rto(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	struct reno_state *s = state;

	(void)params;
	(void)ack;
	reno_timeout(&s->memory, control);
}

LAW void reno_on_restart(void *state, const void *params, u64 now_us, u64 idle_us, struct law_control *control)
{
	struct reno_state *s = state;
	const struct reno_params *p = params;

	(void)now_us;
	reno_restart(&s->window, s->initial_pkts, p->restart_us, s->srtt_us, idle_us, control);
	s->memory.cwnd_pkts = control->cwnd_pkts;
}

LAW_TABLE struct law_sender reno_sender = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_sender),
	.name = "reno",
	.summary = "TCP's standard control: additive increase, halving on a loss or an ECN echo",
	.state_bytes = sizeof(struct reno_state),
	.params_bytes = sizeof(struct reno_params),
	.flags = LAW_SENDER_PLAIN_ACKS,
	.wire = LAW_WIRE_NONE,
	.ecn_mode = LAW_ECN_MODE_CLASSIC,
	LAW_PARAM_LIST(RENO_PARAMS),
	LAW_WATCH_LIST(struct reno_state, RENO_WATCH),
	.init = reno_init,
	.on_ack = reno_on_ack,
	.on_loss = reno_on_loss,
	.on_rto = reno_on_rto,
	.on_restart = reno_on_restart,
};

#endif /* FADELAB_SENDER_RENO_H */
