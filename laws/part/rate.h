/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A path's rate as senders estimate it, and the window that it is worth: Westwood, Jersey, New Jersey. Rates are of IP
 * packets, so that they compare with that of a link.
 */
#ifndef FADELAB_PART_RATE_H
#define FADELAB_PART_RATE_H

#include "fixed.h"
#include "law.h"
#include "part/window.h"

/* Above any link of today (1.1 Tbit/s), and small enough that a rate times RATE_SPAN_US_MAX stays within 64 bits. */
#define RATE_BPS_MAX (1ull << 37)
#define RATE_SPAN_US_MAX (1ull << 26)
/* Nearly what RATE_BPS_MAX carries within RATE_SPAN_US_MAX, and times 10^6 within 64 bits. */
#define RATE_BYTES_MAX (1ull << 43)

/* What has newly arrived, in bytes: each segment counts once, those behind a hole when the receiver tells of them. */
LAW u64 rate_delivered_bytes(const struct law_ack *ack)
{
	return (u64)ack->delivered_pkts * fixed_min(ack->packet_bytes, LAW_PACKET_BYTES_MAX);
}

/* Bytes within a time, as a rate; 0 within none. */
LAW u64 rate_of_Bps(u64 bytes, u64 span_us)
{
	return fixed_min(fixed_div(fixed_min(bytes, RATE_BYTES_MAX) * 1000000, span_us), RATE_BPS_MAX);
}

/* The window that a rate is worth at a round trip: new-jersey-2004 equation (2), and Westwood's. At least 2 packets. */
LAW u32 rate_window_pkts(u64 rate_Bps, u64 rtt_us, u32 packet_bytes)
{
	u64 product = fixed_min(rate_Bps, RATE_BPS_MAX) * fixed_min(rtt_us, RATE_SPAN_US_MAX);
	u64 pkts = fixed_div(product, (u64)fixed_min(packet_bytes, LAW_PACKET_BYTES_MAX) * 1000000);

	LAW_STEP("new-jersey-2004 (2): rate times round trip in segments, at least 2");
	return (u32)fixed_min(fixed_max(pkts, 2), WINDOW_PKTS_MAX);
}

#endif /* FADELAB_PART_RATE_H */
