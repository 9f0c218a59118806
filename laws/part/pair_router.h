/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The router of DPCP and DCP-EW: VCP's load factor (part/vcp_load.h) as a level, of which each packet takes the half
 * that it is for where the link is the more loaded one. What of it is the paper's stands in router/dcp_ew.h.
 */
#ifndef FADELAB_PART_PAIR_ROUTER_H
#define FADELAB_PART_PAIR_ROUTER_H

#include "law.h"
#include "part/mark.h"
#include "part/pair_code.h"
#include "part/vcp_load.h"

/* clang-format off */
#define PAIR_ROUTER_OWN_PARAMS(P)                                                                                      \
	P(code, 0, "sixteen|nine", 1, 0, 1, "dcp-ew-2010 section II: four bits; nine: ours",                               \
	  "Levels of the load; senders must have the same")
/* clang-format on */

#define PAIR_ROUTER_PARAMS(P) VCP_LOAD_PARAMS(P) PAIR_ROUTER_OWN_PARAMS(P)

/* In the order of the rows above. */
struct pair_router_params {
	struct vcp_router_params vcp;
	PAIR_ROUTER_OWN_PARAMS(LAW_PARAM_FIELD)
};

struct pair_router_state {
	struct vcp_router_state vcp;
	u32 level;
	u32 reserved;
};

/* clang-format off */
#define PAIR_ROUTER_WATCH(W, state)                                                                                    \
	W(load_factor, state->vcp.load_q32, "1", 4294967296,                                                               \
	  "rho, the load factor of the last t_rho")                                                                        \
	W(code, state->vcp.code, "none|low|high|overload", 1,                                                              \
	  "The region of the level that packets leave with")                                                               \
	W(level, state->level, "1", 1,                                                                                     \
	  "The level that packets leave with, half of it in each")                                                         \
	W(queue_bytes, state->vcp.queue_smooth_q8, "B", 256,                                                               \
	  "q, the filtered queue")
/* clang-format on */

LAW void pair_router_init(void *state, const void *params, const struct law_link *link, u64 due_us[LAW_TIMERS_MAX])
{
	struct pair_router_state *s = state;
	const struct pair_router_params *p = params;

	vcp_router_init(&s->vcp, &p->vcp, link, due_us);
}

/* Writes the half that the packet is for. One whose role nobody knows, or that stands for several segments with one ECN
 * field, passes as it is and without the word that a router saw it. */
LAW void pair_mark(const struct pair_router_state *s, u64 code, struct law_packet *packet)
{
	u32 symbol = pair_symbol(code, s->level, packet->role & 1), carried = mark_get(packet);

	if (!(packet->flags & LAW_PACKET_DATA) || !packet->roles_known || packet->segments > 1)
		return;
	/* With nine levels 00 is no packet of the law's, or one whose field was cleared. */
	if (code == PAIR_NINE && carried == LAW_ECN_NOT_ECT)
		return;
	packet->confirmed = 1;
	if (symbol > carried) {
		LAW_STEP("half: the link's is larger than the packet's, it takes the link's");
		mark_set(packet, symbol);
	}
}

LAW u64 pair_router_on_timer(void *state, const void *params, u32 timer, const struct law_queue *queue)
{
	struct pair_router_state *s = state;
	const struct pair_router_params *p = params;
	u64 due_us = vcp_router_on_timer(&s->vcp, &p->vcp, timer, queue);
	/* Whole percent, rounded as VCP's code rounds them. A load just below one is that one: it was rounded down. */
	u64 percent = (fixed_add(fixed_mul(s->vcp.load_q32, 100), 99) >> 32) + (p->vcp.rounding ? 0 : 1);

	if (timer == VCP_TIMER_LOAD)
		s->level = pair_level(p->code, percent);
	return due_us;
}

#endif /* FADELAB_PART_PAIR_ROUTER_H */
