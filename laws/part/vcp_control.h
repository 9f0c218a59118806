/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The window control of VCP, by the load that routers tell of: multiplicative increase while it is low, additive while
 * it is high, multiplicative decrease at overload, with the bounds, timers and pacing of the authors' release 0.1.
 * Equations and divergences stand in sender/vcp.h. DPCP and DCP-EW use the same control and know the load more finely.
 */
#ifndef FADELAB_PART_VCP_CONTROL_H
#define FADELAB_PART_VCP_CONTROL_H

#include "law.h"
#include "part/confirmed.h"
#include "part/loss_history.h"
#include "part/reno.h"
#include "part/trust.h"
#include "part/vcp_bounds.h"
#include "part/vcp_clock.h"
#include "part/window.h"

/* `loss_here` is the default of the parameter `loss`. */
/* clang-format off */
#define VCP_CONTROL_PARAMS(P, loss_here)                                                                               \
	P(kappa, 250000, "1", 1000000, 1000, 500000, "SIGCOMM 2005 table 1; stable up to 0.5",                             \
	  "Gain of multiplicative increase")                                                                               \
	P(alpha, 1000000, "1", 1000000, 1000, 100000000, "SIGCOMM 2005 table 1",                                           \
	  "Packets per reference round trip in additive increase")                                                         \
	P(beta, 875000, "1", 1000000, 100000, 1000000, "SIGCOMM 2005 table 1",                                             \
	  "What a multiplicative decrease leaves of the window")                                                           \
	P(weight, 1000000, "1", 1000000, 1000, 100000000, "author's code, w",                                              \
	  "Factor on additive increase, for differentiated bandwidth")                                                     \
	P(trho_us, 200000, "us", 1, 10000, 10000000, "SIGCOMM 2005 table 1",                                               \
	  "Interval at which routers update the load factor")                                                              \
	P(td_us, 100000, "us", 1, 1000, 10000000, "author's code; paper 200 ms",                                           \
	  "Round trip at which additive increase is alpha")                                                                \
	P(ai_scaling, 0, "code|square|none", 1, 0, 2, "author's code; paper: square",                                      \
	  "How additive increase scales with the round trip")                                                              \
	P(mi_clamp, 0, "rtt|gain|none", 1, 0, 2, "author's code; gain: the Stanford reproduction",                         \
	  "Bound of multiplicative increase: srtt/t_rho <= 2.5, gain <= 1 per round trip, or none")                        \
	P(bound, 0, "window|additive|multiplicative|none", 1, 0, 3, "authors' release 0.1; dcp-ew-2010",                   \
	  "Which increase is bounded by the window: both, one of them, or none")                                           \
	P(grants, 0, "bounded|all", 1, 0, 1, "divergence 11; SIGCOMM 2005: all",                                           \
	  "Whether the increase at low load is, after losses, bounded by Reno's until routers report high load")           \
	P(counting, 0, "segments|acks", 1, 0, 1, "authors' release 0.1: acks",                                             \
	  "Whether the window grows by what an ACK acknowledges, or by ACKs")                                              \
	P(ticks, 0, "up|release", 1, 0, 1, "authors' release 0.1",                                                         \
	  "Timers in ticks of 10 ms: rounded up, or up from a remainder of 2 ms on and with srtt in whole ticks")          \
	P(pacing, 1, "off|rate|release", 1, 0, 2, "authors' release 0.1",                                                  \
	  "Spread small windows over long round trips; release: not a window of 1, and intervals in whole ticks")          \
	P(loss, loss_here, "reno|beta|history", 1, 0, 2, "author's code; vcp-ton-2010 section IV-D",                       \
	  "What a loss does: halve, decrease by beta, or beta only if ACKs reported overload")                             \
	P(halving, 0, "whole|exact", 1, 0, 1, "RFC 5681 (4); ns-2, precisionReduce_: exact",                               \
	  "With loss = reno: whether a halved window is rounded down to whole packets, or keeps its fraction")             \
	P(history_acks, 16, "1", 1, 1, 32, "vcp-ton-2010 section IV-D, T",                                                 \
	  "Overload codes that make a loss a congestion loss")                                                         \
	P(history_form, 0, "consecutive|total", 1, 0, 1, "vcp-ton-2010 section IV-D",                                      \
	  "Whether these must be the newest in a row, or any among the last history_size ACKs")                            \
	P(history_size, 32, "1", 1, 1, 32, "vcp-ton-2010 section IV-D, N",                                                 \
	  "ACKs whose reports are remembered")
