/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: Xia, Subramanian, Stoica, Kalyanaraman, "One more bit is enough", SIGCOMM 2005, section 4.1; the authors'
 * ns-2 release 0.1 of February 2006.
 *
 * In one paragraph: The receiver echoes the load code that routers left in the ECN field of the data. An ACK for
 * several packets carries the most congested of their codes, so that an overload never hides behind a later packet.
 *
 * Law:
 *   on data    code = the highest since the last ACK that carried one
 *   on an ACK  the code goes with it; written, it is forgotten with the next packet
 *
 * Feedback: on ACKs 1 byte, the ECN field as it arrived, and whether a router wrote it or left it so.
 *
 * Divergences:
 *   1. The release acknowledges each packet and copies its code; with delayed ACKs several packets have to share one.
 *   2. A code that an ACK had no room for waits for the next one.
 */
#ifndef FADELAB_RECEIVER_VCP_H
#define FADELAB_RECEIVER_VCP_H

#include "law.h"

struct vcp_receiver_state {
	u32 code;      /* the most congested one since the last ACK */
	u32 pending;   /* whether a packet came since the last ACK */
	u32 confirmed; /* whether a router of VCP saw the newest packet */
};

LAW void vcp_receiver_on_data(void *state, const struct law_data *data)
{
	struct vcp_receiver_state *s = state;
	u32 code = data->ecn & 3;

	s->code = s->pending && s->code > code ? s->code : code;
	s->pending = 1;
	s->confirmed = data->feedback.confirmed;
}

LAW void vcp_receiver_fill_ack(void *state, struct law_fill *fill)
{
	struct vcp_receiver_state *s = state;

	fill->feedback.bytes[0] = (u8)s->code;
	fill->feedback.len = 1;
	fill->feedback.present = 1;
	fill->feedback.confirmed = s->confirmed ? 1 : 0;
}

/* An ACK without room for the code must not lose an overload. */
LAW void vcp_receiver_ack_written(void *state, u32 written)
{
	struct vcp_receiver_state *s = state;

	if (written)
		s->pending = 0;
}

LAW_TABLE struct law_receiver vcp_receiver = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_receiver),
	.name = "vcp",
	.state_bytes = sizeof(struct vcp_receiver_state),
	.feedback_bytes = 1,
	.on_data = vcp_receiver_on_data,
	.fill_ack = vcp_receiver_fill_ack,
	.ack_written = vcp_receiver_ack_written,
};

#endif /* FADELAB_RECEIVER_VCP_H */
