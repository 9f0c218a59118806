/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: Xu, Harfoush, Rhee, "Binary Increase Congestion Control (BIC) for Fast Long-Distance Networks", INFOCOM 2004;
 * Linux net/ipv4/tcp_bic.c for what was deployed (parameters, whole packets, smoothing near W_max).
 *
 * In one paragraph: The window searches for the size at which the last loss happened: in steps of max_increment while
 * it is far away, then each round trip a quarter of what is missing, then very slowly. Beyond that size it looks for a
 * new one with growing steps. A loss leaves four fifths. Small windows behave as Reno's.
 *
 * Law:
 *   slow start    cwnd += min(acked, limit) while cwnd < ssthresh                                 RFC 5681 (2)
 *   else          cwnd += acked / n: one packet in n, about cwnd / n packets a round trip
 *   small         n = cwnd                  for cwnd <= low_window (Reno)
 *   far below     n = cwnd / max_increment  for d = (W_max - cwnd) / b > max_increment            additive increase
 *   search        n = cwnd / d              for 1 < d <= max_increment                            binary search
 *   at W_max      n = cwnd smooth_part / b  for d <= 1 and for W_max <= cwnd < W_max + b
 *   probing       n = cwnd (b - 1) / (cwnd - W_max) up to W_max + max_increment (b - 1)           slow start of BIC
 *   far beyond    n = cwnd / max_increment                                                        additive increase
 *   no W_max      n <= 20                   before the first loss and after a timeout
 *   ACK ratio     n / ratio, at least 1; ratio += (acked - ratio) / 16, from 2 on, above low_window
 *   loss          W_max = cwnd, or cwnd (1 + beta) / 2 where W_max was larger (fast convergence)
 *                 ssthresh = max(beta cwnd, 2), half of cwnd where cwnd <= low_window
 *   timeout       the same for ssthresh; W_max and the ratio are forgotten
 *   All divisions are of whole packets, rounded down.
 *
 * Parameters: the X-macro BIC_PARAMS below.
 *
 * Divergences:
 *   1. The paper: beta 0.875, steps of half the distance, S_max 32, S_min 0.01. Linux: 0.8, a quarter, 16, and
 *      smooth_part in place of S_min; this law has Linux's, and beta, b, max_increment and smooth_part are parameters.
 *   2. The paper keeps fractions; Linux divides whole packets, and so does this law. It matters: d <= 1 holds from 7
 *      packets below W_max on and not from 4, and at 31 packets n = 31 / 16 = 1 doubles the window in a round trip.
 *   3. Linux divides n by the ratio of packets to ACKs, from the time when windows grew once per ACK; today they grow
 *      by packets, so that the division doubles the growth under delayed ACKs. Without delayed ACKs it does so too: the
 *      filter starts at 2 and its whole sixteenths never fall below 31/16. ack_ratio = false leaves the division out.
 *   4. ns-2.35 (Agent/TCP/Linux) has the code of Linux 2.6, which waits for n + 1 ACKs. One flow over 54 Mbit/s, 192 ms
 *      and a buffer of one BDP: both fill the link and lose in turn at 2510 and 2492 packets (here 2519 and 2506), and
 *      the two losses of a cycle take 24.95 s (here 24.68 s, and 24.87 s with n + 1).
 *   5. Cycles are 37 to 43 % shorter than the fluid form of the law, w' = 1 / n a packet without whole packets, ratio
 *      and fast convergence: it is the ratio, and it is Linux's. One flow alone over a full link of C packets a
 *      second, whose loss comes at w, has a cycle of sum n(v) / C over v from beta w to w, and two round trips until
 *      the loss is repaired. At 10, 54 and 100 Mbit/s, 100 ms and a buffer of one BDP that is 6.2, 8.7 and 11.2 s as
 *      a fluid; whole packets make it longer (8.9, 11.4, 13.9 s: d <= 1 begins at 7 packets and not at 4), the ratio
 *      alone divides its first term by 31/16, and fast convergence, which lets every second cycle begin its probe at
 *      once, takes 14 to 19 %. All three together: 3.9, 5.1 and 6.4 s. The form with all three holds within 1.3 %.
 *   6. Linux leaves idleness to the host (RFC 5681 section 4.1) and undoes reductions that were spurious; this law does
 *      neither.
 *
 * Figures: none of the seeds; the law between Reno and CUBIC, beside the others over recorded cellular links.
 */
#ifndef FADELAB_SENDER_BIC_H
#define FADELAB_SENDER_BIC_H

#include "fixed.h"
#include "law.h"
#include "part/reno.h"
#include "part/window.h"