/* clang-format on */

struct vcp_sender_params {
	VCP_CONTROL_PARAMS(LAW_PARAM_FIELD, 0)
};

enum vcp_code {
	VCP_NONE = 0,
	VCP_LOW = 1,
	VCP_HIGH = 2,
	VCP_OVER = 3,
};

/* What the newest code says of the path. */
struct vcp_told {
	u32 code;
	u32 percent; /* with VCP_LOW: the load that is assumed, at most 80 */
	u64 beta;    /* with VCP_OVER: what a decrease leaves of the window, in millionths */
};

enum vcp_phase {
	VCP_NORMAL = 0,
	VCP_FROZEN = 1,    /* the code's timer 1: t_rho after a decrease */
	VCP_RECOVERED = 2, /* the code's timer 2: one srtt after that */
};

enum vcp_bound {
	VCP_BOUND_WINDOW = 0,
	VCP_BOUND_ADDITIVE = 1,
	VCP_BOUND_MULTIPLICATIVE = 2,
	VCP_BOUND_NONE = 3,
};

enum vcp_pacing {
	VCP_PACING_OFF = 0,
	VCP_PACING_RATE = 1,
	VCP_PACING_RELEASE = 2,
};

struct vcp_sender_state {
	struct window window;
	struct reno_memory memory;
	u64 phase_end_us;
	u64 log2_growth_q32; /* log2(1 + xi), at the window's place in M */
	u64 mi_gain_q32;     /* for mi_srtt_us and log2_growth_q32 */
	u64 ai_gain_q32;     /* for ai_srtt_us */
	u32 ai_bound_q32;    /* L at the window's place, or VCP_UNBOUNDED_Q32 */
	u32 place;           /* in L and M: where the two values above hold; 0: not looked up yet */
	u32 mi_srtt_us;
	u32 ai_srtt_us;
	u32 srtt_us;
	u32 phase;
	u32 history;
	u32 srtt_ticks_q3; /* with ticks of the release: srtt in ticks, 3 fractional bits; 0: no sample yet */
	u32 code;          /* of the last ACK, for those who watch */
	struct trust trust;
};

/* The code starts from this round trip. */
#define VCP_SRTT_US_INITIAL 100000u
/* Up to this window the code paces. */
#define VCP_PACED_PKTS 64u

/* A timer in whole ticks. */
LAW u64 vcp_ticks_us(const struct vcp_sender_params *p, u64 duration_us)
{
	if (p->ticks)
		return (vcp_whole_ms_us(duration_us) + VCP_TICK_US - VCP_TICK_UP_US) / VCP_TICK_US * VCP_TICK_US;
	return (duration_us + VCP_TICK_US - 1) / VCP_TICK_US * VCP_TICK_US;
}

/* -------------------------------------------------------------------------------------- bounds by the window */

/* xi = kappa (1 - rho) / rho. At 80 %, which is all that VCP's low tells, kappa / 4; at 10 % at most 4.5. */
LAW u64 vcp_xi_q32(const struct vcp_sender_params *p, u32 percent)
{
	return fixed_min(fixed_mul_div(p->kappa * (100 - percent), FIXED_ONE_Q32, percent * 1000000ull), 5 * FIXED_ONE_Q32);
}

/* Both bounds for windows with these first two digits in this decade, and xi under the second. */
LAW_SELDOM void vcp_look_up(struct vcp_sender_state *s, const struct vcp_sender_params *p, u32 percent, u32 digits,
                            const struct vcp_decade *decade)
{
	u64 at_q32 = vcp_into_decade_q32(digits);
	u64 xi_q32 = vcp_xi_q32(p, percent);

	s->ai_bound_q32 = VCP_UNBOUNDED_Q32;
	if (p->bound == VCP_BOUND_WINDOW || p->bound == VCP_BOUND_ADDITIVE)
		s->ai_bound_q32 = vcp_ai_bound_q32(decade, at_q32);
	if (p->bound == VCP_BOUND_WINDOW || p->bound == VCP_BOUND_MULTIPLICATIVE)
		xi_q32 = fixed_min(xi_q32, vcp_mi_bound_q32(decade, at_q32));
	s->log2_growth_q32 = fixed_log2_q32(FIXED_ONE_Q32 + xi_q32);
	/* The gain was computed for another xi. */
	s->mi_srtt_us = 0;
}

/* Looks the window up where its first two digits are others than the last time. Whoever changes the load that is
 * assumed sets `place` to 0. */
