/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define STATE struct pair_router_state

static int invariant(const struct pair_router_state *s, const struct pair_router_params *p)
{
	return s->vcp.code >= LAW_ECN_ECT1 && s->vcp.code <= LAW_ECN_CE && s->vcp.interval_start_us <= now_us &&
	       s->vcp.target_gamma >= VCP_TARGET_MIN && s->vcp.target_gamma <= VCP_TARGET_MAX &&
	       s->vcp.used_intervals < VCP_TARGET_INTERVALS && s->level <= (p->code == PAIR_NINE ? 8 : 15);
}
