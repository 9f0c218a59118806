/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: Xu, Tian, Ansari, "TCP-Jersey for wireless IP communications", IEEE JSAC 22(4), 2004, as new-jersey-2004
 * describes it (section 3.5, equations (1) and (2)).
 *
 * In one paragraph: The sender estimates the available bandwidth from the gaps between ACKs (ABE). Routers mark every
 * packet while they are congested (router `cw`): a marked ACK brings the window to what the estimate is worth, and a
 * loss without a mark is the wireless link's and costs nothing.
 *
 * Law, per ACK that tells of something new:
 *   ABE      R = (RTT R + L) / (t_n - t_{n-1} + RTT), t_n when the ACK came                    equation (1)
 *            ownd = RTT R / segment, at least 2                                                equation (2)
 *   growth   as NewReno                                                                        RFC 5681 (2), (3)
 *   marked   ssthresh = ownd, and the window falls to it where it is above; once a round trip  section 3.5
 *   lost     third duplicate ACK without a mark: retransmitted, the window stays               section 3.5
 *   timeout  as NewReno
 *   no ECN   where the path or the peer takes no part in it: NewReno
 *
 * Parameters: the X-macro JERSEY_PARAMS below.
 *
 * Divergences:
 *   1. The paper calls its rate control for each marked ACK; the host reacts once a round trip (RFC 3168 6.1.2).
 *   2. The paper leaves open which RTT equation (1) takes (here the smoothed one), what a duplicate ACK counts (here a
 *      segment, once), what R begins with (0) and what a timeout does; `rtt` and `dupacks` choose otherwise.
 *   3. A third duplicate ACK that is the first to bring a mark is answered as one without: the host asks before it
 *      says so. The mark is echoed until the sender confirms it, so it comes with the ACK before in all but that case.
 *
 * Figures: new-jersey-2004 figure 4 (Jersey's estimator).
 */
#ifndef FADELAB_SENDER_JERSEY_H
#define FADELAB_SENDER_JERSEY_H

#include "law.h"
#include "part/jersey.h"

/* clang-format off */
#define JERSEY_PARAMS(P)                                                                                               \
	P(rtt, 0, "smoothed|least", 1, 0, 1, "new-jersey-2004: not said",                                                  \
	  "Which round trip equations (1) and (2) take")                                                                   \
	P(dupacks, 1, "bool", 1, 0, 1, "new-jersey-2004: not said; Casetti 2001: true",                                    \
	  "Whether what arrived behind a hole counts when it is told of, or when the hole is filled")                      \
	P(limit_pkts, 1, "pkt", 1, 1, 65535, "RFC 5681 (2): 1; RFC 3465: 2",                                               \
	  "Most packets that one ACK adds in slow start")                                                                  \
	P(restart_us, 1000000, "us", 1, 0, 1000000000, "RFC 5681 section 4.1, RFC 6298 (2.4)",                             \
	  "Idleness after which the window falls to the initial one; 0: never")
/* clang-format on */

struct jersey_params {
	JERSEY_PARAMS(LAW_PARAM_FIELD)
};

struct jersey_state {
	struct jersey_core core;
	u64 acked_us; /* t_{n-1} */
	u32 is_begun;
	u32 reserved;
};

_Static_assert(sizeof(struct jersey_state) <= LAW_STATE_BYTES_MAX, "the kernel gives no more");

/* clang-format off */
#define JERSEY_WATCH(W, state)                                                                                         \
	W(window, state->core.window.cwnd_q32, "pkt", 4294967296,                                                          \
	  "cwnd with its fraction, as the law left it; a host that repairs losses may have lowered it since")              \
	W(rate, state->core.rate_Bps, "B/s", 1,                                                                            \
	  "R, the estimated rate of IP packets")                                                                           \
	W(ownd, state->core.ownd_pkts, "pkt", 1,                                                                           \
	  "ownd, the window that R is worth")                                                                              \
	W(is_newreno, state->core.is_newreno, "bool", 1,                                                                   \
	  "Whether the flow is NewReno's because its packets are not ECN-capable")
/* clang-format on */

LAW void jersey_sender_init(void *state, const void *params, const struct law_start *start, struct law_control *control)
{
	struct jersey_state *s = state;

	(void)params;
	jersey_init(&s->core, start, control);
}

/* ABE: what came over the time since the last ACK that told of something. */
LAW void jersey_measure(struct jersey_state *s, const struct jersey_params *p, const struct law_ack *ack)
{
	u64 rtt_us = jersey_rtt_us(ack, p->rtt), arrived_bytes = jersey_arrived_bytes(ack, p->dupacks);

	if (!arrived_bytes || !rtt_us)
		return;
	if (s->is_begun)
		jersey_estimate(&s->core, ack, rtt_us, arrived_bytes, fixed_sub(ack->now_us, s->acked_us));
	s->is_begun = 1;
	s->acked_us = ack->now_us;
}

LAW void jersey_on_ack(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	struct jersey_state *s = state;
	const struct jersey_params *p = params;

	s->core.srtt_us = ack->srtt_us;
	s->core.is_newreno = control->ecn == LAW_ECN_NOT_ECT;
	jersey_measure(s, p, ack);
	jersey_grow(&s->core, ack, p->limit_pkts, control);
}

LAW void jersey_on_loss(void *state, const void *params, const struct law_ack *ack, u32 cause,
                        struct law_control *control)
{
	struct jersey_state *s = state;

	(void)params;
	jersey_lose(&s->core, ack, cause, control);
}

LAW void jersey_on_rto(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	struct jersey_state *s = state;

	(void)params;
	(void)ack;
	reno_timeout(&s->core.memory, control);
}

LAW void jersey_on_restart(void *state, const void *params, u64 now_us, u64 idle_us, struct law_control *control)
{
	struct jersey_state *s = state;
	const struct jersey_params *p = params;

	(void)now_us;
	jersey_restart(&s->core, p->restart_us, idle_us, control);
}

LAW_TABLE struct law_sender jersey_sender = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_sender),
	.name = "jersey",
	.summary = "NewReno whose answer to a mark is the rate of ACKs, and to a loss without a mark nothing",
	.state_bytes = sizeof(struct jersey_state),
	.params_bytes = sizeof(struct jersey_params),
	.flags = LAW_SENDER_PLAIN_ACKS,
	.wire = LAW_WIRE_NONE,
	.ecn_mode = LAW_ECN_MODE_CLASSIC,
	.router = "cw",
	LAW_PARAM_LIST(JERSEY_PARAMS),
	LAW_WATCH_LIST(struct jersey_state, JERSEY_WATCH),
	.init = jersey_sender_init,
	.on_ack = jersey_on_ack,
	.on_loss = jersey_on_loss,
	.on_rto = jersey_on_rto,
	.on_restart = jersey_on_restart,
};

#endif /* FADELAB_SENDER_JERSEY_H */
