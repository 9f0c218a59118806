/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: Grieco, Mascolo, "Performance evaluation and comparison of Westwood+, New Reno, and Vegas TCP congestion
 * control", ACM CCR 34(2), 2004; Linux net/ipv4/tcp_westwood.c for the filter and for what happens behind a repair.
 *
 * In one paragraph: Reno that measures, once a round trip, at what rate its packets arrive, and answers a loss with the
 * window that this rate is worth at the least round trip, instead of half.
 *
 * Law:
 *   sample      b = bytes newly arrived / time, once max(RTT, 50 ms) has passed
 *   filter      B1 = 7/8 B1 + 1/8 b, B = 7/8 B + 1/8 B1; the first sample is taken as it is
 *   growth      as Reno                                                                     RFC 5681 (2), (3)
 *   loss        ssthresh = max(2, B RTT_min / segment)
 *   repaired    cwnd = ssthresh = what the estimate is worth by then, also where that is more than before
 *   timeout     ssthresh as for a loss; RTT_min is sought anew
 *   restart     as Reno
 *
 * Parameters: the X-macro WESTWOOD_PLUS_PARAMS below.
 *
 * Divergences:
 *   1. Linux counts payload, and time in ticks of its own clock (4 ms at 250 Hz), by which round trips are rounded up;
 *      here rates are of IP bytes per second and times in microseconds unless `ticks = true`. ACKs come in one bunch a
 *      round trip where the path is longer than the window: a sample that is closed late has the next bunch's first in
 *      it, and a least round trip that is rounded up makes the estimate worth a larger window.
 *   2. The paper never raises the window behind a repair (cwnd = min(cwnd, ssthresh)); Linux does: `raise = false`.
 *   3. Linux's module repairs with half the window, as Reno does (its ssthresh is tcp_reno_ssthresh), and takes what
 *      the estimate is worth when the repair is over (CA_EVENT_COMPLETE_CWR): `halve = true`. The paper has it at once.
 *   4. A sample may last just a round trip; in Linux it lasts a tick longer. Where nothing disturbs packets, as in a
 *      simulator, the next window's first ACK comes just then, and closed by a later one the sample would be a tenth
 *      too high, which no host ever sees.
 *   5. Until a round trip has been sampled a loss halves the window, as in Linux.
 *
 * Figures: new-jersey-2004 figure 16 and table 1, beside the original filter.
 */
#ifndef FADELAB_SENDER_WESTWOOD_PLUS_H
#define FADELAB_SENDER_WESTWOOD_PLUS_H

#include "fixed.h"
#include "law.h"
#include "part/rate.h"
#include "part/reno.h"
#include "part/window.h"

/* clang-format off */
#define WESTWOOD_PLUS_PARAMS(P)                                                                                        \
	P(interval_us, 50000, "us", 1, 1, 10000000, "Linux TCP_WESTWOOD_RTT_MIN",                                          \
	  "A sample takes a round trip, but at least that")                                                                \
	P(raise, 1, "bool", 1, 0, 1, "Linux: true; Grieco 2004: false",                                                    \
	  "Whether a repair ends at what the estimate is worth even where that is more than the window before it")         \
	P(halve, 0, "bool", 1, 0, 1, "Grieco 2004: false; Linux: true",                                                    \
	  "Whether a repair is made with half the window; its end takes what the estimate is worth, as with raise")        \
	P(ticks, 0, "bool", 1, 0, 1, "Grieco 2004: false; Linux at 250 Hz: true",                                          \
	  "Whether time is counted in whole ticks of 4 ms, round trips rounded up")                                        \
	P(limit_pkts, 1, "pkt", 1, 1, 65535, "RFC 5681 (2): 1; Linux: no limit",                                           \
	  "Most packets that one ACK adds in slow start")                                                                  \
	P(restart_us, 1000000, "us", 1, 0, 1000000000, "RFC 5681 section 4.1, RFC 6298 (2.4)",                             \
	  "Idleness after which the window falls to the initial one; 0: never")
/* clang-format on */

struct westwood_plus_params {
	WESTWOOD_PLUS_PARAMS(LAW_PARAM_FIELD)
};

