/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: dcp-ew-2010 section III-C, the Security Module, events 1 and 4; for the nine-level code see part/pair_code.h.
 *
 * In one paragraph: The outer header of a tunnel has an ID of its own, so that a packet may be for one half of the load
 * inside and for the other one outside. The gateway at which packets enter remembers the halves that came, and writes
 * into each outer header the one that this is for. The gateway at which they leave remembers the halves that the outer
 * headers brought, and gives each packet the one that its own ID asks for, where that is larger than what it carries.
 *
 * Law, with one memory for each tunnel (the paper) or for each flow in it (ours), which the host decides:
 *   encapsulate  of a packet of DCP-EW: sent[inner role] = its half
 *                outer half = sent[outer role], while that is known
 *   decapsulate  received[outer role] = outer half
 *                of a packet of DCP-EW: its half = max(its half, received[inner role]), while that is known
 *
 * Parameters: the X-macro DCP_EW_GATEWAY_PARAMS below.
 *
 * Divergences:
 *   1. Behind the tunnel the paper tells halves apart by the order of the TCP header's numbers, which it exchanges
 *      where that order is the other one. Exchanged numbers break TCP, unless the receiving host puts them back, which
 *      it cannot know to do. The packet's own ID says as much: it came through the tunnel unchanged.
 *   2. The paper compares the half that came with what was saved; which of two halves counts it leaves open. Ours is
 *      the newest of each role, and a packet keeps its own where that is larger.
 *   3. A half is known for `hold_us` only: what a tunnel said before a pause is not said again.
 *   4. What is not DCP-EW's gets a half, too, as in the paper (`marks`), and leaves with the field that it entered
 *      with, or with what the tunnel's own rule makes of both (`others`): with the latter a half 11 is a congestion
 *      mark to it.
 *   5. A flow whose packets and those between them take turns has the same outer role for good, and the other half
 *      never comes, so that its own stays (`same_role_pkts` and `missed` among the watched values). With a memory for
 *      each flow the host should write the outer role, flow by flow.
 *   6. The bit by which routers say that they saw a packet is encrypted with it: the gateway sets it in their place.
 *
 * Figures: dcp-ew-2010 figure 1.
 */
#ifndef FADELAB_GATEWAY_DCP_EW_H
#define FADELAB_GATEWAY_DCP_EW_H

#include "fixed.h"
#include "law.h"
#include "part/pair_code.h"

/* clang-format off */
#define DCP_EW_GATEWAY_PARAMS(P)                                                                                       \
	P(code, 0, "sixteen|nine", 1, 0, 1, "dcp-ew-2010 section II: four bits; nine: ours",                               \
	  "Levels of the load; senders and routers must have the same")                                                    \
	P(marks, 0, "all|own", 1, 0, 1, "dcp-ew-2010 section III-C: all",                                                  \
	  "Which packets get a half outside: all that enter, or those of DCP-EW")                                          \
	P(others, 0, "entered|rule", 1, 0, 1, "ours",                                                                      \
	  "What others leave with: the field that they entered with, or what the tunnel's rule says")                      \
	P(hold_us, 1000000, "us", 1, 1000, 1000000000, "ours",                                                             \
	  "How long a half is known")                                                                                      \
	P(confirm, 1, "bool", 1, 0, 1, "ours",                                                                             \
	  "Whether a packet that leaves the tunnel counts as seen by a router of DCP-EW")
/* clang-format on */

struct dcp_ew_gateway_params {
	DCP_EW_GATEWAY_PARAMS(LAW_PARAM_FIELD)
};

/* The newest half of each role, until when it is known, and how often the same role came in a row. */
struct dcp_ew_halves {
	u64 until_us[2];
	u8 half[2];
	u8 role;
	u8 reserved;
	u32 same_n;
};

struct dcp_ew_gateway_state {
	struct dcp_ew_halves sent;     /* of inner headers */
	struct dcp_ew_halves received; /* of outer headers */
	u64 missed_pkts;
};

/* clang-format off */
#define DCP_EW_GATEWAY_WATCH(W, state)                                                                                 \
	W(received_most, state->received.half[PAIR_ROLE_MOST], "1", 1,                                                     \
	  "The most significant half that outer headers brought last")                                                     \
	W(received_least, state->received.half[PAIR_ROLE_LEAST], "1", 1,                                                   \
	  "The least significant half that outer headers brought last")                                                    \
	W(same_role_pkts, state->received.same_n, "pkt", 1,                                                                \
	  "Outer headers of one role in a row; 16 are no chance")                                                          \
	W(missed, state->missed_pkts, "pkt", 1,                                                                            \
	  "Packets of DCP-EW that left without the half that they are for, because none had come")
