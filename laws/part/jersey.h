/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What TCP Jersey and TCP New Jersey share: the estimator of new-jersey-2004 equation (1), and what a loss means beside
 * routers that mark every packet while they are congested.
 *
 * Where the path takes no part in ECN nothing could ever be marked, and every loss would pass for the link's: the flow
 * is then NewReno's.
 */
#ifndef FADELAB_PART_JERSEY_H
#define FADELAB_PART_JERSEY_H

#include "fixed.h"
#include "law.h"
#include "part/rate.h"
#include "part/reno.h"
#include "part/window.h"

/* What both are made of beside the clock that they read. */
struct jersey_core {
	struct window window;
	struct reno_memory memory;
	u64 rate_Bps; /* R */
	u32 srtt_us;
	u32 initial_pkts;
	u32 ownd_pkts;
	u8 is_newreno; /* the path or the peer leaves the law without what it needs */
	u8 reserved[3];
};

/* R <- (RTT R + L) / (dt + RTT), rounded to the nearest: equation (1). */
LAW u64 jersey_rate_Bps(u64 rate_Bps, u64 rtt_us, u64 arrived_bytes, u64 passed_us)
{
	u64 span_us = fixed_min(rtt_us, RATE_SPAN_US_MAX);
	u64 whole_us = span_us + fixed_min(passed_us, RATE_SPAN_US_MAX);
	u64 kept = fixed_min(rate_Bps, RATE_BPS_MAX) * span_us;
	u64 came = fixed_min(arrived_bytes, RATE_BYTES_MAX) * 1000000;

	LAW_STEP("new-jersey-2004 (1): R = (RTT R + L) / (dt + RTT)");
	return fixed_min(fixed_div(fixed_add(kept, came) + whole_us / 2, whole_us), RATE_BPS_MAX);
}

LAW void jersey_init(struct jersey_core *core, const struct law_start *start, const struct law_control *control)
{
	core->initial_pkts = control->cwnd_pkts;
	core->srtt_us = start->srtt_us;
	core->memory.cwnd_pkts = control->cwnd_pkts;
}

/* Which round trip the equations take; 0 before there is one. */
LAW u64 jersey_rtt_us(const struct law_ack *ack, u64 takes_least)
{
	return takes_least ? ack->rtt_us_min : ack->srtt_us;
}

/* L: what an ACK newly tells of, or only what it acknowledges in order. */
LAW u64 jersey_arrived_bytes(const struct law_ack *ack, u64 counts_dupacks)
{
	if (counts_dupacks)
		return rate_delivered_bytes(ack);
	return (u64)ack->acked_pkts * fixed_min(ack->packet_bytes, LAW_PACKET_BYTES_MAX);
}

LAW void jersey_estimate(struct jersey_core *core, const struct law_ack *ack, u64 rtt_us, u64 arrived_bytes,
                         u64 passed_us)
{
	core->rate_Bps = jersey_rate_Bps(core->rate_Bps, rtt_us, arrived_bytes, passed_us);
	core->ownd_pkts = rate_window_pkts(core->rate_Bps, rtt_us, ack->packet_bytes);
}

/* The window grows as NewReno's. */
LAW void jersey_grow(struct jersey_core *core, const struct law_ack *ack, u64 limit_pkts, struct law_control *control)
{
	reno_grow(&core->window, ack, limit_pkts, control);
	reno_remember(&core->memory, ack, control);
}

/*
 * A mark calls for the estimate; a third duplicate ACK without one is the wireless link's, and the window stays.
 * Whether it had one is told by the host: within the round trip of an ECN echo it does not ask again.
 */
LAW void jersey_lose(struct jersey_core *core, const struct law_ack *ack, u32 cause, struct law_control *control)
{
	if (core->is_newreno) {
		LAW_STEP("neither marks nor a clock to go by: NewReno, ssthresh = max(cwnd / 2, 2)");
		control->ssthresh_pkts = reno_half(control->cwnd_pkts);
	} else if (cause == LAW_LOSS_ECN) {
		LAW_STEP("section 3.5: marked, ssthresh = ownd, and cwnd with it where it is above");
		control->ssthresh_pkts = core->ownd_pkts > 2 ? core->ownd_pkts : 2;
	} else {
		LAW_STEP("section 3.5: lost without a mark, a random error: the window stays");
		control->ssthresh_pkts = control->cwnd_pkts > 2 ? control->cwnd_pkts : 2;
	}
	reno_remember(&core->memory, ack, control);
}

LAW void jersey_restart(struct jersey_core *core, u64 restart_us, u64 idle_us, struct law_control *control)
{
	reno_restart(&core->window, core->initial_pkts, restart_us, core->srtt_us, idle_us, control);
	core->memory.cwnd_pkts = control->cwnd_pkts;
}

#endif /* FADELAB_PART_JERSEY_H */