LAW void vcp_find_place(struct vcp_sender_state *s, const struct vcp_sender_params *p, u32 percent, u64 cwnd_q32)
{
	struct vcp_decade decade = vcp_decade_of(cwnd_q32 >> 32);
	u32 digits = vcp_digits(cwnd_q32, decade.floor_pkts);
	u32 place = decade.floor_pkts * 128 + digits;

	if (s->place == place)
		return;
	s->place = place;
	vcp_look_up(s, p, percent, digits, &decade);
}

/* ----------------------------------------------------------------------------------------------------- gains */

/* (1 + xi)^x - 1, the growth per acknowledged packet at low load. */
LAW_SELDOM u64 vcp_mi_gain_q32(const struct vcp_sender_params *p, u64 log2_growth_q32, u32 srtt_us)
{
	u64 exponent_q32 = fixed_mul_div(srtt_us, log2_growth_q32, p->trho_us);
	u64 gain_q32;

	if (p->mi_clamp == 0)
		exponent_q32 = fixed_min(exponent_q32, log2_growth_q32 * 5 / 2);
	gain_q32 = fixed_exp2_m1_q32(exponent_q32);
	return p->mi_clamp == 1 ? fixed_min(gain_q32, FIXED_ONE_Q32) : gain_q32;
}

/* alpha_s * w, what additive increase adds per round trip. r has 20 fractional bits and is clipped at 1024. */
LAW u64 vcp_ai_gain_q32(const struct vcp_sender_params *p, u32 srtt_us)
{
	u64 r_q20 = fixed_min(fixed_div((u64)srtt_us << 20, p->td_us), 1ull << 30);
	u64 alpha_q20 = (r_q20 * r_q20) >> 20;

	if (p->ai_scaling == 2)
		alpha_q20 = 1ull << 20;
	if (p->ai_scaling == 0 && r_q20 * 5 <= 1ull << 20)
		alpha_q20 = r_q20 / 5;
	else if (p->ai_scaling == 0 && r_q20 > 5ull << 20)
		alpha_q20 = r_q20 + (20ull << 20);
	alpha_q20 = fixed_mul_div(alpha_q20, p->alpha * p->weight / 1000000, 1000000);
	return fixed_min(alpha_q20, 1ull << 36) << 12;
}

/* The gains are computed only when they are used with another round trip, or another xi, than the last time. */
LAW u64 vcp_mi_gain_cached_q32(struct vcp_sender_state *s, const struct vcp_sender_params *p)
{
	if (s->mi_srtt_us != s->srtt_us)
		s->mi_gain_q32 = vcp_mi_gain_q32(p, s->log2_growth_q32, s->srtt_us);
	s->mi_srtt_us = s->srtt_us;
	return s->mi_gain_q32;
}

LAW u64 vcp_ai_gain_cached_q32(struct vcp_sender_state *s, const struct vcp_sender_params *p)
{
	if (s->ai_srtt_us != s->srtt_us)
		s->ai_gain_q32 = vcp_ai_gain_q32(p, s->srtt_us);
	s->ai_srtt_us = s->srtt_us;
	return s->ai_gain_q32;
}

/* What one packet adds: alpha_s w / cwnd, at most L. */
LAW u64 vcp_ai_step_q32(struct vcp_sender_state *s, const struct vcp_sender_params *p, u64 cwnd_q32)
{
	u64 step_q32 = window_share_q32(vcp_ai_gain_cached_q32(s, p), cwnd_q32);

	if (s->ai_bound_q32 == VCP_UNBOUNDED_Q32 || step_q32 <= s->ai_bound_q32)
		return step_q32;
	LAW_STEP("bound: additive increase by L(cwnd), which is less than alpha_s w / cwnd");
	return s->ai_bound_q32;
}

LAW void vcp_start(struct vcp_sender_state *s, const struct law_start *start, const struct law_control *control)
{
	s->srtt_us = start->srtt_us ? start->srtt_us : VCP_SRTT_US_INITIAL;
	s->memory.cwnd_pkts = control->cwnd_pkts;
}

/* The release knows whole ticks of its clock alone, and smooths those: the whole part follows the mean by its turns. */
LAW void vcp_note_srtt(struct vcp_sender_state *s, const struct vcp_sender_params *p, const struct law_ack *ack)
{
	if (!p->ticks && ack->srtt_us)
		s->srtt_us = ack->srtt_us;
	if (!p->ticks || !ack->rtt_us)
		return;
	if (s->srtt_ticks_q3)
		s->srtt_ticks_q3 = s->srtt_ticks_q3 - s->srtt_ticks_q3 / 8 + vcp_rtt_ticks(ack);
	else
		s->srtt_ticks_q3 = vcp_rtt_ticks(ack) * 8;
	s->srtt_us = (u32)fixed_max(s->srtt_ticks_q3 / 8, 1) * VCP_TICK_US;
}

