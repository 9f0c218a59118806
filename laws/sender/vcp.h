/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: Xia, Subramanian, Stoica, Kalyanaraman, "One more bit is enough", SIGCOMM 2005; constants, bounds and timers
 * as in the authors' ns-2 release 0.1 of February 2006; vcp-ton-2010 sections II-A and IV.
 *
 * In one paragraph: Each router writes how loaded it is into the two ECN bits of data packets: low, high or overload.
 * The receiver echoes the code; the sender multiplies its window while the load is low, adds while it is high, and
 * backs off by an eighth at overload, at most once in an update interval and a round trip. What one ACK adds is bounded
 * by a value that falls with the window, so that no sum of increases outruns a decrease by an eighth.
 *
 * Law, per acknowledged packet, by the code in the ACK:
 *   low       cwnd += (1 + xi)^x - 1     xi = min(kappa (1/0.8 - 1), M(cwnd)), x = min(srtt / t_rho, 2.5)
 *   high      cwnd += min(alpha_s w / cwnd, L(cwnd))
 *             alpha_s = alpha times r/5 up to r = 0.2, r^2 up to 5, then r + 20; r = srtt / t_d
 *   overload  cwnd *= beta once; for t_rho further overload codes are ignored; for one srtt more they add as high does
 *   L         0.1, 0.06, 0.04, 0.02, 0.01, 0.006, 0.004, 0.002 at cwnd = 1, 10, ... 10^7, powers of cwnd between them
 *   M         1, 0.5, 0.2, 0.1, 0.064, 0.044, 0.032, 0.024 at the same windows, linear in log cwnd between them
 *   pacing    for cwnd <= 64: one packet per srtt / 2^ceil(log2 cwnd) where that exceeds t_rho / 2
 *   loss      as Reno (default), or as overload, or as vcp-ton-2010's heuristic decides; a timeout always as Reno's
 *
 * Why L is there: alone, alpha_s adds 30 packets a round trip of 1 s. N flows that add alpha_s each do not leave
 * overload where 7 N alpha_s exceeds gamma times the bandwidth-delay product, because a decrease takes an eighth. With
 * L a round trip adds 4 to 6 % of a window of 10 to 100 packets. The price is fairness: a bounded flow grows in
 * proportion to its window, and convergence over long round trips is slow.
 *
 * Parameters: the X-macro VCP_SENDER_PARAMS below.
 *
 * Divergences:
 *   1. The reference round trip t_d of additive increase is 100 ms and the scale is linear outside 20 to 500 ms, as in
 *      the authors' code; the paper scales by (srtt / t_rho)^2 with t_rho = 200 ms, four times slower. The parameters
 *      td_us and ai_scaling select the paper's form, or none: alpha packets a round trip, however long that is.
 *   2. The clamp of x at 2.5 and the bounds L and M are the code's; the paper speaks of a bound without a number, and
 *      dcp-ew-2010 of artificial bounds. Public copies without L and M exist: `bound = "none"`.
 *   3. A loss halves the window as in the code; vcp-ton-2010 says "an MD", which is `loss = "beta"`.
 *   4. Increments count acknowledged packets, not ACKs, so that delayed ACKs do not slow the law; one ACK counts for a
 *      window's worth at most. The release counts ACKs: `counting = "acks"`.
 *   5. The window grows only while it limits the sender (RFC 7661); the code has only greedy sources.
 *   6. A path that returned no code for a while, clears the ECN bits or has no router of VCP on it, by what the
 *      receiver returns, is treated as Reno treats it: the own first code, come back from a drop-tail queue, says low
 *      load for ever, and without feedback there is no safe multiplicative increase.
 *   7. While the host recovers from a loss the window is left to it. The release is a Reno, whose recovery ends with
 *      the first new ACK, and it acts on that ACK: that is the host's to say (`recovery_exit` of the transport).
 *      ACKs of a recovery are remembered by `loss = "history"` like any other, and a timeout neither asks nor clears
 *      that memory: the window before it is halved, as in the code.
 *   8. Timers are rounded up to the next 10 ms, and srtt is exact. The release measures and smooths round trips in
 *      ticks of 10 ms and rounds timers up from a remainder of 2 ms on: `ticks = "release"`.
 *   9. Pacing is a rate. The release does not pace a window of one packet and rounds the interval down to the tick:
 *      `pacing = "release"`; it lets one packet go with each ACK and one more when the interval has passed, which is
 *      the host's to do (`pacing` of the transport).
 *  10. Windows are looked up in L and M by their first two digits, as in the release (90 places a decade).
 *  11. After a loss a flow multiplies only once a router has reported high load or some round trips are over, since the
 *      queue that overflowed may be one without VCP behind idle routers that have it: part/trust.h. The release
 *      multiplies at once: `grants = "all"`.
 *
 * Figures: vcp-ton-2010 figures 2, 3, 5, 10 to 13; vcp-milcom-2007.
 */
