/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define STATE struct cubic_state

static int invariant(const struct cubic_state *s, const struct cubic_params *p)
{
	(void)p;
	/* Milliseconds of a cube root. */
	return s->k_us <= 1000ull * 2642245;
}

#define CURVE_Q32_MAX ((u64)WINDOW_PKTS_MAX << 32)

u64 contract_cubic_curve_q32(const struct cubic_params *p, u64 distance_us)
{
	(void)p;
	(void)distance_us;
	return any(0, CURVE_Q32_MAX);
}

void lemma_cubic_curve_q32(void)
{
	struct cubic_params p = {.c = any(1, 100000)};

	holds(cubic_curve_q32(&p, any(0, FIXED_MAX)) <= CURVE_Q32_MAX);
	RETURNED(lemma);
}
