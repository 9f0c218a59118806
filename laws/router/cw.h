/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: Xu, Tian, Ansari, "TCP-Jersey for wireless IP communications", IEEE JSAC 22(4), 2004, as new-jersey-2004
 * section 3.5 describes it: congestion warning (CW).
 *
 * In one paragraph: The router keeps RED's moving average of its queue, and while that is above a threshold it marks
 * every ECN-capable packet. Nothing is left to chance: a sender that loses a packet without having seen a mark knows
 * that the path was not congested.
 *
 * Law, per arrival:
 *   average   avg <- (1 - q_w)^m avg, m packets that could have left while the link was idle;
 *             avg <- avg + q_w (q - avg)
 *   action    marked where avg > threshold and the packet is ECN-capable; what does not fit is dropped, as everywhere
 *
 * Parameters: the X-macro CW_PARAMS below. The paper has neither the threshold nor the weight.
 *
 * Divergences:
 *   1. The threshold is a third of the buffer where none is given, and the weight RED's 0.002.
 *   2. Packets that are not ECN-capable pass, as under drop-tail; the paper knows none.
 *
 * Figures: new-jersey-2004 figures 5 and 7 to 16, table 1.
 */
#ifndef FADELAB_ROUTER_CW_H
#define FADELAB_ROUTER_CW_H

#include "fixed.h"
#include "law.h"
#include "part/mark.h"
#include "part/queue_average.h"

/* clang-format off */
#define CW_PARAMS(P)                                                                                                   \
	P(threshold_pkts, 0, "pkt", 1000, 0, 1000000000, "new-jersey-2004: not said",                                      \
	  "Average queue above which every packet is marked; 0: a third of the buffer")                                    \
	P(q_w, 2000000, "1", 1000000000, 1, 1000000000, "new-jersey-2004: not said; Floyd 1993: 0.002",                    \
	  "Weight of an arrival in the average queue")
/* clang-format on */

struct cw_params {
	CW_PARAMS(LAW_PARAM_FIELD)
};

struct cw_state {
	struct queue_average average; /* in packets */
	u64 threshold_q16;
};

/* clang-format off */
#define CW_WATCH(W, state)                                                                                             \
	W(average_pkts, state->average.length_q16, "pkt", 65536,                                                           \
	  "avg, the average queue")                                                                                        \
	W(threshold_pkts, state->threshold_q16, "pkt", 65536,                                                              \
	  "Average queue above which every packet is marked")
/* clang-format on */

LAW void cw_init(void *state, const void *params, const struct law_link *link, u64 due_us[LAW_TIMERS_MAX])
{
	struct cw_state *s = state;
	const struct cw_params *p = params;
	u64 limit_pkts = link->limit_pkts ? link->limit_pkts : fixed_div(link->limit_bytes, link->packet_bytes);
	u64 rate_q16 = queue_average_rate_q16(link->capacity_Bps, link->packet_bytes);

	(void)due_us;
	s->threshold_q16 = p->threshold_pkts ? (p->threshold_pkts << 16) / 1000 : (limit_pkts << 16) / 3;
	queue_average_init(&s->average, link->capacity_Bps, rate_q16, fixed_mul_div(p->q_w, FIXED_ONE_Q32, 1000000000));
}

LAW u32 cw_on_enqueue(void *state, const void *params, struct law_packet *packet, const struct law_queue *queue)
{
	struct cw_state *s = state;

	(void)params;
	/* An average of 0 stays 0 however long nothing waits. */
	if (queue->queue_pkts == 0 && s->average.length_q16)
		queue_average_fade(&s->average, queue);
	queue_average_add(&s->average, (u64)queue->queue_pkts << 16);
	if (s->average.length_q16 > s->threshold_q16) {
		LAW_STEP("action: avg above the threshold, every ECN-capable packet is marked");
		mark_congestion(packet);
	} else {
		LAW_STEP("action: avg at or below the threshold, the packet passes unmarked");
	}
	return LAW_PASS;
}

LAW_TABLE struct law_router cw_router = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_router),
	.name = "cw",
	.summary = "Congestion warning: marks every packet while the average queue is above a threshold",
	.state_bytes = sizeof(struct cw_state),
	.params_bytes = sizeof(struct cw_params),
	.wire = LAW_WIRE_NONE,
	LAW_PARAM_LIST(CW_PARAMS),
	LAW_WATCH_LIST(struct cw_state, CW_WATCH),
	.init = cw_init,
	.on_enqueue = cw_on_enqueue,
};

#endif /* FADELAB_ROUTER_CW_H */
