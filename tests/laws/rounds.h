/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: none; it exists to exercise state beyond the kernel's 104 bytes and the counting of round trips that BBR
 * needs (rate_prior_delivered_pkts).
 *
 * In one paragraph: Remembers how many packets were delivered in each of the last 32 round trips, which is too much for
 * the socket's own memory, and keeps twice the largest of them in flight, in recovery too.
 *
 * Law: cwnd = max(4, 2 max over the last 32 round trips of the packets delivered in it).
 *
 * Parameters: none.
 *
 * Divergences: none.
 *
 * Figures: none.
 */
#ifndef FADELAB_TEST_ROUNDS_H
#define FADELAB_TEST_ROUNDS_H

#include "fixed.h"
#include "law.h"

#define ROUNDS 32

struct rounds_state {
	u64 delivered_pkts[ROUNDS];
	u64 round_end_pkts;   /* the round ends with the first packet sent after this many were delivered */
	u64 round_start_pkts; /* delivered when it began */
	u64 rounds;
};

_Static_assert(sizeof(struct rounds_state) > LAW_STATE_BYTES_MAX, "or it exercises nothing");

LAW void rounds_on_ack(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	struct rounds_state *s = state;
	u64 largest_pkts = 2;

	(void)params;
	if (ack->rate_interval_us && ack->rate_prior_delivered_pkts >= s->round_end_pkts) {
		s->delivered_pkts[s->rounds % ROUNDS] = fixed_sub(ack->delivered_total_pkts, s->round_start_pkts);
		s->rounds++;
		s->round_start_pkts = ack->delivered_total_pkts;
		s->round_end_pkts = ack->delivered_total_pkts;
	}
	for (int i = 0; i < ROUNDS; i++)
		largest_pkts = fixed_max(largest_pkts, s->delivered_pkts[i]);
	control->cwnd_pkts = (u32)fixed_min(2 * fixed_min(largest_pkts, 1u << 29), 1u << 30);
}

LAW_TABLE struct law_sender rounds_sender = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_sender),
	.name = "rounds",
	.summary = "Test: keeps in flight twice what the best of 32 round trips delivered",
	.state_bytes = sizeof(struct rounds_state),
	.flags = LAW_SENDER_OWNS_RECOVERY | LAW_SENDER_SOCKET_STORAGE,
	LAW_NO_PARAMS,
	.on_ack = rounds_on_ack,
};

#endif /* FADELAB_TEST_ROUNDS_H */
