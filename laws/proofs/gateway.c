/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A gateway's law, named by -DHEADER and -DTABLE, under a host that may do whatever law.h allows; see sender.c. */
#include "proof.h"
#include HEADER
#include "state.h"

/* What a gateway may write of a packet. */
static void packet_holds(const struct law_packet *packet, const struct law_packet *before)
{
	holds(packet->ecn <= LAW_ECN_CE && packet->outer_ecn <= LAW_ECN_CE);
	holds(packet->flags == before->flags && packet->ip_bytes == before->ip_bytes);
	holds(packet->ip_id == before->ip_id && packet->role == before->role && packet->wire == before->wire);
}

int main(void)
{
	struct law_tunnel tunnel = {.size = sizeof(tunnel), .number = any_u32(), .random = any_u32()};
	struct law_packet given, written, before;

	new_state(TABLE.state_bytes);
	any_params(TABLE.params, TABLE.params_n, TABLE.params_bytes);
	now_us = tunnel.now_us = any_time_us();
	tunnel.outer_bytes = (u32)any(0, LAW_PACKET_BYTES_MAX);
	CALL(init, TABLE.init(state, params, &tunnel));
	state_holds();
	any_state(TABLE.state_bytes);
	now_us = any(now_us, LAW_TIME_US_MAX);
	any_packet(&given);
	any_packet(&written);
	before = written;
	if (any(0, 1))
		CALL(encapsulate, TABLE.encapsulate(state, params, now_us, &given, &written));
	else
		CALL(decapsulate, TABLE.decapsulate(state, params, now_us, &given, &written));
	packet_holds(&written, &before);
	state_holds();
	RETURNED(main);
	return 0;
}
