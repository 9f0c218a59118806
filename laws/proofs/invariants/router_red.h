/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define STATE struct red_state

static int invariant(const struct red_state *s, const struct red_params *p)
{
	(void)p;
	return s->average.length_q16 <= QUEUE_AVERAGE_Q16_MAX && s->min_q16 <= QUEUE_AVERAGE_Q16_MAX &&
	       s->max_q16 >= s->min_q16 + 65536 && s->max_q16 <= 4 * QUEUE_AVERAGE_Q16_MAX &&
	       s->average.q_w_q32 <= FIXED_ONE_Q32 && s->count_pkts <= QUEUE_AVERAGE_MAX &&
	       s->count_bytes <= QUEUE_AVERAGE_MAX;
}

STATE nondet_state(void);

/* p_b and p_a, for any average above the lower threshold. */
void lemma_red_probability(void)
{
	struct red_state s = nondet_state();
	struct red_params p;
	u64 base_q32;

	any_params(red_router.params, red_router.params_n, red_router.params_bytes);
	p = *(const struct red_params *)params;
	__CPROVER_assume(invariant(&s, &p) && s.average.length_q16 >= s.min_q16);
	base_q32 = red_base_q32(&s, &p);
	holds(base_q32 <= FIXED_ONE_Q32);
	if (base_q32 < FIXED_ONE_Q32)
		holds(red_spread_q32(&s, &p, base_q32, (u32)any(1, LAW_PACKET_BYTES_MAX)) <= FIXED_ONE_Q32);
	RETURNED(lemma);
}