struct westwood_plus_state {
	struct window window;
	struct reno_memory memory;
	u64 rate_Bps;      /* B */
	u64 rate_once_Bps; /* B1, filtered once */
	u64 arrived_bytes; /* since the sample began, */
	u64 begun_us;      /* which was then */
	u32 rtt_us;        /* the last sample of the round trip; 0: none yet */
	u32 rtt_us_min;    /* 0: none since the beginning or the last timeout */
	u32 srtt_us;
	u32 initial_pkts;
	u8 is_begun;
	u8 is_repairing; /* a loss, and the window has not been set behind it */
	u8 reserved[6];
};

_Static_assert(sizeof(struct westwood_plus_state) <= LAW_STATE_BYTES_MAX, "the kernel gives no more");

/* clang-format off */
#define WESTWOOD_PLUS_WATCH(W, state)                                                                                  \
	W(window, state->window.cwnd_q32, "pkt", 4294967296,                                                               \
	  "cwnd with its fraction, as the law left it; a host that repairs losses may have lowered it since")              \
	W(rate, state->rate_Bps, "B/s", 1,                                                                                 \
	  "B, the estimated rate of IP packets; 0 before the first sample")                                                \
	W(rtt_min, state->rtt_us_min, "us", 1,                                                                             \
	  "RTT_min; 0 before the first sample, and behind a timeout")
/* clang-format on */

LAW void westwood_plus_init(void *state, const void *params, const struct law_start *start, struct law_control *control)
{
	struct westwood_plus_state *s = state;

	(void)params;
	s->initial_pkts = control->cwnd_pkts;
	s->srtt_us = start->srtt_us;
	s->memory.cwnd_pkts = control->cwnd_pkts;
}

/* Seven parts of what was, one of what came. */
LAW u64 westwood_plus_filtered_Bps(u64 before_Bps, u64 sample_Bps)
{
	return (7 * fixed_min(before_Bps, RATE_BPS_MAX) + sample_Bps) / 8;
}

LAW void westwood_plus_filter(struct westwood_plus_state *s, u64 sample_Bps)
{
	if (!s->rate_Bps && !s->rate_once_Bps) {
		LAW_STEP("filter: the first sample is taken as it is");
		s->rate_Bps = s->rate_once_Bps = sample_Bps;
		return;
	}
	LAW_STEP("filter: B1 = 7/8 B1 + 1/8 b, B = 7/8 B + 1/8 B1");
	s->rate_once_Bps = westwood_plus_filtered_Bps(s->rate_once_Bps, sample_Bps);
	s->rate_Bps = westwood_plus_filtered_Bps(s->rate_Bps, s->rate_once_Bps);
}

#define WESTWOOD_PLUS_TICK_US 4000

/* Time as a clock of whole ticks has it. */
LAW u64 westwood_plus_clock_us(const struct westwood_plus_params *p, u64 us)
{
	return p->ticks ? us / WESTWOOD_PLUS_TICK_US * WESTWOOD_PLUS_TICK_US : us;
}

/* Counts what an ACK tells of, and closes a sample that has lasted. */
LAW void westwood_plus_measure(struct westwood_plus_state *s, const struct westwood_plus_params *p,
                               const struct law_ack *ack)
{
	u64 now_us = westwood_plus_clock_us(p, ack->now_us);
	u64 passed_us = fixed_sub(now_us, s->begun_us);
	u64 least_us;

	if (ack->rtt_us) {
		u64 up_us = p->ticks ? WESTWOOD_PLUS_TICK_US - 1 : 0;

		s->rtt_us = (u32)fixed_min(westwood_plus_clock_us(p, ack->rtt_us + up_us), ~(u32)0);
		if (!s->rtt_us_min || s->rtt_us < s->rtt_us_min)
			s->rtt_us_min = s->rtt_us;
	}
	s->arrived_bytes = fixed_min(fixed_add(s->arrived_bytes, rate_delivered_bytes(ack)), RATE_BYTES_MAX);
	least_us = fixed_add(fixed_max(s->rtt_us, p->interval_us), p->ticks ? 1 : 0);
	if (s->is_begun && !(s->rtt_us && passed_us >= least_us))
		return;
	/* What came with the very first ACK left before anything was counted. */
	if (s->is_begun)
		westwood_plus_filter(s, rate_of_Bps(s->arrived_bytes, passed_us));
	s->is_begun = 1;
	s->begun_us = now_us;
	s->arrived_bytes = 0;
}

