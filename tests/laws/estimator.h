/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: the shape of TCP New Jersey's sender, which writes ssthresh on each ACK; it exists to show whose window and
 * ssthresh are while losses and marks are answered.
 *
 * In one paragraph: Writes ssthresh on each ACK and grows its window by a packet, but in recovery. What it answers a
 * loss or a mark with is a part of its window, which may be more than the whole.
 *
 * Law: ssthresh = a constant on each ACK, and a share of the window at a loss or a mark.
 *
 * Parameters: both.
 *
 * Divergences: none.
 *
 * Figures: none.
 */
#ifndef FADELAB_TEST_ESTIMATOR_H
#define FADELAB_TEST_ESTIMATOR_H

#include "fixed.h"
#include "law.h"

/* clang-format off */
#define ESTIMATOR_PARAMS(P)                                                                                            \
	P(estimate_pkts, 30, "pkt", 1, 1, 10000, "arbitrary", "What ssthresh is set to on each ACK")                       \
	P(share, 50, "1", 100, 1, 1000, "arbitrary", "Of the window, at a loss or a mark")
/* clang-format on */

struct estimator_params {
	ESTIMATOR_PARAMS(LAW_PARAM_FIELD)
};

LAW void estimator_on_ack(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	const struct estimator_params *p = params;

	(void)state;
	control->ssthresh_pkts = (u32)p->estimate_pkts;
	if (control->ca_state != LAW_CA_RECOVERY)
		control->cwnd_pkts = (u32)fixed_min((u64)control->cwnd_pkts + !!ack->acked_pkts, 1u << 20);
}

LAW void estimator_on_loss(void *state, const void *params, const struct law_ack *ack, u32 cause,
                           struct law_control *control)
{
	const struct estimator_params *p = params;

	(void)state;
	(void)ack;
	(void)cause;
	control->ssthresh_pkts = (u32)fixed_max(fixed_min(control->cwnd_pkts * p->share / 100, 1u << 20), 1);
}

LAW_TABLE struct law_sender estimator_sender = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_sender),
	.name = "estimator",
	.summary = "Test: writes ssthresh on each ACK",
	.params_bytes = sizeof(struct estimator_params),
	.flags = LAW_SENDER_PLAIN_ACKS,
	.ecn_mode = LAW_ECN_MODE_CLASSIC,
	LAW_PARAM_LIST(ESTIMATOR_PARAMS),
	.on_ack = estimator_on_ack,
	.on_loss = estimator_on_loss,
};

#endif /* FADELAB_TEST_ESTIMATOR_H */
