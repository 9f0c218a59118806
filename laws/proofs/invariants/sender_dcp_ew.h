/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define STATE struct pair_sender_state

static int invariant(const struct pair_sender_state *s, const struct pair_sender_params *p)
{
	(void)p;
	/* 1 + xi is at most 6. */
	return s->vcp.log2_growth_q32 < 3 * FIXED_ONE_Q32 && s->vcp.srtt_us >= 1 &&
	       s->vcp.srtt_ticks_q3 <= 8 * (VCP_RTT_TICKS_MAX + 1) && s->vcp.phase_end_us <= now_us + (1ull << 34) &&
	       s->most <= 3 && s->least <= 3;
}
