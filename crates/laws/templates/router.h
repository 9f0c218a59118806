/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: where the law comes from: paper, section, equation.
 *
 * In one paragraph: Once a period the router looks at its queue, and until the next one it marks the packets of
 * senders that know ECN when the queue was above a threshold, and drops those of others. A skeleton to begin with:
 * law.h says what a law sees and may do.
 *
 * Law:
 *   each period     congested = queue > threshold
 *   each arrival    mark or drop while congested
 *
 * Parameters: the X-macro NEWLAW_PARAMS below.
 *
 * Divergences: none yet.
 */
#ifndef NEWLAW_H
#define NEWLAW_H

#include "fixed.h"
#include "law.h"
#include "part/mark.h"

/* name, default, unit, scale, min, max, source, meaning: a user writes default / scale, times as "10 ms". */
#define NEWLAW_PARAMS(P)                                                                                               \
	P(threshold_pkts, 20, "pkt", 1, 1, 1000000, "a guess", "Queue above which packets are marked")                     \
	P(period_us, 10000, "us", 1, 100, 10000000, "a guess", "Time between two looks at the queue")

struct newlaw_params {
	NEWLAW_PARAMS(LAW_PARAM_FIELD)
};

/* Zeroed before init. */
struct newlaw_state {
	u32 congested;
};

LAW void newlaw_init(void *state, const void *params, const struct law_link *link, u64 due_us[LAW_TIMERS_MAX])
{
	const struct newlaw_params *p = params;

	(void)state;
	due_us[0] = link->now_us + p->period_us;
}

LAW u64 newlaw_on_timer(void *state, const void *params, u32 timer, const struct law_queue *queue)
{
	struct newlaw_state *s = state;
	const struct newlaw_params *p = params;

	(void)timer;
	s->congested = queue->queue_pkts > p->threshold_pkts;
	return queue->now_us + p->period_us;
}

LAW u32 newlaw_on_enqueue(void *state, const void *params, struct law_packet *packet, const struct law_queue *queue)
{
	struct newlaw_state *s = state;

	(void)params;
	(void)queue;
	if (!s->congested)
		return LAW_PASS;
	return mark_congestion(packet) ? LAW_PASS : LAW_DROP;
}

LAW_TABLE struct law_router newlaw_router = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_router),
	.name = "newlaw",
	.summary = "Marks or drops while the queue was above a threshold at the last look",
	.state_bytes = sizeof(struct newlaw_state),
	.params_bytes = sizeof(struct newlaw_params),
	.wire = LAW_WIRE_NONE,
	.timers = 1,
	LAW_PARAM_LIST(NEWLAW_PARAMS),
	.init = newlaw_init,
	.on_enqueue = newlaw_on_enqueue,
	.on_timer = newlaw_on_timer,
};

#endif /* NEWLAW_H */
