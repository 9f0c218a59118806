/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The sender of DPCP and DCP-EW: VCP's control (part/vcp_control.h) by a load that is known more finely. What of it is
 * the papers' and what ours stands in sender/dcp_ew.h.
 */
#ifndef FADELAB_PART_PAIR_SENDER_H
#define FADELAB_PART_PAIR_SENDER_H

#include "law.h"
#include "part/pair_code.h"
#include "part/pair_echo.h"
#include "part/vcp_control.h"

/* clang-format off */
#define PAIR_OWN_PARAMS(P)                                                                                             \
	P(code, 0, "sixteen|nine", 1, 0, 1, "dcp-ew-2010 section II: four bits; nine: ours",                               \
	  "Levels of the load; routers on the path must have the same")                                                    \
	P(beta_2, 875000, "1", 1000000, 100000, 1000000, "ours: VCP's beta",                                               \
	  "What a decrease leaves of the window at the second level of overload (beta: at the first, and at a loss)")      \
	P(beta_3, 875000, "1", 1000000, 100000, 1000000, "ours: VCP's beta",                                               \
	  "The same at the third")                                                                                         \
	P(beta_4, 875000, "1", 1000000, 100000, 1000000, "ours: VCP's beta",                                               \
	  "The same at the fourth, of sixteen levels")                                                                     \
	P(pair_srtts, 1000000, "1", 1000000, 0, 100000000, "ours",                                                         \
	  "Two halves that came further apart than so many round trips are no pair")                                       \
	P(missing, 0, "middle|edge", 1, 0, 1, "ours",                                                                      \
	  "Level of the region that is assumed while the least significant half is not known: a middle one, or the highest")
/* clang-format on */

#define PAIR_SENDER_PARAMS(P, loss_here) VCP_CONTROL_PARAMS(P, loss_here) PAIR_OWN_PARAMS(P)

/* In the order of the rows above. */
struct pair_sender_params {
	struct vcp_sender_params vcp;
	PAIR_OWN_PARAMS(LAW_PARAM_FIELD)
};

enum pair_known {
	PAIR_KNOWN_NOTHING = 0,
	PAIR_KNOWN_REGION = 1,
	PAIR_KNOWN_LEVEL = 2,
};

struct pair_sender_state {
	struct vcp_sender_state vcp;
	u8 most; /* significant half, as it came last */
	u8 least;
	u8 known;   /* enum pair_known */
	u8 percent; /* the load that is assumed, where it is low */
};

_Static_assert(sizeof(struct pair_sender_state) <= LAW_STATE_BYTES_MAX, "the kernel gives no more");

/* clang-format off */
#define PAIR_SENDER_WATCH(W, state)                                                                                    \
	W(window, state->vcp.window.cwnd_q32, "pkt", 4294967296, "cwnd with its fraction, as the law left it")             \
	W(code, state->vcp.code, "none|low|high|overload", 1, "The region of the load that came last")                     \
	W(known, state->known, "nothing|region|level", 1, "What is known of the load: both halves are its level")          \
	W(most, state->most, "1", 1, "The most significant half that came last")                                           \
	W(least, state->least, "1", 1, "The least significant half, or what stands in for it")                             \
	W(phase, state->vcp.phase, "normal|frozen|recovered", 1,                                                           \
	  "frozen: t_rho after a decrease; recovered: one srtt after that, without another decrease")                      \
	W(mi_gain_pkts, state->vcp.mi_gain_q32, "pkt", 4294967296, "(1 + xi)^x - 1, added per packet at low load")         \
	W(ai_gain_pkts, state->vcp.ai_gain_q32, "pkt", 4294967296, "alpha_s w, added per round trip at high load")
/* clang-format on */

/* Whether a router of the law told of a region lately. Where only least significant halves come there is none. */
LAW u32 pair_is_told(const struct law_ack *ack)
{
	const u8 *bytes = ack->feedback.bytes;
	u64 apart_us = option_get_u16(bytes + 1) * 1000ull;

	if (!confirmed_by_router(ack) || !(bytes[0] & PAIR_ECHO_HAS_MOST))
		return 0;
	return !(bytes[0] & PAIR_ECHO_LEAST_LAST) || !(bytes[0] & PAIR_ECHO_HAS_LEAST) ||
	       apart_us <= fixed_max(CONFIRMED_AGE_US_MAX, 4 * (u64)ack->srtt_us);
}

