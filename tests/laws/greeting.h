/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: the shape of RCP, whose SYN asks for a rate; it exists to exercise feedback on SYNs, its confirmation by a
 * router, and segments that ACKs and a timer clock out.
 *
 * In one paragraph: The SYN asks for a window, a router lowers it to its own and confirms that, the answer brings it
 * back, and the connection begins with it: half of it where nobody confirmed. Data ask for nothing.
 *
 * Law: w = what the answer to the SYN grants; segments leave with ACKs, and by a timer of a rate where one is set.
 *
 * Parameters: the wish of the sender and its rate; the grant of the router.
 *
 * Divergences: kernels have neither.
 *
 * Figures: none.
 */
#ifndef FADELAB_TEST_GREETING_H
#define FADELAB_TEST_GREETING_H

#include "law.h"

/* clang-format off */
#define GREETING_PARAMS(P)                                                                                             \
	P(wish_pkts, 100, "pkt", 1, 2, 250, "arbitrary", "Window asked for")                                               \
	P(timer_Bps, 0, "B", 1, 0, 12500000000, "arbitrary", "IP bytes per second that a timer adds to ACKs; 0: no clock")
#define GREETING_ROUTER_PARAMS(P) P(grant_pkts, 20, "pkt", 1, 2, 250, "arbitrary", "Window granted")
/* clang-format on */

struct greeting_params {
	GREETING_PARAMS(LAW_PARAM_FIELD)
};

struct greeting_router_params {
	GREETING_ROUTER_PARAMS(LAW_PARAM_FIELD)
};

struct greeting_echo {
	u8 pkts;
	u8 confirmed;
};

#ifdef __bpf__
#define GREETING_FLAGS 0
#else
#define GREETING_FLAGS LAW_SENDER_FEEDBACK_ON_SYN
#endif

LAW void greeting_init(void *state, const void *params, const struct law_start *start, struct law_control *control)
{
	(void)state;
	(void)params;
	(void)start;
	(void)control;
#ifndef __bpf__
	const struct greeting_params *p = params;

	if (start->feedback.present)
		control->cwnd_pkts = start->feedback.confirmed ? start->feedback.bytes[0] : start->feedback.bytes[0] / 2;
	if (!control->cwnd_pkts)
		control->cwnd_pkts = 1;
	control->pacing_Bps = p->timer_Bps;
	if (p->timer_Bps)
		control->flags |= LAW_CONTROL_PACED_BY_ACKS;
#endif
}

LAW void greeting_on_send(void *state, const void *params, struct law_send *send, struct law_control *control)
{
	const struct greeting_params *p = params;

	(void)state;
	(void)control;
	if (!send->syn)
		return;
	send->feedback.bytes[0] = (u8)p->wish_pkts;
	send->feedback.len = 1;
	send->feedback.present = 1;
}

LAW_TABLE struct law_sender greeting_sender = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_sender),
	.name = "greeting",
	.summary = "Test: asks for a window with its SYN",
	.params_bytes = sizeof(struct greeting_params),
	.flags = LAW_SENDER_OWNS_RECOVERY | LAW_SENDER_PACED | GREETING_FLAGS,
	.wire = LAW_WIRE_RCP,
	.feedback_bytes = 1,
	LAW_PARAM_LIST(GREETING_PARAMS),
	.init = greeting_init,
	.on_send = greeting_on_send,
};

LAW void greeting_on_data(void *state, const struct law_data *data)
{
	struct greeting_echo *e = state;

	if (!data->feedback.present)
		return;
	e->pkts = data->feedback.bytes[0];
#ifndef __bpf__
	e->confirmed = data->feedback.confirmed;
#endif
}

LAW void greeting_fill_ack(void *state, struct law_fill *fill)
{
	struct greeting_echo *e = state;

	fill->feedback.bytes[0] = e->pkts;
	fill->feedback.len = 1;
	fill->feedback.present = 1;
#ifndef __bpf__
	fill->feedback.confirmed = e->confirmed;
#endif
}

LAW_TABLE struct law_receiver greeting_receiver = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_receiver),
	.name = "greeting",
	.state_bytes = sizeof(struct greeting_echo),
	.feedback_bytes = 1,
	.on_data = greeting_on_data,
	.fill_ack = greeting_fill_ack,
};

LAW u32 greeting_on_enqueue(void *state, const void *params, struct law_packet *packet, const struct law_queue *queue)
{
	const struct greeting_router_params *p = params;

	(void)state;
	(void)queue;
	if (packet->wire != LAW_WIRE_RCP || !packet->feedback_len)
		return LAW_PASS;
	if (packet->feedback[0] > p->grant_pkts)
		packet->feedback[0] = (u8)p->grant_pkts;
	packet->confirmed = 1;
	return LAW_PASS;
}

LAW_TABLE struct law_router greeting_router = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_router),
	.name = "greeting",
	.summary = "Test: grants windows",
	.params_bytes = sizeof(struct greeting_router_params),
	.flags = LAW_ROUTER_FEEDBACK,
	.wire = LAW_WIRE_RCP,
	LAW_PARAM_LIST(GREETING_ROUTER_PARAMS),
	.on_enqueue = greeting_on_enqueue,
};

#endif /* FADELAB_TEST_GREETING_H */
