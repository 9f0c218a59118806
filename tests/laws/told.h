/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: none; it exists to show what a law is told of ACKs, lost segments and reductions that are taken back.
 *
 * In one paragraph: Counts what it is told, and shows one of these counts where a test can read it: in ssthresh, which
 * it does not need, because it repairs losses with a window of its own, halved at a loss and grown by what arrives.
 *
 * Law: ssthresh = 1 + the count.
 *
 * Parameters: which count, and the largest window.
 *
 * Divergences: a kernel tells of no single lost segment.
 *
 * Figures: none.
 */
#ifndef FADELAB_TEST_TOLD_H
#define FADELAB_TEST_TOLD_H

#include "fixed.h"
#include "law.h"

/* clang-format off */
#define TOLD_PARAMS(P)                                                                                                 \
	P(shows, 0,                                                                                                        \
	  "timestamps|delayed|probed|undone|flight_before|flight_when_sent|lost|lost_again|lost_flight|"                    \
	  "lost_delivered|lost_lost|app_limited|flight_error",                                                              \
	  1, 0, 12, "arbitrary", "The count that ssthresh shows")                                                          \
	P(window_pkts, 10, "pkt", 1, 1, 1000, "arbitrary", "Largest window")                                               \
	P(idles, 0, "bool", 1, 0, 1, "arbitrary", "Whether it says that it sends less by choice")
/* clang-format on */

struct told_params {
	TOLD_PARAMS(LAW_PARAM_FIELD)
};

enum told_count {
	TOLD_TIMESTAMPS,
	TOLD_DELAYED,
	TOLD_PROBED,
	TOLD_UNDONE,           /* reductions taken back, each as 1 + its cause */
	TOLD_FLIGHT_BEFORE,    /* largest of all ACKs */
	TOLD_FLIGHT_WHEN_SENT, /* largest of all samples */
	TOLD_LOST,
	TOLD_LOST_AGAIN,
	TOLD_LOST_FLIGHT,    /* of the segment lost last */
	TOLD_LOST_DELIVERED, /* since it left */
	TOLD_LOST_LOST,      /* since it left */
	TOLD_APP_LIMITED,
	TOLD_FLIGHT_ERROR, /* of the reconstruction in a kernel, in parts per thousand of what was in flight */
	TOLD_COUNTS
};

struct told_state {
	u32 counts[TOLD_COUNTS];
	u64 errors_pkts;
	u64 flights_pkts;
};

LAW void told_show(const struct told_state *s, const struct told_params *p, struct law_control *control)
{
	control->ssthresh_pkts = 1 + (s->counts[p->shows < TOLD_COUNTS ? p->shows : 0] & 0xffffff);
	if (p->idles)
		control->flags |= LAW_CONTROL_APP_LIMITED;
}

LAW void told_on_ack(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	struct told_state *s = state;
	const struct told_params *p = params;

	s->counts[TOLD_TIMESTAMPS] += !!(ack->flags & LAW_ACK_TIMESTAMPS);
	s->counts[TOLD_DELAYED] += !!(ack->flags & LAW_ACK_DELAYED);
	s->counts[TOLD_PROBED] += !!(ack->flags & LAW_ACK_PROBE_REPAIRED);
	s->counts[TOLD_APP_LIMITED] += ack->rate_interval_us && (ack->flags & LAW_ACK_APP_LIMITED);
	s->counts[TOLD_FLIGHT_BEFORE] = (u32)fixed_max(s->counts[TOLD_FLIGHT_BEFORE], ack->prior_in_flight_pkts);
	s->counts[TOLD_FLIGHT_WHEN_SENT] = (u32)fixed_max(s->counts[TOLD_FLIGHT_WHEN_SENT], ack->rate_prior_in_flight_pkts);
	if (ack->rate_delivered_pkts) {
		u64 flight = ack->rate_prior_in_flight_pkts, delivered = ack->rate_delivered_pkts - 1;

		s->errors_pkts += fixed_max(flight, delivered) - fixed_min(flight, delivered);
		s->flights_pkts += flight;
		s->counts[TOLD_FLIGHT_ERROR] = (u32)fixed_mul_div(1000, s->errors_pkts, s->flights_pkts + 1);
	}
	control->cwnd_pkts = (u32)fixed_min((u64)control->cwnd_pkts + ack->delivered_pkts, p->window_pkts);
	told_show(s, p, control);
}

LAW void told_on_loss(void *state, const void *params, const struct law_ack *ack, u32 cause,
                      struct law_control *control)
{
	(void)ack;
	(void)cause;
	control->cwnd_pkts = control->cwnd_pkts / 2 + 1;
	told_show(state, params, control);
}

LAW void told_on_rto(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	(void)ack;
	told_show(state, params, control);
}

LAW void told_on_undo(void *state, const void *params, const struct law_ack *ack, u32 cause,
                      struct law_control *control)
{
	struct told_state *s = state;

	(void)ack;
	s->counts[TOLD_UNDONE] += 1 + cause;
	told_show(s, params, control);
}

#ifndef __bpf__
LAW void told_on_lost(void *state, const void *params, const struct law_lost *lost, struct law_control *control)
{
	struct told_state *s = state;

	(void)params;
	(void)control;
	s->counts[TOLD_LOST]++;
	s->counts[TOLD_LOST_AGAIN] += lost->retransmission;
	s->counts[TOLD_LOST_FLIGHT] = lost->in_flight_pkts;
	s->counts[TOLD_LOST_DELIVERED] = lost->delivered_pkts;
	s->counts[TOLD_LOST_LOST] = lost->lost_pkts;
}
#endif

LAW_TABLE struct law_sender told_sender = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_sender),
	.name = "told",
	.summary = "Test: shows what it is told",
	.state_bytes = sizeof(struct told_state),
	.params_bytes = sizeof(struct told_params),
	.flags = LAW_SENDER_OWNS_RECOVERY,
	LAW_PARAM_LIST(TOLD_PARAMS),
	.on_ack = told_on_ack,
	.on_loss = told_on_loss,
	.on_rto = told_on_rto,
	.on_undo = told_on_undo,
#ifndef __bpf__
	.on_lost = told_on_lost,
#endif
};

#endif /* FADELAB_TEST_TOLD_H */
