/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: the assumption of VCP and XCP (vcp-ton-2010 section II): the router knows its link.
 *
 * In one paragraph: The capacity is what the operator configured. Spare is what of it did not arrive.
 *
 * Law: capacity = configured; spare = configured - arrived / interval.
 *
 * Parameters: none.
 *
 * Divergences: none.
 *
 * Figures: all of vcp-ton-2010.
 */
#ifndef FADELAB_CAPACITY_CONFIGURED_H
#define FADELAB_CAPACITY_CONFIGURED_H

#include "fixed.h"
#include "law.h"

LAW void configured_estimate(void *state, const void *params, const struct law_interval *interval,
                             struct law_estimate *out)
{
	(void)state;
	(void)params;
	u64 arrived_Bps = fixed_mul_div(interval->arrived_bytes, 1000000, interval->interval_us);

	LAW_STEP("capacity = configured; spare = configured - arrived / interval");
	out->capacity_Bps = interval->configured_Bps;
	out->spare_Bps = fixed_signed_difference(interval->configured_Bps, arrived_Bps);
}

LAW_TABLE struct law_capacity configured_capacity = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_capacity),
	.name = "configured",
	.summary = "The capacity that the operator configured",
	.flags = LAW_CAPACITY_KNOWN,
	LAW_NO_PARAMS,
	.estimate = configured_estimate,
};

#endif /* FADELAB_CAPACITY_CONFIGURED_H */
