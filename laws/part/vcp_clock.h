/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Time as VCP's release 0.1 keeps it in ns-2: a clock of 10 ms, timers of whole milliseconds before they are rounded.
 */
#ifndef FADELAB_PART_VCP_CLOCK_H
#define FADELAB_PART_VCP_CLOCK_H

#include "fixed.h"
#include "law.h"

/* The code's timers tick every 10 ms. */
#define VCP_TICK_US 10000u
/* Longer round trips than this, 71 minutes, do not fit the microseconds of a law. */
#define VCP_RTT_TICKS_MAX 429000u
/* The release rounds a timer up from this remainder on. */
#define VCP_TICK_UP_US 2000u

/* The release computes with whole milliseconds. */
LAW u64 vcp_whole_ms_us(u64 duration_us)
{
	return (duration_us + 500) / 1000 * 1000;
}

/* A round trip as ns-2 sees it without timestamps (rtt_update): how often the clock ticked since the segment left. */
LAW u32 vcp_rtt_ticks(const struct law_ack *ack)
{
	u64 sent_us = (ack->now_us % VCP_TICK_US + VCP_TICK_US - ack->rtt_us % VCP_TICK_US) % VCP_TICK_US;

	return (u32)fixed_min(fixed_max((ack->rtt_us + sent_us) / VCP_TICK_US, 1), VCP_RTT_TICKS_MAX);
}

#endif /* FADELAB_PART_VCP_CLOCK_H */
