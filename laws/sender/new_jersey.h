/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: Xu, Tian, Ansari, "Improving TCP performance in integrated wireless communications networks", Computer
 * Networks 47(2), 2005: new-jersey-2004, section 4.
 *
 * In one paragraph: TCP Jersey with the receiver's clock. The timestamps that ACKs carry tell when packets arrived,
 * whatever happens to the ACKs on their way back (TABE). ssthresh follows the estimate with every ACK, so that slow
 * start ends by itself where the path is full. Routers mark every packet while they are congested (router `cw`).
 *
 * Law, per ACK that tells of something new:
 *   TABE      R = (RTT R + L) / (t_n - t_{n-1} + RTT), t_n when the packet arrived              equation (1)
 *             ownd = RTT R / segment, at least 2                                                equation (2)
 *   ssthresh  = ownd with each ACK that acknowledges new data                                   section 4.2
 *   growth    as NewReno                                                                        RFC 5681 (2), (3)
 *   marked    ssthresh = ownd, and the window falls to it where it is above; once a round trip  section 3.5
 *   lost      third duplicate ACK without a mark: retransmitted, the window stays               section 3.5
 *   timeout   as NewReno
 *   no ECN, no timestamps, a clock that stands or jumps: NewReno, until that is over
 *
 * Parameters: the X-macro NEW_JERSEY_PARAMS below.
 *
 * Divergences:
 *   1. t_n is the TSval of the ACK (RFC 7323), which a receiver reads when it sends the ACK and not when the packet
 *      came: an ACK that is held back for a second packet says when that one came.
 *   2. The tick of the receiver's clock is not signalled. It is learnt (part/peer_clock.h) from the assumption of our
 *      own on, or given: `peer_tick_us`.
 *   3. The paper reacts to each marked ACK, the host once a round trip (RFC 3168 6.1.2).
 *   4. The paper leaves open which RTT it takes, what a duplicate ACK counts, what R begins with (0) and what a timeout
 *      does: as in jersey.h.
 *
 * Figures: new-jersey-2004 figures 5, 7 to 16, table 1.
 */
#ifndef FADELAB_SENDER_NEW_JERSEY_H
#define FADELAB_SENDER_NEW_JERSEY_H

#include "law.h"
#include "part/jersey.h"
#include "part/peer_clock.h"

/* clang-format off */
#define NEW_JERSEY_PARAMS(P)                                                                                           \
	P(peer_tick_us, 0, "us", 1, 0, 1000000, "RFC 7323: not signalled",                                                 \
	  "Tick of the receiver's timestamp clock; 0: learnt")                                                             \
	P(rtt, 0, "smoothed|least", 1, 0, 1, "new-jersey-2004: not said",                                                  \
	  "Which round trip equations (1) and (2) take")                                                                   \
	P(dupacks, 1, "bool", 1, 0, 1, "new-jersey-2004: not said; Casetti 2001: true",                                    \
	  "Whether what arrived behind a hole counts when it is told of, or when the hole is filled")                      \
	P(limit_pkts, 1, "pkt", 1, 1, 65535, "RFC 5681 (2): 1; RFC 3465: 2",                                               \
	  "Most packets that one ACK adds in slow start")                                                                  \
	P(restart_us, 1000000, "us", 1, 0, 1000000000, "RFC 5681 section 4.1, RFC 6298 (2.4)",                             \
	  "Idleness after which the window falls to the initial one; 0: never")
/* clang-format on */

struct new_jersey_params {
	NEW_JERSEY_PARAMS(LAW_PARAM_FIELD)
};

struct new_jersey_state {
	struct jersey_core core;
	struct peer_clock clock;
	u64 passed_us; /* at the receiver since the last packet that counted */
};

_Static_assert(sizeof(struct new_jersey_state) <= LAW_STATE_BYTES_MAX, "the kernel gives no more");

