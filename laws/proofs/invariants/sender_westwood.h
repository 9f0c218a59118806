/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define STATE struct westwood_state

static int invariant(const struct westwood_state *s, const struct westwood_params *p)
{
	(void)s;
	(void)p;
	return 1;
}

#define STEP_US_MAX 10000000ull

STATE nondet_state(void);

u64 contract_westwood_step(const struct westwood_state *s, u64 tau_us, u64 sample_Bps, u64 passed_us)
{
	(void)s;
	(void)tau_us;
	holds(sample_Bps <= RATE_BPS_MAX && passed_us <= STEP_US_MAX);
	return any(0, RATE_BPS_MAX);
}

void lemma_westwood_step(void)
{
	struct westwood_state s = nondet_state();
	u64 tau_us = any(1000, 10000000);

	holds(westwood_step(&s, tau_us, any(0, RATE_BPS_MAX), any(0, STEP_US_MAX)) <= RATE_BPS_MAX);
	RETURNED(lemma);
}
