/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The heuristic of vcp-ton-2010 section IV-D that tells losses by congestion from losses by errors: a bit map BM of the
 * last N ACKs, one bit each for "this ACK reported congestion"; the paper's best were N = 32 and T = 16. A loss is
 * taken for congestion while the flag CF is set, which the paper defines in two forms:
 *   consecutive  the newest T bits are all set; N only bounds T
 *   total        at least T of the N bits are set, wherever they stand
 * With T above N the flag is never set.
 */
#ifndef FADELAB_PART_LOSS_HISTORY_H
#define FADELAB_PART_LOSS_HISTORY_H

#include "law.h"

enum loss_history_form {
	LOSS_HISTORY_CONSECUTIVE = 0,
	LOSS_HISTORY_TOTAL = 1,
};

LAW u32 loss_history_push(u32 history, u32 congested)
{
	return history << 1 | (congested ? 1 : 0);
}

/* The newest `n` bits, 1 to 32. */
LAW u32 loss_history_mask(u64 n)
{
	return (u32)((1ull << (n & 63)) - 1);
}

/* How many bits are set: sums of neighbours, two by two; processors that BPF runs on need not have an instruction. */
LAW u32 loss_history_count(u32 bits)
{
	bits = (bits & 0x55555555) + (bits >> 1 & 0x55555555);
	bits = (bits & 0x33333333) + (bits >> 2 & 0x33333333);
	bits = (bits & 0x0f0f0f0f) + (bits >> 4 & 0x0f0f0f0f);
	bits = (bits & 0x00ff00ff) + (bits >> 8 & 0x00ff00ff);
	return (bits & 0xffff) + (bits >> 16);
}

/* The flag CF over the newest `size` bits with the threshold T, both 1 to 32. */
LAW u32 loss_history_congested(u32 history, u64 form, u64 size, u64 threshold)
{
	u32 newest = loss_history_mask(threshold);
	u32 kept = history & loss_history_mask(size);

	if (form == LOSS_HISTORY_TOTAL)
		return loss_history_count(kept) >= threshold;
	return (kept & newest) == newest;
}

#endif /* FADELAB_PART_LOSS_HISTORY_H */
