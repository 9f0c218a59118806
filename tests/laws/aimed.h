/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: none; it exists to exercise parts that give the aggregate feedback by themselves.
 *
 * In one paragraph: The part knows no capacity. It tells the router's law by how much all flows together may grow so
 * that a given share of the buffer is filled, and never lets them grow by more than a share of what came through.
 *
 * Law: F = calm (received - arrived) + gain (share limit - queue), rates in bytes per second over the interval, at most
 * rise times what the far end received.
 *
 * Parameters: the X-macro AIMED_PARAMS below.
 *
 * Divergences: a kernel, which does not know what was received, takes what was sent.
 *
 * Figures: none.
 */
#ifndef FADELAB_TEST_AIMED_H
#define FADELAB_TEST_AIMED_H

#include "fixed.h"
#include "law.h"

/* clang-format off */
#define AIMED_PARAMS(P)                                                                                                \
	P(share, 125, "1", 1000, 1, 1000, "arbitrary", "Part of the buffer that shall be filled")                          \
	P(gain, 1000, "1", 1000, 1, 100000, "arbitrary", "Part of the distance that is made up in a second")               \
	P(calm, 400, "1", 1000, 0, 1000, "XCP's alpha", "Weight of the rates")                                             \
	P(rise, 500, "1", 1000, 1, 10000, "arbitrary", "Most that is given, as a part of what was received")
/* clang-format on */

struct aimed_params {
	AIMED_PARAMS(LAW_PARAM_FIELD)
};

LAW u64 aimed_received_bytes(const struct law_interval *interval)
{
#ifdef __bpf__
	return interval->sent_bytes;
#else
	return interval->received_bytes;
#endif
}

LAW void aimed_estimate(void *state, const void *params, const struct law_interval *interval, struct law_estimate *out)
{
	const struct aimed_params *p = params;
	u64 received_Bps = fixed_mul_div(aimed_received_bytes(interval), 1000000, interval->interval_us);
	u64 arrived_Bps = fixed_mul_div(interval->arrived_bytes, 1000000, interval->interval_us);
	u64 wanted_bytes = fixed_mul_div(interval->limit_bytes, p->share, 1000);
	u64 most_Bps = fixed_min(fixed_mul_div(received_Bps, p->rise, 1000), LAW_CAPACITY_BPS_MAX);
	s64 missing_bytes = fixed_signed_difference(wanted_bytes, interval->queue_bytes);
	s64 spare_Bps = fixed_signed_difference(received_Bps, arrived_Bps);

	(void)state;
	out->aggregate_Bps = fixed_signed_add(fixed_signed_mul_div(spare_Bps, p->calm, 1000),
	                                      fixed_signed_mul_div(missing_bytes, p->gain, 1000));
	if (out->aggregate_Bps > (s64)most_Bps)
		out->aggregate_Bps = (s64)most_Bps;
	out->has_aggregate = 1;
	out->spare_Bps = out->aggregate_Bps;
}

LAW_TABLE struct law_capacity aimed_capacity = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_capacity),
	.name = "aimed",
	.summary = "Test: fills a share of the buffer",
	.params_bytes = sizeof(struct aimed_params),
	LAW_PARAM_LIST(AIMED_PARAMS),
	.estimate = aimed_estimate,
};

#endif /* FADELAB_TEST_AIMED_H */
