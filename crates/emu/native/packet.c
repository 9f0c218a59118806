/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The kernel's parser of packets, for packets in memory. */
#include "host/packet.h"

static struct __sk_buff packet_in(const u8 *bytes, u32 len)
{
	u32 version = len ? bytes[0] >> 4 : 0;

	return (struct __sk_buff){
		.len = len,
		.gso_segs = 1,
		.protocol = host_be16((u16)(version == 4   ? ETHER_IPV4
	                                : version == 6 ? ETHER_IPV6
	                                               : 0)),
		.data = (unsigned long)bytes,
		.data_end = (unsigned long)bytes + len,
	};
}

/* Looks at a packet; returns where the option of a wire begins that is so long, 0: it has none. */
u32 fadelab_emu_look(const u8 *bytes, u32 len, u32 wire, u32 option_bytes, struct packet *packet);
u32 fadelab_emu_look(const u8 *bytes, u32 len, u32 wire, u32 option_bytes, struct packet *packet)
{
	struct __sk_buff skb = packet_in(bytes, len);

	packet_parse(&skb, 0, packet);
	if (!wire || !packet->tcp_at)
		return 0;
	return packet_option(&skb, packet, wire, option_bytes);
}

/* Writes the ECN field of a packet that was looked at. */
void fadelab_emu_set_ecn(u8 *bytes, u32 len, const struct packet *packet, u32 ecn);
void fadelab_emu_set_ecn(u8 *bytes, u32 len, const struct packet *packet, u32 ecn)
{
	struct __sk_buff skb = packet_in(bytes, len);

	packet_set_ecn(&skb, packet, ecn);
}
