/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: dcp-ew-2010 section III-C, whose Security Module carries a code through a tunnel, for the code of Xia,
 * Subramanian, Stoica, Kalyanaraman, "One more bit is enough", SIGCOMM 2005, section 4.1.
 *
 * In one paragraph: VCP's code stands in the ECN field, and what tunnels do to that field loses it: a code of overload
 * does not enter, and one of high load does not come out. This law writes the code into the outer header as it is, and
 * at the end of the tunnel the larger of both codes into the inner one, as each router on the way does with its own.
 *
 * Law, for packets of VCP's format that are not 00:
 *   encapsulate   outer code = inner code
 *   decapsulate   inner code = max(inner code, outer code), in the order 01 low, 10 high, 11 overload
 *
 * Parameters: the X-macro VCP_GATEWAY_PARAMS below.
 *
 * Divergences:
 *   1. The bit by which routers of VCP say that they saw a packet is encrypted with it: the gateway sets it in their
 *      place, since whoever sets it up knows which routers are in the tunnel.
 *
 * Figures: none.
 */
#ifndef FADELAB_GATEWAY_VCP_H
#define FADELAB_GATEWAY_VCP_H

#include "fixed.h"
#include "law.h"

/* clang-format off */
#define VCP_GATEWAY_PARAMS(P)                                                                                          \
	P(confirm, 1, "bool", 1, 0, 1, "own: the papers know no such bit",                                                 \
	  "Whether a packet that leaves the tunnel counts as seen by a router of VCP")
/* clang-format on */

struct vcp_gateway_params {
	VCP_GATEWAY_PARAMS(LAW_PARAM_FIELD)
};

/* Whether the ECN field of an inner packet is a code. */
LAW u32 vcp_gateway_has_code(const struct law_packet *inner)
{
	return inner->wire == LAW_WIRE_VCP && inner->ecn != LAW_ECN_NOT_ECT;
}

LAW void vcp_gateway_encapsulate(void *state, const void *params, u64 now_us, const struct law_packet *inner,
                                 struct law_packet *outer)
{
	(void)state;
	(void)params;
	(void)now_us;
	if (!vcp_gateway_has_code(inner))
		return;
	LAW_STEP("entry: the outer header takes the code, overload too");
	outer->outer_ecn = inner->ecn & 3;
}

LAW void vcp_gateway_decapsulate(void *state, const void *params, u64 now_us, const struct law_packet *outer,
                                 struct law_packet *inner)
{
	const struct vcp_gateway_params *p = params;

	(void)state;
	(void)now_us;
	if (!vcp_gateway_has_code(inner))
		return;
	if (p->confirm)
		inner->confirmed = 1;
	if (outer->outer_ecn > inner->ecn) {
		LAW_STEP("exit: a router in the tunnel was more loaded than the packet says, it takes that code");
		inner->ecn = outer->outer_ecn & 3;
	}
}

LAW_TABLE struct law_gateway vcp_gateway = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_gateway),
	.name = "vcp",
	.summary = "Carries VCP's code between the headers of a tunnel",
	.params_bytes = sizeof(struct vcp_gateway_params),
	.flags = LAW_GATEWAY_DIRECTIONS_APART,
	LAW_PARAM_LIST(VCP_GATEWAY_PARAMS),
	.encapsulate = vcp_gateway_encapsulate,
	.decapsulate = vcp_gateway_decapsulate,
};

#endif /* FADELAB_GATEWAY_VCP_H */
