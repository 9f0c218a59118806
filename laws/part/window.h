/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The window with its fraction. Hosts hold whole packets; laws that add a fraction of a packet per ACK keep the rest
 * here, with 32 fractional bits, and give it up when the host has changed the window by itself.
 */
#ifndef FADELAB_PART_WINDOW_H
#define FADELAB_PART_WINDOW_H

#include "fixed.h"
#include "law.h"

/* Beyond any path of today, and small enough that sums and products of windows stay within 64 bits. */
#define WINDOW_PKTS_MAX (1u << 30)

struct window {
	u64 cwnd_q32;
};

/* The window with its fraction; the fraction is lost when the host has changed the window. */
LAW u64 window_get(struct window *window, const struct law_control *control)
{
	if (window->cwnd_q32 >> 32 != control->cwnd_pkts)
		window->cwnd_q32 = (u64)control->cwnd_pkts << 32;
	return window->cwnd_q32;
}

/* Sets the window, within 1 and WINDOW_PKTS_MAX packets. */
LAW void window_set(struct window *window, struct law_control *control, u64 cwnd_q32)
{
	cwnd_q32 = fixed_max(cwnd_q32, FIXED_ONE_Q32);
	cwnd_q32 = fixed_min(cwnd_q32, (u64)WINDOW_PKTS_MAX << 32);
	window->cwnd_q32 = cwnd_q32;
	control->cwnd_pkts = (u32)(cwnd_q32 >> 32);
}

/*
 * How many of the packets that one ACK acknowledges a window grows by: a window's worth at most. After a timeout the
 * window is one packet, and the ACK of the segment that was missing covers all that had arrived behind it, sent under a
 * window that is no more. RFC 3465 section 2.1 draws the same line: in congestion avoidance no ACK adds more than a
 * round trip does.
 */
LAW u64 window_counted_pkts(u64 pkts, u64 cwnd_q32)
{
	return fixed_min(pkts, cwnd_q32 >> 32);
}

/*
 * x / cwnd with 32 fractional bits, x below 2^16 packets. One division on each ACK, so the window gives up 16 of its
 * fractional bits: the relative error is below 2^-16 / cwnd.
 */
LAW u64 window_share_q32(u64 x_q32, u64 cwnd_q32)
{
	return fixed_div(fixed_min(x_q32, (1ull << 48) - 1) << 16, cwnd_q32 >> 16);
}

#endif /* FADELAB_PART_WINDOW_H */
