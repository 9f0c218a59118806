/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: Xia, Subramanian, Stoica, Kalyanaraman, "One more bit is enough", SIGCOMM 2005; constants, bounds and timers
 * as in the authors' ns-2 release 0.1 of February 2006; vcp-ton-2010 sections II-A and IV.
 *
 * In one paragraph: Each router writes how loaded it is into the two ECN bits of data packets: low, high or overload.
 * The receiver echoes the code; the sender multiplies its window while the load is low, adds while it is high, and
 * backs off by an eighth at overload, at most once in an update interval and a round trip. What one ACK adds is bounded
 * by a value that falls with the window, so that no sum of increases outruns a decrease by an eighth.
 *
 * Law, per acknowledged packet, by the code in the ACK:
 *   low       cwnd += (1 + xi)^x - 1     xi = min(kappa (1/0.8 - 1), M(cwnd)), x = min(srtt / t_rho, 2.5)
 *   high      cwnd += min(alpha_s w / cwnd, L(cwnd))
 *             alpha_s = alpha times r/5 up to r = 0.2, r^2 up to 5, then r + 20; r = srtt / t_d
 *   overload  cwnd *= beta once; for t_rho further overload codes are ignored; for one srtt more they add as high does
 *   L         0.1, 0.06, 0.04, 0.02, 0.01, 0.006, 0.004, 0.002 at cwnd = 1, 10, ... 10^7, powers of cwnd between them
 *   M         1, 0.5, 0.2, 0.1, 0.064, 0.044, 0.032, 0.024 at the same windows, linear in log cwnd between them
 *   pacing    for cwnd <= 64: one packet per srtt / 2^ceil(log2 cwnd) where that exceeds t_rho / 2
 *   loss      as Reno (default), or as overload, or as vcp-ton-2010's heuristic decides; a timeout always as Reno's
 *
 * Why L is there: alone, alpha_s adds 30 packets a round trip of 1 s. N flows that add alpha_s each do not leave
 * overload where 7 N alpha_s exceeds gamma times the bandwidth-delay product, because a decrease takes an eighth. With
 * L a round trip adds 4 to 6 % of a window of 10 to 100 packets. The price is fairness: a bounded flow grows in
 * proportion to its window, and convergence over long round trips is slow.
 *
 * Parameters: the X-macro VCP_SENDER_PARAMS below.
 *
 * Divergences:
 *   1. The reference round trip t_d of additive increase is 100 ms and the scale is linear outside 20 to 500 ms, as in
 *      the authors' code; the paper scales by (srtt / t_rho)^2 with t_rho = 200 ms, four times slower. The parameters
 *      td_us and ai_scaling select the paper's form, or none: alpha packets a round trip, however long that is.
 *   2. The clamp of x at 2.5 and the bounds L and M are the code's; the paper speaks of a bound without a number, and
 *      dcp-ew-2010 of artificial bounds. Public copies without L and M exist: `bound = "none"`.
 *   3. A loss halves the window as in the code; vcp-ton-2010 says "an MD", which is `loss = "beta"`.
 *   4. Increments count acknowledged packets, not ACKs, so that delayed ACKs do not slow the law; one ACK counts for a
 *      window's worth at most. The release counts ACKs: `counting = "acks"`.
 *   5. The window grows only while it limits the sender (RFC 7661); the code has only greedy sources.
 *   6. A path that returned no code for a while, clears the ECN bits or has no router of VCP on it, by what the
 *      receiver returns, is treated as Reno treats it: the own first code, come back from a drop-tail queue, says low
 *      load for ever, and without feedback there is no safe multiplicative increase.
 *   7. While the host recovers from a loss the window is left to it. The release is a Reno, whose recovery ends with
 *      the first new ACK, and it acts on that ACK: that is the host's to say (`recovery_exit` of the transport).
 *      ACKs of a recovery are remembered by `loss = "history"` like any other, and a timeout neither asks nor clears
 *      that memory: the window before it is halved, as in the code.
 *   8. Timers are rounded up to the next 10 ms, and srtt is exact. The release measures and smooths round trips in
 *      ticks of 10 ms and rounds timers up from a remainder of 2 ms on: `ticks = "release"`.
 *   9. Pacing is a rate. The release does not pace a window of one packet and rounds the interval down to the tick:
 *      `pacing = "release"`; it lets one packet go with each ACK and one more when the interval has passed, which is
 *      the host's to do (`pacing` of the transport).
 *  10. Windows are looked up in L and M by their first two digits, as in the release (90 places a decade).
 *  11. After a loss a flow multiplies only once a router has reported high load or some round trips are over, since the
 *      queue that overflowed may be one without VCP behind idle routers that have it: part/trust.h. The release
 *      multiplies at once: `grants = "all"`.
 *
 * Figures: vcp-ton-2010 figures 2, 3, 5, 10 to 13; vcp-milcom-2007.
 */
