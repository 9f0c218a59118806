/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A load factor of 16 levels in two packets of two bits each, as DPCP and DCP-EW carry it (dcp-ew-2010 section III):
 * packets whose role bit is 0 carry the most significant half, those with 1 the least.
 *
 * The levels are this project's own, because the paper leaves them to one that is not to be had: the most significant
 * half is VCP's region (below 0.4, low, high, overload), so that an error in the least significant half never leaves
 * the region. Half 0 reads Not-ECT in an IP header; routers of another kind may drop such packets instead of marking.
 */
#ifndef FADELAB_PART_PAIR_CODE_H
#define FADELAB_PART_PAIR_CODE_H

#include "fixed.h"
#include "law.h"

#define PAIR_ROLE_MOST 0u
#define PAIR_ROLE_LEAST 1u
/* First level of overload. */
#define PAIR_LEVEL_OVER 12u

/* Level of a load factor with 16 fractional bits: steps of 0.10 below 0.80, 0.05 below 1, then 1.05, 1.10, 1.20. */
LAW u32 pair_level(u64 load_q16)
{
	u64 percent = fixed_min(fixed_mul(load_q16, 100) >> 16, 1000);

	if (percent < 80)
		return (u32)percent / 10;
	if (percent < 110)
		return 8 + ((u32)percent - 80) / 5;
	return percent < 120 ? 14 : 15;
}

/* Upper edge of a level in percent: what a cautious sender assumes; 200 for the last one, which has none. */
LAW u32 pair_percent(u32 level)
{
	if (level < 8)
		return 10 * level + 10;
	if (level < 14)
		return 85 + 5 * (level - 8);
	return level == 14 ? 120 : 200;
}

LAW u32 pair_half(u32 level, u32 role)
{
	return role == PAIR_ROLE_MOST ? (level >> 2) & 3 : level & 3;
}

LAW u32 pair_join(u32 most, u32 least)
{
	return (most & 3) << 2 | (least & 3);
}

#endif /* FADELAB_PART_PAIR_CODE_H */
