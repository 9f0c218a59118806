/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: Katabi, Handley, Rohrs, "Congestion control for high bandwidth-delay product networks", SIGCOMM 2002;
 * draft-falk-xcp-spec-03; ns-2.35.
 *
 * In one paragraph: The receiver sums what routers granted to the packets that came and returns the sum with the next
 * ACK, so that delayed ACKs lose nothing of it.
 *
 * Law:
 *   on data    sum += delta, if a router of XCP saw the packet; else the delta is the sender's own request
 *   on an ACK  reverse feedback = sum, within 32 bits; written, it is taken from the sum. Where no router saw the
 *              newest packet the ACK says so, and the sum waits
 *
 * Feedback: on data 12 bytes, of which the receiver reads delta, on ACKs 4 bytes, the reverse feedback (signed bytes
 * per second), in network byte order.
 *
 * Divergences:
 *   1. What an ACK had no room for, and what exceeded its 32 bits, stays in the sum; ns-2 has ACKs without limits.
 */
#ifndef FADELAB_RECEIVER_XCP_H
#define FADELAB_RECEIVER_XCP_H

#include "fixed.h"
#include "law.h"
#include "part/bytes.h"
#include "part/xcp_fields.h"

struct xcp_receiver_state {
	s64 sum_Bps;     /* deltas that no ACK has carried yet */
	s64 offered_Bps; /* what the ACK being filled carries */
	u64 confirmed;   /* whether a router of XCP saw the newest packet */
};

LAW void xcp_receiver_on_data(void *state, const struct law_data *data)
{
	struct xcp_receiver_state *s = state;

	s->confirmed = data->feedback.confirmed;
	if (s->confirmed && data->feedback.len >= XCP_DATA_BYTES)
		s->sum_Bps = fixed_signed_add(s->sum_Bps, bytes_get_s32(data->feedback.bytes + XCP_AT_DELTA));
}

LAW void xcp_receiver_fill_ack(void *state, struct law_fill *fill)
{
	struct xcp_receiver_state *s = state;

	s->offered_Bps = s->confirmed ? s->sum_Bps : 0;
	if (s->offered_Bps > XCP_DELTA_BPS_MAX)
		s->offered_Bps = XCP_DELTA_BPS_MAX;
	if (s->offered_Bps < XCP_DELTA_BPS_MIN)
		s->offered_Bps = XCP_DELTA_BPS_MIN;
	bytes_put_s32(fill->feedback.bytes, s->offered_Bps);
	fill->feedback.len = XCP_ACK_BYTES;
	fill->feedback.present = 1;
	fill->feedback.confirmed = s->confirmed ? 1 : 0;
}

/* What did not find room stays in the sum, as does what exceeded 32 bits. */
LAW void xcp_receiver_ack_written(void *state, u32 written)
{
	struct xcp_receiver_state *s = state;

	if (written)
		s->sum_Bps = fixed_signed_add(s->sum_Bps, -s->offered_Bps);
	s->offered_Bps = 0;
}

LAW_TABLE struct law_receiver xcp_receiver = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_receiver),
	.name = "xcp",
	.state_bytes = sizeof(struct xcp_receiver_state),
	.feedback_bytes = XCP_ACK_BYTES,
	.on_data = xcp_receiver_on_data,
	.fill_ack = xcp_receiver_fill_ack,
	.ack_written = xcp_receiver_ack_written,
};

#endif /* FADELAB_RECEIVER_XCP_H */
