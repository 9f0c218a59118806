/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The load factor of a link as VCP's routers compute it, and the three codes of its regions. Equations and divergences
 * stand in router/vcp.h. DPCP and DCP-EW tell the same load more finely.
 */
#ifndef FADELAB_PART_VCP_LOAD_H
#define FADELAB_PART_VCP_LOAD_H

#include "fixed.h"
#include "law.h"

/* clang-format off */
#define VCP_LOAD_PARAMS(P)                                                                                             \
	P(trho_us, 200000, "us", 1, 10000, 10000000, "SIGCOMM 2005 table 1",                                               \
	  "Interval at which the load factor is updated")                                                                  \
	P(tq_us, 10000, "us", 1, 1000, 10000000, "SIGCOMM 2005 table 1",                                                   \
	  "Interval at which the queue is sampled")                                                                        \
	P(kappa_q, 500000, "1", 1000000, 0, 10000000, "SIGCOMM 2005 table 1",                                              \
	  "Share of the standing queue that counts as load")                                                               \
	P(gamma, 980000, "1", 1000000, 100000, 1000000, "ABC's VCP queue (NSDI 2020); release 0.95",                       \
	  "Share of the capacity that the law aims at")                                                                    \
	P(target, 0, "gamma|table|moving", 1, 0, 2, "SIGCOMM 2005; author's code has the others",                          \
	  "Whether the share aimed at is gamma, from a table by capacity, or moved until the load meets a goal")           \
	P(queue_filter, 0, "average|release", 1, 0, 1, "authors' release 0.1",                                             \
	  "Standing queue: a moving average, or the last mean divided by 16")                                              \
	P(queue_weight, 250000, "1", 1000000, 1000, 1000000, "author's code",                                              \
	  "Weight of the newest interval in the standing queue")                                                           \
	P(load_weight, 1000000, "1", 1000000, 1000, 1000000, "author's code: off, or 0.75",                                \
	  "Weight of the newest interval in the load factor; 1 does not smooth")                                           \
	P(rounding, 0, "up|exact", 1, 0, 1, "author's code",                                                               \
	  "Whether the load factor is rounded up to whole percent")
/* clang-format on */

struct vcp_router_params {
	VCP_LOAD_PARAMS(LAW_PARAM_FIELD)
};

enum vcp_router_timer {
	VCP_TIMER_QUEUE = 0,
	VCP_TIMER_LOAD = 1,
};

struct vcp_router_state {
	u64 queue_sum_bytes;
	u64 queue_samples;
	u64 queue_smooth_q8; /* bytes with 8 fractional bits */
	u64 load_q32;        /* 1.0 is 2^32 */
	u64 interval_start_us;
	u64 target_gamma; /* what gamma stands at where the target moves, in millionths */
	u64 used_sum;     /* of rho gamma in millionths, over the intervals since it was moved */
	u32 used_intervals;
	u32 code; /* 1 low, 2 high, 3 overload */
};

/* The target of the release: where it starts, its range, and after how many intervals it moves. */
#define VCP_TARGET_FIRST 950000u
#define VCP_TARGET_MIN 100000u
#define VCP_TARGET_MAX 999000u
#define VCP_TARGET_INTERVALS 10u

LAW void vcp_router_init(void *state, const void *params, const struct law_link *link, u64 due_us[LAW_TIMERS_MAX])
{
	struct vcp_router_state *s = state;
	const struct vcp_router_params *p = params;

	s->code = LAW_ECN_ECT1;
	s->target_gamma = VCP_TARGET_FIRST;
	s->interval_start_us = link->now_us;
	due_us[VCP_TIMER_QUEUE] = link->now_us + p->tq_us;
	due_us[VCP_TIMER_LOAD] = link->now_us + p->trho_us;
}

/* Rows of the author's table begin at 0.66 of a power of ten of bit/s; here in bytes per second. */
#define VCP_ROW_BPS(power) ((power)*66ull / 800)

/* A share of the capacity to aim at, in millionths, and the step by which the release moves its target towards it. */
struct vcp_goal {
	u64 gamma;
	u64 step;
};

LAW struct vcp_goal vcp_goal_of(u64 capacity_Bps)
{
	if (capacity_Bps < VCP_ROW_BPS(1000ull))
		return (struct vcp_goal){800000, 20000};
	if (capacity_Bps < VCP_ROW_BPS(10000ull))
		return (struct vcp_goal){850000, 10000};
	if (capacity_Bps < VCP_ROW_BPS(100000ull))
		return (struct vcp_goal){890000, 8000};
	if (capacity_Bps < VCP_ROW_BPS(1000000ull))
		return (struct vcp_goal){920000, 6000};
	if (capacity_Bps < VCP_ROW_BPS(10000000ull))
		return (struct vcp_goal){940000, 5000};
	if (capacity_Bps < VCP_ROW_BPS(100000000ull))
		return (struct vcp_goal){960000, 4000};
	if (capacity_Bps < VCP_ROW_BPS(1000000000ull))
		return (struct vcp_goal){975000, 3000};
	if (capacity_Bps < VCP_ROW_BPS(10000000000ull))
		return (struct vcp_goal){985000, 2000};
	if (capacity_Bps < VCP_ROW_BPS(100000000000ull))
		return (struct vcp_goal){990000, 1000};
	if (capacity_Bps < VCP_ROW_BPS(1000000000000ull))
		return (struct vcp_goal){992000, 1000};
	return (struct vcp_goal){993000, 1000};
}