/* clang-format off */
#define NEW_JERSEY_WATCH(W, state)                                                                                     \
	W(window, state->core.window.cwnd_q32, "pkt", 4294967296,                                                          \
	  "cwnd with its fraction, as the law left it; a host that repairs losses may have lowered it since")              \
	W(rate, state->core.rate_Bps, "B/s", 1,                                                                            \
	  "R, the estimated rate of IP packets")                                                                           \
	W(ownd, state->core.ownd_pkts, "pkt", 1,                                                                           \
	  "ownd, the window that R is worth, and ssthresh")                                                                \
	W(peer_tick, state->clock.tick_q16, "us", 65536,                                                                   \
	  "Tick of the receiver's timestamp clock, as learnt or given")                                                    \
	W(is_newreno, state->core.is_newreno, "bool", 1,                                                                   \
	  "Whether the flow is NewReno's: no ECN, no timestamps, or a clock that nothing can be made of")
/* clang-format on */

LAW void new_jersey_init(void *state, const void *params, const struct law_start *start, struct law_control *control)
{
	struct new_jersey_state *s = state;
	const struct new_jersey_params *p = params;

	jersey_init(&s->core, start, control);
	peer_clock_init(&s->clock, p->peer_tick_us ? p->peer_tick_us : start->ts_tick_us);
}

/* TABE: what came over the time that passed at the receiver. */
LAW void new_jersey_measure(struct new_jersey_state *s, const struct new_jersey_params *p, const struct law_ack *ack)
{
	u64 rtt_us = jersey_rtt_us(ack, p->rtt), arrived_bytes = jersey_arrived_bytes(ack, p->dupacks);
	u32 is_first = !s->clock.is_begun;
	u64 passed_us = peer_clock_passed_us(&s->clock, ack->now_us, ack->ts_val, !p->peer_tick_us);

	s->passed_us = fixed_min(fixed_add(s->passed_us, passed_us), RATE_SPAN_US_MAX);
	if (is_first || !arrived_bytes || !rtt_us)
		return;
	jersey_estimate(&s->core, ack, rtt_us, arrived_bytes, s->passed_us);
	s->passed_us = 0;
}

LAW void new_jersey_on_ack(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	struct new_jersey_state *s = state;
	const struct new_jersey_params *p = params;
	u32 has_clock = ack->flags & LAW_ACK_TIMESTAMPS;

	s->core.srtt_us = ack->srtt_us;
	if (has_clock)
		new_jersey_measure(s, p, ack);
	s->core.is_newreno = control->ecn == LAW_ECN_NOT_ECT || !has_clock || s->clock.is_doubted;
	if (ack->acked_pkts && s->core.rate_Bps && !s->core.is_newreno && control->ca_state != LAW_CA_RECOVERY &&
	    control->ca_state != LAW_CA_CWR) {
		LAW_STEP("section 4.2: new data acknowledged, ssthresh = ownd");
		control->ssthresh_pkts = s->core.ownd_pkts;
	}
	jersey_grow(&s->core, ack, p->limit_pkts, control);
}

LAW void new_jersey_on_loss(void *state, const void *params, const struct law_ack *ack, u32 cause,
                            struct law_control *control)
{
	struct new_jersey_state *s = state;

	(void)params;
	jersey_lose(&s->core, ack, cause, control);
}

LAW void new_jersey_on_rto(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	struct new_jersey_state *s = state;

	(void)params;
	(void)ack;
	reno_timeout(&s->core.memory, control);
}

LAW void new_jersey_on_restart(void *state, const void *params, u64 now_us, u64 idle_us, struct law_control *control)
{
	struct new_jersey_state *s = state;
	const struct new_jersey_params *p = params;

	(void)now_us;
	jersey_restart(&s->core, p->restart_us, idle_us, control);
}

LAW_TABLE struct law_sender new_jersey_sender = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_sender),
	.name = "new_jersey",
	.summary = "Jersey with the receiver's clock: ssthresh follows the rate at which packets arrived",
	.state_bytes = sizeof(struct new_jersey_state),
	.params_bytes = sizeof(struct new_jersey_params),
	.wire = LAW_WIRE_NONE,
	.ecn_mode = LAW_ECN_MODE_CLASSIC,
	.router = "cw",
	LAW_PARAM_LIST(NEW_JERSEY_PARAMS),
	LAW_WATCH_LIST(struct new_jersey_state, NEW_JERSEY_WATCH),
	.init = new_jersey_init,
	.on_ack = new_jersey_on_ack,
	.on_loss = new_jersey_on_loss,
	.on_rto = new_jersey_on_rto,
	.on_restart = new_jersey_on_restart,
};

#endif /* FADELAB_SENDER_NEW_JERSEY_H */
