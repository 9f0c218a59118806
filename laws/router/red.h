/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: Floyd, Jacobson, "Random early detection gateways for congestion avoidance", IEEE/ACM ToN 1993; gentle mode
 * and automatic settings as in ns-2.35.
 *
 * In one paragraph: The router keeps a moving average of its queue. Between two thresholds it marks or drops arriving
 * packets with a probability that grows with the average; above the upper threshold the probability grows on to 1 at
 * twice the threshold (gentle). Marks are spread evenly rather than in clusters.
 *
 * Law, per arrival:
 *   average   avg <- (1 - q_w)^m avg, m packets that could have left while the link was idle;
 *             avg <- avg + q_w (q - avg)
 *   base      p_b = max_p (avg - min) / (max - min);  from max to 2 max it rises from max_p to 1
 *   spread    n packets since the last mark: p_a = 0 while n p_b < 1, p_b / (2 - n p_b) while < 2, else 1 (wait);
 *             without wait p_b / (1 - n p_b)
 *   size      p_a is multiplied by size / mean size where bytes count
 *   action    mark if ECN-capable and p_b < mark_p_max, else drop; drop everything at avg >= 2 max
 *
 * Parameters: the X-macro RED_PARAMS below. Zeros choose as ns-2 does: min = max(5, target delay * rate / 2) packets,
 * max = 3 min, q_w = 1 - exp(-1 / (10 R rate)) with R = max(0.1 s, 3 (delay + 1 / rate)), rate in packets of the mean
 * size.
 *
 * Divergences:
 *   1. ECN is on; ns-2's default (setbit_ = false) drops. vcp-ton-2010's TCP/RED is ecn = false, q_w = 0.002,
 *      thresholds = "limit".
 *   2. `thresholds = "limit"` puts min and max at one and two thirds of the buffer (vcp-ton-2010 section V).
 *   3. Automatic settings use the link as configured; where no capacity is configured q_w is 0.002 and min 5 packets.
 *   4. ns-2's self-configuring variant (adaptive_) is left out; it is off by default there.
 *   5. Idle time starts when the last packet has left the transmitter at the configured rate.
 *
 * Figures: vcp-ton-2010 figure 10 (TCP/RED); vcp-milcom-2007. Both ran Linux's RED, which is not gentle: it drops every
 * packet above the upper threshold. Take `router.red.gentle = false` with divergence 1 there.
 */
#ifndef FADELAB_ROUTER_RED_H
#define FADELAB_ROUTER_RED_H

#include "fixed.h"
#include "law.h"
#include "part/mark.h"
#include "part/queue_average.h"

/* clang-format off */
#define RED_PARAMS(P)                                                                                                  \
	P(thresholds, 0, "given|limit", 1, 0, 1, "ns-2.35; vcp-ton-2010 section V: limit",                                 \
	  "Whether the thresholds are min_pkts and max_pkts or thirds of the buffer")                                      \
	P(min_pkts, 0, "pkt", 1000, 0, 1000000000, "ns-2.35, thresh_: automatic",                                          \
	  "Lower threshold in packets of the mean size; 0: automatic")                                                     \
	P(max_pkts, 0, "pkt", 1000, 0, 1000000000, "ns-2.35, maxthresh_: automatic",                                       \
	  "Upper threshold in packets of the mean size; 0: three times the lower one")                                     \
	P(q_w, 0, "1", 1000000000, 0, 1000000000, "ns-2.35: automatic; vcp-ton-2010: assumed 0.002",                       \
	  "Weight of an arrival in the average queue; 0: automatic")                                                       \
	P(max_p, 100000, "1", 1000000, 1, 1000000, "ns-2.35, 1 / linterm_; vcp-ton-2010: 0.1",                             \
	  "Probability at the upper threshold")                                                                            \
	P(target_delay_us, 5000, "us", 1, 0, 10000000, "ns-2.35, targetdelay_",                                            \
	  "Delay from which the automatic lower threshold is taken")                                                       \
	P(mean_bytes, 500, "B", 1, 40, 65535, "ns-2.35, mean_pktsize_",                                                    \
	  "Mean size of a packet")                                                                                         \
	P(gentle, 1, "bool", 1, 0, 1, "ns-2.35",                                                                           \
	  "Whether the probability rises on above the upper threshold instead of jumping to 1")                            \
	P(bytes, 1, "bool", 1, 0, 1, "ns-2.35, bytes_ and queue_in_bytes_",                                                \
	  "Whether the queue is measured in bytes and large packets are marked more often")                                \
	P(wait, 1, "bool", 1, 0, 1, "ns-2.35",                                                                             \
	  "Whether marks keep a distance of at least 1 / p packets")                                                       \
	P(ecn, 1, "bool", 1, 0, 1, "ns-2.35, setbit_: false",                                                              \
	  "Whether ECN-capable packets are marked instead of dropped")                                                     \
	P(use_mark_p, 1, "bool", 1, 0, 1, "ns-2.35",                                                                       \
	  "Whether packets are dropped even if ECN-capable where the probability reaches mark_p_max")                      \
	P(mark_p_max, 100000, "1", 1000000, 0, 1000000, "ns-2.35, mark_p_",                                                \
	  "Probability from which use_mark_p drops")
