/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: where the law comes from: paper, section, equation.
 *
 * In one paragraph: The window grows by a packet a round trip and shrinks by a factor on a loss. A skeleton to begin
 * with: law.h says what a law sees and may do, part/ has pieces that other laws share.
 *
 * Law:
 *   each ACK            cwnd += acked / cwnd, in slow start cwnd += acked
 *   loss or ECN echo    ssthresh = max(beta cwnd, 2)
 *
 * Parameters: the X-macro NEWLAW_PARAMS below.
 *
 * Divergences: none yet.
 */
#ifndef NEWLAW_H
#define NEWLAW_H

#include "fixed.h"
#include "law.h"
#include "part/window.h"

/* name, default, unit, scale, min, max, source, meaning: a user writes default / scale, here 0.5. */
#define NEWLAW_PARAMS(P) P(beta, 500, "1", 1000, 1, 999, "RFC 5681 (4)", "What a loss leaves of the window")

struct newlaw_params {
	NEWLAW_PARAMS(LAW_PARAM_FIELD)
};

/* Zeroed before init; at most 104 bytes, which is what the kernel gives. */
struct newlaw_state {
	struct window window; /* with the fraction of a packet that cwnd_pkts cannot hold */
};

_Static_assert(sizeof(struct newlaw_state) <= LAW_STATE_BYTES_MAX, "the kernel gives no more");

LAW void newlaw_on_ack(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	struct newlaw_state *s = state;
	u64 cwnd_q32 = window_get(&s->window, control);
	/* After a timeout one ACK may cover a whole window that had arrived before: it counts as two packets (RFC 3465). */
	u64 acked_q32 = fixed_min(ack->acked_pkts, 2) << 32;

	(void)params;
	/* In recovery the window is the host's. One that is not used is not grown (RFC 7661). */
	if (control->ca_state == LAW_CA_RECOVERY || !(ack->flags & LAW_ACK_CWND_LIMITED))
		return;
	if (control->cwnd_pkts < control->ssthresh_pkts) {
		LAW_STEP("slow start: cwnd += acked");
		window_set(&s->window, control, cwnd_q32 + acked_q32);
	} else {
		LAW_STEP("a packet a round trip: cwnd += acked / cwnd");
		window_set(&s->window, control, cwnd_q32 + window_share_q32(acked_q32, cwnd_q32));
	}
}

LAW void newlaw_on_loss(void *state, const void *params, const struct law_ack *ack, u32 cause,
                        struct law_control *control)
{
	const struct newlaw_params *p = params;

	(void)state;
	(void)ack;
	(void)cause;
	LAW_STEP("loss: ssthresh = max(beta cwnd, 2)");
	control->ssthresh_pkts = (u32)fixed_max(control->cwnd_pkts * p->beta / 1000, 2);
}

LAW void newlaw_on_rto(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	newlaw_on_loss(state, params, ack, LAW_LOSS_RTO, control);
}

LAW_TABLE struct law_sender newlaw_sender = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_sender),
	.name = "newlaw",
	.summary = "A packet a round trip more, a factor less on a loss",
	.state_bytes = sizeof(struct newlaw_state),
	.params_bytes = sizeof(struct newlaw_params),
	.wire = LAW_WIRE_NONE,
	.ecn_mode = LAW_ECN_MODE_CLASSIC,
	LAW_PARAM_LIST(NEWLAW_PARAMS),
	.on_ack = newlaw_on_ack,
	.on_loss = newlaw_on_loss,
	.on_rto = newlaw_on_rto,
};

#endif /* NEWLAW_H */