#ifndef FADELAB_SENDER_VCP_H
#define FADELAB_SENDER_VCP_H

#include "law.h"
#include "part/vcp_control.h"

#define VCP_SENDER_PARAMS(P) VCP_CONTROL_PARAMS(P, 0)

/* clang-format off */
#define VCP_SENDER_WATCH(W, state)                                                                                     \
	W(window, state->window.cwnd_q32, "pkt", 4294967296, "cwnd with its fraction, as the law left it")                 \
	W(code, state->code, "none|low|high|overload", 1, "The load code that came last")                                  \
	W(phase, state->phase, "normal|frozen|recovered", 1,                                                               \
	  "frozen: t_rho after a decrease; recovered: one srtt after that, without another decrease")                      \
	W(mi_gain_pkts, state->mi_gain_q32, "pkt", 4294967296, "(1 + xi)^x - 1, added per packet at low load")             \
	W(ai_gain_pkts, state->ai_gain_q32, "pkt", 4294967296, "alpha_s w, added per round trip at high load")
/* clang-format on */

_Static_assert(sizeof(struct vcp_sender_state) <= LAW_STATE_BYTES_MAX, "the kernel gives no more");

/* What the code `low` tells of the load, at most. */
#define VCP_LOW_PERCENT 80u

LAW void vcp_sender_init(void *state, const void *params, const struct law_start *start, struct law_control *control)
{
	(void)params;
	vcp_start(state, start, control);
	control->ecn = VCP_LOW;
}

LAW void vcp_sender_on_ack(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	const struct vcp_sender_params *p = params;
	u32 code = confirmed_by_router(ack) ? ack->feedback.bytes[0] & 3 : VCP_NONE;
	struct vcp_told told = {.code = code, .percent = VCP_LOW_PERCENT, .beta = p->beta};

	vcp_act(state, p, ack, &told, control);
}

LAW void vcp_sender_on_loss(void *state, const void *params, const struct law_ack *ack, u32 cause,
                            struct law_control *control)
{
	(void)cause;
	vcp_lose(state, params, ack, control);
}

LAW void vcp_sender_on_rto(void *state, const void *params, const struct law_ack *ack, struct law_control *control)
{
	(void)ack;
	vcp_time_out(state, params, control);
}

LAW_TABLE struct law_sender vcp_sender = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_sender),
	.name = "vcp",
	.summary = "Variable-structure control: two bits of load from the routers choose MI, AI or MD",
	.state_bytes = sizeof(struct vcp_sender_state),
	.params_bytes = sizeof(struct vcp_sender_params),
	.flags = LAW_SENDER_PACED | LAW_SENDER_PLAIN_ACKS,
	.wire = LAW_WIRE_VCP,
	.ecn_mode = LAW_ECN_MODE_NONE,
	.router = "vcp",
	LAW_PARAM_LIST(VCP_SENDER_PARAMS),
	LAW_WATCH_LIST(struct vcp_sender_state, VCP_SENDER_WATCH),
	.init = vcp_sender_init,
	.on_ack = vcp_sender_on_ack,
	.on_loss = vcp_sender_on_loss,
	.on_rto = vcp_sender_on_rto,
};

#endif /* FADELAB_SENDER_VCP_H */
