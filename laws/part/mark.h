/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The ECN field that a router sees and writes: that of the outer header in a tunnel, that of the packet elsewhere.
 */
#ifndef FADELAB_PART_MARK_H
#define FADELAB_PART_MARK_H

#include "law.h"

LAW u32 mark_get(const struct law_packet *packet)
{
	return packet->flags & LAW_PACKET_TUNNELLED ? packet->outer_ecn : packet->ecn;
}

LAW void mark_set(struct law_packet *packet, u32 ecn)
{
	packet->outer_ecn = (u8)ecn;
	if (!(packet->flags & LAW_PACKET_TUNNELLED))
		packet->ecn = (u8)ecn;
}

/* Congestion experienced, RFC 3168 section 5. Returns 0 where the packet is not ECN-capable and stays as it is. */
LAW u32 mark_congestion(struct law_packet *packet)
{
	if (mark_get(packet) == LAW_ECN_NOT_ECT)
		return 0;
	mark_set(packet, LAW_ECN_CE);
	return 1;
}

#endif /* FADELAB_PART_MARK_H */
