/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * RFC 5681 as other laws use it: the growth of the window, and what a loss or a timeout does to ssthresh.
 */
#ifndef FADELAB_PART_RENO_H
#define FADELAB_PART_RENO_H

#include "law.h"
#include "part/window.h"

/* What RFC 5681 needs beside the window. */
struct reno_memory {
	u32 cwnd_pkts; /* as last seen: at a timeout the host has already lowered its own */
	u32 timed_out; /* a timeout, and nothing new acknowledged since */
};

/* ssthresh after a loss with the window at cwnd, RFC 5681 equation (4). */
LAW u32 reno_half(u32 cwnd_pkts)
{
	LAW_STEP("RFC 5681 (4): ssthresh = max(cwnd / 2, 2)");
	return cwnd_pkts / 2 < 2 ? 2 : cwnd_pkts / 2;
}

/*
 * A loss or an ECN echo halves the window. The host brings it to ssthresh, which is in whole packets; `exact` keeps the
 * fraction of the half for the growth to come, as ns-2 does where precisionReduce_ is set.
 */
LAW void reno_halve(struct window *window, u64 exact, struct law_control *control)
{
	u64 half_q32 = window_get(window, control) / 2;

	control->ssthresh_pkts = reno_half(control->cwnd_pkts);
	if (exact) {
		LAW_STEP("ns-2, precisionReduce_: the half keeps its fraction");
		window->cwnd_q32 = fixed_max(half_q32, (u64)control->ssthresh_pkts << 32);
	}
}

/* To be called at the end of each on_ack and on_loss. */
LAW void reno_remember(struct reno_memory *memory, const struct law_ack *ack, const struct law_control *control)
{
	memory->cwnd_pkts = control->cwnd_pkts;
	if (ack->acked_pkts)
		memory->timed_out = 0;
}

/*
 * ssthresh after a timeout, RFC 5681 section 3.1: half of what was in use, once. While the timer backs off for the
 * same segment ssthresh stays.
 */
LAW void reno_timeout(struct reno_memory *memory, struct law_control *control)
{
	if (!memory->timed_out) {
		LAW_STEP("RFC 5681 section 3.1: timeout, ssthresh from the window before it");
		control->ssthresh_pkts = reno_half(memory->cwnd_pkts);
	} else {
		LAW_STEP("RFC 5681 section 3.1: the timer backs off for the same segment, ssthresh stays");
	}
	memory->timed_out = 1;
	memory->cwnd_pkts = control->cwnd_pkts;
}

/* Growth by one ACK: slow start up to ssthresh, RFC 5681 equation (2), then one packet a round trip, equation (3). */
LAW u64 reno_grown_q32(u64 cwnd_q32, u32 ssthresh_pkts, u64 acked_pkts, u64 limit_pkts)
{
	u64 ssthresh_q32 = (u64)ssthresh_pkts << 32;

	if (cwnd_q32 < ssthresh_q32) {
		u64 step_pkts = fixed_min(acked_pkts, limit_pkts);
		u64 room_pkts = (ssthresh_q32 - cwnd_q32 + FIXED_ONE_Q32 - 1) >> 32;
		u64 used_pkts = fixed_min(step_pkts, room_pkts);

		LAW_STEP("RFC 5681 (2): slow start, cwnd += min(acked, limit) up to ssthresh");
		return cwnd_q32 + (used_pkts << 32);
	}
	LAW_STEP("RFC 5681 (3): congestion avoidance, cwnd += acked / cwnd, at most 1");
	return fixed_add(cwnd_q32, window_share_q32(window_counted_pkts(acked_pkts, cwnd_q32) << 32, cwnd_q32));
}

/* Whether the window may grow now: on new data outside of recovery (RFC 5681), and when it was used (RFC 7661). */
LAW u32 reno_may_grow(const struct law_ack *ack, const struct law_control *control)
{
	if (!ack->acked_pkts) {
		LAW_STEP("RFC 5681 section 3.1: nothing newly acknowledged, the window stays");
		return 0;
	}
	if (control->ca_state == LAW_CA_RECOVERY || control->ca_state == LAW_CA_CWR) {
		LAW_STEP("RFC 5681 section 3.2: recovery, the window is the host's until it ends");
		return 0;
	}
	if (!(ack->flags & LAW_ACK_CWND_LIMITED)) {
		LAW_STEP("RFC 7661: the window did not limit the sender, so it does not grow");
		return 0;
	}
	return 1;
}

/* The window grows as by counted_pkts. */
LAW void reno_raise(struct window *window, u64 counted_pkts, u64 limit_pkts, struct law_control *control)
{
	u64 cwnd_q32 = window_get(window, control);

	window_set(window, control, reno_grown_q32(cwnd_q32, control->ssthresh_pkts, counted_pkts, limit_pkts));
}

/* The same by an ACK, where it may. */
LAW void reno_grow(struct window *window, const struct law_ack *ack, u64 limit_pkts, struct law_control *control)
{
	if (reno_may_grow(ack, control))
		reno_raise(window, ack->acked_pkts, limit_pkts, control);
}

/*
 * Sending again after a pause, RFC 5681 section 4.1. It wants one RTO, which a law does not know: restart_us or twice
 * srtt, whichever is longer. 0: never.
 */
LAW void reno_restart(struct window *window, u32 initial_pkts, u64 restart_us, u32 srtt_us, u64 idle_us,
                      struct law_control *control)
{
	if (restart_us && idle_us >= fixed_max(restart_us, 2ull * srtt_us) && control->cwnd_pkts > initial_pkts) {
		LAW_STEP("RFC 5681 section 4.1: restart after idleness, cwnd = initial window");
		window_set(window, control, (u64)initial_pkts << 32);
	}
}

#endif /* FADELAB_PART_RENO_H */
