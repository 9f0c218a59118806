/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: Goyal et al., "ABC", NSDI 2020, whose VCP router for variable links counts delivery opportunities over the
 * last 200 ms.
 *
 * In one paragraph: The capacity is what the link offered lately, whether packets used it or not. A router that counts
 * only what it sent would take every idle link for a full one.
 *
 * Law:
 *   capacity <- capacity + w (offered / interval - capacity)   w = min(1, interval / window)
 *   spare     = capacity - arrived / interval
 *
 * Parameters: the X-macro MEASURED_PARAMS below.
 *
 * Divergences:
 *   1. ABC's queue keeps a list of the opportunities of the last 200 ms; this part keeps one number with the same
 *      memory. With an interval of at least the window (VCP's 200 ms) the two are the same.
 *
 * Figures: scenarios over recorded cellular links.
 */
#ifndef FADELAB_CAPACITY_MEASURED_H
#define FADELAB_CAPACITY_MEASURED_H

#include "fixed.h"
#include "law.h"

/* clang-format off */
#define MEASURED_PARAMS(P)                                                                                             \
	P(window_us, 200000, "us", 1, 1, 60000000, "ABC, NSDI 2020: 200 ms",                                               \
	  "Memory of the estimate")
/* clang-format on */

struct measured_params {
	MEASURED_PARAMS(LAW_PARAM_FIELD)
};

struct measured_state {
	u64 capacity_q8; /* bytes per second with 8 fractional bits */
	u64 started;     /* 1 after the first interval that lasted */
};

/* clang-format off */
#define MEASURED_WATCH(W, state)                                                                                       \
	W(capacity_Bps, state->capacity_q8, "B/s", 256,                                                                    \
	  "The estimated capacity")
/* clang-format on */

LAW void measured_estimate(void *state, const void *params, const struct law_interval *interval,
                           struct law_estimate *out)
{
	struct measured_state *s = state;
	const struct measured_params *p = params;
	u64 offered_q8 = fixed_mul_div(interval->offered_bytes, 256000000, interval->interval_us);
	u64 arrived_Bps = fixed_mul_div(interval->arrived_bytes, 1000000, interval->interval_us);
	u64 weight_us = fixed_min(interval->interval_us, p->window_us);

	LAW_STEP("capacity <- capacity + w (offered / interval - capacity); spare = capacity - arrived / interval");
	if (!s->started)
		s->capacity_q8 = offered_q8;
	else
		s->capacity_q8 = fixed_add(fixed_mul_div(s->capacity_q8, p->window_us - weight_us, p->window_us),
		                           fixed_mul_div(offered_q8, weight_us, p->window_us));
	s->capacity_q8 = fixed_min(s->capacity_q8, LAW_CAPACITY_BPS_MAX << 8);
	s->started |= interval->interval_us != 0;
	out->capacity_Bps = s->capacity_q8 >> 8;
	out->spare_Bps = fixed_signed_difference(out->capacity_Bps, arrived_Bps);
}

LAW_TABLE struct law_capacity measured_capacity = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_capacity),
	.name = "measured",
	.summary = "What the link offered lately, used or not",
	.state_bytes = sizeof(struct measured_state),
	.params_bytes = sizeof(struct measured_params),
	.flags = LAW_CAPACITY_KNOWN,
	LAW_PARAM_LIST(MEASURED_PARAMS),
	LAW_WATCH_LIST(struct measured_state, MEASURED_WATCH),
	.estimate = measured_estimate,
};

#endif /* FADELAB_CAPACITY_MEASURED_H */
