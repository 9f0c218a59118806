/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: Li, Yousefi'zadeh, "Distributed ECN-based congestion control", ICC 2009, as dcp-ew-2010 section II describes
 * it; VCP's control as in sender/vcp.h.
 *
 * In one paragraph: Routers tell the load of the path in four bits, half of them in each packet. The host says which
 * half a packet is for: it takes turns, and where the turn is the other one it exchanges the packet's sequence and
 * acknowledgement numbers, so that the larger stands first for the most significant half. Losses are congestion.
 *
 * Law: as sender/dcp_ew.h, but a loss halves the window as VCP's does (`loss`).
 *
 * Parameters: the X-macro DPCP_SENDER_PARAMS below.
 *
 * Divergences:
 *   1. Which half a packet is for is the host's business (`law_packet.role`), and all that differs from DCP-EW but for
 *      the loss history. Numbers are not exchanged in the simulator, where nothing but their order would be read.
 *   2. Divergences 1 to 4 and 6 of sender/dcp_ew.h.
 *
 * Figures: dcp-ew-2010 figures 4 to 6.
 */
#ifndef FADELAB_SENDER_DPCP_H
#define FADELAB_SENDER_DPCP_H

#include "law.h"
#include "part/pair_sender.h"

#define DPCP_SENDER_PARAMS(P) PAIR_SENDER_PARAMS(P, 0)

LAW_TABLE struct law_sender dpcp_sender = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_sender),
	.name = "dpcp",
	.summary = "VCP with the load in four bits over two packets, told apart by the order of sequence numbers",
	.state_bytes = sizeof(struct pair_sender_state),
	.params_bytes = sizeof(struct pair_sender_params),
	.flags = LAW_SENDER_PACED | LAW_SENDER_PLAIN_ACKS,
	.wire = LAW_WIRE_DPCP,
	.ecn_mode = LAW_ECN_MODE_NONE,
	.router = "dpcp",
	LAW_PARAM_LIST(DPCP_SENDER_PARAMS),
	LAW_WATCH_LIST(struct pair_sender_state, PAIR_SENDER_WATCH),
	.init = pair_sender_init,
	.on_ack = pair_sender_on_ack,
	.on_loss = pair_sender_on_loss,
	.on_rto = pair_sender_on_rto,
};

#endif /* FADELAB_SENDER_DPCP_H */