/* clang-format on */

LAW void dcp_ew_note(struct dcp_ew_halves *halves, u32 role, u32 half, u64 until_us)
{
	u32 is_least = role & 1;

	halves->same_n = halves->role == is_least ? (u32)fixed_min(halves->same_n + 1ull, 0xffffffff) : 1;
	halves->role = (u8)is_least;
	halves->half[is_least] = (u8)(half & 3);
	halves->until_us[is_least] = until_us;
}

LAW u32 dcp_ew_is_known(const struct dcp_ew_halves *halves, u32 role, u64 now_us)
{
	return now_us < halves->until_us[role & 1];
}

/* Whether the ECN field of an inner packet is a half. With nine levels 00 is none. */
LAW u32 dcp_ew_has_half(const struct dcp_ew_gateway_params *p, const struct law_packet *inner, u32 ecn)
{
	return inner->wire == LAW_WIRE_PAIR && (inner->flags & LAW_PACKET_DATA) && inner->roles_known &&
	       (p->code == PAIR_SIXTEEN || ecn != LAW_ECN_NOT_ECT);
}

LAW void dcp_ew_gateway_encapsulate(void *state, const void *params, u64 now_us, const struct law_packet *inner,
                                    struct law_packet *outer)
{
	struct dcp_ew_gateway_state *s = state;
	const struct dcp_ew_gateway_params *p = params;
	u32 is_own = dcp_ew_has_half(p, inner, inner->ecn);

	if (is_own)
		dcp_ew_note(&s->sent, inner->role, inner->ecn, fixed_add(now_us, p->hold_us));
	if (!is_own && p->marks)
		return;
	if (dcp_ew_is_known(&s->sent, outer->role, now_us)) {
		LAW_STEP("event 1: the outer header takes the half that its own ID asks for");
		outer->outer_ecn = s->sent.half[outer->role & 1];
		return;
	}
	LAW_STEP("event 1: the half that the outer header is for has not come, it takes that of the lowest level");
	outer->outer_ecn = (u8)pair_symbol(p->code, 0, PAIR_ROLE_MOST);
}

/* The half of a packet that leaves. */
LAW void dcp_ew_take(struct dcp_ew_gateway_state *s, u64 now_us, struct law_packet *inner)
{
	u32 role = inner->role & 1;

	if (!dcp_ew_is_known(&s->received, role, now_us)) {
		LAW_STEP("event 4: no outer header brought the half that the packet is for, it keeps its own");
		s->missed_pkts = fixed_add(s->missed_pkts, 1);
		return;
	}
	if (s->received.half[role] > inner->ecn) {
		LAW_STEP("event 4: the half that outer headers brought is larger than the packet's, it takes that");
		inner->ecn = s->received.half[role];
	}
}

LAW void dcp_ew_gateway_decapsulate(void *state, const void *params, u64 now_us, const struct law_packet *outer,
                                    struct law_packet *inner)
{
	struct dcp_ew_gateway_state *s = state;
	const struct dcp_ew_gateway_params *p = params;
	u32 is_own = dcp_ew_has_half(p, inner, outer->ecn);

	if (is_own || !p->marks)
		dcp_ew_note(&s->received, outer->role, outer->outer_ecn, fixed_add(now_us, p->hold_us));
	if (!is_own) {
		if (!p->others)
			inner->ecn = outer->ecn & 3;
		return;
	}
	/* The tunnel's rule may have taken a half 11 for a congestion mark. */
	inner->ecn = outer->ecn & 3;
	dcp_ew_take(s, now_us, inner);
	if (p->confirm)
		inner->confirmed = 1;
}

LAW_TABLE struct law_gateway dcp_ew_gateway = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_gateway),
	.name = "dcp_ew",
	.summary = "Carries DCP-EW's halves of a load between the headers of a tunnel",
	.state_bytes = sizeof(struct dcp_ew_gateway_state),
	.params_bytes = sizeof(struct dcp_ew_gateway_params),
	.flags = LAW_GATEWAY_DIRECTIONS_APART,
	LAW_PARAM_LIST(DCP_EW_GATEWAY_PARAMS),
	LAW_WATCH_LIST(struct dcp_ew_gateway_state, DCP_EW_GATEWAY_WATCH),
	.encapsulate = dcp_ew_gateway_encapsulate,
	.decapsulate = dcp_ew_gateway_decapsulate,
};

#endif /* FADELAB_GATEWAY_DCP_EW_H */
