/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define STATE struct vcp_sender_state

static int invariant(const struct vcp_sender_state *s, const struct vcp_sender_params *p)
{
	(void)p;
	/* kappa is at most 1/2, so that 1 + xi is at most 2. */
	return s->log2_growth_q32 < 2 * FIXED_ONE_Q32 && s->srtt_us >= 1 &&
	       s->srtt_ticks_q3 <= 8 * (VCP_RTT_TICKS_MAX + 1) && s->phase_end_us <= now_us + (1ull << 34);
}
