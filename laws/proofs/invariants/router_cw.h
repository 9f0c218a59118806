/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define STATE struct cw_state

static int invariant(const struct cw_state *s, const struct cw_params *p)
{
	(void)p;
	return s->average.length_q16 <= QUEUE_AVERAGE_Q16_MAX && s->average.q_w_q32 <= FIXED_ONE_Q32;
}
