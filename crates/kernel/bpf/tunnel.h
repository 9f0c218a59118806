/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Packets of the tunnels that the operator named, as whoever sees only their outer header knows them: ESP (RFC 4303)
 * between two addresses, over IPv4 or IPv6, or in UDP as through a NAT (RFC 3948). A fragment of one is for no half.
 */
#ifndef FADELAB_TUNNEL_H
#define FADELAB_TUNNEL_H

#include "host.h"
#include "host/packet.h"

#define IP_UDP 17
#define IP_ESP 50

/* RFC 3948 section 2.1. A NAT changes the one of an end. */
#define ESP_PORT 4500
#define UDP_BYTES 8

/* Directions of tunnels that are told apart. */
#define TUNNEL_WAYS_MAX 64

/* Of what the lowest bit is the role of an outer header. */
enum tunnel_role_from {
	TUNNEL_ROLE_SEQUENCE = 0, /* of ESP's sequence number, which counts up and is not encrypted */
	TUNNEL_ROLE_ID = 1,       /* of the IP ID; IPv6 has none */
	TUNNEL_ROLE_WRITTEN = 2,  /* the same, which the gateway writes where the packet must not be fragmented */
};

/* From where to where, IPv4 as IPv6 writes it (::ffff:a.b.c.d, RFC 4291 section 2.5.5.2). */
struct tunnel_key {
	u32 from[4];
	u32 to[4];
};

struct tunnel_way {
	u32 number; /* of the tunnel, from 1 on */
	u32 role_from;
};

struct {
	MAP_NUMBER(type, MAP_TYPE_HASH);
	MAP_NUMBER(max_entries, TUNNEL_WAYS_MAX);
	struct tunnel_key *key;
	struct tunnel_way *value;
} tunnel_map SEC(".maps");

/* What an outer header says. */
struct outer {
	u32 number;      /* of its tunnel; 0: it is of none that was named */
	u32 fragment_of; /* the same, of a fragment of IPv4, whose number is 0 */
	u32 role_from;
	u32 role;
	u32 has_role;
};

/*
 * Where ESP's header stands in a datagram; 0: there is none. In place of an SPI of 0 the messages of a key exchange
 * stand there (RFC 3948 section 2.2), and what keeps a NAT's entry alive is shorter.
 */
ALWAYS_INLINE u32 outer_in_udp(struct __sk_buff *skb, u32 udp_at)
{
	u8 header[UDP_BYTES + 4];

	if (packet_load(skb, udp_at, header, sizeof(header)))
		return 0;
	if ((header[0] << 8 | header[1]) != ESP_PORT && (header[2] << 8 | header[3]) != ESP_PORT)
		return 0;
	return header[8] | header[9] | header[10] | header[11] ? udp_at + UDP_BYTES : 0;
}

/*
 * Whether a packet is ESP; if so, its addresses and where ESP's header stands. Each fragment of IPv4 is, of whichever
 * UDP between the ends, too: all of a packet have to be treated alike (RFC 3168 section 5.3), and ports stand in the
 * first alone. Fragments of IPv6 are not looked at: the end of the tunnel makes them, before any router marks.
 */
ALWAYS_INLINE u32 outer_addresses(struct __sk_buff *skb, const struct packet *packet, struct tunnel_key *key,
                                  u32 *is_fragment)
{
	u8 header[PACKET_IPV4_BYTES];
	u32 at;

	if (packet->version == 4) {
		if (packet_load(skb, packet->ip_at, header, sizeof(header)))
			return 0;
		if (header[9] != IP_ESP && header[9] != IP_UDP)
			return 0;
		/* More of them follow, or it is not the first. */
		*is_fragment = (header[6] & 0x3f) || header[7];
		key->from[2] = key->to[2] = host_be32(0xffff);
		__builtin_memcpy(&key->from[3], header + 12, 4);
		__builtin_memcpy(&key->to[3], header + 16, 4);
		at = packet->ip_at + (header[0] & 15) * 4;
		return header[9] == IP_ESP || *is_fragment ? at : outer_in_udp(skb, at);
	}
	if (packet->version != 6 || packet_load(skb, packet->ip_at, header, 8))
		return 0;
	if (header[6] != IP_ESP && header[6] != IP_UDP)
		return 0;
	if (packet_load(skb, packet->ip_at + 8, key, sizeof(*key)))
		return 0;
	at = packet->ip_at + PACKET_IPV6_BYTES;
	return header[6] == IP_ESP ? at : outer_in_udp(skb, at);
}

/* Looks at an outer header. */
ALWAYS_INLINE void outer_take(struct __sk_buff *skb, const struct packet *packet, struct outer *outer)
{
	struct tunnel_key key = {};
	u32 is_fragment = 0, sequence = 0;
	u32 esp_at = outer_addresses(skb, packet, &key, &is_fragment);
	struct tunnel_way *way;

	if (!esp_at || (!is_fragment && packet_load(skb, esp_at + 4, &sequence, sizeof(sequence))))
		return;
	way = bpf_map_lookup_elem(&tunnel_map, &key);
	if (!way)
		return;
	if (is_fragment) {
		outer->fragment_of = way->number;
		return;
	}
	outer->number = way->number;
	outer->role_from = way->role_from;
	outer->role = way->role_from == TUNNEL_ROLE_SEQUENCE ? host_be32(sequence) & 1 : packet->ip_id & 1;
	outer->has_role = way->role_from == TUNNEL_ROLE_SEQUENCE || packet->has_id;
}

/* A packet as a law of a gateway is shown it by its outer header, in front of an inner field `ecn`. */
ALWAYS_INLINE void show_outer(struct law_packet *packet, const struct outer *outer, u32 ecn, u32 outer_ecn)
{
	packet->flags = LAW_PACKET_TUNNELLED;
	packet->wire = 0;
	packet->role = (u8)outer->role;
	packet->roles = outer->role;
	packet->roles_known = outer->has_role;
	packet->ecn = (u8)ecn;
	packet->outer_ecn = (u8)outer_ecn;
}

#endif /* FADELAB_TUNNEL_H */
