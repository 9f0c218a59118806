/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define STATE struct vcp_router_state

static int invariant(const struct vcp_router_state *s, const struct vcp_router_params *p)
{
	(void)p;
	return s->code >= LAW_ECN_ECT1 && s->code <= LAW_ECN_CE && s->interval_start_us <= now_us &&
	       s->target_gamma >= VCP_TARGET_MIN && s->target_gamma <= VCP_TARGET_MAX &&
	       s->used_intervals < VCP_TARGET_INTERVALS;
}
