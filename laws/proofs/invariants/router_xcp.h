/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define STATE struct xcp_router_state

static int invariant(const struct xcp_router_state *s, const struct xcp_router_params *p)
{
	(void)p;
	return s->positive_q16 <= XCP_RESIDUE_Q16_MAX && s->negative_q16 <= XCP_RESIDUE_Q16_MAX && s->carry_q16 < 65536 &&
	       s->packets <= arrived_pkts[XCP_TIMER_ESTIMATE] && s->mean_rtt_us <= LAW_TIME_US_MAX &&
	       s->interval_start_us <= now_us;
}
