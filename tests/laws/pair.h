/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: dcp-ew-2010 section III; it exists to exercise the role bit and a code split over two packets, in a format
 * that has no codec of its own (the number is that of RCP, which is not there yet).
 *
 * In one paragraph: The router writes one half of its load level into each data packet, which half by the role bit.
 * The receiver echoes the last two halves with their validity; the sender joins them once it has both, and multiplies,
 * adds or backs off once a round trip.
 *
 * Law: below 80 % cwnd grows by a sixteenth per round trip, below 100 % by one packet, else cwnd *= 7/8 per round trip.
 *
 * Feedback on ACKs: the most significant half, the least significant one, and bits 0 and 1 for which are valid.
 *
 * Parameters: the X-macro PAIR_PARAMS below.
 *
 * Divergences: none that matter to a test.
 *
 * Figures: none.
 */
#ifndef FADELAB_TEST_PAIR_H
#define FADELAB_TEST_PAIR_H

#include "law.h"
#include "part/mark.h"
#include "part/pair_code.h"
#include "part/window.h"

#define PAIR_FEEDBACK_BYTES 3

struct pair_sender_state {
	struct window window;
	u64 hold_until_us;
	u32 level;
	u32 joined; /* both halves were seen */
};

_Static_assert(sizeof(struct pair_sender_state) <= LAW_STATE_BYTES_MAX, "the kernel gives no more");

LAW void pair_sender_on_ack(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	struct pair_sender_state *s = state;
	const u8 *bytes = ack->feedback.bytes;
	u64 cwnd_q32 = window_get(&s->window, control);
	u64 pkts = fixed_min(ack->acked_pkts, 65535);

	(void)params;
	if (ack->feedback.len >= PAIR_FEEDBACK_BYTES && bytes[2] == 3) {
		s->level = pair_join(PAIR_SIXTEEN, bytes[0], bytes[1]);
		s->joined = 1;
	}
	if (!s->joined || !pkts || control->ca_state == LAW_CA_RECOVERY)
		return;
	if (pair_region(PAIR_SIXTEEN, s->level >> 2) == PAIR_OVER) {
		if (ack->now_us >= s->hold_until_us) {
			s->hold_until_us = ack->now_us + ack->srtt_us;
			cwnd_q32 -= cwnd_q32 / 8;
		}
	} else if (pair_region(PAIR_SIXTEEN, s->level >> 2) == PAIR_LOW) {
		cwnd_q32 += pkts * FIXED_ONE_Q32 / 16;
	} else {
		cwnd_q32 += window_share_q32(pkts * FIXED_ONE_Q32, cwnd_q32);
	}
	window_set(&s->window, control, cwnd_q32);
}

LAW void pair_sender_on_loss(void *state, const void *params, const struct law_ack *ack, u32 cause,
                             struct law_control *control)
{
	(void)state;
	(void)params;
	(void)ack;
	(void)cause;
	control->ssthresh_pkts = control->cwnd_pkts / 2 ? control->cwnd_pkts / 2 : 1;
}

LAW_TABLE struct law_sender pair_sender = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_sender),
	.name = "pair",
	.summary = "Test: a load code in two packets",
	.state_bytes = sizeof(struct pair_sender_state),
	.wire = LAW_WIRE_RCP,
	.router = "pair",
	LAW_NO_PARAMS,
	.on_ack = pair_sender_on_ack,
	.on_loss = pair_sender_on_loss,
};

/* -------------------------------------------------------------------------------------------------- receiver */

struct pair_receiver_state {
	u8 halves[2];
	u8 valid;
	u8 reserved[5];
};

LAW void pair_receiver_on_data(void *state, const struct law_data *data)
{
	struct pair_receiver_state *s = state;
	u32 role = data->role & 1;

	s->halves[role] = data->ecn & 3;
	s->valid |= (u8)(1u << role);
}

LAW void pair_receiver_fill_ack(void *state, struct law_fill *fill)
{
	struct pair_receiver_state *s = state;

	fill->feedback.bytes[0] = s->halves[PAIR_ROLE_MOST];
	fill->feedback.bytes[1] = s->halves[PAIR_ROLE_LEAST];
	fill->feedback.bytes[2] = s->valid;
	fill->feedback.len = PAIR_FEEDBACK_BYTES;
	fill->feedback.present = 1;
}

LAW_TABLE struct law_receiver pair_receiver = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_receiver),
	.name = "pair",
	.state_bytes = sizeof(struct pair_receiver_state),
	.feedback_bytes = PAIR_FEEDBACK_BYTES,
	.on_data = pair_receiver_on_data,
	.fill_ack = pair_receiver_fill_ack,
};

/* ---------------------------------------------------------------------------------------------------- router */

/* clang-format off */
#define PAIR_PARAMS(P)                                                                                                 \
	P(interval_us, 200000, "us", 1, 1000, 10000000, "as VCP's t_rho", "Interval at which the load is updated")
/* clang-format on */

struct pair_params {
	PAIR_PARAMS(LAW_PARAM_FIELD)
};

struct pair_router_state {
	u64 interval_start_us;
	u32 level;
	u32 reserved;
};

LAW void pair_router_init(void *state, const void *params, const struct law_link *link, u64 due_us[LAW_TIMERS_MAX])
{
	struct pair_router_state *s = state;
	const struct pair_params *p = params;

	s->interval_start_us = link->now_us;
	due_us[0] = link->now_us + p->interval_us;
}

/* Without a state per flow the larger of the two halves is all that a router can leave. */
LAW u32 pair_router_on_dequeue(void *state, const void *params, struct law_packet *packet,
                               const struct law_queue *queue)
{
	struct pair_router_state *s = state;
	u32 half = pair_symbol(PAIR_SIXTEEN, s->level, packet->role & 1);

	(void)params;
	(void)queue;
	if (packet->wire == LAW_WIRE_RCP && (packet->flags & LAW_PACKET_DATA) && half > mark_get(packet))
		mark_set(packet, half);
	return LAW_PASS;
}

LAW u64 pair_router_on_timer(void *state, const void *params, u32 timer, const struct law_queue *queue)
{
	struct pair_router_state *s = state;
	const struct pair_params *p = params;
	u64 carried = fixed_mul_div(queue->capacity_Bps, queue->now_us - s->interval_start_us, 1000000);

	(void)timer;
	s->level = pair_level(PAIR_SIXTEEN, fixed_mul_div(queue->arrived_bytes, 100, carried));
	s->interval_start_us = queue->now_us;
	return queue->now_us + p->interval_us;
}

LAW_TABLE struct law_router pair_router = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_router),
	.name = "pair",
	.summary = "Test: a load code in two packets",
	.state_bytes = sizeof(struct pair_router_state),
	.params_bytes = sizeof(struct pair_params),
	.flags = LAW_ROUTER_NEEDS_CAPACITY,
	.wire = LAW_WIRE_RCP,
	.timers = 1,
	LAW_PARAM_LIST(PAIR_PARAMS),
	.init = pair_router_init,
	.on_dequeue = pair_router_on_dequeue,
	.on_timer = pair_router_on_timer,
};

#endif /* FADELAB_TEST_PAIR_H */
