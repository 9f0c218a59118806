/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The heuristic of vcp-ton-2010 section IV-D that tells losses by congestion from losses by errors: a bit map of the
 * last N = 32 ACKs, one bit each for "this ACK reported congestion". When its newest T bits are all set, a loss is
 * taken for congestion. Only the newest T bits matter, so N has no influence.
 */
#ifndef FADELAB_PART_LOSS_HISTORY_H
#define FADELAB_PART_LOSS_HISTORY_H

#include "law.h"

LAW u32 loss_history_push(u32 history, u32 congested)
{
	return history << 1 | (congested ? 1 : 0);
}

/* The flag CF: 1 when the newest `threshold` bits, 1 to 32, are set. */
LAW u32 loss_history_congested(u32 history, u64 threshold)
{
	u32 mask = (u32)((1ull << (threshold & 63)) - 1);

	return (history & mask) == mask;
}

#endif /* FADELAB_PART_LOSS_HISTORY_H */
