/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: Katabi, Handley, Rohrs, "Congestion control for high bandwidth-delay product networks", SIGCOMM 2002;
 * draft-falk-xcp-spec-03; constants and order of steps as in ns-2.35.
 *
 * In one paragraph: Each data packet tells routers the sender's round trip and the distance of its packets, and asks
 * for as much throughput as possible. Routers lower the request to the share of the spare capacity that falls to this
 * packet; the receiver sums what came through and returns the sum; the sender adds it to its window.
 *
 * Law:
 *   on send    RTT = srtt, X = srtt / whole cwnd, delta = as much as possible; without a round trip RTT = X = delta = 0
 *   on an ACK  cwnd += reverse feedback * srtt / packet size, at least 1; as Reno where no router of XCP is on the path
 *   bound      an increase ends at twice what a round trip delivered, and 10, and at the receiver's window; after a
 *              loss it is Reno's at most, until routers take back more than they grant in a round trip, or for 32 and
 *              more: part/trust.h
 *   loss       as Reno (RFC 5681)
 *
 * Feedback: on data 12 bytes, RTT and X (unsigned seconds, 28 fractional bits) and delta (signed bytes per second); on
 * ACKs 4 bytes, the reverse feedback (signed bytes per second). All in network byte order.
 *
 * Parameters: the X-macro XCP_SENDER_PARAMS below.
 *
 * Divergences:
 *   1. The request is the largest 32-bit number; ns-2 asks for 1e24 bytes per second less the present throughput.
 *      Routers grant a packet less than 2^31 bytes per second on any link below 17 Gbit/s.
 *   2. While the host recovers from a loss the feedback is dropped: the draft lets loss control override XCP. ns-2
 *      looks at no feedback of a duplicate ACK at any time, in a recovery or not, and what it carried is lost:
 *      `feedback = "new"`. After random losses, which leave many of them, its windows grow that much less.
 *      ns-2's XCP is a Reno, whose recovery ends with the first new ACK, a partial one included, and it acts on that
 *      ACK: that is the host's to say (`recovery_exit` of the transport). With NewReno or SACK partial ACKs stay within
 *      the recovery, and their feedback is dropped.
 *   3. The draft's ageing of allowance that the sender does not use is left out, as in ns-2.
 *   4. Grants are bounded, which neither source does: a path may have a queue without XCP behind routers that have it,
 *      which overflows while they grant, and a grant may be forged. `grants = "all"` takes each as it is, as ns-2 and
 *      the papers have it; random losses of a channel cost much less then. A path without any router of XCP gives
 *      nothing but the request, which no draft lets a sender tell from a grant; here routers sign what they saw, and
 *      without that the window is Reno's.
 *
 * Figures: vcp-ton-2010 figures 2, 3, 5, 10 to 13; the fairness part of xcc-2010.
 */
#ifndef FADELAB_SENDER_XCP_H
#define FADELAB_SENDER_XCP_H

#include "law.h"
#include "part/bytes.h"
#include "part/confirmed.h"
#include "part/loss_history.h"
#include "part/reno.h"
#include "part/trust.h"
#include "part/window.h"
#include "part/xcp_fields.h"

