/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The moving average of a queue as RED keeps it (Floyd, Jacobson 1993, section 4; ns-2.35 for what a link could have
 * sent while nothing waited): avg <- avg + q_w (q - avg) with each arrival, and avg <- (1 - q_w)^m avg before it, m
 * packets that could have left meanwhile. Idleness begins when the last packet has left at the configured rate.
 */
#ifndef FADELAB_PART_QUEUE_AVERAGE_H
#define FADELAB_PART_QUEUE_AVERAGE_H

#include "fixed.h"
#include "law.h"

/* No queue is longer. */
#define QUEUE_AVERAGE_MAX (1ull << 40)
#define QUEUE_AVERAGE_Q16_MAX (QUEUE_AVERAGE_MAX << 16)

/* Lengths are packets or bytes, as the law counts. */
struct queue_average {
	u64 length_q16;
	u64 q_w_q32;
	u64 log2_decay_q32; /* -log2(1 - q_w) */
	u64 rate_q16;       /* packets of the mean size per second */
	u64 capacity_Bps;
};

LAW u64 queue_average_rate_q16(u64 capacity_Bps, u64 mean_bytes)
{
	return fixed_div(fixed_min(capacity_Bps, 1ull << 44) << 16, mean_bytes);
}

LAW void queue_average_init(struct queue_average *average, u64 capacity_Bps, u64 rate_q16, u64 q_w_q32)
{
	u64 kept_q32 = fixed_max(fixed_sub(FIXED_ONE_Q32, q_w_q32), 1);

	average->capacity_Bps = capacity_Bps;
	average->rate_q16 = rate_q16;
	average->q_w_q32 = q_w_q32;
	average->log2_decay_q32 = fixed_log2_q32(fixed_mul_div(FIXED_ONE_Q32, FIXED_ONE_Q32, kept_q32));
}

/* It falls while nothing waits. */
LAW void queue_average_fade(struct queue_average *average, const struct law_queue *queue)
{
	u64 sent_us = fixed_add(queue->last_start_us, fixed_mul_div(queue->last_bytes, 1000000, average->capacity_Bps));
	u64 missed = fixed_mul_div(average->rate_q16, fixed_sub(queue->now_us, sent_us), 1000000) >> 16;
	u64 lost_q32 = fixed_one_minus_exp2_neg_q32(fixed_mul(missed, average->log2_decay_q32));

	average->length_q16 -= fixed_mul_div(average->length_q16, lost_q32, FIXED_ONE_Q32);
}

/* An arrival that finds `queue` units waiting. */
LAW void queue_average_add(struct queue_average *average, u64 queue_q16)
{
	if (queue_q16 >= average->length_q16)
		average->length_q16 += fixed_mul_high(queue_q16 - average->length_q16, average->q_w_q32 << 31) << 1;
	else
		average->length_q16 -= fixed_mul_high(average->length_q16 - queue_q16, average->q_w_q32 << 31) << 1;
}

#endif /* FADELAB_PART_QUEUE_AVERAGE_H */
