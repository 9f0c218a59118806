/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: Nichols, Jacobson, McGregor, Iyengar, "Controlled delay active queue management", RFC 8289, 2018, section 5;
 * marking as in Linux, include/net/codel_impl.h.
 *
 * In one paragraph: What matters about a queue is how long packets stay in it, and a queue is bad only if it never
 * drains. The router drops at departure once every packet of a whole interval has waited longer than a target, and
 * then ever more often, so that the rate of a TCP flow falls linearly, until one packet gets through in less than the
 * target.
 *
 * Law, per departure of a packet that waited w, with b bytes left behind it (section 5):
 *   above     w >= target and b > one packet; ok to drop once that has held for interval (dodequeue)
 *   enter     drop the first that is ok to drop; count n <- 1, or what the last episode added where it ended less than
 *             16 intervals ago; next drop at now + interval / sqrt(n)
 *   repeat    while ok to drop, at each due time: drop, n <- n + 1, next one interval / sqrt(n) after the last due time
 *   leave     at the first packet that is not ok to drop
 *
 * Parameters: the X-macro CODEL_PARAMS below.
 *
 * Divergences:
 *   1. ECN-capable packets are marked instead of dropped, as Linux does; then one packet a due time is marked and
 *      sent, where a drop goes on to the packet behind it.
 *   2. 1 / sqrt(n) is computed from n by five Newton steps with 32 fractional bits (Linux: one step a drop from the
 *      last value, 16 bits, which is 5 % off at n = 2).
 *   3. The size below which a queue is let alone is a full packet of the link as configured, not the largest one seen.
 *   4. ce_threshold is not in the RFC; Linux and RFC 8290 section 5.2 have it, off by default.
 *   5. The departure that the RFC handles in one call comes in several here: after LAW_DROP the host calls again with
 *      the packet behind.
 *
 * Figures: none of the five papers; the baseline against bufferbloat, alone and per flow (FQ-CoDel).
 */
#ifndef FADELAB_ROUTER_CODEL_H
#define FADELAB_ROUTER_CODEL_H

#include "fixed.h"
#include "law.h"
#include "part/mark.h"

/* clang-format off */
#define CODEL_PARAMS(P)                                                                                                \
	P(target_us, 5000, "us", 1, 1, 10000000, "RFC 8289, section 5",                                                  \
	  "Wait that a standing queue may cost")                                                                           \
	P(interval_us, 100000, "us", 1, 1, 100000000, "RFC 8289, section 5",                                             \
	  "Time over which a queue must not drain to be bad; a round trip of the slowest usual flow")                      \
	P(ecn, 1, "bool", 1, 0, 1, "RFC 8290, section 5.2; Linux codel: off, fq_codel: on",                              \
	  "Whether ECN-capable packets are marked instead of dropped")                                                     \
	P(ce_threshold_us, 0, "us", 1, 0, 10000000, "RFC 8290, section 5.2",                                             \
	  "Wait above which every ECN-capable packet is marked, as DCTCP wants it; 0: off")
/* clang-format on */

struct codel_params {
	CODEL_PARAMS(LAW_PARAM_FIELD)
};

/* What the last call left to be done with the packet behind a dropped one. */
enum codel_after {
	CODEL_AFTER_SENT = 0,
	CODEL_AFTER_ENTERED = 1, /* it is sent whatever it waited */
	CODEL_AFTER_DROPPED = 2, /* it decides whether the next due time is set */
};

struct codel_state {
	u64 first_above_us; /* when it is ok to drop; 0: the wait is below the target */
	u64 drop_next_us;
	u64 count;      /* drops of this episode */
	u64 count_last; /* where it began */
	u64 packet_bytes;
	u32 dropping;
	u32 after; /* enum codel_after */
};

/* clang-format off */
#define CODEL_WATCH(W, state)                                                                                          \
	W(dropping, state->dropping, "bool", 1,                                                                            \
	  "Whether an episode of drops or marks is under way")                                                             \
	W(count, state->count, "pkt", 1,                                                                                   \
	  "n, drops or marks of this episode, or of the last one")                                                         \
	W(count_entered, state->count_last, "pkt", 1,                                                                      \
	  "n with which that episode began")
/* clang-format on */

/*
 * 1 / sqrt(n) with 32 fractional bits, at most 1. Newton's y <- y (3 - n y^2) / 2 from 5/8 of the largest power of two
 * y^2 n <= 4 allows: y sqrt(n) starts in [0.625, 1.25), and five steps leave 2^-31 (e <- 1.5 e^2 from 0.375) beside
 * what truncation costs.
 */