/* clang-format off */
#define XCP_SENDER_PARAMS(P)                                                                                           \
	P(loss, 0, "reno|history", 1, 0, 1, "ns-2.35; vcp-ton-2010 section IV-D",                                          \
	  "What a loss does: halve, or halve only if ACKs carried negative feedback")                                      \
	P(halving, 0, "whole|exact", 1, 0, 1, "RFC 5681 (4); ns-2, precisionReduce_: exact",                               \
	  "Whether a halved window is rounded down to whole packets, or keeps its fraction")                               \
	P(grants, 0, "bounded|all", 1, 0, 1, "divergence 4; SIGCOMM 2002 and ns-2.35: all",                                \
	  "Whether increases are bounded by what the path delivers and, after losses, by Reno's")                          \
	P(feedback, 0, "all|new", 1, 0, 1, "draft-falk-xcp-spec-03: all; ns-2.35: new",                                    \
	  "Whose feedback counts: that of all ACKs, or of those only that acknowledge something new")                      \
	P(history_acks, 16, "1", 1, 1, 32, "vcp-ton-2010 section IV-D, T",                                                 \
	  "Negative feedbacks that make a loss a congestion loss")                                                     \
	P(history_form, 0, "consecutive|total", 1, 0, 1, "vcp-ton-2010 section IV-D",                                      \
	  "Whether these must be the newest in a row, or any among the last history_size ACKs")                            \
	P(history_size, 32, "1", 1, 1, 32, "vcp-ton-2010 section IV-D, N",                                                 \
	  "ACKs whose reports are remembered")
/* clang-format on */

struct xcp_sender_params {
	XCP_SENDER_PARAMS(LAW_PARAM_FIELD)
};

struct xcp_sender_state {
	struct window window;
	struct reno_memory memory;
	u32 history;
	struct trust trust;
	s64 granted_q32;         /* packets, in this round trip */
	u32 delivered_pkts;      /* in this round trip */
	u32 delivered_last_pkts; /* in the one before */
	u32 reserved;
};

_Static_assert(sizeof(struct xcp_sender_state) <= LAW_STATE_BYTES_MAX, "the kernel gives no more");

/* clang-format off */
#define XCP_SENDER_WATCH(W, state)                                                                                     \
	W(window, state->window.cwnd_q32, "pkt", 4294967296,                                                               \
	  "cwnd with its fraction, as the law left it; a host that repairs losses may have lowered it since")              \
	W(reno_rounds, state->trust.reno_rounds, "1", 1,                                                                   \
	  "Round trips to go until grants count again, after a loss under them")
/* clang-format on */

/* Seconds with 28 fractional bits, below 16 s: 2^28 / 10^6 = 2^22 / 15625. */
LAW u64 xcp_seconds_q28(u64 time_us)
{
	return fixed_min(((time_us << 22) + 7812) / 15625, 0xffffffff);
}

LAW void xcp_sender_init(void *state, const void *params, const struct law_start *start, struct law_control *control)
{
	struct xcp_sender_state *s = state;

	(void)params;
	(void)start;
	s->memory.cwnd_pkts = control->cwnd_pkts;
}

LAW void xcp_sender_on_send(void *state, const void *params, struct law_send *send, struct law_control *control)
{
	/*
	 * Whole packets: so many leave in a round trip, and the sum of their X is the round trip, as routers take it to be.
	 * With the fraction a window of 2.9 would count for two thirds of its flow.
	 */
	u64 cwnd_pkts = control->cwnd_pkts;
	u64 rtt_q28 = xcp_seconds_q28(send->srtt_us);
	/* Rounded: at 10 Gbit/s a packet's distance is only a few hundred units. */
	u64 x_q28 = fixed_div(rtt_q28 + cwnd_pkts / 2, cwnd_pkts);

	(void)state;
	(void)params;
	bytes_put_u32(send->feedback.bytes + XCP_AT_RTT, (u32)rtt_q28);
	bytes_put_u32(send->feedback.bytes + XCP_AT_X, (u32)fixed_min(x_q28, 0xffffffff));
	if (send->srtt_us)
		LAW_STEP("on send: the packet asks for as much throughput as possible");
	else
		LAW_STEP("on send: no round trip is known yet, the packet asks for nothing");
	bytes_put_s32(send->feedback.bytes + XCP_AT_DELTA, send->srtt_us ? XCP_DELTA_BPS_MAX : 0);
	send->feedback.len = XCP_DATA_BYTES;
	send->feedback.present = 1;
}

