/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define STATE struct rem_state

/* The last interval began in the past. */
static int invariant(const struct rem_state *s, const struct rem_params *p)
{
	(void)p;
	return s->price_q32 <= REM_PRICE_Q32_MAX && s->probability_q32 <= FIXED_ONE_Q32 && s->interval_start_us <= now_us;
}
