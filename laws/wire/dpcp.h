/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Source: dcp-ew-2010 sections II and III: two ECN bits forward; the paper leaves open how a receiver returns them.
 *
 * In one paragraph: Half of a load in the two ECN bits of a data packet, which half by the order of its TCP numbers.
 * The echo is an option of 8 bytes, which data have, too, so that routers know whose halves these are.
 *
 * Layout: part/pair_option.h.
 */
#ifndef FADELAB_WIRE_DPCP_H
#define FADELAB_WIRE_DPCP_H

#include "part/pair_option.h"

LAW_TABLE struct law_codec dpcp_wire = {
	.abi = LAW_ABI,
	.size = sizeof(struct law_codec),
	.name = "dpcp",
	.summary = "Half of DPCP's load: two ECN bits forward, which half by the TCP header; both halves return in 8 bytes",
	.wire = LAW_WIRE_DPCP,
	.option_bytes = pair_option_bytes,
	.begin = pair_option_begin,
	.get_data = pair_option_get_data,
	.confirm = pair_option_confirm,
	.put_echo = pair_option_put_echo,
	.get_echo = pair_option_get_echo,
};

#endif /* FADELAB_WIRE_DPCP_H */
