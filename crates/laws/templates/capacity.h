/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: where the estimate comes from: paper, section, equation.
 *
 * In one paragraph: What a link sent while it was busy, over the time that it was busy, is what it can carry; a moving
 * average of it is the estimate. A skeleton to begin with: law.h says what a part sees and may say.
 *
 * Law:
 *   each interval with traffic    capacity += weight (sent / busy - capacity)
 *   always                        spare = capacity - arrived / interval
 *
 * Parameters: the X-macro NEWLAW_PARAMS below.
 *
 * Divergences: none yet.
 */
#ifndef NEWLAW_H
#define NEWLAW_H

#include "fixed.h"
#include "law.h"

/* name, default, unit, scale, min, max, source, meaning: a user writes default / scale, here 0.125. */
#define NEWLAW_PARAMS(P) P(weight, 125, "1", 1000, 1, 1000, "a guess", "Weight of the newest interval")

struct newlaw_params {
	NEWLAW_PARAMS(LAW_PARAM_FIELD)
};

/* Zeroed before init. */
struct newlaw_state {
	u64 capacity_Bps;
};

LAW void newlaw_init(void *state, const void *params, const struct law_link *link)
{
	struct newlaw_state *s = state;

	(void)params;
	s->capacity_Bps = link->capacity_Bps;
}

LAW void newlaw_estimate(void *state, const void *params, const struct law_interval *interval, struct law_estimate *out)
{
	struct newlaw_state *s = state;
	const struct newlaw_params *p = params;

	if (interval->busy_us) {
		u64 seen_Bps = fixed_mul_div(interval->sent_bytes, 1000000, interval->busy_us);

		s->capacity_Bps = (s->capacity_Bps * (1000 - p->weight) + seen_Bps * p->weight) / 1000;
	}
	out->capacity_Bps = s->capacity_Bps;
	out->spare_Bps = fixed_signed_difference(
		s->capacity_Bps, fixed_mul_div(interval->arrived_bytes, 1000000, fixed_max(interval->interval_us, 1)));
}

LAW_TABLE struct law_capacity newlaw_capacity = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_capacity),
	.name = "newlaw",
	.summary = "What the link sent while it was busy, over the time that it was busy",
	.state_bytes = sizeof(struct newlaw_state),
	.params_bytes = sizeof(struct newlaw_params),
	.flags = LAW_CAPACITY_KNOWN,
	LAW_PARAM_LIST(NEWLAW_PARAMS),
	.init = newlaw_init,
	.estimate = newlaw_estimate,
};

#endif /* NEWLAW_H */
