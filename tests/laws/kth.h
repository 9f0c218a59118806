/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: none; it exists to exercise drops at departure, and to lose or mark the very packets that a test names.
 *
 * In one paragraph: Counts the data packets that leave the queue, from 1, and drops or marks those that the parameters
 * name. A host that plans departures ahead must plan anew at each drop.
 *
 * Law: act on departure n if n = first, or every > 0 and first < n <= last and n = first modulo every.
 *
 * Parameters: the X-macro KTH_PARAMS below.
 *
 * Divergences: none.
 *
 * Figures: none.
 */
#ifndef FADELAB_TEST_KTH_H
#define FADELAB_TEST_KTH_H

#include "law.h"
#include "part/mark.h"

/* clang-format off */
#define KTH_PARAMS(P)                                                                                                  \
	P(first, 1, "1", 1, 1, 1000000000, "arbitrary", "First data packet to be met, counted from 1")                     \
	P(every, 0, "1", 1, 0, 1000000000, "arbitrary", "Distance to the next one; 0: there is no next one")               \
	P(last, 1000000000, "1", 1, 1, 1000000000, "arbitrary", "None is met beyond this one")                             \
	P(action, 0, "drop|mark", 1, 0, 1, "arbitrary", "What happens to these packets")
/* clang-format on */

struct kth_params {
	KTH_PARAMS(LAW_PARAM_FIELD)
};

struct kth_state {
	u64 departed_pkts;
};

LAW u32 kth_is_met(const struct kth_params *p, u64 number)
{
	if (number <= p->first || p->every == 0)
		return number == p->first;
	if (number > p->last)
		return 0;
	return (number - p->first) % p->every == 0;
}

LAW u32 kth_on_dequeue(void *state, const void *params, struct law_packet *packet, const struct law_queue *queue)
{
	struct kth_state *s = state;
	const struct kth_params *p = params;

	(void)queue;
	if (!(packet->flags & LAW_PACKET_DATA) || !kth_is_met(p, ++s->departed_pkts))
		return LAW_PASS;
	if (p->action == 0)
		return LAW_DROP;
	mark_congestion(packet);
	return LAW_PASS;
}

LAW_TABLE struct law_router kth_router = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_router),
	.name = "kth",
	.summary = "Test: drops or marks the packets that it is told to",
	.state_bytes = sizeof(struct kth_state),
	.params_bytes = sizeof(struct kth_params),
	.flags = LAW_ROUTER_DROPS_AT_DEQUEUE,
	LAW_PARAM_LIST(KTH_PARAMS),
	.on_dequeue = kth_on_dequeue,
};

#endif /* FADELAB_TEST_KTH_H */
