/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: dcp-ew-2010 section II, of "Distributed ECN-based congestion control", ICC 2009; the load factor as in
 * router/vcp.h.
 *
 * In one paragraph: As router/dcp_ew.h, but which half a packet is for is told by the order of its TCP sequence and
 * acknowledgement numbers. Where these are encrypted there is nothing to read, and the router passes packets as they
 * are.
 *
 * Law: as router/dcp_ew.h.
 *
 * Parameters: the X-macro DPCP_ROUTER_PARAMS below.
 *
 * Divergences: 1, 2 and 4 of router/dcp_ew.h.
 *
 * Figures: dcp-ew-2010 figures 4 to 6.
 */
#ifndef FADELAB_ROUTER_DPCP_H
#define FADELAB_ROUTER_DPCP_H

#include "law.h"
#include "part/pair_router.h"

#define DPCP_ROUTER_PARAMS(P) PAIR_ROUTER_PARAMS(P)

LAW u32 dpcp_router_on_dequeue(void *state, const void *params, struct law_packet *packet,
                               const struct law_queue *queue)
{
	const struct pair_router_params *p = params;

	(void)queue;
	if (packet->wire == LAW_WIRE_DPCP)
		pair_mark(state, p->code, packet);
	return LAW_PASS;
}

LAW_TABLE struct law_router dpcp_router = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_router),
	.name = "dpcp",
	.summary = "Marks packets with half of the link's load, which half by the order of their sequence numbers",
	.state_bytes = sizeof(struct pair_router_state),
	.params_bytes = sizeof(struct pair_router_params),
	.flags = LAW_ROUTER_NEEDS_CAPACITY | LAW_ROUTER_BLIND,
	.wire = LAW_WIRE_DPCP,
	.timers = 2,
	.control_timer = VCP_TIMER_LOAD,
	LAW_PARAM_LIST(DPCP_ROUTER_PARAMS),
	LAW_WATCH_LIST(struct pair_router_state, PAIR_ROUTER_WATCH),
	.init = pair_router_init,
	.on_dequeue = dpcp_router_on_dequeue,
	.on_timer = pair_router_on_timer,
};

#endif /* FADELAB_ROUTER_DPCP_H */
