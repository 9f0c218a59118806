/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The bounds by window of VCP's release 0.1 (Xia and others, February 2006): L of what an ACK adds in additive
 * increase, M of xi in multiplicative increase. A window is looked up by its first two digits, 90 places a decade.
 */
#ifndef FADELAB_PART_VCP_BOUNDS_H
#define FADELAB_PART_VCP_BOUNDS_H

#include "fixed.h"

/* Stands in place of L where additive increase has no bound. */
#define VCP_UNBOUNDED_Q32 0xffffffffu

/* L and M between two powers of ten, in millionths; L falls by 2^-ai_fall. */
struct vcp_decade {
	u32 floor_pkts;
	u32 ai_from, mi_from, mi_to;
	u64 ai_fall_q32;
};

/* Binary logarithms of 5/3 (0.1 to 0.06, 0.01 to 0.006), 3/2 (0.06 to 0.04, 0.006 to 0.004) and 2, rounded. */
#define VCP_LOG2_5_3_Q32 3165243125ull
#define VCP_LOG2_3_2_Q32 2512394810ull
#define VCP_LOG2_2_Q32 FIXED_ONE_Q32

LAW struct vcp_decade vcp_decade_of(u64 cwnd_pkts)
{
	if (cwnd_pkts < 10)
		return (struct vcp_decade){1, 100000, 1000000, 500000, VCP_LOG2_5_3_Q32};
	if (cwnd_pkts < 100)
		return (struct vcp_decade){10, 60000, 500000, 200000, VCP_LOG2_3_2_Q32};
	if (cwnd_pkts < 1000)
		return (struct vcp_decade){100, 40000, 200000, 100000, VCP_LOG2_2_Q32};
	if (cwnd_pkts < 10000)
		return (struct vcp_decade){1000, 20000, 100000, 64000, VCP_LOG2_2_Q32};
	if (cwnd_pkts < 100000)
		return (struct vcp_decade){10000, 10000, 64000, 44000, VCP_LOG2_5_3_Q32};
	if (cwnd_pkts < 1000000)
		return (struct vcp_decade){100000, 6000, 44000, 32000, VCP_LOG2_3_2_Q32};
	if (cwnd_pkts < 10000000)
		return (struct vcp_decade){1000000, 4000, 32000, 24000, VCP_LOG2_2_Q32};
	return (struct vcp_decade){10000000, 2000, 24000, 24000, 0};
}

/* The window's first two digits, 10 to 100: its place within the decade. Below 100 packets the nearest, as the release
 * looks it up, above that the next lower. */
LAW u32 vcp_digits(u64 cwnd_q32, u64 floor_pkts)
{
	u64 half = floor_pkts < 100 ? 1u << 15 : 0;

	return (u32)fixed_min((fixed_div((cwnd_q32 >> 16) * 10, floor_pkts) + half) >> 16, 100);
}

/* log10(2) with 30 fractional bits, rounded. */
#define VCP_LOG10_2_Q30 323228497ull

/* log10(digits / 10), 0 to 1: how far into the decade the window is. Without branches, for the verifier's sake. */
LAW u64 vcp_into_decade_q32(u64 digits)
{
	u64 doublings = 3 - fixed_less(digits, 20) - fixed_less(digits, 40) - fixed_less(digits, 80);
	u64 mantissa = ((digits << (59 - doublings)) / 10) << 4;
	u64 log2_q32 = doublings << 32 | fixed_log2_mantissa_q32(mantissa);

	return fixed_min((log2_q32 * VCP_LOG10_2_Q30) >> 30, 0xffffffff);
}

/* L: a power of the window between its values at two powers of ten. */
LAW u32 vcp_ai_bound_q32(const struct vcp_decade *decade, u64 at_q32)
{
	u64 from_q32 = ((u64)decade->ai_from << 32) / 1000000;
	u64 lost_q32 = fixed_one_minus_exp2_neg_q32((decade->ai_fall_q32 * at_q32) >> 32);

	return (u32)(from_q32 - ((from_q32 * lost_q32) >> 32));
}

/* M: linear in the logarithm of the window. */
LAW u64 vcp_mi_bound_q32(const struct vcp_decade *decade, u64 at_q32)
{
	u64 from_q32 = ((u64)decade->mi_from << 32) / 1000000;
	u64 fall_q32 = ((u64)(decade->mi_from - decade->mi_to) << 32) / 1000000;

	return from_q32 - ((fall_q32 * at_q32) >> 32);
}

#endif /* FADELAB_PART_VCP_BOUNDS_H */