#ifndef FADELAB_SENDER_VCP_H
#define FADELAB_SENDER_VCP_H

#include "law.h"
#include "part/confirmed.h"
#include "part/loss_history.h"
#include "part/reno.h"
#include "part/trust.h"
#include "part/vcp_bounds.h"
#include "part/vcp_clock.h"
#include "part/window.h"

/* clang-format off */
#define VCP_SENDER_PARAMS(P)                                                                                           \
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
	P(loss, 0, "reno|beta|history", 1, 0, 2, "author's code; vcp-ton-2010 section IV-D",                               \
	  "What a loss does: halve, decrease by beta, or beta only if ACKs reported overload")                             \
	P(halving, 0, "whole|exact", 1, 0, 1, "RFC 5681 (4); ns-2, precisionReduce_: exact",                               \
	  "With loss = reno: whether a halved window is rounded down to whole packets, or keeps its fraction")             \
	P(history_acks, 16, "1", 1, 1, 32, "vcp-ton-2010 section IV-D, T",                                                 \
	  "Overload codes that make a loss a congestion loss")                                                         \
	P(history_form, 0, "consecutive|total", 1, 0, 1, "vcp-ton-2010 section IV-D",                                      \
	  "Whether these must be the newest in a row, or any among the last history_size ACKs")                            \
	P(history_size, 32, "1", 1, 1, 32, "vcp-ton-2010 section IV-D, N",                                                 \
	  "ACKs whose reports are remembered")

#define VCP_SENDER_WATCH(W, state)                                                                                     \
	W(window, state->window.cwnd_q32, "pkt", 4294967296, "cwnd with its fraction, as the law left it")                 \
	W(code, state->code, "none|low|high|overload", 1, "The load code that came last")                                  \
	W(phase, state->phase, "normal|frozen|recovered", 1,                                                               \
	  "frozen: t_rho after a decrease; recovered: one srtt after that, without another decrease")                      \
	W(mi_gain_pkts, state->mi_gain_q32, "pkt", 4294967296, "(1 + xi)^x - 1, added per packet at low load")             \
	W(ai_gain_pkts, state->ai_gain_q32, "pkt", 4294967296, "alpha_s w, added per round trip at high load")
/* clang-format on */

struct vcp_sender_params {
	VCP_SENDER_PARAMS(LAW_PARAM_FIELD)
};

