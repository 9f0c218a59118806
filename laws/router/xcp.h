/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: Katabi, Handley, Rohrs, SIGCOMM 2002, section 3.5; draft-falk-xcp-spec-03; order of steps as in ns-2.35.
 *
 * In one paragraph: Once per average round trip the router computes how much the traffic shall change in all, from
 * what is spare and from the queue that stands. It hands that out to the packets of the next interval: increases so
 * that each flow gains the same, decreases in proportion to what each flow sends, plus a shuffle of a tenth of the
 * traffic that moves bandwidth from large flows to small ones.
 *
 * Law:
 *   interval    Te = max(mean RTT, 1 ms), mean RTT = sum(x min(rtt, 1 s)) / sum(x), 50 ms where no packet told one
 *   aggregate   F = alpha (C - input / Te) - beta Q / mean RTT                                    bytes per second
 *   shuffle     S = max(0, shuffle input / Te - |F|)
 *   to give     Rp = max(0, F) + S,  Rn = max(0, -F) + S;  Cp = Rp / sum(x),  Cn = Rn / input
 *   per packet  pos = min(Rp, Cp x), neg = min(Rn, Cn size), feedback = pos - neg; the packet keeps the smaller of its
 *               own delta and this one. If its own is smaller, neg takes up the difference as far as Rn allows and
 *               pos = delta + neg. Then Rp -= pos and Rn -= neg.
 *   queue       Q = smallest queue of the last Tq;  Tq = max(2 ms, (mean RTT - queue / C) / 2)
 *
 * Parameters: the X-macro XCP_ROUTER_PARAMS below.
 *
 * Divergences:
 *   1. The spare rate C - input / Te comes from the capacity part (configured, measured, ...), so that the same law
 *      works where the capacity is not known; where the part names a queue to drain, that takes the place of Q.
 *   2. Integers: rates carry 16 fractional bits; a delta on the wire is a whole number of bytes per second and the
 *      fraction goes to the next packet, so that the sum is right.
 *   3. The first intervals are drawn from a triangle with the deviation of ns-2's normal distribution (0.2 T).
 *   4. `form = "katabi"` weights a packet's share by its size, takes the mean over packets and gives every packet its
 *      share without looking at what is left (SIGCOMM 2002, section 3.5.2); with equal sizes the two forms give the
 *      same shares.
 *   5. Q is the smallest queue that there was, "seen by an arriving packet" (SIGCOMM 2002, section 3.5). ns-2 compares
 *      just before departures, the departing packet included, and when the timer runs: a queue that stands is up to
 *      one packet shorter there.
 *   6. input is all that joins the queue, packets of other protocols included, so that XCP gives way to them. ns-2's
 *      router gives those a queue of their own, which takes turns with XCP's, as SIGCOMM 2002 has it in section 8.2;
 *      but where XCP's queue is to have its part of the rate (equation 14: w c - y), it counts against the rate of the
 *      whole link, unless `tcp_xcp_on_` is set. So its queue stands at alpha / beta times the others' rate times the
 *      mean RTT, or overflows. With all packets in XCP's queue (`cbr_queue xcp` in tests/differential/ns2) the two
 *      agree.
 *
 * Figures: vcp-ton-2010 figures 2, 3, 5, 10 to 13.
 */
#ifndef FADELAB_ROUTER_XCP_H
#define FADELAB_ROUTER_XCP_H

#include "fixed.h"
#include "law.h"
#include "part/bytes.h"

/* clang-format off */
#define XCP_ROUTER_PARAMS(P)                                                                                           \
	P(alpha, 400000, "1", 1000000, 1000, 554000, "draft-falk-xcp-spec-03; stable below 0.555",                         \
	  "Share of the spare rate that is handed out in an interval")                                                     \
	P(beta, 226000, "1", 1000000, 0, 1000000, "draft-falk-xcp-spec-03: alpha^2 sqrt(2)",                               \
	  "Share of the standing queue that is drained in an interval")                                                    \
	P(shuffle, 100000, "1", 1000000, 0, 1000000, "draft-falk-xcp-spec-03, gamma",                                      \
	  "Share of the traffic that changes hands in an interval")                                                        \
	P(rtt_us_max, 1000000, "us", 1, 10000, 16000000, "draft-falk-xcp-spec-03, MAX_INTERVAL",                           \
	  "Longest round trip that counts in the mean")                                                                    \
	P(form, 0, "draft|katabi", 1, 0, 1, "draft-falk-xcp-spec-03; SIGCOMM 2002",                                        \
	  "Which version of the algorithm")