/* The share of the capacity that is aimed at, in millionths. */
LAW u64 vcp_gamma(const struct vcp_router_state *s, const struct vcp_router_params *p, u64 capacity_Bps)
{
	if (p->target == 0)
		return p->gamma;
	return p->target == 1 ? vcp_goal_of(capacity_Bps).gamma : s->target_gamma;
}

/* Takes note of an interval's load and moves the target after ten of them; their mean counts in ten-thousandths. */
LAW void vcp_move_target(struct vcp_router_state *s, u64 load_q32, u64 capacity_Bps)
{
	struct vcp_goal goal = vcp_goal_of(capacity_Bps);
	u64 mean;

	s->used_sum = fixed_add(s->used_sum, fixed_mul_div(load_q32, s->target_gamma, FIXED_ONE_Q32));
	s->used_intervals = (s->used_intervals + 1) % VCP_TARGET_INTERVALS;
	if (s->used_intervals)
		return;
	mean = fixed_add(s->used_sum / VCP_TARGET_INTERVALS, 50) / 100;
	if (mean < goal.gamma / 100) {
		LAW_STEP("divergence 1, moving target: the load was below its goal, gamma += step");
		s->target_gamma = fixed_min(s->target_gamma + goal.step, VCP_TARGET_MAX);
	} else if (mean > goal.gamma / 100) {
		LAW_STEP("divergence 1, moving target: the load was above its goal, gamma -= step");
		s->target_gamma = fixed_max(fixed_sub(s->target_gamma, goal.step), VCP_TARGET_MIN);
	}
	s->used_sum = 0;
}

/* Beyond this load all is the same; a smoothed load factor must not take for ever to come back from infinity. */
#define VCP_LOAD_Q32_MAX (10ull << 32)

/* rho with 32 fractional bits, at most VCP_LOAD_Q32_MAX, which is also any load on a link that carries nothing. */
LAW u64 vcp_load_q32(const struct vcp_router_params *p, u64 gamma, u64 arrived_bytes, u64 queue_q8, u64 capacity_Bps,
                     u64 interval_us)
{
	u64 queue_load_q8 = fixed_mul_div(queue_q8, p->kappa_q, 1000000);
	u64 load_q8 = fixed_add(fixed_mul(arrived_bytes, 256), queue_load_q8);
	u64 target_q8 = fixed_mul_div(fixed_mul(capacity_Bps, 256), fixed_mul(interval_us, gamma), 1000000000000);

	if (target_q8 == 0) {
		LAW_STEP("divergence 4: the link offered nothing, anything that arrives or waits is overload");
		return load_q8 ? VCP_LOAD_Q32_MAX : 0;
	}
	LAW_STEP("load factor: rho = (lambda + kappa_q q) / (gamma C t_rho)");
	return fixed_min(fixed_mul_div(load_q8, FIXED_ONE_Q32, target_q8), VCP_LOAD_Q32_MAX);
}

LAW u32 vcp_code_of(const struct vcp_router_params *p, u64 load_q32)
{
	/* floor(100 rho + 1) < 80 is rho < 0.79, and < 100 is rho < 0.99. */
	u64 high = p->rounding ? 80 : 79, over = p->rounding ? 100 : 99;

	if (load_q32 < high * FIXED_ONE_Q32 / 100) {
		LAW_STEP("code: load factor below 80 %, low");
		return LAW_ECN_ECT1;
	}
	if (load_q32 < over * FIXED_ONE_Q32 / 100) {
		LAW_STEP("code: load factor from 80 to 100 %, high");
		return LAW_ECN_ECT0;
	}
	LAW_STEP("code: load factor of 100 % or more, overload");
	return LAW_ECN_CE;
}

LAW u64 vcp_smoothed(u64 old, u64 current, u64 weight)
{
	return fixed_add(fixed_mul_div(old, 1000000 - weight, 1000000), fixed_mul_div(current, weight, 1000000));
}

LAW void vcp_close_interval(struct vcp_router_state *s, const struct vcp_router_params *p,
                            const struct law_queue *queue)
{
	u64 mean_q8 = fixed_mul_div(s->queue_sum_bytes, 256, s->queue_samples);
	u64 gamma = vcp_gamma(s, p, queue->capacity_Bps), load_q32;

	if (p->queue_filter)
		s->queue_smooth_q8 = mean_q8 / 16;
	else
		s->queue_smooth_q8 = vcp_smoothed(s->queue_smooth_q8, mean_q8, p->queue_weight);
	load_q32 = vcp_load_q32(p, gamma, queue->arrived_bytes, s->queue_smooth_q8, queue->capacity_Bps,
	                        queue->now_us - s->interval_start_us);
	if (p->target == 2)
		vcp_move_target(s, load_q32, queue->capacity_Bps);
	if (queue->capacity_Bps || load_q32) {
		s->load_q32 = vcp_smoothed(s->load_q32, load_q32, p->load_weight);
		s->code = vcp_code_of(p, s->load_q32);
	}
	s->queue_sum_bytes = 0;
	s->queue_samples = 0;
	s->interval_start_us = queue->now_us;
}

LAW u64 vcp_router_on_timer(void *state, const void *params, u32 timer, const struct law_queue *queue)
{
	struct vcp_router_state *s = state;
	const struct vcp_router_params *p = params;

	if (timer == VCP_TIMER_QUEUE) {
		s->queue_sum_bytes = fixed_add(s->queue_sum_bytes, queue->queue_bytes);
		s->queue_samples = fixed_add(s->queue_samples, 1);
		return queue->now_us + p->tq_us;
	}
	vcp_close_interval(s, p, queue);
	return queue->now_us + p->trho_us;
}

#endif /* FADELAB_PART_VCP_LOAD_H */