enum vcp_code {
	VCP_NONE = 0,
	VCP_LOW = 1,
	VCP_HIGH = 2,
	VCP_OVER = 3,
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

_Static_assert(sizeof(struct vcp_sender_state) <= LAW_STATE_BYTES_MAX, "the kernel gives no more");

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

/* Both bounds for windows with these first two digits in this decade, and xi under the second. */
LAW_SELDOM void vcp_look_up(struct vcp_sender_state *s, const struct vcp_sender_params *p, u32 digits,
                            const struct vcp_decade *decade)
{
	u64 at_q32 = vcp_into_decade_q32(digits);
	/* xi = kappa (100/80 - 1) = kappa / 4, at most 1/8. */
	u64 xi_q32 = fixed_mul_div(p->kappa, FIXED_ONE_Q32, 4000000);

	s->ai_bound_q32 = VCP_UNBOUNDED_Q32;
	if (p->bound == VCP_BOUND_WINDOW || p->bound == VCP_BOUND_ADDITIVE)
		s->ai_bound_q32 = vcp_ai_bound_q32(decade, at_q32);
	if (p->bound == VCP_BOUND_WINDOW || p->bound == VCP_BOUND_MULTIPLICATIVE)
		xi_q32 = fixed_min(xi_q32, vcp_mi_bound_q32(decade, at_q32));
	s->log2_growth_q32 = fixed_log2_mantissa_q32((FIXED_ONE_Q32 + xi_q32) << 31);
	/* The gain was computed for another xi. */
	s->mi_srtt_us = 0;
}

/* Looks the window up where its first two digits are others than the last time. */
LAW void vcp_find_place(struct vcp_sender_state *s, const struct vcp_sender_params *p, u64 cwnd_q32)
{
	struct vcp_decade decade = vcp_decade_of(cwnd_q32 >> 32);
	u32 digits = vcp_digits(cwnd_q32, decade.floor_pkts);
	u32 place = decade.floor_pkts * 128 + digits;

	if (s->place == place)
		return;
	s->place = place;
	vcp_look_up(s, p, digits, &decade);
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

LAW void vcp_sender_init(void *state, const void *params, const struct law_start *start, struct law_control *control)
{
	struct vcp_sender_state *s = state;

	(void)params;
	s->srtt_us = start->srtt_us ? start->srtt_us : VCP_SRTT_US_INITIAL;
	s->memory.cwnd_pkts = control->cwnd_pkts;
	control->ecn = VCP_LOW;
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
                      u32 ssthresh_pkts, u32 code, u64 cwnd_q32)
{
	u64 pkts = vcp_counted_pkts(p, ack, cwnd_q32);

	if (code == VCP_NONE) {
		LAW_STEP("divergence 6: no load code of a router came back, the window grows as Reno's");
		return reno_grown_q32(cwnd_q32, ssthresh_pkts, pkts, 1);
	}
	vcp_find_place(s, p, cwnd_q32);
	if (code == VCP_LOW) {
		u64 grown_q32 = fixed_add(cwnd_q32, fixed_mul(vcp_mi_gain_cached_q32(s, p), pkts));

		LAW_STEP("low: multiplicative increase, cwnd += (1 + xi)^x - 1 per packet, load below 80 %");
		if (!s->trust.reno_rounds)
			return grown_q32;
		LAW_STEP("divergence 11: a loss under low load not long ago, the window grows by no more than Reno's");
		return fixed_min(grown_q32, reno_grown_q32(cwnd_q32, ssthresh_pkts, pkts, 1));
	}
	if (code == VCP_HIGH)
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

LAW void vcp_sender_on_ack(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	struct vcp_sender_state *s = state;
	const struct vcp_sender_params *p = params;
	u32 code = confirmed_by_router(ack) ? ack->feedback.bytes[0] & 3 : VCP_NONE;
	u64 cwnd_q32 = window_get(&s->window, control);

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
			window_set(&s->window, control, fixed_mul_div(cwnd_q32, p->beta, 1000000));
		} else if (code == VCP_OVER && s->phase == VCP_FROZEN) {
			LAW_STEP("overload: within t_rho of the decrease, further overload is ignored");
		} else if (ack->flags & LAW_ACK_CWND_LIMITED) {
			cwnd_q32 = vcp_grown_q32(s, p, ack, control->ssthresh_pkts, code, cwnd_q32);
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

LAW void vcp_sender_on_loss(void *state, const void *params, const struct law_ack *ack, u32 cause,
                            struct law_control *control)
{
	struct vcp_sender_state *s = state;
	const struct vcp_sender_params *p = params;
	u32 cwnd_pkts = control->cwnd_pkts;

	(void)cause;
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

LAW void vcp_sender_on_rto(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	struct vcp_sender_state *s = state;

	(void)ack;
	reno_timeout(&s->memory, control);
	vcp_distrust(s, params);
}

LAW_TABLE struct law_sender vcp_sender = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_sender),
	.name = "vcp",
	.summary = "Variable-structure control: two bits of load from the routers choose MI, AI or MD",
	.state_bytes = sizeof(struct vcp_sender_state),
	.params_bytes = sizeof(struct vcp_sender_params),
	.flags = LAW_SENDER_PACED | LAW_SENDER_PLAIN_ACKS,
	.wire = LAW_WIRE_VCP,
	.ecn_mode = LAW_ECN_MODE_NONE,
	.router = "vcp",
	LAW_PARAM_LIST(VCP_SENDER_PARAMS),
	LAW_WATCH_LIST(struct vcp_sender_state, VCP_SENDER_WATCH),
	.init = vcp_sender_init,
	.on_ack = vcp_sender_on_ack,
	.on_loss = vcp_sender_on_loss,
	.on_rto = vcp_sender_on_rto,
};

#endif /* FADELAB_SENDER_VCP_H */