/* clang-format on */

struct red_params {
	RED_PARAMS(LAW_PARAM_FIELD)
};

/* Queue lengths are bytes, or packets where bytes do not count; 16 fractional bits each. */
struct red_state {
	struct queue_average average;
	u64 min_q16;
	u64 max_q16;
	u64 count_pkts; /* arrivals above the lower threshold since the last mark */
	u64 count_bytes;
	u32 above_min; /* the average was above the lower threshold at the last arrival */
	u32 base_q31;  /* p_b at that arrival, for those who watch */
};

/* clang-format off */
#define RED_WATCH(W, state)                                                                                            \
	W(average, state->average.length_q16, "1", 65536,                                                                  \
	  "avg, the average queue: bytes, or packets where bytes = false")                                                 \
	W(min, state->min_q16, "1", 65536,                                                                                 \
	  "min, the lower threshold, in the unit of avg")                                                                  \
	W(max, state->max_q16, "1", 65536,                                                                                 \
	  "max, the upper threshold, in the unit of avg")                                                                  \
	W(q_w, state->average.q_w_q32, "1", 4294967296,                                                                    \
	  "q_w, the weight of an arrival in avg")                                                                          \
	W(probability, state->base_q31, "1", 2147483648,                                                                   \
	  "p_b at the last arrival; 0 while avg is below min")                                                             \
	W(since_mark_pkts, state->count_pkts, "pkt", 1,                                                                    \
	  "n, arrivals above min since the last mark or drop")
/* clang-format on */

#define RED_LOG2_E_Q32 6196328019ull    /* log2(e) * 2^32, rounded */
#define RED_Q_W_Q32_FALLBACK 8589935ull /* 0.002 */

/* q_w with 32 fractional bits, as ns-2 computes it from the rate and the delay of the link. */
LAW u64 red_automatic_q_w_q32(u64 rate_q16, u64 delay_us)
{
	u64 packet_us = fixed_div(1000000ull << 16, rate_q16);
	u64 round_us = fixed_max(3 * fixed_add(fixed_min(delay_us, 1ull << 40), packet_us), 100000);
	/* 1 / (10 R rate), times log2 e. */
	u64 exponent_q32 = fixed_mul_div(FIXED_ONE_Q32, 1000000ull << 16, fixed_mul(10 * round_us, rate_q16));

	if (rate_q16 == 0)
		return RED_Q_W_Q32_FALLBACK;
	return fixed_one_minus_exp2_neg_q32(fixed_mul_div(exponent_q32, RED_LOG2_E_Q32, FIXED_ONE_Q32));
}

