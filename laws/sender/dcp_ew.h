/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: Li, Yousefi'zadeh, "DCP-EW: distributed congestion-control protocol for encrypted wireless networks", WCNC
 * 2010 (dcp-ew-2010) sections II and III; VCP's control as in sender/vcp.h.
 *
 * In one paragraph: Routers tell the load of the path in four bits instead of VCP's two. A packet has room for half of
 * them: which half, the lowest bit of its IP ID says, which no router changes and which IPsec leaves readable. The
 * receiver returns both halves; the sender joins them and does what VCP does, with a gain by the level where the load
 * is low. A loss counts as congestion only if the last ACKs told of overload.
 *
 * Law, per acknowledged packet, by the level of the load in the ACK (part/pair_code.h):
 *   below 80 %   cwnd += (1 + xi)^x - 1     xi = min(kappa (1 - rho) / rho, M(cwnd)), rho the upper edge of the level
 *   below 100 %  cwnd += min(alpha_s w / cwnd, L(cwnd))
 *   above        cwnd *= beta of the level, once; then as VCP
 *   loss         MD if the newest T = 16 ACKs all reported overload, else the window stays (section III-D)
 *   x, alpha_s, L, M, pacing, timers, timeouts: sender/vcp.h
 *
 * Parameters: the X-macro DCP_EW_SENDER_PARAMS below.
 *
 * Divergences: the paper leaves levels, gains and exceptions to "Distributed ECN-based congestion control" (ICC 2009),
 * which is not to be had. What follows is therefore ours:
 *   1. The levels, and which half tells what: part/pair_code.h. `code = "nine"` is one that RFC 3168 routers leave
 *      alone.
 *   2. The gain by level is that of VCP's release for loads that are not quantised, kappa (1 - rho) / rho, and has
 *      VCP's bounds L and M, so that nothing but the resolution differs from VCP. The paper says that DPCP needs no
 *      artificial bounds: `bound = "none"`.
 *   3. All levels of overload decrease by VCP's beta, unless beta_2 to beta_4 say otherwise.
 *   4. A half is joined with the other only if no change of the most significant one lies between them and they came
 *      within a round trip (pair_srtts). A region without its least significant half counts as a middle level of it
 *      (`missing`). Overload acts with the most significant half alone, at once.
 *   5. Where IDs never change their lowest bit nothing but the region is known, as under VCP; where they are
 *      all odd, or there are none (IPv6), nothing is, and the flow is Reno's (`known` among the watched values).
 *   6. Divergences 1, 2 and 4 to 11 of sender/vcp.h are this law's, too.
 *
 * Figures: dcp-ew-2010 figures 2, 4 to 6.
 */
#ifndef FADELAB_SENDER_DCP_EW_H
#define FADELAB_SENDER_DCP_EW_H

#include "law.h"
#include "part/pair_sender.h"

/* The default of `loss` is the loss history. */
#define DCP_EW_SENDER_PARAMS(P) PAIR_SENDER_PARAMS(P, 2)

LAW_TABLE struct law_sender dcp_ew_sender = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_sender),
	.name = "dcp_ew",
	.summary = "VCP with the load in four bits over two packets, told apart by the IP ID, and with a loss history",
	.state_bytes = sizeof(struct pair_sender_state),
	.params_bytes = sizeof(struct pair_sender_params),
	.flags = LAW_SENDER_PACED | LAW_SENDER_PLAIN_ACKS,
	.wire = LAW_WIRE_PAIR,
	.ecn_mode = LAW_ECN_MODE_NONE,
	.router = "dcp_ew",
	LAW_PARAM_LIST(DCP_EW_SENDER_PARAMS),
	LAW_WATCH_LIST(struct pair_sender_state, PAIR_SENDER_WATCH),
	.init = pair_sender_init,
	.on_ack = pair_sender_on_ack,
	.on_loss = pair_sender_on_loss,
	.on_rto = pair_sender_on_rto,
};

#endif /* FADELAB_SENDER_DCP_EW_H */
