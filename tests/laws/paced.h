/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: none; it exists to exercise pacing.
 *
 * In one paragraph: Sends at a constant rate, whatever happens. The window is only a bound.
 *
 * Law: pacing = rate_Bps; cwnd = window_pkts, in recovery too.
 *
 * Parameters: the X-macro PACED_PARAMS below.
 *
 * Divergences: none.
 *
 * Figures: none.
 */
#ifndef FADELAB_TEST_PACED_H
#define FADELAB_TEST_PACED_H

#include "law.h"

/* clang-format off */
#define PACED_PARAMS(P)                                                                                                \
	P(rate_Bps, 125000, "B", 1, 1, 12500000000, "arbitrary", "IP bytes per second")                                    \
	P(window_pkts, 1000, "pkt", 1, 1, 1000000, "arbitrary", "Window")
/* clang-format on */

struct paced_params {
	PACED_PARAMS(LAW_PARAM_FIELD)
};

LAW void paced_control(const struct paced_params *p, struct law_control *control)
{
	control->pacing_Bps = p->rate_Bps;
	control->cwnd_pkts = (u32)p->window_pkts;
}

LAW void paced_init(void *state, const void *params, const struct law_start *start, struct law_control *control)
{
	(void)state;
	(void)start;
	paced_control(params, control);
}

LAW void paced_on_ack(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	(void)state;
	(void)ack;
	paced_control(params, control);
}

LAW_TABLE struct law_sender paced_sender = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_sender),
	.name = "paced",
	.summary = "Test: sends at a constant rate",
	.params_bytes = sizeof(struct paced_params),
	.flags = LAW_SENDER_OWNS_RECOVERY | LAW_SENDER_PACED,
	LAW_PARAM_LIST(PACED_PARAMS),
	.init = paced_init,
	.on_ack = paced_on_ack,
	.on_rto = paced_on_ack,
};

#endif /* FADELAB_TEST_PACED_H */