/* clang-format off */
#define BIC_PARAMS(P)                                                                                                  \
	P(low_window_pkts, 14, "pkt", 1, 0, 65535, "Linux low_window; Xu 2004: 14",                                        \
	  "Up to this window the flow is Reno's")                                                                          \
	P(max_increment_pkts, 16, "pkt", 1, 1, 65535, "Linux max_increment; Xu 2004: S_max 32",                            \
	  "Most packets that a round trip adds, before the ACK ratio")                                                     \
	P(smooth_part, 20, "1", 1, 1, 65535, "Linux smooth_part",                                                          \
	  "Near W_max a round trip adds b / smooth_part packets, before the ACK ratio")                                    \
	P(b, 4, "1", 1, 2, 1000, "Linux BICTCP_B; Xu 2004: 2",                                                             \
	  "A round trip of the search goes 1 / b of the way to W_max")                                                     \
	P(beta, 819, "1", 1024, 128, 1023, "Linux beta: 819/1024; Xu 2004: 0.875",                                         \
	  "What a loss leaves of the window")                                                                              \
	P(fast_convergence, 1, "bool", 1, 0, 1, "Xu 2004; Linux fast_convergence",                           \
	  "Whether a flow that keeps losing ground aims lower, so that others catch up")                                   \
	P(ack_ratio, 1, "bool", 1, 0, 1, "Linux delayed_ack; Xu 2004 has none",                                            \
	  "Whether growth is multiplied by the ratio of packets to ACKs")                                                  \
	P(limit_pkts, 1, "pkt", 1, 1, 65535, "RFC 5681 (2): 1; Linux: no limit",                                           \
	  "Most packets that one ACK adds in slow start")
/* clang-format on */

/* Linux: in slow start of a connection a round trip adds at least a twentieth of the window. */
#define BIC_COUNT_FIRST_MAX 20
/* The filter of the ACK ratio, in sixteenths: where it starts, and an end far above any run of delayed ACKs. */
#define BIC_RATIO_FIRST_Q4 32
#define BIC_RATIO_MAX_Q4 (1u << 20)

struct bic_params {
	BIC_PARAMS(LAW_PARAM_FIELD)
};

struct bic_state {
	struct window window;
	struct reno_memory memory;
	u32 w_max_pkts; /* 0: no loss yet, or a timeout since */
	u32 ratio_q4;   /* packets per ACK */
};

_Static_assert(sizeof(struct bic_state) <= LAW_STATE_BYTES_MAX, "the kernel gives no more");

/* clang-format off */
#define BIC_WATCH(W, state)                                                                                            \
	W(window, state->window.cwnd_q32, "pkt", 4294967296,                                                               \
	  "cwnd with its fraction, as the law left it; a host that repairs losses may have lowered it since")              \
	W(w_max_pkts, state->w_max_pkts, "pkt", 1,                                                                         \
	  "W_max, where the search ends; 0: none, before the first loss and after a timeout")                              \
	W(ack_ratio, state->ratio_q4, "1", 16,                                                                             \
	  "ratio of packets to ACKs")
/* clang-format on */

LAW void bic_init(void *state, const void *params, const struct law_start *start, struct law_control *control)
{
	struct bic_state *s = state;

	(void)params;
	(void)start;
	s->ratio_q4 = BIC_RATIO_FIRST_Q4;
	s->memory.cwnd_pkts = control->cwnd_pkts;
}

/* Packets to be acknowledged for one packet of growth, for a window below W_max. */
LAW u64 bic_count_below(const struct bic_params *p, u64 cwnd_pkts, u64 w_max_pkts)
{
	u64 distance_pkts = fixed_div(fixed_sub(w_max_pkts, cwnd_pkts), p->b);

	if (distance_pkts > p->max_increment_pkts) {
		LAW_STEP("Xu 2004, additive increase: far below W_max, cwnd += max_increment a round trip");
		return fixed_div(cwnd_pkts, p->max_increment_pkts);
	}
	if (distance_pkts <= 1) {
		LAW_STEP("tcp_bic.c: just below W_max, cwnd += b / smooth_part a round trip");
		return fixed_div(cwnd_pkts * p->smooth_part, p->b);
	}
	LAW_STEP("Xu 2004, binary search increase: cwnd += (W_max - cwnd) / b a round trip");
	return fixed_div(cwnd_pkts, distance_pkts);
}

/* The same for a window at or beyond W_max, where the search for a new one starts slowly. */
LAW u64 bic_count_beyond(const struct bic_params *p, u64 cwnd_pkts, u64 w_max_pkts)
{
	u64 beyond_pkts = fixed_sub(cwnd_pkts, w_max_pkts);

	if (beyond_pkts < p->b) {
		LAW_STEP("tcp_bic.c: at W_max, cwnd += b / smooth_part a round trip");
		return fixed_div(cwnd_pkts * p->smooth_part, p->b);
	}
	if (beyond_pkts < p->max_increment_pkts * (p->b - 1)) {
		LAW_STEP("Xu 2004, slow start of the probe: beyond W_max, cwnd += (cwnd - W_max) / (b - 1) a round trip");
		return fixed_div(cwnd_pkts * (p->b - 1), beyond_pkts);
	}
	LAW_STEP("Xu 2004, additive increase: far beyond W_max, cwnd += max_increment a round trip");
	return fixed_div(cwnd_pkts, p->max_increment_pkts);
}

