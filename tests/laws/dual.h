/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: RFC 9332 section 2 for the shape, two coupled queues; it exists to exercise queues of a law's own.
 *
 * In one paragraph: Packets that are marked ECT(1) or CE join queue 0, all others queue 1. Who sends next goes by
 * strict priority, by bytes in turn or by a clock that runs ahead for queue 0; a timer looks at how long the head of
 * queue 1 has waited, and while that is too long what leaves queue 0 is marked.
 *
 * Law:
 *   classify  queue 0 where the ECN field is odd, else queue 1
 *   pick      strict: queue 0 while it holds a packet; turns: the queue with fewer bytes sent by weight; shifted: the
 *             queue whose head waits longer, that of queue 0 by shift_us more
 *   timer     pressed = head of queue 1 waited more than target_us
 *   departure from queue 0: marked while pressed
 *
 * Parameters: the X-macro DUAL_PARAMS below.
 *
 * Divergences: `fault` names a queue that there is not, or one that is empty: hosts must notice.
 *
 * Figures: none.
 */
#ifndef FADELAB_TEST_DUAL_H
#define FADELAB_TEST_DUAL_H

#include "fixed.h"
#include "law.h"
#include "part/mark.h"

/* clang-format off */
#define DUAL_PARAMS(P)                                                                                                 \
	P(turn, 0, "strict|turns|shifted", 1, 0, 2, "RFC 9332 section 4.2.2", "How the queue that sends next is found")    \
	P(weight, 3, "1", 1, 1, 1000, "arbitrary", "Bytes of queue 0 for each of queue 1, with turns")                     \
	P(shift_us, 50000, "us", 1, 0, 10000000, "RFC 9332 appendix A", "What the clock of queue 0 is ahead, if shifted")  \
	P(target_us, 15000, "us", 1, 0, 10000000, "RFC 9332 appendix A", "Wait of queue 1 beyond which queue 0 is marked") \
	P(fault, 0, "none|classify|pick", 1, 0, 2, "arbitrary", "What the law does wrong")
/* clang-format on */

struct dual_params {
	DUAL_PARAMS(LAW_PARAM_FIELD)
};

enum dual_queue {
	DUAL_FIRST = 0,
	DUAL_OTHER = 1,
};

#define DUAL_QUEUES 2
#define DUAL_TICK_US 10000u

struct dual_state {
	u64 sent_bytes[DUAL_QUEUES];
	u32 pressed;
	u32 reserved;
};

LAW void dual_init(void *state, const void *params, const struct law_link *link, u64 due_us[LAW_TIMERS_MAX])
{
	(void)state;
	(void)params;
	due_us[0] = link->now_us + DUAL_TICK_US;
}

LAW u32 dual_classify(void *state, const void *params, const struct law_packet *packet, const struct law_queue *queue)
{
	const struct dual_params *p = params;

	(void)state;
	(void)queue;
	if (p->fault == 1)
		return DUAL_QUEUES;
	return packet->ecn & 1 ? DUAL_FIRST : DUAL_OTHER;
}

/* Of two queues that both hold packets. */
LAW u32 dual_turn(const struct dual_state *s, const struct dual_params *p, const struct law_queue *queue)
{
	u64 first_us = fixed_add(queue->each_wait_us[DUAL_FIRST], p->shift_us);

	if (p->turn == 1)
		return s->sent_bytes[DUAL_FIRST] > fixed_mul(s->sent_bytes[DUAL_OTHER], p->weight);
	if (p->turn == 2)
		return first_us < queue->each_wait_us[DUAL_OTHER];
	return DUAL_FIRST;
}

LAW u32 dual_pick(void *state, const void *params, const struct law_queue *queue)
{
	struct dual_state *s = state;
	const struct dual_params *p = params;

	if (p->fault == 2)
		return queue->each_pkts[DUAL_FIRST] ? DUAL_OTHER : DUAL_FIRST;
	if (!queue->each_pkts[DUAL_OTHER])
		return DUAL_FIRST;
	if (!queue->each_pkts[DUAL_FIRST])
		return DUAL_OTHER;
	return dual_turn(s, p, queue);
}

LAW u32 dual_on_dequeue(void *state, const void *params, struct law_packet *packet, const struct law_queue *queue)
{
	struct dual_state *s = state;
	u32 index = queue->index & 1;

	(void)params;
	s->sent_bytes[index] = fixed_add(s->sent_bytes[index], packet->air_bytes);
	if (index == DUAL_FIRST && s->pressed)
		mark_congestion(packet);
	return LAW_PASS;
}

LAW u64 dual_on_timer(void *state, const void *params, u32 timer, const struct law_queue *queue)
{
	struct dual_state *s = state;
	const struct dual_params *p = params;

	(void)timer;
	s->pressed = queue->each_wait_us[DUAL_OTHER] > p->target_us;
	return queue->now_us + DUAL_TICK_US;
}

LAW_TABLE struct law_router dual_router = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_router),
	.name = "dual",
	.summary = "Test: two coupled queues",
	.state_bytes = sizeof(struct dual_state),
	.params_bytes = sizeof(struct dual_params),
	.timers = 1,
	LAW_PARAM_LIST(DUAL_PARAMS),
	.init = dual_init,
	.on_dequeue = dual_on_dequeue,
	.on_timer = dual_on_timer,
	.queues = DUAL_QUEUES,
	.classify = dual_classify,
	.pick = dual_pick,
};

#endif /* FADELAB_TEST_DUAL_H */