/*
 * |feedback| * srtt / packet size in packets, with 32 fractional bits. The factor 2^32 / 10^6 is taken in two steps so
 * that nothing exceeds 64 bits: 2^8 before the division by the size, and 2^24 / 10^6 = 2^18 / 15625 after it; the
 * feedback is at most 2^31, srtt below 2^24 us.
 */
LAW u64 xcp_change_q32(u64 feedback_Bps, u32 srtt_us, u32 packet_bytes)
{
	u64 srtt_clipped_us = fixed_min(srtt_us, (1u << 24) - 1);
	u64 change_us = fixed_div((feedback_Bps * srtt_clipped_us) << 8, packet_bytes);

	return (fixed_min(change_us, (1ull << 46) - 1) << 18) / 15625;
}

/* ------------------------------------------------------------------------------------------ bounds of grants */

/* What a window may have beyond twice of what a round trip delivered: an initial window (RFC 6928). */
#define XCP_BEYOND_PKTS 10u

LAW void xcp_count_round(struct xcp_sender_state *s, const struct law_ack *ack)
{
	u64 delivered_pkts = (u64)s->delivered_pkts + ack->delivered_pkts;

	s->delivered_pkts = (u32)fixed_min(delivered_pkts, WINDOW_PKTS_MAX);
	if (!trust_round_ends(&s->trust, ack))
		return;
	s->trust.held_back = s->granted_q32 < 0;
	trust_end_round(&s->trust);
	s->delivered_last_pkts = s->delivered_pkts;
	s->delivered_pkts = 0;
	s->granted_q32 = 0;
}

/* After a loss; with `grants = "all"` nothing is ever held against routers. */
LAW void xcp_distrust(struct xcp_sender_state *s, const struct xcp_sender_params *p)
{
	if (!p->grants)
		trust_lost(&s->trust);
}

/* What a window may come to by grants: a window beyond the receiver's is never used, however soon it is granted. */
LAW u64 xcp_most_pkts(const struct xcp_sender_state *s, const struct law_ack *ack)
{
	u64 most_pkts = 2 * fixed_max(s->delivered_pkts, s->delivered_last_pkts) + XCP_BEYOND_PKTS;

	return ack->rwnd_pkts ? fixed_min(most_pkts, ack->rwnd_pkts) : most_pkts;
}

/* What becomes of a window that a grant would bring to `granted_q32`. */
LAW u64 xcp_bounded_q32(const struct xcp_sender_state *s, const struct law_ack *ack, u32 ssthresh_pkts, u64 cwnd_q32,
                        u64 granted_q32)
{
	u64 most_pkts = xcp_most_pkts(s, ack);

	if (s->trust.reno_rounds) {
		LAW_STEP("bound: grants led to a loss not long ago, the window grows by no more than Reno's");
		granted_q32 = fixed_min(granted_q32, reno_grown_q32(cwnd_q32, ssthresh_pkts, ack->acked_pkts, 1));
	}
	if (granted_q32 >> 32 >= most_pkts)
		LAW_STEP("bound: no more than twice what a round trip delivered, and 10, nor than the receiver takes");
	return fixed_max(fixed_min(granted_q32, most_pkts << 32), cwnd_q32);
}

/* A router's feedback, in bytes per second. */
LAW void xcp_take(struct xcp_sender_state *s, const struct xcp_sender_params *p, const struct law_ack *ack,
                  s64 feedback_Bps, struct law_control *control)
{
	u64 cwnd_q32 = window_get(&s->window, control), told_q32;
	u64 change_q32 = xcp_change_q32(fixed_abs(feedback_Bps), ack->srtt_us, ack->packet_bytes);

	if (feedback_Bps < 0)
		LAW_STEP("on an ACK: negative reverse feedback, cwnd -= |feedback| srtt / packet size");
	else
		LAW_STEP("on an ACK: reverse feedback, cwnd += feedback srtt / packet size");
	told_q32 = feedback_Bps < 0 ? fixed_sub(cwnd_q32, change_q32) : fixed_add(cwnd_q32, change_q32);
	if (!p->grants) {
		s->granted_q32 = fixed_signed_add(s->granted_q32, fixed_with_sign(change_q32, feedback_Bps));
		if (told_q32 > cwnd_q32)
			told_q32 = xcp_bounded_q32(s, ack, control->ssthresh_pkts, cwnd_q32, told_q32);
	}
	window_set(&s->window, control, told_q32);
}