/* clang-format on */

struct xcp_router_params {
	XCP_ROUTER_PARAMS(LAW_PARAM_FIELD)
};

enum xcp_router_timer {
	XCP_TIMER_ESTIMATE = 0,
	XCP_TIMER_QUEUE = 1,
};

#define XCP_INTERVAL_US_INITIAL 50000u
#define XCP_INTERVAL_US_MIN 1000u
#define XCP_FIRST_US_MIN 4000u
#define XCP_QUEUE_US_MIN 2000u

/* The fields of a data packet, see part/xcp_fields.h. */
#define XCP_ROUTER_FEEDBACK_BYTES 12
#define XCP_ROUTER_BPS_MIN (-0x7fffffffll)
/* |F| and S are clipped at 2^44 bytes per second; Rp and Rn are at most their sum. */
#define XCP_RESIDUE_Q16_MAX (1ull << 61)

struct xcp_router_state {
	/* Sums of the interval. */
	u64 sum_x_q28;
	u64 sum_rttx_q44;
	u64 packets; /* of XCP, with a round trip */
	/* What is left to hand out, bytes per second, and the share of it per unit of x and per byte. */
	u64 positive_q16;
	u64 negative_q16;
	u64 per_x_q32;    /* (bytes/s with 16 fractional bits) per unit of x (2^-28 s), 32 more fractional bits */
	u64 per_byte_q32; /* (bytes/s with 16 fractional bits) per byte, 32 more fractional bits */
	u64 carry_q16;    /* fraction of a byte per second that the last delta left out */
	u64 mean_rtt_us;
	u64 interval_start_us;
	u64 queue_bytes; /* Q */
	/* For those who watch: F of the last control interval, and what was spare then. */
	s64 aggregate_Bps;
	s64 spare_Bps;
};

/* clang-format off */
#define XCP_ROUTER_WATCH(W, state)                                                                                     \
	W(aggregate_Bps, state->aggregate_Bps, "B/s", 1,                                                                   \
	  "F, by how much all traffic shall change, of the last control interval")                                         \
	W(spare_Bps, state->spare_Bps, "B/s", 1,                                                                           \
	  "C - input / Te, the spare rate of the last control interval as the capacity part tells it")                     \
	W(positive_Bps, state->positive_q16, "B/s", 65536,                                                                 \
	  "Rp, what is left to hand out as increases")                                                                     \
	W(negative_Bps, state->negative_q16, "B/s", 65536,                                                                 \
	  "Rn, what is left to hand out as decreases")                                                                     \
	W(queue_bytes, state->queue_bytes, "B", 1,                                                                         \
	  "Q, the smallest queue of the last Tq")                                                                          \
	W(rtt_mean_us, state->mean_rtt_us, "us", 1,                                                                        \
	  "The mean round trip, which is the next Te")
/* clang-format on */

/* T plus a triangular deviation of 0.2 T: the sum of two random bytes has mean 255 and deviation 104.5. */
LAW u64 xcp_first_us(u32 random)
{
	u64 sum = (random & 0xff) + ((random >> 8) & 0xff);
	u64 first_us = XCP_INTERVAL_US_INITIAL + sum * XCP_INTERVAL_US_INITIAL / 522;

	return fixed_max(fixed_sub(first_us, 255ull * XCP_INTERVAL_US_INITIAL / 522), XCP_FIRST_US_MIN);
}

LAW void xcp_router_init(void *state, const void *params, const struct law_link *link, u64 due_us[LAW_TIMERS_MAX])
{
	struct xcp_router_state *s = state;

	(void)params;
	s->mean_rtt_us = XCP_INTERVAL_US_INITIAL;
	s->interval_start_us = link->now_us;
	due_us[XCP_TIMER_ESTIMATE] = link->now_us + xcp_first_us(link->random);
	due_us[XCP_TIMER_QUEUE] = link->now_us + xcp_first_us(link->random >> 16);
}

LAW u32 xcp_is_data(const struct law_packet *packet)
{
	return packet->wire == LAW_WIRE_XCP && (packet->flags & LAW_PACKET_DATA) &&
	       packet->feedback_len >= XCP_ROUTER_FEEDBACK_BYTES;
}