/* The thresholds, at least one unit apart. */
LAW void red_set_thresholds(struct red_state *s, const struct red_params *p, const struct law_link *link)
{
	u64 unit_bytes = p->bytes ? p->mean_bytes : 1;
	u64 automatic_q16 = fixed_max(fixed_mul_div(s->average.rate_q16, p->target_delay_us, 2000000), 5ull << 16);
	u64 limit = p->bytes ? link->limit_bytes : link->limit_pkts;

	/* The buffer may be limited in bytes only. */
	if (limit == 0)
		limit = fixed_div(link->limit_bytes, link->packet_bytes);
	limit = fixed_min(limit, QUEUE_AVERAGE_MAX);
	if (p->thresholds) {
		s->min_q16 = (limit << 16) / 3;
		s->max_q16 = 2 * s->min_q16;
	} else {
		s->min_q16 = fixed_mul(p->min_pkts ? (p->min_pkts << 16) / 1000 : automatic_q16, unit_bytes);
		s->min_q16 = fixed_min(s->min_q16, QUEUE_AVERAGE_Q16_MAX);
		s->max_q16 = p->max_pkts ? (p->max_pkts << 16) / 1000 * unit_bytes : 3 * s->min_q16;
	}
	s->max_q16 = fixed_max(s->max_q16, s->min_q16 + 65536);
}

LAW void red_init(void *state, const void *params, const struct law_link *link, u64 due_us[LAW_TIMERS_MAX])
{
	struct red_state *s = state;
	const struct red_params *p = params;
	u64 rate_q16, q_w_q32;

	(void)due_us;
	rate_q16 = queue_average_rate_q16(link->capacity_Bps, p->mean_bytes);
	q_w_q32 =
		p->q_w ? fixed_mul_div(p->q_w, FIXED_ONE_Q32, 1000000000) : red_automatic_q_w_q32(rate_q16, link->delay_us);
	queue_average_init(&s->average, link->capacity_Bps, rate_q16, q_w_q32);
	red_set_thresholds(s, p, link);
}

/* p_b with 32 fractional bits, for an average above the lower threshold. */
LAW u64 red_base_q32(const struct red_state *s, const struct red_params *p)
{
	u64 max_p_q32 = fixed_mul_div(p->max_p, FIXED_ONE_Q32, 1000000);

	if (s->average.length_q16 < s->max_q16) {
		LAW_STEP("base: between min and max, p_b = max_p (avg - min) / (max - min)");
		return fixed_mul_div(s->average.length_q16 - s->min_q16, max_p_q32, s->max_q16 - s->min_q16);
	}
	if (!p->gentle || s->average.length_q16 >= 2 * s->max_q16) {
		LAW_STEP("action: beyond the thresholds, p_b = 1, everything is dropped");
		return FIXED_ONE_Q32;
	}
	LAW_STEP("base: gentle, between max and 2 max, p_b rises from max_p to 1");
	return max_p_q32 + fixed_mul_div(s->average.length_q16 - s->max_q16, FIXED_ONE_Q32 - max_p_q32, s->max_q16);
}

/* p_a with 32 fractional bits: spread by the packets since the last mark, scaled by size. */
LAW u64 red_spread_q32(const struct red_state *s, const struct red_params *p, u64 base_q32, u32 size_bytes)
{
	u64 count_q16 = p->bytes ? fixed_div(s->count_bytes << 16, p->mean_bytes) : s->count_pkts << 16;
	u64 due_q32 = fixed_mul_div(count_q16, base_q32, 65536);
	u64 limit_q32 = p->wait ? 2 * FIXED_ONE_Q32 : FIXED_ONE_Q32;
	u64 spread_q32;

	if (p->wait && due_q32 < FIXED_ONE_Q32) {
		LAW_STEP("spread: n p_b < 1, too soon after the last mark");
		return 0;
	}
	if (due_q32 >= limit_q32) {
		LAW_STEP("spread: a mark is overdue, p_a = 1");
		spread_q32 = FIXED_ONE_Q32;
	} else {
		LAW_STEP("spread: p_a = p_b / (2 - n p_b), without wait p_b / (1 - n p_b)");
		spread_q32 = fixed_mul_div(base_q32, FIXED_ONE_Q32, limit_q32 - due_q32);
	}
	if (p->bytes && spread_q32 < FIXED_ONE_Q32)
		spread_q32 = fixed_mul_div(spread_q32, size_bytes, p->mean_bytes);
	return fixed_min(spread_q32, FIXED_ONE_Q32);
}

