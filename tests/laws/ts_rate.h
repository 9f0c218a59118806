/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: new-jersey-2004 equations (1) and (2); it exists to exercise the receiver's timestamps.
 *
 * In one paragraph: The receiver's clock in each ACK tells how far apart packets arrived, and with their sizes the
 * rate, free of what happens to the ACKs. The window grows as Reno's towards rate times round trip, and stays there.
 *
 * Law, per ACK that acknowledges something new:
 *   R        <- (RTT R + L) / (dt + RTT), dt the difference of the ACKs' TSval times peer_tick_us
 *   ssthresh <- max(2, R RTT / segment)
 *
 * Parameters: the X-macro TS_RATE_PARAMS below.
 *
 * Divergences: none that matter to a test.
 *
 * Figures: none.
 */
#ifndef FADELAB_TEST_TS_RATE_H
#define FADELAB_TEST_TS_RATE_H

#include "law.h"
#include "part/reno.h"
#include "part/window.h"

/* clang-format off */
#define TS_RATE_PARAMS(P)                                                                                              \
	P(peer_tick_us, 1000, "us", 1, 1, 1000000, "RFC 7323: not signalled", "Tick of the receiver's timestamp clock")
/* clang-format on */

struct ts_rate_params {
	TS_RATE_PARAMS(LAW_PARAM_FIELD)
};

struct ts_rate_state {
	struct window window;
	struct reno_memory memory;
	u64 rate_Bps;
	u32 ts_val;
	u32 seen;
};

_Static_assert(sizeof(struct ts_rate_state) <= LAW_STATE_BYTES_MAX, "the kernel gives no more");

LAW void ts_rate_update(struct ts_rate_state *s, const struct ts_rate_params *p, const struct law_ack *ack)
{
	/* Modulo 2^32: the clock wraps. */
	u64 passed_us = (u64)(u32)(ack->ts_val - s->ts_val) * p->peer_tick_us;
	u64 arrived_bytes = fixed_min(ack->acked_pkts, 65535) * ack->packet_bytes;
	u64 kept_bytes = fixed_mul_div(s->rate_Bps, ack->srtt_us, 1000000);

	if (s->seen)
		s->rate_Bps = fixed_mul_div(fixed_add(kept_bytes, arrived_bytes), 1000000, passed_us + ack->srtt_us);
	s->ts_val = ack->ts_val;
	s->seen = 1;
}

LAW void ts_rate_on_ack(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	struct ts_rate_state *s = state;
	u64 cwnd_q32 = window_get(&s->window, control);

	if (ack->acked_pkts && ack->srtt_us) {
		ts_rate_update(s, params, ack);
		if (control->ca_state != LAW_CA_RECOVERY) {
			u64 share_pkts = fixed_mul_div(s->rate_Bps, ack->srtt_us, (u64)ack->packet_bytes * 1000000);

			control->ssthresh_pkts = (u32)fixed_min(fixed_max(share_pkts, 2), WINDOW_PKTS_MAX);
			window_set(&s->window, control, reno_grown_q32(cwnd_q32, control->ssthresh_pkts, ack->acked_pkts, 1));
		}
	}
	reno_remember(&s->memory, ack, control);
}

LAW void ts_rate_on_loss(void *state, const void *params, const struct law_ack *ack, u32 cause,
                         struct law_control *control)
{
	(void)state;
	(void)params;
	(void)ack;
	(void)cause;
	control->ssthresh_pkts = reno_half(control->cwnd_pkts);
}

LAW void ts_rate_on_rto(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	struct ts_rate_state *s = state;

	(void)params;
	(void)ack;
	reno_timeout(&s->memory, control);
}

LAW_TABLE struct law_sender ts_rate_sender = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_sender),
	.name = "ts_rate",
	.summary = "Test: estimates its rate from the receiver's timestamps",
	.state_bytes = sizeof(struct ts_rate_state),
	.params_bytes = sizeof(struct ts_rate_params),
	LAW_PARAM_LIST(TS_RATE_PARAMS),
	.on_ack = ts_rate_on_ack,
	.on_loss = ts_rate_on_loss,
	.on_rto = ts_rate_on_rto,
};

#endif /* FADELAB_TEST_TS_RATE_H */