LAW void xcp_sender_on_ack(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	struct xcp_sender_state *s = state;
	const struct xcp_sender_params *p = params;
	u32 counts = ack->acked_pkts || !p->feedback;

	/* A host that reduces the window step by step passes through others: a half's fraction is not held against them. */
	if (!p->halving)
		window_get(&s->window, control);
	if (!p->grants)
		xcp_count_round(s, ack);
	if (!confirmed_by_router(ack)) {
		LAW_STEP("divergence 4: no router of XCP is on the path, the window grows as Reno's");
		if (reno_may_grow(ack, control))
			window_set(&s->window, control,
			           reno_grown_q32(window_get(&s->window, control), control->ssthresh_pkts, ack->acked_pkts, 1));
	} else if (counts && ack->feedback.present && ack->feedback.len >= XCP_ACK_BYTES) {
		/* A repeated feedback was applied when it came. */
		s64 feedback_Bps = bytes_get_s32(ack->feedback.bytes);

		s->history = loss_history_push(s->history, feedback_Bps < 0);
		if (control->ca_state != LAW_CA_RECOVERY)
			xcp_take(s, p, ack, feedback_Bps, control);
		else
			LAW_STEP("divergence 2: recovery, the feedback is dropped");
	} else {
		LAW_STEP("on an ACK: no new feedback, the window stays");
	}
	reno_remember(&s->memory, ack, control);
}

LAW void xcp_sender_on_loss(void *state, const void *params, const struct law_ack *ack, u32 cause,
                            struct law_control *control)
{
	struct xcp_sender_state *s = state;
	const struct xcp_sender_params *p = params;

	(void)cause;
	if (p->loss == 0 || loss_history_congested(s->history, p->history_form, p->history_size, p->history_acks)) {
		LAW_STEP("loss = reno, or history that shows negative feedback: a loss halves the window");
		reno_halve(&s->window, p->halving, control);
		xcp_distrust(s, p);
	} else {
		LAW_STEP("loss = history without negative feedback: an error of the channel, the window stays");
		control->ssthresh_pkts = control->cwnd_pkts ? control->cwnd_pkts : 1;
	}
	reno_remember(&s->memory, ack, control);
}

LAW void xcp_sender_on_rto(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	struct xcp_sender_state *s = state;

	(void)ack;
	reno_timeout(&s->memory, control);
	xcp_distrust(s, params);
}

LAW_TABLE struct law_sender xcp_sender = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_sender),
	.name = "xcp",
	.summary = "Explicit control: routers write into each packet by how much its flow may grow",
	.state_bytes = sizeof(struct xcp_sender_state),
	.params_bytes = sizeof(struct xcp_sender_params),
	.flags = LAW_SENDER_PLAIN_ACKS,
	.wire = LAW_WIRE_XCP,
	.ecn_mode = LAW_ECN_MODE_NONE,
	.feedback_bytes = XCP_DATA_BYTES,
	.router = "xcp",
	LAW_PARAM_LIST(XCP_SENDER_PARAMS),
	LAW_WATCH_LIST(struct xcp_sender_state, XCP_SENDER_WATCH),
	.init = xcp_sender_init,
	.on_send = xcp_sender_on_send,
	.on_ack = xcp_sender_on_ack,
	.on_loss = xcp_sender_on_loss,
	.on_rto = xcp_sender_on_rto,
};

#endif /* FADELAB_SENDER_XCP_H */
