/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How far a law follows routers that let it grow, after losses. A queue without the law may overflow behind routers
 * that have it, and they go on to grant; a channel may lose packets at random. Neither is told from the other by a
 * loss, but by what routers say afterwards: where they hold the flow back, theirs is the bottleneck, and they are to be
 * followed.
 *
 *   a loss          for 32 round trips, its own included, the window grows by no more than Reno's; for twice as many if
 *                   routers were followed again and that led to a loss, up to 2048
 *   held back       by routers, in a round trip: followed again at once, as if there had been no loss
 *   without a loss  for as many round trips, while routers are followed: one doubling is forgotten
 */
#ifndef FADELAB_PART_TRUST_H
#define FADELAB_PART_TRUST_H

#include "law.h"

#define TRUST_BACKOFF_MAX 7u

struct trust {
	u32 round_end_us; /* the lower half */
	u16 reno_rounds;  /* round trips to go in which routers are not followed */
	u16 clean_rounds; /* since they are */
	u8 backoff;       /* how often that has led to a loss lately */
	u8 held_back;     /* by routers, in this round trip */
	u16 reserved;
};

/* 32, 64, ... 2048. */
LAW u16 trust_rounds(u32 backoff)
{
	return (u16)(16u << (backoff & TRUST_BACKOFF_MAX));
}

LAW void trust_lost(struct trust *trust)
{
	if (!trust->reno_rounds && trust->backoff < TRUST_BACKOFF_MAX)
		trust->backoff++;
	trust->reno_rounds = trust_rounds(trust->backoff);
	trust->clean_rounds = 0;
}

/* Whether this ACK ends a round trip; trust_end_round is to follow then. */
LAW u32 trust_round_ends(struct trust *trust, const struct law_ack *ack)
{
	u64 now_us = ack->now_us & 0xffffffff, past_us = (now_us + (1ull << 32) - trust->round_end_us) & 0xffffffff;

	/* Half of the range of 32 bits is more than any round trip. */
	if (past_us >> 31)
		return 0;
	trust->round_end_us = (u32)((now_us + (ack->srtt_us & 0x7fffffff)) & 0xffffffff);
	return 1;
}

LAW void trust_end_round(struct trust *trust)
{
	if (trust->held_back) {
		trust->held_back = 0;
		trust->reno_rounds = 0;
		trust->clean_rounds = 0;
		trust->backoff = 0;
	} else if (trust->reno_rounds) {
		trust->reno_rounds--;
	} else if (trust->backoff) {
		u32 clean_rounds = trust->clean_rounds + 1u, is_enough = clean_rounds >= trust_rounds(trust->backoff);

		trust->backoff -= is_enough ? 1 : 0;
		trust->clean_rounds = is_enough ? 0 : (u16)clean_rounds;
	}
}

#endif /* FADELAB_PART_TRUST_H */
