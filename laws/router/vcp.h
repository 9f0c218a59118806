/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: Xia, Subramanian, Stoica, Kalyanaraman, "One more bit is enough", SIGCOMM 2005, section 3; queue filter and
 * rounding as in the authors' ns-2 release 0.1.
 *
 * In one paragraph: Every t_rho the router divides what arrived, plus a share of the standing queue, by what it could
 * have carried, and writes the result as one of three codes into the ECN bits of the VCP data packets that leave
 * during the next t_rho. A packet keeps the more congested of its code and the router's.
 *
 * Law:
 *   load factor   rho = (lambda + kappa_q q) / (gamma C t_rho)
 *   lambda        on-air bytes that arrived in t_rho, ACKs, other traffic and later dropped packets included
 *   q             q <- 3/4 q + 1/4 mean of the queue, sampled every t_q, over t_rho
 *   code          low if floor(100 rho + 1) < 80, high if < 100, else overload; marked at dequeue
 *
 * Parameters: the X-macro VCP_ROUTER_PARAMS below.
 *
 * Divergences:
 *   1. gamma is 0.98, as in the VCP queue of the artefact of ABC (Goyal and others, NSDI 2020, vcp_packet_queue.cc).
 *      Two forms of the author's code have a table by capacity instead
 *      (`target = "table"`; its rows are chosen by int(C / 10^k + 0.34), so that they begin at 0.66 of a power of ten),
 *      and a target that moves (`target = "moving"`, the release 0.1): gamma starts at 0.95 and is moved every 10 t_rho
 *      by a step up where the mean of rho gamma was below the table's row, and down where it was above.
 *   2. The queue filter is what the release writes down. What its C++ computes is another: shifts bind weaker than sums
 *      there, so that the old value is lost and the mean divided by 16 (`queue_filter = "release"`).
 *   3. Rounding percentages up puts the thresholds at 0.79 and 0.99; `rounding = "exact"` puts them at 0.80 and 1.00.
 *   4. Where the capacity part says that the link offered nothing, anything that arrives or waits is overload; with
 *      nothing there the code stays.
 *   5. rho is divided by the time that really passed, which is t_rho unless a timer is late.
 *   6. The release keeps ACKs in a queue of their own that goes first: that is the link's to do, not the law's.
 *
 * Figures: vcp-ton-2010 figures 2, 3, 5, 10 to 13; vcp-milcom-2007.
 */
#ifndef FADELAB_ROUTER_VCP_H
#define FADELAB_ROUTER_VCP_H

#include "law.h"
#include "part/mark.h"
#include "part/vcp_load.h"

#define VCP_ROUTER_PARAMS(P) VCP_LOAD_PARAMS(P)

/* clang-format off */
#define VCP_ROUTER_WATCH(W, state)                                                                                     \
	W(load_factor, state->load_q32, "1", 4294967296,                                                                   \
	  "rho, the load factor of the last t_rho")                                                                        \
	W(code, state->code, "none|low|high|overload", 1,                                                                  \
	  "The code that packets leave with")                                                                              \
	W(queue_bytes, state->queue_smooth_q8, "B", 256,                                                                   \
	  "q, the filtered queue")                                                                                         \
	W(gamma_moving, state->target_gamma, "1", 1000000,                                                                 \
	  "gamma where target = moving; elsewhere it stays where it starts")
/* clang-format on */

LAW u32 vcp_router_on_dequeue(void *state, const void *params, struct law_packet *packet, const struct law_queue *queue)
{
	struct vcp_router_state *s = state;
	u32 code = mark_get(packet);

	(void)params;
	(void)queue;
	/* 00 is no VCP packet even in VCP's format. */
	if (packet->wire != LAW_WIRE_VCP || !(packet->flags & LAW_PACKET_DATA) || code == LAW_ECN_NOT_ECT)
		return LAW_PASS;
	packet->confirmed = 1;
	if (s->code > code) {
		LAW_STEP("code: the link is more loaded than the packet says, it takes the link's code");
		mark_set(packet, s->code);
	}
	return LAW_PASS;
}

LAW_TABLE struct law_router vcp_router = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_router),
	.name = "vcp",
	.summary = "Marks VCP packets with the load of the link: low, high or overload",
	.state_bytes = sizeof(struct vcp_router_state),
	.params_bytes = sizeof(struct vcp_router_params),
	.flags = LAW_ROUTER_NEEDS_CAPACITY | LAW_ROUTER_BLIND,
	.wire = LAW_WIRE_VCP,
	.timers = 2,
	.control_timer = VCP_TIMER_LOAD,
	LAW_PARAM_LIST(VCP_ROUTER_PARAMS),
	LAW_WATCH_LIST(struct vcp_router_state, VCP_ROUTER_WATCH),
	.init = vcp_router_init,
	.on_dequeue = vcp_router_on_dequeue,
	.on_timer = vcp_router_on_timer,
};

#endif /* FADELAB_ROUTER_VCP_H */
