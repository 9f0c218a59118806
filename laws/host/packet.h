/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where in a packet the headers stand that routers look at, and how its ECN field is written. Everything that is not a
 * whole TCP segment over IPv4 or IPv6 is somebody else's, and so is everything whose headers lie about their length.
 *
 * The kernel's programs include this, and so does the emulator. Where bytes of a packet come from stands in a "host.h"
 * of each: struct __sk_buff and bpf_skb_load_bytes, which in the emulator are a packet in memory.
 */
#ifndef FADELAB_HOST_PACKET_H
#define FADELAB_HOST_PACKET_H

#include "host.h"
#include "part/option.h"

#define PACKET_IPV4_BYTES 20u
/* Behind the checksum in it. */
#define PACKET_IPV4_SUM_END 12u
#define PACKET_IPV6_BYTES 40u
#define PACKET_DONT_FRAGMENT 0x40
#define PACKET_TCP_BYTES 20u
#define PACKET_VLAN_BYTES 4u
/* Behind it no header is looked for in what lies in one piece; a bound that the verifier takes. */
#define PACKET_DIRECT_MAX 0x3fffu
/* Extension headers of IPv6 that are looked through. */
#define PACKET_EXTENSIONS_MAX 4

#define PACKET_ETHER_VLAN 0x8100u
#define PACKET_ETHER_SERVICE_VLAN 0x88a8u

#define PACKET_IP6_HOP_BY_HOP 0
#define PACKET_IP6_ROUTING 43
#define PACKET_IP6_DESTINATION 60

struct packet {
	u32 ip_at;    /* offset of the IP header; the ECN field stands in the byte behind its first */
	u32 tcp_at;   /* offset of the TCP header; 0: the packet is not TCP, or a fragment */
	u32 tcp_end;  /* offset behind the TCP options */
	u32 has_data; /* 1: it carries payload */
	u16 ip_id;
	u8 has_id;       /* 1: it has an IP ID */
	u8 may_fragment; /* 1: it may be cut on its way; what offload joins into it has IDs that count up then */
	u8 ecn;          /* enum law_ecn */
	u8 version;      /* 4 or 6; 0: the packet is not IP */
	u8 field;        /* the byte with the ECN field */
};

/*
 * Copies constantly many bytes of a packet. Headers mostly lie in one piece in front, where they are read as memory is;
 * the helper, which finds them anywhere, takes longer than all that is done with them. Returns 0 on success.
 */
ALWAYS_INLINE long packet_load(struct __sk_buff *skb, u32 at, void *to, u32 bytes)
{
	const u8 *from = (const u8 *)(unsigned long)skb->data;
	u64 place = at;

	/* The verifier follows one number and one pointer: what is added and read must be what was compared. */
	if (!__builtin_constant_p(at))
		__asm__ volatile("" : "+r"(place));
	if (place <= PACKET_DIRECT_MAX) {
		from += place;
		__asm__ volatile("" : "+r"(from));
		if (from + bytes <= (const u8 *)(unsigned long)skb->data_end) {
			__builtin_memcpy(to, from, bytes);
			return 0;
		}
	}
	return bpf_skb_load_bytes(skb, at, to, bytes);
}

/* Offset of the IP header and its protocol, behind at most one VLAN tag that stands in the packet. */
ALWAYS_INLINE u32 packet_protocol(struct __sk_buff *skb, u32 link_bytes, u32 *ip_at)
{
	u32 protocol = host_be16(skb->protocol);
	u16 inner;

	*ip_at = link_bytes;
	if (link_bytes != ETHER_BYTES || (protocol != PACKET_ETHER_VLAN && protocol != PACKET_ETHER_SERVICE_VLAN))
		return protocol;
	if (packet_load(skb, link_bytes + 2, &inner, sizeof(inner)))
		return 0;
	*ip_at = link_bytes + PACKET_VLAN_BYTES;
	return host_be16(inner);
}

/* Finds the end of the TCP header; `end` is where the IP header says that the packet ends. */
ALWAYS_INLINE void packet_tcp(struct __sk_buff *skb, struct packet *packet, u32 tcp_at, u32 end)
{
	u8 offset;
	u32 tcp_end;

	/* The fourth byte of the second half of the header: length of the header in words. */
	if (packet_load(skb, tcp_at + 12, &offset, sizeof(offset)))
		return;
	tcp_end = tcp_at + (offset >> 4) * 4;
	if (tcp_end < tcp_at + PACKET_TCP_BYTES || tcp_end > end || end > skb->len)
		return;
	packet->tcp_at = tcp_at;
	packet->tcp_end = tcp_end;
	packet->has_data = end > tcp_end;
}

ALWAYS_INLINE void packet_ipv4(struct __sk_buff *skb, struct packet *packet)
{
	u8 header[PACKET_IPV4_BYTES];
	u32 header_bytes, end;

	if (packet_load(skb, packet->ip_at, header, sizeof(header)) || header[0] >> 4 != 4)
		return;
	packet->version = 4;
	packet->field = header[1];
	packet->ecn = header[1] & 3;
	packet->ip_id = (u16)((u32)header[4] << 8 | header[5]);
	packet->has_id = 1;
	packet->may_fragment = !(header[6] & PACKET_DONT_FRAGMENT);
	header_bytes = (header[0] & 15) * 4;
	/* The length of a super-packet that the device will cut stands in no header. */
	end = skb->gso_segs > 1 ? skb->len : packet->ip_at + ((u32)header[2] << 8 | header[3]);
	/* A fragment: more of them follow, or it is not the first. */
	if (header_bytes < PACKET_IPV4_BYTES || header[9] != IP_TCP || (header[6] & 0x3f) || header[7])
		return;
	packet_tcp(skb, packet, packet->ip_at + header_bytes, end);
}