/* Packets to be acknowledged for one packet of growth, at least 1. */
LAW u64 bic_count(const struct bic_state *s, const struct bic_params *p, u64 cwnd_pkts)
{
	u64 count;

	if (cwnd_pkts <= p->low_window_pkts) {
		LAW_STEP("Xu 2004, low_window: a small window grows as Reno's, cwnd += acked / cwnd");
		return fixed_max(cwnd_pkts, 1);
	}
	if (cwnd_pkts < s->w_max_pkts)
		count = bic_count_below(p, cwnd_pkts, s->w_max_pkts);
	else
		count = bic_count_beyond(p, cwnd_pkts, s->w_max_pkts);
	if (!s->w_max_pkts)
		count = fixed_min(count, BIC_COUNT_FIRST_MAX);
	if (p->ack_ratio)
		count = fixed_div(count << 4, s->ratio_q4);
	return fixed_max(count, 1);
}

/* One packet in each `count`; rounded up, so that `count` packets add a whole one. */
LAW u64 bic_grown_q32(const struct bic_state *s, const struct bic_params *p, u64 cwnd_q32, u64 acked_pkts)
{
	u64 counted_pkts = window_counted_pkts(fixed_min(acked_pkts, 65535), cwnd_q32);
	u64 count = bic_count(s, p, cwnd_q32 >> 32);

	return fixed_add(cwnd_q32, fixed_div((counted_pkts << 32) + count - 1, count));
}

/* ratio += (acked - ratio) / 16 in whole sixteenths, as Linux does: it never falls below 31 of them. */
LAW void bic_follow_ratio(struct bic_state *s, const struct law_ack *ack)
{
	u64 ratio_q4 = (u64)s->ratio_q4 + ack->acked_pkts - (s->ratio_q4 >> 4);

	s->ratio_q4 = (u32)fixed_min(ratio_q4, BIC_RATIO_MAX_Q4);
}

LAW void bic_on_ack(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	struct bic_state *s = state;
	const struct bic_params *p = params;
	u64 cwnd_q32 = window_get(&s->window, control);

	if (control->ca_state == LAW_CA_OPEN && ack->acked_pkts)
		bic_follow_ratio(s, ack);
	if (reno_may_grow(ack, control)) {
		if (control->cwnd_pkts < control->ssthresh_pkts)
			cwnd_q32 = reno_grown_q32(cwnd_q32, control->ssthresh_pkts, ack->acked_pkts, p->limit_pkts);
		else
			cwnd_q32 = bic_grown_q32(s, p, cwnd_q32, ack->acked_pkts);
		window_set(&s->window, control, cwnd_q32);
	}
	reno_remember(&s->memory, ack, control);
}

/* W_max and ssthresh for a loss with the window at cwnd_pkts. */
LAW u32 bic_reduce(struct bic_state *s, const struct bic_params *p, u32 cwnd_pkts)
{
	if (p->fast_convergence && cwnd_pkts < s->w_max_pkts) {
		LAW_STEP("Xu 2004, fast convergence: W_max = cwnd (1 + beta) / 2");
		s->w_max_pkts = (u32)(cwnd_pkts * (1024 + p->beta) / 2048);
	} else {
		LAW_STEP("Xu 2004, a loss: W_max = cwnd");
		s->w_max_pkts = cwnd_pkts;
	}
	if (cwnd_pkts <= p->low_window_pkts)
		return reno_half(cwnd_pkts);
	LAW_STEP("Xu 2004, a loss: ssthresh = max(beta cwnd, 2)");
	return (u32)fixed_max(cwnd_pkts * p->beta / 1024, 2);
}

LAW void bic_on_loss(void *state, const void *params, const struct law_ack *ack, u32 cause, struct law_control *control)
{
	struct bic_state *s = state;

	(void)cause;
	control->ssthresh_pkts = bic_reduce(s, params, control->cwnd_pkts);
	reno_remember(&s->memory, ack, control);
}

LAW void bic_on_rto(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	struct bic_state *s = state;

	(void)ack;
	if (!s->memory.timed_out) {
		LAW_STEP("tcp_bic.c: timeout, reduction from the window before it; W_max is forgotten");
		control->ssthresh_pkts = bic_reduce(s, params, s->memory.cwnd_pkts);
	} else {
		LAW_STEP("RFC 5681 section 3.1: the timer backs off for the same segment, ssthresh stays");
	}
	s->w_max_pkts = 0;
	s->ratio_q4 = BIC_RATIO_FIRST_Q4;
	s->memory.timed_out = 1;
	s->memory.cwnd_pkts = control->cwnd_pkts;
}

LAW_TABLE struct law_sender bic_sender = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_sender),
	.name = "bic",
	.summary = "The window searches for the size of the last loss by halves, and slowly beyond it",
	.state_bytes = sizeof(struct bic_state),
	.params_bytes = sizeof(struct bic_params),
	.flags = LAW_SENDER_PLAIN_ACKS,
	.wire = LAW_WIRE_NONE,
	.ecn_mode = LAW_ECN_MODE_CLASSIC,
	LAW_PARAM_LIST(BIC_PARAMS),
	LAW_WATCH_LIST(struct bic_state, BIC_WATCH),
	.init = bic_init,
	.on_ack = bic_on_ack,
	.on_loss = bic_on_loss,
	.on_rto = bic_on_rto,
};

#endif /* FADELAB_SENDER_BIC_H */
