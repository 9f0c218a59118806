/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define STATE struct red_state

static int invariant(const struct red_state *s, const struct red_params *p)
{
	(void)p;
	return s->average_q16 <= RED_LENGTH_Q16_MAX && s->min_q16 <= RED_LENGTH_Q16_MAX &&
	       s->max_q16 >= s->min_q16 + 65536 && s->max_q16 <= 4 * RED_LENGTH_Q16_MAX && s->q_w_q32 <= FIXED_ONE_Q32 &&
	       s->count_pkts <= RED_LENGTH_MAX && s->count_bytes <= RED_LENGTH_MAX;
}