/* Draft lines 1 to 6. rtt < 2^32 and x < 2^32 in 2^-28 s; their product loses 12 bits to leave room for the sum. */
LAW u32 xcp_router_on_enqueue(void *state, const void *params, struct law_packet *packet, const struct law_queue *queue)
{
	struct xcp_router_state *s = state;
	const struct xcp_router_params *p = params;
	u64 rtt_q28, x_q28;

	(void)queue;
	if (!xcp_is_data(packet))
		return LAW_PASS;
	rtt_q28 = bytes_get_u32(packet->feedback);
	x_q28 = bytes_get_u32(packet->feedback + 4);
	if (rtt_q28 == 0)
		return LAW_PASS;
	rtt_q28 = fixed_min(rtt_q28, (p->rtt_us_max << 22) / 15625);
	s->packets++;
	s->sum_rttx_q44 = fixed_add(s->sum_rttx_q44, p->form ? rtt_q28 << 16 : (x_q28 * rtt_q28) >> 12);
	s->sum_x_q28 = fixed_add(s->sum_x_q28, p->form ? x_q28 * packet->air_bytes : x_q28);
	return LAW_PASS;
}

/* Draft lines 20 to 31 for one packet that asks for delta: what it gets, with 16 fractional bits. */
LAW s64 xcp_allocate_q16(struct xcp_router_state *s, const struct xcp_router_params *p, u32 x_q28, u64 size_bytes,
                         s64 delta_q16)
{
	s64 pos = fixed_with_sign(fixed_mul(fixed_mul_high(s->per_x_q32, (u64)x_q28 << 32), p->form ? size_bytes : 1), 1);
	s64 neg = fixed_with_sign(fixed_mul_high(s->per_byte_q32, size_bytes << 32), 1);
	s64 positive = (s64)s->positive_q16, negative = (s64)s->negative_q16, feedback;

	if (p->form)
		return pos - neg < delta_q16 ? pos - neg : delta_q16;
	pos = pos < positive ? pos : positive;
	neg = neg < negative ? neg : negative;
	feedback = pos - neg;
	if (delta_q16 < feedback) {
		LAW_STEP("per packet: another router gives less, neg takes up the difference as far as Rn allows");
		neg += feedback - delta_q16;
		neg = neg < negative ? neg : negative;
		pos = delta_q16 + neg;
		feedback = delta_q16;
	}
	/* A decrease by another router is returned to Rp; forged ones must not fill it beyond 64 bits. */
	s->positive_q16 = pos < positive ? fixed_min((u64)(positive - pos), XCP_RESIDUE_Q16_MAX) : 0;
	s->negative_q16 = neg < negative ? (u64)(negative - neg) : 0;
	if (s->positive_q16 == 0)
		s->per_x_q32 = 0;
	if (s->negative_q16 == 0)
		s->per_byte_q32 = 0;
	return feedback;
}

/* Whole bytes per second of a delta; the fraction waits for the next packet. */
LAW s64 xcp_whole_Bps(struct xcp_router_state *s, s64 feedback_q16)
{
	s64 with_carry = feedback_q16 + (s64)s->carry_q16;
	/* The shift rounds down, also negative values, so that what is left is never negative. */
	s64 whole_Bps = with_carry >> 16;

	s->carry_q16 = (u64)(with_carry - whole_Bps * 65536);
	return whole_Bps;
}

LAW u32 xcp_router_on_dequeue(void *state, const void *params, struct law_packet *packet, const struct law_queue *queue)
{
	struct xcp_router_state *s = state;
	const struct xcp_router_params *p = params;
	u32 rtt_q28;
	s64 delta_Bps, feedback_q16;

	(void)queue;
	if (!xcp_is_data(packet))
		return LAW_PASS;
	packet->confirmed = 1;
	rtt_q28 = bytes_get_u32(packet->feedback);
	if (rtt_q28 == 0) {
		LAW_STEP("per packet: it tells no round trip (draft line 21), it gets nothing");
		bytes_put_s32(packet->feedback + 8, 0);
		return LAW_PASS;
	}
	delta_Bps = bytes_get_s32(packet->feedback + 8);
	feedback_q16 = xcp_allocate_q16(s, p, bytes_get_u32(packet->feedback + 4), packet->air_bytes, delta_Bps * 65536);
	/* Only what this router lowered is written: its carry belongs to its own share. */
	if (feedback_q16 < delta_Bps * 65536) {
		LAW_STEP("per packet: feedback = pos - neg is less than it asks for, it is lowered to that");
		delta_Bps = xcp_whole_Bps(s, feedback_q16);
		bytes_put_s32(packet->feedback + 8, delta_Bps < XCP_ROUTER_BPS_MIN ? XCP_ROUTER_BPS_MIN : delta_Bps);
	}
	return LAW_PASS;
}

