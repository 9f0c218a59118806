/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: none; it exists to exercise windows with fractions, also below one packet.
 *
 * In one paragraph: Adds a fixed part of a packet to its window with each packet acknowledged. It keeps no memory of
 * its own: what is less than a packet stays with the host.
 *
 * Law: w <- w + growth for each packet acknowledged, from a window to start with on; half of it at a loss.
 *
 * Parameters: window and growth in 1/1024 of a packet.
 *
 * Divergences: none.
 *
 * Figures: none.
 */
#ifndef FADELAB_TEST_FRACTION_H
#define FADELAB_TEST_FRACTION_H

#include "fixed.h"
#include "law.h"

/* clang-format off */
#define FRACTION_PARAMS(P)                                                                                             \
	P(window, 2048, "pkt", 1024, 1, 1048576, "arbitrary", "Window to start with")                                      \
	P(growth, 0, "pkt", 1024, 0, 1024, "arbitrary", "What an acknowledged packet adds")
/* clang-format on */

struct fraction_params {
	FRACTION_PARAMS(LAW_PARAM_FIELD)
};

/* A packet in the unit of the parameters, and what a unit is in 2^-32 of a packet. */
#define FRACTION_ONE 1024
#define FRACTION_UNIT (1u << 22)

LAW u64 fraction_of(const struct law_control *control)
{
	return (u64)control->cwnd_pkts * FRACTION_ONE + control->cwnd_fraction / FRACTION_UNIT;
}

LAW void fraction_set(struct law_control *control, u64 window)
{
	window = fixed_max(fixed_min(window, 1048576), 1);
	control->cwnd_pkts = (u32)(window / FRACTION_ONE);
	control->cwnd_fraction = (u32)(window % FRACTION_ONE) * FRACTION_UNIT;
}

LAW void fraction_init(void *state, const void *params, const struct law_start *start, struct law_control *control)
{
	const struct fraction_params *p = params;

	(void)state;
	(void)start;
	fraction_set(control, p->window);
}

LAW void fraction_on_ack(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	const struct fraction_params *p = params;

	(void)state;
	fraction_set(control, fraction_of(control) + (u64)(ack->acked_pkts & 0xffff) * p->growth);
}

LAW void fraction_on_loss(void *state, const void *params, const struct law_ack *ack, u32 cause,
                          struct law_control *control)
{
	(void)state;
	(void)params;
	(void)ack;
	(void)cause;
	fraction_set(control, fraction_of(control) / 2);
}

LAW_TABLE struct law_sender fraction_sender = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_sender),
	.name = "fraction",
	.summary = "Test: a window of packets and parts of one",
	.params_bytes = sizeof(struct fraction_params),
	.flags = LAW_SENDER_OWNS_RECOVERY | LAW_SENDER_PACED,
	LAW_PARAM_LIST(FRACTION_PARAMS),
	.init = fraction_init,
	.on_ack = fraction_on_ack,
	.on_loss = fraction_on_loss,
};

#endif /* FADELAB_TEST_FRACTION_H */
