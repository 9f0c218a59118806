/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: Athuraliya, Li, Low, Yin, "REM: active queue management", IEEE Network 2001; update and defaults as in
 * ns-2.35.
 *
 * In one paragraph: The link has a price that rises while packets arrive faster than they can leave or the queue
 * exceeds its target, and falls otherwise. Packets are marked with a probability exponential in the price, so that
 * the marks a flow sees along its path tell the sum of the prices.
 *
 * Law, every update_us:
 *   price   p <- max(0, p + gamma (x + alpha (b - b*) - c))
 *           x packets that arrived in the interval (x <- (1 - inw) x + inw now), b queue, c packets the link could send
 *   mark    with probability 1 - phi^-p, ECN-capable packets, at dequeue
 *
 * Parameters: the X-macro REM_PARAMS below.
 *
 * Divergences:
 *   1. Marking is on; ns-2's default drops (markpkts_ = false). Packets that are not ECN-capable pass: the limit of the
 *      queue is all they meet.
 *   2. alpha is hard-coded in ns-2; here it is a parameter with the same value.
 *   3. c follows the capacity part's estimate and the time that really passed.
 *   4. The price is clipped at 2^20 and has 32 fractional bits.
 *
 * Figures: vcp-ton-2010 figures 2 and 3 (TCP/REM+ECN). Its parameters "follow the settings of [43]", a note that is no
 * longer to be had; ns-2's defaults stand in, with phi to be swept. Over a coded link c is too large with them: a
 * packet of 1040 B takes 1156 B on the air with a code of 0.9, not the 1000 B of mean_bytes. The price then rests at a
 * queue that is (c's error) / alpha longer than the target, 18 packets at 54 Mbit/s and less than one at 2 Mbit/s.
 * `router.rem.mean_bytes` set to the size on the air mends that (study rem-size of the paper).
 */
#ifndef FADELAB_ROUTER_REM_H
#define FADELAB_ROUTER_REM_H

#include "fixed.h"
#include "law.h"
#include "part/mark.h"

/* clang-format off */
#define REM_PARAMS(P)                                                                                                  \
	P(gamma, 1000, "1", 1000000, 1, 1000000, "ns-2.35",                                                                \
	  "Step of the price")                                                                                             \
	P(phi, 1001000, "1", 1000000, 1000001, 100000000, "ns-2.35",                                                       \
	  "Base of the marking probability")                                                                               \
	P(alpha, 100000, "1", 1000000, 0, 100000000, "ns-2.35, hard-coded",                                                \
	  "Weight of the queue against the rate")                                                                          \
	P(inw, 1000000, "1", 1000000, 1000, 1000000, "ns-2.35",                                                            \
	  "Weight of the newest interval in the arrival rate")                                                             \
	P(target_pkts, 20, "pkt", 1, 0, 1000000, "ns-2.35, pbo",                                                           \
	  "Queue at which the price rests")                                                                                \
	P(mean_bytes, 1000, "B", 1, 40, 65535, "ns-2.35, mean_pktsize",                                                    \
	  "Size by which rates are converted into packets")                                                                \
	P(update_us, 2000, "us", 1, 100, 10000000, "ns-2.35, pupdtime",                                                    \
	  "Interval at which the price is updated")                                                                        \
	P(bytes, 0, "bool", 1, 0, 1, "ns-2.35, qib",                                                                       \
	  "Whether queue and arrivals are measured in bytes and divided by mean_bytes")
/* clang-format on */

struct rem_params {
	REM_PARAMS(LAW_PARAM_FIELD)
};

struct rem_state {
	u64 price_q32;
	u64 probability_q32;
	u64 log2_phi_q32;
	u64 arrivals_q16; /* x, packets per interval */
	u64 interval_start_us;
};

/* clang-format off */
#define REM_WATCH(W, state)                                                                                            \
	W(price, state->price_q32, "1", 4294967296,                                                                        \
	  "p, the price")                                                                                                  \
	W(probability, state->probability_q32, "1", 4294967296,                                                            \
	  "1 - phi^-p, the probability of a mark")                                                                         \
	W(arrivals_pkts, state->arrivals_q16, "pkt", 65536,                                                                \
	  "x, packets of the mean size that arrive in an interval")
/* clang-format on */

#define REM_PRICE_Q32_MAX (1ull << 52)

LAW void rem_init(void *state, const void *params, const struct law_link *link, u64 due_us[LAW_TIMERS_MAX])
{
	struct rem_state *s = state;
	const struct rem_params *p = params;

	s->log2_phi_q32 = fixed_log2_q32(fixed_mul_div(p->phi, FIXED_ONE_Q32, 1000000));
	s->interval_start_us = link->now_us;
	due_us[0] = link->now_us + p->update_us;
}

LAW u32 rem_on_dequeue(void *state, const void *params, struct law_packet *packet, const struct law_queue *queue)
{
	struct rem_state *s = state;

	(void)params;
	if (queue->random < s->probability_q32) {
		LAW_STEP("mark: chosen with probability 1 - phi^-p");
		mark_congestion(packet);
	}
	return LAW_PASS;
}

/* x + alpha (b - b*) - c in packets with 16 fractional bits. */
LAW s64 rem_excess_q16(const struct rem_state *s, const struct rem_params *p, const struct law_queue *queue,
                       u64 elapsed_us)
{
	u64 queue_q16 = p->bytes ? fixed_div(fixed_min(queue->queue_bytes, 1ull << 40) << 16, p->mean_bytes)
	                         : (u64)queue->queue_pkts << 16;
	u64 capacity_q16 = fixed_mul_div(fixed_mul(queue->capacity_Bps, 65536), elapsed_us, p->mean_bytes * 1000000);
	s64 above_q16 = fixed_signed_difference(queue_q16, p->target_pkts << 16);
	s64 rate_q16 = fixed_signed_difference(s->arrivals_q16, capacity_q16);

	return fixed_signed_add(rate_q16, fixed_signed_mul_div(above_q16, p->alpha, 1000000));
}

LAW u64 rem_on_timer(void *state, const void *params, u32 timer, const struct law_queue *queue)
{
	struct rem_state *s = state;
	const struct rem_params *p = params;
	u64 now_q16 = p->bytes ? fixed_div(queue->arrived_bytes << 16, p->mean_bytes) : queue->arrived_pkts << 16;
	u64 step_q32;
	s64 excess_q16;

	(void)timer;
	s->arrivals_q16 =
		fixed_add(fixed_mul_div(s->arrivals_q16, 1000000 - p->inw, 1000000), fixed_mul_div(now_q16, p->inw, 1000000));
	excess_q16 = rem_excess_q16(s, p, queue, queue->now_us - s->interval_start_us);
	step_q32 = fixed_mul_div(fixed_abs(excess_q16), p->gamma << 16, 1000000);
	if (excess_q16 < 0)
		LAW_STEP("price: x + alpha (b - b*) - c < 0, the price falls");
	else
		LAW_STEP("price: x + alpha (b - b*) - c >= 0, the price rises");
	s->price_q32 = excess_q16 < 0 ? fixed_sub(s->price_q32, step_q32) : fixed_add(s->price_q32, step_q32);
	s->price_q32 = fixed_min(s->price_q32, REM_PRICE_Q32_MAX);
	/* 1 - phi^-p = 1 - 2^(-p log2 phi). */
	s->probability_q32 = fixed_one_minus_exp2_neg_q32(fixed_mul_div(s->price_q32, s->log2_phi_q32, FIXED_ONE_Q32));
	s->interval_start_us = queue->now_us;
	return queue->now_us + p->update_us;
}

LAW_TABLE struct law_router rem_router = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_router),
	.name = "rem",
	.summary = "Marks with a probability exponential in a price for rate and queue",
	.state_bytes = sizeof(struct rem_state),
	.params_bytes = sizeof(struct rem_params),
	.flags = LAW_ROUTER_NEEDS_CAPACITY | LAW_ROUTER_RANDOM_AT_DEQUEUE | LAW_ROUTER_BLIND,
	.wire = LAW_WIRE_NONE,
	.timers = 1,
	.control_timer = 0,
	LAW_PARAM_LIST(REM_PARAMS),
	LAW_WATCH_LIST(struct rem_state, REM_WATCH),
	.init = rem_init,
	.on_dequeue = rem_on_dequeue,
	.on_timer = rem_on_timer,
};

#endif /* FADELAB_ROUTER_REM_H */
