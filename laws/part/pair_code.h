/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A load factor in two packets of two bits each, as DPCP and DCP-EW carry it (dcp-ew-2010 section III): packets whose
 * role bit is 0 carry the most significant half, those with 1 the least.
 *
 * The levels are this project's own, because the paper leaves them to one that is not to be had. The most significant
 * half alone tells VCP's region (low, high, overload), so that an error in the least significant half never leaves the
 * region. There are two codes:
 *   sixteen  the paper's four bits; a half is any of 00 to 11. Half 00 reads Not-ECT in an IP header: other routers
 *            may drop such packets instead of marking, and a field that was cleared looks like a half.
 *   nine     ours: a half is 01, 10 or 11, which no router of RFC 3168 takes for Not-ECT; 00 says that it was cleared.
 *
 * Routers have no memory of flows and keep the larger of each half. What is joined behind several routers then lies in
 * the region of the most loaded one, and from its level up to 3 levels above (nine: 2): proven in proofs/pair.c.
 */
#ifndef FADELAB_PART_PAIR_CODE_H
#define FADELAB_PART_PAIR_CODE_H

#include "fixed.h"
#include "law.h"

#define PAIR_ROLE_MOST 0u
#define PAIR_ROLE_LEAST 1u

enum pair_code {
	PAIR_SIXTEEN = 0,
	PAIR_NINE = 1,
};

/* VCP's codes (sender/vcp.h), which the most significant half stands for. */
enum pair_region {
	PAIR_NONE = 0,
	PAIR_LOW = 1,
	PAIR_HIGH = 2,
	PAIR_OVER = 3,
};

/* Level of a load in whole percent, sixteen: steps of 10 below 80, of 5 below 110, then 110 and 120. */
LAW u32 pair_level_of_sixteen(u64 percent)
{
	if (percent < 80)
		return (u32)percent / 10;
	if (percent < 110)
		return 8 + ((u32)percent - 80) / 5;
	return percent < 120 ? 14 : 15;
}

/* Nine: from 40 and 60, from 80, 87 and 94, from 100, 105 and 120. */
LAW u32 pair_level_of_nine(u64 percent)
{
	if (percent < 80)
		return (u32)(percent >= 40) + (percent >= 60);
	if (percent < 100)
		return 3 + (u32)(percent >= 87) + (percent >= 94);
	return 6 + (u32)(percent >= 105) + (percent >= 120);
}

/* The level of a load in whole percent. */
LAW u32 pair_level(u64 code, u64 percent)
{
	return code == PAIR_NINE ? pair_level_of_nine(percent) : pair_level_of_sixteen(percent);
}

/* Upper edge in percent of a level of low load, at most 80: the load that a cautious sender assumes. */
LAW u32 pair_low_percent(u64 code, u32 level)
{
	return (u32)fixed_min(code == PAIR_NINE ? 40 + 20ull * level : 10 + 10ull * level, 80);
}

/* What a packet of this role carries of a level: 0 to 3, or with nine levels 1 to 3. */
LAW u32 pair_symbol(u64 code, u32 level, u32 role)
{
	if (code == PAIR_NINE)
		return 1 + (role == PAIR_ROLE_MOST ? level / 3 % 3 : level % 3);
	return role == PAIR_ROLE_MOST ? (level >> 2) & 3 : level & 3;
}

/* The level of two halves, 0 to 3; with nine levels neither is 0. */
LAW u32 pair_join(u64 code, u32 most, u32 least)
{
	if (code == PAIR_NINE)
		return (u32)(3 * fixed_sub(most, 1) + fixed_sub(least, 1));
	return most << 2 | least;
}

/* What stands in for a least significant half that is not known: the middle of three, the upper middle of four. */
#define PAIR_MIDDLE 2u
/* The end of the region with the larger load. */
#define PAIR_EDGE 3u

/* enum pair_region of a most significant half; PAIR_NONE where it was cleared. */
LAW u32 pair_region(u64 code, u32 most)
{
	if (code == PAIR_NINE)
		return most;
	return most < 2 ? PAIR_LOW : most;
}

/* Place of a level among those of overload, 0 to 3; of another level 0. */
LAW u32 pair_over_place(u64 code, u32 level)
{
	return (u32)fixed_min(fixed_sub(level, code == PAIR_NINE ? 6 : 12), 3);
}

#endif /* FADELAB_PART_PAIR_CODE_H */
