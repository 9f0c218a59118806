/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define STATE struct dcp_ew_gateway_state

static int halves_hold(const struct dcp_ew_halves *halves)
{
	return halves->half[PAIR_ROLE_MOST] <= 3 && halves->half[PAIR_ROLE_LEAST] <= 3;
}

static int invariant(const struct dcp_ew_gateway_state *s, const struct dcp_ew_gateway_params *p)
{
	(void)p;
	return halves_hold(&s->sent) && halves_hold(&s->received);
}