/* Moves through the phases that follow a decrease; the second starts when the first ends, with the srtt of then. */
LAW void vcp_pass_time(struct vcp_sender_state *s, const struct vcp_sender_params *p, u64 now_us)
{
	if (s->phase == VCP_NORMAL)
		return;
	if (s->phase == VCP_FROZEN && now_us >= s->phase_end_us) {
		LAW_STEP("overload: t_rho since the decrease is over, for one srtt overload adds as high load does");
		s->phase = VCP_RECOVERED;
		s->phase_end_us += vcp_ticks_us(p, s->srtt_us);
	}
	if (s->phase == VCP_RECOVERED && now_us >= s->phase_end_us) {
		LAW_STEP("overload: one srtt more is over, the next overload decreases again");
		s->phase = VCP_NORMAL;
	}
}

/* The interval of whole ticks that a rate stands for; no tick, no pacing. */
LAW u64 vcp_release_Bps(u64 interval_us, u32 packet_bytes)
{
	return fixed_div((u64)packet_bytes * 1000000, vcp_whole_ms_us(interval_us) / VCP_TICK_US * VCP_TICK_US);
}

/* One packet per srtt / 2^ceil(log2 cwnd) where that is longer than half an update interval. */
LAW_SELDOM u64 vcp_slots_Bps(const struct vcp_sender_state *s, const struct vcp_sender_params *p, u32 cwnd_pkts,
                             u32 packet_bytes)
{
	u64 slots = 1;

	for (int i = 0; i < 6; i++)
		slots = slots < cwnd_pkts ? slots * 2 : slots;
	if (2 * (u64)s->srtt_us <= p->trho_us * slots)
		return 0;
	LAW_STEP("pacing: small window, one packet per srtt / 2^ceil(log2 cwnd)");
	if (p->pacing == VCP_PACING_RELEASE)
		return slots > 1 ? vcp_release_Bps(s->srtt_us / slots, packet_bytes) : 0;
	/* At least 1, because 0 stands for no pacing. */
	return fixed_max(fixed_div((u64)packet_bytes * slots * 1000000, s->srtt_us), 1);
}

/* With one slot there is no pacing, let alone with more. */
LAW u64 vcp_pacing_Bps(const struct vcp_sender_state *s, const struct vcp_sender_params *p, u32 cwnd_pkts,
                       u32 packet_bytes)
{
	if (p->pacing == VCP_PACING_OFF || cwnd_pkts > VCP_PACED_PKTS || 2 * (u64)s->srtt_us <= p->trho_us)
		return 0;
	return vcp_slots_Bps(s, p, cwnd_pkts, packet_bytes);
}

/* What an ACK counts for: its packets, or itself. What SACK had reported before a recovery ended counts once. */
LAW u64 vcp_counted_pkts(const struct vcp_sender_params *p, const struct law_ack *ack, u64 cwnd_q32)
{
	if (p->counting)
		return 1;
	return window_counted_pkts(fixed_min(fixed_min(ack->acked_pkts, ack->delivered_pkts), 65535), cwnd_q32);
}

LAW u64 vcp_grown_q32(struct vcp_sender_state *s, const struct vcp_sender_params *p, const struct law_ack *ack,
                      u32 ssthresh_pkts, const struct vcp_told *told, u64 cwnd_q32)
{
	u64 pkts = vcp_counted_pkts(p, ack, cwnd_q32);

	if (told->code == VCP_NONE) {
		LAW_STEP("divergence 6: no load code of a router came back, the window grows as Reno's");
		return reno_grown_q32(cwnd_q32, ssthresh_pkts, pkts, 1);
	}
	vcp_find_place(s, p, told->percent, cwnd_q32);
	if (told->code == VCP_LOW) {
		u64 grown_q32 = fixed_add(cwnd_q32, fixed_mul(vcp_mi_gain_cached_q32(s, p), pkts));

		LAW_STEP("low: multiplicative increase, cwnd += (1 + xi)^x - 1 per packet, load below 80 %");
		if (!s->trust.reno_rounds)
			return grown_q32;
		LAW_STEP("divergence 11: a loss under low load not long ago, the window grows by no more than Reno's");
		return fixed_min(grown_q32, reno_grown_q32(cwnd_q32, ssthresh_pkts, pkts, 1));
	}
	if (told->code == VCP_HIGH)
		LAW_STEP("high: additive increase, cwnd += min(alpha_s w / cwnd, L) per packet, load from 80 to 100 %");
	else
		LAW_STEP("overload: decreased already, within one srtt more it adds min(alpha_s w / cwnd, L) as high does");
	return fixed_add(cwnd_q32, fixed_mul(vcp_ai_step_q32(s, p, cwnd_q32), pkts));
}