/* What the estimate is worth; half where there is none. */
LAW u32 westwood_plus_share_pkts(const struct westwood_plus_state *s, const struct law_ack *ack, u32 cwnd_pkts)
{
	if (!s->rate_Bps || !s->rtt_us_min)
		return reno_half(cwnd_pkts);
	return rate_window_pkts(s->rate_Bps, s->rtt_us_min, ack->packet_bytes);
}

/* The first ACK behind a repair: the host has brought the window to an ssthresh that was taken before it. */
LAW void westwood_plus_repaired(struct westwood_plus_state *s, const struct westwood_plus_params *p,
                                const struct law_ack *ack, struct law_control *control)
{
	if (!s->is_repairing || control->ca_state == LAW_CA_RECOVERY || control->ca_state == LAW_CA_CWR)
		return;
	s->is_repairing = 0;
	if (!(p->raise || p->halve) || control->ca_state == LAW_CA_LOSS || !s->rate_Bps || !s->rtt_us_min)
		return;
	LAW_STEP("Linux: repaired, cwnd = ssthresh = what the estimate is worth");
	control->ssthresh_pkts = rate_window_pkts(s->rate_Bps, s->rtt_us_min, ack->packet_bytes);
	window_set(&s->window, control, (u64)control->ssthresh_pkts << 32);
}

LAW void westwood_plus_on_ack(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	struct westwood_plus_state *s = state;
	const struct westwood_plus_params *p = params;

	s->srtt_us = ack->srtt_us;
	westwood_plus_measure(s, p, ack);
	westwood_plus_repaired(s, p, ack, control);
	reno_grow(&s->window, ack, p->limit_pkts, control);
	reno_remember(&s->memory, ack, control);
}

LAW void westwood_plus_on_loss(void *state, const void *params, const struct law_ack *ack, u32 cause,
                               struct law_control *control)
{
	struct westwood_plus_state *s = state;
	const struct westwood_plus_params *p = params;
	u32 cwnd_pkts = control->cwnd_pkts;

	(void)cause;
	control->ssthresh_pkts = p->halve ? reno_half(cwnd_pkts) : westwood_plus_share_pkts(s, ack, cwnd_pkts);
	s->is_repairing = 1;
	reno_remember(&s->memory, ack, control);
}

LAW void westwood_plus_on_rto(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	struct westwood_plus_state *s = state;

	(void)params;
	if (s->memory.timed_out || !s->rate_Bps || !s->rtt_us_min) {
		reno_timeout(&s->memory, control);
	} else {
		LAW_STEP("timeout: ssthresh = what the estimate is worth; RTT_min is sought anew");
		control->ssthresh_pkts = rate_window_pkts(s->rate_Bps, s->rtt_us_min, ack->packet_bytes);
		s->memory.timed_out = 1;
		s->memory.cwnd_pkts = control->cwnd_pkts;
	}
	s->rtt_us_min = 0;
	s->is_repairing = 0;
}

LAW void westwood_plus_on_restart(void *state, const void *params, u64 now_us, u64 idle_us, struct law_control *control)
{
	struct westwood_plus_state *s = state;
	const struct westwood_plus_params *p = params;

	(void)now_us;
	reno_restart(&s->window, s->initial_pkts, p->restart_us, s->srtt_us, idle_us, control);
	s->memory.cwnd_pkts = control->cwnd_pkts;
}

LAW_TABLE struct law_sender westwood_plus_sender = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_sender),
	.name = "westwood_plus",
	.summary = "Reno whose answer to a loss is the rate at which packets arrived, sampled once a round trip",
	.state_bytes = sizeof(struct westwood_plus_state),
	.params_bytes = sizeof(struct westwood_plus_params),
	.flags = LAW_SENDER_PLAIN_ACKS,
	.wire = LAW_WIRE_NONE,
	.ecn_mode = LAW_ECN_MODE_CLASSIC,
	LAW_PARAM_LIST(WESTWOOD_PLUS_PARAMS),
	LAW_WATCH_LIST(struct westwood_plus_state, WESTWOOD_PLUS_WATCH),
	.init = westwood_plus_init,
	.on_ack = westwood_plus_on_ack,
	.on_loss = westwood_plus_on_loss,
	.on_rto = westwood_plus_on_rto,
	.on_restart = westwood_plus_on_restart,
};

#endif /* FADELAB_SENDER_WESTWOOD_PLUS_H */