/* What happens to a packet that the average queue has chosen. */
LAW u32 red_congestion(const struct red_params *p, struct law_packet *packet, u64 base_q32)
{
	u64 mark_p_q32 = fixed_mul_div(p->mark_p_max, FIXED_ONE_Q32, 1000000);

	if (p->ecn && !(p->use_mark_p && base_q32 >= mark_p_q32) && mark_congestion(packet)) {
		LAW_STEP("action: chosen and ECN-capable, marked");
		return LAW_PASS;
	}
	LAW_STEP("action: chosen, not ECN-capable or p_b of mark_p_max or more, dropped");
	return LAW_DROP;
}

/* An arrival that finds the average above the lower threshold. */
LAW_SELDOM u32 red_choose(struct red_state *s, const struct red_params *p, struct law_packet *packet, u32 random)
{
	u64 base_q32 = red_base_q32(s, p);

	s->base_q31 = (u32)(base_q32 >> 1);
	/* What is dropped right away counts as well. */
	s->count_pkts = fixed_min(s->count_pkts + 1, QUEUE_AVERAGE_MAX);
	s->count_bytes = fixed_min(s->count_bytes + packet->air_bytes, QUEUE_AVERAGE_MAX);
	if (base_q32 >= FIXED_ONE_Q32)
		return LAW_DROP;
	if (!s->above_min) {
		LAW_STEP("spread: the first arrival above min starts the count and goes free");
		s->above_min = 1;
		s->count_pkts = 1;
		s->count_bytes = packet->air_bytes;
		return LAW_PASS;
	}
	/* u <= p in ns-2 is never met by p = 0 here, so that a queue at the threshold does not mark. */
	if (random >= red_spread_q32(s, p, base_q32, packet->air_bytes))
		return LAW_PASS;
	s->count_pkts = 0;
	s->count_bytes = 0;
	return red_congestion(p, packet, base_q32);
}

LAW u32 red_arrive(struct red_state *s, const struct red_params *p, struct law_packet *packet,
                   const struct law_queue *queue)
{
	u64 length = p->bytes ? fixed_min(queue->queue_bytes, QUEUE_AVERAGE_MAX) : queue->queue_pkts;

	queue_average_add(&s->average, length << 16);
	if (s->average.length_q16 < s->min_q16 || length <= 1) {
		LAW_STEP("average: below min, the packet passes");
		s->above_min = s->base_q31 = 0;
		return LAW_PASS;
	}
	return red_choose(s, p, packet, queue->random);
}

LAW_SELDOM u32 red_arrive_after_idleness(struct red_state *s, const struct red_params *p, struct law_packet *packet,
                                         const struct law_queue *queue)
{
	queue_average_fade(&s->average, queue);
	return red_arrive(s, p, packet, queue);
}

LAW u32 red_on_enqueue(void *state, const void *params, struct law_packet *packet, const struct law_queue *queue)
{
	struct red_state *s = state;

	/* An average of 0 stays 0 however long nothing waits, as on the way back of most paths. */
	if (queue->queue_pkts == 0 && s->average.length_q16)
		return red_arrive_after_idleness(s, params, packet, queue);
	return red_arrive(s, params, packet, queue);
}

LAW_TABLE struct law_router red_router = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_router),
	.name = "red",
	.summary = "Random early detection: marks or drops by the average queue",
	.state_bytes = sizeof(struct red_state),
	.params_bytes = sizeof(struct red_params),
	.flags = LAW_ROUTER_RANDOM,
	.wire = LAW_WIRE_NONE,
	LAW_PARAM_LIST(RED_PARAMS),
	LAW_WATCH_LIST(struct red_state, RED_WATCH),
	.init = red_init,
	.on_enqueue = red_on_enqueue,
};

#endif /* FADELAB_ROUTER_RED_H */