LAW void vcp_count_round(struct vcp_sender_state *s, const struct law_ack *ack, u32 code)
{
	s->trust.held_back |= code > VCP_LOW;
	if (trust_round_ends(&s->trust, ack))
		trust_end_round(&s->trust);
}

/* After a loss; with `grants = "all"` nothing is ever held against routers. */
LAW void vcp_distrust(struct vcp_sender_state *s, const struct vcp_sender_params *p)
{
	if (!p->grants)
		trust_lost(&s->trust);
}

/* What an ACK does to window and pacing. `told` is what its feedback says. */
LAW void vcp_act(struct vcp_sender_state *s, const struct vcp_sender_params *p, const struct law_ack *ack,
                 const struct vcp_told *told, struct law_control *control)
{
	u64 cwnd_q32 = window_get(&s->window, control);
	u32 code = told->code;

	s->code = code;
	if (!p->grants)
		vcp_count_round(s, ack, code);
	vcp_note_srtt(s, p, ack);
	vcp_pass_time(s, p, ack->now_us);
	if (ack->feedback.present)
		s->history = loss_history_push(s->history, code == VCP_OVER);
	if (ack->acked_pkts && control->ca_state != LAW_CA_RECOVERY) {
		if (code == VCP_OVER && s->phase == VCP_NORMAL) {
			LAW_STEP("overload: multiplicative decrease, cwnd *= beta, load of 100 % or more");
			s->phase = VCP_FROZEN;
			s->phase_end_us = ack->now_us + vcp_ticks_us(p, p->trho_us);
			window_set(&s->window, control, fixed_mul_div(cwnd_q32, told->beta, 1000000));
		} else if (code == VCP_OVER && s->phase == VCP_FROZEN) {
			LAW_STEP("overload: within t_rho of the decrease, further overload is ignored");
		} else if (ack->flags & LAW_ACK_CWND_LIMITED) {
			cwnd_q32 = vcp_grown_q32(s, p, ack, control->ssthresh_pkts, told, cwnd_q32);
			window_set(&s->window, control, cwnd_q32);
		} else {
			LAW_STEP("divergence 5, RFC 7661: the window did not limit the sender, so it does not grow");
		}
	} else if (ack->acked_pkts) {
		LAW_STEP("divergence 7: recovery, the window is the host's until it ends");
	}
	control->pacing_Bps = vcp_pacing_Bps(s, p, control->cwnd_pkts, ack->packet_bytes);
	reno_remember(&s->memory, ack, control);
}

LAW void vcp_lose(struct vcp_sender_state *s, const struct vcp_sender_params *p, const struct law_ack *ack,
                  struct law_control *control)
{
	u32 cwnd_pkts = control->cwnd_pkts;

	if (p->loss == 2 && !loss_history_congested(s->history, p->history_form, p->history_size, p->history_acks)) {
		LAW_STEP(
			"loss = history without overload (vcp-ton-2010 section IV-D): an error of the channel, the window stays");
		control->ssthresh_pkts = cwnd_pkts < 1 ? 1 : cwnd_pkts;
	} else if (p->loss == 0) {
		LAW_STEP("loss = reno: a loss halves the window");
		reno_halve(&s->window, p->halving, control);
		vcp_distrust(s, p);
	} else {
		LAW_STEP("loss = beta, or history that shows overload: ssthresh = beta cwnd");
		control->ssthresh_pkts = (u32)fixed_max((u64)cwnd_pkts * p->beta / 1000000, 1);
		vcp_distrust(s, p);
	}
	reno_remember(&s->memory, ack, control);
}

LAW void vcp_time_out(struct vcp_sender_state *s, const struct vcp_sender_params *p, struct law_control *control)
{
	reno_timeout(&s->memory, control);
	vcp_distrust(s, p);
}

#endif /* FADELAB_PART_VCP_CONTROL_H */
