/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: RFC 5681 equation (4), which halves what is in flight; it exists to show what a law is told at a loss.
 *
 * In one paragraph: Keeps its window until a loss. Then it writes down what was in flight and how many segments were
 * newly found lost, where a test can read it: in ssthresh.
 *
 * Law: at a loss ssthresh = in flight + 1000 newly lost.
 *
 * Parameters: none.
 *
 * Divergences: none.
 *
 * Figures: none.
 */
#ifndef FADELAB_TEST_FLIGHT_H
#define FADELAB_TEST_FLIGHT_H

#include "law.h"

LAW void flight_on_loss(void *state, const void *params, const struct law_ack *ack, u32 cause,
                        struct law_control *control)
{
	(void)state;
	(void)params;
	(void)cause;
	control->ssthresh_pkts = (ack->in_flight_pkts & 0xffff) + 1000 * (ack->lost_pkts & 0xff) + 1;
}

LAW_TABLE struct law_sender flight_sender = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_sender),
	.name = "flight",
	.summary = "Test: remembers what was in flight at a loss",
	.flags = LAW_SENDER_OWNS_RECOVERY,
	LAW_NO_PARAMS,
	.on_loss = flight_on_loss,
};

#endif /* FADELAB_TEST_FLIGHT_H */