LAW u64 codel_inverse_sqrt_q32(u64 n)
{
	u64 twos = (63 - fixed_leading_zeros(n | 1)) >> 1, y = (5ull << 29) >> (twos & 31);

	if (n < 2)
		return FIXED_ONE_Q32;
	n = fixed_min(n, 0xffffffff);
	for (int step = 0; step < 5; step++) {
		/* n y^2 below 1.6 with 32 fractional bits; y^2 has 64. */
		u64 square_q32 = fixed_mul_high(y * y, n << 32);

		/* Newton's y stays below 1 / sqrt(2); the two bounds say so where only the arithmetic is looked at. */
		y = fixed_mul_high(y << 1, fixed_sub(3 * FIXED_ONE_Q32, square_q32) << 30);
		y = fixed_min(y, FIXED_ONE_Q32 - 1);
	}
	return y;
}

/* When the next drop is due after one at `at_us`, to the nearest microsecond (control_law). */
LAW u64 codel_control_law(const struct codel_params *p, u64 at_us, u64 count)
{
	return fixed_add(at_us, (p->interval_us * codel_inverse_sqrt_q32(count) + (1ull << 31)) >> 32);
}

/* Whether the wait has been above the target for an interval (dodequeue). */
LAW u32 codel_ok_to_drop(struct codel_state *s, const struct codel_params *p, const struct law_queue *queue)
{
	if (queue->wait_us < p->target_us || queue->queue_bytes <= s->packet_bytes) {
		s->first_above_us = 0;
		return 0;
	}
	if (s->first_above_us == 0) {
		s->first_above_us = fixed_add(queue->now_us, p->interval_us);
		return 0;
	}
	return queue->now_us >= s->first_above_us;
}

/* An episode begins. If the last one ended lately, its rate of drops is where this one starts. */
LAW void codel_enter(struct codel_state *s, const struct codel_params *p, u64 now_us)
{
	u64 added = s->count - s->count_last;
	u64 recent = fixed_sub(now_us, s->drop_next_us) < 16 * p->interval_us;

	s->dropping = 1;
	s->count = added > 1 && recent ? added : 1;
	s->count_last = s->count;
	s->drop_next_us = codel_control_law(p, now_us, s->count);
}

/* A drop is due within an episode. */
LAW u32 codel_repeat(struct codel_state *s, const struct codel_params *p, struct law_packet *packet)
{
	/* A count of 2^32 drops is as good as any larger one. */
	s->count += s->count < 0xffffffff;
	if (p->ecn && mark_congestion(packet)) {
		LAW_STEP("mark: n <- n + 1, next at + interval / sqrt(n) (RFC 8289 section 5)");
		s->drop_next_us = codel_control_law(p, s->drop_next_us, s->count);
		return LAW_PASS;
	}
	LAW_STEP("drop: n <- n + 1 (RFC 8289 section 5)");
	s->after = CODEL_AFTER_DROPPED;
	return LAW_DROP;
}

LAW u32 codel_decide(struct codel_state *s, const struct codel_params *p, struct law_packet *packet,
                     const struct law_queue *queue)
{
	u32 ok_to_drop = codel_ok_to_drop(s, p, queue), after = s->after;

	s->after = CODEL_AFTER_SENT;
	if (after == CODEL_AFTER_ENTERED)
		return LAW_PASS;
	if (!ok_to_drop) {
		s->dropping = 0;
		return LAW_PASS;
	}
	if (!s->dropping) {
		LAW_STEP("above the target for an interval: an episode of drops begins (RFC 8289 section 5)");
		codel_enter(s, p, queue->now_us);
		if (p->ecn && mark_congestion(packet))
			return LAW_PASS;
		s->after = CODEL_AFTER_ENTERED;
		return LAW_DROP;
	}
	if (after == CODEL_AFTER_DROPPED)
		s->drop_next_us = codel_control_law(p, s->drop_next_us, s->count);
	return queue->now_us >= s->drop_next_us ? codel_repeat(s, p, packet) : LAW_PASS;
}

LAW void codel_init(void *state, const void *params, const struct law_link *link, u64 due_us[LAW_TIMERS_MAX])
{
	struct codel_state *s = state;

	(void)params;
	(void)due_us;
	s->packet_bytes = link->packet_bytes;
}

LAW u32 codel_on_dequeue(void *state, const void *params, struct law_packet *packet, const struct law_queue *queue)
{
	const struct codel_params *p = params;
	u32 verdict = codel_decide(state, p, packet, queue);

	if (verdict == LAW_PASS && p->ce_threshold_us && queue->wait_us > p->ce_threshold_us)
		mark_congestion(packet);
	return verdict;
}

LAW_TABLE struct law_router codel_router = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_router),
	.name = "codel",
	.summary = "Controlled delay: drops at departure when every packet has waited too long for an interval",
	.state_bytes = sizeof(struct codel_state),
	.params_bytes = sizeof(struct codel_params),
	.flags = LAW_ROUTER_DROPS_AT_DEQUEUE,
	.wire = LAW_WIRE_NONE,
	LAW_PARAM_LIST(CODEL_PARAMS),
	LAW_WATCH_LIST(struct codel_state, CODEL_WATCH),
	.init = codel_init,
	.on_dequeue = codel_on_dequeue,
};

#endif /* FADELAB_ROUTER_CODEL_H */
