/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: dcp-ew-2010 sections II and III-B; the paper leaves open what a receiver returns.
 *
 * In one paragraph: The receiver of sender/dpcp.h returns both halves of the load with what is known of them:
 * part/pair_echo.h.
 *
 * Law:
 *   role 0     most = the ECN field; the most congested one since the last ACK that carried one. Another one than
 *              before forgets the least
 *   role 1     least = the ECN field, if it came with that most
 *   on an ACK  both, which of them are known, and the time between their arrivals
 *
 * Feedback: on ACKs 3 bytes, as part/pair_echo.h has them.
 *
 * Divergences: what is returned, and how halves are told to belong together, is ours.
 */
#ifndef FADELAB_RECEIVER_DPCP_H
#define FADELAB_RECEIVER_DPCP_H

#include "law.h"
#include "part/pair_echo.h"

LAW_TABLE struct law_receiver dpcp_receiver = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_receiver),
	.name = "dpcp",
	.state_bytes = sizeof(struct pair_receiver_state),
	.feedback_bytes = PAIR_ECHO_BYTES,
	.on_data = pair_receiver_on_data,
	.fill_ack = pair_receiver_fill_ack,
	.ack_written = pair_receiver_ack_written,
};

#endif /* FADELAB_RECEIVER_DPCP_H */