/* Draft lines 7 to 19: F in bytes per second. */
LAW s64 xcp_aggregate_Bps(const struct xcp_router_state *s, const struct xcp_router_params *p,
                          const struct law_queue *queue)
{
	s64 drain_bytes = queue->has_queue_control ? queue->queue_control_bytes : fixed_with_sign(s->queue_bytes, 1);
	s64 gain_Bps = fixed_signed_mul_div(queue->spare_Bps, p->alpha, 1000000);
	s64 drain_Bps = fixed_signed_mul_div(drain_bytes, p->beta, s->mean_rtt_us);

	if (queue->has_aggregate) {
		LAW_STEP("aggregate: F is the capacity part's");
		return queue->aggregate_Bps;
	}
	/* beta is in millionths and the round trip in microseconds: the two factors cancel. */
	return fixed_signed_add(gain_Bps, -drain_Bps);
}

LAW u64 xcp_close_interval(struct xcp_router_state *s, const struct xcp_router_params *p, const struct law_queue *queue)
{
	u64 input_Bps = fixed_mul_div(queue->arrived_bytes, 1000000, queue->now_us - s->interval_start_us);
	u64 weight = p->form ? s->packets << 28 : s->sum_x_q28, shuffled_Bps;
	s64 aggregate_Bps;

	s->mean_rtt_us = weight ? fixed_mul_div(s->sum_rttx_q44, 1000000, weight) >> 16 : XCP_INTERVAL_US_INITIAL;
	s->mean_rtt_us = fixed_max(s->mean_rtt_us, XCP_INTERVAL_US_MIN);
	aggregate_Bps = xcp_aggregate_Bps(s, p, queue);
	shuffled_Bps = fixed_sub(fixed_mul_div(input_Bps, p->shuffle, 1000000), fixed_abs(aggregate_Bps));
	s->positive_q16 = s->negative_q16 = fixed_min(shuffled_Bps, 1ull << 44) << 16;
	if (aggregate_Bps > 0) {
		LAW_STEP("aggregate: F > 0, Rp = F + S, Rn = S");
		s->positive_q16 += fixed_min(fixed_abs(aggregate_Bps), 1ull << 44) << 16;
	} else {
		LAW_STEP("aggregate: F <= 0, Rp = S, Rn = -F + S");
		s->negative_q16 += fixed_min(fixed_abs(aggregate_Bps), 1ull << 44) << 16;
	}
	s->aggregate_Bps = aggregate_Bps;
	s->spare_Bps = queue->spare_Bps;
	s->per_x_q32 = fixed_mul_div(s->positive_q16, FIXED_ONE_Q32, s->sum_x_q28);
	s->per_byte_q32 = fixed_mul_div(s->negative_q16, FIXED_ONE_Q32, queue->arrived_bytes);
	s->sum_x_q28 = s->sum_rttx_q44 = s->packets = 0;
	s->interval_start_us = queue->now_us;
	return queue->now_us + s->mean_rtt_us;
}

LAW u64 xcp_router_on_timer(void *state, const void *params, u32 timer, const struct law_queue *queue)
{
	struct xcp_router_state *s = state;
	u64 drain_us;

	if (timer == XCP_TIMER_ESTIMATE)
		return xcp_close_interval(s, params, queue);
	LAW_STEP("queue: Q = smallest queue of the last Tq (draft lines 33 to 36)");
	s->queue_bytes = queue->queue_bytes_min;
	drain_us = fixed_mul_div(queue->queue_bytes, 1000000, queue->capacity_Bps);
	return queue->now_us + fixed_max(fixed_sub(s->mean_rtt_us, drain_us) / 2, XCP_QUEUE_US_MIN);
}

LAW_TABLE struct law_router xcp_router = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_router),
	.name = "xcp",
	.summary = "Divides the spare rate equally and takes back in proportion, packet by packet",
	.state_bytes = sizeof(struct xcp_router_state),
	.params_bytes = sizeof(struct xcp_router_params),
	.flags = LAW_ROUTER_FEEDBACK | LAW_ROUTER_BLIND,
	.wire = LAW_WIRE_XCP,
	.timers = 2,
	.control_timer = XCP_TIMER_ESTIMATE,
	LAW_PARAM_LIST(XCP_ROUTER_PARAMS),
	LAW_WATCH_LIST(struct xcp_router_state, XCP_ROUTER_WATCH),
	.init = xcp_router_init,
	.on_enqueue = xcp_router_on_enqueue,
	.on_dequeue = xcp_router_on_dequeue,
	.on_timer = xcp_router_on_timer,
};

#endif /* FADELAB_ROUTER_XCP_H */
