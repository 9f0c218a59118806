/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: dcp-ew-2010 section III, the Normal Module; the load factor as in router/vcp.h.
 *
 * In one paragraph: VCP's router with a finer scale. Every t_rho the load factor becomes a level of four bits; each
 * data packet takes the half of it that the lowest bit of its IP ID asks for, 0 the most significant one, where that is
 * larger than what it carries. In a tunnel the outer header is all that is seen, and all that is written.
 *
 * Law:
 *   load factor  as router/vcp.h
 *   level        part/pair_code.h
 *   mark         half of the packet = max(its own, that half of the link's level), at dequeue
 *
 * Parameters: the X-macro DCP_EW_ROUTER_PARAMS below.
 *
 * Divergences:
 *   1. The paper compares loads ("updates the LF in the packet if necessary"). A router without memory of flows has but
 *      half of the packet's load before it and keeps the larger half. What that may come to: part/pair_code.h.
 *   2. The levels are ours, and their regions are VCP's, rounded as VCP's code rounds.
 *   3. What offload joined has one ECN field for several halves and passes as it is, as do packets without an ID.
 *   4. Divergences 1, 2, 4 and 5 of router/vcp.h.
 *
 * Figures: dcp-ew-2010 figures 4 to 6.
 */
#ifndef FADELAB_ROUTER_DCP_EW_H
#define FADELAB_ROUTER_DCP_EW_H

#include "law.h"
#include "part/pair_router.h"

#define DCP_EW_ROUTER_PARAMS(P) PAIR_ROUTER_PARAMS(P)

LAW u32 dcp_ew_router_on_dequeue(void *state, const void *params, struct law_packet *packet,
                                 const struct law_queue *queue)
{
	const struct pair_router_params *p = params;

	(void)queue;
	if (packet->wire == LAW_WIRE_PAIR)
		pair_mark(state, p->code, packet);
	return LAW_PASS;
}

LAW_TABLE struct law_router dcp_ew_router = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_router),
	.name = "dcp_ew",
	.summary = "Marks packets with half of the link's load, which half by the IP ID",
	.state_bytes = sizeof(struct pair_router_state),
	.params_bytes = sizeof(struct pair_router_params),
	.flags = LAW_ROUTER_NEEDS_CAPACITY | LAW_ROUTER_BLIND,
	.wire = LAW_WIRE_PAIR,
	.timers = 2,
	.control_timer = VCP_TIMER_LOAD,
	LAW_PARAM_LIST(DCP_EW_ROUTER_PARAMS),
	LAW_WATCH_LIST(struct pair_router_state, PAIR_ROUTER_WATCH),
	.init = pair_router_init,
	.on_dequeue = dcp_ew_router_on_dequeue,
	.on_timer = pair_router_on_timer,
};

#endif /* FADELAB_ROUTER_DCP_EW_H */