/* Where TCP's header stands behind IPv6's, which ends at `at` and says that `next` follows; 0: something else does. */
ALWAYS_INLINE u32 packet_behind_extensions(struct __sk_buff *skb, u32 at, u32 next)
{
	u8 extension[2];

	for (int i = 0; i < PACKET_EXTENSIONS_MAX && next != IP_TCP; i++) {
		if (next != PACKET_IP6_HOP_BY_HOP && next != PACKET_IP6_ROUTING && next != PACKET_IP6_DESTINATION)
			return 0;
		if (packet_load(skb, at, extension, sizeof(extension)))
			return 0;
		next = extension[0];
		at += 8 + extension[1] * 8;
	}
	return next == IP_TCP ? at : 0;
}

ALWAYS_INLINE void packet_ipv6(struct __sk_buff *skb, struct packet *packet)
{
	u8 header[8];
	u32 at = packet->ip_at + PACKET_IPV6_BYTES, end;

	if (packet_load(skb, packet->ip_at, header, sizeof(header)) || header[0] >> 4 != 6)
		return;
	packet->version = 6;
	packet->field = header[1];
	packet->ecn = (header[1] >> 4) & 3;
	end = skb->gso_segs > 1 ? skb->len : at + ((u32)header[4] << 8 | header[5]);
	at = packet_behind_extensions(skb, at, header[6]);
	if (at)
		packet_tcp(skb, packet, at, end);
}

/* Length of an option of ours that ends at `end`, of whatever law, up to `most` bytes; 0: none. */
ALWAYS_INLINE u32 packet_ours(struct __sk_buff *skb, const struct packet *packet, u32 end, u32 most)
{
	u8 head[OPTION_HEAD_BYTES];

	/* Its length is a multiple of 4, and stands where it begins. */
	for (u32 bytes = 2 * OPTION_HEAD_BYTES; bytes <= most; bytes += 4) {
		if (end < packet->tcp_at + PACKET_TCP_BYTES + bytes || packet_load(skb, end - bytes, head, sizeof(head)))
			return 0;
		if (head[0] == OPTION_KIND && head[1] == bytes && (option_get_u16(head + 2) & OPTION_ID_MASK) == OPTION_ID)
			return bytes;
	}
	return 0;
}

/*
 * Where the option of a wire begins that is so long: at the end of the TCP header, or before another one of ours, which
 * a socket that receives under another law than it sends has there. 0: the packet has none.
 */
ALWAYS_INLINE u32 packet_option(struct __sk_buff *skb, const struct packet *packet, u32 wire, u32 bytes)
{
	u32 end = packet->tcp_end;
	u8 head[OPTION_HEAD_BYTES];

	for (u32 place = 0; place < 2; place++) {
		if (end < packet->tcp_at + PACKET_TCP_BYTES + bytes || packet_load(skb, end - bytes, head, sizeof(head)))
			return 0;
		if (option_is(head, wire, bytes))
			return end - bytes;
		if (place == 0) {
			u32 other = packet_ours(skb, packet, end, OPTION_BYTES_MAX - bytes);

			if (!other)
				return 0;
			end -= other;
		}
	}
	return 0;
}

/* Looks at a packet whose IP header stands `link_bytes` behind its beginning. */
ALWAYS_INLINE void packet_parse(struct __sk_buff *skb, u32 link_bytes, struct packet *packet)
{
	u32 protocol = packet_protocol(skb, link_bytes, &packet->ip_at);

	packet->tcp_at = packet->tcp_end = packet->has_data = 0;
	packet->ip_id = packet->has_id = packet->may_fragment = 0;
	packet->ecn = packet->version = packet->field = 0;
	if (protocol == ETHER_IPV4)
		packet_ipv4(skb, packet);
	else if (protocol == ETHER_IPV6)
		packet_ipv6(skb, packet);
}

/* The checksum of an IPv4 header (big endian) after a change of one of its words (RFC 1624, equation 3). */
ALWAYS_INLINE u16 packet_sum(u16 sum, u16 from, u16 to)
{
	u32 folded = (u32)(u16)~sum + (u16)~from + to;

	folded = (folded & 0xffff) + (folded >> 16);
	folded = (folded & 0xffff) + (folded >> 16);
	return (u16)~folded;
}

/* Writes the ECN field. IPv4's header has a checksum, which goes with it; neither version's field is part of TCP's. */
ALWAYS_INLINE void packet_set_ecn(struct __sk_buff *skb, const struct packet *packet, u32 ecn)
{
	u8 head[PACKET_IPV4_SUM_END], field;
	u16 sum;

	if (packet->version != 4) {
		field = (u8)((packet->field & ~0x30u) | ecn << 4);
		bpf_skb_store_bytes(skb, packet->ip_at + 1, &field, sizeof(field), 0);
		return;
	}
	if (packet_load(skb, packet->ip_at, head, sizeof(head)))
		return;
	field = (u8)((packet->field & ~3u) | ecn);
	sum = packet_sum((u16)(head[10] << 8 | head[11]), packet->field, field);
	head[1] = field;
	head[10] = (u8)(sum >> 8);
	head[11] = (u8)sum;
	bpf_skb_store_bytes(skb, packet->ip_at, head, sizeof(head), 0);
}

#endif /* FADELAB_HOST_PACKET_H */