/* Whether the two halves of an echo came close enough to be of one level. */
LAW u32 pair_is_close(const struct pair_sender_params *p, const struct law_ack *ack)
{
	u64 apart_us = option_get_u16(ack->feedback.bytes + 1) * 1000ull;

	return apart_us * 1000000 <= ack->srtt_us * p->pair_srtts;
}

/* Takes a new echo over. */
LAW void pair_hear(struct pair_sender_state *s, const struct pair_sender_params *p, const struct law_ack *ack)
{
	u32 echo = ack->feedback.bytes[0], most = echo & 3, least = echo >> PAIR_ECHO_LEAST_SHIFT & 3;

	if (s->known == PAIR_KNOWN_NOTHING || most != s->most) {
		LAW_STEP("halves: another region, of which the least significant half is not known yet");
		s->known = PAIR_KNOWN_REGION;
		s->most = (u8)most;
		s->least = p->missing ? PAIR_EDGE : PAIR_MIDDLE;
	}
	/* With nine levels 00 is a field that was cleared. */
	if (!(echo & PAIR_ECHO_HAS_LEAST) || (p->code == PAIR_NINE && !least))
		return;
	if (!pair_is_close(p, ack)) {
		LAW_STEP("halves: too far apart to be a pair, the least significant one stays as it was");
		return;
	}
	LAW_STEP("halves: a pair, the level is known");
	s->known = PAIR_KNOWN_LEVEL;
	s->least = (u8)least;
}

/* What a decrease at this level leaves of the window. */
LAW u64 pair_beta(const struct pair_sender_params *p, u32 level)
{
	u32 place = pair_over_place(p->code, level);

	if (place == 0)
		return p->vcp.beta;
	if (place == 1)
		return p->beta_2;
	return place == 2 ? p->beta_3 : p->beta_4;
}

/* What the newest echo says of the path, and what that means for the window. */
LAW void pair_tell(struct pair_sender_state *s, const struct pair_sender_params *p, const struct law_ack *ack,
                   struct vcp_told *told)
{
	u32 level, percent;

	*told = (struct vcp_told){.code = PAIR_NONE, .percent = 80, .beta = p->vcp.beta};
	if (!pair_is_told(ack)) {
		s->known = PAIR_KNOWN_NOTHING;
		return;
	}
	if (ack->feedback.present)
		pair_hear(s, p, ack);
	told->code = pair_region(p->code, s->most);
	if (s->known == PAIR_KNOWN_NOTHING)
		told->code = PAIR_NONE;
	if (told->code == PAIR_NONE)
		return;
	level = pair_join(p->code, s->most, s->least);
	told->beta = pair_beta(p, level);
	percent = pair_low_percent(p->code, level);
	told->percent = percent;
	if (s->percent != percent)
		s->vcp.place = 0;
	s->percent = (u8)percent;
}

LAW void pair_sender_init(void *state, const void *params, const struct law_start *start, struct law_control *control)
{
	struct pair_sender_state *s = state;
	const struct pair_sender_params *p = params;

	vcp_start(&s->vcp, start, control);
	/* The lowest level: its two halves are alike. */
	control->ecn = pair_symbol(p->code, 0, PAIR_ROLE_MOST);
}

LAW void pair_sender_on_ack(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	struct pair_sender_state *s = state;
	const struct pair_sender_params *p = params;
	struct vcp_told told;

	pair_tell(s, p, ack, &told);
	vcp_act(&s->vcp, &p->vcp, ack, &told, control);
}

LAW void pair_sender_on_loss(void *state, const void *params, const struct law_ack *ack, u32 cause,
                             struct law_control *control)
{
	struct pair_sender_state *s = state;
	const struct pair_sender_params *p = params;

	(void)cause;
	vcp_lose(&s->vcp, &p->vcp, ack, control);
}

LAW void pair_sender_on_rto(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	struct pair_sender_state *s = state;
	const struct pair_sender_params *p = params;

	(void)ack;
	vcp_time_out(&s->vcp, &p->vcp, control);
}

#endif /* FADELAB_PART_PAIR_SENDER_H */
